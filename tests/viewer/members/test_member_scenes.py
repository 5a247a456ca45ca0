"""Every member of a study in its own lengths: scenes, ghosts, exports, the state of the window."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from shiftjax import simulate
from shiftjax.ensembles.store import store
from shiftjax.poses import matrices
from shiftjax.viewer.export import write_glb, write_html
from shiftjax.viewer.gl.ghost_instances import ghost_meshes
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import FAST, Ghosts, Mesh, ScenePart, Snapshot
from shiftjax.viewer.study.ghosts import ghosts_of
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes.bars import COUPLER, CRANK, ROCKER
from tests.scenes.studio import gl, no_errors  # noqa: F401
from tests.viewer.export.test_export import Glb

LENGTHS = np.linspace(0.12, 0.24, 7)  # of the cranks [m]
MEET = 1e-6  # of the model's size: loops are closed to 1e-12, meshes are in single precision
TIME = 0.12  # s, a stored instant: between two of them bodies are moved each by itself
NONE: frozenset[str] = frozenset()
MARKS = frozenset({"kind:frame", "kind:centre", "kind:joint"})
SIZE = (320, 240)
BLACK = np.array([[0.0, 0.0, 0.0, 1.0]])
DARKER = 60  # of 255: a black body against the background


def swept(folder: Path, path: str, values: np.ndarray, model: str = "four_bar", step: float = 1e-3) -> ViewedStudy:
    """A model with one number varied, 200 steps, all kept."""
    result = simulate(model, span=200 * step, step=step, output_step=20 * step, vary={path: values}, keep="all")
    return ViewedStudy.open(store.write(result, folder / "sweep.zarr"))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> MemberScenes:
    return MemberScenes(swept(tmp_path_factory.mktemp("study"), "crank:tip.T[0]", LENGTHS))


def ends_of(mesh: Mesh, transform: np.ndarray) -> np.ndarray:
    """(2, 3) middles of the round ends of a bar of `shapes.link`: it reaches one unit beyond each."""
    half = float(np.abs(mesh.vertices[:, 0].astype(float)).max()) - 1.0
    return transformed(transform, np.array([[-half, 0.0, 0.0], [half, 0.0, 0.0]]))


def ends_in_world(parts: Sequence[ScenePart], poses: np.ndarray) -> dict[str, np.ndarray]:
    """Path of a body -> (2, 3) ends of its bar."""
    transforms = matrices(poses)
    return {
        part.path: ends_of(part.mesh, transforms[part.node] @ part.transform) for part in parts if part.kind == "body"
    }


def gap(ends: dict[str, np.ndarray]) -> float:
    """The widest gap [m] at the four joints of a four-bar, seen along its axes, y: links lie in layers."""
    first, last = np.zeros(3), np.array([0.5, 0.0, 0.0])
    (a, b), (c, d), (e, f) = ends[CRANK], ends[COUPLER], ends[ROCKER]
    return max(float(np.linalg.norm((p - q)[[0, 2]])) for p, q in ((a, first), (b, c), (d, f), (e, last)))


def test_the_bars_of_every_member_meet(scenes: MemberScenes) -> None:
    for member in range(len(LENGTHS)):
        scene, poses = scenes.scene(member), scenes.study.poses(member, TIME)
        ends = ends_in_world(scene.parts, poses)
        assert gap(ends) < MEET * scene.size
        assert np.linalg.norm(ends[CRANK][1] - ends[CRANK][0]) == pytest.approx(LENGTHS[member], abs=MEET)
    first = scenes.study.poses(6, TIME)
    assert gap(ends_in_world(scenes.first.parts, first)) > 0.05, "in another member's lengths they would not"


def test_the_bars_of_every_ghost_meet_and_equal_bars_are_one_draw(scenes: MemberScenes) -> None:
    members = np.arange(1, len(LENGTHS))
    ghosts = ghosts_of(scenes, members, TIME)
    assert ghosts is not None
    transforms, ends = matrices(ghosts.poses), [{} for _ in members]
    found = ghost_meshes(ghosts.parts, NONE)
    for group in found:
        for k, node, transform in zip(group.ghosts, group.nodes, group.transforms, strict=True):
            ends[k][scenes.first.nodes[node]] = ends_of(group.mesh, transforms[k, node] @ transform)
    assert max(map(gap, ends)) < MEET * scenes.first.size
    assert len(found) == len({part.mesh.key for own in ghosts.parts for part in own}) < 3 * len(members)
    assert all((np.diff(group.ghosts) >= 0).all() for group in found), "nearer to the eye in the metric's order"


def test_sizes_and_camera_are_those_of_the_first(scenes: MemberScenes) -> None:
    for member in range(len(LENGTHS)):
        scene = scenes.scene(member)
        assert (scene.size, scene.centre, scene.up) == (scenes.first.size, scenes.first.centre, scenes.first.up)
        assert scene.nodes == scenes.first.nodes and scenes.scene(member) is scene
    widths = {np.linalg.norm(scenes.scene(k).parts[0].transform[:3, 1]).round(12) for k in range(len(LENGTHS))}
    assert len(widths) == 1, "a longer crank does not make all bars wider"


@pytest.mark.parametrize("path", ["model_parameters.gravity[2]", "coupler.mass", "crank_pivot.initial_velocity"])
def test_members_that_look_alike_share_one_scene_and_one_draw_a_mesh(tmp_path: Path, path: str) -> None:
    """F15: nothing is built anew and nothing is drawn more often where a study varies nothing that is seen."""
    plain = MemberScenes(swept(tmp_path, path, np.linspace(5.0, 6.0, 4)))
    assert all(plain.scene(member) is plain.first for member in range(4))
    ghosts = ghosts_of(plain, np.arange(4), TIME)
    assert ghosts is not None and len({id(own) for own in ghosts.parts}) == 1
    assert len(ghost_meshes(ghosts.parts, NONE)) == len({part.mesh.key for part in ghosts.parts[0]})


def test_every_member_has_its_springs(tmp_path: Path) -> None:
    """Between the points of its own model."""
    own = MemberScenes(swept(tmp_path, "fixed:c.T[0]", np.array([0.014, 0.02]), "andrews", 1e-5))
    first, second = (own.scene(member).springs for member in (0, 1))
    assert len(first) == len(second) == 1
    assert not np.array_equal(first[0].points, second[0].points), "the spring hangs where the first member's does"


def test_the_state_shows_the_member_looked_at(scenes: MemberScenes) -> None:
    state = WindowState(MemberScenes(scenes.study), look=FAST)
    camera = state.view.camera
    for member in (0, 6, 3):
        state.show_member(member)
        state.go_to(TIME)
        assert gap(ends_in_world(state.scene.parts, state.poses())) < MEET * state.scene.size
        assert state.mechanism.model.numbers()[f"{CRANK}:tip.T[0]"] == LENGTHS[member]
        assert state.mechanism.frames[f"{CRANK}:tip"][0, 3] == LENGTHS[member]
    assert state.view.camera == camera
    kept = state.scene
    state.show_member(99)
    assert state.choice.member == 3 and state.scene is kept, "a refusal changes nothing"


def test_exports_hold_every_member_in_its_own_lengths(scenes: MemberScenes, tmp_path: Path) -> None:
    members = (5, 0, 2)
    tracks, chosen = {k: scenes.study.track(k) for k in members}, {k: scenes.scene(k) for k in members}
    write_glb(chosen[5], scenes.study.time, tracks, tmp_path / "a.glb", scenes=chosen)
    glb = Glb(tmp_path / "a.glb")
    cranks = [node for node in glb.nodes if node.get("name") == CRANK and "children" in node]
    for member, crank in zip(members, cranks, strict=True):
        bar = next(glb.nodes[n] for n in crank["children"] if "mesh" in glb.nodes[n])
        (primitive,) = glb.json["meshes"][bar["mesh"]]["primitives"]
        half = float(np.abs(glb.array(primitive["attributes"]["POSITION"])[:, 0]).max()) - 1.0
        assert 2 * half * bar["scale"][0] == pytest.approx(LENGTHS[member], abs=MEET)
    write_html(chosen[5], scenes.study.time, tracks, tmp_path / "a.html", scenes=chosen)
    found = re.search(r'(?s)id="data">(.*?)</script>', (tmp_path / "a.html").read_text(encoding="utf-8"))
    assert found
    data = json.loads(found[1])
    for member, item in zip(members, data["members"], strict=True):
        assert item["name"] == str(member)
        cast = data["casts"][item["cast"]]
        transforms = [np.array(p["transform"]).reshape(4, 4).T for p in cast]
        parts = [part for part in chosen[member].parts if part.kind not in ("frame", "centre")]
        assert np.array_equal(transforms, [part.transform for part in parts])


def test_a_ghost_is_seen_where_its_own_crank_is(scenes: MemberScenes) -> None:
    """Two points of the longest crank: within the first one's length and beyond it."""
    poses, camera = (
        scenes.study.poses(6, TIME),
        Camera.of(scenes.first.centre, scenes.first.size, scenes.first.up, "front"),
    )
    base, tip = ends_in_world(scenes.bodies(6), poses)[CRANK]
    pixels = [camera.pixel(base + part * (tip - base), SIZE) for part in (0.3, 0.8)]
    away = scenes.study.poses(0, TIME).copy()
    away[1:, :3] += 9.0
    renderer, seen = Renderer(scenes.first, FAST, SIZE), []
    renderer.draw(Snapshot(away, MARKS), camera)
    empty = renderer.image().astype(int)
    for own in ((scenes.bodies(6),), ()):
        renderer.draw(Snapshot(away, MARKS, ghosts=Ghosts(poses[None], BLACK, own)), camera)
        darker = (empty - renderer.image()).max(-1) > DARKER
        seen.append([bool(darker[round(y), round(x)]) for x, y in pixels])
    renderer.release()
    assert seen == [[True, True], [True, False]]
