"""Studies of travels: ends, dead points and turning margins as metrics, objectives and constraints. F8, S21, S31."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.cli.commands.check import outline
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.optimization.trail import trail
from shiftjax.ensembles.optimization.trail_process import run
from shiftjax.ensembles.report.content import content_of
from shiftjax.ensembles.report.sections import _facts
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.kinematics.ranges.travels import TravelFunction
from shiftjax.run.options import options_of
from tests.kinematics.mechanisms import four_bar

EXACT = 1e-12  # of closed forms: rounding of a few solved systems
GROUND, CRANK, COUPLER, ROCKER = 6.0, 2.0, 7.0, 9.0  # m: row 2 of kinematics
MODEL = four_bar(GROUND, CRANK, COUPLER, ROCKER)
PATHS = ("a:crank:tip.T[0]", "a:coupler:tip.T[0]")
METRICS = {
    "swing": {"of": "range(rocker_pivot)", "good": "large"},
    "inner": "at_high(rocker_pivot, crank_pivot)",
    "margin": "turning_margin(crank_pivot)",
    "share": "range(rocker_pivot) / 180 deg - 2 * low(rocker_pivot) / (1 deg * 360)",
}


def study(**more: Any) -> Definition:
    vary = {"crank:tip.T[0]": "1.8:2.2~sobol", "coupler:tip.T[0]": "6.5:7.5~sobol"}
    words: dict[str, Any] = {"kind": "travel", "vary": vary, "samples": 4, "metrics": METRICS, "keep": 2}
    return Definition(MODEL, **{**words, **more})


def closed_form(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """Of cranks a and couplers b: the rocker stops where crank and coupler lie in line (law of cosines)."""
    c, d = ROCKER, GROUND
    outer, inner = (np.arccos((c * c + d * d - r * r) / (2.0 * c * d)) for r in (b + a, b - a))
    return {
        "swing": outer - inner,
        "margin": np.minimum(b + c - a - d, d - a - np.abs(b - c)),
        "share": (outer - inner) / np.pi - (inner - np.pi) / np.pi,  # on the model's branch it hangs below
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> shiftjax.Study:
    return sweep(study(), tmp_path_factory.mktemp("travels") / "whole.zarr", shard=2)


def test_metrics_are_those_of_travel(whole: shiftjax.Study) -> None:
    """And of the closed form of the four-bar; a member of many is to the bit what it is alone."""
    table = whole.table
    a, b = (table[path].to_numpy() for path in PATHS)
    rocker = shiftjax.travel(MODEL, "rocker_pivot", vary=dict(zip(PATHS, (a, b), strict=True)))
    assert np.array_equal(table["swing"], rocker.high - rocker.low)
    assert np.array_equal(table["inner"], rocker.at_high["a:crank_pivot"])
    exact = closed_form(a, b)
    for name, values in exact.items():
        assert table[name].to_numpy() == pytest.approx(values, abs=EXACT)
    assert list(table["status"]) == ["ok"] * 4
    assert table.attrs["units"]["margin"] == "m" and table.attrs["units"]["inner"] == "rad"
    alone = shiftjax.travel(MODEL, "rocker_pivot", vary={path: x[3:4] for path, x in zip(PATHS, (a, b), strict=True)})
    assert alone.high[0] == rocker.high[3]
    assert np.array_equal(np.asarray(alone.turning_margin), np.asarray(rocker.turning_margin)[3:4])


def test_members_are_asked_again(whole: shiftjax.Study) -> None:
    (repeated,) = again(whole.path, [1, 3])
    assert repeated.differences == ("", "")
    assert whole.member(2).metrics["swing"][0] == whole.table["swing"][2]
    content = content_of(members_of(whole.xarray), whole.xarray, "four_bar", lambda *_: [], (False,) * 3)
    assert dict(_facts(content))["asked"] == "travels of a:rocker_pivot, a:crank_pivot"


def test_a_member_without_an_end_says_so() -> None:
    """Cranks beyond 2.5 m: Grashof's condition fails, and the crank rocks. Those below turn round."""
    lengths = [2.0, 2.4, 2.6, 3.0]
    metrics = {"reach": "high(crank_pivot)", "margin": "turning_margin(crank_pivot)"}
    some = sweep(study(vary={"crank:tip.T[0]": lengths, "coupler:tip.T[0]": [5.5]}, samples=None, metrics=metrics))
    assert list(some.table["status"]) == ["unlimited", "unlimited", "ok", "ok"]
    assert "a:crank_pivot has no high end: it turns round" in some.table["message"][0]
    reach = [np.arccos((a * a + GROUND**2 - (ROCKER - 5.5) ** 2) / (2 * a * GROUND)) for a in lengths[2:]]
    assert np.cos(some.table["reach"].to_numpy()[2:]) == pytest.approx(np.cos(reach), abs=1e-9)
    only = sweep(study(vary={"crank:tip.T[0]": lengths, "coupler:tip.T[0]": [5.5]}, samples=None,
                       metrics={"margin": metrics["margin"]}))  # fmt: skip
    assert only.table["margin"].to_numpy() == pytest.approx([0.5, 0.1, -0.1, -0.5], abs=EXACT)


