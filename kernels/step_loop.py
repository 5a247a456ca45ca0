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

from shiftjax.kernels.contract import Group
from shiftjax.kernels.guards import COMMITTED, MONITORS, Decision, Size, decide, next_size, sized
from shiftjax.kernels.lane_program import WRITES, LaneProgram, Layout
from shiftjax.kernels.step_program import Combine, registers

State = dict[str, tuple[Any, ...]]  # groups of rows of the layout, each a tuple of numbers
Slots = list[Any]  # the workspace of a lane
Phases = Mapping[str, Callable[[Slots], None]]  # each phase works on the slots in place
Terms = Sequence[tuple[tuple[Any, ...], float]]  # values of regions, and their factors

READ = ("q", "x", "dx", "acc", "rep", "mon", "event", "event_rate")  # rows that pieces may read, beside p


class Workspace(NamedTuple):
    """What the instructions of a step work on: slots and registers change in place."""

    slots: Slots
    registers: dict[str, tuple[Any, ...]]
    maxima: tuple[Any, ...]  # of the monitors so far


class Attempt(NamedTuple):
    """A step of the loop as `guards.Step`."""

    loop: StepLoop
    state: State  # before it
    slots: Slots  # at its end
    maxima: tuple[Any, ...]
    size: Size
    duration: Any  # [s]

    @property
    def layout(self) -> Layout:
        """Of the program."""
        return self.loop.layout

    def before(self, name: str, k: int = 0) -> Any:
        """A number of the state before the step."""
        return self.state[name][k]

    def after(self, name: str, k: int = 0) -> Any:
        """A number of its end."""
        if name == "mon":
            return self.maxima[k]
        if name == "duration":
            return self.duration
        if name in ("size", "clock"):
            return self.size.size if name == "size" else self.size.end
        return self.slots[self.layout.slots(name)[k]]

    def finite(self) -> Any:
        """Whether 0 * sum(q, x, dx) is 0."""
        zero = self.number(0.0)
        return sum((v for name in ("q", "x", "dx") for v in self.loop.get(self.slots, name)), zero) * zero == zero

    def number(self, value: float) -> Any:
        """A constant."""
        return self.loop.number(value)

    def where(self, mask: Any, yes: Any, no: Any) -> Any:
        """`yes` where the mask holds, else `no`."""
        return self.loop.xp.where(mask, yes, no)


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
        (clock,), (fraction,) = state["clock"], state["fraction"]
        size = Size(fraction, clock + fraction, False)
        if self.layout.controlled:
            size = sized(clock, fraction, stop, self.xp.where)
        slots, maxima = self.attempt(p, state, size.size, h, t0)
        step = Attempt(self, state, slots, maxima, size, size.size * h)
        return self.commit(step, decide(step))

    def attempt(self, p: Sequence[Any], state: State, size: Any, h: Any, t0: Any) -> tuple[Slots, tuple[Any, ...]]:
        """The instructions of the method: the slots at the end of the step, and the largest monitors."""
        slots = self.slots(p, state)
        clock, zero = state["clock"][0], self.number(0.0) * state["clock"][0]
        if self.method.gamma:
            self.put(slots, "shift", (self.method.gamma * (size * h),))
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

    def commit(self, step: Attempt, decision: Decision) -> State:
        """The state after the step: new where it is accepted, else the old one."""
        state, slots = step.state, step.slots
        self.put(slots, "mon", step.maxima)
        self.phases["accumulate"](slots)
        new = {name: self.get(slots, name) for name in COMMITTED}
        within = [MONITORS.holds(step, k) for k in range(self.layout.nm)]
        new["armed"] = self.choose_each(within, [self.number(1.0)] * len(within), state["armed"])
        new["clock"] = (step.after("clock"),)
        if self.layout.controlled:
            new["fraction"] = (next_size(step, step.size.cut),)
        out = {**state, **{name: self.choose(decision.accepted, values, state[name]) for name, values in new.items()}}
        if self.layout.controlled:
            out["fraction"] = self.choose(decision.again, (decision.retry,), out["fraction"])
        return {**out, "mon": step.maxima, "trip": (decision.trip,)}

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
        program, table, until, out, rows = group[:5]
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
        program, table, until, out, rows = group[:5]
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
