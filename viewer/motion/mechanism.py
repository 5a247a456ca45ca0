"""A model prepared for the viewer: its spanning tree, frames and joints, and the numbers of members. No JAX.

Frame matrices are (4, 4), frame to world. A joint's motion is taken along its file sense, parent to child.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.joints import KINDS
from shiftjax.measures.ties import ties_in, ties_of
from shiftjax.mechanism.events import events_of
from shiftjax.mechanism.model import Model, complete
from shiftjax.mechanism.records import FIXED, ORIGIN, Frame, FrameRef, Joint
from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.topology.analysis import analyze
from shiftjax.topology.changeable import of_mechanism
from shiftjax.topology.partition import characteristic_length
from shiftjax.topology.plan import Plan
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.scene.affine import of_frame


@record
class Mechanism:
    """A model prepared for the computation of joint coordinates and poses.

    Attributes:
        model: with a float joint for every component that has no joint to ground.
        joints: path -> record. frames: path -> (4, 4) in its body. lane: plan and numbers. closures: paths of the
            joints that close loops.
    """

    model: Model
    joints: dict[str, Joint]
    frames: dict[str, np.ndarray]
    lane: Lane
    closures: frozenset[str]

    @property
    def plan(self) -> Plan:
        return self.lane.plan

    def class_of(self, path: str) -> str:
        """The display class of a joint; a root closure closes a loop on ground and is no weld. A joint of
        another mechanism, shown beside this one, is of the class of all joints.
        """
        if path not in self.joints:
            return "joint"
        joint = self.joints[path]
        if path not in self.closures:
            return "tree joint"
        root = joint.on_ground and KINDS[joint.type].nv > 0
        return "root closure" if root else "closure joint"


def mechanism_from(model: Model, ties: Mapping[str, str] | None = None) -> Mechanism:
    """The joints, frames and spanning tree of the active parts of a model.

    Args:
        ties: name -> equation of coordinates that a run ties beside those of the model.
    """
    model = complete(model)
    of_run = ties_of(ties or {}, model)
    frames = _frames(FIXED, model.frames)
    for path, body in model.bodies():
        frames |= _frames(path, body.frames)
    plan = analyze(model, functions={name: tie.joints for name, tie in of_run.items()})
    numbers, matrices = model.numbers(), model.matrices()
    values = [numbers[n.path] for n in plan.numbers]
    parameters = Parameters(values, [matrices[path] for path in plan.matrices])
    functions = (*of_run.values(), *ties_in(model).values())
    lane = Lane(plan, parameters, characteristic_length(plan, values), functions, 0.0)
    closures = frozenset(joint.path for joint in plan.joints if joint.chord)
    return Mechanism(model, dict(model.joints()), frames, lane, closures)


def _frames(body: str, frames: tuple[Frame, ...]) -> dict[str, np.ndarray]:
    names = (ORIGIN, *(frame.name for frame in frames))
    return {FrameRef(body, name).path: of_frame(frames, name) for name in names}


def lane_of(mechanism: Mechanism, numbers: Mapping[str, np.ndarray], t: np.ndarray | float = 0.0) -> Lane:
    """The lane of several members or times.

    Args:
        numbers: path -> (B,) values of the numbers that differ from those of the model; others are left aside.
        t: (B,) times [s].
    """
    parameters = mechanism.lane.params
    values = [
        numbers.get(place.path, value) for place, value in zip(mechanism.plan.numbers, parameters.numbers, strict=True)
    ]
    return dataclasses.replace(mechanism.lane, params=Parameters(values, parameters.matrices), t=t)


def frame_in_world(mechanism: Mechanism, ref: FrameRef, poses: Mapping[str, np.ndarray]) -> np.ndarray:
    """(4, 4) a frame in the world at poses of the bodies (path -> (7,))."""
    inside = mechanism.frames[ref.path]
    return matrices(poses[ref.body]) @ inside if ref.body in poses else inside


def axis_of(joint: Joint) -> np.ndarray:
    """(3,) unit axis in the joint's frames; zeros for a joint of other than one coordinate."""
    kind = KINDS[joint.type]
    return np.array(kind.direction({"axis": joint.axis}) if kind.nv == 1 else np.zeros(3), float)


# -- of a study --------------------------------------------------------------------------------------------------------

_mechanisms: weakref.WeakKeyDictionary[Any, dict[int, tuple[Model, Mechanism]]] = weakref.WeakKeyDictionary()


def mechanism_of(study: StudyLike, member: int | None = None) -> Mechanism:
    """The mechanism of a study, or that of the parts of a member, with the numbers of the file; each made once."""
    model = study.model if member is None else study.base_of(member)
    known = _mechanisms.setdefault(study, {})
    if id(model) not in known:
        known[id(model)] = (
            model,
            mechanism_from(model, ties_told(study.settings)),
        )  # the model is held, so that its id stays its own
    return known[id(model)][1]


def ties_told(settings: Mapping[str, Any]) -> dict[str, str]:
    """Name -> equation of the ties of a run, as its settings tell them; of functions of Python they have no text."""
    ties = settings.get("tie") or {}
    return {name: str(tie["of"]) for name, tie in ties.items() if isinstance(tie, Mapping) and "of" in tie}


def is_changed(study: StudyLike) -> bool:
    """Whether events set numbers of the mechanism on the way, so that poses behind them are those of another one."""
    events = events_of(study.settings.get("events") or {})
    numbers = of_mechanism(mechanism_of(study).plan)
    paths = {place.path for k, place in enumerate(mechanism_of(study).plan.numbers) if k in numbers}
    return any(study.model.resolve(path) in paths for event in events.values() for path in event.values)


def numbers_of(study: StudyLike, mechanism: Mechanism, members: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers that the study varies: path -> (B,) of members (B,), which may come several times."""
    places = {place.path for place in mechanism.plan.numbers}
    return {path: np.asarray(values, float)[members] for path, values in study.design.items() if path in places}
