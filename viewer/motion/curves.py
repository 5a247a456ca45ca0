"""Curves over time of a member: what was recorded, and what follows from the poses of any stored run. NumPy only.

Computed curves have the names of channels: `JOINT.q`, `JOINT.v`, `BODY.position`, `BODY:FRAME.velocity` ... They are
observed by the functions of the core's channels at the joint coordinates of the stored poses. Speeds are derivatives
of polynomials through five stored instants: they have an error of the fourth order in the output step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.lanes.member_values import MemberValues
from shiftjax.measures.channels import CHANNELS, channels
from shiftjax.measures.observed_state import ObservedState
from shiftjax.mechanism.paths import split
from shiftjax.poses import continuous
from shiftjax.record import record
from shiftjax.topology.partition import Partition
from shiftjax.viewer.members.column_names import resolved
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion.joint_tracks import along
from shiftjax.viewer.motion.mechanism import is_changed, lane_of, mechanism_of, numbers_of
from shiftjax.viewer.motion.tree_coordinates import bodies_of

OF_JOINTS = ("q", "v")
OF_FRAMES = ("position", "orientation", "velocity", "angular_velocity")
OF_ALL = ("energy.kinetic", "energy.potential", "energy.total")
POSITION = 3  # numbers of a pose before its quaternion
AXES = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}  # of quantities of frames


@record
class Curve:
    """A quantity of one member over time."""

    time: np.ndarray  # (n,) [s]
    values: np.ndarray  # (n, k); NaN after the member ended
    unit: str
    labels: tuple[str, ...]  # (k,); one "" for a scalar


def names(study: StudyLike) -> Sequence[str]:
    """All curves of a study: what was recorded, then what follows from poses, where these were kept."""
    recorded = _recorded(study)
    return [*study.channels, *(name for name in computed(study) if name not in recorded)]


def _recorded(study: StudyLike) -> dict[str, str]:
    """Full path -> channel as it was recorded, whose leading assemblies may be left out."""
    return {full_name(study, channel): channel for channel in study.channels}


def owner_of(study: StudyLike, channel: str) -> str:
    """The full path of the owner of a channel; leading assemblies may be missing in its name."""
    return split(full_name(study, channel))[0]


def full_name(study: StudyLike, channel: str) -> str:
    known = study.model.worked_out.of("channels", dict[str, str])  # asked in every frame; why not takes long to say
    if channel not in known:
        try:
            known[channel] = study.model.resolve(channel)
        except ModelError:
            known[channel] = channel
    return known[channel]


def computed(study: StudyLike) -> list[str]:
    """The curves that follow from the poses; none where poses of bodies are missing, or events set numbers of the
    mechanism, by which coordinates follow from poses."""
    plan = mechanism_of(study).plan
    if is_changed(study) or not len(study.kept) or not set(study.nodes).issuperset(bodies_of(plan)):
        return []
    names = [f"{joint.path}.{name}" for joint in plan.joints if joint.nq for name in OF_JOINTS]
    names += [f"{body}.{name}" for body in bodies_of(plan) for name in OF_FRAMES]
    for path, placed in plan.frames:
        moving = OF_FRAMES[:3] if placed.node else ()
        names += [f"{path}.{name}" for name in moving if placed.frame is not None]
    return [*names, *(OF_ALL if plan.ns == 0 else ())]  # states of forces are not stored


def curve(study: StudyLike, member: int, name: str) -> Curve:
    """A curve of a member at the stored instants.

    Args:
        name: of `names`; leading assemblies may be left out where the rest is unique.

    Raises:
        ModelError: no such curve; a member without poses; what `Study.channel` raises.
    """
    name = _recorded(study).get(name, name)
    known = resolved(name, names(study), f"curve of {study.where}")
    if known in study.channels:
        values = np.asarray(study.channel(known, member), float)
        values = _without_jumps(known, values.reshape(len(values), -1))
        return Curve(study.time[: len(values)], values, study.channels[known], _labels(known, values.shape[1]))
    mechanism = mechanism_of(study, member)
    time, track = study.time, study.track(member)
    track, time = track[: len(time)], time[: len(track)]  # a running simulation may add instants meanwhile
    last = int(np.searchsorted(time, study.end(member), side="right")) - 1
    lane = lane_of(mechanism, numbers_of(study, mechanism, np.full(len(time), member)), time)
    body_nodes = [study.nodes.index(body) for body in bodies_of(mechanism.plan)]
    q, v = along(lane, time, track[:, body_nodes], last)
    (channel,) = channels(mechanism.plan, [known], mechanism.model.resolve)
    members = MemberValues()
    at = members.lane_values(q), members.lane_values(v)
    state = ObservedState(lane.in_graph(members), Partition(()), *at, [], list)
    values = np.empty((len(time), channel.size))
    for k, value in enumerate(members.numbers(channel.observe(state))):
        values[:, k] = value
    values[last + 1 :] = np.nan
    return Curve(time, _without_jumps(known, values), channel.unit, _labels(known, channel.size))


def _without_jumps(name: str, values: np.ndarray) -> np.ndarray:
    """(n, k) values of a curve; signs of an orientation's quaternions chosen for continuity, as those of poses are."""
    if name.rpartition(".")[2] != "orientation":
        return values
    return continuous(np.pad(values, ((0, 0), (POSITION, 0))))[:, POSITION:]


def _labels(name: str, count: int) -> tuple[str, ...]:
    if count == 1:
        return ("",)
    quantity = CHANNELS.get(name.rpartition(".")[2])
    of_frame = quantity is not None and (quantity.of == "frame" or name.rpartition(".")[2].startswith("reaction_"))
    return AXES[count] if of_frame and count in AXES else tuple(f"[{k}]" for k in range(count))
