"""The state of the window: study, member, time, camera, pick and settings. No GL, no GUI library.

Everything that is drawn follows from it, so that tests need no window.
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
from shiftjax.viewer.gui.study.explorer import Explorer
from shiftjax.viewer.member_scenes import Design, MemberScenes
from shiftjax.viewer.recording import Recording
from shiftjax.viewer.scene import Colour, Mesh, Part, RenderSettings, Scene, Strokes
from shiftjax.viewer.session import Session
from shiftjax.viewer.study_like import StudyLike, span

SLOWEST, FASTEST = 1 / 16, 16.0  # factors of real time
RATES = (1.0, 240.0)  # limits of the frame rate [1/s]
DEFAULT_RATE = 15.0  # lowest frame rate [1/s]
MESSAGES = 50  # the latest are kept
MODES = ("navigate", "manipulate")
CLASS = {"body": "link"}  # kind of parts -> display class, where the names differ


@dataclasses.dataclass
class Hit:
    """The item under the cursor."""

    path: str | None = None
    point: np.ndarray | None = None  # (3,) on its surface, in the world [m]


@dataclasses.dataclass
class Follow:
    """A body that the camera follows."""

    path: str
    start: np.ndarray  # (3,) its position when following began [m]


@dataclasses.dataclass(eq=False)
class RightHalf:
    """The right half of the view, if there is one: another design at the time of the state."""

    design: Design
    camera: Camera | None = None  # None for that of the left half
    hovered: bool = False  # whether the cursor is over this half
    typed: str = ""  # in its text box of the timeline
    captions: tuple[object, list[str], list[str]] = (None, [], [])  # key of the cache; lines of both halves

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
        """(7,) at a time [s] of the node that carries the part of a path."""
        node = next((part.node for part in self.scene.parts if part.path == path), None)
        return None if node is None else self.study.poses(self.member, time)[node]


class State:
    """The state of a window on a study.

    Attributes:
        live: the running simulation whose history `study` is, or None.
        member, time: the current ones; `time` [s].
        playing, speed, looping: of playback.
        chosen: (k,) chosen members that can be drawn; ghosts are all of them except `member`.
        camera: without following; `current_camera` is the one to draw with.
        pick: path of at most one item; selected: any number, in order of selection.
        hidden, masked: paths that are not drawn, or translucent.
        stack: items under the last click, nearest first; faded: those in front of the pick.
        beside: the right half of the view, where there is one.
        explorer: what the study pane shows and selects.
        sizes: of the panes, set by dragging; zoom: scale of text and panes.
        recording: the movie that is being written; record_as: suffix of the next one.
        requests: for the main loop of the window: "quit", "fullscreen", "screenshot", "copy:TEXT".
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
        study.poses(self.member, float(study.time[0]))  # ModelError for a member that cannot be drawn
        self._load_member(self.member)
        others = [int(k) for k in ghosts]
        self.chosen = np.array(list(dict.fromkeys([self.member, *others])) if others else study.kept, np.int64)
        self.choice, self.ghosts_on, self.colour_by = "", bool(others), ""
        self.time, self.playing, self.speed, self.looping = float(study.time[0]), False, 1.0, True
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
        self.hue: float | None = None  # of the highlight; None for the default of the renderer
        self.display = Display()
        self.arrows_on = False
        self.grouping = ""  # one of `groups.BY`, by which bodies and joints are coloured
        self.shapes: dict[str, Geometry] = {}  # path -> a parametric shape that the user added
        self.trace: tuple[int, np.ndarray] | None = None  # node, point of it (3,) [m]
        self.mode = "navigate"
        self.cursor: np.ndarray | None = None  # (3,) under the mouse, in the world [m]
        self.messages: list[str] = []
        self.panes_on, self.help_on, self.info_on, self.text = True, False, False, ""  # text: to read and copy
        self.explorer = Explorer(study)
        self.sizes, self.zoom = Sizes(), 1.0
        self.search, self.typed = "", ""  # contents of text boxes: of the tree, of the members
        self.rows = tree.scene_rows(study.model)
        self.opened = tree.opened_at_first((*self.rows, *tree.simulation_rows(study, self.member)))
        self.beside: RightHalf | None = None
        self.closed_beside: Design | None = None  # the last one in the right half
        self.recording: Recording | None = None
        self.record_as = ".mp4"
        self.requests: list[str] = []
        self.rate, self.frame_seconds = DEFAULT_RATE, 0.0
        self.panels: dict[str, Callable[[State], None]] = {}
        self.overlays: list[Callable[[State], Strokes]] = []
        self.node = {path: k for k, path in enumerate(study.nodes)}
        self._numbers = live.values if live is not None else {}  # for which the scene was built
        self._was_running = False  # whether the simulation was running at the last update
        self._outdated_revision = -1  # revision of its history until later instants have been removed
        self._end = self.time  # end of the running simulation at the last update [s]
        self._at_instant: tuple[tuple[int, float, int], dict[str, Any]] = ((-1, 0.0, 0), {})
        self._of_member: tuple[int, dict[str, Any]] = (-1, {})

    # -- time --------------------------------------------------------------------------------------------------------

    @property
    def span(self) -> tuple[float, float]:
        """First and last stored instant [s], of both halves if there are two."""
        return span(self.study, self.beside and self.beside.study)

    @property
    def hovered_half(self) -> RightHalf | None:
        """The right half while the cursor is over it; None for the left half, or the only one."""
        return self.beside if self.beside is not None and self.beside.hovered else None

    def advance(self, dt: float) -> None:
        """Advances time by `dt` [s] of wall time, or by one picture of a recording; stops at the end unless looping.
        A running simulation advances by itself.
        """
        if self.live is not None:
            self._follow_live(self.live)
            return
        dt = 1 / self.recording.rate if self.recording is not None else dt
        first, last = self.span
        if not self.playing or not last > first:
            return
        time = self.time + dt * self.speed
        if time <= last:
            self.time = max(time, first)
        elif self.looping:
            self.time = first + math.fmod(time - first, last - first)
        else:
            self.time, self.playing = last, False

    def _follow_live(self, live: Session) -> None:
        """Updates from a running simulation; playing from an earlier instant continues it from there."""
        for text in live.messages():
            self.say(text)
        if self._numbers != live.values:
            self._numbers = live.values
            self._load_member(self.member)
        live.speed = self.speed
        first, last = self.span
        ran, self._was_running = self._was_running, live.running
        if live.running and self._outdated_revision == self.study.revision:
            return  # the thread has not removed the later instants yet
        self._outdated_revision = -1
        if ran and not live.running:  # it has ended
            self.playing, self.time = False, last
        elif self.playing and not live.running:
            if live.ended and self.time >= last:
                self.playing = False
                self.say(live.ended)
            else:
                self._outdated_revision = self.study.revision if self.time < last else -1
                live.play(self.time)
                self._was_running = True
                return
        elif live.running and not self.playing:
            live.pause()
            self._was_running = False
        at_end = live.running or self.time >= self._end
        self.time, self._end = last if at_end else min(max(self.time, first), last), last

    def go_to(self, time: float) -> None:
        """Sets the time, within the study; pauses a running simulation."""
        self.playing = self.playing and self.live is None
        self.time = min(max(float(time), self.span[0]), self.span[1])

    def set_speed(self, speed: float) -> None:
        self.speed = min(max(float(speed), SLOWEST), FASTEST)

    def set_rate(self, rate: float) -> None:
        """Sets the lowest frame rate of the window [1/s]."""
        self.rate = min(max(float(rate), RATES[0]), RATES[1])

    # -- members -----------------------------------------------------------------------------------------------------

    def choose(self, text: str) -> None:
        """Chooses members by an expression and shows the first; errors become messages."""
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
        self.show_member(int(found.ids[0]))

    def show_member(self, member: int) -> None:
        """Shows a member; errors become messages."""
        try:
            self.study.poses(member, self.time)
        except ModelError as error:
            self.say(str(error))
            return
        self._load_member(member)

    def _load_member(self, member: int) -> None:
        """Loads the mechanism and the scene of a member."""
        self.member, self.mechanism = member, values.mechanism(self.study.model_of(member))
        scene = self.scenes.scene if self.live is None else self.scenes.updated
        self.scene = added_shapes.keep_added(self.scene, scene(member))

    # -- what is drawn ------------------------------------------------------------------------------------------------

    def poses(self, right: RightHalf | None = None) -> np.ndarray:
        """(nodes, 7) now, of the current member or that of the right half."""
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
        """Joint path -> its mobility now, see `values.mobility`."""
        return self.cached("mobility", lambda: values.mobility(self.mechanism, self.body_poses()))

    def current_camera(self, right: RightHalf | None = None) -> Camera:
        """The camera to draw from: that of the state, moved with the followed body, or that of the right half."""
        if right is not None and right.camera is not None:
            return right.camera
        if self.follow is None:
            return self.camera
        moved = self.poses()[self.node[self.follow.path], :3] - self.follow.start
        return self.camera.looking_at(np.array(self.camera.target) + moved)

    def hidden_paths(self) -> frozenset[str]:
        """Paths, and kinds as `kind:NAME`, that are hidden."""
        return frozenset(self.hidden | self.paths_drawn("hidden"))

    def hidden_items(self) -> set[str]:
        """Paths that are hidden, with all joints of hidden classes, also those without parts."""
        joints = self.mechanism.joints
        return self.hidden | {p for p in joints if self.display.drawn(self.mechanism.class_of(p)) == "hidden"}

    def class_of(self, part: Part) -> str:
        """The display class of a part of the scene."""
        return self.mechanism.class_of(part.path) if part.kind == "joint" else CLASS.get(part.kind, part.kind)

    def paths_drawn(self, drawn: str) -> set[str]:
        """Paths of joints, and other kinds as `kind:NAME`, whose class is drawn in this way."""
        parts = [*self.scene.parts, *(self.beside.scene.parts if self.beside is not None else ())]
        parts = [p for p in parts if self.display.drawn(self.class_of(p)) == drawn]
        return {p.path if p.kind == "joint" else f"kind:{p.kind}" for p in parts}

    def cached(self, name: str, make: Callable[[], Any]) -> Any:
        """Cache of values that depend on member and time only."""
        key = (self.member, self.time, self.study.revision)
        if self._at_instant[0] != key:
            self._at_instant = (key, {})
        return _once(self._at_instant[1], name, make)

    def cached_for_member(self, name: str, make: Callable[[], Any]) -> Any:
        """Cache of values that depend on the member only."""
        if self._of_member[0] != self.member:
            self._of_member = (self.member, {})
        return _once(self._of_member[1], name, make)

    # -- picking and selecting ---------------------------------------------------------------------------------------

    def pick_path(self, path: str | None, point: np.ndarray | None = None) -> None:
        """Picks an item, or nothing; point: (3,) of its surface in the world [m]."""
        self.pick, self.pick_point, self.faded = path, None, frozenset()
        if path is None:
            self.mode = "navigate"
            return
        node = self.node_of(path)
        if node is not None and point is not None:
            pose = self.hovered_half.pose_of(path, self.time) if self.hovered_half is not None else None
            self.pick_point = to_local(self.poses()[node] if pose is None else pose, point)
        if self.map == "workbench" and path != FIXED and (path in self.node or path in self.mechanism.joints):
            self.set_mode("manipulate")

    def node_of(self, path: str) -> int | None:
        """The node that carries a body, frame or joint."""
        if path in self.node:
            return self.node[path]
        if path in self.mechanism.joints:
            return self.node.get(self.mechanism.joints[path].child.body)
        return self.node.get(path.rpartition(":")[0])

    def select(self, path: str, *, on: bool) -> None:
        """Adds an item to the selection or removes it."""
        if on and path not in self.selected:
            self.selected.append(path)
        elif not on and path in self.selected:
            self.selected.remove(path)

    def set_mode(self, mode: str) -> None:
        """Sets the mode, one of MODES."""
        one_of("mode", mode, MODES)
        if mode == "manipulate" and self.mode != mode and self.live is None:
            self.say("A stored study cannot be manipulated: drags still orbit.")
        self.mode = mode

    def say(self, text: str) -> None:
        """Adds a message to the status bar."""
        self.messages = [*self.messages, text][-MESSAGES:]

    # -- additions from Python ---------------------------------------------------------------------------------------

    def add_panel(self, name: str, draw: Callable[[State], None]) -> None:
        """A window inside the window: `draw(state)` is called in every frame and calls imgui.

        Raises:
            ModelError: there is a panel of that name.
        """
        if name in self.panels:
            raise ModelError(f"panel {name}", "a second one", "one of each name", "Choose another name.")
        self.panels[name] = draw

    def add_key(self, binding: str, words: str, call: Callable[[State], None]) -> None:
        """A user's key or mouse gesture, in both maps: `call(state)`; ModelError where it is taken."""
        self.table.add(binding, words, call)

    def add_shape(self, body: str, mesh: Mesh, transform: np.ndarray, colour: Colour = added_shapes.COLOUR) -> str:
        """Adds a mesh on a body or on ground ("fixed"); returns the path of the new shape.

        Args:
            mesh: of `viewer.shapes`, or made by `viewer.added_shapes.mesh` of triangles, quads, lines or points.
            place: (4, 4) mesh coordinates to those of the body.

        Raises:
            ModelError: no such body, or an invalid transform.
        """
        one_of("body", body, self.node)
        path = self.free_path(body)
        self.scene = added_shapes.with_mesh(self.scene, self.node[body], path, mesh, transform, colour)
        return path

    def free_path(self, body: str) -> str:
        """An unused path for a new shape on a body."""
        return added_shapes.free_path(body, (*self.mechanism.frames, *(part.path for part in self.scene.parts)))

    def add_overlay(self, call: Callable[[State], Strokes]) -> None:
        """User lines in the view: `call(state)` returns them in every frame."""
        self.overlays.append(call)

    def user_call(self, what: str, call: Callable[[State], Any]) -> tuple[bool, Any]:
        """Whether a user's function succeeded, and its result; exceptions become messages."""
        try:
            return True, call(self)
        except Exception as error:  # errors of user code must not close the window
            self.say(f"{what}: {type(error).__name__}: {error}")
            return False, None


def _once(known: dict[str, Any], name: str, make: Callable[[], Any]) -> Any:
    if name not in known:
        known[name] = make()
    return known[name]
