"""Pages of a scene in motion, read as text and played in a real browser."""

import base64
import dataclasses
import html
import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shiftjax.poses import to_world
from shiftjax.viewer.camera import Camera
from shiftjax.viewer.export import write_html
from shiftjax.viewer.scene import Part, Scene, Spring
from tests.moving_boxes import GREEN, TIMES, UPS, a_scene, a_track, box, placed

SINGLE = 2e-6  # positions of about 1 m in single precision, a few roundings
PAGE_BUDGET = 60_000  # bytes of a page without its data
SIZE = (640, 480)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def page_of(tmp_path: Path, scene: Scene, tracks: dict[int, np.ndarray], title: str = "Slider") -> tuple[Path, str]:
    path = tmp_path / "run.html"
    write_html(scene, TIMES, tracks, path, title)
    return path, path.read_text(encoding="utf-8")


def test_a_page_needs_nothing_else_and_hides_no_tags(tmp_path: Path) -> None:
    scene = a_scene()
    wicked = dataclasses.replace(scene.parts[1], path="</script><script>alert(1)</script>")
    scene = dataclasses.replace(scene, parts=(*scene.parts, wicked))
    _, text = page_of(tmp_path, scene, {1: a_track()}, "<b>{{data}} & </title></script>")
    assert text.count("</script") == 3 and "alert(1)" not in re.sub(r'(?s)id="data">.*?</script>', "", text)
    assert "<title>&lt;b&gt;{{data}} &amp; &lt;/title&gt;&lt;/script&gt;</title>" in text
    assert not re.findall(r"https?://|@import|<link|src=\"[^\"]", text)
    assert "default-src 'none'" in text
    data, binary = (re.search(f'(?s)id="{name}">(.*?)</script>', text) for name in ("data", "binary"))
    assert data and binary
    assert len(text) - len(data[1]) - len(binary[1]) < PAGE_BUDGET
    document = json.loads(data[1])
    assert any(p["path"] == wicked.path for p in document["parts"])
    block = base64.b64decode(binary[1])
    offset, length = document["members"][0]["poses"]
    poses = np.frombuffer(block[offset : offset + length], "<f4").reshape(61, 3, 7)
    np.testing.assert_allclose(poses[:, 1, :3], a_track()[:, 1, :3], atol=SINGLE)


def test_a_page_says_what_was_left_out(tmp_path: Path) -> None:
    spring = Spring("coil", "spring", (1, 2), ((0, 0, 0), (0, 0, 0)), None, (1, 0, 0), 0.1)
    scene = dataclasses.replace(a_scene(), lamps=a_scene().lamps * 2, springs=(spring,))
    remarks = write_html(scene, TIMES, {1: a_track()}, tmp_path / "run.html", frames=31)
    assert remarks == (
        "31 of 61 stored instants are shown", "4 of 6 lights are shown", "springs and dampers are not shown in a page",
    )  # fmt: skip
    assert json.dumps(remarks)[1:-1] in (tmp_path / "run.html").read_text(encoding="utf-8").replace('","', '", "')


@pytest.mark.parametrize("up", UPS)
def test_the_grid_lies_where_the_parts_come_down_to(tmp_path: Path, up: tuple[float, float, float]) -> None:
    """Least height of all vertices over all instants, which for boxes the outermost vertices give exactly."""
    scene, track = a_scene(up), a_track()
    _, text = page_of(tmp_path, scene, {1: track})
    heights = []
    for part in scene.parts:
        local = part.mesh.vertices @ part.place[:3, :3].T + part.place[:3, 3]
        for pose in track[:, part.node]:
            heights.append((to_world(pose, local) @ np.array(up)).min())
    found = re.search(r'"floor":([-\d.e]+)', text)
    assert found and float(found[1]) == pytest.approx(min(heights), abs=SINGLE)


