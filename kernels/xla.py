"""The reference backend: the step loop in JAX, one lane as a plain function, lanes by `jax.vmap`.

A lane is a tuple of scalars, never stacked inside a step. Lanes run in blocks of a fixed width, so that XLA compiles a
program once and not for every number of lanes that happens to run.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shiftjax.kernels.contract import Group
from shiftjax.kernels.graph_in_jax import evaluate
from shiftjax.kernels.lane_program import DTYPES, PHASES, WRITES, LaneProgram, Layout, Piece
from shiftjax.kernels.step_loop import Phases, Slots, State, StepLoop, Workspace
from shiftjax.kernels.step_program import Combine
from shiftjax.kernels.workers import Stop, run_all
from shiftjax.kernels.xla_executables import (
    TICKS,
    Executable,
    Executables,
    Function,
    Functions,
    executables,
    identity,
    width_of,
)

BATCH_PER_THREAD = 1024  # lanes
Code = Callable[..., Sequence[Any]]
Run = tuple[Sequence[int], Sequence[int]]  # slots of inputs and outputs
LARGE = 5e6  # members times steps: 20 s of four-bars on two cores, where the backend cpu takes one


def run_of(
    pieces: Sequence[Piece], precision: str, *, barriers: bool, packed: range = range(0)
) -> Callable[[Slots], None]:
    """A function that runs pieces one after the other on a list of slots, in place; their graphs are built here.

    Args:
        packed: slots that are one array, which stands in the first of them.
    """
    codes = [(list(piece.runs()), piece.chained, _code_of(piece, precision, barriers=barriers)) for piece in pieces]

    def run(slots: Slots) -> None:
        for runs, chained, code in codes:
            if chained:
                _run_chained(runs, code, slots, packed)
            elif len(runs) == 1:
                _run_once(*runs[0], code, slots, packed)
            else:
                _run_together(runs, code, slots, packed)

    return run


def _run_once(inputs: Sequence[int], outputs: Sequence[int], code: Code, slots: Slots, packed: range) -> None:
    known = {k: place for place, k in enumerate(dict.fromkeys(k for k in inputs if k in packed))}
    given = slots[packed.start][_places(known, packed)] if known else ()
    results = code(*(given[known[k]] if k in known else slots[k] for k in inputs))
    _put(slots, packed, dict(zip(outputs, results, strict=True)))


def _run_together(runs: Sequence[Run], code: Code, slots: Slots, packed: range) -> None:
    """All runs at once; what all of them read is no axis of what they do."""
    sides = [list(zip(*side, strict=True)) for side in zip(*runs, strict=True)]
    inputs = []
    for read in sides[0]:
        if len({*read}) == 1 and read[0] not in packed:
            inputs.append(slots[read[0]])
        elif all(k in packed for k in read):
            inputs.append(slots[packed.start][_places(read, packed)])
        else:
            inputs.append(jnp.stack([slots[packed.start][k - packed.start] if k in packed else slots[k] for k in read]))
    results = jax.vmap(code, in_axes=tuple(jnp.ndim(value) - 1 if jnp.ndim(value) else None for value in inputs))(
        *inputs
    )
    inside = [place for place, written in enumerate(sides[1]) if all(k in packed for k in written)]
    if inside:
        at = [_places(sides[1][place], packed) for place in inside]
        values = jnp.concatenate([results[place] for place in inside])
        slots[packed.start] = slots[packed.start].at[np.concatenate(at)].set(values, unique_indices=True)
    for place, written in enumerate(sides[1]):
        if place not in inside:
            _put(slots, packed, dict(zip(written, results[place], strict=True)))


def _run_chained(runs: Sequence[Run], code: Code, slots: Slots, packed: range) -> None:
    """Runs one after the other, each on what those before have written."""
    single = list(dict.fromkeys(k for run in runs for side in run for k in side if k not in packed))
    place = {k: n for n, k in enumerate(single)}

    def at(k: int) -> int:
        return place[k] if k in place else len(single) + k - packed.start

    reads, writes = (np.array([[at(k) for k in side] for side in sides], np.int32) for sides in zip(*runs, strict=True))
    values = [jnp.stack([slots[k] for k in single])] if single else []
    values += [slots[packed.start]] if packed else []

    def body(values: Any, sides: tuple[Any, Any]) -> tuple[Any, None]:
        inputs, outputs = sides
        given = values[inputs]
        results = code(*(given[k] for k in range(reads.shape[1])))
        return values.at[outputs].set(jnp.stack(results)), None

    after, _ = lax.scan(body, jnp.concatenate(values), (reads, writes))
    for k, n in place.items():
        slots[k] = after[n]
    if packed:
        slots[packed.start] = after[len(single) :]


def _places(slots: Iterable[int], packed: range) -> np.ndarray:
    return np.array([k - packed.start for k in slots], np.int32)


def _put(slots: Slots, packed: range, values: Mapping[int, Any]) -> None:
    inside = [k for k in values if k in packed]
    if inside:
        numbers = jnp.stack([values[k] for k in inside])
        slots[packed.start] = slots[packed.start].at[_places(inside, packed)].set(numbers, unique_indices=True)
    for k, value in values.items():
        if k not in packed:
            slots[k] = value


def packed_slots(layout: Layout) -> range:
    """Slots of the Jacobian of a linearly implicit method: thousands of numbers, which XLA takes as one array."""
    return range(layout.slots("seeds").start, layout.slots("linear").stop)


def _code_of(piece: Piece, precision: str, *, barriers: bool) -> Code:
    graph = piece.graph_for(precision)
    return lambda *arguments: evaluate(graph, arguments, DTYPES[precision], barriers=barriers)


def phases_of(program: LaneProgram, precision: str, *, barriers: bool = False) -> Phases:
    """For each phase a function that updates a list of slots in place."""
    packed = packed_slots(program.layout)
    return {name: run_of(program.phase(name), precision, barriers=barriers, packed=packed) for name in PHASES}


class TracedLane(StepLoop):
    """One traced lane."""

    def __init__(self, program: LaneProgram, phases: Phases, dtype: np.dtype) -> None:
        super().__init__(program, phases, jnp, dtype)
        self.packed = packed_slots(program.layout)

    def slots(self, p: Sequence[Any], state: State) -> Slots:
        """A workspace filled with the state; its array stands in the first of the packed slots, None in the others."""
        slots = super().slots(p, state)
        if self.packed:
            slots[self.packed.start : self.packed.stop] = [None] * len(self.packed)
            slots[self.packed.start] = jnp.zeros(len(self.packed), self.dtype)
        return slots

    def get(self, slots: Slots, name: str) -> tuple[Any, ...]:
        """The values of a region."""
        region = self.layout.slots(name)
        if region and region.start in self.packed:
            return tuple(slots[self.packed.start][_places(region, self.packed)])
        return super().get(slots, name)

    def run_parts(self, lane: Workspace, step: Any, time: Callable[[Any], Any]) -> tuple[Slots, tuple[Any, ...]]:
        """All parts of a step, as a `scan` whose body selects the combinations of a part and its calls.

        With the parts one after the other XLA's fusion recomputes across phases without bound (a four-bar's step had
        not compiled after ten minutes; with a scan it takes 5 s).
        """
        calls = list(dict.fromkeys(part.phases for part in self.parts))
        table = {
            "part": np.arange(len(self.parts), dtype=np.int32),
            "calls": np.array([calls.index(part.phases) for part in self.parts], np.int32),
            "at": np.array([part.at for part in self.parts], self.dtype),
        }

        def combining(combines: Sequence[Combine]) -> Callable[[Workspace], Workspace]:
            def run(lane: Workspace) -> Workspace:
                lane = Workspace(list(lane.slots), dict(lane.registers), lane.maxima)
                self.combine(lane, combines, step)
                return lane

            return run

        def calling(phases: Sequence[str]) -> Callable[[Workspace], Workspace]:
            return lambda lane: self.call(lane._replace(slots=list(lane.slots)), phases)

        combined = [combining(part.combines) for part in self.parts]
        called = [calling(phases) for phases in calls]

        def body(lane: Workspace, row: dict[str, Any]) -> tuple[Workspace, None]:
            lane = lax.switch(row["part"], combined, lane)
            self.put(lane.slots, "t", (time(row["at"]),))
            return lax.switch(row["calls"], called, lane), None

        lane = lax.scan(body, lane, table)[0]
        return lane.slots, lane.maxima


def step_function(program: LaneProgram, precision: str = "f64") -> Callable[..., State]:
    """`step(p, state, h, t0) -> state` of one lane, plain JAX.

    `p` is a tuple of scalars; `state` maps the groups of rows of the table but p to tuples of scalars. A lane that
    trips keeps its old values, with `trip` set and `mon` of the attempted step.
    """
    with jax.enable_x64(precision == "f64"):
        phases = phases_of(program, precision)
    lane = TracedLane(program, phases, np.dtype(DTYPES[precision]))
    return lambda p, state, h, t0: lane.step(p, state, h, t0, lane.number(np.inf))


def functions_of(program: LaneProgram, precision: str) -> Functions:
    """What XLA is given of a program, for blocks of W lanes.

    "advance": table (rows, W), stops (TICKS, W), how many of them, h, t0 -> table, and (TICKS, 2 + nc, W): clock, trip
    and channels at each stop. A phase: table, h, t0 -> (n, W) what it writes, alone in a tuple.
    """
    dtype = np.dtype(DTYPES[precision])
    layout, lane = program.layout, TracedLane(program, phases_of(program, precision, barriers=True), dtype)

    def split(table: Any) -> tuple[tuple[Any, ...], State]:
        groups = {name: tuple(table[k] for k in layout.rows(name)) for name in layout.columns()}
        return groups.pop("p"), groups

    def step_until(p: tuple, state: State, stop: Any, h: Any, t0: Any) -> State:
        def running(s: State) -> Any:
            runs = lax.bitwise_and(lax.eq(s["trip"][0], lane.number(0.0)), lax.lt(s["clock"][0], stop))
            if layout.controlled:  # a step a tick
                runs = lax.bitwise_and(runs, lax.eq(s["clock"][0], state["clock"][0]))
            return lax.bitwise_and(runs, lax.gt(s["fraction"][0], lane.number(0.0)))

        return lax.while_loop(running, lambda s: lane.step(p, s, h, t0, stop), state)

    def evaluate(phase: str, p: tuple, state: State, h: Any, t0: Any) -> list[Any]:
        groups = jax.vmap(lambda p, s: lane.evaluate(phase, p, s, h, t0))(p, state)
        return [value for name in WRITES[phase] for value in groups[name]]

    def advance(table: Any, stops: Any, count: Any, h: Any, t0: Any) -> tuple[Any, Any]:
        p, begun = split(table)

        def tick(k: Any, carry: tuple[State, Any]) -> tuple[State, Any]:
            state, seen = carry
            state = jax.vmap(step_until, in_axes=(0, 0, 0, None, None))(p, state, stops[k], h, t0)
            now = jnp.stack([state["clock"][0], state["trip"][0], *evaluate("observe", p, state, h, t0)])
            return state, lax.dynamic_update_index_in_dim(seen, now, k, 0)

        seen = jnp.zeros((TICKS, 2 + layout.nc, table.shape[1]), table.dtype)
        state, seen = lax.fori_loop(0, count, tick, (begun, seen))
        groups = {**state, "p": p}
        return jnp.stack([row for name in layout.columns() for row in groups[name]]), seen

    def one_phase(phase: str, table: Any, h: Any, t0: Any) -> tuple[Any]:
        rows = evaluate(phase, *split(table), h, t0)
        return (jnp.stack(rows) if rows else jnp.zeros((0, table.shape[1]), table.dtype),)

    def function(kind: str, width: int) -> Function:
        table = jax.ShapeDtypeStruct((layout.row_count, width), dtype)
        stops, count = jax.ShapeDtypeStruct((TICKS, width), dtype), jax.ShapeDtypeStruct((), np.dtype(np.int32))
        number = jax.ShapeDtypeStruct((), dtype)
        if kind == "advance":
            return advance, (table, stops, count, number, number)
        return partial(one_phase, kind), (table, number, number)

    return function


class XlaKernel:
    """`contract.Kernel` in JAX.

    Attributes:
        compiled: executables compiled so far, those from the disk not counted: of a program one that advances, one for
            each phase that was asked for, those of its way back.
        compile_s: wall time of tracing, lowering and compiling them, or reading them from the disk.
    """

    def __init__(self, precision: str = "f64", threads: int | None = None, *, cache: bool = True) -> None:
        self.precision, self.dtype = precision, np.dtype(DTYPES[precision])
        self.threads = threads or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else "1")
        self.batch = BATCH_PER_THREAD * self.threads
        self.cache = cache
        self.compiled, self.compile_s = 0, 0.0
        self._ready: dict[int, tuple[LaneProgram, Executables]] = {}

    def prepare(self, program: LaneProgram) -> Executables:
        """The executables of a program: each is loaded or compiled when it is first called."""
        known = self._ready.get(id(program))
        if known is None:
            if self.cache:  # so that a later process finds the executables without building the pieces
                for piece in program.pieces():
                    piece.code.remember()
            text, functions = identity(program, self.precision), partial(functions_of, program, self.precision)
            shared = executables(text, self.precision, functions, cache=self.cache)
            known = self._ready[id(program)] = (program, shared)
        return known[1]

    def counted(self, executable: Executable) -> Callable[..., Any]:
        """The function of an executable, once what it took is noted."""
        self.compiled, self.compile_s = self.compiled + executable.compiled, self.compile_s + executable.seconds
        return executable.run

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel.advance`; lanes that do not run are in no block."""
        work: deque[Callable[[], None]] = deque()
        halt = Stop()
        for group in groups:
            lanes = np.flatnonzero(self._running(group.program, group.table, group.until))
            ticks = (every if group.out is not None else 0), origin
            for block in blocks_of(lanes):
                run = self._executable(group.program, "advance", block)
                work.append(partial(self._advance, group, block, run, h, t0, ticks, halt))
        _in_turn(work, self.threads, halt)

    def _advance(
        self, group: Group, block: PaddedLanes, run: Callable, h: float, t0: float, ticks: tuple[int, int], halt: Stop
    ) -> None:
        """Steps the lanes of one block, `TICKS` output ticks a call, until they are done or `halt` says so.

        Args:
            ticks: steps between two of them, and the clock of the first.
        """
        every, origin = ticks
        program, out = group.program, group.out
        table = np.ascontiguousarray(group.table[:, block.columns])
        until = np.where(block.padding, -np.inf, group.until[block.columns]).astype(self.dtype)
        rows = group.rows[block.columns]
        clock, controlled = program.layout.rows("clock")[0], program.layout.controlled
        steps, room = np.zeros(len(until), int), np.inf if out is None else out.shape[1]
        while True:
            running = self._running(program, table, until) & ~(controlled & (steps >= room))
            if not running.any() or halt.is_set():
                break
            stops, count = _stops(table[clock], until, running, 0 if controlled else every, origin)
            before = table[clock]
            table, seen = self._call(run, table, stops, np.int32(count), h, t0)
            if controlled:
                taken = seen[0, 0] > before
                if out is not None:
                    due = taken & (rows >= 0)
                    out[rows[due], steps[due]] = seen[0, 2:, due]
                steps += taken
                continue
            if out is None or every == 0:
                continue
            at, stopped, channels = seen[:count, 0], seen[:count, 1], seen[:count, 2:]
            number = np.floor((at - origin) / every)
            due = running & (stopped == 0) & (number * every + origin == at) & (rows >= 0) & (number < out.shape[1])
            which, lane = np.nonzero(due)
            out[rows[lane], number[due].astype(int)] = channels[which, :, lane]
        group.table[:, block.lanes] = table[:, : len(block.lanes)]

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        layout, names = program.layout, WRITES[phase]
        written = names[0] in layout.columns()
        rows = np.empty((sum(len(layout.slots(name)) for name in names), table.shape[1]), self.dtype)
        for block in blocks_of(np.arange(table.shape[1])):
            run = self._executable(program, phase, block)
            part = np.ascontiguousarray(table[:, block.columns])
            rows[:, block.lanes] = self._call(run, part, h, t0)[0][:, : len(block.lanes)]
        if not written:
            return rows
        table[[row for name in names for row in layout.rows(name)]] = rows
        return None

    def _running(self, program: LaneProgram, table: np.ndarray, until: np.ndarray) -> np.ndarray:
        clock, trip, fraction = (table[program.layout.rows(name)[0]] for name in ("clock", "trip", "fraction"))
        return (trip == 0) & (clock < until) & (fraction > 0)

    def _executable(self, program: LaneProgram, kind: str, block: PaddedLanes) -> Callable[..., Any]:
        return self.counted(self.prepare(program).of(kind, len(block.columns)))

    def _call(self, run: Callable[..., Any], *arguments: Any) -> list[np.ndarray]:
        """Calls an executable, whose last arguments are h and t0."""
        *others, h, t0 = arguments
        with jax.enable_x64(self.precision == "f64"):  # of this thread
            return [np.asarray(part) for part in run(*others, self.dtype.type(h), self.dtype.type(t0))]


