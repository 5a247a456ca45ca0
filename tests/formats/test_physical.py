"""Numbers that no mechanism can have: refused in files and by `replace`, flagged with their cause in varied members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax import Live
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.models import names
from shiftjax.outcome import Outcome
from shiftjax.run.simulate import simulate
from shiftjax.run.start.physical import impossible
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.models.mechanisms import CRANK, GROUND, four_bars, pendulum, rod

SAME = 1e-12  # rad: the same number in other moments is added to zeros


def pressed(**values: Any) -> Model:
    """A pendulum against a stop: a spring of three pieces on its joint."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a").body("rod", **rod(1.0) | values).joint("pivot", "revolute", child="rod", axis="y")
    a.restraint(
        "stop", "spring", joint="pivot", knot_points=(-1.0, 1.0), coefficients=((5.0, 5.0), (0.0,), (5.0, -5.0))
    )
    return builder.build()


@pytest.mark.parametrize("name", names())
def test_the_library_is_possible(name: str) -> None:
    assert impossible(load(name), (), np.zeros((0, 1))) == {}


POSSIBLE: dict[str, tuple[float, ...]] = {
    "massless": (0, 0, 0),
    "planar": (0, 0, 2),
    "two moments": (0, 1, 2),
    "rod": (0, 2, 2),
    "plate": (1, 2, 3),
    "plate of four digits": (1, 2, 3.001),
    "ball": (1, 1, 1),
    "products": (1.0, 1.0, 1.0, 0.4, 0.2, 0.1),
    "turned rod": (0.5, 0.5, 1.0, 0.5, 0, 0),
}
IMPOSSIBLE: dict[str, tuple[tuple[float, ...], str]] = {
    "negative": ((-5, 1, 1), "Ixx = -5 kg m"),
    "negative alone": ((0, 0, -1e-9), "Izz = -1e-09 kg m"),
    "triangle": ((1, 1, 3), "principal moments 1, 1, 3 kg m"),
    "products too large": ((1, 1, 1, 2, 0, 0), "principal moments -1, 1, 3 kg m"),
    "a product alone": ((0, 0, 0, 1, 0, 0), "principal moments -1, 0, 1 kg m"),
}


@pytest.mark.parametrize("case", POSSIBLE)
def test_inertias_that_a_body_can_have(case: str) -> None:
    model = pressed(inertia=POSSIBLE[case])
    assert model.warnings == () and impossible(model, (), np.zeros((0, 1))) == {}
    assert impossible(pressed(inertia=POSSIBLE[case], mass=0.0), (), np.zeros((0, 1))) == {}  # a rotor


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_inertias_that_no_body_can_have(case: str) -> None:
    """From a file, by `replace`, `assign` and `vary` the same rule: what moves is positive, so it runs, with a warning.

    The pendulum turns about y only: its motion moves I_yy + m c^2, whatever the other moments are.
    """
    inertia, said = IMPOSSIBLE[case]
    entries = dict(zip(("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx"), (*inertia, 0.0, 0.0, 0.0)[:6], strict=True))
    paths = {f"rod.inertia.{entry}": float(value) for entry, value in entries.items()}
    model = pressed(inertia=inertia)
    assert "no body has the inertia of 'rod': found " + said in model.warnings[0]
    vary = {path: [x, y] for (path, x), y in zip(paths.items(), [0.01, 0.1, 0.1, 0, 0, 0], strict=True)}
    runs = [
        simulate(model, span=0.1, channels=["pivot.q"]),
        simulate(pressed().replace(paths), span=0.1, channels=["pivot.q"]),
        simulate(pressed(), span=0.1, assign=paths, channels=["pivot.q"]),
        simulate(pressed(), span=0.1, vary=vary, channels=["pivot.q"]),
    ]
    slender = pressed(inertia=(0.0, entries["Iyy"], entries["Iyy"]))
    truth = simulate(slender, span=0.1, channels=["pivot.q"]).channels["pivot.q"][-1]
    for run in runs:
        status, message = np.atleast_1d(run.status), run.messages
        assert status[0] == Outcome.impossible_inertia and said in message[0] and "a:rod.inertia." in message[0]
        assert (status[1:] == 0).all() and all(text == "" for text in message[1:])
        assert abs(np.atleast_2d(run.channels["pivot.q"])[0, -1] - truth) < SAME
    strict = simulate(pressed(), span=0.1, vary=vary, strict_inertia=True)
    assert strict.status.tolist() == [Outcome.unphysical, 0] and said in strict.messages[0]
    going_on = simulate(pressed(), span=0.1, vary=vary, start=runs[3])
    assert going_on.status[0] == Outcome.impossible_inertia and said in going_on.messages[0]
    assert Live(model).report["warnings"] == list(model.warnings)


def test_a_motion_that_moves_negative_mass_is_unphysical() -> None:
    """I_yy + m c^2 = -1 + 0.25 < 0 about the pivot at the start; with m c^2 = 1.25 it is positive."""
    negative = {"rod.inertia.Iyy": [-1.0, -1.0, 1.0 / 12], "rod.mass": [1.0, 5.0, 1.0]}
    result = simulate(pressed(), span=0.01, vary=negative)
    assert result.status.tolist() == [Outcome.unphysical, Outcome.impossible_inertia, 0]
    assert "Iyy = -1 kg m" in result.messages[0] and "no positive mass" in result.messages[0]
    alone = simulate(pressed(inertia=(0.01, -1.0, 0.1)), span=0.01)
    assert alone.status == Outcome.unphysical and "no positive mass" in alone.messages[0]


