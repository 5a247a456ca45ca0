"""Signs of forces and constraints whose sizes are in the file: contacts, tyres, bushings, cams, guides, gears. NumPy.

A contact is drawn as rings, so that the body inside is seen, and how it turns: they show what is computed, whatever
geometry the body has. A plane is a square about the origin of its frame, with a mark on the side that is free; gears
are their pitch circles, which follow from their ratio and from how far their axes are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from shiftjax.constraints.guides import curve_at, places_of
from shiftjax.height_fields import height, is_flat
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import Element, FrameRef
from shiftjax.splines import cubic, evaluated
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import of_frame, transform, z_along
from shiftjax.viewer.scene.attachments import BuildContext
from shiftjax.viewer.scene.scene import Colour, Mesh, ScenePart
from shiftjax.viewer.scene.sliding import joint_frames
from shiftjax.viewer.scene.spring_meshes import SPRING
from shiftjax.viewer.scene.terrains.terrain import EARTH, height_field

CONTACT: Colour = (0.78, 0.36, 0.10, 1.0)
RUBBER: Colour = (0.15, 0.15, 0.17, 1.0)
STEEL: Colour = (0.45, 0.47, 0.50, 1.0)

RING, BAND = 0.97, 0.03  # inner radius and breadth of a contact's ring, in parts of its radius
POINT = 0.6  # half widths of a bar: radius of a contact of radius 0
TREAD, FLAT = 0.72, 0.6  # inner radius of a tyre; its breadth where no number says it: parts of its radius
BUSH, HOLE, CORE = 2.2, 0.6, 0.9  # radius of a bushing, of its hole in parts of that, and of what it holds: half widths
PROFILE, THREAD = 12, 0.2  # points of a cam's profile for a radius of the file; radius of its wire: half widths

PLANE, EDGE, MARK = 8.0, 0.15, 1.5  # half side of a plane's square, radius of its wire, length of its mark: half widths
FACE, RIM = 1.0, 0.9  # breadth of a gear or pulley in half widths; inner radius of its ring in parts of its radius
PARALLEL = 0.999  # cosine of axes of gears whose circles touch
SAMPLES, SPREAD = 49, 1.0  # of a surface along each side; of a polynomial from the middle: parts of its size

Shape = tuple[int, Mesh, np.ndarray, Colour]  # which frame of the element, mesh, transform to that frame (4, 4), colour


def force_parts(context: BuildContext) -> Iterator[ScenePart]:
    """The signs of all active contacts, tyres, bushings, cams and guides, on the frames that they name; gears."""
    planes = set()
    for path, item in (*context.model.force_modules(), *context.model.constraints()):
        make = SIGNS.get(item.type)
        for frame, mesh, local, colour in make(item, context.style.width) if make else ():
            ref = item.frames[frame]
            where = of_frame(context.frames[ref.body], ref.frame) @ local
            yield ScenePart(mesh, context.nodes[ref.body], where, colour, path, "spring")
        if item.type in PLANES and is_flat({"heights": (), "polynomial": (), **item.values}):
            ref = item.frames[PLANES[item.type]]
            if ref not in planes:  # one for all that touch it
                planes.add(ref)
                where = of_frame(context.frames[ref.body], ref.frame)
                yield from _plane(context, path, ref, where, item.values.get("up") == "-z")
    yield from _gears(context)


def _plane(context: BuildContext, path: str, ref: FrameRef, where: np.ndarray, down: bool) -> Iterator[ScenePart]:
    """A square in the x-y plane of a frame, and a mark along its free side."""
    width = context.style.width
    a, mark = PLANE * width, (-MARK if down else MARK) * width
    corners = [(-a, -a, 0.0), (a, -a, 0.0), (a, a, 0.0), (-a, a, 0.0)]
    ends = [*zip(corners, [*corners[1:], corners[0]], strict=True), ((0.0, 0.0, 0.0), (0.0, 0.0, mark))]
    for pair in ends:
        yield ScenePart(shapes.wire(pair, EDGE * width), context.nodes[ref.body], where, CONTACT, path, "spring")


def _gears(context: BuildContext) -> Iterator[ScenePart]:
    """Pitch circles of gears, pulleys of belts, pinions of racks, on the children of their joints."""
    joints = dict(context.model.joints())
    for path, item in context.model.constraints():
        if item.type not in ("gear", "belt", "rack"):
            continue
        pair = [joints[split(coordinate)[0]] for coordinate in item.joints]
        frames = [joint_frames(context, joint)[1] for joint in pair]
        nodes = [context.nodes[joint.child.body] for joint in pair]
        placed = [context.poses[node] @ frame for node, frame in zip(nodes, frames, strict=True)]
        for node, frame, radius in zip(nodes, frames, _radii(item, *placed), strict=True):
            if radius > 0.0:
                where = frame @ transform(scale=[radius, radius, FACE * context.style.width])
                yield ScenePart(shapes.tube(1.0, RIM), node, where, STEEL, path, "spring")


def _radii(item: Element, first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Radii [m] of what turns about both joints, 0 for what is not drawn.

    Args:
        first, second: (4, 4) frames of the joints in the world, z along their axes.
    """
    n = item.values
    if item.type == "belt":
        return n["radius_1"], n["radius_2"]
    if item.type == "rack":
        return 0.0, abs(n["radius"])
    axis, way = first[:3, 2], second[:3, 3] - first[:3, 3]
    apart = float(np.linalg.norm(way - axis * (axis @ way)))
    along = float(axis @ second[:3, 2])
    ratio = n["ratio"] * math.copysign(1.0, along)  # of axes that point the same way: below 0 of outer gears
    if abs(along) < PARALLEL or ratio in (0.0, 1.0):
        return 0.0, 0.0
    return apart / abs(1.0 - ratio), apart * abs(ratio) / abs(1.0 - ratio)


