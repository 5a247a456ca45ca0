"""Shapes of bodies that have no geometry of their own: bars between joints, plates, and solids of equal inertia."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from shiftjax.mechanism.records import Body
from shiftjax.record import record
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import transform, transformed, z_along
from shiftjax.viewer.scene.attachments import SAME, Attachment, Style, distinct, joint_points
from shiftjax.viewer.scene.scene import Mesh

Placed = tuple[Mesh, np.ndarray]  # a mesh and its transform (4, 4) on a body


@record
class Layer:
    """How a link differs from those it is joined to."""

    level: int = 0  # thinner for higher ones
    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (3,) along the axes of its hinges [m]
    crosses: bool = False  # whether the mass of another link that turns about the same axis is at the same place
    reach: float = math.inf  # length that a ball must not hide: between its joints, or of the links it is joined to [m]


LAYERED = 1  # level of all links that have layers

PARALLEL = 1e-6  # sine of the angle between two axes that count as parallel
FLAT = 1e-3  # of a body's extent: points this near to a plane lie in it
BROAD = 0.2  # of a body's extent: points that spread less across than this lie along a line
NEARLY_FLAT = 0.5  # height over breadth of points below which a plate is drawn, and studs to them
THICKNESS, THINNER = 1.0, 0.15  # of a plate in half widths, and reduction for each level
ROD = 0.62  # radius of a round bar, in half widths
STUB_SIZES = 8  # of massless bodies at one point
RIM, SPOKE = 0.75, 0.16  # inner radius of a wheel, breadth of its spokes, in parts of its radius
EQUAL = 0.05  # relative difference of moments of inertia that count as equal
SMALLEST = 0.7  # half extent of a solid, in half widths
THIN = 0.6  # half widths: the least half side of a box of equal inertia
DISC = 0.15  # smallest over middle half side below which two equal sides are those of a disc
FEW = 5  # points of a body above which bars and plates alone show its shape
BULKY = 3.0  # half widths: half side of a box of equal inertia that bars do not show
BALL = 0.35  # largest half size of a ball in parts of the length that it must not hide: both ends stay in sight
FLAT_DISC = 0.35  # half thickness of a disc beside others on one axis, in half widths
ELONGATED = 0.5  # breadth over length across an axis below which a solid shows how a body has turned
OFF_CENTRE = 0.3  # of a body's extent: a centre of mass this far from the middle of its points has a shape of its own


def body_shapes(
    body: Body, attachments: Sequence[Attachment], others: Sequence[np.ndarray], style: Style, layer: Layer, order: int
) -> list[Placed]:
    """Shapes of a body that show its joints and its mass; at least one.

    Args:
        attachments: its joints; others: further points of it that bars lead to [m].
        layer: thickness and shift of its bars; order: of the body in the model.
    """
    near = SAME * style.width
    at_joints = joint_points(attachments, near)
    points = distinct([*at_joints, *others], near)
    axes = [c.axis for c in attachments if c.drawing == "hinge"]
    out = bars(points, at_joints if len(at_joints) > 2 else points, axes, style, layer)
    if len(at_joints) < 2 and _mass_stands_apart(body, points):
        out += _mass_shape(body, attachments, at_joints, points, style, layer)
    elif len(at_joints) > 1 and _bulky(body, points, style):
        out.append(equivalent_box(body, style, layer.reach))
    return out or _stubs(attachments, points[0], style, order)


def _stubs(attachments: Sequence[Attachment], point: np.ndarray, style: Style, order: int) -> list[Placed]:
    """A massless body at one point: rods along the axes of its joints, as the cross of a universal joint.

    Chains of such bodies often lie at one point, so they differ in length; longer rods are thinner.
    """
    k = order % STUB_SIZES
    half, radius = (1.8 + 0.2 * k) * style.width, (0.5 - 0.03 * k) * style.width
    axes = distinct([_signed(c.axis) for c in attachments if c.drawing in ("hinge", "slider")], PARALLEL)
    rods = [shapes.rod(point - half * axis, point + half * axis, radius) for axis in axes]
    return rods or [(shapes.sphere(), transform(point, scale=(1.1 + 0.1 * k) * style.width))]


def bars(points: Sequence[np.ndarray], ruling: Sequence[np.ndarray], axes: Sequence[np.ndarray], style: Style,
         layer: Layer) -> list[Placed]:  # fmt: skip
    """A bar between two points; a plate if hinges are parallel or the `ruling` points coplanar; else a star of bars.

    Args:
        points: all of them; ruling: those that decide what is flat; axes: of the hinges.
    """
    if len(points) < 2:
        return []
    normal = _common_normal(ruling, axes)
    if normal is not None:
        return _plate(np.array(points), normal, style, layer)
    radius = ROD * style.width
    if len(points) == 2:
        return [shapes.rod(points[0], points[1], radius)]
    hub = np.mean(points, axis=0)
    arms = [shapes.rod(hub, p, radius) for p in points if np.linalg.norm(p - hub) > 1e-9 * style.radius]
    return [*arms, (shapes.sphere(), transform(hub, scale=1.4 * radius))]


def _common_normal(points: Sequence[np.ndarray], axes: Sequence[np.ndarray]) -> np.ndarray | None:
    """Normal of a flat shape of these points, or None for a round one.

    That of parallel hinges, unless the points lie along it; else that of a plane which three or more are near to.
    """
    spread = np.array(points) - np.mean(points, axis=0)
    if axes and all(np.linalg.norm(np.cross(axes[0], axis)) <= PARALLEL for axis in axes):
        across = spread - np.outer(spread @ axes[0], axes[0])
        breadth, height = float(np.linalg.norm(across, axis=1).max()), float(np.abs(spread @ axes[0]).max())
        # Two points off each other's plane make an inclined bar; more of them are joined to a plate by studs.
        if height <= (FLAT if len(points) == 2 else NEARLY_FLAT) * breadth:
            return axes[0]
    if len(points) < 3:
        return None
    _, size, directions = np.linalg.svd(spread)
    return _signed(directions[2]) if size[1] > BROAD * size[0] and size[2] <= NEARLY_FLAT * size[1] else None


def _signed(direction: np.ndarray) -> np.ndarray:
    """The direction or its opposite, so that the largest component is positive, whatever the rounding."""
    return direction * math.copysign(1.0, direction[np.abs(direction).argmax()])


def _plate(points: np.ndarray, normal: np.ndarray, style: Style, layer: Layer) -> list[Placed]:
    """A plate across `normal` about the points at their middle height, and studs to those above and below it.

    Pins reach the plate of a layer, so that its studs are those it would have without the shift.
    """
    width = style.width
    thick = THICKNESS * (1.0 - THINNER * layer.level) * width
    turn = z_along(normal)
    local = points @ turn
    middle, shift = float(np.median(local[:, 2])), float(layer.shift @ turn[:, 2])
    height = middle + shift
    flat = np.column_stack([local[:, :2], np.full(len(local), height)])
    studs = [
        shapes.rod(turn @ foot, p, ROD * width)
        for foot, p in zip(flat, points, strict=True)
        if abs(p @ turn[:, 2] - middle) > thick
    ]
    corners = shapes.hull([(float(x), float(y)) for x, y in np.round(local[:, :2] / width, 6)])
    if len(corners) == 2:
        a, b = (turn @ np.array([x * width, y * width, height]) for x, y in corners)
        return [*studs, shapes.link(a, b, width, thick, normal)]
    mesh = shapes.plate(tuple(corners))
    return [*studs, (mesh, transform(turn @ [0.0, 0.0, height], turn, [width, width, thick]))]


def _mass_stands_apart(body: Body, points: Sequence[np.ndarray]) -> bool:
    """Whether the centre of mass is too far from bars between the points."""
    if len(points) < 2:
        return body.mass > 0 or not points
    middle = np.mean(points, axis=0)
    extent = 2.0 * max(float(np.linalg.norm(p - middle)) for p in points)
    return body.mass > 0 and float(np.linalg.norm(body.center_of_mass - middle)) > OFF_CENTRE * extent


def _mass_shape(body: Body, attachments: Sequence[Attachment], at_joints: Sequence[np.ndarray],
                points: Sequence[np.ndarray], style: Style, layer: Layer) -> list[Placed]:  # fmt: skip
    """A solid of equal inertia at the centre of mass, and a bar to it from the joint where that lies outside.

    Links whose masses are at one place on their common axis would be one solid: they are discs beside each other.
    """
    sliding = any(c.drawing == "slider" for c in attachments)
    mesh, where = solid(body, style, block=sliding, reach=layer.reach)
    axles = [c.axis for c in attachments if c.drawing == "hinge"]
    if layer.crosses and axles:
        if not _elongated(where, axles[0]):
            return _disc(body, axles[0], style, layer)
        where = where.copy()
        where[:3, 3] += layer.shift
    if mesh is shapes.cylinder() and any(np.linalg.norm(np.cross(axle, where[:3, 2])) <= PARALLEL for axle in axles):
        return _wheel(where)
    out = [(mesh, where)]
    if at_joints and not _inside(mesh, where, at_joints[0]):
        centre = np.array(body.center_of_mass, float)
        if all(np.linalg.norm(p - centre) > SAME * style.width for p in points):
            ends = [at_joints[0], centre]
            out += bars(ends, ends, axles, style, layer)
    return out


def _elongated(where: np.ndarray, axle: np.ndarray) -> bool:
    """Whether a solid is much longer than broad, seen along an axis."""
    across = where[:3, :3] - np.outer(axle, axle @ where[:3, :3])
    size = np.linalg.svd(across, compute_uv=False)
    return bool(size[1] < ELONGATED * size[0])


def _disc(body: Body, axle: np.ndarray, style: Style, layer: Layer) -> list[Placed]:
    """A wheel of the body's moment about its axle, m r^2 / 2, so thin that others of its layers are seen beside it."""
    moment = float(axle @ np.array(body.inertia.matrix) @ axle)
    radius = float(np.clip(np.sqrt(2.0 * max(moment, 0.0) / body.mass), 2.0 * style.width, style.radius))
    centre = np.array(body.center_of_mass, float) + layer.shift
    return _wheel(transform(centre, z_along(axle), [radius, radius, 2.0 * FLAT_DISC * style.width]))