def chromium(path: Path, fragment: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Opens a page in headless Chromium with software WebGL; its console goes to standard error."""
    assert CHROMIUM
    return subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--hide-scrollbars", "--force-device-scale-factor=1", "--enable-logging=stderr", "--virtual-time-budget=1000",
         f"--user-data-dir={path.parent / 'profile'}", f"--window-size={SIZE[0]},{SIZE[1]}", *options,
         f"{path.as_uri()}{fragment}"],
        capture_output=True, text=True, timeout=120, check=False)  # fmt: skip


def shot(path: Path, fragment: str) -> np.ndarray:
    """(h, w, 3) uint8 picture of a page, which must not have complained."""
    picture = path.parent / "shot.png"
    picture.unlink(missing_ok=True)
    done = chromium(path, fragment, f"--screenshot={picture}")
    assert picture.exists(), done.stderr
    assert "CONSOLE" not in done.stderr, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return np.asarray(Image.open(picture).convert("RGB")).astype(int)


def is_red(picture: np.ndarray, camera: Camera, point: Any) -> bool:
    x, y = camera.pixel(np.array(point, float), (picture.shape[1], picture.shape[0]))
    red, green, blue = picture[round(y), round(x)]
    return bool(red > 90 and red > 2.5 * green and red > 2.5 * blue)


def a_page_scene(up: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> Scene:
    """A red box that goes to and fro above a green plate."""
    scene = a_scene(up)
    plate = Part(box(2.4, 1.2, 0.05), 0, placed(*(-0.5 * np.array(up))), GREEN, "ground", "ground")
    return dataclasses.replace(scene, parts=(plate, scene.parts[1]), lamps=scene.lamps[:1])


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium found to open pages with")


@needs_chromium
@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)])
def test_a_page_shows_the_body_where_it_is(tmp_path: Path, up: tuple[float, float, float]) -> None:
    """The box stands right at the first instant and left half a turn later: where the window's camera sees it."""
    scene = a_page_scene(up)
    path, _ = page_of(tmp_path, scene, {17: a_track()})
    camera = Camera.of(scene.centre, scene.size, scene.up)
    first, later = shot(path, "#t=2"), shot(path, "#t=2.5")
    there, back = (0.7, 0.0, 0.0), (-0.7, 0.0, 0.0)
    assert is_red(first, camera, there) and not is_red(first, camera, back)
    assert is_red(later, camera, back) and not is_red(later, camera, there)


@needs_chromium
@pytest.mark.parametrize("kind", ["directional", "spot"])
def test_a_page_throws_shadows(tmp_path: Path, kind: str) -> None:
    """Below the box the plate is darker than elsewhere, and as bright there under a point lamp, which throws none."""
    lamp = dataclasses.replace(a_scene().lamps[0], type=kind, position=(0.3, 0.0, 6.0), cone=0.4)
    scene = dataclasses.replace(a_page_scene(), lamps=(lamp,))
    path, _ = page_of(tmp_path, scene, {17: a_track()})
    picture = shot(path, "#t=2&view=front")
    camera = Camera.of(scene.centre, scene.size, scene.up, "front")
    assert is_red(picture, camera, (0.7, -0.2, 0.0))

    def green(point: tuple[float, float, float]) -> int:
        x, y = camera.pixel(np.array(point), (picture.shape[1], picture.shape[0]))
        return picture[round(y), round(x), 1]

    assert 0 < green((0.75, 0.0, -0.475)) < 0.75 * green((-0.2, 0.0, -0.475))
    if kind == "directional":
        return
    scene = dataclasses.replace(scene, lamps=(dataclasses.replace(lamp, type="point"),))
    path, _ = page_of(tmp_path, scene, {17: a_track()})
    picture = shot(path, "#t=2&view=front")
    assert green((0.75, 0.0, -0.475)) > 0.95 * green((-0.2, 0.0, -0.475))


ACTIONS = """<script>(() => {
  const $ = (id) => document.getElementById(id), said = [];
  const note = () => said.push($("clock").textContent + " " + document.body.dataset.state);
  const press = (key) => { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); note(); };
  const scale = $("canvas").clientHeight / 480; // before the picture is taken, the window may still have another size
  const point = (type, x, y, buttons, pointerId = 1) => $("canvas").dispatchEvent(
    new PointerEvent(type, { clientX: scale * x, clientY: scale * y, buttons, pointerId, bubbles: true }));
  $("canvas").setPointerCapture = () => {}; // a made-up pointer cannot be captured
  note();
  ["ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", " ", " "].forEach(press);
  $("time").value = 0.25; $("time").dispatchEvent(new Event("input")); note();
  ["?", "ArrowUp", "l"].forEach(press);
  said.push($("help").hidden, $("speed").selectedOptions[0].text, $("loop").checked);
  ["?", "ArrowDown", "l"].forEach(press);
  said.push($("help").hidden, $("speed").selectedOptions[0].text, $("loop").checked);
  press("Home");
  DRAG
  document.body.dataset.said = JSON.stringify(said);
})();</script></body>"""
DRAGS = {
    "turn": 'point("pointerdown", 100, 100, 1); point("pointermove", 160, 130, 1); point("pointerup", 160, 130, 0);',
    "shift": 'point("pointerdown", 100, 100, 2); point("pointermove", 52, 148, 2); point("pointerup", 52, 148, 0);',
    "wheel": '$("canvas").dispatchEvent(new WheelEvent("wheel", { deltaY: -200, cancelable: true }));',
    "pinch": 'point("pointerdown", 99, 9, 1); point("pointerdown", 199, 9, 1, 2); point("pointermove", 249, 9, 1, 2);',
}


@needs_chromium
@pytest.mark.parametrize("drag", DRAGS)
def test_a_page_obeys_hands_and_keys(tmp_path: Path, drag: str) -> None:
    """Keys move the clock; the hand moves the camera as the window's camera moves."""
    scene = a_page_scene()
    path, text = page_of(tmp_path, scene, {17: a_track()})
    path.write_text(text.replace("</body>", ACTIONS.replace("DRAG", DRAGS[drag])), encoding="utf-8")
    if drag == "turn":
        said = re.search('data-said="([^"]*)"', chromium(path, "#t=2", "--dump-dom").stdout)
        assert said
        clock = ["2.00", "2.02", "2.03", "2.02", "3.00", "2.00", "2.00", "2.00", "2.25"]
        words = ["paused"] * 6 + ["playing"] + ["paused"] * 2
        wanted: list[object] = [f"{t} s {word}" for t, word in zip(clock, words, strict=True)]
        wanted += ["2.25 s paused"] * 3 + [False, "2", False] + ["2.25 s paused"] * 3 + [True, "1", True]
        assert json.loads(html.unescape(said[1])) == [*wanted, "2.00 s paused"]
    picture = shot(path, "#t=2")
    camera = Camera.of(scene.centre, scene.size, scene.up)
    moved = {
        "turn": camera.orbit(0.5, -0.25),
        "shift": camera.pan(-0.1, -0.1),
        "wheel": camera.zoom(math.exp(0.3)),
        "pinch": camera.zoom(1.5).pan(50 / 480 / 2, 0.0),
    }[drag]
    for corner in np.stack(np.meshgrid(*[(-0.17, 0.17)] * 2), -1).reshape(-1, 2):
        assert is_red(picture, moved, (0.7 + corner[0], corner[1], 0.2))


@needs_chromium
def test_a_page_plays_and_lists_its_members(tmp_path: Path) -> None:
    path, _ = page_of(tmp_path, a_scene((0.0, 0.0, -1.0)), {17: a_track(), 3: a_track(phase=0.2)})
    done = chromium(path, "", "--dump-dom")
    assert 'data-state="playing"' in done.stdout, done.stderr
    assert "member 17" in done.stdout and "member 3" in done.stdout
    assert "CONSOLE" not in done.stderr


@needs_chromium
def test_a_page_says_so_where_webgl_is_missing(tmp_path: Path) -> None:
    path, _ = page_of(tmp_path, a_scene(), {17: a_track()})
    done = chromium(path, "", "--disable-3d-apis", "--dump-dom")
    assert 'data-state="failed"' in done.stdout
    assert re.search(r'id="message">[^<]*WebGL2[^<]*does not offer', done.stdout)
