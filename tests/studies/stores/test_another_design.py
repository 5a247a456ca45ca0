"""Designs beside those of a store: one that is that of a member has its bits; studies of more members like some."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from shiftjax.constraints.drives import Harmonic
from shiftjax.ensembles.execution.again_messages import FOUND, packed, unpacked
from shiftjax.ensembles.execution.another_design import another_design, more_like
from shiftjax.ensembles.execution.sent_tree import parts_of, tree_of
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.store import store
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.run.simulate import simulate

LENGTH, MASS = "four_bar:crank:tip.T[0]", "four_bar:coupler.mass"
DERIVED = "four_bar:rocker.mass"
SPAN: dict[str, Any] = {"span": 0.1, "step": 1e-3, "output_step": 0.02}
METRICS = {"swing": "peak_to_peak(rocker_pivot.q)"}
MEMBERS = 6


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cranks and couplers that vary, rockers that follow from them."""
    words = Definition(
        model="four_bar",
        vary={LENGTH: "0.15:0.25~sobol", MASS: "0.5:2~sobol"},
        derive={DERIVED: f"2 * {{{MASS}}}"},
        samples=MEMBERS,
        channels=["rocker_pivot.q"],
        metrics=METRICS,
        keep="all",
        **SPAN,
    )
    return sweep(words, tmp_path_factory.mktemp("designs") / "cranks.zarr").path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of many members, which differ in a length and in a number of their drive."""
    drive = {"crank_pivot": Harmonic(amplitude=np.array([0.1, 0.2, 0.3]), frequency=2.0)}
    result = simulate("four_bar", vary={LENGTH: np.array([0.2, 0.21, 0.22])}, drive=drive, keep="all", metrics=METRICS,
                      channels=["rocker_pivot.q"], **SPAN)  # fmt: skip
    return store.write(result, tmp_path_factory.mktemp("runs") / "driven.zarr", keep="all")


def design_of(path: Path, member: int, *, without: str = "") -> dict[str, float]:
    rows = store.read(path)["members"].to_dataset().isel(member=member)
    about = {str(v.attrs.get("path", n)): v for n, v in rows.data_vars.items() if v.attrs.get("role") == "design"}
    return {name: float(values) for name, values in about.items() if name != without}


def figure(tree: xr.DataTree, name: str) -> np.ndarray:
    """(B,) of all members of a tree."""
    rows = tree["members"].to_dataset().data_vars
    return np.asarray(next(v.values for n, v in rows.items() if v.attrs.get("path", n) == name))


def same_as_member(path: Path, tree: xr.DataTree, member: int) -> None:
    stored = store.read(path)
    before, after = (one["trajectories"].to_dataset()["pose"].values for one in (stored, tree))
    np.testing.assert_array_equal(after[0], before[member])
    for name in ("swing", "status", "energy_error"):
        assert figure(tree, name)[0] == figure(stored, name)[member], name
    before, after = (one["trajectories"].to_dataset()["rocker_pivot.q"].values for one in (stored, tree))
    np.testing.assert_array_equal(after[0], before[member])


@pytest.mark.parametrize("kind", ["study", "run"])
def test_the_design_of_another_member_has_the_bits_of_that_member(kind: str, request: pytest.FixtureRequest) -> None:
    """Numbers that follow from others follow here, too; those of drives are designs as all others."""
    path: Path = request.getfixturevalue(kind)
    member = 2
    design = design_of(path, member, without=DERIVED)
    assert len(design) == 2
    same_as_member(path, another_design(path, 0, design), member)
    kept = design_of(path, 0, without=DERIVED)
    same_as_member(path, another_design(path, 0, {}), 0)
    mixed = another_design(path, 0, {LENGTH: design[LENGTH]})
    (other,) = set(kept) - {LENGTH}
    columns = [v.attrs.get("path", n) for n, v in mixed["members"].to_dataset().data_vars.items()]
    assert other not in columns or figure(mixed, other)[0] == kept[other]


def test_a_number_that_does_not_vary_is_refused_by_name(study: Path, run: Path) -> None:
    for path in (study, run):
        with pytest.raises(ModelError, match=r"another design: found four_bar:rocker:tip.T\[0\]; allowed: numbers"):
            another_design(path, 0, {"four_bar:rocker:tip.T[0]": 0.3})
    with pytest.raises(ModelError, match=f"found {DERIVED}"):
        another_design(study, 0, {DERIVED: 1.0})
    with pytest.raises(ModelError, match="0 to 5"):
        another_design(study, MEMBERS, {})


def test_a_tree_goes_through_a_message(study: Path) -> None:
    tree = another_design(study, 1, {LENGTH: 0.2})
    kind, about, arrays = unpacked(packed(FOUND, *parts_of(tree)))
    came = tree_of(json.loads(json.dumps(about)), arrays)
    assert kind == FOUND
    for node in tree.subtree:
        before, after = node.to_dataset(False), came[node.path].to_dataset(False)
        assert list(before.variables) == list(after.variables) and before.attrs.keys() == after.attrs.keys()
        xr.testing.assert_equal(before.astype("U") if node.path == "/log" else before, after)


def test_more_members_are_within_the_ranges(study: Path, tmp_path: Path) -> None:
    told: list[float] = []
    ranges = {LENGTH: (0.18, 0.2), MASS: (1.5, 1.5)}
    made = more_like(study, 0, ranges, 20, tmp_path, told.append)
    assert made.name == "cranks_more.zarr" and sorted(p.name for p in tmp_path.iterdir()) == [
        "cranks_more.json", "cranks_more.toml", "cranks_more.zarr",
    ]  # fmt: skip
    assert told[-1] == 1.0
    lengths, swings = (figure(store.read(made), name) for name in (LENGTH, "swing"))
    assert len(lengths) == 20 == len(set(lengths)) and ((lengths >= 0.18) & (lengths <= 0.2)).all()
    assert np.isfinite(swings).all()
    words = study_file.read(tmp_path / "cranks_more.toml")
    assert dict(words.set) == {MASS: 1.5} and dict(words.derive) == {DERIVED: f"2 * {{{MASS}}}"}
    assert words.metrics.keys() == METRICS.keys() and words.span == 0.1
    again = another_design(study, 0, {LENGTH: float(lengths[3]), MASS: 1.5})
    assert figure(again, "swing")[0] == pytest.approx(swings[3], rel=1e-12)
    assert more_like(study, 0, ranges, 2, tmp_path).name == "cranks_more_2.zarr"


def test_more_members_of_a_run(run: Path, tmp_path: Path) -> None:
    amplitude = "four_bar:crank_pivot_drive.amplitude"
    made = more_like(run, 1, {LENGTH: (0.2, 0.22), amplitude: (0.1, 0.2)}, 4, tmp_path)
    lengths, wide, swings = (figure(store.read(made), name) for name in (LENGTH, amplitude, "swing"))
    assert ((wide >= 0.1) & (wide <= 0.2)).all() and (figure(store.read(made), "status") == 0).all()
    again = another_design(run, 0, {LENGTH: float(lengths[2]), amplitude: float(wide[2])})
    assert figure(again, "swing")[0] == pytest.approx(swings[2], rel=1e-12)


def test_members_that_are_alike_have_no_more(study: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"which are alike; allowed: numbers that differ"):
        more_like(study, 0, {LENGTH: (0.2, 0.2)}, 5, tmp_path)
    with pytest.raises(ModelError, match="found no number"):
        more_like(study, 0, {}, 5, tmp_path)
    assert not list(tmp_path.iterdir())