def _wheel(where: np.ndarray) -> list[Placed]:
    """A cylinder that rotates about its axis, as a rim on spokes: its rotation and the parts inside are visible."""
    spokes = [transform(scale=[2 * a, 2 * b, 0.3]) for a, b in ((RIM, 0.5 * SPOKE), (0.5 * SPOKE, RIM))]
    return [(shapes.tube(1.0, RIM), where), *((shapes.box(), where @ spoke) for spoke in spokes)]


def _inside(mesh: Mesh, where: np.ndarray, point: np.ndarray) -> bool:
    """Whether a point of the body is in the bounding box of a transformed mesh."""
    local = transformed(np.linalg.inv(where), point)
    return bool((np.abs(local) <= np.abs(mesh.vertices).max(axis=0) * 1.001).all())


def _bulky(body: Body, points: Sequence[np.ndarray], style: Style) -> bool:
    """Whether a body is much broader, by its inertia, than the bars between its points show.

    Thin discs and plates across the axis of a link, as idealised inertias of planar models give them, do not count.
    """
    if body.mass <= 0 or len(points) > FEW:
        return False
    half = np.sort(_half_sides(body)[0])
    if half[0] < THIN * style.width or (half[0] < DISC * half[1] and half[2] - half[1] < EQUAL * half[2]):
        return False
    spread = np.linalg.svd(np.array(points) - np.mean(points, axis=0), compute_uv=False)
    reach = 0.5 * max(float(np.linalg.norm(p - q)) for p in points for q in points)
    across = float(spread[1]) if len(spread) > 1 else 0.0
    narrow = half[1] > BULKY * style.width and across < 0.5 * half[1]
    return narrow or (half[0] > BULKY * style.width and half[2] > 1.2 * reach)


