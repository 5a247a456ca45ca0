"""The reference implementation of the step loop of `contract`.

`StepLoop` is written on numbers that support Python's operators: NumPy arrays with one entry per lane, or traced
scalars of one lane. The JAX backend runs it (with the parts of a step as a scan); the LLVM backend emits it as text,
method by method under the same names. `TickLoop` adds output ticks to backends that only run to a given clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.kernels.contract import LARGEST_RETRY, SMALLEST, Group
from shiftjax.kernels.lane_program import WRITES, LaneProgram
from shiftjax.kernels.step_program import Combine, registers

State = dict[str, tuple[Any, ...]]  # groups of rows of the layout, each a tuple of numbers
Slots = list[Any]  # the workspace of a lane
Phases = Mapping[str, Callable[[Slots], None]]  # each phase works on the slots in place
Terms = Sequence[tuple[tuple[Any, ...], float]]  # values of regions, and their factors

READ = ("q", "x", "dx", "acc", "rep", "mon", "event")  # rows that pieces may read, beside p


class Workspace(NamedTuple):
    """What the instructions of a step work on: slots and registers change in place."""

    slots: Slots
    registers: dict[str, tuple[Any, ...]]
    maxima: tuple[Any, ...]  # of the monitors so far


class StepLoop:
    """Steps of one lane, or of many.

    Args:
        phases: of the program. arithmetic: `numpy` or `jax.numpy`. dtype: of all numbers.
    """

    def __init__(self, program: LaneProgram, phases: Phases, arithmetic: Any, dtype: np.dtype) -> None:
        self.program, self.layout, self.method = program, program.layout, program.method
        self.phases, self.xp, self.dtype = phases, arithmetic, dtype
        self.parts = self.method.parts(controlled=self.layout.controlled)

    # -- slots -------------------------------------------------------------------------------------------------------

    def number(self, value: float) -> Any:
        """A constant."""
        return self.xp.asarray(value, self.dtype)

    def slots(self, p: Sequence[Any], state: State) -> Slots:
        """A workspace filled with the state."""
        slots: Slots = [self.number(0.0)] * self.layout.slot_count
        for name in READ:
            self.put(slots, name, state[name])
        self.put(slots, "p", p)
        self.put(slots, "clock", state["clock"] if self.layout.controlled else ())
        return slots

    def get(self, slots: Slots, name: str) -> tuple[Any, ...]:
        """The values of a region."""
        return tuple(slots[k] for k in self.layout.slots(name))

    def put(self, slots: Slots, name: str, values: Sequence[Any]) -> None:
        """Fills a region."""
        for k, value in zip(self.layout.slots(name), values, strict=True):
            slots[k] = value

    def choose(self, mask: Any, yes: Sequence[Any], no: Sequence[Any]) -> tuple[Any, ...]:
        """`yes` where the mask holds, else `no`."""
        return tuple(self.xp.where(mask, a, b) for a, b in zip(yes, no, strict=True))

    def evaluate(self, phase: str, p: Sequence[Any], state: State, h: Any, t0: Any) -> State:
        """The results of one phase at t0 + clock h."""
        slots = self.slots(p, state)
        self.put(slots, "t", (t0 + state["clock"][0] * h,))
        self.phases[phase](slots)
        return {name: self.get(slots, name) for name in WRITES[phase]}

    # -- one step ----------------------------------------------------------------------------------------------------

    def step(self, p: Sequence[Any], state: State, h: Any, t0: Any, stop: Any) -> State:
        """One step: accepted, rejected or frozen.

        Args:
            stop: clock that the step may not pass where an error estimate controls its size.
        """
        size, end, cut = self.size(state, stop)
        slots, maxima = self.attempt(p, state, size, h, t0)
        rejected = self.rejected(slots)
        trip = self.trip(state, slots, maxima, size, rejected)
        return self.accept(state, slots, maxima, size, end, cut, rejected, trip)

    def size(self, state: State, stop: Any) -> tuple[Any, Any, Any]:
        """Size of the step in steps of h, the clock at its end, and whether `stop` shortens it."""
        (clock,), (fraction,) = state["clock"], state["fraction"]
        if not self.layout.controlled:
            return fraction, clock + fraction, self.xp.zeros_like(fraction, bool)
        cut = fraction >= stop - clock
        end = self.xp.where(cut, stop, clock + fraction)
        return end - clock, end, cut

    def attempt(self, p: Sequence[Any], state: State, size: Any, h: Any, t0: Any) -> tuple[Slots, tuple[Any, ...]]:
        """The instructions of the method: the slots at the end of the step, and the largest monitors."""
        slots = self.slots(p, state)
        clock, zero = state["clock"][0], self.number(0.0) * state["clock"][0]
        lane = Workspace(
            slots,
            {name: (zero,) * len(self.layout.slots(kind)) for name, kind in registers(self.method).items()},
            tuple(zero - self.number(np.inf) for _ in self.layout.slots("mon")),
        )
        return self.run_parts(lane, size * h, lambda at: t0 + (clock + at * size) * h)

    def run_parts(self, lane: Workspace, step: Any, time: Callable[[Any], Any]) -> tuple[Slots, tuple[Any, ...]]:
        """All parts of a step of `step` seconds; `time` is t [s] so many steps after its beginning."""
        for part in self.parts:
            self.combine(lane, part.combines, step)
            self.put(lane.slots, "t", (time(part.at),))
            lane = self.call(lane, part.phases)
        return lane.slots, lane.maxima

    def combine(self, lane: Workspace, combines: Sequence[Combine], step: Any) -> None:
        """Weighted sums of regions, in place."""
        for one in combines:
            base = [(self.region(lane, name), a) for name, a in one.base]
            rates = [(self.region(lane, name), a) for name, a in one.rates]
            width = len(self.layout.slots(self.method.kind(one.target)))
            values = tuple(self.weighted(k, base, rates, step) for k in range(width))
            if one.target in lane.registers:
                lane.registers[one.target] = values
            else:
                self.put(lane.slots, one.target, values)

    def region(self, lane: Workspace, name: str) -> tuple[Any, ...]:
        """The values of a region of the layout, or of a register."""
        return lane.registers[name] if name in lane.registers else self.get(lane.slots, name)

    def weighted(self, k: int, base: Terms, rates: Terms, step: Any) -> Any:
        """Number k of the sum of a base and, times the step, of rates."""
        total = sum((values[k] if a == 1.0 else a * values[k] for values, a in base), self.number(0.0))
        return total + step * sum((a * values[k] for values, a in rates), self.number(0.0)) if rates else total

    def call(self, lane: Workspace, phases: Sequence[str]) -> Workspace:
        """Phases in place, and the larger of the monitors."""
        maxima = lane.maxima
        for phase in phases:
            self.phases[phase](lane.slots)
            if "mon" in WRITES.get(phase, ()):
                maxima = tuple(map(self.xp.maximum, maxima, self.get(lane.slots, "mon")))  # NaN where one is
        return lane._replace(maxima=maxima)

    # -- accept, reject or freeze ------------------------------------------------------------------------------------

    def rejected(self, slots: Slots) -> Any:
        """Whether the error is too large, or not a number."""
        if not self.layout.controlled:
            return self.xp.zeros_like(slots[self.layout.slots("t").start], bool)
        return ~(self.get(slots, "control")[0] <= 1.0)

    def trip(self, state: State, slots: Slots, maxima: Sequence[Any], size: Any, rejected: Any) -> Any:
        """The trip code: 0, or why the lane is frozen."""
        zero, n = self.number(0.0), self.layout.nm
        trip = zero
        for k, (old, new) in reversed(list(enumerate(zip(state["event"], self.get(slots, "event"), strict=True)))):
            crossed = ((old > 0) & ~(new > 0)) | ((old < 0) & ~(new < 0))
            trip = self.xp.where(crossed, self.number(n + 3.0 + k), trip)
        total = sum((v for name in ("q", "x", "dx") for v in self.get(slots, name)), zero)
        trip = self.xp.where(total * zero == zero, trip, self.number(n + 1.0))
        for k in reversed(range(n)):
            bad = (state["armed"][k] != 0) & ~(maxima[k] <= state["limit"][k])
            trip = self.xp.where(bad, self.number(k + 1.0), trip)
        if not self.layout.controlled:
            return trip
        (clock,) = state["clock"]
        again = clock + self.proposed(size, slots)
        stuck = (again == clock) | (again >= clock + size)  # no clock lies between
        return self.xp.where(rejected, self.xp.where(stuck, self.number(n + 2.0), zero), trip)

    def proposed(self, size: Any, slots: Slots) -> Any:
        """The size with which a rejected step is retried."""
        error, growth = self.get(slots, "control")
        growth = self.xp.where((error == error) & (growth == growth), growth, self.number(SMALLEST))
        return size * self.xp.minimum(growth, self.number(LARGEST_RETRY))

    def accept(
        self,
        state: State,
        slots: Slots,
        maxima: tuple[Any, ...],
        size: Any,
        end: Any,
        cut: Any,
        rejected: Any,
        trip: Any,
    ) -> State:
        """The state after the step: new where it is accepted, else the old one."""
        good = (trip == 0) & ~rejected
        self.put(slots, "mon", maxima)
        self.phases["accumulate"](slots)
        new = {name: self.get(slots, name) for name in ("q", "x", "dx", "acc", "rep", "event")}
        fraction = state["fraction"][0]
        within = [m <= limit for m, limit in zip(maxima, state["limit"], strict=True)]
        new["armed"] = self.choose_each(within, [self.number(1.0)] * len(maxima), state["armed"])
        if self.layout.controlled:
            grown = size * self.get(slots, "control")[1]
            new["fraction"] = (self.xp.where(cut, self.xp.maximum(grown, fraction), grown),)
        new["clock"] = (end,)
        out = {**state, **{name: self.choose(good, values, state[name]) for name, values in new.items()}}
        if self.layout.controlled:
            again = rejected & (trip == 0)
            out["fraction"] = self.choose(again, (self.proposed(size, slots),), out["fraction"])
        return {**out, "mon": maxima, "trip": (trip,)}

    def choose_each(self, masks: Sequence[Any], yes: Sequence[Any], no: Sequence[Any]) -> tuple[Any, ...]:
        """`yes[k]` where `masks[k]` holds, else `no[k]`."""
        return tuple(self.xp.where(m, a, b) for m, a, b in zip(masks, yes, no, strict=True))


class TickLoop:
    """`contract.Kernel.advance` for backends that run each lane to its stop, without output ticks."""

    dtype: np.dtype
    batch = sys.maxsize  # all at once

    def run(self, program: LaneProgram, table: np.ndarray, stop: np.ndarray, h: float, t0: float) -> None:
        """Steps every running lane until its clock is at least its stop; a controlled one takes a step towards it."""
        raise NotImplementedError

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        raise NotImplementedError

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel.advance`; lanes stop at each of their output ticks."""
        for group in groups:
            if group.program.layout.controlled:
                self._advance_controlled(group, h, t0)
            else:
                self._advance(group, h, t0, every if group.out is not None else 0, origin)

    def _advance_controlled(self, group: Group, h: float, t0: float) -> None:
        program, table, until, out, rows = group
        clock, trip, fraction = (table[program.layout.rows(name)[0]] for name in ("clock", "trip", "fraction"))
        steps, room = np.zeros(len(until), int), np.inf if out is None else out.shape[1]
        while True:
            running = (trip == 0) & (clock < until) & (fraction > 0) & (steps < room)
            if not running.any():
                return
            before = clock.copy()
            self.run(program, table, np.where(running, until, -np.inf).astype(self.dtype), h, t0)
            taken = clock > before
            if out is not None:
                channels, due = self.evaluate(program, "observe", table, t0, h), taken & (rows >= 0)
                assert channels is not None
                out[rows[due], steps[due]] = channels[:, due].T
            steps += taken

    def _advance(self, group: Group, h: float, t0: float, every: int, origin: int) -> None:
        program, table, until, out, rows = group
        clock, trip, fraction = (table[program.layout.rows(name)[0]] for name in ("clock", "trip", "fraction"))
        while True:
            running = (trip == 0) & (clock < until) & (fraction > 0)
            if not running.any():
                return
            tick = (
                (np.floor((clock - origin) / every) + 1) * every + origin if every > 0 else np.full_like(clock, np.inf)
            )
            stop = np.where(running, np.minimum(tick, until), -np.inf).astype(self.dtype)
            self.run(program, table, stop, h, t0)
            if every > 0 and out is not None:
                ticks = np.floor((clock - origin) / every)
                due = running & (trip == 0) & (ticks * every + origin == clock) & (rows >= 0) & (ticks < out.shape[1])
                if due.any():
                    channels = self.evaluate(program, "observe", table, t0, h)
                    assert channels is not None
                    out[rows[due], ticks[due].astype(int)] = channels[:, due].T