def test_slopes_of_travels(whole: shiftjax.Study) -> None:
    """Forward and reverse those of the closed form; by differences within their errors."""
    # read at once: each direction takes the place of the one before in the store
    exact, reverse = (shiftjax.sensitivity(whole, direction=way, force=True).slopes for way in ("forward", "reverse"))
    assert exact.shape == (4, 4, 2) and np.isfinite(exact).all()
    assert reverse == pytest.approx(exact, abs=EXACT)
    at, h = [whole.table[path].to_numpy() for path in PATHS], 1e-4
    for k in range(2):
        above, below = (closed_form(*(x + sign * h * (j == k) for j, x in enumerate(at))) for sign in (1.0, -1.0))
        for name in above:
            slope = (above[name] - below[name]) / (2.0 * h)
            assert exact[:, [*METRICS].index(name), k] == pytest.approx(slope, abs=1e-7)  # h^2 of the third derivative
    one = sweep(study(vary={PATHS[0]: [2.0]}, samples=None, metrics={"inner": METRICS["inner"]}))
    slopes = {way: shiftjax.sensitivity(one, direction=way, force=True).slopes for way in ("forward", "differences")}
    assert slopes["differences"] == pytest.approx(slopes["forward"], abs=1e-6)


@pytest.fixture(scope="module")
def widest(tmp_path_factory: pytest.TempPathFactory) -> shiftjax.Optimum:
    vary = {"crank:tip.T[0]": "1:6~sobol", "coupler:tip.T[0]": "4:8.5~sobol"}
    wanted = {"objective": "-swing", "constraints": ["margin >= 1"], "iterations": 20}
    return shiftjax.optimize(
        study(vary=vary, samples=2, optimize=wanted), tmp_path_factory.mktemp("widest") / "widest.zarr"
    )


def test_the_widest_swing_of_a_crank_that_just_turns(widest: shiftjax.Optimum) -> None:
    """No design of a grid swings wider: the longest coupler, and a crank that d - a - (c - b) = 1 stops at 4.5."""
    best = widest.best
    assert best.excess < 1e-6
    assert [best.design[path] for path in PATHS] == pytest.approx([4.5, 8.5], abs=1e-5)
    a, b = np.meshgrid(np.linspace(1.0, 6.0, 301), np.linspace(4.0, 8.5, 301), indexing="ij")
    with np.errstate(invalid="ignore"):
        exact = closed_form(a, b)
    assert np.nanmax(np.where(exact["margin"] >= 1.0, exact["swing"], -np.inf)) < best.metrics["swing"] + 1e-5
    here = closed_form(*(np.array(best.design[path]) for path in PATHS))
    assert best.metrics["swing"] == pytest.approx(here["swing"], abs=EXACT)


