"""A graph on arrays of members as compiled arithmetic, to the bit what NumPy makes of it (`lanes.in_numpy`). Host code.

Evaluated by NumPy every operation reads its arrays and writes another: 0.4 ns a member where a processor calculates in
0.1. Sums, products, quotients, roots and comparisons are rounded once by any processor, so that compiled code that
contracts nothing has NumPy's bits, however many members there are. Sines and other functions are still NumPy's own,
of some thousand members at a time: the graph is cut where they are, into *stages*, of functions and then of arithmetic
on what they give. So who has few members may stay with NumPy, which compiles nothing.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.kernels import object_cache as disk
from shiftjax.kernels.llvm.emitter import PieceEmitter, declarations
from shiftjax.kernels.llvm.objects import Loader, object_key, stored_object
from shiftjax.kernels.llvm.target import Target, host
from shiftjax.kernels.llvm.tiling import LEAVES, Tile
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.in_numpy import OPERATIONS

# Operations that are rounded once, or not at all, by NumPy and by a processor alike.
EXACT = {"add", "mul", "div", "sqrt", "abs", "floor", "ceil", "max", "min", "select", "is_finite"}
EXACT |= {"lt", "le", "eq", "ne", "and", "or", "not", "true", "false"}
AT_ONCE = 4096  # members: some fifty arrays of so many stay near a core, and a call of NumPy takes 1 us or more
PITCH = AT_ONCE + 8  # numbers between rows of it: an odd number of cache lines, so that rows do not share sets
_CODE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_of_thread = threading.local()  # `memory` of the rows

Argument = int | float  # a slot, or a known number


def _is_function(name: str) -> bool:
    """Whether NumPy calculates an operation."""
    return name not in LEAVES and name not in EXACT


@dataclass
class CutStage:
    """Functions of NumPy's with the slots of their arguments and results, and the arithmetic that follows."""

    functions: list[tuple[Callable[..., Any], tuple[Argument, ...], int]]
    arithmetic: Tile | None


