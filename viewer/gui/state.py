"""The one state of the window: what is looked at, when, from where, and what is picked. No GL, no GUI library.

Everything the window shows follows from it, so a test sets it and reads it without a window.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.mechanism.records import FIXED, Geometry
from shiftjax.poses import to_local
from shiftjax.viewer import added_shapes
from shiftjax.viewer.camera import Camera
from shiftjax.viewer.gui import keys, tree, values
from shiftjax.viewer.gui.display import Display
from shiftjax.viewer.gui.layout import Sizes
from shiftjax.viewer.member_scenes import Design, MemberScenes
from shiftjax.viewer.recording import Recording
from shiftjax.viewer.scene import Colour, Mesh, Part, RenderSettings, Scene, Strokes
from shiftjax.viewer.session import Session
from shiftjax.viewer.study_like import StudyLike, span

SLOWEST, FASTEST = 1 / 16, 16.0  # times the speed of the real thing
RATES = (1.0, 240.0)  # frames a second that can be asked for
DEFAULT_RATE = 15.0  # at least so many frames a second
MESSAGES = 50  # the latest are kept
MODES = ("navigate", "manipulate")
CLASS = {"body": "link"}  # kinds of parts whose class has another name


@dataclasses.dataclass
class Hit:
    """What is under the cursor."""

    path: str | None = None
    point: np.ndarray | None = None  # (3,) on its surface, in the world [m]


@dataclasses.dataclass
class Follow:
    """A body the camera goes along with."""

    path: str
    start: np.ndarray  # (3,) where it was when following began [m]


@dataclasses.dataclass(eq=False)
class RightHalf:
    """What the right half of the view shows, where there is one: another design at the time of the state."""

    design: Design
    camera: Camera | None = None  # its own; None for that of the left half
    entered: bool = False  # whether the cursor is over this half
    written: str = ""  # in its text box of the time line
    captions: tuple[object, list[str], list[str]] = (None, [], [])  # what they were made for; of both halves

    @property
    def study(self) -> StudyLike:
        return self.design.study

    @property
    def member(self) -> int:
        return self.design.member

    @property
    def scene(self) -> Scene:
        return self.design.scene

    def pose_of(self, path: str, time: float) -> np.ndarray | None:
        """(7,) at a time [s] of the node that carries what is drawn under a path."""
        node = next((part.node for part in self.scene.parts if part.path == path), None)
        return None if node is None else self.study.poses(self.member, time)[node]


class State:
    """What a window on a study shows.

    Attributes:
        live: the running simulation whose history `study` is, or None.
        member, time: what is looked at; `time` in s, within the study's.
        playing, speed, looped: how time goes on.
        chosen: (k,) members that were chosen and can be drawn; ghosts are those of them that are not `member`.
        camera: without following; `seen` is what is drawn from.
        pick: path of at most one thing; selected: any number, in the order of selecting.
        hidden, masked: paths that are not drawn, or see-through.
        stack: things under the last click, nearest first; faded: those before the pick.
        beside: the right half of the view, where there is one.
        sizes, zoom: what was made of the panes by drags, and how much larger than usual letters and panes are.
        recording: the movie that is being written; record_as: suffix of the next one.
        requests: words for the window's loop: "quit", "fullscreen", "screenshot", "copy:TEXT".
    """

    def __init__(self, study: StudyLike, scene: Scene, member: int | None = None, ghosts: Iterable[int] = (),
                 look: RenderSettings | None = None, map: str = "playback",
                 live: Session | None = None) -> None:  # fmt: skip
        one_of("map of keys", map, keys.MAPS)
        self.study, self.scene, self.look, self.live = study, scene, look or RenderSettings(), live
        self.scenes = MemberScenes(study, scene)
        self.map, self.table = map, keys.table()
        if not len(study.kept):
            raise ModelError(study.where, "no trajectories", "a study that kept some", "Run again with --keep.")
        self.member = int(study.kept[0]) if member is None else int(member)
        study.poses(self.member, float(study.time[0]))  # refuses a member that cannot be drawn
        self._stand_for(self.member)
        others = [int(k) for k in ghosts]
        self.chosen = np.array(list(dict.fromkeys([self.member, *others])) if others else study.kept, np.int64)
        self.choice, self.ghosts_on, self.colour_by = "", bool(others), ""
        self.time, self.playing, self.speed, self.looped = float(study.time[0]), False, 1.0, True
        self.camera = self.kept_camera = Camera.of(scene.centre, scene.size, scene.up)
        self.view = "iso"
        self.follow: Follow | None = None
        self.pick: str | None = None
        self.pick_point: np.ndarray | None = None  # (3,) in the coordinates of the picked node [m]
        self.selected: list[str] = []
        self.hidden: set[str] = set()
        self.masked: set[str] = set()
        self.stack: list[Hit] = []
        self.faded: frozenset[str] = frozenset()
        self.hue: float | None = None  # of the highlight; None for the renderer's own
        self.display = Display()
        self.arrows_on = False
        self.grouping = ""  # one of `groups.BY`, by which bodies and joints are coloured
        self.shapes: dict[str, Geometry] = {}  # path -> a parametric shape that the user added
        self.trace: tuple[int, np.ndarray] | None = None  # node, point of it (3,) [m]
        self.mode = "navigate"
        self.cursor: np.ndarray | None = None  # (3,) under the mouse, in the world [m]
        self.messages: list[str] = []
        self.panes_on, self.help_on, self.info_on, self.text = True, False, False, ""  # text: a window of its own
        self.sizes, self.zoom = Sizes(), 1.0
        self.search, self.written = "", ""  # in the boxes of the tree and of the members
        self.rows = tree.scene_rows(study.model)
        self.opened = tree.opened_at_first((*self.rows, *tree.simulation_rows(study, self.member)))
        self.beside: RightHalf | None = None
        self.closed_beside: Design | None = None  # what was at the right before
        self.recording: Recording | None = None
        self.record_as = ".mp4"
        self.requests: list[str] = []
        self.rate, self.frame_seconds = DEFAULT_RATE, 0.0
        self.panels: dict[str, Callable[[State], None]] = {}
        self.overlays: list[Callable[[State], Strokes]] = []
        self.node = {path: k for k, path in enumerate(study.nodes)}
        self._numbers = live.values if live is not None else {}  # that the scene shows
        self._ran = False  # a running simulation, when it was seen last
        self._cutting = -1  # stamp of its history for as long as instants of it are yet to be forgotten
        self._end = self.time  # of a running simulation, as it was seen last [s]
        self._at_instant: tuple[tuple[int, float, int], dict[str, Any]] = ((-1, 0.0, 0), {})
        self._of_member: tuple[int, dict[str, Any]] = (-1, {})

    # -- time --------------------------------------------------------------------------------------------------------

    @property
    def span(self) -> tuple[float, float]:
        """First and last stored instant [s], of both halves where there are two."""
        return span(self.study, self.beside and self.beside.study)

    @property
    def entered(self) -> RightHalf | None:
        """The right half while the cursor is over it; None where that is the left half, or the only one."""
        return self.beside if self.beside is not None and self.beside.entered else None

    def advance(self, dt: float) -> None:
        """Lets `dt` seconds of the viewer's clock pass, or one picture of a recording's; not looped, it stops at the
        end. A running simulation has a time of its own.
        """
        if self.live is not None:
            self._watch(self.live)
            return
        dt = 1 / self.recording.rate if self.recording is not None else dt
        first, last = self.span
        if not self.playing or not last > first:
            return
        time = self.time + dt * self.speed
        if time <= last:
            self.time = max(time, first)
        elif self.looped:
            self.time = first + math.fmod(time - first, last - first)
        else:
            self.time, self.playing = last, False

    def _watch(self, live: Session) -> None:
        """Follows a running simulation; playing from an instant of the past lets it go on from there."""
        for text in live.messages():
            self.say(text)
        if self._numbers != live.values:
            self._numbers = live.values
            self._stand_for(self.member)
        live.speed = self.speed
        first, last = self.span
        ran, self._ran = self._ran, live.running
        if live.running and self._cutting == self.study.revision:
            return  # the thread has yet to forget what came after
        self._cutting = -1
        if ran and not live.running:  # it ended by itself
            self.playing, self.time = False, last
        elif self.playing and not live.running:
            if live.ended and self.time >= last:
                self.playing = False
                self.say(live.ended)
            else:
                self._cutting = self.study.revision if self.time < last else -1
                live.play(self.time)
                self._ran = True
                return
        elif live.running and not self.playing:
            live.pause()
            self._ran = False
        at_end = live.running or self.time >= self._end
        self.time, self._end = last if at_end else min(max(self.time, first), last), last

    def go_to(self, time: float) -> None:
        """Moves the time cursor, within the study; a running simulation stops for it."""
        self.playing = self.playing and self.live is None
        self.time = min(max(float(time), self.span[0]), self.span[1])

    def set_speed(self, speed: float) -> None:
        self.speed = min(max(float(speed), SLOWEST), FASTEST)

    def set_rate(self, rate: float) -> None:
        """Frames a second the window draws at least."""
        self.rate = min(max(float(rate), RATES[0]), RATES[1])

    # -- members -----------------------------------------------------------------------------------------------------

    def choose(self, text: str) -> None:
        """Chooses members by the study's language, looks at the first of them; a refusal becomes a message."""
        try:
            found = self.study.drawable(self.study.choose(text))
        except ModelError as error:
            self.say(str(error))
            return
        if found.reason:
            self.say(found.reason)
        if not len(found.ids):
            self.say(f"{text}: no member that can be drawn")
            return
        self.chosen, self.choice = found.ids, text
        self.look_at(int(found.ids[0]))

    def look_at(self, member: int) -> None:
        """Makes a member the one that is drawn; a refusal becomes a message."""
        try:
            self.study.poses(member, self.time)
        except ModelError as error:
            self.say(str(error))
            return
        self._stand_for(member)

    def _stand_for(self, member: int) -> None:
        """Everything that follows from a member alone: its shapes and its numbers."""
        self.member, self.mechanism = member, values.mechanism(self.study.model_of(member))
        scene = self.scenes.scene if self.live is None else self.scenes.updated
        self.scene = added_shapes.keep_added(self.scene, scene(member))

    # -- what is seen ------------------------------------------------------------------------------------------------

    def poses(self, right: RightHalf | None = None) -> np.ndarray:
        """(nodes, 7) now, of the member looked at or of the right half's."""
        if right is not None:
            return right.study.poses(right.member, self.time)
        return self.cached("poses", lambda: self.study.poses(self.member, self.time))

    def body_poses(self) -> dict[str, np.ndarray]:
        """Body path -> (7,) now."""
        return self.cached("bodies", lambda: dict(zip(self.study.nodes, self.poses(), strict=True)))

    def value(self, path: str) -> np.ndarray:
        """The value of a joint now: (1,) [rad or m], or more for a joint of several coordinates."""
        return self.cached(f"value:{path}", lambda: values.value(self.mechanism, path, self.body_poses()))

    def mobility(self) -> dict[str, float]:
        """Joint path -> its share of the motions that the loops leave free now."""
        return self.cached("mobility", lambda: values.mobility(self.mechanism, self.body_poses()))

    def seen(self, right: RightHalf | None = None) -> Camera:
        """The camera to draw from: that of the state, moved along with the followed body, or the right half's own."""
        if right is not None and right.camera is not None:
            return right.camera
        if self.follow is None:
            return self.camera
        moved = self.poses()[self.node[self.follow.path], :3] - self.follow.start
        return self.camera.looking_at(np.array(self.camera.target) + moved)

    def not_drawn(self) -> frozenset[str]:
        """Paths, and kinds as `kind:NAME`, that are hidden."""
        return frozenset(self.hidden | self.classed("hidden"))

    def hidden_things(self) -> set[str]:
        """Paths that are hidden, and of joints whose class is, drawn as parts or not."""
        joints = self.mechanism.joints
        return self.hidden | {p for p in joints if self.display.drawn(self.mechanism.class_of(p)) == "hidden"}

    def class_of(self, part: Part) -> str:
        """The class of things a part of the scene belongs to."""
        return self.mechanism.class_of(part.path) if part.kind == "joint" else CLASS.get(part.kind, part.kind)

    def classed(self, drawn: str) -> set[str]:
        """Paths of joints, and other kinds as `kind:NAME`, whose class is drawn so."""
        parts = [*self.scene.parts, *(self.beside.scene.parts if self.beside is not None else ())]
        parts = [p for p in parts if self.display.drawn(self.class_of(p)) == drawn]
        return {p.path if p.kind == "joint" else f"kind:{p.kind}" for p in parts}

    def cached(self, name: str, make: Callable[[], Any]) -> Any:
        """What depends on member and time alone, made once for both."""
        key = (self.member, self.time, self.study.revision)
        if self._at_instant[0] != key:
            self._at_instant = (key, {})
        return _once(self._at_instant[1], name, make)

    def cached_for_member(self, name: str, make: Callable[[], Any]) -> Any:
        """What depends on the member alone, made once for it."""
        if self._of_member[0] != self.member:
            self._of_member = (self.member, {})
        return _once(self._of_member[1], name, make)

    # -- picking and selecting ---------------------------------------------------------------------------------------

    def pick_path(self, path: str | None, point: np.ndarray | None = None) -> None:
        """Picks a thing, or nothing; `point` (3,) in the world is where it was hit."""
        self.pick, self.pick_point, self.faded = path, None, frozenset()
        if path is None:
            self.mode = "navigate"
            return
        node = self.node_of(path)
        if node is not None and point is not None:
            pose = self.entered.pose_of(path, self.time) if self.entered is not None else None
            self.pick_point = to_local(self.poses()[node] if pose is None else pose, point)
        if self.map == "workbench" and path != FIXED and (path in self.node or path in self.mechanism.joints):
            self.enter("manipulate")

    def node_of(self, path: str) -> int | None:
        """The node that carries a body, frame or joint."""
        if path in self.node:
            return self.node[path]
        if path in self.mechanism.joints:
            return self.node.get(self.mechanism.joints[path].child.body)
        return self.node.get(path.rpartition(":")[0])

    def select(self, path: str, on: bool) -> None:
        """Adds a thing to the selection or takes it out."""
        if on and path not in self.selected:
            self.selected.append(path)
        elif not on and path in self.selected:
            self.selected.remove(path)

    def enter(self, mode: str) -> None:
        """Changes between navigating and manipulating."""
        one_of("mode", mode, MODES)
        if mode == "manipulate" and self.mode != mode and self.live is None:
            self.say("A stored study cannot be manipulated: drags go on turning the view.")
        self.mode = mode

    def say(self, text: str) -> None:
        """Adds a message to those of the status bar."""
        self.messages = [*self.messages, text][-MESSAGES:]

    # -- additions from Python ---------------------------------------------------------------------------------------

    def add_panel(self, name: str, draw: Callable[[State], None]) -> None:
        """A window of its own inside the window: `draw(state)` is called in every frame and calls imgui.

        Raises:
            ModelError: there is a panel of that name.
        """
        if name in self.panels:
            raise ModelError(f"panel {name}", "a second one", "one of each name", "Choose another name.")
        self.panels[name] = draw

    def add_key(self, binding: str, words: str, call: Callable[[State], None]) -> None:
        """A key or mouse gesture of one's own, in both maps: `call(state)`; ModelError where it is taken."""
        self.table.add(binding, words, call)

    def add_shape(self, body: str, mesh: Mesh, transform: np.ndarray, colour: Colour = added_shapes.COLOUR) -> str:
        """A mesh of one's own on a body or on ground ("fixed"); returns the path of the new shape.

        Args:
            mesh: of `viewer.shapes`, or made by `viewer.added_shapes.mesh` of triangles, quads, lines or points.
            place: (4, 4) mesh coordinates to those of the body.

        Raises:
            ModelError: no such body, or a place that is none.
        """
        one_of("body", body, self.node)
        path = self.free_path(body)
        self.scene = added_shapes.with_mesh(self.scene, self.node[body], path, mesh, transform, colour)
        return path

    def free_path(self, body: str) -> str:
        """A path for a new shape on a body, which nothing has."""
        return added_shapes.free_path(body, (*self.mechanism.frames, *(part.path for part in self.scene.parts)))

    def add_overlay(self, call: Callable[[State], Strokes]) -> None:
        """Lines of one's own in the view: `call(state)` gives them in every frame."""
        self.overlays.append(call)

    def user_call(self, what: str, call: Callable[[State], Any]) -> tuple[bool, Any]:
        """Whether a user's function ended well, and its result; what it raises becomes a message."""
        try:
            return True, call(self)
        except Exception as error:  # a window must not close over what was added to it
            self.say(f"{what}: {type(error).__name__}: {error}")
            return False, None


def _once(known: dict[str, Any], name: str, make: Callable[[], Any]) -> Any:
    if name not in known:
        known[name] = make()
    return known[name]
