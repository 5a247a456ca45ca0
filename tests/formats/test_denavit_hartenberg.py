"""Arms of Denavit-Hartenberg tables (M65): poses are products of matrices, numbers of a Puma the published ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError, denavit_hartenberg, load
from shiftjax.formats.writer import to_dict
from tests.access.test_published import COMPUTED, PUMA, REFERENCE

POSE = 1e-14  # m and 1: ten roundings of each of six matrices
QUARTER = np.pi / 2


def matrix_of(a: float, alpha: float, d: float, theta: float, convention: str) -> np.ndarray:
    """(4, 4) as the books print it: Denavit, Hartenberg 1955; Craig, equation (3.6)."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    if convention == "standard":
        rows = [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d]]
    else:
        rows = [[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca]]
    return np.array([*rows, [0, 0, 0, 1]])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_m65_poses_are_products_of_the_matrices(convention: str) -> None:
    """Of every link and the tool, with joints that turn and slide, away from zero, on a base that is turned."""
    draw = np.random.default_rng(65)
    table = draw.uniform(-2.0, 2.0, (6, 4))
    types = ["revolute", "prismatic", "revolute", "revolute", "prismatic", "revolute"]
    base, tool = (matrix_of(a, alpha, d, theta, "standard") for a, alpha, d, theta in draw.uniform(-2.0, 2.0, (2, 4)))
    rows = [(*row, type) for row, type in zip(table.tolist(), types, strict=True)]
    model = denavit_hartenberg(rows, convention, base=base, tool=tool)
    assert not model.warnings and load(to_dict(model)) == model
    q = draw.uniform(-2.0, 2.0, 6)
    at = shiftjax.configuration(model, q=q)
    order = [at.speed_names.index(f"arm:joint{k}") for k in range(1, 7)]
    expected = base
    for k in range(6):
        a, alpha, d, theta = table[k]
        turn, slide = (q[order[k]], 0.0) if types[k] == "revolute" else (0.0, q[order[k]])
        expected = expected @ matrix_of(a, alpha, d + slide, theta + turn, convention)
        assert np.abs(at.pose(f"link{k + 1}") - expected).max() < POSE * 10, "coordinates up to 30 m away"
    assert np.abs(at.pose("link6:tool") - expected @ tool).max() < POSE * 10


def puma_rows() -> list[dict[str, Any]]:
    return [
        {"a": a, "alpha": alpha, "d": d, "theta": 0.0, "mass": mass, "center_of_mass": centre, "inertia": inertia}
        for d, a, alpha, mass, centre, inertia, _, _ in PUMA
    ]


def test_m65_puma_has_the_published_matrices() -> None:
    """Pose of the flange, mass matrix and gravity at its nominal pose, of the table alone."""
    derived = REFERENCE["derived_puma"]
    at = shiftjax.configuration(denavit_hartenberg(puma_rows(), name="puma"), q=np.array(derived["qn"]))
    assert at.speed_names == tuple(f"puma:joint{k}" for k in range(1, 7))
    R, p = derived["T_qn"]
    pose = at.pose("link6")
    assert np.abs(pose[:3, :3] - R).max() < COMPUTED and np.abs(pose[:3, 3] - p).max() < COMPUTED
    assert np.abs(at.mass_matrix() - derived["M_links_only"]).max() < COMPUTED * 10
    assert np.abs(at.gravity_forces() - derived["gravload"]).max() < COMPUTED * 10


def test_m65_one_link_swings_with_the_period_of_a_pendulum() -> None:
    """A point mass at the end of a link of length a: omega^2 = g/a about hanging down, in either convention."""
    bob = {"mass": 2.0, "inertia": (0.0, 0.0, 0.0)}
    standard = [{"a": 0.7, "alpha": 0.0, "d": 0.1, "theta": -QUARTER, **bob, "damping": (0.0, 0.0)}]
    modified = [{"a": 0.0, "alpha": 0.0, "d": 0.1, "theta": -QUARTER, **bob, "center_of_mass": (0.7, 0.0, 0.0)}]
    for convention, rows in (("standard", standard), ("modified", modified)):
        upright = [[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]  # z of the table lies flat, y is up
        model = denavit_hartenberg(rows, convention, base=upright, gravity=(0.0, 0.0, -9.81))
        at = shiftjax.configuration(model, q=np.zeros(1))
        assert at.mass_matrix()[0, 0] == pytest.approx(2.0 * 0.7**2, rel=1e-14)
        assert at.derivative("gravity_forces")[0, 0] == pytest.approx(2.0 * 9.81 * 0.7, rel=1e-14)
        assert abs(at.gravity_forces()[0]) < 1e-14


ROW = {"a": 0.5, "alpha": 0.3, "d": 0.1, "theta": 0.2}


@pytest.mark.parametrize(
    ("rows", "options", "fault"),
    [
        ([], {}, "rows"),
        ({"a": 1}, {}, "rows"),
        ([(1, 2, 3)], {}, "row 1: .*a, alpha, d, theta"),
        ([(0, 0, 0, 0), {"a": 1, "alpha": 0, "d": 0}], {}, "row 2: found no theta"),
        ([(0, 0, 0, float("nan"))], {}, "row 1, theta"),
        ([(0, 0, 0, 0, "spherical")], {}, "row 1, type.*revolute, prismatic"),
        ([{"a": 1, "alpha": 0, "d": 0, "theta": 0, "masss": 1}], {}, "row 1.*'masss'.*Did you mean 'mass'"),
        ([(0, 0, 0, 0)], {"convention": "craig"}, "convention.*standard, modified"),
        ([(0, 0, 0, 0)], {"base": np.eye(3)}, r"base.*\(4, 4\)"),
        ([(0, 0, 0, 0)], {"tool": np.diag([1, 1, 2, 1])}, "tool.*rotation matrix"),
        ([{**ROW, "name": "j"}, {**ROW, "name": "j"}], {}, "row 2, name: found 'j', of row 1, too"),
        ([{**ROW, "name": "joint2"}, ROW], {}, "row 2, name: found 'joint2', of row 1, too"),
        ([ROW, {**ROW, "name": "tool"}], {"tool": np.eye(4)}, "row 2, name: found 'tool', of the tool, too"),
    ],
)
def test_m65_a_row_that_is_none_is_named(rows: Any, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ModelError, match=fault):
        denavit_hartenberg(rows, **options)