def _rings(frame: int, radii: np.ndarray, middle: np.ndarray | None = None) -> Iterator[Shape]:
    """Three rings of an ellipsoid across the axes of a frame."""
    mesh = shapes.tube(1.0, RING, BAND)
    for axis in np.eye(3):
        yield (
            frame,
            mesh,
            transform(np.zeros(3) if middle is None else middle) @ np.diag([*radii, 1.0]) @ transform(R=z_along(axis)),
            CONTACT,
        )


def _ball(frame: int, key: str) -> Callable[[Element, float], Iterator[Shape]]:
    return lambda item, width: _rings(frame, np.full(3, item.values[key] or POINT * width))


def _ball_and_terrain(item: Element, width: float) -> Iterator[Shape]:
    yield from _ball(0, "radius")(item, width)
    yield from _surface(1)(item, width)


def _balls(item: Element, width: float) -> Iterator[Shape]:
    for frame, key in enumerate(("radius_1", "radius_2")):
        yield from _ball(frame, key)(item, width)


def _capsule(item: Element, width: float) -> Iterator[Shape]:
    radii = np.full(3, item.values["radius"] or POINT * width)
    for side in (-0.5, 0.5):
        yield from _rings(0, radii, np.array([side * item.values["length"], 0.0, 0.0]))


def _ellipsoid(item: Element, width: float) -> Iterator[Shape]:
    return _rings(0, np.array(item.values["radii"], float))


def _tyre(item: Element, width: float) -> Iterator[Shape]:
    """A tread about y, the axle."""
    radius = item.values["radius"]
    breadth = item.values.get("width") or FLAT * radius
    where = transform(R=z_along(np.array([0.0, 1.0, 0.0])), scale=[radius, radius, breadth])
    yield 0, shapes.tube(1.0, TREAD), where, RUBBER
    if not is_flat(item.values):
        yield from _surface(1)(item, width)


def _bushing(item: Element, width: float) -> Iterator[Shape]:
    """A ring on the first frame, what it holds on the second: apart by what the bushing yields."""
    yield 0, shapes.tube(1.0, HOLE), transform(scale=BUSH * width), SPRING
    yield 1, shapes.sphere(), transform(scale=CORE * width), STEEL


