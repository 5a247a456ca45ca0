"""Documents of the Shift JSON format, in its three dialects, to a Model.

Three passes: assemblies and bodies (so that every name is known), the mounting of included files, then joints,
restraints, lights and terrain, whose references can now be resolved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shiftjax.formats.sections import connections, include, parts, stated_events, stated_joints, stated_sublinkages
from shiftjax.formats.sections.draft import Draft, finished, grafted, preorder
from shiftjax.formats.sections.include import Mount
from shiftjax.formats.sections.included_numbers import IncludedNumbers
from shiftjax.formats.sections.settings import settings
from shiftjax.formats.values import named_numbers
from shiftjax.formats.values.entry import Entry, by_name, opened
from shiftjax.formats.values.hardpoints import with_points
from shiftjax.formats.values.names import Names, unique_names
from shiftjax.formats.values.neighbours import Neighbours
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.scope import Scope
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import SI, Model, unused
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import Light, RunSettings, Terrain
from shiftjax.quantities import FACTORS, SHORT

ACTING = {  # list of an assembly -> reader of its items
    "restraints": connections.restraint,
    "force_modules": connections.force_module,
    "constraints": connections.constraint,
    "drivers": connections.driver,
}
MAX_LEVELS = 2_000
MAX_PATH = 50_000
Opener = Callable[[Path, tuple[Path, ...]], Model]


class Document:
    """One document while it is read."""

    def __init__(self, data: Any, name: str, folder: Path, chain: tuple[Path, ...], open_file: Opener) -> None:
        self.warnings: list[str] = []
        self.name, self.folder, self.chain, self.open_file = name, folder, chain, open_file
        self.root = opened(Node(data, f"{name}: " if name else "", self.warnings), "the root")
        if not self.root.has("model_parameters"):
            self.root["model_parameters"].refuse(
                'an object such as {"version": "2.0", "gravity": [0, 0, 9.81]}', "Is this a Shift model file?"
            )
        self.parameters = opened(self.root["model_parameters"], "model_parameters")
        self.unit_names = _unit_names(self.parameters["units"])
        self.units = Units.of(self.unit_names)
        self.scope = self.root.scope = Scope(self.units)
        self.section = named_numbers.read(self.root, self.scope)
        self.directories = self._directories()
        self.neighbours = Neighbours(folder, self.directories)
        self.mounts: list[Mount] = []
        self.elements = 0
        self.version, self.gravity = self._version(), self._gravity()
        self.settings = settings(self.parameters, self.units)

    def model(self) -> Model:
        """The model of the document, its references resolved."""
        ground = (
            opened(self.root["fixed"], "fixed") if self.root.has("fixed") else Node({}, self.root.where, [], self.scope)
        )
        self.names = Names(parts.frames(self._one_of(ground, "frames"), self.units), self.neighbours)
        roots = self._drafts()
        lights: list[Light] = []
        terrain: list[Terrain] = []
        parameters, points = named_numbers.items_of(self.section, self.scope)
        included = IncludedNumbers([*parameters], [*points])
        events = stated_events.read(self.root)
        taken = {item.name for item in (*parameters, *points)}
        for mount in self.mounts:
            more_lights, more_terrain = mount.place(self.names)
            part, entry, prefix = mount.part, mount.entry, mount.prefix
            names = included.add(part, entry, prefix, taken, mount.stated, mount.rotation, mount.ground)
            there = {name: child(body, now.name) for name, (body, now, _) in mount.ground.items()}
            events |= stated_events.included(part, entry, prefix, {*events}, there, names)
            lights += more_lights
            terrain += more_terrain
        parts_included = [(mount.part, mount.entry, mount.prefix) for mount in self.mounts]
        self._connect(preorder(roots))
        lights = _renamed(self._things(ground, "lights", "a light", parts.light) + lights)
        terrain = _renamed(self._things(ground, "terrain", "a terrain", parts.terrain) + terrain)
        model = Model(
            finished(roots, self.names),
            tuple(self.names.ground),
            self.gravity,
            tuple(lights),
            tuple(terrain),
            self.settings,
            self.directories,
            SI,
            Path(self.name).stem,
            self.version,
            comment=self.root["comment"].comment(),
            parameters=tuple(included.parameters),
            points=tuple(included.points),
            events=FrozenJson(events),
            sublinkages=stated_sublinkages.of_document(self.root, self.names, parts_included),
        )
        model = named_numbers.with_expressions(model, self.section, self.scope, included.expressions)
        model = with_points(model, {name: node for name, (node, _) in self.section.points.items()}, self.names)
        return dataclasses.replace(model, warnings=tuple(dict.fromkeys(self.warnings)))

    def _version(self) -> str:
        node, known = self.parameters["version"], by_name("model_parameters")["version"]
        if node.value is None:
            return known.default
        text = str(node.value) if isinstance(node.value, (float, str)) else node.text()
        return Node(text, node.where, self.warnings).choice(set(known.choices))

    def _gravity(self) -> tuple[float, float, float]:
        if not self.parameters.has("gravity"):
            self.parameters.warn("no gravity given: 9.81 m/s^2 along +z (down)")
            return by_name("model_parameters")["gravity"].default
        node = Node(self.parameters.value, self.parameters.where, self.warnings, self.scope)
        return Entry(node, "model_parameters", self.units)("gravity")

    def _directories(self) -> tuple[str, ...]:
        directories: list[str] = []
        for key in ("include_dir", "include_directories"):
            node = self.parameters[key]
            items = [node] if isinstance(node.value, str) else list(node.items())
            directories += [item.text() for item in items]
        if any("\0" in text or len(text) > 500 for text in directories):
            self.parameters.refuse("include directories", "Correct their names.", "a directory that cannot be")
        return tuple(directories)

    def _one_of(self, ground: Node, key: str) -> Node:
        """A list that stands in `fixed` (v0.2) or at the root (v2.0)."""
        if ground.has(key) and self.root.has(key):
            self.root[key].refuse("it in one place", "Remove one.", f"{key!r} both in 'fixed' and at the root")
        return ground[key] if ground.has(key) else self.root[key]

    def _things(self, ground: Node, key: str, kind: str, read: Callable[..., Any]) -> list[Any]:
        nodes = [opened(node, kind) for node in self._one_of(ground, key).items()]
        return [
            read(node, name, self.names, self.units)
            for node, name in zip(nodes, unique_names(nodes, kind), strict=True)
        ]

    def _drafts(self) -> list[Draft]:
        """Every assembly of the document, its bodies read; without recursion."""
        roots: list[Draft] = []
        stack: list[tuple[Node, str, Draft | None, int]] = self._entries(self.root["assemblies"], None, 0)
        while stack:
            node, name, outer, level = stack.pop()
            draft = Draft(name, child(outer.path if outer else "", name))
            if len(draft.path) > MAX_PATH:
                node.refuse(f"paths of at most {MAX_PATH} characters", "Shorten the names.", "a longer one")
            draft.active, draft.comment = node["active"].flag(default=True), node["comment"].comment()
            (outer.children if outer else roots).append(draft)
            if node.has("include"):
                self._include(node, draft, outer)
                continue
            for key in ("parent", "parameters"):
                if node.has(key):
                    node[key].refuse("it with 'include' only", "Remove it, or add 'include'.")
            self._contents(node, draft)
            stack += self._entries(node["assemblies"], draft, level + 1)
        return roots

    def _entries(self, node: Node, outer: Draft | None, level: int) -> list[tuple[Node, str, Draft | None, int]]:
        nodes = [opened(item, "an assembly") for item in node.items()]
        if nodes and level >= MAX_LEVELS:
            node.refuse(f"assemblies nested at most {MAX_LEVELS} deep", "Flatten them.", "a deeper one")
        named = zip(nodes, unique_names(nodes, "an assembly"), strict=True)
        return [(item, name, outer, level) for item, name in named][::-1]

    def _contents(self, node: Node, draft: Draft) -> None:
        """Bodies of an assembly; what connects them is only named."""

        def named(key: str, kind: str, label: Callable[[Node], str] | None = None) -> list[tuple[str, Node]]:
            value = node[key]
            items = [value] if key == "restraints" and isinstance(value.value, Mapping) else list(value.items())
            nodes = [opened(item, label(item) if label else kind) for item in items]
            return list(zip(unique_names(nodes, kind), nodes, strict=True))

        for name, item in named("bodies", "a body"):
            path = child(draft.path, name)
            self.names.bodies[path] = parts.body(item, name, self.units)
            draft.bodies.append(path)
        draft.nodes = {
            "joints": named("joints", "a joint", connections.joint_label),
            "restraints": named("restraints", "a restraint"),
            "force_modules": named("force_modules", "a force module", connections.module_label),
            "constraints": named("constraints", "a constraint", connections.constraint_label),
            "drivers": named("drivers", "a driver", connections.driver_label),
        }

    def _connect(self, drafts: list[Draft]) -> None:
        """Joints of all assemblies, then what acts on them or ties them together, which may name any of them."""
        for draft in drafts:
            for name, node in draft.nodes.get("joints", ()):
                joint = stated_joints.joint(node, name, self.names, draft.path, self.units)
                self.names.joints[child(draft.path, name)] = joint
                draft.joints.append(joint)
        for draft in drafts:
            for key, read in ACTING.items():
                for name, node in draft.nodes.get(key, ()):
                    getattr(draft, key).append(read(node, name, self.names, draft.path, self.units))

    def _include(self, node: Node, draft: Draft, outer: Draft | None) -> None:
        """Reads an included file and hangs its assemblies below the entry."""
        for key in ("bodies", "joints", "assemblies", *ACTING):
            if node.has(key):
                node[key].refuse("'include' alone", "Put them into an assembly of their own.", f"{key!r} beside it")
        path = self.neighbours.find(node["include"])
        if path in self.chain or len(self.chain) >= include.MAX_CHAIN:
            files = " -> ".join(file.name for file in (*self.chain[-6:], path))
            node["include"].refuse("includes without a cycle", "Remove one of them.", f"the chain {files}")
        part = include.reached_from(self.folder, self.open_file(path, self.chain))
        part, stated = named_numbers.with_values(part, node["parameters"], self.scope)
        self._compare(part, node)
        self.warnings += part.warnings
        self.elements += include.size(part)
        if self.elements > include.MAX_ELEMENTS:
            node["include"].refuse(f"at most {include.MAX_ELEMENTS} elements", "Include less.", "more than that")
        draft.children = grafted(part.assemblies, draft.path, self.names)
        if any(len(inner.path) > MAX_PATH for inner in preorder(draft.children)):
            node["include"].refuse(f"paths of at most {MAX_PATH} characters", "Nest less.", "a longer one")
        local = outer.path if outer else ""
        self.mounts.append(Mount(draft.name, draft.path, local, node, part, draft.children, stated))

    def _compare(self, part: Model, node: Node) -> None:
        """Units must agree; gravity and integrators of the included file are not used."""
        if dict(part.units) != self.unit_names:
            outer, inner = (", ".join(units.values()) for units in (self.unit_names, dict(part.units)))
            node["include"].refuse(f"a file in {outer}", "Convert one of the files.", f"a file in {inner}")
        if part.gravity != self.gravity:
            node.warn(f"the gravity of {Path(part.source).name} is not used, the including file's is")
        if part.settings not in (RunSettings(), self.settings):
            node.warn(f"the integrator blocks of {Path(part.source).name} are not used, the including file's are")


def _renamed(items: list[Any]) -> list[Any]:
    """The lights or terrain with every name once; those of included files come last."""
    taken: set[str] = set()
    out = []
    for item in items:
        name = unused(item.name, taken)
        taken.add(name)
        out.append(item if name == item.name else dataclasses.replace(item, name=name))
    return out


def _unit_names(node: Node) -> dict[str, str]:
    """The unit of every quantity in full; what is left out is SI."""
    names = dict(SI)
    if node.value is not None:
        block = opened(node, "units")
        for kind, known in FACTORS.items():
            item = block[kind]
            if isinstance(item.value, str):
                item = Node(SHORT[kind].get(item.value, item.value), item.where, item.warnings)
            if item.value is not None or kind in SI:
                names[kind] = item.choice(known, names.get(kind, ""))
    return names
