"""Lane functions recorded once as a list of NumPy operations and replayed: without the Python between the operations.

Problem: evaluated directly, a closure of a four-bar calls 3 000 Python functions for 80 operations on arrays. Replayed
are the very operations, in their order, on the same numbers: results are the same to the last bit.
Refused: a function that does more than elementwise operations and selections, that a user wrote with JAX for example;
it is evaluated directly.

Host code. Value numbering and removal of dead code: Aho, Lam, Sethi, Ullman, Compilers, chapter 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftjax.algebra import Scalar

MEMBERS = 2048  # at a time: some hundred arrays of so many stay in a core's second cache
FEW = 2  # entries of a recorded array: whatever asks for its one number, or for its truth, raises

Operation = tuple[Callable[..., np.ndarray], tuple[int, ...], int]  # what is called, registers read, register written


class Unrecordable(Exception):
    """An operation that a tape cannot repeat."""


class Tape:
    """A function of some lane values, as operations.

    Args:
        function: from lane values to scalars. count: of lane values.

    Raises:
        Unrecordable: the function does what a tape cannot repeat.
    """

    def __init__(self, function: Callable[[list[Scalar]], Sequence[Scalar]], count: int) -> None:
        recorder = _Recorder()
        try:
            found = [recorder.node(value) for value in function([recorder.new() for _ in range(count)])]
        except Exception as error:  # a user's function may raise anything when it is given what it did not expect
            raise Unrecordable(str(error)) from error
        self._count = count
        self._arrange(recorder, found)

    def __call__(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """Evaluates it.

        Args:
            values: (B,) each. out: (B,) each, written.
        """
        members = len(values[0])
        for first in range(0, members, MEMBERS):
            own = slice(first, first + MEMBERS)
            registers = list(self._registers)
            for place, k in self._inputs:
                registers[place] = values[k][own]
            for function, read, written in self._operations:
                registers[written] = function(*[registers[k] for k in read])
            for target, place in zip(out, self._outputs, strict=True):
                target[own] = registers[place]

    def _arrange(self, recorder: _Recorder, found: Sequence[int]) -> None:
        """What the results need, in registers that are used again as soon as nobody reads them any more."""
        needed, todo = set(found), list(found)
        while todo:
            for k in recorder.nodes[todo.pop()][1]:
                if k not in needed:
                    needed.add(k)
                    todo.append(k)
        last = dict.fromkeys(found, len(recorder.nodes))
        for node in sorted(needed):
            for k in recorder.nodes[node][1]:
                last[k] = max(last.get(k, 0), node)
        self._registers: list[Any] = []
        self._inputs: list[tuple[int, int]] = []
        self._operations: list[Operation] = []
        place: dict[int, int] = {}
        spare: list[int] = []
        for node in sorted(needed):
            function, read, constant = recorder.nodes[node]
            if function is not None:
                spare += [place[k] for k in set(read) if last[k] == node and recorder.nodes[k][0] is not None]
            if function is None or not spare:
                self._registers.append(constant)
                place[node] = len(self._registers) - 1
            else:
                place[node] = spare.pop()
            if function is not None:
                self._operations.append((function, tuple(place[k] for k in read), place[node]))
            elif node < self._count:
                self._inputs.append((place[node], node))
        self._outputs = [place[k] for k in found]


class _Recorder:
    """Nodes in the order of their making: (what is called, nodes read, constant); inputs first, each node once."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Callable[..., np.ndarray] | None, tuple[int, ...], Any]] = []
        self._known: dict[tuple[Any, ...], int] = {}

    def new(self) -> _Recorded:
        """An input."""
        self.nodes.append((None, (), None))
        return self._value(len(self.nodes) - 1)

    def node(self, value: Any) -> int:
        """The node of a recorded value or of a constant."""
        if type(value) is _Recorded and value.recorder is self:
            return value.node
        if isinstance(value, np.ndarray) or not isinstance(value, (float, int, np.generic)):
            raise Unrecordable(f"{type(value).__name__} from outside")
        return self._once((type(value), repr(value)), (None, (), value))

    def apply(self, function: Callable[..., np.ndarray], values: Sequence[Any]) -> _Recorded:
        """An operation on recorded values and constants."""
        read = tuple(self.node(value) for value in values)
        return self._value(self._once((function, read), (function, read, None)))

    def _once(self, key: tuple[Any, ...], node: tuple[Any, ...]) -> int:
        if key not in self._known:
            self.nodes.append(node)
            self._known[key] = len(self.nodes) - 1
        return self._known[key]

    def _value(self, node: int) -> _Recorded:
        value = np.zeros(FEW).view(_Recorded)
        value.recorder, value.node = self, node
        return value


class _Recorded(np.ndarray):
    """A lane value that notes what is done to it; its own entries mean nothing."""

    recorder: _Recorder
    node: int

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.nout != 1:
            raise Unrecordable(f"{ufunc.__name__}.{method}")
        return self.recorder.apply(ufunc, inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is not np.where or len(args) != 3 or kwargs:
            raise Unrecordable(func.__name__)
        return self.recorder.apply(func, args)

    def __getitem__(self, key: Any) -> Any:
        raise Unrecordable("an entry")
