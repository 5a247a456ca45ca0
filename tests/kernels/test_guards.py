"""Guards: their codes, their order of precedence, and what a step that is tried again is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.kernels.guards import (
    ERROR,
    EVENTS,
    FINITE,
    GUARDS,
    LARGEST_RETRY,
    MONITORS,
    SMALLEST,
    causes,
    decide,
    passes,
)
from shiftjax.kernels.lane_program import Layout

LAYOUT = Layout(nq=1, nx=1, np=0, nm=2, nr=0, na=0, nc=0, ns=0, ne=2, controlled=True)
GOOD = {"control": (0.5, 2.0), "mon": (1.0, 1.0), "finite": True, "event": (1.0, 1.0), "event_rate": (0.0, 0.0)}
BAD = {
    ERROR: {"control": (3.0, 0.5)},
    MONITORS: {"mon": (1.0, 9.0)},
    FINITE: {"finite": False},
    EVENTS: {"event": (1.0, -1.0)},
}


class Numbers:
    """A step of one lane in NumPy."""

    layout = LAYOUT

    def __init__(self, watched: bool = True, rate: float = 0.0, **after: Any) -> None:
        self.end = {"size": (1.0,), "duration": (0.5,), "clock": (8.0,), **GOOD, **after}
        self.begin = {"clock": (7.0,), "armed": (0.0, 1.0), "limit": (5.0, 5.0), "event": (1.0, 1.0)}
        self.begin |= {"watched": (1.0, float(watched)), "event_rate": (0.0, rate)}

    def before(self, name: str, k: int = 0) -> Any:
        return np.asarray(self.begin[name][k])

    def after(self, name: str, k: int = 0) -> Any:
        return np.asarray(self.end[name][k])

    def finite(self) -> Any:
        return np.asarray(self.end["finite"])

    def number(self, value: float) -> Any:
        return np.asarray(value)

    def where(self, mask: Any, yes: Any, no: Any) -> Any:
        return np.where(mask, yes, no)


def test_every_code_has_one_guard() -> None:
    codes = [1, 2, 3, 4, 5, 6]
    names = [MONITORS, MONITORS, FINITE, ERROR, EVENTS, EVENTS]
    fired = causes(LAYOUT, np.array(codes))
    for k, (guard, place) in enumerate(zip(names, [0, 1, 0, 0, 0, 1], strict=True)):
        assert {name: int(which[k]) for name, which in fired.items() if which[k] >= 0} == {guard.name: place}


def test_the_first_guard_that_fires_decides() -> None:
    for first, guard in enumerate(GUARDS):
        broken = {name: value for later in GUARDS[first:] for name, value in BAD[later].items()}
        trip = decide(Numbers(**broken)).trip
        assert trip == 0 if guard is ERROR else causes(LAYOUT, trip[None])[guard.name][0] >= 0


def test_a_good_step_is_accepted() -> None:
    decision = decide(Numbers())
    assert decision.trip == 0 and decision.accepted and not decision.again and passes(Numbers())


def test_a_monitor_that_is_not_armed_does_not_count_but_is_looked_at() -> None:
    step = Numbers(mon=(9.0, 1.0))
    assert decide(step).accepted and not passes(step)


def test_an_event_that_nobody_watches_ends_no_step() -> None:
    assert decide(Numbers(**BAD[EVENTS])).trip != 0
    assert decide(Numbers(watched=False, **BAD[EVENTS])).accepted and passes(Numbers(watched=False, **BAD[EVENTS]))


@pytest.mark.parametrize(("rate", "fires"), [(-7.9, False), (-8.1, True), (8.1, False)])
def test_an_event_that_has_been_beyond_zero_and_is_back_ends_the_step(rate: float, fires: bool) -> None:
    """A parabola from 1 to 1 in half a second reaches down to 0 where it begins with - 8 a second."""
    step = Numbers(rate=rate, event_rate=(0.0, -rate))
    assert (decide(step).trip != 0) == fires != passes(step)


@pytest.mark.parametrize(
    ("control", "size"), [((4.0, 0.5), 0.5), ((4.0, 2.0), LARGEST_RETRY), ((np.nan, 0.5), SMALLEST)]
)
def test_a_rejected_step_is_tried_again_with_a_shorter_one(control: tuple[float, float], size: float) -> None:
    decision = decide(Numbers(control=control))
    assert decision.again and not decision.accepted and decision.trip == 0 and decision.retry == size


def test_a_step_too_small_to_advance_the_clock_trips() -> None:
    decision = decide(Numbers(control=(4.0, 1e-18)))
    assert causes(LAYOUT, decision.trip[None])[ERROR.name][0] == 0 and not decision.again
