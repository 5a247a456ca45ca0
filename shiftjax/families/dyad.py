"""A dyad as lane code: two bars that meet in a node, from the motion of their other ends.

A and B are the ends, P the node, D = B - A, r1 = |PA|, r2 = |PB| (Dijksman, Motion Geometry of Mechanisms, 1976). With
w = r1^2 + r2^2 - D.D = 2 r1 r2 cos(gamma), gamma the angle between the bars, and K = (2 r1 r2)^2 - w^2, sixteen times
the square of the triangle's area,

    P = A + (1 + (r1^2 - r2^2) / D.D) / 2  D + sign sqrt(K) / (2 D.D)  D turned left.

The circles meet where K >= 0. The margin is 1 - |cos(gamma)|: 1 where the bars are at right angles, 0 where they lie on
one line, negative where the dyad cannot be closed. Rates follow from (P - A).(P' - A') = 0 = (P - B).(P' - B').

Nothing here knows a topology: which nodes A, B and P are is data of the compiled code.
"""

from __future__ import annotations

from shiftjax.algebra import Scalar, select, sqrt
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.composed import Composed
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.reverse import reverse

NUMBERS = ("difference", "sum", "double", "inverse", "sign")  # r1^2 - r2^2, r1^2 + r2^2, 2 r1 r2, its inverse, +-1
LENGTHS = 4  # of them that are differentiated: all but the sign
Point = list[Scalar]  # x, y


def components(order: int) -> int:
    """Numbers of a node: x and y, their first and second derivatives."""
    return 2 * (order + 1)


def dyad(values: list[Scalar], order: int, *, masked: bool = False) -> list[Scalar]:
    """P with its derivatives, and the smallest margin.

    Args:
        values: A and B with their derivatives, the `NUMBERS`, the smallest margin of the dyads before.
        masked: True puts zeros where the dyad does not close, so that cotangents there are zero; else not numbers.
    """
    count = components(order)
    A, B = _points(values[:count]), _points(values[count : 2 * count])
    f, g, m, inverse, sign = values[2 * count : 2 * count + len(NUMBERS)]
    before = values[-1]
    D = _minus(B[0], A[0])
    square = _dot(D, D)
    w = g - square
    K = (m - w) * (m + w)
    closes = K >= 0.0
    root = sign * sqrt(select(closes, K, 1.0) if masked else K)
    along, across = 0.5 + 0.5 * f / square, 0.5 * root / square
    u = [along * D[0] - across * D[1], along * D[1] + across * D[0]]
    points = [[A[0][0] + u[0], A[0][1] + u[1]], *_rates(A, B, u, _minus(u, D), 0.5 * root, order)]
    margin = 1.0 - abs(w) * inverse
    numbers = [x for point in points for x in point]
    if masked:
        numbers = [select(closes, x, 0.0) for x in numbers]
    return [*numbers, select(margin < before, margin, before)]


def _rates(A: list[Point], B: list[Point], u: Point, v: Point, area: Scalar, order: int) -> list[Point]:
    """Velocity and acceleration of P = A + u = B + v; area: u x v."""
    if order == 0:
        return []
    speed = _dot(v, _minus(B[1], A[1])) / area  # of the bar AP's angle
    velocity = [A[1][0] - speed * u[1], A[1][1] + speed * u[0]]
    if order == 1:
        return [velocity]
    relative, square = _minus(velocity, B[1]), speed * speed
    growth = (_dot(v, _minus(B[2], A[2])) + square * _dot(u, v) - _dot(relative, relative)) / area
    return [velocity, [A[2][0] - growth * u[1] - square * u[0], A[2][1] + growth * u[0] - square * u[1]]]


def _points(values: list[Scalar]) -> list[Point]:
    return [values[k : k + 2] for k in range(0, len(values), 2)]


def _minus(a: Point, b: Point) -> Point:
    return [a[0] - b[0], a[1] - b[1]]


def _dot(a: Point, b: Point) -> Scalar:
    return a[0] * b[0] + a[1] * b[1]


def inputs(order: int) -> int:
    """How many inputs `dyad` has."""
    return 2 * components(order) + len(NUMBERS) + 1


def differentiated(order: int) -> list[int]:
    """Those with derivatives: all but the sign."""
    return [k for k in range(inputs(order)) if k != inputs(order) - 2]


def value_graph(order: int) -> Graph:
    """`dyad`."""
    return graph_of(lambda values: dyad(values, order), inputs(order))


def tangent_graph(order: int) -> Graph:
    """`dyad` and its tangents; further inputs: the tangents of what is differentiated."""
    graph = value_graph(order)
    return forward(graph, inputs(order), differentiated(order), range(len(graph.outputs)), 1)


def cotangent_graph(order: int) -> Graph:
    """The cotangents of what `dyad` has as inputs, added to those that are there.

    Its inputs are those of `dyad`, the cotangents of its outputs, and what the cotangents of A, B and the lengths are
    added to; its outputs are these sums and the cotangent of the smallest margin before. Where A or B has no place
    nothing is added.
    """
    graph = graph_of(lambda values: dyad(values, order, masked=True), inputs(order))
    back = reverse(graph, inputs(order), differentiated(order))
    sums = 2 * components(order) + LENGTHS
    made = Composed({"given": inputs(order) + len(graph.outputs), "sums": sums}, [back])
    given, new = made.inputs["given"], made.graph
    *parts, margin = made.append(back, given)
    placed = new.node("is_finite", new.add(given[0], given[components(order)]))
    zero = new.const(0.0)
    added = [
        new.add(total, new.select(placed, zero, part)) for total, part in zip(made.inputs["sums"], parts, strict=True)
    ]
    return made.finished([*added, margin])
