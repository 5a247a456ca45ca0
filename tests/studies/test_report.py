"""`shiftjax report`: the indices are right, the regions are right, the page is whole, alone and always the same."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.stats import qmc

from shiftjax.cli import main
from shiftjax.ensembles.report import effects, influences, regions, surrogate, write
from shiftjax.ensembles.report.html import exact, number
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.members import Column, Members, members_of
from shiftjax.formats.files import load
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.assemble import assemble
from shiftjax.run.simulate import simulate

for package in ("SALib", "matplotlib", "plotly"):
    pytest.importorskip(package)

A, B = 7.0, 0.1  # of the Ishigami function, whose indices are known in closed form
V1 = 0.5 * (1.0 + B * np.pi**4 / 5.0) ** 2
V2 = A**2 / 8.0
V13 = B**2 * np.pi**8 * 8.0 / 225.0
FIRST = np.array([V1, V2, 0.0]) / (V1 + V2 + V13)
TOTAL = np.array([V1 + V13, V2, V13]) / (V1 + V2 + V13)
BY_POLYNOMIAL = 2e-3  # of 1024 members; 1e-4 was seen
BY_SALTELLI = 0.02  # of 1024 rows of a Sobol sequence; 5e-3 was seen
BY_RBD = 0.1  # of 1000 members: bootstrapped intervals are about as wide
LIMIT = 1.1  # m: 0.2 + 0.5 + 0.4, the other lengths of the four-bar; no longer coupler closes it
MEMBERS = 160


def ishigami(x: np.ndarray) -> np.ndarray:
    return np.sin(x[:, 0]) + A * np.sin(x[:, 1]) ** 2 + B * x[:, 2] ** 4 * np.sin(x[:, 0])


def uniform(count: int, numbers: int = 3) -> np.ndarray:
    return (2.0 * qmc.Sobol(numbers, rng=np.random.default_rng(1)).random(count) - 1.0) * np.pi


def test_indices_of_the_ishigami_function_from_any_sample() -> None:
    x = uniform(1024)
    found = influences.indices(x, ishigami(x))
    assert found is not None and "polynomial" in found.method
    np.testing.assert_allclose(found.first, FIRST, atol=BY_POLYNOMIAL)
    np.testing.assert_allclose(found.total, TOTAL, atol=BY_POLYNOMIAL)


def test_few_members_have_wide_intervals_that_hold_the_truth() -> None:
    x = uniform(256)
    found = influences.indices(x, ishigami(x))
    assert found is not None
    for truth, span in ((FIRST, found.first_range), (TOTAL, found.total_range)):
        assert (span[:2, 0] <= truth[:2]).all() and (truth[:2] <= span[:2, 1]).all()
        assert (span[:2, 1] - span[:2, 0] > 10 * BY_POLYNOMIAL).all()


@pytest.mark.parametrize("second", [True, False])
def test_a_saltelli_design_is_known_as_one(second: bool) -> None:
    from SALib.sample import sobol

    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[-np.pi, np.pi]] * 3}
    x = sobol.sample(problem, 1024, calc_second_order=second, seed=1)
    assert influences.saltelli(x) is second
    found = influences.indices(x, ishigami(x))
    assert found is not None and found.method.startswith("Saltelli's estimators")
    np.testing.assert_allclose(found.first, FIRST, atol=BY_SALTELLI)
    np.testing.assert_allclose(found.total, TOTAL, atol=BY_SALTELLI)
    assert (found.first_range[:, 0] <= FIRST).all() and (FIRST <= found.first_range[:, 1]).all()
    shuffled = np.random.default_rng(0).permutation(len(x))
    assert influences.saltelli(x[shuffled]) is None and influences.saltelli(uniform(1024)) is None
    other = influences.indices(x, ishigami(x), whole=False)
    assert other is not None and "polynomial" in other.method


def test_what_no_polynomial_follows_has_first_order_indices_only() -> None:
    x = np.random.default_rng(3).random((1000, 3))
    y = np.sign(np.sin(40.0 * x[:, 0])) + 2.0 * (x[:, 1] > 0.5)  # variances 1 and 1
    found = influences.indices(x, y)
    assert found is not None and "RBD-FAST" in found.method and "first order only" in found.method
    np.testing.assert_allclose(found.first[1:], [0.5, 0.0], atol=BY_RBD)
    assert np.isnan(found.total).all()


def test_indices_of_grids_and_other_distributions() -> None:
    """The terms are orthonormal over whatever values a number takes: y = a + b^2 has variances 1 and 2 for normals."""
    rng = np.random.default_rng(0)
    levels = np.array(np.meshgrid(np.arange(5.0), np.arange(4.0), [0.0, 1.0])).reshape(3, -1).T
    y = levels[:, 0] + 2.0 * levels[:, 1] * levels[:, 2]
    found = influences.indices(levels, y)
    parts = np.array([2.0, 4 * 1.25 * 0.25, 4 * 2.25 * 0.25, 4 * 1.25 * 0.25])  # 1, 2, 3, 2 with 3
    assert found is not None
    np.testing.assert_allclose(found.first, parts[:3] / parts.sum(), atol=1e-6)
    np.testing.assert_allclose(found.total, (parts[:3] + parts[3] * np.array([0.0, 1.0, 1.0])) / parts.sum(), atol=1e-6)
    x = rng.normal(size=(4000, 2))
    found = influences.indices(x, x[:, 0] + x[:, 1] ** 2)
    assert found is not None
    np.testing.assert_allclose(found.first, [1 / 3, 2 / 3], atol=0.05)  # of 4000 members: 1/sqrt(4000) = 0.016


def test_too_few_members_or_a_constant_metric_have_no_indices() -> None:
    x = uniform(1024)
    assert influences.indices(x[:20], ishigami(x[:20])) is None
    assert influences.indices(x, np.full(len(x), 3.0)) is None
    assert surrogate.fit(x[:5, :1], x[:5, 0]) is None
    assert influences.percent(0.99999) == "over 99.9 %" and influences.percent(0.5) == "50 %"


def test_effects_of_a_known_function() -> None:
    x = np.linspace(0.0, 1.0, 1201)[1:]
    found = effects.curve(x, 3.0 * x)
    np.testing.assert_allclose(found.mean, 3.0 * found.place, rtol=1e-12)
    assert len(found.place) == effects.CLASSES
    levels = effects.curve(np.array([1.0, 2.0, 1.0, 2.0]), np.array([1.0, 5.0, 3.0, 7.0]))
    assert levels.mean.tolist() == [2.0, 6.0] and levels.error.tolist() == [1.0, 1.0]
    swing = effects.swing(x, x**2)
    assert swing.low < 0.01 and swing.high > 0.9 and swing.mean == pytest.approx(1 / 3, abs=1e-3)
    r = effects.spearman([x, np.exp(x), -x, np.zeros(len(x)), np.where(x < 0.5, np.nan, x)])
    np.testing.assert_allclose(r[0, [0, 1, 2, 4]], [1, 1, -1, 1], rtol=1e-12)
    assert np.isnan(r[0, 3])


def columns(**values: np.ndarray) -> tuple[Column, ...]:
    return tuple(Column(name, "design", "m", np.asarray(v, float)) for name, v in values.items())


def test_a_region_is_found_and_said_with_few_digits() -> None:
    rng = np.random.default_rng(5)
    a, b, c = rng.random((3, 500))
    inside = (a < 0.3) & (b > 0.6)
    found = regions.region(columns(c=c, b=b, a=a), np.flatnonzero(inside), np.flatnonzero(~inside))
    assert {(k.column.name, k.below) for k in found.conditions} == {("a", True), ("b", False)}
    assert (found.inside, found.others) == (int(inside.sum()), 0)
    for condition in found.conditions:
        assert abs(condition.limit - (0.3 if condition.below else 0.6)) < 0.02  # 500 members: neighbours are so far
        assert len(f"{condition.limit!r}") <= 6


def test_chance_is_no_region() -> None:
    rng = np.random.default_rng(6)
    design = columns(**{f"x{k}": rng.random(300) for k in range(6)})
    for count in (1, 3, 20, 100):
        found = regions.region(design, np.arange(count), np.arange(count, 300))
        assert not found.conditions, (count, found.conditions)


def test_causes_are_equal_up_to_their_numbers_and_failures_come_first() -> None:
    status = np.array([0, Outcome.not_assembled, Outcome.not_assembled, Outcome.inaccurate, Outcome.stuck])
    messages = np.array(["", "joint b2 stays open by 0.31 m: x", "joint b2 stays open by 1e-3 m: x", "", ""], object)
    found = regions.groups(Members(np.arange(5), (), status.astype(np.int64), messages))
    assert [(g.outcome, g.rows.tolist()) for g in found] == [
        (Outcome.not_assembled, [1, 2]), (Outcome.stuck, [4]), (Outcome.inaccurate, [3])
    ]  # fmt: skip
    assert found[0].cause == "joint b2 stays open by # m: x" and "0.31" in found[0].example


def test_the_shortest_number_between_two() -> None:
    assert regions.between(0.4188, 0.4213) == 0.42
    assert regions.between(-2.0, 5.0) == 1.5
    low = np.nextafter(1.0, 2.0)
    assert low < regions.between(low, low + 1e-15) < low + 1e-15
    assert exact(0.268) == "0.268" and exact(2.5e-9) == "2.5 × 10⁻⁹"
    assert [number(v) for v in (1234567.0, -0.5, np.nan, 1.23456e-13)] == [
        "1\u202f234\u202f567", "−0.5", "–", "1.235 × 10⁻¹³"
    ]  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four-bars of which those with a long coupler cannot be closed; a few have kept motions."""
    draws = qmc.Sobol(2, rng=np.random.default_rng(3)).random(256)[:MEMBERS]
    vary = {"coupler:tip.T[0]": 0.4 + 1.1 * draws[:, 0], "coupler.mass": 1.0 + draws[:, 1]}
    channels = ["rocker_pivot.q", "coupler:tip.position"]
    metrics = {"turn": "peak_to_peak(rocker_pivot.q)", "height": "final(coupler:tip.position[2])"}
    result = simulate("four_bar", span=0.05, output_step=0.01, vary=vary, channels=channels, metrics=metrics, keep=12)
    return store.write(result, tmp_path_factory.mktemp("study") / "bars.zarr")


