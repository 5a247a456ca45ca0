"""The page of a study: numbers of all members, read back; its plots, its table and its address in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image

import shiftjax
from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.viewer.export import page_members, study_numbers
from shiftjax.viewer.export.study_numbers import numbers_of
from shiftjax.viewer.study.study import ViewedStudy
from tests.viewer.export.test_export_page import SAID, chromium, needs_chromium
from tests.viewer.export.test_views import read

COUPLER, MASS, SWING = "four_bar:coupler:tip.T[0]", "four_bar:coupler.mass", "swing"
MEMBERS, EVERY = 96, 12
SCRIPTS = Path(__file__).parent
NODE = shutil.which("node")
SMALL = 150_000  # bytes of the page of such a study without motions: scripts, styles and numbers
DESKTOP, PHONE = (1280, 800), (390, 800)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four-bars, some of which cannot be assembled; of every twelfth the motion was kept."""
    definition = shiftjax.Definition(
        model="four_bar", span=0.2, step=1e-3, output_step=0.02, samples=MEMBERS, keep=f"every {EVERY}",
        vary={"coupler:tip.T[0]": "0.4:1.8~sobol", "coupler.mass": "0.6:2.4~sobol"},
        channels=["rocker_pivot.q"], metrics={SWING: "peak_to_peak(rocker_pivot.q)"},
    )  # fmt: skip
    return shiftjax.sweep(definition, tmp_path_factory.mktemp("study") / "bars.zarr").path


@pytest.fixture(scope="module")
def study(stored: Path) -> ViewedStudy:
    return ViewedStudy.open(stored)


