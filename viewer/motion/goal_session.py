"""A mechanism that is posed by hand as a session of steps: goals that are kept, bodies that are turned, what each step
said. NumPy only.

The window has what `_seen` publishes, records that nobody changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.viewer.motion.by_hand import BenchEngine
from shiftjax.viewer.motion.live_run import ConsoleLine, OtherAssembly, ShownGoal
from shiftjax.viewer.motion.waiting_session import WaitEnded, WaitingSession

RUNS = "End the run first, by Ctrl+P or the button Pose."
LOOKING = "looking for other assemblies"
Twist = tuple[str, np.ndarray, np.ndarray, np.ndarray]  # body, point in it, and two rotation vectors


class GoalSession(WaitingSession):
    """Steps of a workbench by a thread; attributes as of `WaitingSession`.

    Attributes:
        console: lines of what was done, with notes and errors. goals: that are kept, as far as they are met.
        hand_goals: those of the drag that goes on, or of the last one. twist: the body that is turned now, or None.
        other: the assembly that `flip` leads to, where it is shown and known.
    """

    def __init__(self, engine: BenchEngine) -> None:
        self._bench_engine, self._bench = engine, engine.bench
        self.console: list[ConsoleLine] = []
        self.goals: tuple[ShownGoal, ...] = tuple(self._bench.goal_states.values())
        self.hand_goals: tuple[ShownGoal, ...] = self._bench.hand_states
        self.twist: Twist | None = None
        self.other: OtherAssembly | None = None
        self._other_on = False
        super().__init__(engine)

    # -- called by the window ------------------------------------------------------------------------------------------

    def turn_body(self, body: str, point: np.ndarray, turn: np.ndarray, sweep: np.ndarray) -> None:
        """Turns a body about a point of it (3,) [m, in the body], from where it stood at first, until `let_go`.

        Args:
            turn: (3,) rotation vector [rad] in the world. sweep: (3,) one about the line of sight, by which a body
                turns that can do so about one or two axes alone.
        """
        self.twist = (body, point, turn, sweep)
        self._command("pull", functools.partial(self._turn_body, self.twist))

    def keep(self, path: str = "") -> None:
        """Keeps the goal of the last drag or turn; of another body or joint, where it stands."""
        self._command(f"keep {next(self._count)}", functools.partial(self._keep, path))

    def release(self, path: str = "") -> None:
        """Releases a goal by its name, or those of a body or joint; all where nothing is named."""
        self._command(f"release {next(self._count)}", functools.partial(self._release, path))

    def rank(self, name: str, level: float, weight: float) -> None:
        """Another level and weight of a goal that is kept."""
        self._command(f"rank {name}", functools.partial(self._rank, name, level, weight))

    def show_other(self) -> None:
        """Shows where `flip` leads to, from each pose that is come to, or no more."""
        self._other_on, self.other = not self._other_on, None
        self._add_message(f"{LOOKING} ..." if self._other_on else "no other assembly is shown")
        self._command("other", functools.partial(self._find_other, asked=True))

    # -- run by the thread ---------------------------------------------------------------------------------------------

    def _turn_body(self, twist: Twist) -> None:
        if self.posing and twist[0] in self._bench_engine.nodes:
            self._bench_engine.twist(*twist)
            self._seen()

    def _keep(self, path: str) -> None:
        self._require_posing()
        self._bench.drop()
        if not path or any(path in (goal.body, goal.path) for goal in self._bench.hand_states):
            self._stepped(functools.partial(self._bench.do, "keep"))
        else:
            parts = [one for one in self._bench.values if one == path or one.startswith(f"{path}.")] or [path]
            for one in parts:
                self._stepped(functools.partial(self._bench.do, "keep", one))
        *_, last = self._bench.goal_states.values()
        self._add_message(f"kept: {last.name}, {last.text}")

    def _release(self, path: str) -> None:
        self._require_posing()
        self._bench.drop()
        states = self._bench.goal_states
        names = [path] if path in states else [
            name for name, one in states.items() if path in ("", one.body, one.path) or one.path.startswith(f"{path}.")
        ]  # fmt: skip
        if not names:
            self._add_message(f"{path}: no goal is kept of it" if path else "no goal is kept")
            return
        self._stepped(functools.partial(self._bench.do, "release", *names))

    def _rank(self, name: str, level: float, weight: float) -> None:
        self._require_posing()
        state = self._bench.goal_states.get(name)
        if state is not None and (state.rank, state.weight) != (level, weight):
            self._stepped(functools.partial(self._bench.do, "rank", name, level, weight))

    def _find_other(self, *, asked: bool = False) -> None:
        """Where the other assembly is; none while something is dragged, and what else is to be done comes first."""
        if not self._other_on or not self.posing or self._bench.held:
            return
        self.other = None
        try:
            name, poses = self._wait_for(LOOKING, self._other_poses)
        except WaitEnded:
            if self._other_on and not self._ends.is_set():
                self._command("other", functools.partial(self._find_other, asked=asked))
            elif self._ends.is_set():
                self._other_on = False
                self._add_message("no other assembly is shown")
            return
        except ModelError as error:
            if asked:
                self._other_on = False
                raise
            self._add_message(str(error))
            return
        rows = [[*poses[path][1], *quaternion_of_rotation(poses[path][0].tolist())] for path in self._engine.nodes]
        self.other = OtherAssembly(name, np.array(rows))
        if asked:
            self._add_message(f"the other assembly is {name}; Shift+F goes there")

    def _other_poses(self, progress: Callable[[float], None]) -> tuple[str, Mapping[str, Any]]:
        """Where the other assembly is, unless something else is asked for meanwhile."""

        def or_others(done: float) -> None:
            if self._commands:
                raise WaitEnded
            progress(done)

        return self._bench.other_poses(progress=or_others)

    def _flip(self, name: str) -> None:
        """The other assembly, or nothing where somebody does not wait for it."""
        try:
            self._stepped(lambda: self._wait_for(LOOKING, lambda progress: self._bench.flip(name, progress)))
        except WaitEnded:
            text = "flip: ended, nothing has changed"
            self.unfinished += [text] if self._closed else []
            self._add_message(text)

    def _tell_hand(self) -> None:
        """Whether the drag that ended met what was wanted, or what kept it from that."""
        for one in self._bench.hand_states:
            far = max(one.length, one.angle)
            self._add_message(f"{one.path}: {one.text}" if one.state == "met" else
                              f"{one.path} is out of reach by {far:.4g}: {one.text}")  # fmt: skip

    def _publish_goals(self) -> None:
        """What the window draws of goals; the other assembly is that of a pose that was."""
        self.goals, self.hand_goals = tuple(self._bench.goal_states.values()), self._bench.hand_states
        self.other = None
        if self._other_on:
            self._command("other", self._find_other)

    def _seen(self) -> None:
        """Publishes where the mechanism stands."""
        raise NotImplementedError

    def _stepped(self, call: Callable[[], object]) -> None:
        """A call that may be a step: the console shows its line and what it changed beside that."""
        before = self._bench.script
        try:
            call()
        finally:
            lines = self._bench.script[len(before) :].splitlines() if self._bench.script.startswith(before) else []
            self._note("step", *lines)
            if lines:
                self._note("note", *self._bench.notes)
                self._add_message("; ".join(self._bench.notes) or lines[-1].partition("  # ")[2] or lines[-1])
                self._command("ranges", self._find_ranges)
            self._seen()

    def _find_ranges(self, first: int = 0) -> None:
        """How far joints go."""
        raise NotImplementedError

    def _require_posing(self) -> None:
        if not self.posing:
            raise ModelError("workbench", "a run that goes on", "a mechanism that is posed", RUNS)

    def _failed(self, text: str) -> None:
        text = text.removeprefix("script, line 1: ")  # a script of the console has one
        self._note("error", text)
        super()._failed(text)

    def _note(self, kind: str, *texts: str) -> None:
        """Lines for the console; readers have the list that was there."""
        self.console = [*self.console, *(ConsoleLine(kind, text) for text in texts)]
