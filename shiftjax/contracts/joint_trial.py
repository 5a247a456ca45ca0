"""A joint of a kind on trial: in a closed loop of bodies in space, at arbitrary frames, with its numbers. Host code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.algebra import Mat, Vec
from shiftjax.bodies.absolute import BodyCoordinates, absolute
from shiftjax.bodies.joint_rows import arbitrary, motion_and_screws
from shiftjax.errors import ModelError, one_of
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.rotations import rotation_of_vector

TRIED = "hub"  # the joint on trial
MASS = "a:part.mass"
BALL, RAIL, ON_RAIL = (0.9, -0.4, 0.35), (6 / 7, 2 / 7, -3 / 7), (0.8, -0.2, 0.2)
PLACE, TURN = np.array([0.25, 0.1, 0.05]), (0.2, 0.1, -0.3)
SPEEDS = (0.9, -0.7, 1.2, 0.8, -1.1, 0.6)  # rad/s and m/s


class JointTrial:
    """A kind of joint, with numbers of one joint.

    Args:
        name: of the kind in `joints.KINDS`. numbers: keys of the joint in files, such as `axis` and the kind's fields.
    """

    def __init__(self, name: str, numbers: Mapping[str, Any]) -> None:
        one_of("joint kind", name, KINDS)
        self.name, self.numbers, self.kind = name, numbers, KINDS[name]
        lacking = [field.name for field in self.kind.fields if field.required and field.name not in numbers]
        if lacking or (self.kind.needs_axis and "axis" not in numbers):
            fault = f"no {(lacking or ['axis'])[0]}"
            raise ModelError(f"joint kind {name}", fault, "the numbers of a joint of it", "Give it as a keyword.")
        self.q = arbitrary(self.kind, np.random.default_rng(2))
        self.values = numbers_of_motion(name, numbers)

    @cached_property
    def alone(self) -> BodyCoordinates:
        """A body that the joint holds on ground, in coordinates of its own."""
        builder = ModelBuilder(gravity=(0.0, 0.0, 0.0)).frame("near", T=tuple(PLACE), rotation=TURN)
        child = {"far": {"T": (0.1, 0.2, -0.1), "rotation": (-0.4, 0.2, 0.3)}}
        builder.assembly("a").body("child", mass=1.0, inertia=(1.0, 1.0, 1.0), frames=child).joint(
            TRIED, self.name, parent=("fixed", "near"), child=("child", "far"), **self.numbers
        )
        return absolute(builder.build())

    def at(self, q: np.ndarray) -> tuple[Mat, Vec, list[Vec], list[Vec]]:
        """Pose of the child's frame at coordinates, and its screws."""
        return motion_and_screws(self.kind, [*map(float, q)], self.values)

    @cached_property
    def model(self) -> Model:
        """A crank on a cross, the joint on trial, a part, a ball, and a cart that slides and turns on a rail.

        All are drawn where they close, and where the world is, so that a joint's frames are where it stands. The loop
        has one freedom beside those of the joint, and no body moves alone.
        """
        R, p, _, _ = self.at(self.q)
        hub = np.array(rotation_of_vector(TURN), float)
        near = {"R": hub.tolist(), "T": PLACE.tolist()}
        far = {"R": (hub @ np.array(R, float)).tolist(), "T": (PLACE + hub @ np.array(p, float)).tolist()}
        builder = ModelBuilder(gravity=(0.5, -1.0, -9.81)).frame("rail", T=ON_RAIL)
        a, solid = builder.assembly("a"), {"mass": 1.3, "inertia": (0.05, 0.06, 0.08)}
        a.body("crank", **solid, center_of_mass=(0.1, -0.05, 0.08), frames={"hub": near})
        a.body("part", **solid, center_of_mass=(0.1, -0.05, 0.08), frames={"hub": far, "ball": {"T": BALL}})
        a.body("cart", **solid, frames={"ball": {"T": BALL}, "rail": {"T": ON_RAIL}})
        a.joint("anchor", "universal", child="crank")
        a.joint(TRIED, self.name, parent=("crank", "hub"), child=("part", "hub"), **self.numbers, **self._start(R, p))
        a.joint("ball", "spherical", parent=("part", "ball"), child=("cart", "ball"))
        stated = {"slide": 0.0}  # with those of the joint on trial all freedoms, so that starts have derivatives
        a.joint("rail", "cylindrical", parent=("fixed", "rail"), child=("cart", "rail"), axis=RAIL,
                initial_displacement=stated)  # fmt: skip
        return builder.build()

    def _start(self, R: Mat, p: Vec) -> dict[str, Any]:
        """The keys of a file that say where the joint starts, and how fast."""
        kind, speeds = self.kind, SPEEDS[: self.kind.nv]
        if kind.placed:
            place = {"R": np.array(R, float).tolist()}
            place |= {"T": [*map(float, p)]} if kind.shifts else {}
            return {"initial_displacement": place} | ({"initial_velocity": speeds} if kind.nv else {})
        if kind.sole:
            return {"initial_displacement": float(self.q[0]), "initial_velocity": speeds[0]}
        places = {one.name: float(self.q[one.q]) for one in kind.coordinates}
        return {"initial_displacement": places, "initial_velocity": dict(zip(places, speeds, strict=True))}

    @cached_property
    def numbers_at_start(self) -> dict[str, float]:
        """Numbers of the mechanism that runs vary: those of the kind's fields, the joint's first speed, a mass."""
        known, joint = self.model.numbers(), f"a:{TRIED}"
        fields = {f"{joint}.{field.name}" for field in self.kind.fields}
        speeds = [path for path in known if path.startswith(f"{joint}.initial_velocity")][:1]
        paths = [path for path in known if path.partition("[")[0] in fields] + speeds + [MASS]
        return {path: known[path] for path in paths}


def numbers_of_motion(name: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a joint as its kind's motion takes them: those of a file, read.

    Raises:
        ModelError: what no file may say.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("child", mass=1.0, inertia=(1.0, 1.0, 1.0))
    a.joint(TRIED, name, child="child", **numbers)
    ((_, joint),) = builder.build().joints()
    axis = {} if joint.axis is None else {"axis": joint.axis}
    return {key: list(x) if isinstance(x, tuple) else x for key, x in (axis | dict(joint.values)).items()}
