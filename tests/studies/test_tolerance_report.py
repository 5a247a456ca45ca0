"""The report of a tolerance study: moments, share outside limits, Cpk, worst case; digits follow the spread."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.report.capability import capability, scatter, stack, straight_fit
from shiftjax.ensembles.report.html import precise
from shiftjax.ensembles.sensitivities.slopes import sensitivity
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study.definition import Definition
from shiftjax.run.results.plain_values import digits_to_tell

for package in ("SALib", "matplotlib", "plotly"):
    pytest.importorskip(package)

EXACT = 1e-12
COVERED = 0.02  # 2 000 samples: three standard deviations of a share of 95 % are 0.015
THIRD = 5e-3  # of a deviation: the spread of the values, some five of them, is shown to three digits
STRAIGHT = 0.01  # part of a deviation: tolerances of a thousandth bend the metric by less than this
MEMBERS = 200
LENGTHS = ("coupler:tip.T[0]", "rocker:tip.T[0]")
NOMINAL, SIGMA = (0.5, 0.4), (1e-4, 2e-4)  # m


def of_moments(mean: float, deviation: float, count: int = 500) -> np.ndarray:
    """Values of that mean and standard deviation exactly."""
    values = np.random.default_rng(2).normal(size=count)
    return mean + deviation * (values - values.mean()) / values.std(ddof=1)


def test_capability_of_the_textbook() -> None:
    """Montgomery's flow width of a resist: 1.5056 and 0.1398 micrometres between 1.00 and 2.00, Cp 1.192, 0.035 %."""
    of = capability(of_moments(1.5056, 0.1398), (1.0, 2.0))
    assert round(of.cp, 3) == 1.192 and round(of.normal_share, 5) == 0.00035
    assert of.cpk == pytest.approx((2.0 - 1.5056) / (3 * 0.1398), rel=EXACT)


def test_one_limit_and_no_spread() -> None:
    values = of_moments(3.0, 0.5)
    one = capability(values, (-np.inf, 4.0))
    assert np.isnan(one.cp) and one.cpk == pytest.approx(2.0 / 3.0, rel=EXACT) and one.below == 0
    assert (one.above, one.share) == (int((values > 4.0).sum()), float((values > 4.0).mean()))
    still = capability(np.full(9, 0.1), (0.0, 1.0))
    assert (still.cpk, still.share, still.normal_share) == (np.inf, 0.0, 0.0)
    assert capability(np.full(9, 2.0), (0.0, 1.0)).cpk == -np.inf


def test_intervals_hold_what_they_say() -> None:
    for outside in (0, 1, 7):
        values = np.r_[np.full(outside, 9.0), np.linspace(0.0, 1.0, 60 - outside)]
        span = binomtest(outside, 60).proportion_ci(method="wilson")
        assert capability(values, (-1.0, 2.0)).share_range == pytest.approx((span.low, span.high), abs=EXACT)
    rng, true = np.random.default_rng(5), 1.2
    samples = rng.normal(size=(2000, 50))
    spans = np.array([capability(sample, (-3.0 * true, 9.0)).cpk_range for sample in samples])
    assert abs(float(((spans[:, 0] < true) & (true < spans[:, 1])).mean()) - 0.95) < COVERED


def test_a_straight_metric_has_its_worst_case() -> None:
    rng = np.random.default_rng(3)
    slopes, half = np.array([3.0, -2.0]), np.array([0.1, 0.4])
    x = np.array([1.0, 5.0]) + half * rng.uniform(-1, 1, (4000, 2))
    y = 7.0 + x @ slopes
    made = straight_fit(x, y)
    assert made is not None
    fitted, share, mean = made
    np.testing.assert_allclose(fitted, slopes, rtol=EXACT)
    covariance = np.cov(x.T)
    of = stack(mean, fitted, np.array([1.0, 5.0]) - x.mean(0), half, covariance)
    assert share == pytest.approx(1.0, abs=EXACT) and of.middle == pytest.approx(0.0, abs=1e-10)
    assert of.reach == pytest.approx(0.3 + 0.8, rel=EXACT)
    assert of.deviation == pytest.approx(scatter(y).deviation, rel=EXACT)  # the covariance of the same sample
    assert of.parts == pytest.approx(slopes**2 * np.diag(covariance) / (slopes**2 @ np.diag(covariance)), rel=EXACT)
    assert straight_fit(x[:3], y[:3]) is None and straight_fit(np.c_[x, x[:, 0]], y) is None


