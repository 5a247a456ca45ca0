"""Loops that cannot close whatever their free joints do: the polygon inequality.

Free joints that only turn are corners: between two of them, along a loop, lie bodies that are one rigid body as long as
the joints between are held, so that their distance is fixed. No side of a polygon is longer than all others together.
Necessary, and for a planar loop of three corners sufficient.
Refused: nothing; a loop in which a free joint slides is not judged.

Lane code.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shiftjax.algebra import (
    Scalar,
    Vec,
    dot,
    largest,
    matvec,
    minus,
    norm_squared,
    plus,
    scale,
    sqrt,
    total,
    transpose,
    zeros,
)
from shiftjax.joints.primitives import Ball, Rotation, RotationVector
from shiftjax.plan_elements import Loop, MotionView
from shiftjax.topology.plan import Plan

MARGIN = 1e-7  # of the size: a hundred times what a closed loop may be open


def judged_loops(plan: Plan, index: int, holding: Sequence[int]) -> list[int]:
    """The constraints of a substructure that are loops whose free joints only turn."""
    return [k for k in plan.substructures[index].groups if _corners(plan, plan.constraints[k].loop, holding)]


def _corners(plan: Plan, loop: Loop | None, holding: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """The free joints of both branches, from the base on; None where one does more than turn."""
    if loop is None:
        return None
    moving = {coordinate.joint for k, coordinate in enumerate(plan.coordinates) if k not in holding}
    near, far = ([k for k in branch if k in moving] for branch in (loop.virtual_branch, loop.real_branch))
    primitives = [primitive for k in (*near, *far) for primitive in plan.joints[k].kind.primitives]
    turns = primitives and all(isinstance(primitive, Rotation | RotationVector | Ball) for primitive in primitives)
    return (near, far) if turns else None


def at_corners(plan: Plan, q: Vec, group: int, holding: Sequence[int]) -> Vec:
    """Coordinates with all corners of a loop at zero: no side depends on them."""
    corners, out = _corners(plan, plan.constraints[group].loop, holding), list(q)
    free = {*corners[0], *corners[1]} if corners else set()
    for k, coordinate in enumerate(plan.coordinates):
        if coordinate.joint in free and k not in holding:
            out[coordinate.places] = [1.0, 0.0, 0.0, 0.0] if coordinate.quaternion else [0.0] * coordinate.nq
    return out


def excess(plan: Plan, motion: MotionView, length: float, group: int, holding: Sequence[int]) -> Scalar:
    """By how much the longest side of a loop is longer than all others together, less the margin [m].

    Args:
        length: characteristic length [m].
    """
    lengths, offsets = sides(plan, motion, group, holding)
    around = total(lengths)
    size = total([around, *offsets, length])
    return 2.0 * largest(lengths) - around - MARGIN * size


def sides(
    plan: Plan, motion: MotionView, group: int, holding: Sequence[int], *, in_plane: bool = False
) -> tuple[Vec, Vec]:
    """The sides of a loop's polygon, and the distances of the cut from the last corners of both branches [m].

    Args:
        in_plane: whether they are measured across the axis of the first corner, to which all others are parallel: bars
            that lie side by side are no longer for it.
    """
    loop, (placed,) = plan.constraints[group].loop, plan.constraints[group].frames
    corners = _corners(plan, loop, holding)
    assert loop is not None and corners is not None
    chain = motion.chain(loop.base)
    virtual, (R, p) = chain.node(loop.virtual), chain.frame(placed)
    near, far = ([chain.frame(plan.joints[k].near_place)[1] for k in part] for part in corners)
    # the last corner of a branch, from the cut and along the axes of its body; the cut is rigid
    a = matvec(transpose(virtual.R), minus(near[-1], virtual.p)) if near else zeros()
    b = matvec(transpose(R), minus(far[-1], p)) if far else zeros()
    between = [minus(one, other) for part in (near, far) for one, other in pairwise(part)]
    across_cut = [a, b]
    if near and far:
        between.append(minus(near[0], far[0]))
        across_cut.append(minus(a, b))
    elif near:
        between.append(minus(plus(p, matvec(R, a)), near[0]))
    else:
        between.append(minus(plus(virtual.p, matvec(virtual.R, b)), far[0]))
    if in_plane:
        axis = chain.screws_of([*corners[0], *corners[1]][0])[0].angular
        between = [_across(axis, x) for x in between]
        axis = matvec(transpose(virtual.R), axis)
        across_cut = [_across(axis, x) for x in across_cut]
    of_cut = [_length(x) for x in across_cut]
    return [*(_length(x) for x in between), *of_cut[2:]], of_cut[:2]


def _across(axis: Vec, x: Vec) -> Vec:
    """What of a vector is across a unit axis."""
    return minus(x, scale(dot(axis, x), axis))


def _length(x: Vec) -> Scalar:
    return sqrt(norm_squared(x))
