"""`view`, `render` and `export` as a user calls them, on a stored sweep and on a model."""

import argparse
import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import shiftjax
from shiftjax.cli import main, showing
from shiftjax.cli.commands import export, render, view
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.in_this_process import run_here
from tests.support.models.mechanisms import pendulum

SIZE = ("--size", "160x120", "--fast")
NOTHING = 3.0  # of 255: two pictures that differ less on average show the same


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Six four-bars with couplers of different length, four of them kept."""
    place = tmp_path_factory.mktemp("studies") / "sweep.zarr"
    words = ["sweep", "four_bar", "--vary", "four_bar:coupler:tip.T[0]=0.45:0.6:6", "--span", "0.5"]
    assert main([*words, "--output-step", "0.02", "--keep", "4", "--out", str(place)]) == 0
    return place


@pytest.fixture(autouse=True)
def run_in_this_process(request, monkeypatch):
    """Models that are opened, but for a test of the process that runs them elsewhere."""
    if request.function is not test_a_model_is_run_first:
        run_here(monkeypatch)


def picture(path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_a_still_shows_the_instant_asked_for(shell, sweep, tmp_path):
    for name, time in (("start", 0.0), ("again", 0.0), ("later", 0.4)):
        code, _, err = shell("render", sweep, "--time", time, "--out", tmp_path / f"{name}.png", *SIZE)
        assert code == 0, err
    start, again, later = (picture(tmp_path / f"{name}.png") for name in ("start", "again", "later"))
    assert start.shape == (120, 160, 3)
    np.testing.assert_array_equal(start, again)
    assert np.abs(start - later).mean() > 0.5, "the mechanism has moved"
    assert start.std() > 10, "something is to be seen"


def test_a_model_is_viewed_with_its_joints_driven():
    """As `run` drives them: the crank turns by the law of its drive."""
    parser = argparse.ArgumentParser()
    view.define(parser)
    words = ["four_bar", "--span", "0.5", "--drive", "crank_pivot=harmonic(amplitude=0.3, frequency=2)"]
    options = parser.parse_args(words)
    with opening.opened(options.study, showing.run_options(options)) as study:
        (driver,) = (item for _, item in study.model.drivers())
        assert driver.type == "harmonic" and driver.values["amplitude"] == 0.3
        poses = study.poses(0, np.array([0.0, 0.5]))[:, study.nodes.index("four_bar:crank"), 3:]
    turned = 2 * np.arccos(np.abs((poses[0] * poses[1]).sum()))
    assert turned == pytest.approx(0.3 * np.sin(2 * 0.5), abs=1e-6)


CHANGES = ("--set", "coupler.mass=2", "--derive", "rocker.mass=3*{coupler.mass}", "--hold", "rocker_pin")


@pytest.mark.parametrize("command", [view, render, export])
def test_a_model_is_shown_as_the_options_of_a_run_change_it(command):
    """Numbers set and derived; what is recorded can be plotted."""
    parser = argparse.ArgumentParser()
    command.define(parser)
    words = ["--channel", "rocker_pivot.q"] if command is view else []
    words += ["--out", "a.png"] if command is render else []
    options = parser.parse_args(["four_bar", "--span", "0.02", *CHANGES, *words])
    with opening.opened(options.study, showing.run_options(options)) as study:
        numbers = study.model.numbers()
        assert (numbers["four_bar:coupler.mass"], numbers["four_bar:rocker.mass"]) == (2.0, 6.0)
        assert study.settings["hold"] == ["rocker_pin"]
        assert ("rocker_pivot.q" in study.channels) == (command is view)


def test_a_live_run_is_changed_too(shell):
    parser = argparse.ArgumentParser()
    view.define(parser)
    live = view.live_of(parser.parse_args(["four_bar", "--live", *CHANGES[:4]]), ["coupler.mass"])
    assert live.values == {"four_bar:coupler.mass": 2.0, "four_bar:rocker.mass": 6.0}
    live.restart({"coupler.mass": 1.0})
    assert live.values["four_bar:rocker.mass"] == 3.0
    code, _, err = shell("view", "four_bar", "--live", *CHANGES[4:])
    assert code == 2 and "--hold: found with --live" in err


@pytest.mark.parametrize(
    "words",
    [
        ("--span", "2"),
        ("--span", "2", "--beside", "3"),
        CHANGES[:2],
        CHANGES[2:4],
        CHANGES[4:],
        ("--drive", "crank_pivot=1"),
    ],
)
@pytest.mark.parametrize("command", ["view", "render", "export"])
def test_what_changes_a_run_is_refused_of_a_stored_study(shell, sweep, tmp_path, command, words):
    """Each by its name, since the study has been run; beside another model, --span is that one's."""
    if command == "export":
        words = words[:2]
    more = {"view": (), "render": ("--out", tmp_path / "a.png"), "export": ("--glb", tmp_path / "a.glb")}[command]
    code, _, err = shell(command, sweep, *words, *more)
    assert code == 2 and f"{words[0]}: found with the stored study {sweep}; allowed: a model" in err
    if command == "export":
        code, _, err = shell(command, sweep, *words, "--csv", tmp_path / "a.csv")
        assert code == 2 and f"{words[0]}: found with --csv" in err and not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ("crank_pivot=harmonic(amplitud=1)", "--drive crank_pivot: found 'amplitud' in harmonic"),
        ("nix=1", "Look at `shiftjax run four_bar --drive nix=1`"),
    ],
)
def test_drives_of_a_view_that_cannot_be_are_refused(shell, drive, message):
    code, _, err = shell("view", "four_bar", "--drive", drive)
    assert code == 2 and message in err


