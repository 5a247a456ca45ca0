"""Starts on a branch asked for by its name (F7, F22): as the table has it, one design or many; in stores, too."""

import json
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.stored_study import Study
from shiftjax.errors import ModelError
from shiftjax.kinematics.ranges.travel import travel
from shiftjax.mechanism.model import Model
from shiftjax.run.assemblies.table import Branches
from tests.kinematics.mechanisms import LEGS, four_bar, three_legs

EXACT = 1e-12  # of angles in f64, lengths of about 1
AT = {f"slide_{k}": leg for k, leg in enumerate(LEGS)}
PLACED = {f"{joint}.initial_displacement": place for joint, place in AT.items()}


@pytest.fixture(scope="module")
def plate() -> Model:
    return three_legs()


@pytest.fixture(scope="module")
def table(plate: Model) -> Branches:
    return shiftjax.branches(plate, AT)


def test_every_start_is_the_row_of_its_name(plate: Model, table: Branches) -> None:
    rows, joints = table.of(0), ("base_0", "top_2")
    vary = {path: [place] * len(rows) for path, place in PLACED.items()}
    result = shiftjax.assemble(plate, vary=vary, branch=[*rows], channels=[f"{joint}.q" for joint in joints])
    assert not result.status.any() and result.settings["branch"] == [*rows]
    for joint in joints:
        wanted = np.array([q[f"a:{joint}"] for q in rows.values()])
        assert np.abs(np.exp(1j * result.channels[f"{joint}.q"][:, 0]) - np.exp(1j * wanted)).max() < EXACT
    name = [*rows][-1]
    alone = shiftjax.assemble(plate, assign=PLACED, branch=name, channels=["base_0.q"])
    assert alone.status == 0 and alone.settings["branch"] == name
    assert abs(alone.channels["base_0.q"][0] - result.channels["base_0.q"][-1, 0]) < EXACT


def test_names_follow_designs(plate: Model, table: Branches) -> None:
    """Each name is one smooth curve while a leg grows, to where two of opposite signs meet and no later one is called
    so; the names of a design are those that it has alone."""
    legs = np.linspace(2.4, 3.0, 61)
    along = shiftjax.branches(plate, {**AT, "slide_0": legs})
    names = np.array(along.names)
    assert {*names} == {*table.names} and along.real[0] == 6 and along.real[-1] == 4
    for name in table.names:
        rows = names == name
        assert list(along.member[rows]) == list(range(rows.sum()))  # from the first design on, without a hole
        curve = np.unwrap(along["base_0"][rows])
        # a curve of one pose bends by at most the square of a step, but next to the fold at its end
        assert np.abs(np.diff(curve, 2)[:-5]).max() < 5e-3
    alone = shiftjax.branches(plate, {**AT, "slide_0": legs[-1]})
    last = along.of(60)
    assert list(alone.names) == list(last)
    np.testing.assert_allclose(alone["base_0"], [q["a:base_0"] for q in last.values()], rtol=0.0, atol=1e-10)


def test_members_on_branches_of_their_own(plate: Model, table: Branches) -> None:
    """One name a member; a member without its branch does not begin, and its message has the names that it has."""
    legs = np.array([2.64, 2.64, 2.9, 2.9])
    others = {path: place for path, place in PLACED.items() if "slide_0" not in path}
    result = shiftjax.assemble(
        plate, assign=others, vary={"slide_0.initial_displacement": legs}, branch=["+++2", "-++3", "+++2", "+++1"],
        channels=["base_0.q"],
    )  # fmt: skip
    assert list(result.status) == [0, 0, 0, 1]
    assert "no branch '+++1'" in result.messages[3] and "'+++2', '+++3', '-++2', '-++3'" in result.messages[3]
    rows = {name: q["a:base_0"] for name, q in table.of(0).items()}
    np.testing.assert_allclose(result.channels["base_0.q"][:2, 0], [rows["+++2"], rows["-++3"]], rtol=0, atol=EXACT)
    assert result.settings["branch"] == ["+++2", "-++3", "+++2", "+++1"]


def test_paths_begin_on_a_branch_and_stay(plate: Model) -> None:
    drive = {joint: np.linspace(place, place + (0.3 if joint == "slide_0" else 0.0), 4) for joint, place in AT.items()}
    path = shiftjax.follow(plate, drive, branch="-++3", channels=["base_0.q"])
    here = shiftjax.branches(plate, {joint: places for joint, places in drive.items()})
    rows = [q["-++3"]["a:base_0"] for q in map(here.of, range(4))]
    np.testing.assert_allclose(path.channels["base_0.q"], rows, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["+-", "--"])
