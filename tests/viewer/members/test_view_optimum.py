"""An optimisation in the viewer: designs by iteration are members of a study, first and last side by side."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from shiftjax.cli import main
from shiftjax.ensembles.optimization import trail_process
from shiftjax.ensembles.optimization.optimize import DescentProgress, optimize
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.optimization.trail import COLUMNS, simulated, trail
from shiftjax.ensembles.store import store
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError
from shiftjax.viewer.gui.actions.members import choosing, grid
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.design_views import captions
from shiftjax.viewer.study.member_scenes import MemberScenes

PATHS = ["four_bar:coupler:tip.T[0]", "four_bar:rocker.mass"]
FRAMES = 1e-9  # m, of what two designs' poses differ by where they are the same


def arm(**optimize: object) -> Definition:
    """A four-bar whose swing depends on its coupler; its rocker's mass is varied, too, but not improved."""
    words = {"objective": "swing", "iterations": 3, "starts": 2, "parameters": ["coupler:tip.T[0]"]}
    return Definition(
        model="four_bar", span=0.2, step=2e-3, seed=4, drive={"crank_pivot": 3.0},
        vary={"coupler:tip.T[0]": "0.45:0.55~sobol", "rocker.mass": "0.5:2~sobol"},
        metrics={"swing": "peak_to_peak(rocker_pivot.q)"}, optimize={**words, "learning_rate": 0.5, **optimize},
    )  # fmt: skip


@pytest.fixture(scope="module")
def optimum(tmp_path_factory: pytest.TempPathFactory) -> Optimum:
    return optimize(arm(), tmp_path_factory.mktemp("optimum") / "arm.zarr")


@pytest.fixture(scope="module")
def announced() -> list[float]:
    """What share of the designs is said to be simulated while `opened` is made."""
    return []


@pytest.fixture(scope="module")
def opened(optimum: Optimum, announced: list[float]) -> Iterator[StudyLike]:
    """It in the viewer: a process simulates its designs."""
    with opening.opened(str(optimum.path), tell=announced.append) as study:
        yield study


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The designs of a store and a start, simulated in this process, once each."""
    made: dict[tuple[str, str], Path] = {}

    def simulated_here(place: str, start: str) -> Path:
        if (place, start) not in made:
            target = tmp_path_factory.mktemp("designs") / "designs.zarr"
            made[place, start] = store.write(trail_process.run(trail(place, start=start)), target)
        return made[place, start]

    return simulated_here


@pytest.fixture
def in_this_process(stores: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what designs are, not of the process that simulates them: it takes 2.8 s of processor time."""

    @contextmanager
    def simulated_here(
        place: str, tell: Callable[[float], None] = lambda done: None, start: str = ""
    ) -> Iterator[Path]:
        tell(1.0)
        yield stores(str(place), start)

    monkeypatch.setattr("shiftjax.ensembles.optimization.trail.simulated", simulated_here)


def test_members_are_the_designs_of_the_best_start(optimum: Optimum, opened: StudyLike, announced: list[float]) -> None:
    """Their numbers are the rows of the history, their metrics come out as the optimisation saw them, bit by bit."""
    study, history, best = opened, optimum.history, optimum.best.start
    assert study.members == 3 and study.where == str(optimum.path) and list(study.kept) == [0, 1, 2]
    assert set(study.metrics["start"]) == {best}
    rows = history["numbers"].values[:, best]
    np.testing.assert_array_equal(study.design[PATHS[0]], rows[:, 0])
    assert len({*study.design[PATHS[1]]}) == 1, "it was drawn and not changed"
    for name in ("objective", "excess", "gradient_norm"):
        np.testing.assert_array_equal(study.metrics[name], history[name].values[:, best])
    np.testing.assert_array_equal(study.metrics["swing"], study.metrics["objective"])
    np.testing.assert_array_equal(study.metrics["iteration"], [0.0, 1.0, 2.0])
    first, last = study.poses(0, 0.2), study.poses(2, 0.2)
    moved = np.abs(first - last).max()
    expected = rows[2, 0] - rows[0, 0]
    assert moved > 0.1 * abs(expected) > FRAMES
    assert len(study.time) >= 11 and study.time[-1] == pytest.approx(0.2)
    assert study.choose("best:1:objective").tolist() == [int(np.argmin(study.metrics["objective"]))]
    assert study.title(2) == f"iteration 2, objective {history['objective'].values[2, best]:.4g}"
    assert announced[-1] == 1.0 and announced == sorted(announced)


def test_the_best_start_is_that_of_the_optimum(optimum: Optimum) -> None:
    found = trail(optimum.path)
    assert set(found.columns["start"]) == {optimum.best.start}
    assert np.min(found.columns["objective"]) == optimum.best.objective


@pytest.mark.usefixtures("in_this_process")
def test_designs_of_another_start_and_of_all(optimum: Optimum) -> None:
    """Of all the best design each, the best first; a start that is not there is refused, so is one of a plain study."""
    history, best = optimum.history, optimum.best.start
    other = trail(optimum.path, start=str(1 - best))
    assert set(other.columns["start"]) == {1 - best}
    np.testing.assert_array_equal(other.columns["objective"], history["objective"].values[:, 1 - best])
    with opening.opened(str(optimum.path), start="all") as study:
        np.testing.assert_array_equal(study.metrics["start"], [best, 1 - best])
        np.testing.assert_array_equal(study.metrics["objective"], history["objective"].values.min(0)[[best, 1 - best]])
        np.testing.assert_array_equal(study.metrics["swing"], study.metrics["objective"])
        masses = study.design[PATHS[1]]
        assert masses[0] != masses[1], "each start has the numbers that were drawn for it"
        assert study.title(1).startswith(f"start {1 - best}, iteration ")
    for wrong in ("2", "first"):
        with pytest.raises(ModelError, match="0 to 1, or all"):
            trail(optimum.path, start=wrong)
    with pytest.raises(ModelError, match="optimisation"), opening.opened("four_bar", start="all"):
        pass


