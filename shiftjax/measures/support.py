"""How far a mechanism is from tipping over its feet: the margin of static stability; lane code.

Problem: along gravity the feet p_i and the centre of mass c project on a plane; how far is c from the edge of the
convex hull of the p_i, positive inside (McGhee, Frank, On the stability properties of quadruped creeping gaits, Math.
Biosci. 3, 1968)? The hull is where u . x <= h(u) = max u . p_i for all unit vectors u, and the signed distance is the
least h(u) - u . c of all u (Boyd, Vandenberghe, Convex Optimization, section 8.1). The least one is across a line
through two feet, or, outside, points from a corner at c; no other u has less. So all of these are tried, whichever feet
are corners, and their order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from shiftjax.algebra import (
    Scalar,
    Vec,
    cross,
    dot,
    is_zero,
    larger,
    largest,
    matvec,
    minus,
    norm_squared,
    plus,
    ratio,
    scale,
    select,
    sqrt,
    total,
    zeros,
)
from shiftjax.errors import ModelError
from shiftjax.plan_elements import PlacedFrame
from shiftjax.record import record

CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)  # a channel of several frames
ARGUMENT = re.compile(r"(?:`[^`]*`|[^,`])+")
OPTION = re.compile(r"of\s*=")
FEWEST, MOST = 2, 16  # feet: their lines, of which there are n (n - 1) / 2, are looked at one by one
LINE = 1e-9  # of the square of the largest distance of feet: hulls of less area are a line
FAR = 1e30  # m: no edge there, in f32, too
SUPPORT_MARGIN = "support_margin"
WHERE = f"channel {SUPPORT_MARGIN}"


@record
class Stance:
    """What stands on some feet.

    Attributes:
        feet: frames. bodies: nodes of the plan whose weight they bear.
    """

    feet: tuple[PlacedFrame, ...]
    bodies: tuple[int, ...]


def margin(state: Any, stance: Stance) -> Vec:
    """The distance from the centre of mass of some bodies to the edge of the support polygon [m], negative outside.

    Where all feet are on one line, as two are, and those of a planar mechanism, it is that to the nearer end of the
    line, along it.
    """
    gravity = state.lane.gravity()
    if all(map(is_zero, gravity)):
        todo = "Give the model gravity, model_parameters.gravity."
        raise ModelError(WHERE, "a model without gravity", "gravity, along which feet are projected", todo)
    down = scale(ratio(1.0, sqrt(norm_squared(gravity))), gravity)
    centre = _horizontal(_centre_of_mass(state, stance.bodies), down)
    points = [_horizontal(state.motion.point(foot), down) for foot in stance.feet]
    line, length_squared = _on_line(points, centre)
    if len(points) == FEWEST:
        return [line]
    polygon, area = _in_polygon(points, centre, down)
    return [select(area > LINE * length_squared, polygon, line)]


def _on_line(points: Sequence[Vec], centre: Vec) -> tuple[Scalar, Scalar]:
    """The margin between the ends of the line through the feet, and the square of its length.

    Args:
        points: (n, 3) of the feet. centre: (3,) of mass; both horizontal.
    """
    (first, second), *others = combinations(points, 2)
    along = minus(second, first)
    length_squared = norm_squared(along)
    for one, other in others:
        way = minus(other, one)
        longer = norm_squared(way) > length_squared
        along = [select(longer, x, y) for x, y in zip(way, along, strict=True)]
        length_squared = larger(norm_squared(way), length_squared)
    if is_zero(length_squared):
        fault, todo = "feet at one place", "Name frames that are apart."
        raise ModelError(WHERE, fault, "feet between which there is some way across gravity", todo)
    unit = scale(ratio(1.0, sqrt(length_squared)), along)
    places = [dot(unit, minus(point, centre)) for point in points]
    return _smaller(largest(places), largest([-x for x in places])), length_squared


def _in_polygon(points: Sequence[Vec], centre: Vec, down: Vec) -> tuple[Scalar, Scalar]:
    """The margin in the convex hull of the feet, and twice the area of the largest triangle of them; arguments as of
    `_on_line`."""
    offsets = [minus(point, centre) for point in points]
    least: Scalar = FAR
    area: Scalar = 0.0
    for one, other in combinations(points, 2):
        normal = cross(down, minus(other, one))
        heights = [dot(normal, offset) for offset in offsets]
        area = larger(area, largest([abs(dot(normal, minus(point, one))) for point in points]))
        least = _smaller(least, _in_units_of(normal, _smaller(largest(heights), largest([-x for x in heights]))))
    for corner in offsets:
        least = _smaller(least, _in_units_of(corner, largest([-dot(corner, offset) for offset in offsets])))
    return least, area


def _in_units_of(vector: Vec, value: Scalar) -> Scalar:
    """A value by the length of a vector; far where that is 0 and has no direction."""
    squared = norm_squared(vector)
    pointing = squared > 0.0
    return select(pointing, value * ratio(1.0, sqrt(select(pointing, squared, 1.0))), FAR)


def _centre_of_mass(state: Any, bodies: Sequence[int]) -> Vec:
    """Of some bodies [m]."""
    masses: Vec = []
    moments = zeros()
    for k in bodies:
        numbers = state.lane.plan.nodes[k].numbers
        if is_zero(mass := state.lane.params.at(numbers.mass)):
            continue
        R, p = state.motion.pose(PlacedFrame(k, None))
        centre = plus(p, matvec(R, state.lane.params.at(numbers.center_of_mass)))
        masses.append(mass)
        moments = plus(moments, scale(mass, centre))
    if not masses:
        todo = "Give a body mass."
        raise ModelError(WHERE, "bodies without mass", "a centre of mass, of at least one body with mass", todo)
    return scale(ratio(1.0, total(masses)), moments)


def _horizontal(point: Vec, down: Vec) -> Vec:
    return minus(point, scale(dot(point, down), down))


def _smaller(a: Scalar, b: Scalar) -> Scalar:
    return -larger(-a, -b)


def arguments_of(path: str) -> tuple[str, list[str], str] | None:
    """The name of a channel of several frames, these, and of what it is, as of `support_margin(left, right, of=robot)`;
    None of others."""
    match = CALL.fullmatch(path.strip())
    if match is None:
        return None
    arguments = [one.strip() for one in ARGUMENT.findall(match[2])]
    options = [one.partition("=")[2].strip() for one in arguments if OPTION.match(one)]
    return match[1], [one for one in arguments if not OPTION.match(one)], "".join(options[:1])
