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
from shiftjax.viewer.export import write_html
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene, ScenePart, SceneSpring
from tests.scenes.moving_boxes import GREEN, TIMES, UPS, a_scene, a_track, box, placed

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
    assert any(p["path"] == wicked.path for p in document["casts"][0])
    block = base64.b64decode(binary[1])
    offset, length = document["members"][0]["poses"]
    poses = np.frombuffer(block[offset : offset + length], "<f4").reshape(61, 3, 7)
    np.testing.assert_allclose(poses[:, 1, :3], a_track()[:, 1, :3], atol=SINGLE)


def test_a_page_says_what_was_left_out(tmp_path: Path) -> None:
    spring = SceneSpring("coil", "spring", (1, 2), ((0, 0, 0), (0, 0, 0)), None, (1, 0, 0), 0.1)
    scene = dataclasses.replace(a_scene(), lights=a_scene().lights * 3, springs=(spring,))
    remarks = write_html(scene, TIMES, {1: a_track()}, tmp_path / "run.html", frames=31)
    assert remarks == ("31 of 61 stored instants are shown", "8 of 9 lights are shown",
                       "of the lights only sun casts shadows on this page")  # fmt: skip
    weak = dataclasses.replace(scene.lights[0], shadow=False)
    assert write_html(dataclasses.replace(scene, lights=(scene.lights[0], weak)), TIMES, {1: a_track()},
                      tmp_path / "fill.html") == (), "a light without shadows lacks none"  # fmt: skip
    bulb = dataclasses.replace(a_scene(), lights=scene.lights[1:2])
    (said,) = write_html(bulb, TIMES, {1: a_track()}, tmp_path / "bulb.html")
    assert said == "point lights cast no shadows on this page"
    one = dataclasses.replace(a_scene(), lights=scene.lights[:1])
    assert write_html(one, TIMES, {1: a_track()}, tmp_path / "one.html") == ()
    assert json.dumps(remarks)[1:-1] in (tmp_path / "run.html").read_text(encoding="utf-8").replace('","', '", "')


@pytest.mark.parametrize("up", UPS)
def test_the_grid_lies_where_the_parts_come_down_to(tmp_path: Path, up: tuple[float, float, float]) -> None:
    """Least height of all vertices over all instants, which for boxes the outermost vertices give exactly."""
    scene, track = a_scene(up), a_track()
    _, text = page_of(tmp_path, scene, {1: track})
    heights = []
    for part in scene.parts:
        local = part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3]
        for pose in track[:, part.node]:
            heights.append((to_world(pose, local) @ np.array(up)).min())
    found = re.search(r'"floor":([-\d.e]+)', text)
    assert found and float(found[1]) == pytest.approx(min(heights), abs=SINGLE)


def chromium(path: Path, size: tuple[int, int], *options: str) -> subprocess.CompletedProcess[str]:
    """Opens a page in headless Chromium with software WebGL; its console goes to standard error."""
    assert CHROMIUM
    return subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
         "--hide-scrollbars", "--force-device-scale-factor=1", "--enable-logging=stderr", "--virtual-time-budget=1000",
         f"--user-data-dir={path.parent / 'profile'}", f"--window-size={size[0]},{size[1]}", *options, path.as_uri()],
        capture_output=True, text=True, timeout=240, check=False)  # fmt: skip


def is_red(picture: np.ndarray, camera: Camera, point: Any) -> bool:
    x, y = camera.pixel(np.array(point, float), (picture.shape[1], picture.shape[0]))
    red, green, blue = picture[round(y), round(x)]
    return bool(red > 90 and red > 2.5 * green and red > 2.5 * blue)