def slowness_note(work: float) -> str:
    """What is said before a run on this backend that another does much faster; "" where nothing is.

    Args:
        work: members times steps.
    """
    if work < LARGE or jax.default_backend() != "cpu":
        return ""
    return f"a run of {work:.3g} steps of members with backend xla on a CPU: backend cpu is some 20 times faster"


class PaddedLanes(NamedTuple):
    """Some lanes, padded to a width that XLA compiles for: the first of them is repeated and does not run."""

    lanes: np.ndarray  # (n,)
    columns: np.ndarray  # (W,) the lanes, and the first again and again

    @property
    def padding(self) -> np.ndarray:
        """(W,)"""
        return np.arange(len(self.columns)) >= len(self.lanes)


def blocks_of(lanes: np.ndarray) -> Iterator[PaddedLanes]:
    """Lanes in blocks."""
    if len(lanes) == 0:
        return
    width = width_of(len(lanes))
    for first in range(0, len(lanes), width):
        some = lanes[first : first + width]
        yield PaddedLanes(some, np.concatenate([some, np.full(width - len(some), some[0])]))


def _stops(
    clock: np.ndarray, until: np.ndarray, running: np.ndarray, every: int, origin: int
) -> tuple[np.ndarray, int]:
    """(TICKS, W) clocks at which the lanes of a block stop, one after the other, and how many of them are needed."""
    if every == 0:
        stops = np.broadcast_to(until, (TICKS, len(until)))
        return np.where(running, stops, -np.inf).astype(clock.dtype), 1
    done = np.floor((clock - origin) / every)
    stops = np.minimum((done + 1 + np.arange(TICKS)[:, None]) * every + origin, until)
    needed = np.ceil((until - origin) / every) - done
    count = int(min(TICKS, max(1, needed[running].max())))
    return np.where(running, stops, -np.inf).astype(clock.dtype), count


def _in_turn(work: deque[Callable[[], None]], threads: int, halt: Stop) -> None:
    """Runs all, several at a time; after an error or an interrupt those that run stop soon, and none is begun."""

    def worker(halt: Stop) -> None:
        while not halt.is_set():
            try:
                task = work.popleft()
            except IndexError:
                return
            task()

    count = min(threads, len(work))
    if count <= 1:
        return worker(halt)
    with ThreadPoolExecutor(count) as pool:
        run_all(pool, count, worker, stop=halt)
