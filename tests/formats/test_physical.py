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
from tests.support.mechanisms import CRANK, GROUND, four_bars, pendulum, rod


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
    """Issue 10: from a file, by `replace`, by `--set` (assign) and by `vary`, always the same rule."""
    inertia, said = IMPOSSIBLE[case]
    entries = dict(zip(("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx"), inertia, strict=False))
    paths = {f"rod.inertia.{entry}": float(value) for entry, value in entries.items()}
    zero = {f"rod.inertia.{entry}": 0.0 for entry in ("Ixx", "Iyy", "Izz")}
    if case == "triangle":  # some public files have it; they are read and looked at, but not run
        model = pressed(inertia=inertia)
        assert "body 'rod' is not physical" in model.warnings[0]
        result = simulate(model, span=0.01)
        assert result.status == Outcome.unphysical and said in result.messages[0]
        with pytest.raises(ModelError, match=said):
            Live(model)
    else:
        with pytest.raises(ModelError, match=said):
            pressed(inertia=inertia)
    with pytest.raises(ModelError, match=r"a:rod\.inertia\.[IJxyz]+: found " + said):
        pressed().replace({**zero, **paths})
    with pytest.raises(ModelError, match=said):
        simulate(pressed(), span=0.01, assign={**zero, **paths})
    vary = {path: [x, y] for (path, x), y in zip({**zero, **paths}.items(), [0.01, 0.1, 0.1, 0, 0, 0], strict=False)}
    result = simulate(pressed(), span=0.01, vary=vary)
    assert result.status.tolist() == [Outcome.unphysical, 0] and said in result.messages[0]
    assert result.messages[0].startswith("a:rod.inertia.") and result.messages[1] == ""


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
ENDS = (Outcome.unphysical, Outcome.unphysical, Outcome.unphysical, Outcome.not_assembled, Outcome.non_finite)


def test_every_impossible_design_of_a_thousand_is_flagged_with_its_cause() -> None:
    """Issue 10: 10 % impossible, each flagged with its cause, no good one flagged."""
    vary, kind = designs(1000, 3)
    result = simulate(four_bars(), span=0.05, vary=vary)
    assert (kind >= 0).sum() == 100 and set(kind) == set(range(-1, 5))
    assert (result.status[kind == -1] == 0).all()
    for k in np.flatnonzero(kind >= 0):
        assert result.status[k] == ENDS[kind[k]], (k, kind[k])
        assert SAID[kind[k]] in result.messages[k]