def test_a_grid_and_captions_tell_iteration_and_objective(opened: StudyLike) -> None:
    study = opened
    scenes = MemberScenes(study)
    state = WindowState(MemberScenes(study, scenes.first))
    choosing.choose(state, "all")
    grid.toggle(state)
    assert state.explorer.cells == (0, 1, 2)
    labels = [grid.lines(state, half)[0] for half in grid.halves_of(state)]
    assert labels == [study.title(k) for k in range(3)]
    assert grid.members_for(state, 2) == [0, 2], "first and last of more than there is room for"
    choosing.choose(state, "worst:3:iteration")
    assert grid.members_for(state, 2) == [2, 1], "ranked"
    one, other = Design(scenes, 0), Design(scenes, 2)
    lines = captions(one, other)
    assert lines[0].endswith(study.title(0)) and any("coupler:tip.T[0]" in line for line in lines[1:])


@pytest.mark.usefixtures("in_this_process")
def test_first_and_last_are_drawn_side_by_side(
    optimum: Optimum, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--time", "0.1", "--size", "640x240", "--fast")
    words = ["render", str(optimum.path), *more]
    assert main([*words, "--out", str(tmp_path / "both.png")]) == 0, capsys.readouterr().err
    assert f"simulating the designs of {optimum.path}" in capsys.readouterr().err
    assert main([*words, "--beside", "2", "--out", str(tmp_path / "said.png")]) == 0
    assert main([*words, "--member", "2", "--out", str(tmp_path / "last.png")]) == 0
    both, said, last = (
        np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB")).astype(int) for name in ("both", "said", "last")
    )
    np.testing.assert_array_equal(both, said)
    assert np.abs(both - last).mean() > 1.0, "one design fills the picture"
    assert both[:, :300].std() > 10 and both[:, 340:].std() > 10, "a mechanism in each half"


@pytest.mark.usefixtures("in_this_process")
def test_export_writes_table_and_motion(optimum: Optimum, tmp_path: Path) -> None:
    table, motion = tmp_path / "a.csv", tmp_path / "a.glb"
    words = ["export", str(optimum.path), "--member", "best:1:objective", "--csv", str(table), "--glb", str(motion)]
    assert main(words) == 0
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    assert len(rows) == 3 and all(name in header for name in (*COLUMNS, "coupler:tip.T[0]"))
    assert motion.stat().st_size > 1000


@pytest.mark.usefixtures("in_this_process")
def test_an_optimisation_that_was_stopped_opens_with_what_it_has(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(progress: DescentProgress) -> None:
        if progress.iteration == 2:
            raise Stop

    place = tmp_path / "stopped.zarr"
    with pytest.raises(Stop):
        optimize(arm(), place, progress=stop)
    with opening.opened(str(place)) as study:
        assert list(study.metrics["iteration"]) == [0.0, 1.0]


def test_many_designs_are_thinned_and_the_best_stays(optimum: Optimum, monkeypatch: pytest.MonkeyPatch) -> None:
    """A history of 200 iterations, of which 90 to 99 stand still, the best is the 118th."""
    count = 200
    numbers = np.linspace(0.46, 0.54, count)[:, None, None]
    numbers[91:100] = numbers[90]
    objective = np.abs(np.arange(count) - 118.0)[:, None]
    none = np.zeros((count, 1))
    arrays = {"numbers": numbers, "objective": objective, "excess": none, "gradient_norm": none, "halved": none}
    seen = xr.Dataset({name: (("iteration", "start", "x")[: a.ndim], a) for name, a in arrays.items()})
    monkeypatch.setattr("shiftjax.ensembles.optimization.iterates.Iterates.dataset", lambda self, group: seen)
    iterations = trail(optimum.path).columns["iteration"]
    assert len(iterations) == 64 and {0, 118, 199} <= {*iterations} and not {*range(91, 100)} & {*iterations}
    assert np.diff(iterations).max() <= 13 and (np.diff(iterations) > 0).all()
    arrays["objective"][:] = np.inf
    with pytest.raises(ModelError, match="without a design that runs"):
        trail(optimum.path)


def test_what_the_process_says_is_wrong_is_said_here(optimum: Optimum, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no optimisation"), simulated(tmp_path / "nothing.zarr"):
        pass


@pytest.mark.usefixtures("in_this_process")
def test_a_metric_of_the_same_name_stays(tmp_path: Path) -> None:
    study = Definition(
        model="four_bar", span=0.1, step=2e-3, samples=1, vary={"coupler:tip.T[0]": "0.45:0.55~sobol"},
        metrics={"objective": "maximum(rocker_pivot.q)"}, drive={"crank_pivot": 3.0},
        optimize={"objective": "2 * objective", "iterations": 2},
    )  # fmt: skip
    optimize(study, tmp_path / "named.zarr")
    with opening.opened(str(tmp_path / "named.zarr")) as found:
        doubled = found.metrics["optimize.objective"]
        np.testing.assert_array_equal(doubled, 2 * found.metrics["objective"])
        assert found.title(0) == f"iteration 0, objective {doubled[0]:.4g}"


def test_the_viewer_stays_without_jax(optimum: Optimum) -> None:
    text = (
        "import sys\nfrom shiftjax.viewer.study import opening\n"
        f"with opening.opened({str(optimum.path)!r}) as study:\n    study.poses(0, 0.1)\n"
        "assert 'jax' not in sys.modules\nprint(study.members)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "3", done.stderr
