"""Joints of a document, in every notation: what one says of its coordinates, of one alone or of several by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.field import SPRING
from shiftjax.formats.sections.ends import check_possible, ends_of
from shiftjax.formats.values.entry import Entry, ascending, opened, scaled
from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.kind import Coordinate
from shiftjax.mechanism.fields import DAMPER, label_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.posing import starts_beyond
from shiftjax.mechanism.records import IDENTITY, STARTS, Joint, Limits, Placement, Vector, WantedValue

LETTERS: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def joint(node: Node, name: str, names: Names, local: str, units: Units) -> Joint:
    """A joint in the notation of v0.2 (body_frame_pairs, parent first) or v2.0 (parent, child)."""
    type_ = node["type"].choice(KINDS)
    kind = KINDS[type_]
    entry = Entry(node, label_of("a joint", node.value), units)
    parent, child = ends_of(node, "body_frame_pairs", names, local)
    at = JointEntry(node, units, type_)
    record = Joint(
        name,
        type_,
        parent,
        child,
        _axis(node["axis"], type_, kind),
        at.displacement(),
        at.velocity(),
        at.polynomial("stiffness"),
        at.polynomial("damping"),
        FrozenJson(entry.values(kind.fields)),
        entry("active"),
        entry("comment"),
        at.stated(),
        entry("cut"),
        at.limits(),
        at.lock(),
        at.wanted("target"),
        at.wanted("posture"),
        entry("virtual"),
        entry("data"),
    )
    check_possible(node, record)
    if beyond := starts_beyond(record):
        node["limits"].warn(beyond)
    return record


class JointEntry:
    """A joint of a document, for what depends on its coordinates.

    Of one coordinate it says a number, or a list of coefficients; of several an object, name -> the same of one
    coordinate, or a list of them in order; a joint that has a quaternion starts at a placement {T, R, rotation}.
    """

    def __init__(self, node: Node, units: Units, type_: str) -> None:
        self.node, self.units, self.type = node, units, type_
        self.kind = KINDS[type_]
        self.entry = Entry(node, "a joint", units)

    def displacement(self) -> float | Placement | FrozenJson:
        """Where it starts; zero where the document says nothing."""
        node = self.node["initial_displacement"]
        if not self.kind.placed:
            return self._numbers(node, "")
        if _nothing(node):
            return Placement()
        block = Entry(opened(node, "a placement"), "a placement", self.units)
        T = block("T")
        if any(T[self.kind.shifts :]):
            allowed = ("R only", "R and T along x", "R and T along x and y")[self.kind.shifts]
            block.node["T"].refuse(f"{allowed}, for a {self.type} joint", "Move its frames instead.")
        R = block("R") if block.node.has("R") else IDENTITY
        return Placement(T, R, block("rotation"))

    def velocity(self) -> float | tuple[float, ...] | FrozenJson:
        """How fast it starts; at rest where the document says nothing."""
        node = self.node["initial_velocity"]
        if not self.kind.placed:
            return self._numbers(node, "/s")
        if _nothing(node):
            return (0.0,) * self.kind.nv
        factors = [self.units.factor(f"{unit}/s") for unit in self.kind.units]
        return scaled(node, node.vector(self.kind.nv), factors)

    def stated(self) -> tuple[str, ...]:
        """What of its start the document writes; a key that is left out states nothing."""
        if self.kind.sole or self.kind.placed:
            return tuple(k for k in STARTS if self.node.has(k) and (self.kind.nv or k == "initial_displacement"))
        return tuple(f"{key}.{name}" for key in STARTS for name in self._written(self.node[key]))

    def polynomial(self, name: str) -> tuple[float, ...] | FrozenJson:
        """Stiffness or damping: ascending coefficients."""
        node, unit = self.entry.at(self.entry.fields[name]), SPRING if name == "stiffness" else DAMPER
        if self.kind.placed:
            if self.entry(name):
                todo = "Use a restraint between two frames."
                node.refuse(f"none for {self.type}: it has not one displacement", todo)
            return ()
        if node.value is None:
            return () if self.kind.sole else FrozenJson({coordinate.name: () for coordinate in self.kind.coordinates})

        def read(at: Node, coordinate: Coordinate) -> tuple[float, ...]:
            return ascending(at, lambda power: self.units.factor(unit, coordinate.unit, power))

        return read(node, self.kind.coordinates[0]) if self.kind.sole else self._each(node, (), read)

    def limits(self) -> Limits | FrozenJson | None:
        """Ends of coordinates, for posing: of those that have one."""
        node = self._of_posing("limits")
        if node.value is None:
            return None

        def read(at: Node, coordinate: Coordinate) -> Limits | None:
            ends = [*at.items()]
            if len(ends) != 2:
                at.refuse("[low, high], null for an end that is none", "Write both.", f"{len(ends)} of them")
            scale = self.units.factor(coordinate.unit)
            low, high = (None if end.value is None else end.number(scale=scale) for end in ends)
            return None if low is high is None else (low, high)

        return self._some(node, read) or None

    def lock(self) -> bool | tuple[str, ...]:
        """Whether posing leaves it where it is, or which of its coordinates."""
        node = self.node["lock"]
        if not isinstance(node.value, list | tuple):
            return node.flag(default=False)
        names = [coordinate.name for coordinate in self.kind.coordinates]
        if self.kind.sole or self.kind.placed:
            node.refuse(f"true or false, of a {self.type}", "Write true.")
        given = {item.choice(set(names)) for item in node.items()}
        return True if len(given) == len(names) else tuple(name for name in names if name in given) or False

    def wanted(self, key: str) -> WantedValue | FrozenJson | None:
        """The target or the posture of coordinates, for posing: of those that have one."""
        node = self._of_posing(key)

        def read(at: Node, coordinate: Coordinate) -> WantedValue:
            block = at if isinstance(at.value, Mapping) else Node({"value": at.value}, at.where, at.warnings, at.scope)
            entry = Entry(opened(block, "a wanted value"), "a wanted value", self.units, coordinate.unit)
            if not entry("weight") > 0.0:
                entry.node["weight"].refuse("a weight above 0", "Leave out what does not count.")
            return WantedValue(entry("value") if isinstance(at.value, Mapping) else self._plain(at, coordinate),
                               entry("weight"), entry("level"))  # fmt: skip

        return None if node.value is None else self._some(node, read) or None

    def _plain(self, node: Node, coordinate: Coordinate) -> float:
        return node.number(scale=self.units.factor(coordinate.unit))

    def _of_posing(self, key: str) -> Node:
        """What is said of coordinates of one number each."""
        node = self.node[key]
        if self.kind.placed and node.value is not None:
            todo = "Lock it, or ask a call of inverse_kinematics for a frame in its place."
            node.refuse(f"none for {self.type}: it has no coordinates of one number", todo)
        return node

    def _some(self, node: Node, read: Callable[[Node, Coordinate], Any]) -> Any:
        """Of the only coordinate what it says; of several of those of which it says something."""
        if self.kind.sole:
            return read(node, self.kind.coordinates[0])
        written = self._written(node)
        both = ((one.name, read(written[one.name], one)) for one in self.kind.coordinates if one.name in written)
        return FrozenJson({name: value for name, value in both if value is not None})

    def _numbers(self, node: Node, per: str) -> float | FrozenJson:
        def read(at: Node, coordinate: Coordinate) -> float:
            return at.number(0.0, self.units.factor(f"{coordinate.unit}{per}"))

        return read(node, self.kind.coordinates[0]) if self.kind.sole else self._each(node, 0.0, read)

    def _each(self, node: Node, default: Any, read: Callable[[Node, Coordinate], Any]) -> FrozenJson:
        """What is written of every coordinate; a default of the others."""
        written = self._written(node)
        named = {coordinate.name: coordinate for coordinate in self.kind.coordinates}
        return FrozenJson(
            {name: read(written[name], one) if name in written else default for name, one in named.items()}
        )

    def _written(self, node: Node) -> dict[str, Node]:
        """The coordinates of which an object or a list says something."""
        names = [coordinate.name for coordinate in self.kind.coordinates]
        if node.value is None:
            return {}
        if isinstance(node.value, (list, tuple)):
            items = list(node.items())
            if len(items) != len(names):
                todo = "Write one for each, in this order, or an object of names."
                node.refuse(f"{len(names)} of them: {', '.join(names)}", todo, f"a list of {len(items)}")
            return {name: item for name, item in zip(names, items, strict=True) if item.value is not None}
        if not isinstance(node.value, Mapping):
            example = f'Write {{"{names[0]}": ..., "{names[-1]}": ...}}.'
            node.refuse(f"an object or a list of the coordinates {', '.join(names)}", example)
        inside = node.object(f"the coordinates of a {self.type} joint", frozenset(names), {})
        return {name: inside[name] for name in names if inside.has(name)}


def _nothing(node: Node) -> bool:
    """Null or the number 0, which files write for joints of several coordinates too."""
    return node.value is None or (type(node.value) in (int, float) and node.value == 0)


def _axis(node: Node, type_: str, kind: JointKind) -> Vector | None:
    if isinstance(node.value, str):
        axis = LETTERS[node.choice(set(LETTERS))]
    elif node.value is not None:
        axis = node.vector3()
    elif kind.needs_axis:
        node.refuse(f"an axis for {type_}: [x, y, z] or one of x, y, z", "Add 'axis'.", "none")
    else:
        return None
    if not kind.needs_axis:
        if type_[:1] in "RT" and LETTERS.get(type_[-1]) == axis:
            return None
        node.refuse(f"no axis for {type_}", "Remove it, or use revolute or prismatic.")
    return axis
