"""Keys of exported motions: between them no joint is seen to open."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.store import store
from shiftjax.formats import load
from shiftjax.poses import interpolated, to_world
from shiftjax.run.simulate import simulate
from shiftjax.viewer.export import write_glb, write_html
from shiftjax.viewer.export.keyframes import HEIGHT, _ends, _measured, refined
from shiftjax.viewer.export.pose_tracks import motion_of
from shiftjax.viewer.motion.mechanism import mechanism_from
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.viewer.export.test_export import Glb

LENGTH = "coupler:tip.T[0]"
ELSEWHERE = 1.2  # of a pixel: between keys, not halfway only


@pytest.fixture(scope="module")
def study() -> ViewedStudy:
    found = simulate(load("four_bar"), vary={LENGTH: np.array([0.45, 0.5])}, span=1.0, output_step=0.1, keep="all")
    return ViewedStudy.of(found)


@pytest.fixture(scope="module")
def scene(study: ViewedStudy) -> Scene:
    return MemberScenes(study).first


def widest(study: ViewedStudy, scene: Scene, time: np.ndarray, tracks: dict[int, np.ndarray], parts: int = 8) -> float:
    """The largest distance [pixels] of the frames of a hinge while a program plays straight from key to key."""
    camera = Camera.of(scene.centre, scene.size, scene.up)
    pixel = 2 * camera.distance * np.tan(camera.view_angle / 2) / HEIGHT
    worst = 0.0
    for member, track in tracks.items():
        mechanism = mechanism_from(study.model_of(member))
        for part in np.arange(1, parts) / parts:
            played = interpolated(track[:-1], track[1:], np.full(track[1:].shape[:2], part))
            poses = dict(zip(study.nodes, np.moveaxis(played, 1, 0), strict=True))
            for joint in mechanism.joints.values():
                ends = [to_world(poses[r.body], mechanism.frames[r.path][:3, 3]) for r in (joint.parent, joint.child)]
                worst = max(worst, float(np.linalg.norm(ends[1] - ends[0], axis=-1).max()))
    return worst / pixel


def test_keys_are_added_until_no_joint_is_seen_to_open(study: ViewedStudy, scene: Scene) -> None:
    tracks = {member: study.track(member) for member in (0, 1)}
    motion = motion_of(scene, study.time, tracks)
    before = widest(study, scene, motion.time, motion.poses)
    found = refined(motion, study, scene)
    assert before > 20 and widest(study, scene, found.time, found.poses) < ELSEWHERE
    assert set(motion.time) <= set(found.time) and (np.diff(found.elapsed) > 0).all()
    for member, track in found.poses.items():
        kept = np.isin(found.time, motion.time)
        np.testing.assert_array_equal(track[kept, :, :3], motion.poses[member][:, :, :3])
        np.testing.assert_allclose(track[:, :, :3], study.poses(member, found.time)[:, :, :3], rtol=0, atol=1e-9)
        assert ((track[1:, :, 3:] * track[:-1, :, 3:]).sum(-1) > 0).all()
    told = found.remarks[-1]
    match = re.fullmatch(r"keys: 11 → (\d+), largest gap (\S+) px of 1080", told)
    assert match and int(match[1]) == len(found.time) and float(match[2]) <= 1.0


def test_how_far_a_slider_has_come_is_no_gap() -> None:
    """A piston that moves alone on its rail: straight keys leave it behind the motion, but on the rail."""
    study = ViewedStudy.of(simulate(load("two_slider_cranks"), span=0.5, output_step=0.05, keep="all"))
    found = _measured(study, study.time, {0: study.track(0)}, {0: _ends(study, 0)})[0]
    hinges = _ends(study, 0)
    sliding = hinges.slides.any(1)
    assert sliding.any() and not sliding.all()
    only = dataclasses.replace(
        hinges,
        nodes=(hinges.nodes[0][sliding], hinges.nodes[1][sliding]),
        points=(hinges.points[0][sliding], hinges.points[1][sliding]),
        slides=hinges.slides[sliding],
    )
    first = only.nodes[0] == study.nodes.index("fixed")  # rails on ground do not move
    assert first.any()
    rail = dataclasses.replace(
        only, nodes=(only.nodes[0][first], only.nodes[1][first]), points=(only.points[0][first], only.points[1][first]),
        slides=only.slides[first],
    )  # fmt: skip
    gaps = _measured(study, study.time, {0: study.track(0)}, {0: rail})[0]
    assert gaps.max() < 1e-9 < 1e-3 < found.max()


def test_keys_that_are_close_enough_are_left(study: ViewedStudy, scene: Scene) -> None:
    time = np.linspace(0.0, 0.1, 101)
    motion = motion_of(scene, time, {0: study.poses(0, time)})
    found = refined(motion, study, scene)
    np.testing.assert_array_equal(found.time, time)
    assert re.fullmatch(r"keys: 101, largest gap \S+ px of 1080", found.remarks[-1])


def test_both_kinds_of_file_hold_the_keys(study: ViewedStudy, scene: Scene, tmp_path: Path) -> None:
    tracks = {0: study.track(0)}
    expected = refined(motion_of(scene, study.time, tracks), study, scene)
    (said,) = (r for r in write_glb(scene, study.time, tracks, tmp_path / "a.glb", study=study) if r.startswith("keys"))
    assert said == expected.remarks[-1]
    times, _ = next(iter(Glb(tmp_path / "a.glb").outputs().values()))
    np.testing.assert_array_equal(times, expected.elapsed)
    write_html(scene, study.time, tracks, tmp_path / "a.html", study=study)
    found = re.search(r'(?s)id="data">(.*?)</script>', (tmp_path / "a.html").read_text(encoding="utf-8"))
    assert found
    data = json.loads(found[1])
    assert data["time"][1] == 4 * len(expected.time) and said in data["remarks"]


def test_the_command_tells_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = simulate(load("four_bar"), span=0.5, output_step=0.1, keep="all")
    name = store.write(run, tmp_path / "run.zarr")
    assert main(["export", str(name), "--html", str(tmp_path / "a.html")]) == 0
    assert re.search(r"note: keys: 6 → \d+, largest gap 0\.\d+ px of 1080", capsys.readouterr().err)
