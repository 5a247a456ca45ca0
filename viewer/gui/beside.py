"""The right half of the view: a second design at the time of the first. No GL, no GUI library.

Tree, panes, ghosts and chosen members are those of the left half. What is clicked at the right is picked by its path
and marked in both halves. The camera is one for both, until the right half gets one of its own: then keys and drags
turn that of the half under the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.viewer import designs
from shiftjax.viewer.camera import Camera
from shiftjax.viewer.designs import Design
from shiftjax.viewer.ghosts import ghosts_of
from shiftjax.viewer.gui import overlays
from shiftjax.viewer.scene import Ghosts, Moment, Scene, Strokes
from shiftjax.viewer.watched import Watched

if TYPE_CHECKING:
    from shiftjax.viewer.gui.state import State


ONE_HALF = "A running simulation fills the view."


class Beside:
    """What the right half shows.

    Attributes:
        stage, member: of the design.
        camera: its own; None for that of the left half.
        entered: whether the cursor is over this half.
        written: in its box of the time line.
    """

    def __init__(self, state: State, right: Design) -> None:
        self.state, self.stage, self.member = state, right.stage, right.member
        self.camera: Camera | None = None
        self.entered, self.written = False, ""
        self._told: tuple[object, tuple[list[str], list[str]]] = (None, ([], []))

    @property
    def study(self) -> Watched:
        return self.stage.study

    @property
    def scene(self) -> Scene:
        return self.stage.scene(self.member)

    @property
    def design(self) -> Design:
        return Design(self.stage, self.member)

    def choose(self, text: str) -> None:
        """Shows the first member of a choice of this half's study; a refusal becomes a message."""
        try:
            found = self.study.drawable(self.study.choose(text))
            if len(found.ids):
                self.show(int(found.ids[0]))
            else:
                self.state.say(found.reason or f"{text}: no member that can be drawn")
        except ModelError as error:
            self.state.say(str(error))

    def show(self, member: int) -> None:
        """Makes a member the one at the right; ModelError where it cannot be drawn."""
        self.study.poses(member, self.state.time)
        self.member = member

    # -- what is seen ------------------------------------------------------------------------------------------------

    def poses(self) -> np.ndarray:
        """(nodes, 7) now."""
        return self.study.poses(self.member, self.state.time)

    def pose_of(self, path: str) -> np.ndarray | None:
        """(7,) now of the node that carries what is drawn under a path."""
        nodes = (part.node for part in self.scene.parts if part.path == path)
        node = next(nodes, None)
        return None if node is None else self.poses()[node]

    def seen(self) -> Camera:
        return self.state.seen() if self.camera is None else self.camera

    def moment(self) -> Moment:
        """What is drawn now: hidden, masked and marked is what is so at the left."""
        return self.state.moment(self)

    def ghosts(self) -> Ghosts | None:
        """Those of the left half, and its member; of another study none."""
        state = self.state
        if not state.ghosts_on or self.study is not state.study:
            return None
        others = np.setdiff1d(np.append(state.chosen, state.member), [self.member])
        metric = np.asarray(self.study.metrics[state.colour_by], float) if state.colour_by else None
        return ghosts_of(self.stage, others, state.time, metric)

    def strokes(self) -> Strokes | None:
        """The trace of the same point."""
        if self.state.trace is None:
            return None
        node, point = self.state.trace
        path = self.state.study.nodes[node]
        if path not in self.study.nodes:
            return None
        return overlays.way(self.study, self.member, self.study.nodes.index(path), point)

    def captions(self) -> tuple[list[str], list[str]]:
        """Lines over the left half and over the right one."""
        state = self.state
        left, right = Design(state.stage, state.member), self.design
        key = (left.study, left.member, right.member, state.colour_by)
        if self._told[0] != key:
            metric = state.colour_by
            self._told = (key, (designs.captions(left, right, metric), designs.captions(right, left, metric)))
        one, two = self._told[1]
        return designs.told(one, left, state.time), designs.told(two, right, state.time)


# -- actions -----------------------------------------------------------------------------------------------------------


def open_beside(state: State, right: Design) -> None:
    """Puts a design at the right; the camera sees both whole where the studies differ.

    Raises:
        ModelError: beside a running simulation.
    """
    if state.live is not None:
        raise ModelError("beside", "a second design", "one half", ONE_HALF)
    same = right.study is state.study
    state.beside = Beside(state, Design(state.stage, right.member) if same else right)
    if not same:
        state.camera = state.kept_camera = designs.camera_of(state.scene, right.scene)


def toggle(state: State) -> None:
    """Puts the next chosen member at the right of the one looked at, or takes the right half away; another study that
    was there comes back.
    """
    if state.beside is not None:
        state.closed_beside, state.beside = state.beside.design, None
        state.go_to(state.time)  # the other run may have been longer
        return
    if state.live is not None:
        state.say(ONE_HALF)
        return
    if state.closed_beside is not None and state.closed_beside.study is not state.study:
        state.beside = Beside(state, state.closed_beside)
        return
    others = state.chosen[state.chosen != state.member]
    if not len(others):
        state.say("Nothing to put beside: one member is chosen. Choose more, as `kept`.")
        return
    place = np.flatnonzero(state.chosen == state.member)
    following = state.chosen[(int(place[0]) + 1) % len(state.chosen)] if len(place) else others[0]
    state.beside = Beside(state, Design(state.stage, int(following)))


def exchange(state: State) -> None:
    """Left and right member change places, within one study."""
    right = state.beside
    if right is None or right.study is not state.study:
        state.say("Only two members of one study change places." if right else "There is one half: B makes two.")
        return
    left = state.member
    state.look_at(right.member)
    right.show(left)


def own_camera(state: State) -> None:
    """Gives the right half a camera of its own, or that of the left half again."""
    if state.beside is None:
        state.say("There is one half: B makes two.")
        return
    state.beside.camera = None if state.beside.camera is not None else state.seen()
    state.say("two cameras" if state.beside.camera is not None else "one camera")


@contextmanager
def under_cursor(state: State) -> Iterator[None]:
    """What is done meanwhile to the camera is done to that of the half under the cursor."""
    right = state.beside
    if right is None or right.camera is None or not right.entered:
        yield
        return
    left, followed = state.camera, state.follow
    state.camera, state.follow = right.camera, None
    try:
        yield
        if state.follow is not None:
            state.say("Bodies are followed at the left only.")
    finally:
        right.camera = state.camera if state.beside is right and right.camera is not None else None
        state.camera, state.follow = left, followed