def test_a_stored_study_is_not_driven(shell, sweep):
    code, _, err = shell("view", sweep, "--drive", "crank_pivot=1")
    assert code == 2 and f"--drive: found with the stored study {sweep}; allowed: a model" in err


def test_members_and_ghosts_change_the_picture(shell, sweep, tmp_path):
    shots = {"one": (), "worst": ("--member", "worst:1 of kept"), "ghosts": ("--ghosts", "kept")}
    shots["bare"] = ("--no-shadows",)
    for name, words in shots.items():
        code, _, err = shell("render", sweep, "--time", 0.4, "--out", tmp_path / f"{name}.png", *SIZE, *words)
        assert code == 0, err
    one = picture(tmp_path / "one.png")
    for name in ("ghosts", "bare"):
        assert np.abs(picture(tmp_path / f"{name}.png") - one).max() > NOTHING


def test_a_run_that_has_ended_is_marked(shell, tmp_path):
    """Driven past the end of its travel at 0.35 s: afterwards grey, with cause and remedy in the picture."""
    words = ["--drive", "rocker_pivot=constant_speed(speed=3)", "--span", 0.5, "--output-step", 0.02]
    code, _, _ = shell("run", "four_bar", *words, "--out", tmp_path / "run.zarr")
    assert code == 3
    shots = {}
    for name, time in (("moving", 0.3), ("ended", 0.45)):
        size = ("--size", "480x320", "--fast")
        code, _, err = shell("render", tmp_path / "run.zarr", "--time", time, "--out", tmp_path / f"{name}.png", *size)
        assert code == 0, err
        shots[name] = picture(tmp_path / f"{name}.png")
    letters = {name: (shot[:60] < 90).all(2).sum() for name, shot in shots.items()}
    assert letters["ended"] > 200 > 20 > letters["moving"]
    hue = {name: np.ptp(shot[60:], axis=2).max() for name, shot in shots.items()}
    assert hue["ended"] < 0.6 * hue["moving"], "no coloured body is left"


def test_of_two_instants_only_these_are_shown(shell, tmp_path):
    """Without an output step a run stores its ends; told when it is written and when it is drawn."""
    shiftjax.save(pendulum(initial_velocity=6.0), tmp_path / "pendulum.json")
    _, _, err = shell("run", tmp_path / "pendulum.json", "--span", 1, "--out", tmp_path / "run.zarr")
    assert "only the first and the last instant are stored: give --output-step" in err
    for name, time in (("start", 0.0), ("soon", 0.3)):
        code, _, err = shell("render", tmp_path / "run.zarr", "--time", time, "--out", tmp_path / f"{name}.png", *SIZE)
        assert code == 0 and "2 instants are stored and nothing between them is known" in err
    assert np.array_equal(picture(tmp_path / "start.png"), picture(tmp_path / "soon.png"))


def test_turns_that_may_be_others_are_told(shell, tmp_path):
    """A crank at 40 rad/s, seen every 50 ms: 2 rad a time."""
    words = ["--drive", "crank_pivot=40", "--span", 0.2, "--output-step", 0.05]
    shell("run", "four_bar", *words, "--out", tmp_path / "run.zarr")
    code, _, err = shell("render", tmp_path / "run.zarr", "--out", tmp_path / "a.png", *SIZE)
    assert code == 0 and "a body of member 0 turns by 115 degrees" in err and "--output-step" in err


def test_a_movie_of_a_sweep(shell, sweep, tmp_path):
    code, _, err = shell("render", sweep, "--out", tmp_path / "a.gif", "--fps", 10, *SIZE)
    assert code == 0, err
    with Image.open(tmp_path / "a.gif") as movie:
        assert getattr(movie, "n_frames", 1) == 6


