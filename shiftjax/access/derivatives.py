"""Derivatives of what is asked of a state: along its motion, with places, speeds and numbers, loops open or closed.

With loops closed and independent coordinates q_i and speeds v_i as variables, all places and speeds follow:
dq = N (Z dq_i + x), J x = -Phi_p dp, and v = Z v_i + v_0 changes with both; N makes rates of coordinates of speeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from shiftjax.access.answers import Nested, Question, flattened, shape_of
from shiftjax.access.frame_kinds import FrameChain
from shiftjax.access.lane_state import LaneState
from shiftjax.algebra import Scalar, Vec, basis_vector, is_zero, negative
from shiftjax.dynamics.reactions import Reactions
from shiftjax.dynamics.reduction import Column

Directions = list[Vec]


def along_motion(question: Question) -> Question:
    """The time derivative, with the accelerations of the state."""

    def answer(at: LaneState) -> Nested:
        (rates,) = at.along(lambda x: flattened(question.answer(x)), [_flow(at, question.frames)])
        return shaped(rates, shape_of(question.answer(at)))

    return replace(question, key=("rate", question.key), answer=answer)


def _flow(at: LaneState, frames: Sequence[FrameChain]) -> Vec:
    """How all inputs of a state change in time."""
    flow = at.direction(q=at.coordinate_rates(at.v), v=at.a, t=[1.0])
    if at.plan.ns:
        reactions: Reactions = at.observed.reactions
        flow[at.ground.parts["states"]] = reactions.tree.rates
    first = at.ground.parts["extra"].start
    for frame in frames:
        for place, rate in frame.rates(at).items():
            flow[first + place] = rate
    return flow


def with_places(question: Question, *, closed: bool) -> Question:
    """Slopes with the displacement of every speed, or of every independent one, speeds held; the last axis."""

    def directions(at: LaneState) -> Directions:
        if closed:
            return [_closed(at, at.direction(), column) for column in at.Z]
        return [at.direction(q=at.coordinate_rates(basis_vector(k, at.plan.nv))) for k in range(at.plan.nv)]

    return _slopes(question, ("places", closed), directions)


def with_speeds(question: Question, *, closed: bool) -> Question:
    """Slopes with every speed, or with every independent one; the last axis."""

    def directions(at: LaneState) -> Directions:
        if closed:
            return [at.direction(v=_dense(column, at.plan.nv)) for column in at.Z]
        return [at.direction(v=basis_vector(k, at.plan.nv)) for k in range(at.plan.nv)]

    return _slopes(question, ("speeds", closed), directions)


def with_number(question: Question, place: int, *, closed: bool) -> Question:
    """The slope with one of the varied numbers, places held, or those of independent coordinates alone.

    Args:
        place: of the number among the varied ones.
    """

    def directions(at: LaneState) -> Directions:
        count = len(at.ground.varied)
        change = at.direction(numbers=basis_vector(place, count))
        if not closed:
            return [change]
        (gaps,) = at.along(lambda x: [phi for rows in x.rows for phi in rows.phi], [change])
        follow: Column = {}
        rest = iter(negative(gaps))
        for block, rows in zip(at.ground.partition.blocks, at.rows, strict=True):
            follow |= at.lane.solve(block, rows, [next(rest) for _ in rows.phi]).particular
        return [_closed(at, change, follow)]

    return _slopes(question, ("number", place, closed), directions, last_axis=False)


def along_direction(question: Question, parts: Sequence[str]) -> Question:
    """The slope in a direction that is given with the question, as its extras: of some parts of a state, in order."""

    def answer(at: LaneState) -> Nested:
        change, first = at.direction(), 0
        for name in parts:
            place = at.ground.parts[name]
            size = place.stop - place.start
            change[place] = at.extra[first : first + size]
            first += size
        (slope,) = at.along(lambda x: flattened(question.answer(x)), [change])
        return shaped(slope, shape_of(question.answer(at)))

    return replace(question, key=("along", tuple(parts), question.key), answer=answer)


def along_closed(question: Question) -> Question:
    """The slope in a direction that is given as further extras: n displacements of independent coordinates, loops
    closed, then changes of all varied numbers; all else follows."""
    first = len(question.extras)

    def answer(at: LaneState) -> Nested:
        n = len(at.Z)
        change = at.direction(numbers=at.extra[first + n :])
        (gaps,) = at.along(lambda x: [phi for rows in x.rows for phi in rows.phi], [change])
        displacement: Column = {}
        rest = iter(negative(gaps))
        for block, rows in zip(at.ground.partition.blocks, at.rows, strict=True):
            displacement |= at.lane.solve(block, rows, [next(rest) for _ in rows.phi]).particular
        for column, share in zip(at.Z, at.extra[first : first + n], strict=True):
            for k, entry in column.items():
                displacement[k] = displacement.get(k, 0.0) + entry * share
        (slope,) = at.along(lambda x: flattened(question.answer(x)), [_closed(at, change, displacement)])
        return shaped(slope, shape_of(question.answer(at)))

    return replace(question, key=("along closed", question.key), answer=answer)


def _closed(at: LaneState, change: Vec, displacement: Column) -> Vec:
    """A direction in which coordinates are displaced, and speeds follow, independent ones held."""
    moved = list(change)
    moved[at.ground.parts["q"]] = at.coordinate_rates(_dense(displacement, at.plan.nv))
    if all(is_zero(x) for x in moved):
        return moved
    (moved[at.ground.parts["v"]],) = at.along(LaneState.following_speeds, [moved])
    return moved


def _slopes(
    question: Question, name: tuple, directions: Callable[[LaneState], Directions], *, last_axis: bool = True
) -> Question:
    def answer(at: LaneState) -> Nested:
        shape, ways = shape_of(question.answer(at)), directions(at)
        slopes = at.along(lambda x: flattened(question.answer(x)), ways) if ways else []
        values = [slope[k] for k in range(math.prod(shape)) for slope in slopes]
        return shaped(values, (*shape, len(ways)) if last_axis else shape)

    return replace(question, key=("slope", name, question.key), answer=answer)


def shaped(values: Sequence[Scalar], shape: tuple[int, ...]) -> Nested:
    """The inverse of `flattened`."""
    if not shape:
        return values[0]
    size = len(values) // shape[0] if shape[0] else 0
    return [shaped(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def _dense(column: Column, count: int) -> Vec:
    return [column.get(k, 0.0) for k in range(count)]
