"""Frames of SDFormat: where links, frames, joints and models stand at the start, and what body each is attached to.

A model, and a world, is a scope: names in it are its own, those of models in it are reached by `model::name`
(http://sdformat.org/tutorials?tut=pose_frame_semantics). A pose is stated in a frame of the same scope, so that poses
are products along a chain that ends at the origin of the scope. Frames move with the link at the end of another chain,
that of `attached_to`. Both chains are followed one by one, and refused where they close.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from shiftjax.errors import nearest
from shiftjax.formats.robots.sdf.values import inverse
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.record import record

MODEL, WORLD = "__model__", "world"
APART = "::"
MOST_HOPS = 100  # from model to model of a pose that is stated in another one, whose pose is so stated, ...


@record
class SdfLink:
    """A link and the body that it becomes.

    Attributes:
        path: of assemblies, then of the body.
        body: its entry of a document.
    """

    element: XmlElement
    scope: FrameScope
    path: tuple[str, ...]
    body: dict[str, Any]


@record
class ScopeItem:
    """What has a name in a scope.

    Attributes:
        X: (4, 4) its pose in the frame `relative_to`; "" is the origin of the scope.
        attached: the frame that it moves with; "" is the frame of the scope.
        inner: of a model in the scope. merged: whether the names in it are those of the scope, too.
    """

    element: XmlElement
    name: str
    X: np.ndarray
    relative_to: str
    attached: str = ""
    link: SdfLink | None = None
    inner: FrameScope | None = None
    merged: bool = False


class FrameScope:
    """A model or a world while its file is read.

    Attributes:
        version: of the file that it stands in, two numbers.
        assembly: the entry of a document that its bodies and joints come to.
        path: of that assembly.
        name: of its item in the scope above it.
        placed: (4, 4) of a scope that is in no other one its pose in the world.
        placement: the frame of it whose pose is stated; "" is its origin.
        static: whether it stands still. is_merged: whether its names are those of `above`, too.
        joints: elements of joints, in their order.
    """

    def __init__(self, element: XmlElement, version: tuple[int, int], above: FrameScope | None) -> None:
        self.element, self.version, self.above = element, version, above
        self.is_world = element.tag == WORLD
        self.assembly: dict[str, Any] = {}
        self.path: tuple[str, ...] = ()
        self.name, self.placed, self.placement = "", np.eye(4), ""
        self.static = above is not None and above.static
        self.is_merged = False
        self.canonical = ""
        self.folder = above.folder if above is not None else ""
        self.items: dict[str, ScopeItem] = {}
        self._merged: list[FrameScope] = []
        self.joints: list[XmlElement] = []
        self._poses: dict[str, np.ndarray] = {}
        self._open: set[str] = set()  # names whose poses are being asked of models in this scope
        self._in_world: np.ndarray | None = None
        self._bodies: dict[str, SdfLink | None] = {}
        self._outermost: FrameScope = self if above is None else above._outermost
        self._hops = 0  # of the outermost one: how many poses of models are being asked, each for the one before

    def add(self, item: ScopeItem) -> None:
        """Enters a name.

        Raises:
            ModelError: there is another one of this name.
        """
        scope = self
        while scope.is_merged and scope.above is not None:
            scope = scope.above
        other = scope.find(item.name)
        if other is not None:
            fault = f"a second {item.name!r}; the first, a {other[1].element.tag}, is in line {other[1].element.line}"
            item.element.refuse(fault, "a name for one link, joint, frame or model of a model", "Rename one.")
        self.items[item.name] = item
        if item.merged and item.inner is not None:
            self._merged.append(item.inner)

    def find(self, name: str) -> tuple[FrameScope, ScopeItem] | None:
        """What has a name here or in a merged model, and the scope that has it."""
        if name in self.items:
            return self, self.items[name]
        return next((there for part in self._merged if (there := part.find(name)) is not None), None)

    def at(self, name: str, asker: XmlElement) -> tuple[FrameScope, str]:
        """The scope that a path of names leads to, and the last name: of an item, or `MODEL` of the scope itself.

        Args:
            asker: the element that names it, for messages.

        Raises:
            ModelError: no such name.
        """
        scope: FrameScope = self
        *outer, last = name.split(APART)
        for part in outer:
            there = scope.find(part)
            inner = None if there is None else there[1].inner
            if inner is None:
                scope._refuse(part, asker, [item.name for item in scope.everything() if item.inner is not None])
            scope = inner
        if last == MODEL or (last == WORLD and scope.is_world):
            return scope, MODEL
        if (there := scope.find(last)) is None:
            scope._refuse(last, asker, [item.name for item in scope.everything()])
        return there[0], last

    def everything(self) -> Iterator[ScopeItem]:
        """All that has a name here or in merged models, in its order."""
        for item in self.items.values():
            yield item
            if item.merged and item.inner is not None:
                yield from item.inner.everything()

    def _refuse(self, name: str, asker: XmlElement, known: list[str]) -> NoReturn:
        where = "world" if self.is_world else f"model {self.element.word('name', '')!r}"
        todo = nearest(name, known) or "Correct it, or add what it names."
        asker.refuse(f"{name[:LONGEST]!r}", f"a link, joint, frame or model of {where}", todo)

    def pose(self, name: str, asker: XmlElement) -> np.ndarray:
        """(4, 4) of a named frame in this scope."""
        scope, last = self.at(name, asker)
        X = scope._pose_of_item(last, asker)
        while scope is not self:
            assert scope.above is not None
            X = scope.above._pose_of_item(scope.name, asker) @ X
            scope = scope.above
        return X

    def _pose_of_item(self, name: str, asker: XmlElement) -> np.ndarray:
        """(4, 4) of an item of this scope alone, or of its origin.

        Raises:
            ModelError: a chain of `relative_to` that leads back to itself.
        """
        chain: list[ScopeItem] = []
        visited: set[str] = set()
        X = np.eye(4)
        while name != MODEL:
            if name in self._poses:
                X = self._poses[name]
                break
            if name in visited or name in self._open:
                fault = f"{name!r}, whose pose is stated relative to itself, perhaps by way of others"
                asker.refuse(fault, "a chain of relative_to that ends at the model", "Correct it.")
            visited.add(name)
            item = self.items[name]
            chain.append(item)
            if not item.relative_to:
                break
            scope, last = self.at(item.relative_to, item.element)
            if scope is not self:
                top = self._outermost
                if top._hops >= MOST_HOPS:
                    fault = f"{item.name!r}, at the end of {MOST_HOPS} models, each placed by the next"
                    item.element.refuse(fault, "shorter chains of relative_to", "State the pose in the world.")
                self._open |= visited
                top._hops += 1
                X = self.pose(item.relative_to, item.element)
                top._hops -= 1
                self._open -= visited
                break
            name = last
        for item in reversed(chain):
            X = X @ (item.X if item.inner is None else item.inner.shifted(item.X))
            self._poses[item.name] = X
        return X

    def shifted(self, X: np.ndarray) -> np.ndarray:
        """(4, 4) of the origin of this model where `X` is the pose of its placement frame."""
        return X @ inverse(self.pose(self.placement, self.element)) if self.placement else X

    def in_world(self) -> np.ndarray:
        """(4, 4) of the origin of this scope in the world."""
        if self._in_world is None:
            if self.above is None:
                self._in_world = self.shifted(self.placed)
            else:
                self._in_world = self.above.in_world() @ self.above.pose(self.name, self.element)
        return self._in_world

    def body(self, name: str, asker: XmlElement) -> SdfLink | None:
        """The link that a frame moves with; None is ground.

        Raises:
            ModelError: a chain of `attached_to` that leads back to itself, a model without links.
        """
        scope: FrameScope = self
        visited: dict[tuple[int, str], FrameScope] = {}
        while True:
            scope, last = scope.at(name, asker)
            if last in scope._bodies:
                link = scope._bodies[last]
                break
            if (id(scope), last) in visited:
                fault = f"{last!r}, which is attached to itself, perhaps by way of others"
                asker.refuse(fault, "a chain of attached_to that ends at a link", "Correct it.")
            visited[id(scope), last] = scope
            if last == MODEL:
                if scope.is_world or scope.static:
                    link = None
                    break
                name = scope.canonical or scope.first_link(asker)
                continue
            item = scope.items[last]
            if item.link is not None:
                link = item.link
                break
            if item.inner is not None:
                scope, name = item.inner, MODEL
            else:
                name = item.attached or MODEL
                asker = item.element
        for (_, passed), there in visited.items():
            there._bodies[passed] = link
        return link

    def first_link(self, asker: XmlElement) -> str:
        """The link that the frame of the model moves with where none is named: the first one, or that of the first
        model in it."""
        models = ""
        for item in self.everything():
            if item.link is not None:
                return item.name
            models = models or (item.name if item.inner is not None else "")
        if not models:
            asker.refuse("a frame of a model without links", "a model with a link", "Name a link.")
        return models
