"""Joints of SDFormat as elements of a document of ours, with what acts along them and ties them together.

Bodies that no joint leads to from the world float, those of static models stand still.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.notes import SLIP_SPEED, ReaderNotes
from shiftjax.formats.robots.placing import placed
from shiftjax.formats.robots.sdf.axes import SdfAxis, StatedFollower
from shiftjax.formats.robots.sdf.joints import ALONG_ONE, KINDS_OF_JOINTS, PARALLEL, SdfJoint, reference_body
from shiftjax.formats.robots.sdf.scopes import FrameScope, SdfLink
from shiftjax.formats.robots.sdf.values import flag, inverse, number
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.record import record

GROUND = -1
ONE_PLACE = "the lower limit is the upper one: posing leaves {} there, a run with hold= does"
WITHOUT_END = "limits are left out, as continuous joints have none: those of {}"
OUTSIDE = "the pose that is drawn is that of all zeros, outside of the limits of {}"
DRY = f"dry friction fades below {SLIP_SPEED:g} rad/s or m/s, which SDFormat does not state: slip_speed of {{}}"
IN_SERIES = "two joints with a massless body between stand for {}"
TIED = "joints between bodies that are one rigid body anyway are left out: {}"
FLOATING = "no joint leads to the world from {}, which floats, and what hangs on it with it"
STANDING = "of static models, which stand still: {}"


@record
class SingleCoordinate:
    """A joint of one coordinate in the document.

    Attributes:
        path: of assemblies, then of the joint. entry: of the document.
        along: (3,) direction in the world at the start.
    """

    stated: SdfJoint
    path: tuple[str, ...]
    entry: dict[str, Any]
    along: np.ndarray


class LinkGroups:
    """Links in groups; two that something joins are in one."""

    def __init__(self, links: Sequence[SdfLink]) -> None:
        self._number = {id(link): k for k, link in enumerate(links)}
        self._leader = [*range(len(links)), len(links)]  # the last one is ground

    def of(self, link: SdfLink | None) -> int:
        k = self._number[id(link)] if link is not None else GROUND
        k = len(self._leader) - 1 if k == GROUND else k
        while self._leader[k] != k:
            self._leader[k] = self._leader[self._leader[k]]
            k = self._leader[k]
        return k

    def join(self, one: SdfLink | None, other: SdfLink | None) -> bool:
        """Puts two into one group; False where they were in one."""
        a, b = self.of(one), self.of(other)
        self._leader[a] = b
        return a != b


class Connections:
    """The document while joints are written into it.

    Attributes:
        ground: frames of ground.
    """

    def __init__(self, links: Sequence[SdfLink], notes: ReaderNotes) -> None:
        self.links, self.notes = links, notes
        self.ground: list[dict[str, Any]] = []
        self.coordinates: dict[tuple[int, str, str], SingleCoordinate] = {}  # scope, joint, axis ->
        self._rigid = LinkGroups(links)
        self.followers: list[tuple[SingleCoordinate, SingleCoordinate, StatedFollower]] = []

    def connect(self, joints: Sequence[SdfJoint]) -> None:
        """Writes all joints, then what stands still, floats, rubs and follows."""
        for link in self.links:
            if link.scope.static:
                self._stand(link)
        for one in joints:
            if one.type == "fixed":
                if self._rigid.join(one.parent, one.child):
                    self._write(one, "rigid", {})
                else:
                    self.notes.add(TIED, one.name)
        for one in joints:
            if one.type not in ("fixed", "gearbox"):
                if self._rigid.of(one.parent) == self._rigid.of(one.child):
                    self.notes.add(TIED, one.name)
                else:
                    self._movable(one)
        for one in joints:
            if one.type == "gearbox":
                self._gearbox(one)
        for one in [*self.coordinates.values()]:
            self._follow(one)
        self._begin_followers()
        self._float(joints)

    def _stand(self, link: SdfLink) -> None:
        self._rigid.join(None, link)
        X = link.scope.in_world() @ link.scope.pose(link.path[-1], link.element)
        name = unique(f"{link.path[-1]}_on_ground", link.scope.assembly["joints"])
        ends = {"parent": self._frame(None, name, X), "child": [[*link.path], ORIGIN]}
        link.scope.assembly["joints"].append({"name": name, "type": "rigid", **ends})
        self.notes.add(STANDING, link.path[-1])

    def _frame(self, link: SdfLink | None, name: str, X: np.ndarray) -> list[Any]:
        """A reference to a frame at a pose in the world, which it makes."""
        frames = self.ground if link is None else link.body["frames"]
        if link is not None:
            X = inverse(link.scope.in_world() @ link.scope.pose(link.path[-1], link.element)) @ X
        path = [FIXED] if link is None else [*link.path]
        place = placed(tuple(float(x) for x in X[:3, 3]), X[:3, :3])
        if not place:
            return [path, ORIGIN]
        name = unique(name if name != ORIGIN else f"{ORIGIN}_", frames)
        frames.append({"name": name, **place})
        return [path, name]

    def _write(self, one: SdfJoint, type: str, more: dict[str, Any], X: np.ndarray | None = None) -> dict[str, Any]:
        """One joint of ours for one of the file."""
        X = one.X if X is None else X
        ends = {end: self._frame(link, one.name, X) for end, link in (("parent", one.parent), ("child", one.child))}
        entry = {"name": unique(one.name, one.scope.assembly["joints"]), "type": type, **ends, **more}
        one.scope.assembly["joints"].append(entry)
        return entry

    def _movable(self, one: SdfJoint) -> None:
        if one.type in ALONG_ONE:
            pitch = {"pitch": one.pitch} if one.type == "screw" else {}
            endless = one.type == "continuous"
            more = {"axis": [*one.axes[0].direction], **pitch, **self._stated(one.axes[0], one.name, endless)}
            entry = self._write(one, KINDS_OF_JOINTS[one.type], more)
            self._enter(one, "axis", entry, one.axes[0])
        elif one.type == "ball":
            self._write(one, "spherical", {})
        elif one.apart:
            self._in_series(one)
        else:
            self._cross(one)

    def _enter(self, one: SdfJoint, tag: str, entry: dict[str, Any], axis: SdfAxis) -> None:
        """Notes a coordinate, and its dry friction."""
        path = (*one.scope.path, entry["name"])
        along = one.X[:3, :3] @ axis.unit
        self.coordinates[id(one.scope), one.name, tag] = SingleCoordinate(one, path, entry, along)
        if axis.friction:
            self.notes.add(DRY, entry["name"])
            modules = one.scope.assembly["force_modules"]
            law = {"type": "coulomb_friction", "joint": entry["name"], "level": axis.friction, "slip_speed": SLIP_SPEED}
            modules.append({"name": unique(f"{entry['name']}_friction", modules), **law})

    def _stated(self, axis: SdfAxis, name: str, endless: bool = False) -> dict[str, Any]:
        """What an axis says of a joint of one coordinate."""
        out: dict[str, Any] = axis.polynomials()
        low, high = axis.limits
        if not endless and low is not None and low == high:
            out |= {"lock": True, "initial_displacement": low}
            self.notes.add(ONE_PLACE, name)
        elif not endless and axis.limits != (None, None):
            out["limits"] = [low, high]
            if (low or 0.0) > 0.0 or (high or 0.0) < 0.0:
                self.notes.add(OUTSIDE, name)
        elif axis.limits != (None, None):
            self.notes.add(WITHOUT_END, name)
        if axis.stops:
            out["data"] = {"stops": axis.stops}
            self.notes.keep("what limits of effort and velocity, and stops, are", name)
        return out

    def _cross(self, one: SdfJoint) -> None:
        """Two perpendicular axes through a point: x and y of the joint's frames."""
        x, y = (axis.unit for axis in one.axes)
        y = y - (x @ y) * x
        y /= np.linalg.norm(y)
        X = one.X.copy()
        X[:3, :3] = X[:3, :3] @ np.column_stack([x, y, np.cross(x, y)])
        parts = {name: self._stated(axis, one.name) for name, axis in zip(("first", "second"), one.axes, strict=True)}
        more: dict[str, Any] = {}
        for name, part in parts.items():
            for key, value in part.items():
                more.setdefault(key, {})[name] = value
        self._write(one, "universal", more, X)

    def _in_series(self, one: SdfJoint) -> None:
        """Two revolute joints with a massless body between, which stands where the joint does."""
        self.notes.add(IN_SERIES, one.name)
        assembly, path = one.scope.assembly, one.scope.path
        cross = unique(f"{one.name}_cross", assembly["bodies"])
        assembly["bodies"].append({"name": cross, "frames": []})
        middle = [[*path, cross], ORIGIN]
        ends = (
            ("axis", self._frame(one.parent, one.name, one.X), middle),
            ("axis2", middle, self._frame(one.child, one.name, one.X)),
        )
        for (tag, parent, child), axis in zip(ends, one.axes, strict=True):
            name = unique(f"{one.name}_{tag}", assembly["joints"])
            more = {"axis": [*axis.direction], **self._stated(axis, name)}
            entry = {"name": name, "type": "revolute", "parent": parent, "child": child, **more}
            assembly["joints"].append(entry)
            self._enter(one, tag, entry, axis)

    def _gearbox(self, one: SdfJoint) -> None:
        """theta_2 = -ratio theta_1, of the child and the parent in the reference body, as a coupling of two joints."""
        middle, ratio = reference_body(one), number(one.element, "gearbox_ratio", 1.0)
        if not ratio:
            one.element.needed("gearbox_ratio").refuse("0", "a ratio other than 0", "Correct it.")
        turns = []
        for link, axis in zip((one.parent, one.child), one.axes, strict=True):
            along = one.X[:3, :3] @ axis.unit
            turn = next(
                (turn for other in self.coordinates.values() if (turn := _turn(other, middle, link, along))), None
            )
            if turn is None:
                name = "the world" if link is None else link.path[-1]
                fault = f"no revolute joint of {name!r} on the gearbox_reference_body about that axis"
                one.element.refuse(fault, "one at each end of a gearbox", "Add it, or correct the axis.")
            turns.append(turn)
        (first, way), (second, other_way) = turns
        law = {"type": "mimic", "joints": [[*second.path], [*first.path]], "multiplier": -ratio * way * other_way}
        constraints = one.scope.assembly["constraints"]
        constraints.append({"name": unique(one.name, constraints), **law})

    def _follow(self, one: SingleCoordinate) -> None:
        """The constraint of a coordinate that follows another one."""
        for tag, axis in zip(("axis", "axis2"), one.stated.axes, strict=False):
            if self.coordinates.get((id(one.stated.scope), one.stated.name, tag)) is not one or axis.mimic is None:
                continue
            mimic = axis.mimic
            scope, last = one.stated.scope.at(mimic.leader, mimic.element)
            leader = self.coordinates.get((id(scope), last, mimic.axis))
            if leader is None or leader is one:
                known = [name for (_, name, _), other in self.coordinates.items() if other is not one]
                todo = nearest(last, known) or "Name another one."
                mimic.element.refuse(f"joint={mimic.leader[:60]!r}", "another joint with such a coordinate", todo)
            constraints = one.stated.scope.assembly["constraints"]
            law = {"multiplier": mimic.multiplier, "offset": mimic.offset}
            follows = {"type": "mimic", "joints": [[*one.path], [*leader.path]], **law}
            constraints.append({"name": unique(f"{one.path[-1]}_mimic", constraints), **follows})
            self.followers.append((one, leader, mimic))

    def _begin_followers(self) -> None:
        """What follows begins where it is led to; of a chain each a pass later, and a ring is left as it is."""
        for _ in self.followers:
            before = [one.entry.get("initial_displacement") for one, _, _ in self.followers]
            for one, leader, mimic in self.followers:
                start = mimic.multiplier * leader.entry.get("initial_displacement", 0.0) + mimic.offset
                if start or "initial_displacement" in one.entry:
                    one.entry["initial_displacement"] = start
            if before == [one.entry.get("initial_displacement") for one, _, _ in self.followers]:
                return

    def _float(self, joints: Sequence[SdfJoint]) -> None:
        """A joint of six freedoms for one link of each group that no joint holds: the one that is said to be a base,
        else one that no joint has as its child, else one that carries the frame of its model."""
        joined = LinkGroups(self.links)
        for link in self.links:
            if link.scope.static:
                joined.join(None, link)
        for one in joints:
            if one.type != "gearbox":
                joined.join(one.parent, one.child)
        children = {id(one.child) for one in joints if one.type != "gearbox"}
        best: dict[int, tuple[tuple[bool, ...], SdfLink]] = {}
        for link in self.links:
            group = joined.of(link)
            if group != joined.of(None):
                stated = flag(link.element, "must_be_base_link", default=False)
                rank = (not stated, id(link) in children, not _carries(link))
                if group not in best or rank < best[group][0]:
                    best[group] = (rank, link)
        for _, link in best.values():
            X = link.scope.in_world() @ link.scope.pose(link.path[-1], link.element)
            name = unique(f"{link.path[-1]}_free", link.scope.assembly["joints"])
            place = placed(tuple(float(x) for x in X[:3, 3]), X[:3, :3])
            entry: dict[str, Any] = {"name": name, "type": "float", "parent": [[FIXED], ORIGIN]}
            entry |= {"child": [[*link.path], ORIGIN]} | ({"initial_displacement": place} if place else {})
            link.scope.assembly["joints"].append(entry)
            self.notes.add(FLOATING, link.path[-1])


def _turn(
    joint: SingleCoordinate, middle: SdfLink | None, link: SdfLink | None, along: np.ndarray
) -> tuple[SingleCoordinate, float] | None:
    """A revolute joint between two links about a direction, and 1 or -1: how a turn of the second one in the first one
    about it counts there; None of another joint."""
    if joint.entry["type"] != "revolute" or joint.stated.type not in ("revolute", "continuous"):
        return None
    ends = (joint.stated.parent, joint.stated.child)
    if not (ends[0] is middle and ends[1] is link) and not (ends[0] is link and ends[1] is middle):
        return None
    sign = 1.0 if ends[1] is link else -1.0
    for way in (1.0, -1.0):
        if np.linalg.norm(joint.along - way * along) < PARALLEL:
            return joint, sign * way
    return None


def _carries(link: SdfLink) -> bool:
    """Whether the frame of its outermost model moves with a link."""
    scope: FrameScope = link.scope
    while scope.above is not None and not scope.above.is_world:
        scope = scope.above
    return scope.body("__model__", scope.element) is link


def unique(name: str, entries: Sequence[dict[str, Any]]) -> str:
    """A name that no entry of a list has."""
    names = {entry["name"] for entry in entries}
    while name in names:
        name += "_"
    return name
