"""The reference implementation of the step loop of `contract`.

`StepLoop` is written on numbers that support Python's operators: NumPy arrays with one entry per lane, or traced
scalars of one lane. The JAX backend runs it (with the stages as a scan); the LLVM backend emits it as text, method by
method under the same names. `TickLoop` adds output ticks to backends that only run to a given clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.kernels.contract import LARGEST_RETRY, SMALLEST, WRITES, Group
from shiftjax.kernels.lane_program import LaneProgram

State = dict[str, tuple[Any, ...]]  # groups of rows of the layout, each a tuple of numbers
Slots = list[Any]  # the workspace of a lane
Phases = Mapping[str, Callable[[Slots], None]]  # each phase works on the slots in place

READ = ("q", "x", "dx", "acc", "rep", "mon", "event")  # rows that pieces may read, beside p


class StepLoop:
    """Steps of one lane, or of many.

    Args:
        phases: of the program. arithmetic: `numpy` or `jax.numpy`. dtype: of all numbers.
    """

    def __init__(self, program: LaneProgram, phases: Phases, arithmetic: Any, dtype: np.dtype) -> None:
        self.program, self.layout, self.method = program, program.layout, program.method
        self.phases, self.xp, self.dtype = phases, arithmetic, dtype

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
        size, cut = self.size(state, stop)
        slots, maxima = self.attempt(p, state, size, h, t0)
        rejected = self.rejected(slots)
        trip = self.trip(state, slots, maxima, size, rejected)
        return self.accept(state, slots, maxima, size, cut, stop, rejected, trip)

    def size(self, state: State, stop: Any) -> tuple[Any, Any]:
        """Size of the step in steps of h, and whether `stop` shortens it."""
        (clock,), (fraction,) = state["clock"], state["fraction"]
        if not self.layout.controlled:
            return fraction, self.xp.zeros_like(fraction, bool)
        left = stop - clock
        return self.xp.minimum(fraction, left), fraction >= left

    def attempt(self, p: Sequence[Any], state: State, size: Any, h: Any, t0: Any) -> tuple[Slots, tuple[Any, ...]]:
        """All stages, the end and its projection: the slots, and the largest monitors."""
        method, slots = self.method, self.slots(p, state)
        self.phases["drift"](slots)
        dxs, qdots = [state["dx"]], [self.get(slots, "qdot")]
        maxima = None
        for stage in range(1, method.stages):
            self.place(slots, state, size, h, t0, method.A[stage], method.A_hat[stage], method.c[stage], dxs, qdots)
            self.phases["drift"](slots)
            if method.needs[stage]:
                self.phases["accelerate"](slots)
                maxima = self.larger(maxima, self.get(slots, "mon"))
            dxs.append(self.get(slots, "dx"))
            qdots.append(self.get(slots, "qdot"))
        self.place(slots, state, size, h, t0, method.b, method.b_hat, 1.0, dxs, qdots)
        self.estimate(slots, size * h, method.error, dxs, qdots)
        return slots, self.end(slots, maxima)

    def place(
        self,
        slots: Slots,
        state: State,
        size: Any,
        h: Any,
        t0: Any,
        row: Sequence[Any],
        row_hat: Sequence[Any],
        c: Any,
        dxs: Sequence[Sequence[Any]],
        qdots: Sequence[Sequence[Any]],
    ) -> None:
        """q, x and t of a stage or of the end."""
        self.put(slots, "x", self.blend(state["x"], size * h, row, dxs))
        self.put(slots, "q", self.blend(state["q"], size * h, row_hat, qdots))
        self.put(slots, "t", (t0 + (state["clock"][0] + c * size) * h,))

    def blend(self, base: Sequence[Any], step: Any, row: Sequence[Any], rates: Sequence[Sequence[Any]]) -> list[Any]:
        """base + step sum row[j] rates[j]."""
        return [b + step * sum((a * rate[k] for a, rate in zip(row, rates, strict=False)), self.number(0.0))
                for k, b in enumerate(base)]  # fmt: skip

    def estimate(
        self, slots: Slots, step: Any, row: Sequence[Any], dxs: Sequence[Sequence[Any]], qdots: Sequence[Sequence[Any]]
    ) -> None:
        """Error estimates of x and q, for embedded methods."""
        if self.layout.controlled:
            zero = self.number(0.0)
            self.put(slots, "ex", self.blend([zero] * self.layout.nx, step, row, dxs))
            self.put(slots, "eq", self.blend([zero] * self.layout.nq, step, row, qdots))

    def end(self, slots: Slots, maxima: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """Projection, norm of the error, events at the end; the largest monitors."""
        for phase in ("project", "error", "events"):
            self.phases[phase](slots)
        return self.larger(maxima, self.get(slots, "mon"))

    def larger(self, maxima: tuple[Any, ...] | None, new: tuple[Any, ...]) -> tuple[Any, ...]:
        """Elementwise maximum that propagates NaN."""
        return new if maxima is None else tuple(self.xp.maximum(a, b) for a, b in zip(maxima, new, strict=True))

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
        stuck = clock + self.proposed(size, slots) == clock
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
        cut: Any,
        stop: Any,
        rejected: Any,
        trip: Any,
    ) -> State:
        """The state after the step: new where it is accepted, else the old one."""
        good = (trip == 0) & ~rejected
        self.put(slots, "mon", maxima)
        self.phases["accumulate"](slots)
        new = {name: self.get(slots, name) for name in ("q", "x", "dx", "acc", "rep", "event")}
        clock, fraction = state["clock"][0] + size, state["fraction"][0]
        within = [m <= limit for m, limit in zip(maxima, state["limit"], strict=True)]
        new["armed"] = self.choose_each(within, [self.number(1.0)] * len(maxima), state["armed"])
        if self.layout.controlled:
            clock = self.xp.where(cut, stop, clock)
            grown = size * self.get(slots, "control")[1]
            new["fraction"] = (self.xp.where(cut, self.xp.maximum(grown, fraction), grown),)
        new["clock"] = (clock,)
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
        """Steps every running lane until its clock is at least its stop."""
        raise NotImplementedError

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        raise NotImplementedError

    def advance(self, groups: Sequence[Group], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Kernel.advance`; lanes stop at each of their output ticks."""
        for group in groups:
            self._advance(group, h, t0, every if group.out is not None else 0, origin)

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
