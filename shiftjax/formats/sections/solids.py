"""Mass, centre of mass and inertia of homogeneous solids: of the shapes that a body's `geometry` names, and of meshes.

rod = shiftjax.solid({"type": "cylinder", "radius": 0.01, "length": 0.5, "T": (0, 0, 0.25)}, density=2700)
parts.body("rod", mass=rod.mass, center_of_mass=rod.center_of_mass, inertia=rod.inertia)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shiftjax.algebra import matmul
from shiftjax.errors import ModelError
from shiftjax.formats.sections.geometry import geometry
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import IDENTITY, ZERO, Inertia, Vector
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.rotations import rotation_of_vector

FLAT = 1e-9  # of a mesh's volume, in cubes of its extent: less is no solid but rounding


@record
class Solid:
    """What a body takes from its shape."""

    mass: float  # [kg]
    center_of_mass: Vector  # in the body's coordinates [m]
    inertia: Inertia  # about the centre of mass along the body's axes [kg m^2]


# volume [m^3], height of the centre of mass on the shape's z [m], means of x^2, y^2, z^2 about the centre of mass [m^2]
Moments = tuple[float, float, tuple[float, float, float]]


def solid(shape: Mapping[str, Any], *, density: float | None = None, mass: float | None = None) -> Solid:
    """The solid that a shape bounds, with its offset `T`, `R`, `rotation` on the body.

    Args:
        shape: a `geometry` as in a file, in m and rad: a box, sphere, ellipsoid, cylinder, cone or capsule.
        density: [kg/m^3], or
        mass: [kg]; one of the two.

    Raises:
        ModelError: a shape that is none or bounds no volume, neither density nor mass, or both.
    """
    checked = geometry(Node(shape, "shape", []), Units())
    if checked.type not in SOLIDS:
        todo = "Give its triangles to `solid_of_mesh`." if checked.type == "mesh" else "Choose one of these."
        raise ModelError("shape.type", repr(checked.type), "one of " + ", ".join(sorted(SOLIDS)), todo)
    options = checked.options
    volume, height, squares = SOLIDS[checked.type](options)
    turned = matmul(options.get("R", IDENTITY), rotation_of_vector(options.get("rotation", ZERO)))
    R = np.array(turned, float)
    centre = np.array(options.get("T", ZERO)) + R[:, 2] * height
    return _solid(_mass(density, mass, volume), centre, R @ np.diag(squares) @ R.T)


def solid_of_mesh(
    vertices: np.ndarray, triangles: np.ndarray, *, density: float | None = None, mass: float | None = None
) -> Solid:
    """The solid inside a closed mesh; a closed mesh inside another one, turned inside out, is a hollow.

    The divergence theorem makes integrals over the volume sums over the triangles, each with the origin a tetrahedron
    of signed volume (Mirtich, Fast and Accurate Computation of Polyhedral Mass Properties, 1996).

    Args:
        vertices: (n, 3) [m] in the body's coordinates; equal ones count as one.
        triangles: (m, 3) numbers of vertices, all counter-clockwise from outside or all clockwise.
        density: [kg/m^3], or
        mass: [kg]; one of the two.

    Raises:
        ModelError: an open mesh, triangles turned against each other, no volume; neither density nor mass, or both.
    """
    corners = real_array(vertices)
    try:
        numbers = np.array(triangles)
    except (TypeError, ValueError, OverflowError, MemoryError):  # as in `real_array`
        corners = None
    if corners is None:
        raise ModelError("vertices, triangles", "no table of numbers", "(n, 3) and (m, 3)", "Give arrays.")
    _check_mesh(corners, numbers)
    middle = corners.mean(axis=0)  # sums about a point inside cancel least
    a, b, c = np.moveaxis((corners - middle)[numbers], 1, 0)
    volumes = np.einsum("tk,tk->t", a, np.cross(b, c)) / 6.0
    volume = float(volumes.sum())
    if abs(volume) <= FLAT * float(np.ptp(corners, axis=0).max()) ** 3:
        raise ModelError("triangles", f"a volume of {volume:.3g} m^3", "a mesh about a volume", "Close it, or thicken.")
    sums = a + b + c
    centre = volumes @ sums / 4.0 / volume
    # mean of x x^T over a tetrahedron with one corner at the origin: (sum of corners' x x^T + s s^T) / 20
    products = sum(np.einsum("t,ti,tj->ij", volumes, p, p) for p in (a, b, c, sums)) / 20.0 / volume
    return _solid(_mass(density, mass, abs(volume)), middle + centre, products - np.outer(centre, centre))


def _mass(density: float | None, mass: float | None, volume: float) -> float:
    """[kg] from whichever is given."""
    if (density is None) == (mass is None):
        fault = "neither of them" if mass is None else "both of them"
        raise ModelError("density, mass", fault, "one of them", "Give density= or mass=.")
    name, given = ("density", density) if density is not None else ("mass", mass)
    number = Node(given, name, []).number()
    if number < 0:
        raise ModelError(name, repr(given), "0 or more", "Correct it.")
    return number * volume if name == "density" else number


def _solid(mass: float, centre: np.ndarray, squares: np.ndarray) -> Solid:
    """From the mean (3, 3) of x x^T about the centre of mass [m^2]: J = m (trace 1 - x x^T)."""
    J = mass * (np.trace(squares) * np.eye(3) - squares)
    x, y, z = map(float, centre)
    entries = {"Ixx": J[0, 0], "Iyy": J[1, 1], "Izz": J[2, 2], "Ixy": J[0, 1], "Iyz": J[1, 2], "Izx": J[2, 0]}
    return Solid(mass, (x, y, z), Inertia(**{key: float(value) for key, value in entries.items()}))


def _check_mesh(corners: np.ndarray, numbers: np.ndarray) -> None:
    """Refuses other arrays, and a surface with an edge that its two triangles do not pass in opposite ways."""
    if corners.ndim != 2 or corners.shape[1] != 3 or not np.isfinite(corners).all():
        fault = (
            f"shape {corners.shape}" if corners.ndim != 2 or corners.shape[1] != 3 else "numbers that are not finite"
        )
        raise ModelError("vertices", fault, "(n, 3) finite numbers", "Give x, y, z of each.")
    if numbers.ndim != 2 or numbers.shape[1] != 3 or numbers.dtype.kind not in "iu" or not len(numbers):
        fault = f"shape {numbers.shape} of {numbers.dtype}"
        raise ModelError("triangles", fault, "(m, 3) whole numbers", "Give three vertices of each.")
    if numbers.min() < 0 or numbers.max() >= len(corners):
        fault = f"vertices {numbers.min()} to {numbers.max()}"
        raise ModelError("triangles", fault, f"0 to {len(corners) - 1}", "Correct the numbers.")
    _, same = np.unique(corners, axis=0, return_inverse=True)
    points = same.reshape(-1)[numbers]
    edges = np.concatenate([points[:, [0, 1]], points[:, [1, 2]], points[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]  # of a triangle with two equal corners, as at poles
    forth, back = (np.sort(edges[:, way] @ [len(corners), 1]) for way in ([0, 1], [1, 0]))
    if not np.array_equal(forth, back):
        (one, ones), (other, others) = (np.unique(way, return_counts=True) for way in (forth, back))
        both = np.isin(one, other)
        odd = int((~both).sum() + (~np.isin(other, one)).sum() + (ones[both] != others[np.isin(other, one)]).sum())
        todo = "Close its holes, and turn all triangles outward."
        raise ModelError("triangles", f"a surface that is not closed ({odd} odd edges)", "a closed surface", todo)


def _box(options: FrozenJson) -> Moments:
    x, y, z = options["size"]
    return x * y * z, 0.0, (x * x / 12, y * y / 12, z * z / 12)


def _ellipsoid(x: float, y: float, z: float) -> Moments:
    return 4 / 3 * math.pi * x * y * z, 0.0, (x * x / 5, y * y / 5, z * z / 5)


def _cylinder(options: FrozenJson) -> Moments:
    r, h = options["radius"], options["length"]
    return math.pi * r * r * h, 0.0, (r * r / 4, r * r / 4, h * h / 12)


def _cone(options: FrozenJson) -> Moments:
    """Its tip at +length/2: the centre of mass is a quarter of its length above the base."""
    r, h = options["radius"], options["length"]
    return math.pi * r * r * h / 3, -h / 4, (3 / 20 * r * r, 3 / 20 * r * r, 3 / 80 * h * h)


def _capsule(options: FrozenJson) -> Moments:
    """A cylinder and two half balls, whose centres of mass are 3/8 of the radius beyond its ends."""
    r, h = options["radius"], options["length"]
    middle, ends = math.pi * r * r * h, 4 / 3 * math.pi * r**3
    volume = middle + ends
    across = (middle * r * r / 4 + ends * r * r / 5) / volume
    # about its own middle a half ball has the mean z^2 of the ball, r^2/5, about the centre of the ball
    along = (middle * h * h / 12 + ends * (r * r / 5 + h * h / 4 + 3 / 8 * r * h)) / volume
    return volume, 0.0, (across, across, along)


SOLIDS: dict[str, Callable[[FrozenJson], Moments]] = {
    "box": _box,
    "sphere": lambda options: _ellipsoid(*[options["radius"]] * 3),
    "ellipsoid": lambda options: _ellipsoid(*options["radii"]),
    "cylinder": _cylinder,
    "cone": _cone,
    "capsule": _capsule,
}
