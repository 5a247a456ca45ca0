"""The state of the window: what is shown, put together from its concerns. No GL, no GUI library.

Everything that is drawn follows from it, so that tests need no window. Each concern is a small class of its own file:
`selection`, `clock`, `viewpoint`, `current_member`, `panels`, `display`, `reach`. Here is what needs several of them;
what only follows from the state are functions of it: `visibility`, `present`, and all `actions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from shiftjax.errors import ModelError, one_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.named_objects import renamed_paths
from shiftjax.mechanism.records import FIXED, Geometry
from shiftjax.poses import to_local
from shiftjax.viewer.gui.state import keys, tree_rows
from shiftjax.viewer.gui.state.awaited import Awaited
from shiftjax.viewer.gui.state.clock import Clock
from shiftjax.viewer.gui.state.display import Display
from shiftjax.viewer.gui.state.drawn_bar import DrawnBar
from shiftjax.viewer.gui.state.panels import Panels
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.selection import MODES, Selection
from shiftjax.viewer.gui.state.study.current_member import Choice
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.state.viewpoint import Viewpoint
from shiftjax.viewer.latest_values import LatestValues
from shiftjax.viewer.members.ghost_choice import drawn
from shiftjax.viewer.members.study_like import Design, Placed, ScenesLike, StudyLike, span
from shiftjax.viewer.motion.framing import Extent
from shiftjax.viewer.motion.live_run import ByHandRun, LiveRun
from shiftjax.viewer.motion.mechanism import mechanism_from
from shiftjax.viewer.motion.reach import LiveReach, Shown, StoredReach
from shiftjax.viewer.recording import MovieRecording
from shiftjax.viewer.scene import added_shapes
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import RenderSettings, Strokes
from shiftjax.viewer.study.ended import Ended, ended

T = TypeVar("T")


class WindowState:
    """The state of a window on a study.

    Attributes:
        live: the running simulation whose history `study` is, or None.
        selection, clock, view, choice, awaited, panels, display: the concerns, each with its own documentation.
        explorer: what the study pane shows and selects; the members of a grid.
        scene, mechanism: of the current member.
        map, table: name of the map of keys, and all actions.
        ground_height: of the ground plane along up [m], where the user gave one.
        look: settings of the renderer; arrows_on: directions of joints; grouping: one of `groups.BY`, colours.
        shapes: path -> a parametric shape that the user added; overlays: functions of the user that give lines.
        beside: the right half of the view, where there is one; closed_beside: the last one.
        recording: the movie that is being written. drawn: the bar that is being drawn.
        mark: (3,) a place that was marked [m], or None.
    """

    def __init__(self, scenes: ScenesLike, member: int | None = None, ghosts: Iterable[int] = (),
                 look: RenderSettings | None = None, map: str = "playback",
                 live: LiveRun | None = None) -> None:  # fmt: skip
        """scenes: of the study that is shown.

        Raises:
            ModelError: no such map of keys; a member that cannot be drawn.
        """
        one_of("map of keys", map, keys.MAPS)
        study, scene = scenes.study, scenes.first
        self.study, self.scenes, self.scene = study, scenes, scene
        self.look, self.live = look or RenderSettings(), live
        self.map, self.table = map, keys.table()
        member = self.scenes.number if member is None else int(member)
        study.poses(member, float(study.time[0]))  # ModelError for a member that cannot be drawn
        self.choice = Choice(member, study.kept if len(study.kept) else np.array([member]), [int(k) for k in ghosts])
        self.awaited = Awaited()
        self._load_member(member)
        self.clock = Clock(float(study.time[0]))
        self._of_member, self._at_instant = LatestValues(), LatestValues()
        last = study.poses(member, float(study.time[-1]))
        self._reach = StoredReach() if live is None else LiveReach(self.scene, last)
        self.beside: RightHalf | None = None
        self.closed_beside: Design | None = None
        self.ground_height: float | None = None
        self.explorer = Explorer(study)
        self.view = Viewpoint(Camera.of(scene.centre, scene.size, scene.up), self.motion())
        self.selection, self.display = Selection(), Display()
        self.panels = Panels(tree_rows.opened_at_first((*self.rows, *tree_rows.simulation_rows(study, member))))
        self.arrows_on, self.grouping = False, ""
        self.shapes: dict[str, Geometry] = {}
        self.overlays: list[Callable[[WindowState], Strokes]] = []
        self.recording: MovieRecording | None = None
        self.drawn: DrawnBar | None = None
        self.mark: np.ndarray | None = None
        if live is not None and live.posing:
            self.selection.mode = "manipulate"
        self._pane_data: dict[Any, Any] = {}
        self.node = {path: k for k, path in enumerate(study.nodes)}
        self._numbers = live.values if live is not None else {}  # for which the scene was built
        self._locks = live.locks if live is not None else frozenset()

    @property
    def hand(self) -> ByHandRun | None:
        """The mechanism on the workbench, posed or running; None where none is."""
        return self.live.hand if self.live is not None else None

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
        """Advances time by `dt` [s] of wall time, or by one picture of a recording. A running simulation advances by
        itself.
        """
        if self.live is None:
            for text in self.awaited.look(self.study):
                self.say(text)
            self.clock.advance(1 / self.recording.rate if self.recording is not None else dt, self.span)
            return
        for text in self.live.messages():
            self.say(text)
        if self.live.history is not self.study:
            self._take_up(self.live.history)
        moved = self._numbers != self.live.values and not self.live.posing
        if moved or self._locks != self.live.locks:
            self._numbers, self._locks = self.live.values, self.live.locks
            self._load_member(self.choice.member)
        message = self.clock.follow(self.live, self.span, self.study.revision)
        if message:
            self.say(message)
        farther = isinstance(self._reach, LiveReach) and self._reach.grow(self.scene, self.poses())
        if farther and self.view.is_fitted:
            self.view.fit(self.motion())

    def _take_up(self, study: StudyLike) -> None:
        """Another history of what is made by hand, of a model that was changed: all that was of the former one goes,
        and what was picked or taken out of the picture stays where it is there, too."""
        before, names_before = self.scene, (self.mechanism.model, self.rows)
        self.study, self.scenes = study, self.scenes.of_another(study)
        self.choice = Choice(self.scenes.number, study.kept, [])
        self._of_member, self._at_instant = LatestValues(), LatestValues()
        self._load_member(self.choice.member)
        self.node = {path: k for k, path in enumerate(study.nodes)}
        self._reach = LiveReach(self.scene, study.poses(self.choice.member, float(study.time[-1])))
        self.explorer = Explorer(study)
        self._pane_data.clear()
        self.clock.time = float(study.time[-1])
        if not any(part.kind == "body" for part in before.parts):  # the first ones of an empty mechanism
            self.panels.opened |= tree_rows.opened_at_first(self.rows)
        self.view.unfollow(self.poses())
        self.view.trace = None
        self.drawn = None
        model = self.mechanism.model
        self._follow_names(*names_before)
        acting = (path for items in (model.restraints(), model.acting()) for path, _ in items)
        known = {*self.node, *self.mechanism.joints, *self.mechanism.frames, *acting}
        for path in {*self.selection.marked, *self.selection.hidden, *self.selection.translucent} - known:
            self.selection.forget(path)

    def _follow_names(self, before: Model, rows: tuple[tree_rows.Row, ...]) -> None:
        """What is known by its path stays what it is where names alone have changed.

        Args:
            before: the model. rows: of its tree.
        """
        self.panels.new_name = None
        now = renamed_paths(before, self.mechanism.model)
        if now and len(rows) == len(self.rows):
            self.selection.follow(now)
            keys_now = {old.key: new.key for old, new in zip(rows, self.rows, strict=True)}
            self.panels.opened = {keys_now.get(key, key) for key in self.panels.opened}

    def go_to(self, time: float) -> None:
        """Sets the time, within the study; pauses a running simulation."""
        self.clock.playing = self.clock.playing and self.live is None
        self.clock.go_to(time, self.span)

    # -- members -----------------------------------------------------------------------------------------------------

    def show_member(self, member: int) -> None:
        """Shows a member, when it has come where it is simulated again; errors become messages."""
        try:
            drawable = self.study.drawable([member])
            if len(drawable.again):
                self.say(drawable.reason)
                self.awaited.wish("left", self.study, drawable, lambda members: self.show_member(int(members[0])))
                return
            self.study.poses(member, self.clock.time)
        except ModelError as error:
            self.say(str(error), "member")
            return
        self.panels.solved("member")
        self._load_member(member)

    def _load_member(self, member: int) -> None:
        """Loads the mechanism, the scene and the rows of the tree of a member, with its own numbers."""
        model = self.study.model_of(member)
        self.choice.member, self.mechanism, self.rows = member, mechanism_from(model), tree_rows.scene_rows(model)
        scene = self.scenes.scene if self.live is None else self.scenes.updated
        self.scene = added_shapes.keep_added(self.scene, scene(member))

    # -- what is drawn ------------------------------------------------------------------------------------------------

    def poses(self, right: RightHalf | None = None) -> np.ndarray:
        """(nodes, 7) now, of the current member or that of the right half."""
        if right is not None:
            return right.study.poses(right.member, self.clock.time)
        return self._placed().poses[0]

    def snapped(self) -> bool:
        """Whether the poses of the nearest stored instant are shown, since those of the time are not known."""
        return bool(self._placed().snapped[0])

    def _placed(self) -> Placed:
        return self.cached("poses", lambda: self.study.placed([self.choice.member], self.clock.time))

    def body_poses(self) -> dict[str, np.ndarray]:
        """Body path -> (7,) now."""
        return self.cached("bodies", lambda: dict(zip(self.study.nodes, self.poses(), strict=True)))

    def current_camera(self, right: RightHalf | None = None) -> Camera:
        """The camera to draw from: that of the state, moved with the followed body, or that of the right half."""
        if right is not None and right.camera is not None:
            return right.camera
        return self.view.current(self.poses())

    def ended(self, right: RightHalf | None = None) -> Ended | None:
        """How the run of the current member ended early, or that of the right half; None where it did not."""
        if right is not None:
            return ended(right.study, right.member)
        return self.cached_for_member("ended", lambda: ended(self.study, self.choice.member)) if not self.live else None

    def motion(self) -> Extent:
        """The extent of the motion of what is shown: member, ghosts, right half; of a running simulation, so far."""
        return self._reach.motion(self._shown())

    def ground(self) -> float | None:
        """Height of the ground plane along up [m], see `reach`."""
        return self.ground_height if self.ground_height is not None else self._reach.ground(self._shown())

    def _shown(self) -> Shown:
        """The current member, and the ghost instances where they are drawn; the members of a grid."""
        ghosts = drawn(self.choice.others) if self.choice.ghosts_on else ()
        members = self.explorer.cells or (self.choice.member, *map(int, ghosts))
        return Shown(self.study, self.scene, self.choice.member, tuple(members), self.beside and self.beside.design)

    def pane_data(self, kind: Callable[[], T]) -> T:
        """What a pane keeps for as long as the window is open, by its class; made on first use."""
        if kind not in self._pane_data:
            self._pane_data[kind] = kind()
        return self._pane_data[kind]

    def cached(self, name: str, make: Callable[[], Any]) -> Any:
        """Values that depend on member and time only, made once."""
        of = (self.choice.member, self.clock.time, self.study.revision, self.study.at_instants)
        return self._at_instant.get(of, name, make)

    def cached_for_member(self, name: str, make: Callable[[], Any]) -> Any:
        """Values that depend on the member only, made once."""
        return self._of_member.get(self.choice.member, name, make)

    # -- picking -----------------------------------------------------------------------------------------------------

    def pick_path(self, path: str | None, point: np.ndarray | None = None) -> None:
        """Picks an item, or nothing; point: (3,) of its surface in the world [m]."""
        node = self.node_of(path) if path is not None else None
        inside = None
        if path is not None and node is not None and point is not None:
            pose = self.hovered_half.pose_of(path, self.clock.time) if self.hovered_half is not None else None
            inside = to_local(self.poses()[node] if pose is None else pose, point)
        self.selection.take(path, inside)
        movable = path is not None and path != FIXED and (path in self.node or path in self.mechanism.joints)
        if self.map == "workbench" and movable:
            self.set_mode("manipulate")

    def node_of(self, path: str) -> int | None:
        """The node that carries a body, frame or joint."""
        if path in self.node:
            return self.node[path]
        if path in self.mechanism.joints:
            return self.node.get(self.mechanism.joints[path].child.body)
        return self.node.get(path.rpartition(":")[0])

    def set_mode(self, mode: str) -> None:
        """Sets the mode, one of MODES."""
        one_of("mode", mode, MODES)
        if mode == "manipulate" and self.selection.mode != mode and self.live is None:
            self.say("A stored study cannot be manipulated: drags still orbit.")
        self.selection.mode = mode

    def say(self, text: str, about: str = "") -> None:
        """Shows a message in the status bar; one about a problem goes when that action succeeds."""
        self.panels.say(text, about)
