"""Models of planar mechanisms as linkages of dyads: pins as nodes, bodies as bars between them. Host code.

A body with pins a, b, c, ... has the bars ab, ac, bc, ad, bd, ...: each further pin is a dyad on the two that are
farthest apart. Bodies that are joined rigidly are one. What else moves, or is no plane, is refused by name, model by
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need_count, refuse_text, shown
from shiftjax.families.motion import FamilyMotion
from shiftjax.families.order import Solvability
from shiftjax.families.simulation import simulate
from shiftjax.formats.files import load
from shiftjax.joints import KINDS
from shiftjax.mechanism.drawn import DrawnBody, drawn, frames_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED, FrameRef, Joint
from shiftjax.record import record
from shiftjax.run.start.prepare import prepare

PARALLEL = 1e-9  # sine of the angle between two axes of one plane
SAME = 1e-9  # of the size of a model: pins nearer than that are one


@record
class Linkages:
    """K models as planar linkages of dyads, as `families.simulate` takes them.

    Attributes:
        adjacency, x0, node_types: of each (N, N), (N, 2) [m] and (N,); x is the world's x where that lies in the plane,
            and the motor's positive angle goes from x to y. motor: (K, 2) nodes of its bar. offset: (K,) the
            angle of that bar where the motor's coordinate is 0 [rad]: `angles` of `simulate` are it and the coordinate.
        names: of each N tuples, the joints and points at a node. member: (K,) which of the models it is.
        refused: number of a model -> why it is none of them.
    """

    adjacency: list[np.ndarray]
    x0: list[np.ndarray]
    node_types: list[np.ndarray]
    motor: np.ndarray
    offset: np.ndarray
    names: tuple[tuple[tuple[str, ...], ...], ...]
    member: np.ndarray
    refused: dict[int, str]

    def __repr__(self) -> str:
        lines = [f"{len(self.member)} linkages of models, {len(self.refused)} models refused"]
        return "\n".join([*lines, *(f"  model {k}: {reason}" for k, reason in self.refused.items())])

    def nodes(self, name: str) -> np.ndarray:
        """(K, 1) the node at a joint or point of each, as `simulate(nodes=...)` takes it.

        Raises:
            ModelError: one of them has no such joint or point.
        """
        rows = []
        for k, nodes in enumerate(self.names):
            at = [one for one, paths in enumerate(nodes) if name in (*paths, *(x.partition(":")[2] for x in paths))]
            if len(at) != 1:
                fault = f"model {self.member[k]}, which has {', '.join(path for paths in nodes for path in paths)}"
                todo = "Ask for the models that have it."
                raise ModelError(f"node {name}", fault, "a joint or point of every model", todo)
            rows.append(at)
        return np.array(rows)

    def simulate(self, **given: Any) -> FamilyMotion:
        """`families.simulate` of them, with its keywords."""
        return simulate(self.adjacency, self.x0, self.node_types, motor=self.motor, **given)


def of_models(models: Sequence[Model | str], motor: str | Sequence[str], *, points: Sequence[str] = ()) -> Linkages:
    """Planar mechanisms as linkages of dyads, many topologies in one call; nothing is compiled for one.

    Args:
        models: Models, library names or paths. motor: the joint from ground that is turned, of all or of each.
        points: frames of bodies, as "coupler:pen", that become nodes of the models that have them.

    Returns:
        those models that are planar, of turning joints alone, and made of dyads; `refused` says of the others why.

    Raises:
        ModelError: a model that cannot be read; motors of another number than models.
    """
    if not isinstance(models, list | tuple):
        raise ModelError("models", shown(models), "a list of models", "Write [model].")
    refuse_text("points", points)
    need_count("models", len(models), 1)
    motors = [motor] * len(models) if isinstance(motor, str) else [*motor]
    if len(motors) != len(models):
        todo = "Name one for each, or one for all."
        raise ModelError("motor", f"{len(motors)} joints", f"{len(models)}, one a model", todo)
    drawings: dict[int, _Drawing] = {}
    refused: dict[int, str] = {}
    for k, (one, joint) in enumerate(zip(models, motors, strict=True)):
        model = one if isinstance(one, Model) else load(one)
        try:
            drawings[k] = _Drawing(model, joint, points)
        except _NoLinkageError as reason:
            refused[k] = str(reason)
    members = [*drawings]
    if members:
        trial = [drawings[k] for k in members]
        motion = simulate([d.bars for d in trial], [d.x0 for d in trial], [d.fixed for d in trial],
                          motor=np.array([d.motor for d in trial]), poses=1, order=0)  # fmt: skip
        refused |= {k: motion.message(row) for row, k in enumerate(members) if motion.status[row] != Solvability.solved}
        members = [k for k in members if k not in refused]
    chosen = [drawings[k] for k in members]
    return Linkages(
        [d.bars for d in chosen], [d.x0 for d in chosen], [d.fixed for d in chosen],
        np.array([d.motor for d in chosen], int).reshape(-1, 2), np.array([d.offset for d in chosen]),
        tuple(tuple(map(tuple, d.names)) for d in chosen),
        np.array(members, int), dict(sorted(refused.items())),
    )  # fmt: skip


class _NoLinkageError(Exception):
    """Why a model is no linkage of dyads."""


@dataclass
class _Drawing:
    """A model as nodes and bars.

    Attributes:
        bars: (N, N) of 0 and 1; x0: (N, 2); fixed: (N,) of 0 and 1; motor: two nodes; names: N.
        drawn: place of the motor's coordinate [rad]; offset: of its bar.
    """

    model: Model
    joint: str
    points: Sequence[str]
    places: list[np.ndarray] = field(default_factory=list)
    names: list[list[str]] = field(default_factory=list)
    holders: list[set[str]] = field(default_factory=list)  # bodies that a node belongs to

    def __post_init__(self) -> None:
        self._refuse()
        self.bodies, self.frames = self._closed(), frames_of(self.model)
        self.parts = _rigid_parts(self.model)
        turning = [(path, joint) for path, joint in self.model.joints() if joint.type != "rigid"]
        normal = self._normal(turning)
        across = next(axis - (axis @ normal) * normal for axis in np.eye(3) if abs(axis @ normal) < 0.9)
        across /= np.linalg.norm(across)
        self.plane = np.array([across, np.cross(normal, across)])
        self.size = max((float(np.abs(np.asarray(body.p)).max()) for body in self.bodies.values()), default=1.0)
        for path, joint in turning:
            self._add(path, joint.parent, {joint.parent.body, joint.child.body})
        for point in self.points:
            for body, frame in self.frames:
                path = f"{body}:{frame}"
                if point in (path, path.partition(":")[2]):
                    self._add(path, FrameRef(body, frame), {body})
        self.x0 = np.array(self.places)
        self.fixed = np.array([int(FIXED in holders) for holders in self.holders])
        self._join()

    def _refuse(self) -> None:
        kinds = {joint.type: path for path, joint in self.model.joints()}
        for kind, path in kinds.items():
            if kind != "rigid" and (KINDS[kind].nq != 1 or KINDS[kind].coordinates[0].unit != "rad" or kind == "screw"):
                raise _NoLinkageError(f"joint {path} is no turning joint but {kind}: lead it by `shiftjax.follow`")
        for path, element in self.model.constraints():
            raise _NoLinkageError(f"constraint {path} ({element.type}) is no bar: lead it by `shiftjax.follow`")
        joints = {path.partition(":")[2]: path for path, _ in self.model.joints()}
        full = joints.get(self.joint, self.joint)
        motor = next((joint for path, joint in self.model.joints() if path == full), None)
        if motor is None or FIXED not in (motor.parent.body, motor.child.body):
            raise _NoLinkageError(f"motor {self.joint!r} is no joint from ground: name one of {', '.join(joints)}")
        self.joint = full

    def _closed(self) -> dict[str, DrawnBody]:
        """Where bodies stand with the loops closed."""
        prepared = prepare(self.model, {})
        if not prepared.file_start.closed[0]:
            raise _NoLinkageError("its loops cannot be closed from where it is drawn")
        q = prepared.file_start.q[:, 0]
        self.drawn = next(float(q[one.q]) for one in prepared.plan.coordinates if one.path == self.joint)
        return drawn(self.model.with_values({
            f"{one.path}.initial_displacement": float(q[one.q]) for one in prepared.plan.coordinates
        }))  # fmt: skip

    def _normal(self, turning: list[tuple[str, Joint]]) -> np.ndarray:
        """The plane's normal: the axis of the motor, to which all others must be parallel."""
        axes: dict[str, np.ndarray] = {}
        for path, joint in turning:
            R, _ = self.bodies[joint.parent.body].of(self.frames.get((joint.parent.body, joint.parent.frame)))
            axes[path] = np.asarray(R, float) @ np.asarray(KINDS[joint.type].direction({"axis": joint.axis}), float)
        joint = dict(turning)[self.joint]
        normal = axes[self.joint] * (1.0 if joint.parent.body == FIXED else -1.0)
        for path, axis in axes.items():
            if np.linalg.norm(np.cross(axis, normal)) > PARALLEL:
                raise _NoLinkageError(f"joint {path} turns about another axis than {self.joint}: it is not planar")
        return normal

    def _add(self, path: str, at: FrameRef, bodies: set[str]) -> None:
        """A node of some bodies; pins of one body that stand at one place are one node."""
        _, p = self.bodies[at.body].of(self.frames.get((at.body, at.frame)))
        place, holders = self.plane @ np.asarray(p, float), {self.parts[body] for body in bodies}
        for k, other in enumerate(self.places):
            if np.abs(place - other).max() <= SAME * self.size and self.holders[k] & holders:
                self.holders[k] |= holders
                self.names[k].append(path)
                return
        self.places.append(place)
        self.names.append([path])
        self.holders.append(holders)

    def _join(self) -> None:
        """Bars of all bodies, those of the motor's from its pin on."""
        count = len(self.places)
        self.bars = np.zeros((count, count), int)
        pin = next(k for k, paths in enumerate(self.names) if self.joint in paths)
        joint = dict(self.model.joints())[self.joint]
        crank = self.parts[joint.child.body if joint.parent.body == FIXED else joint.parent.body]
        self.motor = pin, pin
        for part in {*self.parts.values()} - {self.parts[FIXED]}:
            nodes = [k for k, holders in enumerate(self.holders) if part in holders]
            if len(nodes) < 2:
                continue
            pairs = [pair for pair in combinations(nodes, 2) if part != crank or pin in pair]
            first, second = max(pairs, key=lambda pair: float(np.linalg.norm(self.x0[pair[0]] - self.x0[pair[1]])))
            edges = [(first, second), *((end, k) for k in nodes for end in (first, second) if k not in (first, second))]
            for i, j in edges:
                self.bars[i, j] = self.bars[j, i] = 1
            if part == crank:
                self.motor = pin, second if first == pin else first
        if self.motor[0] == self.motor[1]:
            raise _NoLinkageError(f"nothing hangs on the body that {self.joint} turns")
        along = self.x0[self.motor[1]] - self.x0[self.motor[0]]
        self.offset = float(np.arctan2(along[1], along[0])) - self.drawn


def _rigid_parts(model: Model) -> dict[str, str]:
    """Body -> the body that stands for all that are joined rigidly to it; ground for itself."""
    part = {body: body for body in (FIXED, *(path for path, _ in model.bodies()))}
    for _, joint in model.joints():
        if joint.type == "rigid":
            one, other = part[joint.parent.body], part[joint.child.body]
            keep, gone = (other, one) if other == FIXED else (one, other)
            part = {body: keep if where == gone else where for body, where in part.items()}
    return part