def test_runs_and_travels_begin_on_a_branch(name: str) -> None:
    """A four-bar on the branch that its file does not mean, too: noted, and its loop is closed all the way."""
    q = shiftjax.branches("four_bar", {"crank_pivot": 1.0}).of(0)[name]
    given = {"assign": {"crank_pivot.initial_displacement": 1.0}, "branch": name}
    run = shiftjax.simulate("four_bar", 0.05, channels=["rocker_pivot.q", "rocker_pin.q"], **given)
    assert run.status == 0 and run.certificate["gap"] < 1e-12
    assert abs(run.channels["rocker_pivot.q"][0] - q["four_bar:rocker_pivot"]) < EXACT
    assert (np.sign(run.channels["rocker_pin.q"]) == np.sign(q["four_bar:rocker_pin"])).all()
    noted = [note for note in run.notes if "is not kept on the branch that was asked for" in note]
    assert len(noted) == (name == "+-")  # the file states the other one
    assert travel("four_bar", "crank_pivot", **given).unlimited


def test_substructures_have_a_word_each() -> None:
    at = {"first_crank_pivot": 0.3, "second_crank_pivot": 0.4}
    both = shiftjax.branches("two_slider_cranks", at)
    assert len(both) == 4 and all(len(name.split()) == 2 for name in both.names)
    assign = {f"{joint}.initial_displacement": place for joint, place in at.items()}
    for name, q in both.of(0).items():
        start = shiftjax.assemble("two_slider_cranks", assign=assign, branch=name, channels=["first_guide.q"])
        assert abs(start.channels["first_guide.q"][0] - q["two_slider_cranks:first_guide"]) < EXACT


@pytest.mark.parametrize(
    ("branch", "text"),
    [
        ("++", r"'\+\+', which no member has; allowed: '\+-', '--'"),
        (3, "'3', which no member has"),
        (True, "the name of a branch, or one for each member"),
        (" ", "the name of a branch, or one for each member"),
        (["+-", "--"], "2 names; allowed: one for all, or one for each of 1"),
    ],
)
def test_refused_names(branch: object, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        shiftjax.assemble("four_bar", branch=branch)  # type: ignore[arg-type]


def test_refused_beside_other_starts() -> None:
    with pytest.raises(ModelError, match="with a start to go on from"):
        shiftjax.simulate("four_bar", 0.01, branch="+-", start=shiftjax.assemble("four_bar"))
    with pytest.raises(ModelError, match="with cut or cluster"):
        shiftjax.simulate("four_bar", 0.01, branch="+-", cluster=False)
    with pytest.raises(ModelError, match=r"branch: found a start that leaves 1 freedom among .* stated places"):
        shiftjax.assemble(four_bar(6.0, 2.0, 7.0, 9.0), branch="+-")


def test_studies_keep_the_branch(tmp_path: Path) -> None:
    """A study begins on its branch; a member of its store is simulated again on it, to the bit."""
    file, stored = tmp_path / "study.toml", str(tmp_path / "store.zarr")
    file.write_text(
        'model = "four_bar"\nkind = "follow"\nsamples = 3\nbranch = "+-"\nkeep = "none"\n[vary]\n'
        '"coupler:tip.T[0]" = "0.45:0.55~sobol"\n[drive]\ncrank_pivot = "0:0.5:4"\n[metrics]\n'
        'first = "value_at(rocker_pivot.q, 0)"\n'
    )
    assert main(["sweep", str(file), "--out", stored]) == 0
    study = Study(stored)
    first = study.table["first"].to_numpy()
    again = study.again(1, ["rocker_pivot.q"])
    assert again.settings["branch"] == "+-" and float(again.metrics["first"][0]) == first[1]
    assert (first < -1.0).all()  # the file's own branch has the rocker above the ground


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of two minus signs go through, too, which argparse takes for the end of options."""
    assert main(["branches", "four_bar", "--at", "crank_pivot=1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    table = shiftjax.branches("four_bar", {"crank_pivot": 1.0})
    assert [one["name"] for one in told["assemblies"]] == list(table.names) and told["complete"] == "proven"
    for k, name in enumerate(table.names):
        words = ["follow", "four_bar", "--drive", "crank_pivot=1:1.2:2", "--channel", "rocker_pivot.q", "--json"]
        assert main([*words, f"--branch={name}"]) == 0
        path = json.loads(capsys.readouterr().out)
        (channel,) = path["channels"].values()
        assert abs(np.ravel(channel)[0] - table["rocker_pivot"][k]) < EXACT
    assert main(["branches", "four_bar", "--at", "crank_pivot=1"]) == 0
    assert "crank_pin" in capsys.readouterr().out
    assert main(["run", "four_bar", "--span", "0.01", "--branch=++"]) == 2
    assert "which no member has; allowed: '+-', '--'" in capsys.readouterr().err


def test_a_member_without_any_assembly_is_told_so(plate: Model, table: Branches) -> None:
    rest = {path: place for path, place in PLACED.items() if not path.startswith("slide_0.")}
    legs = {"slide_0.initial_displacement": [LEGS[0], 50.0]}
    result = shiftjax.assemble(plate, vary=legs, assign=rest, branch=table.names[0])
    assert result.status[0] == 0 and result.status[1] > 0
    assert "no assembly of it closes where it begins: begin at another place" in result.messages[1]