@pytest.fixture(scope="module")
def page(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page that the command writes."""
    path = tmp_path_factory.mktemp("page") / "bars.html"
    assert main(["export", str(stored), "--html", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def an_array(block: bytes, where: list[int], kind: str) -> np.ndarray:
    return np.frombuffer(block[where[0] : where[0] + where[1]], kind)


def numbers(page: str) -> dict[str, np.ndarray]:
    """Name -> the numbers that the codes of a page stand for."""
    data, block = read(page)
    columns = {}
    for column in data["study"]["columns"]:
        codes, low, high = an_array(block, column["codes"], "<u2").astype(float), column["low"], column["high"]
        part = codes / column["steps"]
        values = low * (high / low) ** part if column["logarithmic"] else low + (high - low) * part
        values = np.where((codes == 65532) & column["logarithmic"], 0.0, values)
        columns[column["name"]] = np.where(codes == 65535, np.nan, values)
    return columns


# -- what is in the page ---------------------------------------------------------------------------------------------


def test_all_members_are_in_the_page_with_all_their_numbers(page: str, study: ViewedStudy) -> None:
    data, block = read(page)
    told = data["study"]
    np.testing.assert_array_equal(an_array(block, told["members"], "<u4"), np.arange(MEMBERS))
    outcomes = [outcome["name"] for outcome in told["outcomes"]]
    status = [outcomes[k] for k in an_array(block, told["status"], "u1")]
    assert status == [shiftjax.Outcome(int(k)).name for k in study.status] and told["total"] == MEMBERS
    assert {outcome["name"]: outcome["count"] for outcome in told["outcomes"]} == {k: status.count(k) for k in outcomes}
    columns = numbers(page)
    assert list(columns) == [*study.design, *study.metrics]
    for column in told["columns"]:
        name, expected = column["name"], {**study.design, **study.metrics}[column["name"]].astype(float)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(columns[name]), finite, err_msg=name)
        step = (expected[finite].max() - expected[finite].min()) / column["steps"]
        error = np.abs(columns[name] - expected)[finite]
        if column["logarithmic"]:
            step = expected[finite] * np.log(column["high"] / column["low"]) / column["steps"]
        assert (error <= 0.5001 * step + 1e-12 * np.abs(expected[finite])).all(), name
    assert {c["name"]: c["role"] for c in told["columns"]} | {
        SWING: "metric",
        COUPLER: "design",
        "gap": "certificate",
    } == {c["name"]: c["role"] for c in told["columns"]}


def test_failed_members_are_there_with_their_reasons(page: str, study: ViewedStudy) -> None:
    data, block = read(page)
    failed = np.flatnonzero(study.status > 0)
    assert 5 < len(failed) < MEMBERS / 2 + 10
    forms, blanks = data["study"]["forms"], iter(data["study"]["blanks"])
    reasons = [forms[k] for k in an_array(block, data["study"]["reasons"], "<u2")]
    for member, form in enumerate(reasons):
        filled = [*(next(blanks).split("\0") if "\0" in form else ()), ""]
        text = "".join(part + number for part, number in zip(form.split("\0"), filled, strict=True))
        assert text == study.message(member)
    assert len(forms) < 12, "many differ in numbers alone"
    open_loops = np.flatnonzero(study.status == shiftjax.Outcome.not_assembled)
    assert data["study"]["unstarted"] == open_loops.tolist() and len(open_loops) < len(failed)
    assert np.isnan(numbers(page)[SWING][failed]).all() and np.isfinite(numbers(page)[COUPLER]).all()


def test_motions_of_some_kept_members_are_there(page: str, study: ViewedStudy) -> None:
    data, _ = read(page)
    able = study.drawable(study.kept).ids
    assert [member["name"] for member in data["members"]] == [str(member) for member in able] and data["alone"]
    assert len(data["members"]) > 3


def test_of_many_motions_some_are_there(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_members, "MOTIONS", 3)
    assert main(["export", str(stored), "--html", str(tmp_path / "a.html")]) == 0
    data, _ = read((tmp_path / "a.html").read_text(encoding="utf-8"))
    able = ViewedStudy.open(stored).drawable(ViewedStudy.open(stored).kept).ids
    assert data["remarks"][0] == f"3 of {len(able)} kept members move in this page"
    names = [int(member["name"]) for member in data["members"]]
    assert names[0] == able[0] and names[-1] == able[-1] and len(names) == 3


def test_of_many_members_a_sample_is_taken_and_told(study: ViewedStudy) -> None:
    few = numbers_of(study, 20, [95])
    assert few is not None and len(few.members) in (20, 21) and 95 in few.members and (np.diff(few.members) > 0).all()
    more = ", and 1 more whose motion is shown" if len(few.members) == 21 else ""
    assert few.remarks == (f"20 of {MEMBERS} members are in the table and the plots, drawn at random{more}",)
    assert sum(few.counts.values()) == few.total == MEMBERS, "how all of them ended"
    np.testing.assert_array_equal(few.status, study.status[few.members])
    again = numbers_of(study, 20, [95])
    assert again is not None and np.array_equal(again.members, few.members), "the same study gives the same page"
    assert numbers_of(study, 0) is None
    with pytest.raises(ModelError, match="rows: found -1"):
        numbers_of(study, -1)


def test_too_long_reasons_and_too_many_columns_are_told(study: ViewedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = numbers_of(study)
    assert whole is not None and whole.remarks == ()
    monkeypatch.setattr(study_numbers, "REASONS", 0)
    monkeypatch.setattr(study_numbers, "COLUMNS", 3)
    short = numbers_of(study)
    assert short is not None and [c.name for c in short.columns] == [COUPLER, MASS, SWING]
    count = sum(map(bool, whole.reasons))
    assert set(short.reasons) == {""} and short.remarks == (
        f"the table has 3 of {len(whole.columns)} columns",
        f"{count} members have the cause of their status in place of their own reason",
    )


def test_rows_are_limited_or_left_out(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", str(stored), "--html", str(tmp_path / "a.html")]
    assert main([*words, "--rows", "30"]) == 0
    assert f"note: 30 of {MEMBERS} members are in the table and the plots, drawn at random" in capsys.readouterr().err
    data, _ = read((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert any(remark.startswith("30 of 96") for remark in data["remarks"])
    assert main([*words, "--rows", "0", "--force"]) == 0
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    data, _ = read(text)
    assert "study" not in data and len(data["members"]) == 1 and "studyTable" not in text
    assert main([*words, "--member", "12", "--force"]) == 0
    data, _ = read((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert [member["name"] for member in data["members"]] == ["12"] and data["study"]["total"] == MEMBERS


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--csv", "a.csv", "--rows", "3"], "--rows: found without --html; allowed: a page of a stored study"),
        (
            ["MODEL", "--html", "a.html", "--rows", "3"],
            "--rows 3: found with the model four_bar; allowed: a stored study",
        ),
        (["--html", "a.html", "--rows", "some"], "'some' is not a whole number from 0"),
    ],
)
def test_rows_are_of_pages_of_stored_studies(
    stored: Path, words: list[str], problem: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    what = ["four_bar", *words[1:]] if words[0] == "MODEL" else [str(stored), *words]
    try:
        code: object = main(["export", *what])
    except SystemExit as stop:
        code = stop.code
    assert code and problem in capsys.readouterr().err


def test_a_notebook_has_the_study_too(stored: Path) -> None:
    opened = shiftjax.Study(stored)
    view = opened.view()
    assert read(view.page)[0]["study"]["total"] == MEMBERS
    assert "study" not in read(opened.view(rows=0).page)[0]
    assert len(opened.view(0, rows=40).page) - len(opened.view(0, rows=0).page) < SMALL
    with pytest.raises(ModelError, match=r"view: rows.*a whole number from 0"):
        opened.view(rows=-1)


def test_a_page_without_a_study_has_no_scripts_of_it() -> None:
    page = shiftjax.assemble("four_bar", keep="all").view().page
    assert "studyPage(" in page and "const studyPage" not in page and 'id="study"' not in page


# -- the scripts, without a browser ----------------------------------------------------------------------------------


@pytest.mark.skipif(NODE is None, reason="no node found to run scripts with")
def test_the_scripts_read_numbers_and_choose_by_ranges(page: str, study: ViewedStudy) -> None:
    assert NODE
    folder = files("shiftjax.viewer.export")
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("columns.js", "brush.js"))
    data, _ = read(page)
    failed = int(np.flatnonzero(study.status > 0)[0])
    given = {"study": data["study"], "binary": re.findall(r'(?s)id="binary">(.*?)</script>', page)[0], "failed": failed}
    script = text + (SCRIPTS / "study_page_in_node.js").read_text(encoding="utf-8").replace("LENGTH", COUPLER)
    done = subprocess.run([NODE, "-e", script], input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, columns = json.loads(done.stdout), numbers(page)
    for name, values in said["values"][2:]:
        np.testing.assert_allclose(np.array(values, float), columns[name], rtol=1e-9, err_msg=name)
    swing, length = columns[SWING], columns[COUPLER]

    def place(values: np.ndarray) -> np.ndarray:
        return (values - np.nanmin(values)) / (np.nanmax(values) - np.nanmin(values))

    with np.errstate(invalid="ignore"):
        middle = (place(swing) >= 0.25) & (place(swing) <= 0.75)
        both = (place(swing) >= 0.5) & (place(length) >= 0.4) & (place(length) <= 0.9)
    assert said["middle"] == middle.tolist() == said["again"], "nobody without a number is in a range"
    assert said["both"] == both.tolist() and said["calls"][:2] == [middle.sum(), both.sum()]
    assert not said["wrong"] and said["cleared"] == MEMBERS
    assert said["failed"] == (study.status == study.status.max()).tolist()
    assert said["written"][0].startswith("swing~") and re.fullmatch(r"[\d.]+ ≤ swing ≤ [\d.]+", said["chips"][0])
    number = np.where(np.isnan(swing), np.inf, swing)
    assert said["rising"] == np.argsort(number, kind="stable").tolist()
    lacking = int(np.isnan(swing).sum())
    assert said["falling"][-lacking:] == np.flatnonzero(np.isnan(swing)).tolist() == said["rising"][-lacking:]
    assert said["labels"][:5] == ["member", "status", "coupler:tip.T[0] [m]", "coupler.mass [kg]", "swing [rad]"]
    assert len(said["ticks"]) >= 3 and all(float(x) * 10 % 1 == 0 for x in said["ticks"])
    assert said["reasons"] == study.message(failed)
    assert float(said["text"]) == pytest.approx(swing[0], abs=1e-4)


# -- in a browser ----------------------------------------------------------------------------------------------------


def link(failed: int) -> str:
    """An address with everything in it."""
    wish = [("t", "0.1"), ("view", "front"), ("x", SWING), ("y", COUPLER), ("colour", MASS), ("sort", f"-{SWING}")]
    wish += [("tab", "table"), ("axis", COUPLER), ("axis", SWING), ("brush", f"{COUPLER}~0.4~0.6"), ("only", "1")]
    return "#" + urlencode([*wish, ("member", failed)])


@pytest.fixture(scope="module")
def browser(
    page: str, study: ViewedStudy, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], np.ndarray]:
    """What pages said, and a picture of all: one that is used, one opened by a link, and both sizes of a phone."""
    folder = tmp_path_factory.mktemp("frames")
    failing = sorted({int(k) for k in study.status}).index(int(study.status.max()))
    failed, able = int(np.flatnonzero(study.status > 0)[0]), int(study.drawable(study.kept).ids[1])
    pages = {"used": ("", DESKTOP), "linked": (link(failed), DESKTOP), "phone": ("#t=0.1", PHONE)}
    frames, left = [], 0
    for name, (fragment, (wide, high)) in pages.items():
        script, words = (SCRIPTS / "study_page_in_browser.js").read_text(encoding="utf-8"), {"NAME": name}
        words |= {
            "USED": str(name == "used").lower(),
            "FAILED": str(failed),
            "MOVING": str(able),
            "STATUS": str(failing),
        }
        script = re.sub(r"\b(NAME|USED|FAILED|MOVING|STATUS)\b", lambda match, words=words: words[match[1]], script)
        text = page.replace("</body>", f"<script>{script}</script></body>")
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        place = f"position:absolute;border:0;left:{left}px;top:0;width:{wide}px;height:{high}px"
        frames.append(f'<iframe src="{name}.html{html.escape(fragment)}" style="{place}"></iframe>')
        left += wide
    (folder / "all.html").write_text(f"<!doctype html><body>{''.join(frames)}</body>", encoding="utf-8")
    done = chromium(
        folder / "all.html", (left, DESKTOP[1]), "--virtual-time-budget=4000", f"--screenshot={folder / 'all.png'}"
    )
    lines = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert lines and all(SAID.search(line) for line in lines), lines or done.stderr
    said = {match[1]: json.loads(match[2]) for line in lines if (match := SAID.search(line))}
    return said, np.asarray(Image.open(folder / "all.png").convert("RGB")).astype(int)


@needs_chromium
def test_a_page_shows_all_members_and_how_they_ended(browser: Any, study: ViewedStudy) -> None:
    start = browser[0]["used"]["start"]
    assert start["total"] == f"{MEMBERS} members" and start["count"] == MEMBERS and start["chosen"] == ""
    for outcome, count in zip(*np.unique(study.status, return_counts=True), strict=True):
        assert f"{count} {shiftjax.Outcome(int(outcome)).name}" in start["outcomes"]
    assert start["panels"] == ["scatter", "axes", "table"] and start["wide"]
    assert start["elements"] < 60, "rows that are out of sight are no elements"
    assert (start["x"], start["y"], start["colour"]) == (COUPLER, MASS, SWING)


@needs_chromium
def test_a_member_is_marked_everywhere_at_once(browser: Any) -> None:
    used = browser[0]["used"]
    assert used["hovered"] == [True, True, True]
    assert re.match(r"Member \d+, \w+coupler:tip.T\[0\]: ", used["tip"][0])


@needs_chromium
def test_failed_members_and_those_without_motion_say_so(browser: Any, study: ViewedStudy) -> None:
    used, failed = browser[0]["used"], int(np.flatnonzero(study.status > 0)[0])
    reason = study.message(failed).rstrip(".")
    name = shiftjax.Outcome(int(study.status[failed])).name
    assert used["failed"]["current"] == (
        f"Member {failed}, {name}: {reason}. It never made a step, so that there is no motion."
    )
    assert used["failed"]["marked"] == [failed] and used["below"]["marked"] == [failed + 1]
    if failed + 1 not in study.drawable(study.kept).ids and study.status[failed + 1] <= 0:
        assert f"shiftjax export bars.zarr --html PAGE.html --member {failed + 1}" in used["below"]["current"]
    first = int(study.drawable(study.kept).ids[0])
    assert used["failed"]["name"] == used["below"]["name"] == f"Member {first}", "the picture stays"


@needs_chromium
def test_a_click_shows_a_members_motion(browser: Any, study: ViewedStudy) -> None:
    moving, member = browser[0]["used"]["moving"], int(study.drawable(study.kept).ids[1])
    assert moving["name"] == f"Member {member}" and moving["marked"] == [member]
    assert moving["current"].startswith(f"Member {member}, ") and "not in this page" not in moving["current"]


def ranged(study: ViewedStudy, chips: str) -> np.ndarray:
    """(members,) bool, those in the ranges that a page writes."""
    mask = np.ones(MEMBERS, bool)
    for low, label, high in re.findall(r"([\d.]+) ≤ (\S+) ≤ ([\d.]+)", chips):
        (name,) = [name for name in (*study.design, *study.metrics) if name.endswith(label)]
        values = np.asarray((study.design if name in study.design else study.metrics)[name])
        mask &= (values >= float(low) - 2e-5) & (values <= float(high) + 2e-5)
    return mask


@needs_chromium
def test_a_drag_chooses_members(browser: Any, study: ViewedStudy) -> None:
    """In the scatter plot between ends of both columns, along an axis of one; kept members among them are ghosts."""
    used = browser[0]["used"]
    for name, ranges in (("box", 2), ("axis", 1), ("slid", 1)):
        mask, state = ranged(study, used[name]["chips"]), used[name]
        assert state["chips"].count("≤") == 2 * ranges and state["chosen"] == f"{mask.sum()} chosen"
        solid = int(study.drawable(study.kept).ids[1])
        expected = [k for k in study.drawable(study.kept).ids if mask[k] or k == solid]
        assert state["shown"] == [f"member {k}" for k in expected]
    assert 0 < used["out"] and used["box"]["count"] == MEMBERS
    assert used["only"]["count"] == ranged(study, used["box"]["chips"]).sum()
    assert used["slid"]["chips"] != used["axis"]["chips"]
    assert used["cleared"]["chosen"] == "" and used["cleared"]["shown"] == used["moving"]["shown"]


@needs_chromium
def test_rows_are_sorted_and_the_study_is_put_away(browser: Any, study: ViewedStudy) -> None:
    used, swing = browser[0]["used"], np.asarray(study.metrics[SWING])
    assert used["sorted"]["first"] == np.argsort(np.where(np.isnan(swing), np.inf, -swing), kind="stable")[:3].tolist()
    assert used["closed"] == []
    assert f"sort=-{SWING}" in used["hash"] and f"x={COUPLER}" in used["hash"] and "brush" not in used["hash"]


@needs_chromium
def test_a_link_opens_what_was_seen(browser: Any, study: ViewedStudy) -> None:
    failed, linked = int(np.flatnonzero(study.status > 0)[0]), browser[0]["linked"]
    state, values = linked["state"], np.asarray(study.design[COUPLER])
    mask = (values >= 0.4) & (values <= 0.6)
    assert (state["x"], state["y"], state["colour"]) == (SWING, COUPLER, MASS)
    assert state["chosen"] == f"{mask.sum()} chosen" and state["count"] == mask.sum() and state["clock"] == "0.1000 s"
    assert state["current"].startswith(f"Member {failed}, ")
    swing = np.asarray(study.metrics[SWING])
    order = np.argsort(np.where(np.isnan(swing), np.inf, -swing), kind="stable")
    assert state["first"] == [k for k in order.tolist() if mask[k]][:3]
    given, written = (re.sub(r"brush=[^&]*", "", text) for text in (link(failed), linked["hash"]))
    assert sorted(given[1:].split("&")) == sorted(written[1:].split("&")), "it writes the address that it was given"


@needs_chromium
def test_a_phone_has_a_panel_at_a_time(browser: Any) -> None:
    said, picture = browser
    state = said["phone"]["state"]
    assert state["panels"] == ["scatter"] and state["tab"] == "scatter" and state["wide"]
    phone = picture[:, 2 * DESKTOP[0] :]
    assert phone.shape[1] == PHONE[0]
    assert len(np.unique(phone[20:250].reshape(-1, 3), axis=0)) > 500, "bodies in light and shadow above"
    assert len(np.unique(phone[400:780].reshape(-1, 3), axis=0)) > 200, "coloured points below"


@needs_chromium
def test_without_webgl_the_study_is_there(page: str, tmp_path: Path) -> None:
    (tmp_path / "bars.html").write_text(page, encoding="utf-8")
    done = chromium(tmp_path / "bars.html", DESKTOP, "--disable-3d-apis", "--dump-dom")
    assert re.search(r'id="message">[^<]*WebGL2[^<]*does not offer', done.stdout)
    assert f"{MEMBERS} members" in done.stdout and done.stdout.count("<tr aria-rowindex") > 8
