"""Known motions of balls and floating bodies at instants. Host code; numbers may be traced.

Place, speed and acceleration are as the channels q, v and a of the joint: (x, y, z) along the axes of the parent's
frame, an orientation by quaternion or rotation vector, angular velocity and acceleration in the child's. A driver of
constant acceleration brings them about at the instant; its multipliers are force and moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.algebra import matmul, transpose
from shiftjax.constraints.pose_drives import PoseDrive, PoseUniform
from shiftjax.errors import ModelError, shown
from shiftjax.gradients.traced import is_traced
from shiftjax.inverse.instants import SAME_MOTION, Instants
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Joint, Placement
from shiftjax.numerics.real_arrays import real_array
from shiftjax.rotations import normalized, rotation_of_quaternion, rotation_of_vector, vector_of_rotation
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import driven
from shiftjax.run.start.prepare import prepare

Array = Any  # of NumPy, or of JAX where it is traced
AXES = {"parent": "first", "child": "second"}  # of the joint -> of the frames of its driver
NORM = 1e-6  # by which the length of a quaternion may be off 1: more is no rounding


@dataclass(frozen=True)
class KnownPose:
    """What is known of one ball or floating joint at instants.

    Attributes:
        path: of the joint. q, v: each number of them, (B n). a: the same, None where it is free.
        law: its law in time, instead of all three.
    """

    path: str
    q: Sequence[Array] = ()
    v: Sequence[Array] = ()
    a: Sequence[Array] | None = None
    law: PoseDrive | None = None

    @property
    def driven(self) -> bool:
        """Whether its acceleration is known."""
        return self.law is not None or self.a is not None

    @property
    def arrays(self) -> list[Array]:
        """All numbers."""
        return [*self.q, *self.v, *(self.a or ())]

    def flat(self, where: str, instants: Instants) -> KnownPose:
        """The same, of arrays (n,) or (B, n), with all instants in one row."""
        q, v, a = ([instants.flat(where, x) for x in numbers] for numbers in (self.q, self.v, self.a or ()))
        return replace(self, q=q, v=v, a=None if self.a is None else a)

    def starts(self, model: Model) -> dict[str, Array]:
        """Number path -> (B n) values that put it there; none where it is driven: its driver says it."""
        if self.driven:
            return {}
        joint = dict(model.joints())[self.path]
        place, rotation = self._displacement(joint)
        start = f"{self.path}.initial_displacement"
        return {
            **{f"{start}.T[{k}]": x for k, x in enumerate(place)},
            **{f"{start}.rotation[{k}]": x for k, x in enumerate(rotation)},
            **{f"{self.path}.initial_velocity[{k}]": x for k, x in enumerate(self.v)},
        }

    def driver(self, model: Model, instants: Instants, axes: str) -> tuple[Model, str, dict[str, Array]]:
        """The model with a driver of it, the path of that, and its numbers of all instants."""
        if self.law is not None:
            with_it, added, _ = driven(model, {self.path: self.law}, AXES[axes])
            numbers = {path: instants.repeated(path, values) for path, values in added.items()}
        else:
            assert self.a is not None
            still = np.zeros(instants.all)
            rows = {name: [still] * 3 for name in ("rotation", "angular_velocity", "angular_acceleration")}
            if len(self.v) > 3:
                rows = {name: [still] * 3 for name in ("position", "velocity", "acceleration")} | rows
            with_it, added, _ = driven(model, {self.path: PoseUniform(**rows, origin=still)}, AXES[axes])
            base, (place, rotation) = next(iter(added)).rpartition(".")[0], self._placement()
            moved = [*zip(("position", "velocity", "acceleration"), (place, self.v[:3], self.a[:3]), strict=True)]
            turned = ("rotation", "angular_velocity", "angular_acceleration")
            parts = [*zip(turned, (rotation, self.v[-3:], self.a[-3:]), strict=True), *(moved if place else ())]
            numbers = {f"{base}.{name}[{k}]": x for name, values in parts for k, x in enumerate(values)}
            numbers[f"{base}.origin"] = instants.seconds
        before = {path for path, _ in model.drivers()}
        return with_it, next(path for path, _ in with_it.drivers() if path not in before), numbers

    def _placement(self) -> tuple[list[Array], list[Array]]:
        """Its place, none of a ball, and its rotation vector."""
        shifts = len(self.v) - 3
        turned = list(self.q[shifts:])
        if len(turned) == 4:
            turned = vector_of_rotation(rotation_of_quaternion(normalized(turned)))
        return list(self.q[:shifts]), turned

    def _displacement(self, joint: Joint) -> tuple[list[Array], list[Array]]:
        """The same as numbers of its start: a rotation after the constant matrix that a file may give."""
        place, rotation = self._placement()
        start = joint.initial_displacement
        constant = [list(row) for row in start.R] if isinstance(start, Placement) else np.eye(3).tolist()
        if constant != np.eye(3).tolist():
            rotation = vector_of_rotation(matmul(transpose(constant), rotation_of_vector(rotation)))
        return place, rotation


def stated_pose(model: Model, path: str, given: Any, where: str) -> KnownPose:
    """What is stated of a joint, its arrays (n,) or (B, n) each.

    Args:
        path: of the joint. given: a tuple (q, v, a) or (q, v) of (n, k) or (B, n, k), or a law.

    Raises:
        ModelError: what is no motion of it.
    """
    kind = KINDS[dict(model.joints())[path].type]
    if isinstance(given, PoseDrive):
        return KnownPose(path, law=given)
    if not (isinstance(given, tuple) and len(given) in (2, 3)):
        allowed = "(q, v, a), (q, v) where it is free, a result, or a PoseTable, PoseUniform or PoseHarmonic"
        raise ModelError(where, shown(given), allowed, "Give one of them.")
    numbers: list[list[Array]] = []
    for name, values, size in zip("qva", given, (kind.nq, kind.nv, kind.nv), strict=False):
        array = values if is_traced(values) else real_array(values)
        if array is None or array.ndim not in (2, 3) or array.shape[-1] != size:
            fault = shown(values) if array is None else f"shape {array.shape}"
            allowed = f"(n, {size}) or (B, n, {size}) numbers, as the channel {path}.{name}"
            raise ModelError(f"{where}, {name}", fault, allowed, "Give the numbers of an instant last.")
        numbers.append([array[..., k] for k in range(size)])
        if name == "q" and kind.nq > kind.nv and not is_traced(array):
            off = np.abs(np.linalg.norm(array[..., -4:], axis=-1) - 1.0)
            if (off > NORM).any():
                fault = f"a quaternion whose length is off 1 by {np.nanmax(off):.3g}"
                raise ModelError(f"{where}, q", fault, "unit quaternions, w first", "Divide each by its length.")
    q, v, a = (*numbers, None)[:3]
    return KnownPose(path, q or (), v or (), a)


def refuse_other_poses(model: Model, run: Result, instants: Instants, poses: Mapping[str, KnownPose]) -> None:
    """Raises where a known pose or its speed is not that of a run.

    Args:
        run: of `standing_at`.
    """
    assert run.final is not None
    joints = {joint.path: joint for joint in prepare(model, {}).plan.joints}
    for pose in poses.values():
        joint = joints[pose.path]
        for word, first, wanted in (("q", joint.q, pose.q), ("v", joint.v, pose.v)):
            recorded = run.final[word][:, first : first + len(wanted)]
            given = np.stack(wanted, 1) if wanted else recorded
            off = np.abs(given - recorded)
            if word == "q" and len(wanted) > len(pose.v):  # a quaternion of the other sign is the same
                opposite = (given[:, -4:] * recorded[:, -4:]).sum(1) < 0
                off[opposite, -4:] = np.abs(given[opposite, -4:] + recorded[opposite, -4:])
            bad = (off > SAME_MOTION * np.maximum(1.0, np.abs(recorded))).any(1)
            if bad.any():
                k = int(np.argmax(bad))
                fault = f"{word} = {np.round(given[k], 6).tolist()} at {instants.named(k)}"
                allowed = f"{np.round(recorded[k], 6).tolist()}, where `along` has it"
                raise ModelError(f"motion {pose.path}", fault, allowed, "Give that run's motion, or leave it out.")
