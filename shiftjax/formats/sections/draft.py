"""Assemblies while a document is read: names known, references not yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import Assembly, Body, Element, FrameRef, Joint, Restraint, walk


@dataclasses.dataclass
class Draft:
    """An assembly whose bodies are in the table of names and whose connections may still be nodes."""

    name: str
    path: str
    active: bool = True
    comment: str = ""
    bodies: list[str] = dataclasses.field(default_factory=list)  # paths
    nodes: dict[str, list[tuple[str, Node]]] = dataclasses.field(default_factory=dict)  # list -> names, what to read
    joints: list[Joint] = dataclasses.field(default_factory=list)
    restraints: list[Restraint] = dataclasses.field(default_factory=list)
    force_modules: list[Element] = dataclasses.field(default_factory=list)
    constraints: list[Element] = dataclasses.field(default_factory=list)
    drivers: list[Element] = dataclasses.field(default_factory=list)
    children: list[Draft] = dataclasses.field(default_factory=list)
    done: Assembly | None = None


def preorder(roots: Sequence[Draft]) -> list[Draft]:
    """Every draft of the trees, depth first in file order."""
    order, stack = [], list(reversed(roots))
    while stack:
        draft = stack.pop()
        order.append(draft)
        stack.extend(reversed(draft.children))
    return order


def finished(roots: Sequence[Draft], names: Names) -> tuple[Assembly, ...]:
    """The records of the drafts, leaves first."""
    for draft in reversed(preorder(roots)):
        draft.done = Assembly(
            draft.name,
            draft.active,
            tuple(names.bodies[path] for path in draft.bodies),
            tuple(draft.joints),
            tuple(draft.restraints),
            tuple(draft.force_modules),
            tuple(draft.constraints),
            tuple(draft.drivers),
            tuple(inner.done for inner in draft.children if inner.done is not None),
            draft.comment,
        )
    return tuple(root.done for root in roots if root.done is not None)


def grafted(assemblies: tuple[Assembly, ...], prefix: str, names: Names) -> list[Draft]:
    """Drafts of finished assemblies under another path; bodies and joints enter the names, ends stay as they were."""
    drafts: dict[str, Draft] = {}
    roots: list[Draft] = []
    for inner_path, assembly, _ in walk(assemblies):
        path = f"{prefix}:{inner_path}"
        draft = Draft(assembly.name, path, assembly.active, assembly.comment)
        for item in assembly.bodies:
            names.bodies[child(path, item.name)] = item
            draft.bodies.append(child(path, item.name))
        for item in assembly.joints:
            names.joints[child(path, item.name)] = item
        draft.joints, draft.restraints = list(assembly.joints), list(assembly.restraints)
        draft.force_modules, draft.constraints = list(assembly.force_modules), list(assembly.constraints)
        draft.drivers = list(assembly.drivers)
        drafts[path] = draft
        outer = drafts.get(path.rpartition(":")[0])
        (outer.children if outer else roots).append(draft)
    return roots


def remap(roots: Sequence[Draft], prefix: str, move: Callable[[FrameRef], FrameRef], names: Names) -> None:
    """Points the references of grafted drafts at their new places."""
    for draft in preorder(roots):
        draft.joints = [dataclasses.replace(j, parent=move(j.parent), child=move(j.child)) for j in draft.joints]
        draft.restraints = [
            dataclasses.replace(
                item,
                joint=item.joint and f"{prefix}:{item.joint}",
                frames=item.frames and (move(item.frames[0]), move(item.frames[1])),
            )
            for item in draft.restraints
        ]
        draft.force_modules = [_pointed(item, prefix, move) for item in draft.force_modules]
        draft.constraints = [_pointed(item, prefix, move) for item in draft.constraints]
        draft.drivers = [_pointed(item, prefix, move) for item in draft.drivers]


def _pointed(item: Element, prefix: str, move: Callable[[FrameRef], FrameRef]) -> Element:
    joints = tuple(f"{prefix}:{path}" for path in item.joints)
    return dataclasses.replace(item, joints=joints, frames=tuple(map(move, item.frames)))


def with_frames(body: Body, frames: Sequence) -> Body:
    return dataclasses.replace(body, frames=(*body.frames, *frames))