def test_a_mass_that_becomes_negative_on_the_way_is_never_a_good_run() -> None:
    """With the arm at right angles the base's mass, the elbow free, is I_yy + 0.256 kg m^2, and 0.1875 less in line."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("base", **rod(0.5, 0.1) | {"inertia": (0.0, -0.15, 0.1)}).body("arm", **rod(0.5))
    a.joint("root", "Ry", child="base", initial_displacement=0.0)
    a.joint("elbow", "Ry", parent=("base", "tip"), child="arm", initial_displacement=np.pi / 2, initial_velocity=-2.0)
    assert simulate(builder.build(), span=0.01).status == Outcome.impossible_inertia
    on_the_way = simulate(builder.build(), span=1.0)
    assert on_the_way.status != 0 and on_the_way.status != Outcome.impossible_inertia, on_the_way.messages


OTHERS = {
    "rod.mass": (-1.0, "mass -1", "a mass of 0 or more"),
    "stop.knot_points[1]": (-2.0, "knot points -1, -2", "increasing numbers"),
    "pivot.axis[1]": (0.0, "axis 0, 0, 0", "an axis of length"),
}


@pytest.mark.parametrize("path", OTHERS)
def test_what_a_file_could_not_have(path: str) -> None:
    """Issue 10: `replace` and `vary` skipped the reader's checks; a bad member does not end the sweep."""
    value, found, allowed = OTHERS[path]
    model = pressed()
    with pytest.raises(ModelError, match=f"found {found}; allowed: {allowed}"):
        model.replace({path: value})
    good = model.numbers()[model.resolve(path)]
    result = simulate(model, span=0.01, vary={path: [good, value, np.nan]})
    assert result.status.tolist() == [0, Outcome.unphysical, Outcome.non_finite]
    assert result.messages[1].startswith(f"{model.resolve(path)}: found {found}; allowed: {allowed}")
    assert np.isnan(result.certificate["energy_error"][1]) and result.certificate["steps"][1] == 0


def test_a_number_of_an_impossible_body_can_be_replaced() -> None:
    """Only what is replaced is judged: a file that was read with a warning stays usable."""
    model = pressed(inertia=(1, 1, 3))
    assert model.replace({"rod.center_of_mass[0]": 0.1, "rod.mass": 2.0}).numbers()["a:rod.mass"] == 2.0
    healed = model.replace({"rod.inertia.Izz": 1.5})
    assert simulate(healed, span=0.01).status == 0


def test_an_impossible_member_never_starts_and_the_others_are_drawn() -> None:
    result = simulate(four_bars(), span=0.01, vary={"coupler.mass": [-1.0, 1.0]}, keep="all", channels=["pivot.q"])
    (q,) = result.channels.values()
    assert np.isnan(q[0]).all() and np.isfinite(q[1]).all()
    study = ViewedStudy.of(result)
    assert study.drawable(study.kept).ids.tolist() == [1] and MemberScenes(study).first.parts


def test_a_live_run_refuses_an_impossible_number() -> None:
    live = Live(pendulum(), ["rod.mass"])
    with pytest.raises(ModelError, match=r"a:rod\.mass: found mass -1; allowed: a mass of 0 or more"):
        live.change({"rod.mass": -1.0})


def designs(count: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Random four-bars, every tenth impossible in one of five ways; kind (count,) says how, -1 is good.

    All crank-rockers of the good ones close at the file's crank angle: crank + ground < coupler + rocker.
    """
    rng = np.random.default_rng(seed)
    vary = {
        "crank:tip.T[0]": rng.uniform(0.9, 1.1, count) * CRANK,
        "fixed:rocker0.T[0]": rng.uniform(0.97, 1.03, count) * GROUND,
        "coupler.mass": rng.uniform(0.0, 3.0, count),
        "rocker.inertia.Ixx": rng.uniform(0.0, 0.01, count),
        "rocker.inertia.Iyy": np.full(count, 0.0133),
        "rocker.inertia.Izz": np.full(count, 0.0133),
    }
    kind = np.full(count, -1)
    bad = rng.permutation(count)[: count // 10]
    kind[bad] = np.arange(len(bad)) % 5
    vary["coupler.mass"][kind == 0] = rng.uniform(-3.0, -1e-6, (kind == 0).sum())
    vary["rocker.inertia.Iyy"][kind == 1] = -0.01
    vary["rocker.inertia.Ixx"][kind == 2] = 0.1  # more than the sum of the others
    vary["crank:tip.T[0]"][kind == 3] = 1.5  # longer than the others reach
    vary["rocker.inertia.Izz"][kind == 4] = np.nan
    return vary, kind


SAID = (
    "bar0:coupler.mass: found mass -",
    "bar0:rocker.inertia.Iyy: found Iyy = -0.01",
    "bar0:rocker.inertia.Ixx: found principal moments",
    "stays open by",
    "NaN",
)
ODD = Outcome.impossible_inertia  # the moments of the rocker itself; about its pivot they are positive
ENDS = (Outcome.unphysical, ODD, ODD, Outcome.not_assembled, Outcome.non_finite)


def test_every_impossible_design_of_a_thousand_is_flagged_with_its_cause() -> None:
    """Issue 10: 10 % impossible, each flagged with its cause, no good one flagged."""
    vary, kind = designs(1000, 3)
    result = simulate(four_bars(), span=0.05, vary=vary)
    assert (kind >= 0).sum() == 100 and set(kind) == set(range(-1, 5))
    assert (result.status[kind == -1] == 0).all()
    for k in np.flatnonzero(kind >= 0):
        assert result.status[k] == ENDS[kind[k]], (k, kind[k])
        assert SAID[kind[k]] in result.messages[k]