def test_two_designs_beside_each_other(shell, sweep, tmp_path):
    """The right half is another member; a study beside itself is drawn twice. The camera frames both motions, so that
    the left half depends on what stands beside it.
    """
    for name, beside in (("other", "3"), ("same", f"{sweep}@0")):
        place = tmp_path / f"{name}.png"
        code, _, err = shell("render", sweep, "--time", 0.4, "--beside", beside, "--out", place,
                             "--size", "242x120", "--fast")  # fmt: skip
        assert code == 0, err
    other, same = (picture(tmp_path / f"{name}.png")[50:] for name in ("other", "same"))  # below the captions
    assert other.shape == (70, 242, 3)
    np.testing.assert_array_equal(same[:, :120], same[:, 122:])
    assert np.abs(other[:, 122:] - other[:, :120]).max() > NOTHING
    assert (other[:, 120:122] == 60).all(), "the bar between them"


def test_a_movie_beside_a_longer_run_lasts_as_long(shell, sweep, tmp_path):
    words = ("--beside", "pendulum", "--span", 1.0, "--fps", 10)
    code, _, err = shell("render", sweep, "--out", tmp_path / "a.gif", *words, *SIZE)
    assert code == 0, err
    with Image.open(tmp_path / "a.gif") as movie:
        assert getattr(movie, "n_frames", 1) == 11


def test_an_export_of_all_kinds(shell, sweep, tmp_path):
    """The COLLADA file is read as the model of the member that is drawn solid: M62."""
    targets = ("--glb", tmp_path / "a.glb", "--html", tmp_path / "a.html", "--dae", tmp_path / "a.dae")
    code, _, err = shell("export", sweep, *targets, "--member", "3", "--ghosts", "kept")
    assert code == 0, err
    study = ViewedStudy.open(sweep)
    again = shiftjax.load(tmp_path / "a.dae")
    assert again == study.model_of(3) != study.model_of(0)
    assert (tmp_path / "a.glb").read_bytes()[:4] == b"glTF"
    assert "<html" in (tmp_path / "a.html").read_text(encoding="utf-8").lower()


def test_a_model_is_run_first(shell, tmp_path):
    """In a process of its own."""
    code, _, err = shell("render", "pendulum", "--span", 0.2, "--out", tmp_path / "a.png", *SIZE)
    assert code == 0, err
    assert picture(tmp_path / "a.png").std() > 10


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--out", "a.avi"), "suffix"),
        (("--out", "a.png", "--time", "9"), "0 to 0.5"),
        (("--out", "a.png", "--member", "5000"), "5000"),
        (("--out", "a.png", "--member", "nonsense<"), "nonsense"),
        (("--out", "a.png", "--beside", "pendulumm"), "STUDY@CHOICE"),
        (("--out", "a.png", "--beside", "none.zarr@1"), "none.zarr"),
        (("--out", "a.png", "--beside", "pendulum@7"), "member"),
    ],
)
def test_bad_wishes_are_refused(shell, sweep, tmp_path, monkeypatch, words, found):
    monkeypatch.chdir(tmp_path)
    code, _, err = shell("render", sweep, *words, *SIZE)
    assert code == 2 and found in err and "Traceback" not in err, err
    assert not (tmp_path / "a.png").exists()


def test_export_wants_a_target(shell, sweep):
    code, _, err = shell("export", sweep)
    assert code == 2 and "--glb" in err


def test_f15_a_stored_study_is_drawn_without_jax(sweep, tmp_path):
    """The simulator is not loaded to look at a study."""
    code = (
        "import sys, json; from shiftjax.cli import main; "
        f"code = main(['render', {str(sweep)!r}, '--out', {str(tmp_path / 'a.png')!r}, '--size', '64x48', '--fast']); "
        "print(json.dumps([code, sorted(set(sys.modules) & {'jax', 'jaxlib', 'scipy.stats', 'glfw', 'imgui_bundle'})]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [0, []]


def test_doctor_says_what_there_is(shell):
    code, out, _ = shell("view", "--doctor")
    assert code == 0 and "OpenGL" in out and len(out.splitlines()) > 3


def test_instants_only(shell, sweep, tmp_path):
    """Between two stored instants the nearest one is drawn."""
    for name, words in {"near": ("0.4",), "moved": ("0.409",), "snapped": ("0.409", "--at-instants")}.items():
        code, _, err = shell("render", sweep, "--time", *words, "--out", tmp_path / f"{name}.png", *SIZE)
        assert code == 0 and "note" not in err, err
    near, moved, snapped = (picture(tmp_path / f"{name}.png") for name in ("near", "moved", "snapped"))
    assert np.array_equal(near, snapped) and np.abs(moved - near).max() > NOTHING
