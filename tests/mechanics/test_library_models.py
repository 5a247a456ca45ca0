"""The library of mechanisms as the oracle sees it: closed, of the documented topology, with physical masses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shiftjax.models import names, path, summary
from shiftjax.models.n_four_bar import n_four_bar
from tests.reference.oracle import Oracle

CLOSED = 1e-10  # rad, m: largest error of any loop at the start
ONE = [(1, 6, 4, 3)]

# bodies, joints, coordinates (in speeds), loops, rank, dof, substructures (loops, rows, columns, rank)
COUNTS = {
    "pendulum": (1, 1, 1, 0, 0, 1, []),
    "double_pendulum": (2, 2, 2, 0, 0, 2, []),
    "four_bar": (3, 4, 4, 1, 3, 1, ONE),
    "slider_crank": (3, 4, 4, 1, 3, 1, ONE),
    "slider_crank_turntable": (4, 5, 5, 1, 3, 2, ONE),
    "two_slider_cranks": (6, 8, 8, 2, 6, 2, ONE * 2),
    "three_slider_cranks": (9, 12, 12, 3, 9, 3, ONE * 3),
    "n_four_bar_1": (3, 4, 4, 1, 3, 1, ONE),
    "n_four_bar_2": (5, 7, 7, 2, 6, 1, [(2, 12, 7, 6)]),
    "n_four_bar_5": (11, 16, 16, 5, 15, 1, [(5, 30, 16, 15)]),
    "n_four_bar_40": (81, 121, 121, 40, 120, 1, [(40, 240, 121, 120)]),
    "bricard": (5, 6, 6, 1, 5, 1, [(1, 6, 6, 5)]),
    "andrews": (7, 10, 10, 3, 9, 1, [(3, 18, 10, 9)]),
    "sarrus": (8, 10, 9, 2, 8, 1, [(2, 12, 9, 8)]),
    "klann": (5, 7, 7, 2, 6, 1, [(2, 12, 7, 6)]),
    "jansen": (7, 10, 10, 3, 9, 1, [(3, 18, 10, 9)]),
    "bicycle_brake": (8, 11, 10, 3, 9, 1, [(3, 18, 10, 9)]),
    "bennett": (3, 4, 4, 1, 3, 1, ONE),
    "peaucellier": (7, 10, 10, 3, 9, 1, [(3, 18, 10, 9)]),
    "excavator": (15, 20, 19, 5, 15, 4, [(2, 12, 7, 6), (1, 6, 4, 3), (2, 12, 7, 6)]),
    "double_wishbone": (7, 9, 15, 2, 12, 3, [(2, 12, 14, 12)]),
    "vehicle_chassis": (45, 51, 51, 6, 36, 15, [(4, 24, 27, 24), (1, 6, 7, 6), (1, 6, 7, 6)]),
    "delta": (11, 16, 39, 5, 30, 9, [(5, 30, 39, 30)]),
    "stewart": (19, 24, 36, 5, 30, 6, [(5, 30, 36, 30)]),
    "scissor_lift": (9, 13, 13, 4, 12, 1, [(4, 24, 13, 12)]),
    "seven_axis_arm": (8, 8, 7, 0, 0, 7, []),
    "meshed_pendulum": (1, 1, 1, 0, 0, 1, []),
}


def test_every_model_is_listed_and_described() -> None:
    """One list: the folder, the names, the counts, the table of the README."""
    assert {p.stem for p in path("pendulum").parent.glob("*.json")} == set(names()) == set(COUNTS)
    readme = (path("pendulum").parent / "README.md").read_text()
    for name in names():
        assert 20 < len(summary(name)) < 100 and "\n" not in summary(name)
        assert f"| `{name}` |" in readme
    with pytest.raises(KeyError):
        path("no_such_mechanism")


@pytest.mark.parametrize("name", list(COUNTS))
def test_counts(name: str) -> None:
    """Bodies, joints, loops, rank and substructures are those of the original mechanism of the same topology."""
    oracle = Oracle(path(name))
    q, v = oracle.start()
    rows = oracle.scaled(oracle.motion(q, v).rows)
    rank = oracle.rank(rows)
    parts = [(s["loops"], s["rows"], s["columns"], s["rank"]) for s in oracle.substructures(q)]
    found = (len(oracle.bodies), len(oracle.joints), oracle.nv, len(oracle.chords), rank, oracle.nv - rank, parts)
    assert found == COUNTS[name]


@pytest.mark.parametrize("name", list(COUNTS))
def test_start_is_closed(name: str) -> None:
    """The loops of the file as written close, and stay closable at the written speeds."""
    oracle = Oracle(path(name))
    q, v = oracle.start()
    assert oracle.gap(q) <= CLOSED
    held = tuple(j.name for j in oracle.joints if np.any(v[j.v]))
    speeds = oracle.consistent(q, v, held)
    assert np.array_equal(speeds[v != 0], v[v != 0])
    assert np.max(np.abs(oracle.motion(q, v).rows @ speeds), initial=0) <= 1e-11 * max(1.0, np.max(np.abs(v)))


@pytest.mark.parametrize("name", list(COUNTS))
def test_inertias_are_physical_and_every_motion_moves_mass(name: str) -> None:
    """Principal moments obey the triangle inequality; the reduced mass matrix is positive definite."""
    oracle = Oracle(path(name))
    for body in oracle.bodies:
        mass, _, tensor = oracle.inertia(body)
        moments = np.linalg.eigvalsh(tensor)
        slack = 1e-9 * moments[-1]
        assert mass >= 0 and moments[0] >= -slack and moments[0] + moments[1] >= moments[2] - slack, body
        assert mass > 0 or not tensor.any(), body
    q, v = oracle.start()
    motion = oracle.motion(q, v)
    M, _ = oracle.dynamics(motion, q, v)
    N = oracle.null(motion.rows)
    eigenvalues = np.linalg.eigvalsh(N.T @ M @ N)
    assert eigenvalues[0] > 1e-6 * eigenvalues[-1]


@pytest.mark.parametrize("name", list(COUNTS))
def test_files_are_strict_json_of_the_second_dialect(name: str) -> None:
    """Version 2.0, list paths, a span and an output step, names once each."""
    document = json.loads(path(name).read_text(), parse_constant=lambda word: pytest.fail(word))
    assert document["model_parameters"]["version"] == "2.0"
    assert {"time_span", "time_step"} <= set(document["model_parameters"]["integrators"][0])
    (assembly,) = document["assemblies"]
    for entries in (assembly["bodies"], assembly["joints"], assembly.get("restraints", []), document["frames"]):
        every = [e["name"] for e in entries]
        assert len(set(every)) == len(every)
    for joint in assembly["joints"]:
        assert isinstance(joint["parent"][0], list) and isinstance(joint["child"][0], list)
    for body in assembly["bodies"]:
        for geometry in body.get("geometry", []):
            assert all((path(name).parent / file).is_file() for file in geometry["filename"])


@pytest.mark.parametrize("N", [1, 2, 5, 40])
def test_n_four_bar_files_come_from_the_builder(N: int) -> None:
    """The saved files are what the builder makes."""
    assert json.loads(path(f"n_four_bar_{N}").read_text()) == n_four_bar(N)


def test_n_four_bar_loses_rank_when_flat() -> None:
    """Flat, the rank drops by N and the freedoms become N + 1."""
    oracle = Oracle(n_four_bar(3))
    turn = {"pivot": -np.pi / 2, "top": np.pi / 2, "pin": -np.pi / 2}
    flat = np.array([turn[j.name.split("_")[0]] for j in oracle.joints])
    assert oracle.gap(flat) < 1e-15 and oracle.rank(oracle.scaled(oracle.motion(flat, 0 * flat).rows)) == 6
    with pytest.raises(ValueError, match="N >= 1"):
        n_four_bar(0)


def test_peaucellier_draws_a_straight_line() -> None:
    """The pen keeps its height while the crank swings."""
    oracle = Oracle(path("peaucellier"))
    q, _ = oracle.start()
    heights = []
    for angle in np.linspace(0.5, -0.5, 11):
        q = q.copy()
        q[oracle.joints[2].q] = angle
        q = oracle.closed(q, ("crank_pivot",))
        heights.append(oracle.point(q, "outer1", "tip")[2])
    assert np.ptp(heights) < 1e-12
