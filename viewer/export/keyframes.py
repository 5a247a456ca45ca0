"""Keys of an exported motion: so many that no joint is seen to open while a program plays it.

Programs run straight from key to key: positions linearly, quaternions on the great arc. Two bodies then do not keep to
their joint. Problem: the fewest keys, by bisection, between which no joint opens by a pixel.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from shiftjax.joints import KINDS
from shiftjax.mechanism.records import FrameRef
from shiftjax.poses import continuous, interpolated, rotate, to_world
from shiftjax.record import record
from shiftjax.viewer.export.pose_tracks import MOST, PoseTracks
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion.mechanism import axis_of, mechanism_from
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene

HEIGHT = 1080  # pixels of the shorter side of a page or window
PIXEL = 1.0  # of a gap that is not seen
ROUNDS = 12  # of bisection


@record
class _Ends:
    """The frames of the joints of a member."""

    nodes: tuple[np.ndarray, np.ndarray]  # (j,) of parents, of children
    points: tuple[np.ndarray, np.ndarray]  # (j, 3) in the nodes [m]
    slides: np.ndarray  # (j, 3) unit axes of sliders in the parents' axes, along which they may be anywhere, else zeros


def refined(motion: PoseTracks, study: StudyLike, scene: Scene) -> PoseTracks:
    """The motion with as many keys as keep the largest gap of a joint below a pixel, and a remark that tells it.

    Gaps are taken halfway between keys, where they are largest.

    Args:
        motion: of members of the study at some instants. scene: of whose whole a pixel is a part.
    """
    camera = Camera.of(scene.centre, scene.size, scene.up)
    pixel = 2 * camera.distance * np.tan(camera.view_angle / 2) / HEIGHT
    ends = {member: _ends(study, member) for member in motion.poses}
    time, poses = motion.time, dict(motion.poses)
    gaps, middles, at = _measured(study, time, poses, ends)
    for _ in range(ROUNDS):
        wide = np.flatnonzero((gaps > PIXEL * pixel) & _apart(time))
        if not len(wide) or len(time) + len(wide) > MOST:
            break
        poses = {
            member: continuous(np.insert(track, wide + 1, at[member][wide], axis=0)) for member, track in poses.items()
        }
        time = np.insert(time, wide + 1, middles[wide])
        gaps, middles, at = _measured(study, time, poses, ends)
    largest = gaps.max(initial=0.0) / pixel
    count = f"{len(motion.time)} → {len(time)}" if len(time) > len(motion.time) else f"{len(time)}"
    remark = f"keys: {count}, largest gap {largest:.2g} px of {HEIGHT}"
    return dataclasses.replace(motion, time=time, poses=poses, remarks=(*motion.remarks, remark))


def _measured(
    study: StudyLike, time: np.ndarray, poses: dict[int, np.ndarray], ends: dict[int, _Ends]
) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
    """Halfway between the keys (k,): the largest gap of any joint (k - 1,) [m], times, and member -> poses."""
    middles = 0.5 * (time[:-1] + time[1:])
    true = {member: study.poses(member, middles) for member in poses}
    gaps = np.zeros(len(middles))
    for member, track in poses.items():
        played = interpolated(track[:-1], track[1:], np.full(track[1:].shape[:2], 0.5))
        joint_ends = ends[member]
        parent, child = (
            to_world(played[:, nodes], points) - to_world(true[member][:, nodes], points)
            for nodes, points in zip(joint_ends.nodes, joint_ends.points, strict=True)
        )
        axes = rotate(true[member][:, joint_ends.nodes[0]], joint_ends.slides)
        off = child - parent
        off -= (off * axes).sum(-1, keepdims=True) * axes
        gaps = np.maximum(gaps, np.linalg.norm(off, axis=-1).max(-1, initial=0.0))
    return gaps, middles, true


def _ends(study: StudyLike, member: int) -> _Ends:
    """The frames of all joints of a member."""
    mechanism = mechanism_from(study.model_of(member))
    node = {path: k for k, path in enumerate(study.nodes)}
    joints = [j for j in mechanism.joints.values() if j.parent.body in node and j.child.body in node]
    joints = [joint for joint in joints if not KINDS[joint.type].free]

    def side(refs: list[FrameRef]) -> tuple[np.ndarray, np.ndarray]:
        points = np.array([mechanism.frames[ref.path][:3, 3] for ref in refs]).reshape(-1, 3)
        return np.array([node[ref.body] for ref in refs], np.int64), points

    sides = side([joint.parent for joint in joints]), side([joint.child for joint in joints])
    slides = [
        mechanism.frames[joint.parent.path][:3, :3] @ axis_of(joint) * (KINDS[joint.type].units == ("m",))
        for joint in joints
    ]
    nodes, points = zip(*sides, strict=True)
    return _Ends(nodes, points, np.array(slides).reshape(-1, 3))


def _apart(time: np.ndarray) -> np.ndarray:
    """Whether a key between two others differs from both in single precision, as files hold it."""
    elapsed = (time - time[0]).astype(np.float32)
    middle = (0.5 * (time[:-1] + time[1:]) - time[0]).astype(np.float32)
    return (middle > elapsed[:-1]) & (middle < elapsed[1:])