def _principal(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments (3,) [kg m^2] and their axes as columns (3, 3), right-handed."""
    inertia = np.array(body.inertia.matrix)
    moments, R = np.diag(inertia), np.eye(3)
    if np.any(inertia - np.diag(moments)):
        moments, R = np.linalg.eigh(inertia)
        R = np.stack([_signed(column) for column in R.T], axis=1)
        R[:, 2] = np.cross(R[:, 0], R[:, 1])
    return moments, R


def _half_sides(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Half sides (3,) [m] of the homogeneous box of the body's mass and inertia; its axes as columns (3, 3)."""
    moments, R = _principal(body)
    return np.sqrt(3.0 * np.maximum((0.5 * moments.sum() - moments) / body.mass, 0.0)), R


def equivalent_box(body: Body, style: Style, reach: float = math.inf) -> Placed:
    """The homogeneous box of the body's mass and inertia, at its centre of mass along its principal axes.

    Args:
        reach: bounds a cube, as it bounds the ball of `solid` [m].
    """
    half, R = _half_sides(body)
    most = _most(_principal(body)[0], style, reach)
    return shapes.box(), transform(body.center_of_mass, R, 2.0 * np.clip(half, SMALLEST * style.width, most))


def _most(moments: np.ndarray, style: Style, reach: float) -> float:
    """Largest half size of a solid [m]; one of three equal moments, which is most often made up, hides no rod."""
    ball = moments.max() - moments.min() <= EQUAL * moments.max()
    return min(style.radius, max(BALL * reach, SMALLEST * style.width)) if ball else style.radius


def solid(body: Body, style: Style, *, block: bool, reach: float = math.inf) -> Placed:
    """A homogeneous solid of the body's mass and inertia, at its centre of mass along its principal axes.

    A sphere, or a cylinder where two moments are equal, else an ellipsoid, or a box if `block`. The mean squares of its
    coordinates are s_i = (trace / 2 - I_i) / m; half axes are kept between a bar's width and the model's radius.

    Args:
        block: a body that slides. reach: a length that a ball, which has no side to show, must not hide [m].
    """
    centre = body.center_of_mass
    moments, R = _principal(body)
    if body.mass <= 0 or not moments.max() > 0:
        return shapes.sphere(), transform(centre, scale=2.0 * style.width)
    square = np.maximum((0.5 * moments.sum() - moments) / body.mass, 0.0)

    def bounded(half: np.ndarray) -> np.ndarray:
        return np.clip(half, SMALLEST * style.width, _most(moments, style, reach))

    alike = [abs(moments[i] - moments[j]) <= EQUAL * moments.max() for i, j in ((1, 2), (2, 0), (0, 1))]
    if all(alike):
        return shapes.sphere(), transform(centre, R, bounded(np.sqrt(5.0 * square)).mean())
    if any(alike):
        k = alike.index(True)
        round_, half = bounded(2.0 * np.sqrt(square[k - 1])), bounded(np.sqrt(3.0 * square[k]))
        turn = R @ np.roll(np.eye(3), 2 - k, axis=1)  # cyclic, so that its z is the axis of symmetry
        return shapes.cylinder(), transform(centre, turn, np.array([round_, round_, 2.0 * half]))
    if block:
        return shapes.box(), transform(centre, R, 2.0 * bounded(np.sqrt(3.0 * square)))
    return shapes.sphere(), transform(centre, R, bounded(np.sqrt(5.0 * square)))