def _cam(item: Element, width: float) -> Iterator[Shape]:
    """The profile: way of the roller's centre, or what a flat face with this support function touches."""
    points = tuple((x, y, 0.0) for x, y in profile(item))
    yield 0, shapes.wire(points, THREAD * width), np.eye(4), STEEL


def _curve(item: Element, width: float) -> Iterator[Shape]:
    places = places_of(item.values)
    along = np.interp(np.arange(PROFILE * (len(places) - 1) + 1) / PROFILE, np.arange(len(places)), places)
    points = np.stack(np.broadcast_arrays(*curve_at(item.values, along)), 1)
    if item.values["ends"] == "closed":
        points[-1] = points[0]
    yield 0, shapes.wire(tuple(map(tuple, points.tolist())), THREAD * width), np.eye(4), STEEL


def _slot(item: Element, width: float) -> Iterator[Shape]:
    """The edges of both walls, as far apart as the play, and the pin across them."""
    n = item.values
    for side in (-1.0, 1.0):
        y = side * (n["play"] + EDGE * width)
        yield 1, shapes.wire(((0.0, y, 0.0), (n["length"], y, 0.0)), EDGE * width), np.eye(4), STEEL
    pin = max(n["play"], EDGE * width)
    yield 0, shapes.cylinder(), transform(scale=[0.5 * pin, 0.5 * pin, 2.0 * width]), CONTACT


def _surface(frame: int) -> Callable[[Element, float], Iterator[Shape]]:
    """The surface of a table up to its last points, of a polynomial over its size."""

    def make(item: Element, width: float) -> Iterator[Shape]:
        n = item.values
        size = SPREAD * (1.0 if n.get("size") is None else n["size"])
        x, y = (np.linspace(*((ends[0], ends[-1]) if ends else (-size, size)), SAMPLES) for ends in (n["xs"], n["ys"]))
        across, along = np.meshgrid(x, y[::-1])  # the first row of a raster lies at the largest y
        z = np.broadcast_to(np.asarray(height(n, across, along).z, float), across.shape)
        mesh = height_field(f"surface {hash(z.tobytes())}", z, (float(x[1] - x[0]), float(y[1] - y[0])))
        yield frame, mesh, transform(np.array([0.5 * (x[0] + x[-1]), 0.5 * (y[0] + y[-1]), 0.0])), EARTH

    return make


def profile(item: Element) -> list[tuple[float, float]]:
    """Points of a closed cam [m], in the x-y plane of its frame, the first one again at the end."""
    radii = [*item.values["radii"]]
    angles = [(2.0 * k / len(radii) - 1.0) * math.pi for k in range(len(radii) + 1)]
    pieces = cubic(angles, [*radii, radii[0]], periodic=True)
    points = []
    for angle in np.linspace(-math.pi, math.pi, PROFILE * len(radii) + 1).tolist():
        h, rate, _ = evaluated(angles[1:-1], pieces, angle)
        slope = rate if item.values["follower"] == "flat" else 0.0
        points.append((float(h * math.cos(angle) - slope * math.sin(angle)),
                       float(h * math.sin(angle) + slope * math.cos(angle))))  # fmt: skip
    return points


PLANES = {  # kind -> which of its frames is the plane
    **dict.fromkeys(("ball_on_plane", "capsule_on_plane", "ellipsoid_on_plane", "fiala_tyre", "transient_fiala_tyre",
                     "pacejka_tyre", "transient_pacejka_tyre"), 1),
    "point_on_plane": 0,
}  # fmt: skip
SIGNS: dict[str, Callable[[Element, float], Iterator[Shape]]] = {
    "ball_on_plane": _ball(0, "radius"),
    "ball_on_terrain": _ball_and_terrain,
    "pin_in_slot": _slot,
    "capsule_on_plane": _capsule,
    "ellipsoid_on_plane": _ellipsoid,
    "ball_on_ball": _balls,
    "fiala_tyre": _tyre,
    "transient_fiala_tyre": _tyre,
    "pacejka_tyre": _tyre,
    "transient_pacejka_tyre": _tyre,
    "bushing": _bushing,
    "cam": _cam,
    "point_on_curve": _curve,
    "point_on_surface": _surface(0),
}
