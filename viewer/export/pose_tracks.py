"""Instants and poses of an exported file: checked, decimated, finite, with quaternions continuous in sign."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.numerics.spacing import nearest_places
from shiftjax.poses import continuous, last_valid, matrices, quaternions, rotation_angle
from shiftjax.record import record
from shiftjax.viewer.scene.scene import Scene, SceneSpring
from shiftjax.viewer.scene.spring_meshes import stretched

PER_SECOND = 60  # instants kept by default: the rate of a screen
FEWEST = 240  # instants allowed for short motions, for slow motion
MOST = 5_000
LEAST = 1e-9  # m, of a spring's length: readers cannot invert a scale of zero
WIDE_TURN = math.radians(90.0)  # between two instants; beyond 180 degrees interpolation takes the wrong direction


@record
class PoseTracks:
    """Members at the same instants."""

    time: np.ndarray  # (k,) [s], increasing, also once rounded to single precision after the first is taken off
    poses: dict[int, np.ndarray]  # member -> (k, nodes, 7) [m], unit quaternions w first
    remarks: tuple[str, ...]  # messages on what was left out or filled in

    @property
    def elapsed(self) -> np.ndarray:
        """(k,) float32, time since the first instant [s]"""
        return (self.time - self.time[0]).astype(np.float32)


def motion_of(
    scene: Scene, time: np.ndarray, tracks: Mapping[int, np.ndarray], frames: int | None = None
) -> PoseTracks:
    """The motion that goes into a file.

    Args:
        scene: whose nodes the poses are of.
        time: (n,) increasing [s].
        tracks: member -> (n, nodes, 7) poses. Where one is not finite, the last good one before it is held.
        frames: the most instants to keep; by default 60 per second of motion (240 for a short one), at most 5 000.

    Raises:
        ModelError: for shapes that do not fit, times that do not increase, a member without any finite pose.
    """
    time = np.asarray(time, float)
    _check_time(time)
    if not tracks:
        raise ModelError("tracks", "no member", "one or more", "Choose members to export.")
    if frames is not None and frames < 1:
        raise ModelError("frames", str(frames), "1 or more", "Leave it out for 60 a second.")
    instants = _instants(time, frames)
    poses, remarks = {}, []
    if len(instants) < len(time):
        remarks.append(f"{len(instants)} of {len(time)} stored instants are shown")
    for member, track in tracks.items():
        track = np.asarray(track, float)
        if track.shape != (len(time), len(scene.nodes), 7):
            raise ModelError(f"tracks[{member}]", f"shape {track.shape}", f"{(len(time), len(scene.nodes), 7)}",
                             "Give one pose (position, quaternion) per instant and node of the scene.")  # fmt: skip
        whole, first_bad = _whole(member, track, instants)
        if first_bad is not None:
            remarks.append(f"member {member} is held at its last finite pose from t = {time[first_bad]:.6g} s")
        poses[member] = _smooth(whole)
    turn = max(widest_turn(track) for track in poses.values())
    if turn > WIDE_TURN:
        remarks.append(f"a body turns by {math.degrees(turn):.0f} degrees from one instant to the next")
    mapped = [part.path for part in scene.parts if part.mesh.normal_map or part.mesh.specular_map]
    if mapped:
        remarks.append(f"normal and specular maps are not in the file: {', '.join(dict.fromkeys(mapped))}")
    return PoseTracks(time[instants], poses, tuple(remarks))


def _check_time(time: np.ndarray) -> None:
    if time.ndim != 1 or not len(time):
        raise ModelError("time", f"shape {time.shape}", "(n,) with n of 1 or more", "Give the instants of the tracks.")
    if not np.isfinite(time).all() or (np.diff(time) <= 0).any():
        raise ModelError("time", "instants that do not increase", "finite, increasing", "Sort them, each once.")


def _instants(time: np.ndarray, frames: int | None) -> np.ndarray:
    """Numbers of the instants kept: those nearest to evenly spaced ones, first and last among them."""
    span = time[-1] - time[0]
    limit = min(MOST, max(FEWEST, math.floor(PER_SECOND * span) + 1)) if frames is None else frames
    instants = np.arange(len(time))
    if len(time) > limit:
        instants = np.unique(nearest_places(time, np.linspace(time[0], time[-1], limit)))
    # files hold single precision, in which two instants very close to each other are one
    _, different = np.unique((time[instants] - time[0]).astype(np.float32), return_index=True)
    return instants[different]


def _whole(member: int, track: np.ndarray, instants: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Poses at the instants kept, from the last good instant before where one is not finite; the first bad instant."""
    good = np.isfinite(track).all((1, 2)) & (np.abs(track[:, :, 3:]).max(2, initial=0.0) > 0).all(1)
    if good.all():
        return track[instants], None
    if not good.any():
        raise ModelError(f"tracks[{member}]", "no instant with finite poses", "one or more", "Leave this member out.")
    return track[last_valid(good)[instants]], int(np.argmin(good))


def _smooth(track: np.ndarray) -> np.ndarray:
    """The same poses with unit quaternions continuous in sign."""
    track = track.copy()
    track[:, :, 3:] /= np.linalg.norm(track[:, :, 3:], axis=2, keepdims=True)
    return continuous(track)


def widest_turn(track: np.ndarray) -> float:
    """The largest rotation angle [rad] of a node between consecutive instants."""
    return float(rotation_angle(track[:-1], track[1:]).max(initial=0.0))


def spring_track(spring: SceneSpring, poses: np.ndarray) -> np.ndarray:
    """(n, 10) poses of the mesh of a spring, whose scales [m] are behind them, at poses (n, nodes, 7) of the scene."""
    starts, turns, scales = zip(*(stretched(spring, places) for places in matrices(poses)), strict=True)
    turned = continuous(np.hstack([np.array(starts), quaternions(np.array(turns))]))
    return np.hstack([turned, np.maximum(scales, LEAST)])
