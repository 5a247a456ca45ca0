"""Poses and frames of results: transforms there and back, composition along the tree, joint placement."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shiftjax.formats import load
from shiftjax.poses import matrices, quaternions, rotate, rotation_angle, to_local, to_world
from shiftjax.run.simulate import simulate

ROUNDING = 1e-12  # products of a few numbers of size 1


def random_poses(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    quaternion = rng.normal(size=(count, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1)[:, None]
    return np.concatenate([rng.normal(size=(count, 3)), quaternion], axis=1)


def test_e7_points_there_and_back() -> None:
    """to_local undoes to_world, and a turned vector keeps its length."""
    pose, point = random_poses(50), np.random.default_rng(4).normal(size=(50, 3))
    assert np.allclose(to_local(pose, to_world(pose, point)), point, atol=ROUNDING)
    assert np.allclose(np.linalg.norm(rotate(pose, point), axis=1), np.linalg.norm(point, axis=1), atol=ROUNDING)
    reference = Rotation.from_quat(pose[:, [4, 5, 6, 3]]).apply(point) + pose[:, :3]
    assert np.allclose(to_world(pose, point), reference, atol=ROUNDING)


@pytest.mark.parametrize("name", ["four_bar", "seven_axis_arm", "double_wishbone"])
def test_m9_recorded_poses_agree_with_recorded_frames(name: str) -> None:
    """A frame's recorded position is its body's recorded pose applied to the frame's T."""
    model = load(name)
    frames = [(path, f.name, f.T) for path, body in model.bodies() for f in body.frames][:6]
    channels = [f"{path}:{frame}.position" for path, frame, _ in frames]
    result = simulate(model, span=0.05, output_step=0.01, channels=channels, keep="all")
    for (path, _, T), channel in zip(frames, channels, strict=True):
        pose = result.poses[path]
        assert np.allclose(to_world(pose, np.asarray(T)), result.channels[channel], atol=ROUNDING)


def test_d16_child_frame_is_parent_frame_times_motion() -> None:
    """X_child = X_parent F_parent J(q) F_child^-1, for a joint written with the tree and one written against it."""
    model = load("double_pendulum")
    result = simulate(model, span=0.5, output_step=0.1, channels=["shoulder.q", "elbow.q"], keep="all")
    joints = dict(model.joints())
    for path, joint in joints.items():
        placed = {}
        for side, ref in (("parent", joint.parent), ("child", joint.child)):
            ground = np.tile([0.0, 0, 0, 1, 0, 0, 0], (len(result.time), 1))
            pose = ground if ref.body == "fixed" else np.reshape(result.poses[ref.body], (-1, 7))
            body_frames = model.frames if ref.body == "fixed" else dict(model.bodies())[ref.body].frames
            frame = next((f for f in body_frames if f.name == ref.frame), None)
            turned = Rotation.from_quat(pose[:, [4, 5, 6, 3]])
            T, R = (np.zeros(3), np.eye(3)) if frame is None else (np.asarray(frame.T), np.asarray(frame.R))
            placed[side] = (to_world(pose, T), turned * Rotation.from_matrix(R))
        q = result.channels[f"{path.rsplit(':')[-1]}.q"]
        axis = np.asarray(joint.axis) if joint.axis else np.eye(3)["xyz".index(joint.type[-1])]
        expected = placed["parent"][1] * Rotation.from_rotvec(q[:, None] * axis)
        assert np.allclose(placed["parent"][0], placed["child"][0], atol=ROUNDING)
        assert np.allclose((expected.inv() * placed["child"][1]).magnitude(), 0, atol=ROUNDING)


def test_d34_loops_with_axes_off_the_world_axes_stay_closed() -> None:
    """Bennett's linkage, no axis along the world's: closed to rounding through ten seconds."""
    result = simulate("bennett", span=10.0)
    assert result.status == 0
    assert result.certificate["gap"] < 1e-12  # rounding of metres over some ten joints
    assert result.certificate["repartitions"] > 0


def test_matrices_and_quaternions_of_poses() -> None:
    """Both ways between quaternions and matrices, for poses of any leading axes, against scipy."""
    pose = random_poses(24)
    expected = Rotation.from_quat(pose[:, [4, 5, 6, 3]]).as_matrix()
    found = matrices(pose.reshape(2, 12, 7))
    assert np.allclose(found[..., :3, :3], expected.reshape(2, 12, 3, 3), atol=ROUNDING)
    assert np.array_equal(found[..., :3, 3], pose[:, :3].reshape(2, 12, 3))
    assert (found[..., 3, :] == [0, 0, 0, 1]).all()
    same_side = pose[:, 3:] * np.sign(pose[:, 3:4])
    assert np.allclose(quaternions(found[..., :3, :3]).reshape(-1, 4), same_side, atol=ROUNDING)
    half_turns = np.eye(4)[1:]
    assert np.allclose(np.abs(quaternions(matrices(np.hstack([np.zeros((3, 3)), half_turns]))[:, :3, :3])), half_turns)


def test_rotation_angle_of_two_poses() -> None:
    one, other = random_poses(30)[:15], random_poses(30)[15:]
    both = [Rotation.from_quat(pose[:, [4, 5, 6, 3]]) for pose in (one, other)]
    found = rotation_angle(one, other)
    assert np.allclose(np.minimum(found, 2 * np.pi - found), (both[0].inv() * both[1]).magnitude(), atol=ROUNDING)
