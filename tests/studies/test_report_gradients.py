"""`shiftjax report` of optimisations, and of studies whose slopes were taken."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.fisher_information import sizes
from shiftjax.ensembles.optimization.optima import at_bound, clusters, widths
from shiftjax.ensembles.optimization.optimize import optimize
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.report.html import number
from shiftjax.ensembles.report.slope_figures import ranked
from shiftjax.ensembles.sensitivities.slopes import sensitivity
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.errors import ModelError

for package in ("SALib", "matplotlib", "plotly"):
    pytest.importorskip(package)

LENGTH = "four_bar:coupler:tip.T[0]"


def words_of(page: Path) -> str:
    """The text of a page, without tags, pictures and scripts."""
    text = page.read_text(encoding="utf-8").replace("</b><span>", " ")  # of a card
    for block in ("script", "style", "svg"):
        text = re.sub(rf"<{block}\b.*?</{block}>", " ", text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", re.sub(r"</?(td|th|tr|p|h\d|li|div|section)\b[^>]*>", " ", text)).split())


def headings(page: Path) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Starts on a coupler whose reach is limited; couplers over 1.1 m do not close."""
    study = Definition(
        model="four_bar", span=0.1, step=2e-3, samples=4, hold=["crank_pivot"],
        vary={"coupler:tip.T[0]": "0.40:1.5~sobol", "rocker.mass": "0.5:2~sobol"},
        metrics={"reach": "maximum(coupler:tip.position[0])", "swing": "rms(rocker_pivot.v)"},
        optimize={"objective": "exp(-reach)", "constraints": ["reach <= 0.7", "swing >= 0"], "iterations": 30,
                  "method": "sqp", "parameters": ["coupler:tip.T[0]"], "constraint_tolerance": 1e-3},
    )  # fmt: skip
    return optimize(study, tmp_path_factory.mktemp("optimum") / "reach.zarr").path


