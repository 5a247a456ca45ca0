"""Mass, centre of mass and inertia from shapes (D13): against closed formulas, and against meshes of the same shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.sections.solids import SOLIDS, Solid, solid, solid_of_mesh
from shiftjax.viewer.scene.affine import transformed
from tests.scenes.lone import drawn, of_lone

ROUNDING = 1e-13  # relative, of a few sums and products in double precision
SINGLE = 1e-5  # relative: the viewer's meshes have vertices in single precision
FACETS = (
    0.05  # relative: 32 flat sides have 0.6 % less area than their circle, twice that for inertia and a ball's rows
)
OFFSET = {"T": (0.3, -0.2, 0.5), "R": ((0, -1, 0), (1, 0, 0), (0, 0, 1)), "rotation": (0.4, -0.3, 0.8)}
SHAPES: dict[str, dict[str, Any]] = {
    "box": {"size": (0.2, 0.3, 0.5)},
    "sphere": {"radius": 0.3},
    "ellipsoid": {"radii": (0.2, 0.3, 0.5)},
    "cylinder": {"radius": 0.2, "length": 0.7},
    "cone": {"radius": 0.2, "length": 0.7},
    "capsule": {"radius": 0.2, "length": 0.7},
}


def inertia(found: Solid) -> np.ndarray:
    return np.array(found.inertia.matrix)


@pytest.mark.parametrize(
    ("shape", "volume", "height", "moments"),
    [
        # 2 kg each; formulas of the tables of moments of inertia
        ({"type": "box", "size": (1, 2, 3)}, 6.0, 0.0, (13 / 6, 10 / 6, 5 / 6)),
        ({"type": "sphere", "radius": 2}, 32 / 3 * math.pi, 0.0, (3.2, 3.2, 3.2)),
        ({"type": "ellipsoid", "radii": (1, 2, 3)}, 8 * math.pi, 0.0, (26 / 5, 20 / 5, 10 / 5)),
        ({"type": "cylinder", "radius": 1, "length": 2}, 2 * math.pi, 0.0, (7 / 6, 7 / 6, 1.0)),
        ({"type": "cone", "radius": 1, "length": 4}, 4 / 3 * math.pi, -1.0, (1.5, 1.5, 0.6)),
        # half a ball's J across, about its flat side's middle, is 2/5 m r^2; cylinder and balls have equal masses here
        ({"type": "capsule", "radius": 3, "length": 4}, 72 * math.pi, 0.0,
         ((9 / 4 + 16 / 12) + (2 / 5 * 9 + 4 + 2 * 2 * 9 / 8), None, 9 / 2 + 2 / 5 * 9)),
    ],
)  # fmt: skip
def test_closed_formulas(shape: dict[str, Any], volume: float, height: float, moments: tuple[Any, ...]) -> None:
    found = solid(shape, mass=2.0)
    assert found.mass == 2.0 and solid(shape, density=7.0).mass == pytest.approx(7.0 * volume, rel=ROUNDING)
    assert found.center_of_mass == pytest.approx((0.0, 0.0, height), abs=ROUNDING)
    J = inertia(found)
    assert np.abs(J - np.diag(np.diag(J))).max() == 0.0
    for value, expected in zip(np.diag(J), moments, strict=True):
        assert expected is None or value == pytest.approx(expected, rel=ROUNDING)
    assert J[1, 1] == pytest.approx(J[0, 0]) or shape["type"] in ("box", "ellipsoid")


def test_every_formula_is_tested() -> None:
    assert set(SHAPES) == set(SOLIDS)


@pytest.mark.parametrize("type", sorted(SHAPES))
def test_a_mesh_of_the_same_shape_agrees(type: str) -> None:
    """On an offset, with products of inertia; what the viewer draws is what is weighed. The box has no facets."""
    shape = {"type": type, **SHAPES[type], **OFFSET}
    builder = ModelBuilder()
    builder.assembly("a").body("rod", mass=1, inertia=(1, 1, 1), geometry=[shape]).joint("pivot", "Ry", child="rod")
    (part,) = drawn(of_lone(builder.build()), "a:rod")
    exact = solid(shape, density=1000.0)
    meshed = solid_of_mesh(transformed(part.transform, part.mesh.vertices), part.mesh.indices, density=1000.0)
    near = SINGLE if type == "box" else FACETS
    assert meshed.mass == pytest.approx(exact.mass, rel=near)
    assert meshed.center_of_mass == pytest.approx(exact.center_of_mass, abs=SINGLE if type != "cone" else 1e-3)
    assert np.abs(inertia(meshed) - inertia(exact)).max() < near * np.abs(inertia(exact)).max()
    assert np.abs(inertia(exact) - np.diag(np.diag(inertia(exact)))).max() > 0.0 or type == "sphere"


CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SIDES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                  [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip


def test_a_cube_is_exact_wherever_it_stands_and_whichever_way_it_is_turned() -> None:
    for sides in (SIDES, SIDES[:, ::-1]):
        for shift in (np.zeros(3), np.array([100.0, -50.0, 20.0])):
            found = solid_of_mesh(CUBE + shift, sides, density=6.0)
            assert found.mass == pytest.approx(6.0, rel=ROUNDING)
            assert found.center_of_mass == pytest.approx(tuple(shift + 0.5), rel=ROUNDING)
            assert inertia(found) == pytest.approx(np.eye(3), abs=ROUNDING)


def test_a_hollow_is_taken_away() -> None:
    """A cube of side 3 without the cube of side 1 in its middle: J = (m a^2 of the whole - m a^2 of the hole) / 6."""
    both = np.concatenate([3 * (CUBE - 0.5), CUBE - 0.5])
    found = solid_of_mesh(both, np.concatenate([SIDES, 8 + SIDES[:, ::-1]]), density=1.0)
    assert found.mass == pytest.approx(26.0, rel=ROUNDING)
    assert inertia(found) == pytest.approx((27 * 9 - 1) / 6 * np.eye(3), abs=100 * ROUNDING)


def test_a_builder_takes_what_was_found() -> None:
    found = shiftjax.solid({"type": "cone", "radius": 0.1, "length": 0.4, **OFFSET}, density=2700)
    builder = ModelBuilder()
    builder.assembly("a").body(
        "b", mass=found.mass, center_of_mass=found.center_of_mass, inertia=found.inertia
    )  # fmt: skip
    body = builder.build().assemblies[0].bodies[0]
    assert (body.mass, body.center_of_mass, body.inertia) == (found.mass, found.center_of_mass, found.inertia)


@pytest.mark.parametrize(
    ("shape", "given", "message"),
    [
        ({"type": "box", "size": (1, 1, 1)}, {}, "neither of them; allowed: one of them"),
        ({"type": "box", "size": (1, 1, 1)}, {"mass": 1, "density": 1}, "both of them"),
        ({"type": "box", "size": (1, 1, 1)}, {"mass": -1}, "mass: found -1; allowed: 0 or more"),
        ({"type": "box", "size": (1, 1)}, {"mass": 1}, "shape.size: found .*a list of 3 numbers"),
        ({"type": "plane", "size": (1, 1)}, {"mass": 1}, "shape.type: found 'plane'; allowed: one of box, capsule"),
        ({"type": "mesh", "filename": "a.obj"}, {"mass": 1}, "Give its triangles to `solid_of_mesh`"),
    ],
)
def test_what_is_no_solid_is_refused(shape: dict[str, Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        solid(shape, **given)


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (CUBE, SIDES[1:], "a surface that is not closed"),
        (CUBE, np.concatenate([SIDES[:1, ::-1], SIDES[1:]]), "not closed .* odd edges.*turn all triangles outward"),
        (CUBE * [1, 1, 0], SIDES, "a volume of 0 m"),
        (CUBE, SIDES + 1, "to 8; allowed: 0 to 7"),
        (CUBE[:, :2], SIDES, r"vertices: found shape \(8, 2\)"),
        (CUBE, SIDES.astype(float), "whole numbers"),
    ],
)
def test_what_is_no_closed_mesh_is_refused(vertices: np.ndarray, triangles: np.ndarray, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        solid_of_mesh(vertices, triangles, mass=1.0)
