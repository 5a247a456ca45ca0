"""Knots of a force over a displacement that a step goes past: what no stage of it sees.

A step that ends where it would have ended without a barrier keeps its energy, so that nothing else shows it. Of every
step past two knots or more of a force the work from the first to the last of them is compared with that of a straight
line between the forces on their outer sides, which is what the steps before and after see. What differs makes the
motion slower on the way, or turns it: a barrier U(x) of a mass m that passes at a speed v takes the time
integral of U / (m v^3) dx more, and is too high where 2 U / v^2 is above m. Both are accumulated times the mass that
moves, which the host knows (`run.advance.inputs.passed_springs`). Lane code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from shiftjax.algebra import Scalar, Vec, larger, largest, select
from shiftjax.forces import FORCES
from shiftjax.forces.kind import Course
from shiftjax.measures.interval import moving, smaller
from shiftjax.record import record
from shiftjax.topology.plan import Plan

STOPS = 1e-6  # of the speed in a step: the least that it is taken to have, where it may stop within
NONE = 1e30  # of a way: no knots are that far apart


@record
class PassedKnots:
    """The accumulators of a force.

    Time and displacement at the end of the last step, and the speed in it; by how much all that was passed puts off the
    fastest coordinate, times the mass that moves; the largest mass that a barrier turns, at the least speed that the
    step may have, and the next largest; that of the largest barrier or well, and of its step the time at the end, the
    shortest way between two of the knots, in parts of the step's, and the coordinates.

    Attributes:
        force: its place in the plan. path: of it. nq: coordinates of the mechanism.
    """

    force: int
    path: str
    nq: int

    @property
    def size(self) -> int:
        return 9 + self.nq

    def update(self, accumulators: Vec, now: Scalar, seen: Any) -> Vec:
        """The accumulators at the end of a step, at a time [s] and an `ObservedState`."""
        before, x_before, speed_before, late, turned, second, heaviest, *noted = accumulators
        element = seen.lane.plan.forces[self.force]
        course = FORCES[element.kind].course(element, seen.motion)
        high, deep, area, nearest = passed(course, x_before)
        way = moving(course.x - x_before)
        slowness = (now - before) / abs(way)
        fastest = largest([abs(1.0 / unit * v) for v, unit in zip(seen.v, seen.lane.units, strict=True)])
        speed = (course.x - x_before) / moving(now - before)  # a run that goes on begins with no step
        change = select(0.0 < abs(speed_before), abs(speed - speed_before), 0.0)  # unknown in the first step
        slowest = 1.0 / larger(abs(speed) - change, STOPS * abs(moving(speed)))
        mass, barrier = (2.0 * work * slowest * slowest for work in (larger(high, deep), high))
        heavier = heaviest < mass
        fresh = [now, nearest / abs(way), *seen.q]
        return [
            now,
            course.x,
            speed,
            late + area * slowness * slowness * slowness * fastest,
            larger(turned, barrier),
            larger(second, smaller(turned, barrier)),
            larger(heaviest, mass),
            *(select(heavier, new, old) for new, old in zip(fresh, noted, strict=True)),
        ]

    def begin(self, rows: list[np.ndarray]) -> None:
        """Fills the accumulators (B,) of lanes at their start, of which time and displacement are right."""
        for row in rows[2:]:
            row[:] = 0.0


def passed(course: Course, x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """What a step past knots does not see.

    Args:
        x: where the displacement was before it.

    Returns:
        by how much at most the work from the first knot that it goes past is above that of a straight line to the last
        one, and below it [J]; the integral of the difference over the displacement; the shortest way between two of
        these knots, `NONE` where there are none.
    """
    past = [abs(select(x < knot, 1.0, 0.0) - select(course.x < knot, 1.0, 0.0)) for knot in course.knots]
    both = [a * b for a, b in pairwise(past)]
    gaps = [b - a for a, b in pairwise(course.knots)]
    first = last = length = 0.0
    nearest: Scalar = NONE
    for k, one in enumerate(past):
        first += (one - both[k - 1] if k else one) * course.before[k]
        last += (one - both[k] if k < len(both) else one) * course.after[k]
    for inside, gap in zip(both, gaps, strict=True):
        length += inside * gap
        nearest = select(0.0 < inside, smaller(nearest, gap), nearest)
    bend = 0.5 * (last - first) / moving(length)
    high = deep = area = net = 0.0
    for part, way, work in _along(both, gaps, course):
        above = select(0.0 < part, work - way * (first + way * bend), 0.0)
        high, deep, area = larger(high, above), larger(deep, -above), area + part * abs(above)
        net = select(0.0 < part, above, net)
    return high - smaller(0.0, net), deep + larger(0.0, net), area, nearest  # it may have come from either side


def _along(both: Vec, gaps: Vec, course: Course) -> Iterator[tuple[Scalar, Scalar, Scalar]]:
    """Of places behind the first knot that is passed: the way since the last place, 0 behind the last one; the way and
    the work from the first on."""
    begun = done = 0.0
    for inside, gap, works in zip(both, gaps, course.work, strict=True):
        for k, work in enumerate(works, 1):
            yield inside * gap / len(works), begun + k / len(works) * gap, done + work
        begun += inside * gap
        done += inside * works[-1]


def watched(plan: Plan) -> tuple[PassedKnots, ...]:
    """Of every force of which a step may go past several knots."""
    return tuple(
        PassedKnots(k, element.path, plan.nq)
        for k, element in enumerate(plan.forces)
        if FORCES[element.kind].course_knots(element) > 1
    )