def test_its_designs_are_looked_at_where_they_begin(widest: shiftjax.Optimum) -> None:
    rows = run(trail(widest.path))
    allowed = rows.metrics["objective"][rows.metrics["excess"] <= 1e-6]
    assert allowed.min() == pytest.approx(widest.best.objective, abs=1e-12)
    assert np.isfinite(rows.metrics["swing"]).all() and rows.poses["a:rocker"].shape[1:] == (1, 7)


def test_commands(tmp_path: Path, shell: Any) -> None:
    shiftjax.save(MODEL, tmp_path / "bars.json")
    words = study(optimize={"objective": "-swing", "iterations": 2})
    file = tmp_path / "swings.toml"
    study_file.write(Definition(str(tmp_path / "bars.json"), **{k: getattr(words, k) for k in (
        "kind", "vary", "samples", "metrics", "keep", "optimize")}), file)  # fmt: skip
    code, out, _ = shell("check", str(file))
    assert code == 0 and "at_high(rocker_pivot, crank_pivot)" in out
    code, out, _ = shell("sweep", str(file), "--out", str(tmp_path / "swings.zarr"))
    assert code == 0 and "turning" not in out and "margin" in out
    code, out, _ = shell("travel", str(tmp_path / "bars.json"), "crank_pivot", "rocker_pivot")
    assert code == 0 and "turning margin" in out and "none" in out
    code, _, err = shell("travel", str(tmp_path / "bars.json"), "rocker_pivot", "--set", "coupler:tip.T[0]=99")
    assert code == 3 and "do not close where it begins" in err


def test_slopes_of_where_a_joint_begins() -> None:
    """Of a joint that loops place, by lengths and by the joint that is stated; each way those of differences."""
    metrics = {"stands": "begin(rocker_pivot)", "turned": "begin(crank_pivot)", "high": "high(rocker_pivot)"}
    function = TravelFunction(MODEL, (*PATHS, "a:crank_pivot.initial_displacement"), options_of(metrics=metrics))
    x, h = np.array([[2.0, 7.0, 1.0]]), 1e-6
    moves = np.eye(3)[:, None]
    exact = function.tangent(x, moves)
    for k, move in enumerate(moves):
        assert exact[k] == pytest.approx(
            (function.run(x + h * move) - function.run(x - h * move)) / (2.0 * h), abs=1e-7
        )
    assert (np.abs(exact[:, :, 0]) > 1e-3).all() and exact[2, :, 1] == pytest.approx(1.0)
    back = function.adjoint(x, np.eye(4)[:, None])
    assert back.transpose(2, 1, 0) == pytest.approx(exact, abs=EXACT)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"metrics": {}}, 'metrics: found nothing, of kind "travel"'),
        ({"drive": {"crank_pivot": 3.0}}, 'Leave it out, or take kind = "follow"'),
        ({"span": 1.0}, 'span: found 1.0, of kind "travel"'),
        ({"optimize": {"residuals": ["swing"], "data": "a.csv"}}, "travels have no instants"),
    ],
)
def test_what_is_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        study(**words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maximum(rocker_pivot.q)", "maximum.*, of travels"),
        ("rocker_pivot", r"Write range\(rocker_pivot\)"),
        ("low(rocker_pivot, crank_pivot)", r"allowed: low\(joint\)"),
        ("at_low(rocker_pivot)", r"at_low\(joint, other joint\)"),
        ("2", "a call of begin"),
        ("low(rocker)", "rocker_pivot"),
        ("[low(rocker_pivot), high(rocker_pivot)]", "2 numbers"),
    ],
)
def test_what_is_no_metric_of_travels(text: str, message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        sweep(study(metrics={"m": text}))


def test_margins_are_of_four_bars() -> None:
    slider = Definition("slider_crank", kind="travel", metrics={"margin": "turning_margin(guide)"})
    with pytest.raises(shiftjax.ModelError, match="a planar loop of four joints that turn"):
        sweep(slider)
    with pytest.raises(shiftjax.ModelError, match="a planar loop of four joints that turn"):
        outline(slider)
    elsewhere = Definition(MODEL, kind="travel", metrics={"m": "at_low(rocker_pivot, rocker_pivot)"})
    assert list(sweep(elsewhere).table["status"]) == ["ok"]