def test_the_page_of_an_optimisation_says_what_the_store_holds(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    assert main(["report", str(store), "--out", str(page), "--png", str(tmp_path / "pictures")]) == 0
    found, words = Optimum(store), words_of(page)
    assert headings(page) == [
        "Summary", "What was asked", "Convergence", "Best design", "Constraints", "Optima", "Starts"
    ]  # fmt: skip
    best = found.best
    assert number(best.objective) in words and f"start {best.start}, the best" in words
    row = " ".join(number(v, 6) for v in (best.began[LENGTH], 0.4, 1.5, best.design[LENGTH]))
    assert f"coupler:tip.T[0] {row} m" in words
    for name in found.metrics:
        assert f"{name} {number(best.before[name], 6)} {number(best.metrics[name], 6)}" in words
    assert best.metrics["reach"] == pytest.approx(0.7, abs=2e-3)
    assert re.search(r"reach &lt;= 0\.7 \S+( × \S+)? met, active", words)
    assert re.search(r"swing &gt;= 0 .*?met, with room of", words)
    assert (found.evaluations["status"].values > 0).any() and "not_assembled: the loops of this design" in words
    assert len(list((tmp_path / "pictures").iterdir())) == 3
    again = tmp_path / "again.html"
    assert main(["report", str(store), "--out", str(again)]) == 0
    assert again.read_bytes() == page.read_bytes()


@pytest.mark.usefixtures("undrawn")
def test_starts_of_which_none_runs_are_told_with_their_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Couplers that are all too long, the model's own among them."""
    study = Definition(
        model="four_bar", span=0.02, samples=1, hold=["crank_pivot"], set={"rocker:tip.T[0]": 0.01},
        vary={"coupler:tip.T[0]": "1.5:1.6~sobol"}, metrics={"end": "final(rocker_pivot.q)"},
        optimize={"objective": "end", "iterations": 31, "constraints": ["end <= 1"]},
    )  # fmt: skip
    study_file.write(study, tmp_path / "study.toml")
    assert main(["optimize", str(tmp_path / "study.toml"), "--out", str(tmp_path / "none.zarr")]) == 3
    assert "no design that runs was found" in capsys.readouterr().out
    found = Optimum(tmp_path / "none.zarr")
    assert found.ending == ["infeasible"] and np.isinf(found.objective).all()
    assert np.isnan([*found.best.metrics.values()]).all()
    assert main(["report", str(tmp_path / "none.zarr"), "--out", str(tmp_path / "none.html")]) == 0
    words = words_of(tmp_path / "none.html")
    assert "1 infeasible" in words and "No start found a design that runs" in words
    assert "infeasible 30 30 not_assembled 30" in words


def test_an_optimisation_that_has_not_ended_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Definition(
        model="four_bar", span=0.02, samples=1, vary={"rocker.mass": "1:2~sobol"}, hold=["crank_pivot"],
        metrics={"end": "final(rocker_pivot.q)"}, optimize={"objective": "end", "iterations": 9},
    )  # fmt: skip

    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize(study, tmp_path / "cut.zarr", progress=stop)
    assert main(["report", str(tmp_path / "cut.zarr"), "--out", str(tmp_path / "cut.html")]) == 2
    assert "has not ended" in capsys.readouterr().err and not (tmp_path / "cut.html").exists()


def test_equal_designs_are_one_optimum_and_bounds_are_seen() -> None:
    low, high = np.array([0.0, -np.inf]), np.array([1.0, np.inf])
    numbers = np.array([[0.5, 10.0], [0.998, 20.0], [0.505, 10.05], [0.999, 20.0]])
    width = widths(low, high, numbers)
    assert width.tolist() == [1.0, 10.0]
    found = clusters(numbers, np.array([1, 0, 2, 3]), width)
    assert [group.starts for group in found] == [(1, 3), (0, 2)]
    assert clusters(numbers, np.array([2]), width)[0].starts == (2,)
    assert [at_bound(row, low, high, width).tolist() for row in numbers[:2]] == [[0, 0], [1, 0]]


def two_dampers() -> shiftjax.Model:
    """An arm whose pivot has two dampers: only the sum of their coefficients acts."""
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    a = builder.assembly("a")
    a.body("bob", mass=2.0, center_of_mass=(0.4, 0, 0), inertia=(0.01, 0.02, 0.03))
    a.joint("pivot", "Ry", child="bob", initial_displacement=0.5)
    for name in ("one", "two"):
        a.restraint(name, "damper", joint="pivot", coefficients=((0.1, 0.0),))
    return builder.build()


@pytest.mark.usefixtures("undrawn")
def test_what_measurements_cannot_tell_is_said_in_words(tmp_path: Path) -> None:
    """Two dampers of one joint: a change of one can be made up for by the other, and by nothing else."""
    one, two = "one.coefficients[0][0]", "two.coefficients[0][0]"
    study = Definition(
        model=two_dampers(), span=0.5, step=5e-3,
        vary={one: [0.1, 0.2], two: [0.1, 0.2], "bob.mass": [2.0]},
        metrics={"end": "final(pivot.q)", "speed": "rms(pivot.v)", "top": "maximum(pivot.v)"},
    )  # fmt: skip
    out = tmp_path / "slopes.zarr"
    sensitivity(study, out)
    page = tmp_path / "r.html"
    assert main(["report", str(out), "--out", str(page)]) == 0
    assert "Identifiability" in headings(page) and "is not stored" in words_of(page)
    words = ["sensitivity", str(out), "--sigma", "end=0.001", "--sigma", "speed=0.001", "--sigma", "top=0.001"]
    assert main(words) == 0
    assert main(["report", str(out), "--out", str(page), "--force"]) == 0
    said = re.search(r"Told worst.*?a change of (.*?) of their mean size moves no measured metric", words_of(page))
    assert said and sorted(re.findall(r"[\w.\[\]]+ by [+−][\d.]+ %", said[1])) == [
        f"{one} by +0.71 %", f"{two} by −0.71 %"
    ]  # fmt: skip
    found = sensitivity(out)
    with pytest.raises(ModelError, match="a number above 0"):
        found.measured({"end": 0.0})


@pytest.mark.usefixtures("undrawn")
def test_members_without_slopes_are_counted_with_the_reason(tmp_path: Path) -> None:
    study = Definition(
        model="four_bar", span=0.1, step=2e-3, hold=["crank_pivot"], vary={"coupler:tip.T[0]": [0.5, 0.52, 2.0]},
        metrics={"end": "final(rocker_pivot.q)", "swing": "rms(rocker_pivot.v)"},
    )  # fmt: skip
    found = sensitivity(study, tmp_path / "slopes.zarr")
    assert main(["report", str(tmp_path / "slopes.zarr"), "--out", str(tmp_path / "r.html")]) == 0
    words = words_of(tmp_path / "r.html")
    assert "Slopes" in headings(tmp_path / "r.html")
    assert "members because 1 the run ended early, not_assembled" in words
    effect = float(np.nanmedian(found.slopes[:, 0, 0]) * np.std([0.5, 0.52, 2.0]))
    assert number(effect, 3) in words


def test_numbers_are_ranked_by_the_size_of_their_effects() -> None:
    effects = np.array([[1.0, -3.0, np.nan], [-1.2, -2.0, np.nan]])
    assert ranked(effects) == [1, 0]
    assert sizes([np.array([-2.0, 4.0, np.nan]), np.zeros(2)]).tolist() == [3.0, 1.0]
