"""How an attempted step ends: guards in order of precedence, and what happens to a lane where one does not hold.

Written once, on numbers and masks with Python's operators: arrays of lanes and traced scalars in `step_loop`, vectors
of LLVM text in `llvm.stepper`. A further guard is a line of `GUARDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, Protocol

import numpy as np

from shiftjax.kernels.lane_program import Layout
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.record import record

Number = Any  # of one lane, or of each of many
Mask = Any

FREEZE = "freeze"  # the lane keeps the state before the step and waits for the host: its row `trip` says why
RETRY = "retry"  # it tries again with a shorter step, and freezes where none is left
SMALLEST = 0.1  # factor of the step size after a step whose error, or whose factor, is not a number
LARGEST_RETRY = 0.9  # factor of the step size with which a rejected step is tried again, at most
COMMITTED = ("q", "x", "dx", "acc", "rep", "event", "event_rate")  # what an accepted step leaves, else put back


class Step(Protocol):
    """An attempted step of one lane, or of many."""

    @property
    def layout(self) -> Layout:
        """Of the program."""
        ...

    def before(self, name: str, k: int = 0) -> Number:
        """Number k of a group of rows of the table, of the state before the step."""
        ...

    def after(self, name: str, k: int = 0) -> Number:
        """Number k of a region at the end of the step; "mon": the largest on the way; "duration": of the step [s]; of
        steps whose size is controlled "size" and "clock", too."""
        ...

    def finite(self) -> Mask:
        """Whether q, x and dx of the end are finite."""
        ...

    def number(self, value: float) -> Number:
        """A constant."""
        ...

    def where(self, mask: Mask, yes: Number, no: Number) -> Number:
        """`yes` where the mask holds, else `no`."""
        ...


@record
class Guard:
    """One or several conditions on a step.

    Attributes:
        count: how many of them a layout has. holds: whether number k does, False where it reads a NaN.
        code: the trip code of number 0, those of the others follow. otherwise: what happens where one does not hold.
        armed: whether the row `armed` says which of them count.
    """

    name: str
    count: Callable[[Layout], int]
    holds: Callable[[Step, int], Mask]
    code: Callable[[Layout], int]
    otherwise: str = FREEZE
    armed: bool = False

    def fires(self, step: Step, k: int) -> Mask:
        """Where condition k counts and does not hold."""
        broken = ~self.holds(step, k)
        return (step.before("armed", k) != step.number(0.0)) & broken if self.armed else broken


def _same_sign(step: Step, k: int) -> Mask:
    """An event has neither changed its sign nor reached zero, nor has it between both ends, or nobody watches; one that
    begins at zero has no sign to change."""
    old, new, zero = step.before("event", k), step.after("event", k), step.number(0.0)
    rates = [step.after("duration") * rate for rate in (step.before("event_rate", k), step.after("event_rate", k))]
    _, between = turn(old, new, rates[0], rates[1], step.number, step.where)
    changed = ((old > zero) & (~(new > zero) | (between <= zero))) | (
        (old < zero) & (~(new < zero) | (between >= zero))
    )
    return ~(changed & (step.before("watched", k) != zero))


def turn(
    old: Number,
    new: Number,
    rate_before: Number,
    rate_after: Number,
    number: Callable[[float], Number],
    where: Callable[[Mask, Number, Number], Number],
) -> tuple[Number, Number]:
    """Where an event turns round within a step before it reaches zero or behind it, and its value there.

    The share of the step at which a rate would vanish that changes along a line, as that of a constant acceleration
    does, and the cubic through both ends there; the end itself where the rates lead to no turn between zero and it.

    Args:
        old, new: values at both ends. rate_before, rate_after: their changes, a step. number: makes a constant.
    """
    zero, one = number(0.0), number(1.0)
    above = (old > zero) & (new > zero) & (rate_before < zero) & (rate_after > zero)
    below = (old < zero) & (new < zero) & (rate_before > zero) & (rate_after < zero)
    turns = above | below
    share = where(turns, rate_before, one) / where(turns, rate_before - rate_after, one)
    bend = rate_before + rate_after - number(2.0) * (new - old)
    cubic = old + share * (rate_before + share * (new - old - rate_before - bend + share * bend))
    return where(turns, share, one), where(turns, cubic, new)


ERROR = Guard(
    "error", lambda n: int(n.controlled), lambda step, _: step.after("control") <= step.number(1.0),
    lambda n: n.nm + 2, RETRY,
)  # fmt: skip
MONITORS = Guard(
    "monitors", lambda n: n.nm, lambda step, k: step.after("mon", k) <= step.before("limit", k), lambda _: 1, armed=True
)
FINITE = Guard("finite", lambda _: 1, lambda step, _: step.finite(), lambda n: n.nm + 1)
EVENTS = Guard("events", lambda n: n.ne, _same_sign, lambda n: n.nm + 3)

GUARDS = (ERROR, MONITORS, FINITE, EVENTS)  # the first that fires decides, of its conditions the first


class Decision(NamedTuple):
    """What becomes of a step.

    Attributes:
        trip: 0, or why the lane freezes. accepted: whether the step counts.
        again: whether it is tried again with the size `retry`; both None where nothing controls it.
    """

    trip: Number
    accepted: Mask
    again: Mask
    retry: Number


def decide(step: Step) -> Decision:
    """The decision of all guards."""
    layout, zero, trip = step.layout, step.number(0.0), step.number(0.0)
    again, retry = None, None
    for guard in reversed(GUARDS):
        for k in reversed(range(guard.count(layout))):
            code, fires = step.number(float(guard.code(layout) + k)), guard.fires(step, k)
            if guard.otherwise == RETRY:
                retry = _shorter(step)
                trip = step.where(fires, step.where(_stuck(step, retry), code, zero), trip)
                again = fires & (trip == zero)
            else:
                trip = step.where(fires, code, trip)
    untripped = trip == zero
    return Decision(trip, untripped if again is None else untripped & ~again, again, retry)


def passes(step: Step) -> Mask:
    """Whether every condition holds, those that do not count at present included: then nothing is to be decided."""
    return reduce(and_, (guard.holds(step, k) for guard in GUARDS for k in range(guard.count(step.layout))))


def disarm(table: LaneTable) -> None:
    """No monitor and no event freezes the lanes of a table in their next step."""
    table.set("limit", np.inf)
    table.set("event", 0.0)  # one that begins at zero has no sign to change


def causes(layout: Layout, codes: np.ndarray) -> dict[str, np.ndarray]:
    """For every guard (T,) which of its conditions tripped a lane, -1 where it was another's."""
    first = {guard.name: guard.code(layout) for guard in GUARDS}
    latest = np.max([np.where(codes >= code, code, 0) for code in first.values()], axis=0)
    return {name: np.where(latest == code, codes - code, -1) for name, code in first.items()}