def a_page_scene(up: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> Scene:
    """A red box that goes to and fro above a green plate."""
    scene = a_scene(up)
    plate = ScenePart(box(2.4, 1.2, 0.05), 0, placed(*(-0.5 * np.array(up))), GREEN, "ground", "ground")
    return dataclasses.replace(scene, parts=(plate, scene.parts[1]), lights=scene.lights[:1])


def lit(*types: str) -> Scene:
    """That scene under lights above the box."""
    light = dataclasses.replace(a_scene().lights[0], position=(0.3, 0.0, 6.0), cone=0.4)
    return dataclasses.replace(a_page_scene(), lights=tuple(dataclasses.replace(light, type=kind) for kind in types))


def raised() -> Scene:
    """That scene with the box half a metre higher on its body."""
    plate, red = a_page_scene().parts
    return dataclasses.replace(a_page_scene(), parts=(plate, dataclasses.replace(red, transform=placed(z=0.5))))


ACTIONS = """(() => {
  const $ = (id) => document.getElementById(id), said = [];
  const note = () => said.push($("clock").textContent + " " + document.body.dataset.state);
  const press = (key) => { document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); note(); };
  const point = (type, x, y, buttons, pointerId = 1) => $("canvas").dispatchEvent(
    new PointerEvent(type, { clientX: x, clientY: y, buttons, pointerId, bubbles: true }));
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
  console.log("SAID NAME " + JSON.stringify(said));
})();"""
STATE = """console.log("SAID NAME " + JSON.stringify([document.body.dataset.state,
  document.getElementById("members").textContent]));"""
SECOND = """document.querySelectorAll("#members input")[0].click();"""
DRAGS = {
    "turn": 'point("pointerdown", 100, 100, 1); point("pointermove", 160, 130, 1); point("pointerup", 160, 130, 0);',
    "shift": 'point("pointerdown", 100, 100, 2); point("pointermove", 52, 148, 2); point("pointerup", 52, 148, 0);',
    "wheel": '$("canvas").dispatchEvent(new WheelEvent("wheel", { deltaY: -200, cancelable: true }));',
    "pinch": 'point("pointerdown", 99, 9, 1); point("pointerdown", 199, 9, 1, 2); point("pointermove", 249, 9, 1, 2);',
}
ABOVE, BELOW = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
ONE, TWO = {17: a_track()}, {17: a_track(), 3: a_track(phase=0.2)}
# name -> scene, tracks, fragment of the address, script at the end, scenes of members
PAGES: dict[str, tuple[Scene, dict[int, np.ndarray], str, str, dict[int, Scene] | None]] = {
    **{f"{name} at {t}": (a_page_scene(up), ONE, f"#t={t}", "", None)
       for name, up in (("up", ABOVE), ("down", BELOW)) for t in ("2", "2.5")},
    **{kind: (lit(kind), ONE, "#t=2&view=front", "", None) for kind in ("directional", "spot", "point")},
    "eight": (lit(*["point"] * 7, "spot"), ONE, "#t=2&view=front", "", None),
    **{name: (a_page_scene(), ONE, "#t=2", ACTIONS.replace("DRAG", drag), None) for name, drag in DRAGS.items()},
    "plays": (a_scene(BELOW), TWO, "", STATE, None),
    "second": (a_page_scene(), {17: a_track(), 3: a_track()}, "#t=2&view=front", SECOND, {3: raised()}),
}  # fmt: skip
ACROSS = 4  # pages beside each other in one window
SAID = re.compile(r'"SAID (\w+) (.*)", source:')


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Pictures (h, w, 3) of all pages and what they said: frames of one window, since a browser starts slowly."""
    folder = tmp_path_factory.mktemp("pages")
    frames = []
    for k, (name, (scene, tracks, fragment, script, scenes)) in enumerate(PAGES.items()):
        write_html(scene, TIMES, tracks, folder / f"{k}.html", scenes=scenes)
        text = (folder / f"{k}.html").read_text(encoding="utf-8")
        script = f"<script>{script.replace('NAME', name)}</script></body>" if script else "</body>"
        (folder / f"{k}.html").write_text(text.replace("</body>", script), encoding="utf-8")
        left, top = SIZE[0] * (k % ACROSS), SIZE[1] * (k // ACROSS)
        place = f"position:absolute;border:0;left:{left}px;top:{top}px;width:{SIZE[0]}px;height:{SIZE[1]}px"
        frames.append(f'<iframe src="{k}.html{html.escape(fragment)}" style="{place}"></iframe>')
    (folder / "all.html").write_text(f"<!doctype html><body>{''.join(frames)}</body>", encoding="utf-8")
    size = (SIZE[0] * ACROSS, SIZE[1] * math.ceil(len(PAGES) / ACROSS))
    done = chromium(folder / "all.html", size, f"--screenshot={folder / 'all.png'}")
    assert (folder / "all.png").exists(), done.stderr
    lines = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert all(SAID.search(line) for line in lines), lines
    said = {found[1]: json.loads(found[2]) for line in lines if (found := SAID.search(line))}
    whole = np.asarray(Image.open(folder / "all.png").convert("RGB")).astype(int)
    rows = whole.reshape(-1, SIZE[1], ACROSS, SIZE[0], 3).swapaxes(1, 2).reshape(-1, SIZE[1], SIZE[0], 3)
    return dict(zip(PAGES, rows, strict=False)), said


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium found to open pages with")


@needs_chromium
@pytest.mark.parametrize("name", ["up", "down"])
def test_a_page_shows_the_body_where_it_is(browser: Any, name: str) -> None:
    """The box stands right at the first instant and left half a turn later: where the window's camera sees it."""
    (first, later), scene = (browser[0][f"{name} at {t}"] for t in ("2", "2.5")), PAGES[f"{name} at 2"][0]
    camera = Camera.of(scene.centre, scene.size, scene.up)
    there, back = (0.7, 0.0, 0.0), (-0.7, 0.0, 0.0)
    assert is_red(first, camera, there) and not is_red(first, camera, back)
    assert is_red(later, camera, back) and not is_red(later, camera, there)


def front() -> Camera:
    scene = a_page_scene()
    return Camera.of(scene.centre, scene.size, scene.up, "front")


def green(picture: np.ndarray, point: tuple[float, float, float]) -> int:
    x, y = front().pixel(np.array(point), SIZE)
    return picture[round(y), round(x), 1]


@needs_chromium
@pytest.mark.parametrize(("kind", "darker"), [("directional", True), ("spot", True), ("point", False)])
def test_a_page_throws_shadows(browser: Any, kind: str, darker: bool) -> None:
    """Below the box the plate is darker than elsewhere, and as bright there under a point light, which throws none."""
    picture = browser[0][kind]
    assert is_red(picture, front(), (0.7, -0.2, 0.0))
    there, elsewhere = green(picture, (0.75, 0.0, -0.475)), green(picture, (-0.2, 0.0, -0.475))
    assert 0 < there < 0.75 * elsewhere if darker else there > 0.95 * elsewhere


@needs_chromium
def test_a_page_shows_eight_lights_at_once(browser: Any) -> None:
    """They add up: the plate is brighter than under one."""
    assert green(browser[0]["eight"], (-0.2, 0.0, -0.475)) > green(browser[0]["point"], (-0.2, 0.0, -0.475)) + 20


@needs_chromium
@pytest.mark.parametrize("drag", DRAGS)
def test_a_page_obeys_hands_and_keys(browser: Any, drag: str) -> None:
    """Keys move the clock; the hand moves the camera as the window's camera moves."""
    clock = ["2.00", "2.02", "2.03", "2.02", "3.00", "2.00", "2.00", "2.00", "2.25"]
    words = ["paused"] * 6 + ["playing"] + ["paused"] * 2
    wanted: list[object] = [f"{t} s {word}" for t, word in zip(clock, words, strict=True)]
    wanted += ["2.25 s paused"] * 3 + [False, "2", False] + ["2.25 s paused"] * 3 + [True, "1", True]
    assert browser[1][drag] == [*wanted, "2.00 s paused"]
    scene = a_page_scene()
    camera = Camera.of(scene.centre, scene.size, scene.up)
    moved = {
        "turn": camera.orbit(0.5, -0.25),
        "shift": camera.pan(-0.1, -0.1),
        "wheel": camera.zoom(math.exp(0.3)),
        "pinch": camera.zoom(1.5).pan(50 / 480 / 2, 0.0),
    }[drag]
    for corner in np.stack(np.meshgrid(*[(-0.17, 0.17)] * 2), -1).reshape(-1, 2):
        assert is_red(browser[0][drag], moved, (0.7 + corner[0], corner[1], 0.2))


@needs_chromium
def test_a_page_plays_and_lists_its_members(browser: Any) -> None:
    state, members = browser[1]["plays"]
    assert state == "playing" and members.split() == ["Members", "member", "17", "member", "3"]


@needs_chromium
def test_a_page_shows_a_member_in_its_own_shape(browser: Any) -> None:
    """With the first member off, the second is solid: its box stands half a metre higher."""
    assert is_red(browser[0]["second"], front(), (0.7, -0.2, 0.5))
    assert not is_red(browser[0]["second"], front(), (0.7, -0.2, 0.0))


@needs_chromium
def test_a_page_says_so_where_webgl_is_missing(tmp_path: Path) -> None:
    path, _ = page_of(tmp_path, a_scene(), {17: a_track()})
    done = chromium(path, SIZE, "--disable-3d-apis", "--dump-dom")
    assert 'data-state="failed"' in done.stdout
    assert re.search(r'id="message">[^<]*WebGL2[^<]*does not offer', done.stdout)
