"""`view` of results, models and studies: the page in a notebook's frame, its tables and plots, played in a browser."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
import re
import shutil
import subprocess
import threading
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.viewer import views
from shiftjax.viewer.export import sheets
from shiftjax.viewer.views import View
from tests.viewer.export.test_export_page import SAID, chromium, needs_chromium
from tests.window.test_gui_panes import xvfb

TIP = "coupler:tip.T[0]"
LENGTHS = [0.45, 0.5, 0.6]
CHANNELS = ["rocker_pivot.q", "crank:tip.position"]
SINGLE = 1e-6  # of numbers of about 1 in single precision


@pytest.fixture(scope="module")
def many() -> shiftjax.Result:
    return shiftjax.simulate(
        "four_bar", 0.5, output_step=0.01, channels=CHANNELS, vary={TIP: LENGTHS}, keep="all",
        metrics={"swing": "peak_to_peak(rocker_pivot.q)"},
    )  # fmt: skip


def read(page: str) -> tuple[dict[str, Any], bytes]:
    """The data of a page and its block of bytes."""
    found = [re.search(f'(?s)id="{name}">(.*?)</script>', page) for name in ("data", "binary")]
    assert found[0] and found[1]
    return json.loads(found[0][1]), base64.b64decode(found[1][1])


def test_a_page_tells_the_numbers_of_every_member(many: shiftjax.Result) -> None:
    data, _ = read(many.view().page)
    assert [member["name"] for member in data["members"]] == ["0", "1", "2"] and data["alone"]
    tables = {table["title"]: {row["name"]: row for row in table["rows"]} for table in data["sheets"]["tables"]}
    assert tables["Design"] == {
        f"four_bar:{TIP}": {"name": f"four_bar:{TIP}", "unit": "m", "values": ["0.45", "0.5", "0.6"]}
    }
    swing = tables["Metrics"]["swing"]
    assert swing["unit"] == "rad" and swing["values"] == [f"{value:.6g}" for value in many.metrics["swing"]]
    assert tables["Accuracy"]["gap"]["unit"] == "m" and tables["Accuracy"]["steps"] == {
        "name": "steps", "unit": "", "values": ["500"] * 3,
    }  # fmt: skip


def test_a_page_holds_the_curves_that_were_recorded(many: shiftjax.Result) -> None:
    data, block = read(many.view([2, 0]).page)
    told = data["sheets"]

    def numbers(where: list[int]) -> np.ndarray:
        return np.frombuffer(block[where[0] : where[0] + where[1]], "<f4")

    np.testing.assert_allclose(numbers(told["time"]), many.time, atol=SINGLE)
    assert [plot["name"] for plot in told["plots"]] == CHANNELS
    angle, place = told["plots"]
    assert (angle["unit"], angle["labels"], place["unit"], place["labels"]) == ("rad", [""], "m", ["x", "y", "z"])
    for plot, path in zip(told["plots"], CHANNELS, strict=True):
        for where, member in zip(plot["curves"], (2, 0), strict=True):
            values = many.channels[path][member].reshape(51, -1).T
            np.testing.assert_allclose(numbers(where).reshape(values.shape), values, rtol=SINGLE, atol=SINGLE)
    both = many.channels["rocker_pivot.q"][[2, 0]]
    assert [angle["low"], angle["high"]] == pytest.approx([both.min(), both.max()], rel=SINGLE)


def test_many_curves_and_instants_are_cut_and_told(many: shiftjax.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_PLOTS", 1)
    monkeypatch.setattr(sheets, "INSTANTS", 26)
    monkeypatch.setattr(views, "MOST_MEMBERS", 2)
    view = many.view()
    assert view.members == (0, 1) and view.remarks[0] == "2 of 3 members"
    assert {"1 of 2 curves are plotted", "curves are plotted at 26 of 51 instants"} <= set(view.remarks)
    data, _ = read(view.page)
    assert data["sheets"]["time"][1] == 4 * 26 and len(data["sheets"]["plots"]) == 1
    assert data["remarks"] == list(view.remarks)


def test_where_nothing_was_recorded_joints_are_plotted() -> None:
    view = shiftjax.simulate("four_bar", 0.1, output_step=0.01, keep="all").view()
    data, _ = read(view.page)
    names = [plot["name"] for plot in data["sheets"]["plots"]]
    assert "four_bar:crank_pivot.q" in names and all(name.endswith(".q") for name in names)
    assert repr(view).startswith("View(four_bar: member 0; .show() opens")


def test_a_member_that_never_started_is_left_out_and_told() -> None:
    result = shiftjax.simulate("four_bar", 0.1, output_step=0.01, vary={TIP: [0.5, 9.0]}, keep="all")
    view = result.view()
    assert view.members == (0,) and any("1 never started (1)" in remark for remark in view.remarks)


def test_a_member_that_ended_early_has_its_message_and_a_curve_to_its_end() -> None:
    """Its rocker is driven further than it can go."""
    start = float(shiftjax.assemble("four_bar", channels=["rocker_pivot.q"]).channels["rocker_pivot.q"][0])
    drive = {"rocker_pivot": shiftjax.ConstantSpeed(4.0, offset=start)}
    result = shiftjax.simulate("four_bar", 0.5, output_step=0.01, channels=["rocker_pivot.q"], keep="all", drive=drive)
    data, block = read(result.view().page)
    assert data["sheets"]["notes"] == list(result.messages) and "locks at" in result.messages[0]
    (plot,) = data["sheets"]["plots"]
    offset, length = plot["curves"][0]
    told, expected = np.frombuffer(block[offset : offset + length], "<f4"), result.channels["rocker_pivot.q"]
    np.testing.assert_allclose(told, expected, rtol=SINGLE)
    assert np.isnan(told[-1]) and plot["high"] == pytest.approx(np.nanmax(expected), rel=SINGLE)


def test_a_notebook_shows_the_page_in_a_closed_frame(many: shiftjax.Result, tmp_path: Path) -> None:
    view = many.view(1, height=300)
    shown = view._repr_html_()
    found = re.fullmatch(r'(?s)<iframe ([^<>]*?) srcdoc="([^"]*)"></iframe>', shown)
    assert found and html.unescape(found[2]) == view.page
    assert 'sandbox="allow-scripts"' in found[1] and 'height="300"' in found[1]
    assert view.save(tmp_path / "a.html").read_text(encoding="utf-8") == view.page
    with pytest.raises(ModelError, match=r"found something of that name.*force=True"):
        view.save(tmp_path / "a.html")
    with pytest.raises(ModelError, match=r"suffix '.htm'.*allowed: .html"):
        view.save(tmp_path / "a.htm")
    with pytest.raises(ModelError, match=r"no such folder"):
        view.save(tmp_path / "no" / "a.html")


def test_show_gives_the_page_to_the_browser(many: shiftjax.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    view = many.view(0)
    path = view.show()
    assert opened == [path.as_uri()] and path.read_text(encoding="utf-8") == view.page


def test_a_window_needs_a_display(many: shiftjax.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match=r"window: found .*shiftjax view --doctor"):
        many.view(0).window()


@pytest.mark.skipif(not (shutil.which("Xvfb") and shutil.which("xdotool")), reason="needs Xvfb and xdotool")
def test_a_window_is_waited_for_until_it_is_closed(many: shiftjax.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    with xvfb() as display:
        monkeypatch.setenv("DISPLAY", display)
        waiting = threading.Thread(target=many.view(2).window, args=("--fast", "--size", "400x300"), daemon=True)
        waiting.start()
        search = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "shiftjax"]
        assert subprocess.run(search, capture_output=True, timeout=120, check=False).stdout
        for _ in range(60):  # keys are heard once the window draws
            assert subprocess.run(["xdotool", "key", "ctrl+q"], timeout=20, check=False).returncode == 0
            waiting.join(1.0)
            if not waiting.is_alive():
                break
        assert not waiting.is_alive()


def test_a_result_without_poses_is_simulated_again() -> None:
    result = shiftjax.simulate("four_bar", 0.1, output_step=0.01, channels=["rocker_pivot.q"], vary={TIP: LENGTHS})
    assert not len(result.poses)
    view = result.view("2")
    assert view.members == (2,)
    kept = shiftjax.simulate(
        "four_bar", 0.1, output_step=0.01, channels=["rocker_pivot.q"], vary={TIP: LENGTHS}, keep="all"
    )
    tracks = []
    for page in (view.page, kept.view("2").page):
        data, block = read(page)
        offset, length = data["members"][0]["poses"]
        poses = np.frombuffer(block[offset : offset + length], "<f4").reshape(-1, data["nodes"], 7)
        tracks.append(sorted(poses[:, node].tobytes() for node in range(data["nodes"])))  # bodies are in other orders
    assert tracks[0] == tracks[1]


def test_a_model_is_shown_as_its_loops_close() -> None:
    view = shiftjax.load("four_bar").view()
    data, block = read(view.page)
    start = shiftjax.assemble("four_bar", keep="all")
    offset, length = data["members"][0]["poses"]
    poses = np.frombuffer(block[offset : offset + length], "<f4").reshape(1, data["nodes"], 7)
    for path, expected in start.poses.items():
        node = 1 + list(start.poses).index(path)
        np.testing.assert_allclose(poses[0, node, :3], expected[0, :3], atol=SINGLE)
    assert data["sheets"]["plots"] == []
    with pytest.raises(ModelError, match=r"view: found 1 never started \(0\)"):
        shiftjax.load("four_bar").replace({TIP: 9.0}).view()


def test_a_study_is_shown_from_its_store(many: shiftjax.Result, tmp_path: Path) -> None:
    shiftjax.sweep(
        shiftjax.Definition("four_bar", vary={TIP: LENGTHS}, span=0.1, output_step=0.01, keep="all"),
        tmp_path / "s.zarr",
    )
    study = shiftjax.Study(tmp_path / "s.zarr")
    view = study.view("2,1")
    assert view.members == (2, 1) and view.title == "four_bar"
    shown = study._repr_html_()
    assert "3 members" in shown and f"<td>varied</td><td>four_bar:{TIP}</td><td>m</td>" in shown
    with pytest.raises(ModelError, match="found 3; allowed: 0 to 2"):
        study.view(3)
    with pytest.raises(ModelError, match="a whole number from 200"):
        study.view(height=20)


ACTIONS = """(() => {
  const $ = (id) => document.getElementById(id), said = [];
  const told = () => said.push([$("name").textContent, $("sheets").querySelector("td + td").textContent,
    $("sheets").querySelector("output").textContent, Number($("member").value), $("ghosts").checked,
    $("sheets").querySelectorAll("svg")[0].querySelectorAll("path.other").length,
    Number($("sheets").querySelector(".cursor").getAttribute("x1")) / 272]);
  const press = (key, shiftKey = false) =>
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
  $("time").value = 0.25; $("time").dispatchEvent(new Event("input")); told();
  press("n"); told();
  $("member").value = 2; $("member").dispatchEvent(new Event("input")); told();
  $("ghosts").click(); told();
  press("N", true); told();
  $("members").querySelectorAll("input")[1].click(); told();
  press("n"); press("n"); $("ghosts").click(); press("End"); told();
  console.log("SAID view " + JSON.stringify(said));
})();"""


@needs_chromium
def test_sliders_choose_the_member_and_the_time(many: shiftjax.Result, tmp_path: Path) -> None:
    """Played in the frame of a notebook: the value at the cursor is what was recorded at that instant."""
    view: View = many.view()
    played = dataclasses.replace(view, page=view.page.replace("</body>", f"<script>{ACTIONS}</script></body>"))
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body style='margin:0'>{played._repr_html_()}</body>", encoding="utf-8")
    picture = tmp_path / "a.png"
    inside = "--disable-features=IsolateSandboxedIframes"  # the virtual clock of the test stops in this process only
    done = chromium(path, (1000, 490), inside, f"--screenshot={picture}")
    lines = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    found = [SAID.search(line) for line in lines]
    assert len(found) == 1 and found[0], lines
    said = json.loads(found[0][2])
    angle = many.channels["rocker_pivot.q"]

    def row(member: int, *rest: Any, at: int = 25) -> list[Any]:
        return [f"Member {member}", f"{LENGTHS[member]:g} m", f"{float(f'{angle[member, at]:.5g}'):g}", member, *rest]

    expected = [
        row(0, False, 0, 0.5),
        row(1, False, 0, 0.5),
        row(2, False, 0, 0.5),
        row(2, True, 2, 0.5),
        row(1, True, 2, 0.5),
        row(0, False, 1, 0.5),  # the solid one is switched off, so that the first of the others is
        row(2, False, 0, 1.0, at=50),
    ]
    for one, other in zip(said, expected, strict=True):
        assert one == [*other[:-1], pytest.approx(other[-1], abs=1e-3)]
    pixels = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    assert pixels[:, 690:990].mean() > 235, "tables and plots stand at the right, on white"
    scene = pixels[100:380, 150:600].reshape(-1, 3)
    assert len(np.unique(scene, axis=0)) > 500, "bodies in light and shadow are drawn at the left"