# -- the size of a step ----------------------------------------------------------------------------------------------


class Size(NamedTuple):
    """Size of a step in steps of h, the clock at its end, and whether it is shortened to end at the stop."""

    size: Number
    end: Number
    cut: Mask


def sized(clock: Number, fraction: Number, stop: Number, where: Callable[[Mask, Number, Number], Number]) -> Size:
    """The next step of a lane whose size is controlled: the clocks at its ends say it, to the last bit."""
    cut = fraction >= stop - clock
    end = where(cut, stop, clock + fraction)
    return Size(end - clock, end, cut)


def next_size(step: Step, cut: Mask) -> Number:
    """The size after an accepted step; one that was cut says nothing against the size before it."""
    fraction, grown = step.before("fraction"), step.after("size") * step.after("control", 1)
    return step.where(cut, step.where(grown > fraction, grown, fraction), grown)


def _shorter(step: Step) -> Number:
    """The size with which a rejected step is tried again."""
    error, growth, most = step.after("control"), step.after("control", 1), step.number(LARGEST_RETRY)
    growth = step.where((error == error) & (growth == growth), growth, step.number(SMALLEST))
    return step.after("size") * step.where(growth < most, growth, most)


def _stuck(step: Step, retry: Number) -> Mask:
    """Whether no clock lies between those of the ends of a step."""
    clock = step.before("clock")
    again = clock + retry
    return (again == clock) | (again >= step.after("clock"))