class _Cut:
    """A graph cut into stages; slots are inputs first, then outputs, then what is passed on.

    Args:
        graph: of numbers; its outputs are no truth values.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs = 1 + max((node[1] for node in graph.nodes if node[0] == "in"), default=-1)
        self.levels = self._levels()
        self.slots: dict[int, int] = {}  # of references that are passed on
        self.first = self.inputs + len(graph.outputs)
        count = 1 + max((self.levels[ref >> 1] for ref in graph.outputs), default=0)
        self.passed = self._passed()
        self.stages = [CutStage(self._functions(level), self._arithmetic(level)) for level in range(count)]

    def _levels(self) -> list[int]:
        """How many functions lie one in another up to each node."""
        out: list[int] = []
        for name, *refs in self.graph.nodes:
            deepest = 0 if name in LEAVES else max((out[ref >> 1] for ref in refs), default=0)
            out.append(deepest + _is_function(name))
        return out

    def _slot(self, ref: int) -> int:
        """Of a reference that is passed on; that of an input is its number."""
        node = self.graph.nodes[ref >> 1]
        if node[0] == "in" and not ref & 1:
            return node[1]
        return self.slots.setdefault(ref, self.first + len(self.slots))

    def _passed(self) -> list[set[int]]:
        """Of each level the references that arithmetic there makes for what follows."""
        nodes, wanted = self.graph.nodes, set[int]()

        def need(ref: int, level: int) -> None:
            node = nodes[ref >> 1]
            if node[0] in LEAVES or (self.levels[ref >> 1] == level and node[0] in EXACT):
                return
            if self.graph.is_boolean(ref):  # calculated again where it is read
                for part in node[1:]:
                    need(part, level)
            else:
                wanted.add(ref & ~1)

        for number, (name, *refs) in enumerate(nodes):
            if _is_function(name):
                wanted.update(
                    ref for ref in refs if nodes[ref >> 1][0] != "const" and (ref & 1 or nodes[ref >> 1][0] != "in")
                )
            elif name not in LEAVES:
                for ref in refs:
                    need(ref, self.levels[number])
        for ref in self.graph.outputs:
            need(ref, self.levels[ref >> 1])
        out: list[set[int]] = [set() for _ in range(1 + max(self.levels, default=0))]
        for ref in wanted:
            if not _is_function(nodes[ref >> 1][0]) or ref & 1:
                out[self.levels[ref >> 1]].add(ref)
        return out

    def _functions(self, level: int) -> list[tuple[Callable[..., Any], tuple[Argument, ...], int]]:
        out = []
        for number, (name, *refs) in enumerate(self.graph.nodes):
            if _is_function(name) and self.levels[number] == level:
                known = [self.graph.value(ref) for ref in refs]
                given = tuple(self._slot(ref) if x is None else x for ref, x in zip(refs, known, strict=True))
                out.append((OPERATIONS[name], given, self._slot(2 * number)))
        return out

    def _arithmetic(self, level: int) -> Tile | None:
        """What is calculated of a level, and stored: outputs and what is passed on."""
        graph, part, inputs = self.graph, Graph(signed_zeros=self.graph.signed_zeros), list[int]()
        copies: dict[int, int] = {}
        here = [k for k, ref in enumerate(graph.outputs) if self.levels[ref >> 1] == level]
        wanted = [(self.inputs + k, graph.outputs[k]) for k in here]
        wanted += [(self._slot(ref), ref) for ref in sorted(self.passed[level])]
        if not wanted:
            return None

        def copy(ref: int) -> int:
            number = ref >> 1
            if number not in copies:
                name, *parts = graph.nodes[number]
                if name == "const":
                    copies[number] = part.node(name, *parts)
                elif name == "in" or _is_function(name) or (self.levels[number] < level and not graph.is_boolean(ref)):
                    inputs.append(self._slot(ref & ~1))
                    copies[number] = part.node("in", len(inputs) - 1)
                else:
                    copies[number] = part.node(name, *map(copy, parts))
            return copies[number] ^ (ref & 1)

        for k, (name, *_) in enumerate(graph.nodes):  # operands before what they are in: no deep recursion
            if self.levels[k] == level and name in EXACT:
                copy(2 * k)
        part.outputs = [copy(ref) for _, ref in wanted]
        return Tile(part, tuple(inputs), tuple(slot for slot, _ in wanted))


class _ArrayEmitter(PieceEmitter):
    """Slots are anywhere, aligned to numbers."""

    def __init__(self, part: Tile, target: Target) -> None:
        super().__init__(part, target, by_table=True)
        self.align = target.bytes


class ArrayFunction:
    """A graph of numbers, compiled when it is made; see the head of this file.

    Raises:
        ValueError: outputs or arguments of functions that are truth values.
    """

    def __init__(self, graph: Graph) -> None:
        nodes = graph.nodes
        arguments = [ref for name, *refs in nodes if _is_function(name) for ref in refs]
        if any(map(graph.is_boolean, (*graph.outputs, *arguments))):
            raise ValueError("numbers are wanted, where the graph has truth values")
        cut = _Cut(graph)
        self._inputs, self._rows, self._stages = cut.inputs, cut.first + len(cut.slots), cut.stages
        target, digest = _target(), graph.digest()
        self._width, name = target.width, _name(digest)
        self._loader = Loader(target)
        self._loader.add(stored_object(name, digest, lambda: self._text(name, target), target, optimize=False))
        self._loader.finish()
        self._codes = [
            stage.arithmetic and _CODE(self._loader.address(f"{name}_{k}")) for k, stage in enumerate(self._stages)
        ]

    @staticmethod
    def is_stored(graph: Graph) -> bool:
        """Whether it is on the disk already, so that nothing is compiled."""
        digest = graph.digest()
        return os.path.exists(disk.path(object_key(_name(digest), digest, _target())))  # False of what nobody may read

    def _text(self, name: str, target: Target) -> str:
        """The arithmetic of every stage, each in a loop over vectors."""
        texts = [declarations(target)]
        for k, stage in enumerate(self._stages):
            if stage.arithmetic is not None:
                texts.append(_ArrayEmitter(stage.arithmetic, target).function(f"{name}_{k}_vector"))
                texts.append(_LOOP.format(name=f"{name}_{k}", scalar=target.scalar, width=target.width))
        return "\n".join(texts)

    def into(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """Writes the outputs for all members, who fill a vector at least.

        Args:
            values: (B,) or (1,) each. out: (B,) each, written; apart from the values.
        """
        members, rows = len(out[0]), self._memory()
        address = rows.__array_interface__["data"][0]
        table = address + 8 * PITCH * np.arange(self._rows)  # of each slot the place of the first member
        moving = np.zeros(self._rows, int)  # bytes by which it goes on with members
        copied: list[tuple[int, np.ndarray]] = []
        for k, x in enumerate(values[: self._inputs]):
            if len(x) != members:
                rows[k] = x
            elif _plain(x):
                table[k], moving[k] = x.__array_interface__["data"][0], 8
            else:
                copied.append((k, x))
        scattered: list[tuple[int, np.ndarray]] = []
        for k, x in enumerate(out, self._inputs):
            if _plain(x):
                table[k], moving[k] = x.__array_interface__["data"][0], 8
            else:
                scattered.append((k, x))
        direct = [x if moving[k] else rows[k] for k, x in enumerate((*values[: self._inputs], *out))]
        with np.errstate(all="ignore"):
            for begin, count in self._portions(members):
                some = slice(begin, begin + count)
                for k, x in copied:
                    rows[k, :count] = x[some]
                self._run((table + moving * begin) // 8, count, rows, direct, moving, begin)
                for k, x in scattered:
                    x[some] = rows[k, :count]

    def _portions(self, members: int) -> Iterator[tuple[int, int]]:
        """First members and counts, which are whole vectors: the last ones are calculated once more where need be."""
        width, whole = self._width, members // self._width * self._width
        for first in range(0, whole, AT_ONCE):
            yield first, min(AT_ONCE, whole - first)
        if whole < members:
            yield members - width, width

    def _run(
        self, table: np.ndarray, count: int, rows: np.ndarray, direct: Sequence[np.ndarray], moving: np.ndarray,
        begin: int,
    ) -> None:  # fmt: skip
        """All stages on the members from `begin` on."""

        def row(slot: int) -> np.ndarray:
            return direct[slot][begin : begin + count] if slot < len(moving) and moving[slot] else rows[slot, :count]

        place = table.ctypes.data
        for stage, code in zip(self._stages, self._codes, strict=True):
            for function, arguments, result in stage.functions:
                given = [_alike(row(one)) if isinstance(one, int) else one for one in arguments]
                rows[result, :count] = function(*given)
            if code is not None:
                code(place, None, count // self._width)

    def _memory(self) -> np.ndarray:
        """This thread's own rows."""
        memory = getattr(_of_thread, "memory", None)
        if memory is None or memory.size < self._rows * PITCH:
            memory = _of_thread.memory = np.zeros(self._rows * PITCH)
        return memory[: self._rows * PITCH].reshape(self._rows, PITCH)


def _target() -> Target:
    """This processor, without fused multiply-adds: NumPy rounds products."""
    return replace(host("f64"), fused=False, interleave=1)


def _name(digest: str) -> str:
    return f"arrays_{digest[:32]}"


def _alike(x: np.ndarray) -> np.ndarray:
    """One number in place of many of the same bits, as places of drivers are: a function takes 20 times as long."""
    bits = x.view(np.int64)
    return x[:1] if bits[0] == bits[-1] and (bits == bits[0]).all() else x


def _plain(x: np.ndarray) -> bool:
    """Whether compiled code reads an array where it is."""
    return x.dtype == np.float64 and x.strides == (8,) and x.flags.aligned


_LOOP = """
define void @{name}(ptr %table, ptr %base, i64 %vectors) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = mul i64 %i, {width}
  %ws = getelementptr {scalar}, ptr %base, i64 %at
  call void @{name}_vector(ptr %ws, ptr %base, ptr %table)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %vectors
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