@pytest.fixture(scope="module")
def tree(study: Path) -> xr.DataTree:
    return store.read(study)


@pytest.fixture(scope="module")
def page(study: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    words = ["report", str(study), "--out", str(folder / "r.html"), "--png", str(folder / "pictures")]
    assert main(words) == 0
    pictures = sorted(p.name for p in (folder / "pictures").iterdir())
    assert all((folder / "pictures" / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert len(pictures) > 10 and any("parallel" in name for name in pictures)
    return (folder / "r.html").read_text(encoding="utf-8")


class Parsed(HTMLParser):
    """Tags that open and close, ids, and what the page refers to."""

    VOID = ("meta", "link", "br", "wbr", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.uses: list[str] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.uses += [str(found[k]) for k in ("src", "href", "xlink:href", "action") if found.get(k)]
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


def test_the_page_is_well_formed_whole_and_alone(page: str) -> None:
    found = Parsed(page)
    assert not found.open
    assert found.headings == [
        "Summary", "Study", "Accuracy", "Metrics", "Explore", "What moves the metrics", "Best and worst",
        "Failures and warnings",
    ]  # fmt: skip
    outside = [use for use in found.uses if not use.startswith(("#", "data:"))]
    assert not outside
    own = re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL)  # without plotly
    assert set(re.findall(r"https?://[\w.]+", own)) <= {"http://www.w3.org"}, "the names of SVG, which nothing fetches"
    assert not re.search(r"@import|url\((?!#)", own)
    assert {use[1:] for use in found.uses if use.startswith("#")} <= set(found.ids)
    assert len(page) < 8e6


def test_the_page_says_what_the_store_holds(page: str, tree: xr.DataTree) -> None:
    words = " ".join(" ".join(Parsed(page).words).split())
    members = members_of(tree)
    failed = int(np.sum(~members.finished))
    assert failed > 20 and f"{failed} failed" in words and f"{MEMBERS} members" in words
    for metric in members.metrics:
        values = np.where(members.finished, metric.values, np.nan)
        assert metric.about in words
        assert number(float(np.nanmin(values))) in words and number(float(np.nanmax(values))) in words
    for heading in ("Distributions of the metrics", "Any column over any other", "Parallel coordinates",
                    "What moves turn", "Main effects on height", "Rank correlations", "Trajectories at both ends",
                    "The mechanism at both ends", "Accuracy of the members", "How the members ended"):  # fmt: skip
        assert heading in words, heading
    assert "coupler:tip.T[0] moves it most" in words


def test_failures_are_told_with_the_region_where_they_lie(page: str, tree: xr.DataTree) -> None:
    """A four-bar closes if its coupler is at most as long as the other three together."""
    said, *_ = re.findall(r'<div class="region">(.*?)</div>', page)
    limit = re.fullmatch(
        r"<b>All \d+</b> have <code>coupler:tip.T\[0\]</code> &gt; ([\d.]+) m; none that finished has.", said
    )
    assert limit is not None, said
    assert abs(float(limit[1]) - LIMIT) < 0.02  # 160 members over 1.1 m: neighbours are 7 mm apart
    members = members_of(tree)
    length = members.design[0].values
    assert length[members.finished].max() < float(limit[1]) < length[members.status == Outcome.not_assembled].min()
    assert "not_assembled: " in page and REMEDY[Outcome.not_assembled].split("'")[0] in page


def test_the_numbers_of_the_charts_are_those_of_the_members(page: str, tree: xr.DataTree) -> None:
    (text,) = re.findall(r'<script type="application/json" id="members">(.*?)</script>', page, re.DOTALL)
    data, members = json.loads(text), members_of(tree)
    assert data["numbers"] == members.numbers[members.finished].tolist()
    by_name = {one["short"]: one["values"] for one in data["columns"]}
    np.testing.assert_allclose(by_name["turn"], members.metrics[0].values[members.finished], rtol=1e-5)
    assert by_name.keys() >= {"coupler:tip.T[0]", "coupler.mass", "turn", "height", "energy_error"}


def test_no_name_ends_or_opens_the_script_that_the_charts_are_made_of(tmp_path: Path) -> None:
    """After `<!--<script>` a browser reads the page to its end as one script."""
    name = "<!--<script>"
    vary = {"coupler.mass": np.linspace(1.0, 2.0, 8)}
    metrics = {name: "peak_to_peak(rocker_pivot.q)"}
    result = simulate("four_bar", span=0.05, output_step=0.01, vary=vary, metrics=metrics)
    tree = store.read(store.write(result, tmp_path / "named.zarr"))
    written = write(tree, load(json.loads(tree.attrs["model"])), tmp_path / "named.html").read_text(encoding="utf-8")
    (text,) = re.findall(r'<script type="application/json" id="members">(.*?)</script>', written, re.DOTALL)
    assert "<" not in text
    assert name in [column["short"] for column in json.loads(text)["columns"]]
    assert name not in written


def test_an_error_that_is_zero_everywhere_is_no_curve(tmp_path: Path) -> None:
    """A crank that turns at one speed with nothing beside it has no error of its angle; a flat line was drawn of it."""
    result = simulate("pendulum", span=0.05, vary={"link.mass": np.linspace(1.0, 2.0, 4)}, drive={"pivot": 2.0},
                      metrics={"end": "final(pivot.q)"})  # fmt: skip
    assert (result.certificate["angle_error"] == 0.0).all()
    tree = store.read(store.write(result, tmp_path / "turning.zarr"))
    model = load(json.loads(tree.attrs["model"]))
    text = write(tree, model, tmp_path / "turning.html").read_text(encoding="utf-8")
    assert re.search(r"Not drawn, since 0 for every member: [^.]*angle_error", text)


def test_two_reports_of_one_store_are_equal(page: str, tree: xr.DataTree, tmp_path: Path) -> None:
    again = write(tree, load(json.loads(tree.attrs["model"])), tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == page


def test_channels_of_one_instant_are_no_lines(tmp_path: Path) -> None:
    """A study that only assembles has paths at a point in time, and nothing over time."""
    result = assemble("four_bar", vary={"crank_pivot.initial_displacement": np.linspace(0.3, 1.2, 8)}, keep="all",
                      channels=["rocker_pivot.q"], metrics={"turn": "final(rocker_pivot.q)"})  # fmt: skip
    where = store.write(result, tmp_path / "still.zarr")
    assert main(["report", str(where), "--out", str(tmp_path / "still.html")]) == 0
    assert "turn" in (tmp_path / "still.html").read_text(encoding="utf-8")


def test_a_study_without_metrics_and_a_single_run_have_reports(tmp_path: Path, capsys) -> None:
    result = simulate("four_bar", span=0.02, vary={"coupler.mass": [1.0, 1.1, 1.2]})
    store.write(result, tmp_path / "three.zarr")
    store.write(simulate("four_bar", span=0.02), tmp_path / "one.json")
    for name in ("three.zarr", "one.json"):
        assert main(["report", str(tmp_path / name), "--out", str(tmp_path / f"{name}.html")]) == 0
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "No metrics were asked for" in text and not Parsed(text).open


def test_nothing_is_overwritten_and_wrong_places_are_refused(study: Path, tmp_path: Path, capsys) -> None:
    target = tmp_path / "r.html"
    target.write_text("mine")
    for words, said in (
        (["--out", str(target)], "--force"),
        (["--out", str(tmp_path / "r.txt")], ".html"),
        (["--out", str(tmp_path / "no" / "r.html")], "no such folder"),
        (["--out", str(tmp_path / "s.html"), "--png", str(study.parent), "--force"], "something else than pictures"),
    ):
        assert main(["report", str(study), *words]) == 2
        assert said in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main(["report", str(tmp_path / "none.zarr"), "--out", str(tmp_path / "s.html")]) == 2


@pytest.mark.parametrize("package", ["SALib", "plotly", "matplotlib"])
def test_a_missing_package_is_named_with_its_cure(
    study: Path, tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["report", str(study), "--out", str(tmp_path / "r.html")]) == 2
    said = capsys.readouterr().err
    assert package in said and "checkout: pip install -e '.[report]'" in said
    assert not (tmp_path / "r.html").exists()