def test_digits_follow_the_spread() -> None:
    """0.4898 to 0.49 hid a spread of a quarter of a millimetre."""
    values = np.array([0.489752, 0.49, 0.489876])
    assert digits_to_tell(values, 4) == 6
    assert [precise(v, 6) for v in values] == ["0.489752", "0.490000", "0.489876"]
    assert digits_to_tell(np.array([0.1, 0.7]), 4) == 4 and digits_to_tell(np.array([1000.0, 1001.0]), 4) == 4
    assert digits_to_tell(np.array([0.3, 0.1 + 0.2]), 4) == 4  # rounding is no spread
    assert digits_to_tell(np.array([np.nan, np.inf, 2.5]), 6) == 6 and digits_to_tell(np.zeros(0), 6) == 6
    assert precise(12.0, 4) == "12" and precise(0.1, 5, 5) == "0.1"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    laws = {path: f"{mean}:{sd}~normal" for path, mean, sd in zip(LENGTHS, NOMINAL, SIGMA, strict=True)}
    reach = {"of": "maximum(coupler:tip.position[0])", "limits": ["0 mm", "600 mm"]}
    definition = Definition(
        "four_bar", vary=laws, samples=MEMBERS, seed=3, span=0.05, step=0.01, metrics={"reach": reach}
    )
    return sweep(definition, tmp_path_factory.mktemp("study") / "reach.zarr")


def cells(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table after a heading, as text."""
    table = page.split(f"<h3>{heading}</h3>")[1].split("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
    return [[unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", r)] for r in rows]


def plain(cell: str) -> float:
    """The number of a cell."""
    raised = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    return float(cell.replace(" × 10", "e").replace("−", "-").translate(raised))


def test_the_section_tells_what_the_members_came_to(study: Study, tmp_path: Path) -> None:
    values = study.table["reach"].to_numpy(float)
    page = study.report(tmp_path / "reach.html").read_text(encoding="utf-8")
    head, row = cells(page, "Scatter")
    told_of = dict(zip(head, row, strict=True))
    assert plain(told_of["mean"]) == pytest.approx(values.mean(), abs=THIRD * values.std())
    assert plain(told_of["standard deviation"]) == pytest.approx(values.std(ddof=1), rel=1e-2)
    assert plain(told_of["5 %"]) == pytest.approx(np.quantile(values, 0.05), abs=THIRD * values.std())
    limits = dict(zip(*cells(page, "Limits"), strict=True))
    of = capability(values, (0.0, 0.6))
    assert plain(limits["Cpk"]) == pytest.approx(of.cpk, rel=1e-2) and limits["below"] == str(of.below)
    assert "straight fit" in page


@pytest.mark.usefixtures("undrawn")
def test_the_worst_case_is_that_of_the_slopes(study: Study, tmp_path: Path) -> None:
    """By derivatives of the runs, and beside Monte Carlo, which agrees where tolerances are small."""
    slopes = sensitivity(study).xarray["slope"].values[:, 0]
    expected = np.abs(slopes).mean(0) @ (3.0 * np.array(SIGMA))
    page = study.report(tmp_path / "slopes.html").read_text(encoding="utf-8")
    row = dict(zip(*cells(page, "Worst case"), strict=True))
    assert "derivatives at member" in page
    assert plain(row["± at worst"]) == pytest.approx(expected, rel=STRAIGHT)
    assert plain(row["deviation, straight"]) == pytest.approx(plain(row["deviation, seen"]), rel=STRAIGHT)
    values = study.table["reach"].to_numpy(float)
    assert plain(row["in the middle"]) == pytest.approx(values.mean(), abs=0.2 * values.std())


@pytest.mark.usefixtures("undrawn")
def test_a_study_without_scatter_and_limits_has_no_such_section(tmp_path: Path) -> None:
    metrics = {"reach": "maximum(coupler:tip.position[0])"}
    words = {"span": 0.05, "step": 0.01, "metrics": metrics}
    plain_study = sweep(Definition("four_bar", vary={LENGTHS[0]: "0.49:0.51:5"}, **words), tmp_path / "grid.zarr")
    page = plain_study.report(tmp_path / "grid.html").read_text(encoding="utf-8")
    assert "Tolerances</h2>" not in page and "Metrics</h2>" in page
