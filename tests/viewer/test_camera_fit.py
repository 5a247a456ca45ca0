"""The camera keeps the motion in the picture: fitted to the whole of it, following a body, the ground below it."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.errors import ModelError
from shiftjax.poses import matrices
from shiftjax.viewer.gui.actions import actions, looking
from shiftjax.viewer.gui.state.derived import visibility
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.motion import framing, reach
from shiftjax.viewer.scene.affine import transformed
from shiftjax.viewer.scene.camera import VIEWS, Camera
from shiftjax.viewer.study import design_views
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

MODELS = ("vehicle_chassis", "slider_crank_turntable")  # one falls, one swings
ROUNDING = 1e-9  # of coordinates of the picture, in -1..1
STEPS = 301  # instants that are looked at, between the stored ones too


@pytest.fixture(scope="module", params=MODELS)
def design(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Design:
    """A run of two seconds, stored."""
    target = tmp_path_factory.mktemp("runs") / f"{request.param}.zarr"
    words = ["run", request.param, "--span", "2", "--output-step", "0.01", "--out", str(target)]
    assert main(words) == 0
    return Design(MemberScenes(ViewedStudy.open(target)), 0)


def on_screen(camera: Camera, points: np.ndarray, aspect: float) -> np.ndarray:
    """(k, 2) of points (k, 3) in the picture, from -1 to 1; NaN behind the eye."""
    clip = np.column_stack([points, np.ones(len(points))]) @ (camera.projection(aspect) @ camera.view()).T
    return np.where(clip[:, 3:] > 0, clip[:, :2] / clip[:, 3:], np.nan)


@functools.cache
def motion(study: ViewedStudy) -> np.ndarray:
    """(n, nodes, 7) poses of the first member, between stored instants too."""
    return study.poses(0, np.linspace(study.time[0], study.time[-1], STEPS))


def share_inside(way: design_views.Framed, design: Design, aspect: float) -> float:
    """Share of instants at which the box of every body is wholly inside the picture."""
    boxes, good = framing.boxes_of(design.scene), 0
    assert isinstance(design.study, ViewedStudy)
    for poses in motion(design.study):
        corners = framing.corners_at(boxes, poses).reshape(-1, 3)
        seen = on_screen(way.camera_at(poses), corners[np.isfinite(corners).all(1)], aspect)
        good += bool((np.abs(seen) <= 1 + ROUNDING).all())
    return good / STEPS


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("aspect", [16 / 9, 0.6])
def test_every_body_stays_in_the_picture(design: Design, view: str, aspect: float) -> None:
    (way,) = design_views.framed([design], (), view, aspect)
    assert share_inside(way, design, aspect) == 1.0


def test_the_fit_is_not_loose(design: Design) -> None:
    """Some corner comes within the margin of an edge: the picture is not larger than it must be."""
    (way,) = design_views.framed([design], (), "iso", 16 / 9)
    points = reach.extent_of_motion(design.study, design.scene, [0]).points
    assert np.abs(on_screen(way.camera, points, 16 / 9)).max() > 0.9


def test_what_stood_outside_before(design: Design) -> None:
    """A camera fitted to the first pose alone loses both mechanisms."""
    still = Camera.of(design.scene.centre, design.scene.size, design.scene.up)
    assert share_inside(design_views.Framed(still, None, None, np.zeros(3)), design, 16 / 9) < 0.9


def test_all_bodies_are_followed(design: Design) -> None:
    (way,) = design_views.framed([design], (), "iso", 16 / 9, follow=framing.ALL)
    assert way.followed is not None
    for t in np.linspace(0.0, 2.0, 21):
        poses = design.study.poses(0, float(t))
        corners = framing.corners_at(way.followed.boxes, poses[way.followed.nodes]).reshape(-1, 3)
        assert (np.abs(on_screen(way.camera_at(poses), corners, 16 / 9)) <= 1 + ROUNDING).all()


def test_a_followed_body_stays_in_its_place(design: Design) -> None:
    name = design.scene.nodes[1].rpartition(":")[2]
    (way,) = design_views.framed([design], (), "iso", 16 / 9, follow=name)
    assert way.followed is not None
    places = []
    for t in np.linspace(0.0, 2.0, 21):
        poses = design.study.poses(0, float(t))
        places.append(on_screen(way.camera_at(poses), way.followed.centre(poses)[None], 16 / 9)[0])
    assert np.ptp(places, axis=0).max() < 1e-9


def test_nothing_of_that_name_to_follow(design: Design) -> None:
    with pytest.raises(ModelError, match="no such body"):
        design_views.framed([design], (), "iso", 1.0, follow="nonsense")


def test_the_ground_is_the_lowest_point(design: Design) -> None:
    (way,) = design_views.framed([design], (), "iso", 1.0)
    X, up = matrices(design.study.track(0)), np.array(design.scene.up)
    heights = [(transformed(X[k, part.node] @ part.transform, part.mesh.vertices) @ up).min()
               for k in range(len(X)) for part in design.scene.parts if part.kind in framing.FRAMED]  # fmt: skip
    assert way.ground == pytest.approx(min(heights), abs=0.005 * design.scene.size)
    assert design_views.framed([design], (), "iso", 1.0, ground=-3.0)[0].ground == -3.0


def test_the_window_begins_with_the_whole_motion(design: Design) -> None:
    state = WindowState(MemberScenes(design.study, design.scene))
    for aspect in (1.0, 1.8, 0.5):
        state.view.resize(aspect)
        assert share_inside(design_views.Framed(state.current_camera(), None, None, np.zeros(3)), design, aspect) == 1.0
    actions.run(state, "front")
    assert share_inside(design_views.Framed(state.current_camera(), None, None, np.zeros(3)), design, 0.5) == 1.0
    assert state.ground() == design_views.framed([design], (), "iso", 1.0)[0].ground


def test_a_moved_camera_stays_where_it_is(design: Design) -> None:
    state = WindowState(MemberScenes(design.study, design.scene))
    looking.orbit(state, 0.1, 0.0)
    before = state.view.camera
    state.view.resize(2.0)
    assert state.view.camera == before
    actions.run(state, "top")
    assert state.view.camera.distance == before.distance


def test_frame_all_frames_what_is_drawn_now(design: Design) -> None:
    state = WindowState(MemberScenes(design.study, design.scene))
    state.go_to(2.0)
    actions.run(state, "frame_all")
    now = framing.extent_at(design.scene, state.poses()).points
    assert 0.9 < np.abs(on_screen(state.current_camera(), now, 1.0)).max() <= 1.0
    only = design.scene.nodes[1]
    state.pick_path(only)
    actions.run(state, "isolate")
    actions.run(state, "frame_all")
    boxes = framing.boxes_of(design.scene, visibility.hidden_paths(state))
    corners = framing.corners_at(boxes, state.poses()).reshape(-1, 3)
    corners = corners[np.isfinite(corners).all(1)]
    assert 0.9 < np.abs(on_screen(state.current_camera(), corners, 1.0)).max() <= 1.0


def test_following_is_centred_and_survives_standard_views(design: Design) -> None:
    state = WindowState(MemberScenes(design.study, design.scene))
    state.pick_path(design.scene.nodes[1])
    actions.run(state, "follow_pick")
    for name in ("front", "top", "iso"):
        actions.run(state, name)
        assert state.view.followed is not None
        for t in (0.0, 1.0, 2.0):
            state.go_to(t)
            middle = state.view.followed.centre(state.poses())
            assert np.allclose(on_screen(state.current_camera(), middle[None], 1.0), 0.0, atol=1e-9)


def test_only_the_members_shown_are_read(tmp_path: Path) -> None:
    """Of a store with many members, the fit reads those that are shown: counted, not timed."""
    target = tmp_path / "many.zarr"
    words = ["sweep", "four_bar", "--vary", "four_bar:crank:tip.T[0]=0.15:0.25:40", "--span", "0.1",
             "--keep", "all", "--out", str(target)]  # fmt: skip
    assert main(words) == 0
    study, read = ViewedStudy.open(target), []
    scenes, track = MemberScenes(study), study.track
    study.track = lambda member: (read.append(member), track(member))[1]  # type: ignore[method-assign]
    design_views.framed([Design(scenes, 3)], [5, 7], "iso", 1.0)
    assert set(read) == {3, 5, 7}


@pytest.mark.parametrize("orthographic", [False, True])
def test_a_fit_touches_the_margin_on_both_sides(orthographic: bool) -> None:
    """Of random points, some are at the margin of the tighter direction on both sides, and none beyond."""
    rng = np.random.default_rng(5)
    for aspect in (0.5, 1.0, 2.0):
        points = rng.uniform(-1, 1, (50, 3)) * rng.uniform(0.1, 5, 3) + rng.uniform(-9, 9, 3)
        camera = Camera((0.0, 0.0, 0.0), 1.0, 0.3, 0.4, orthographic=orthographic).fitted(points, aspect)
        seen = on_screen(camera, points, aspect)
        assert (np.abs(seen) <= 1 / 1.05 + ROUNDING).all()
        tight = [(-seen[:, k].min(), seen[:, k].max()) for k in (0, 1)]
        if not orthographic or camera.distance < 20:
            low, high = max(tight)
            assert low == pytest.approx(high)
