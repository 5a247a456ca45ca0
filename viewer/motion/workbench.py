"""A mechanism on the workbench: posed and changed by hand in a thread of its own, controlled by a window on the main
thread.

The same queue of commands as that of a running simulation. While it is posed, time is that of the hand: each part of a
drag is an instant of the history, so that what was done can be played, plotted and recorded. A changed model has a
history of its own, which the window takes up, and so has a run that begins where the mechanism stands.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.editing.scripts import line_of
from shiftjax.errors import ModelError
from shiftjax.formats.files import free_stem
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.named_objects import renamed_paths
from shiftjax.mechanism.records import FrameRef, Joint
from shiftjax.viewer.motion.by_hand import BenchEngine, ByHand, Helpers
from shiftjax.viewer.motion.goal_session import LOOKING, Twist
from shiftjax.viewer.motion.live_history import History
from shiftjax.viewer.motion.live_run import SHELL_HELP, SHELL_WORDS, ShownCurve
from shiftjax.viewer.motion.session import INTERVAL
from shiftjax.viewer.motion.trajectory_session import TrajectorySession
from shiftjax.viewer.motion.velocity_session import VelocitySession

NO_RUN = "Nothing moves by itself here; `shiftjax view MODEL --live` runs it."
SLIDERS = 12  # coordinates at most whose travel is asked for: 0.1 to 0.3 s each
UNSAFE = re.compile(r"[^\w.-]+")  # in names of files
SHELL = re.compile(rf"""^\s*({"|".join(SHELL_WORDS)})\s*(?:\(\s*(?:["']([^"']*)["'])?\s*\))?\s*$""")
AT_THE_END = (
    "do",
    "drop",
    "change",
    "number",
    "lock",
    "want",
    "keep",
    "release",
    "rank",
    "restart",
    "save",
    "poses",
)  # commands that a closed window still does


class WorkbenchSession(VelocitySession, TrajectorySession):
    """A mechanism that is posed and changed, as the window sees it; attributes as of `VelocitySession`, whose numbers
    are coordinates while it is posed.

    Attributes:
        posing: whether it is; False while it runs.
        locks: what stays; script: what was done.
        curve: of the point whose curve is shown, None where there is none.
        dead_points: coordinate -> where it stands at dead points of others, and of which.
    """

    def __init__(
        self,
        bench: ByHand,
        helpers: Helpers | None = None,
    ) -> None:
        """Starts the thread, which finds how far joints go."""
        self._helpers = helpers or Helpers()
        report = self._helpers.report(bench.model) if self._helpers.report else {}
        self._drawn = bench.drawn_model
        self.posing, self.locks, self.script = True, bench.locks, bench.script
        self._saved = bench.script
        self.curve: ShownCurve | None = None
        self.dead_points: dict[str, list[tuple[float, str]]] = {}
        self._dead: dict[str, Sequence[Mapping[str, float]]] = {}
        self._curve_of: tuple[str, np.ndarray] | None = None
        super().__init__(BenchEngine(bench, dict(report)))
        self._command("ranges", self._find_ranges)

    @property
    def model(self) -> Model:
        """The mechanism as it was changed and is posed.

        Raises:
            ModelError: loops that are open, which no model can hold.
        """
        self._bench.refuse_open("model")
        return self._bench.model

    @property
    def help_lines(self) -> Sequence[str]:
        """How each step is called, and what it does."""
        return self._helpers.help

    @property
    def hand(self) -> WorkbenchSession:
        """Itself: it is more than a run."""
        return self

    # -- called by the window ------------------------------------------------------------------------------------------

    def play(self, time: float) -> None:
        """Runs from where the mechanism stands, or goes on with the run."""
        if not self.posing:
            super().play(time)
        elif self._helpers.run is None:
            self._add_message(NO_RUN)
        elif not self.running:
            self.running = True
            self._add_message("compiling ...")
            self._command("play", self._begin_run)

    def pose(self) -> None:
        """Ends the run: back to the workbench, as the run found it."""
        self.running, self.pull, self.twist = False, None, None
        self._command("pose", self._end_run)

    def advance(self, time: float, seconds: float) -> None:
        """A step of a run."""
        if self.posing:
            self._add_message("The mechanism is posed by hand; Space runs it.")
        else:
            super().advance(time, seconds)

    def restart(self) -> None:
        """Takes all steps back, or begins the run again."""
        if not self.posing:
            super().restart()
            return
        self.pull = self.twist = None
        self._command("restart", self._take_all_back)

    def change(self, path: str, value: float) -> None:
        """Turns a joint, until `let_go`."""
        self.requested[path] = value
        self._command(f"change {path}", functools.partial(self._turn, path, value))

    def set_number(self, path: str, value: float) -> None:
        """Gives a number of the model another value, until `let_go`."""
        self._command(f"number {path}", functools.partial(self._set, path, value))

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        """Drags a body's point (3,) [m, in the body] to a point of the world (3,) [m]; pulls there in a run."""
        if not self.posing:
            super().grab(body, point, target)
            return
        self.pull = (body, point, target)
        self._command("pull", functools.partial(self._drag, body, point, target))

    def let_go(self) -> None:
        """Ends the drag at the last place that was asked for, or a turn, or a number's way: it is a step."""
        if not self.posing:
            super().let_go()
            return
        pull, twist, self.pull, self.twist = self.pull, self.twist, None, None
        self._command(f"drop {next(self._count)}", functools.partial(self._drop, pull, twist))

    def do(self, line: str) -> None:
        """Does a line of a script, or `undo()`, `redo()`, `flip()`, `help()`."""
        self._command(f"do {next(self._count)}", functools.partial(self._do, line))

    def undo(self) -> None:
        """Takes the last step back; no such command replaces another, so that each press counts."""
        self.do("undo()")

    def redo(self) -> None:
        """Does the step again that was taken back."""
        self.do("redo()")

    def lock(self, path: str) -> None:
        """Locks a joint's coordinates, or a body, or frees them."""
        self._command(f"lock {next(self._count)}", functools.partial(self._toggle_lock, path))

    def want(self, key: str, path: str) -> None:
        """States a "target" or a "posture" of a joint where it stands, or takes those away that it has."""
        self._command(f"want {next(self._count)}", functools.partial(self._toggle_wanted, key, path))

    def save(self, folder: Path) -> None:
        """Writes the model in this pose into a folder, under a name that is free, and what was done beside it."""
        self._command("save", functools.partial(self._save, folder))

    def show_curve(self, body: str, point: np.ndarray) -> None:
        """Shows the curve of a body's point (3,) [m, in the body] through the motion of the mechanism, also of what it
        is changed to."""
        self._curve_of = (body, point)
        self._command("curve", self._find_curve)

    def hide_curve(self) -> None:
        """Shows no curve."""
        self._curve_of = self.curve = None

    def tell_travel(self, path: str) -> None:
        """Says how far a joint goes, and how others stand at its ends."""
        self._command(f"travel {path}", functools.partial(self._travel, path))

    def close_saving(self, folder: Path) -> str:
        """Ends the thread, and writes what was done since it was written last, as `save` does.

        Returns:
            a sentence that says where, "" where there is nothing to write.
        """
        self.close()
        with self._lock:
            commands, self._commands = self._commands, {}
        for kind, command in commands.items():
            if kind.startswith(AT_THE_END):
                self._guarded(command, stops=False)
        self._bench.drop()
        written = self._written(folder) if self._bench.script != self._saved else ""
        return "\n".join([*self.unfinished, *([written] if written else [])])

    def make_variants(self, folder: Path, done: Callable[[Path], None]) -> None:
        """Makes a stored study of the mechanism as it is, with what was changed by hand varied.

        Args:
            done: is called with its path, by the thread.
        """
        self._command("variants", functools.partial(self._vary, folder, done))

    # -- run by the thread ---------------------------------------------------------------------------------------------

    def _begin_run(self) -> None:
        assert self._helpers.run is not None
        self._bench.drop()
        self._bench.refuse_open("run")
        live = self._helpers.run(self._bench.model)
        self._engine, self.posing, self.ranges, self.requested, self.curve = live, False, {}, {}, None
        self.goals, self.hand_goals, self.other = (), (), None
        self._new_history()
        self._add_message("it runs; Ctrl+P, or the button Pose, goes back")

    def _end_run(self) -> None:
        if not self.posing:
            self._engine, self.posing = self._bench_engine, True
            self._new_history()
            self._seen()
            self._command("ranges", self._find_ranges)
            self._command("curve", self._find_curve)
            self._add_message("on the workbench, as the run found it")

    def _take_all_back(self) -> None:
        self._require_posing()
        self._shell(self._bench_engine.restart, "all steps are taken back")

    def _drag(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        if not self.posing or body not in self._bench_engine.nodes:
            return  # a part that came late
        self._engine.grab(body, point, target)
        self._seen()

    def _drop(self, pull: tuple[str, np.ndarray, np.ndarray] | None, twist: Twist | None) -> None:
        if not self.posing:
            return
        if pull is not None and pull[0] in self._bench_engine.nodes:
            self._engine.grab(*pull)
        if twist is not None and twist[0] in self._bench_engine.nodes:
            self._bench_engine.twist(*twist)
        self._stepped(self._engine.let_go)
        self._tell_hand()

    def _turn(self, path: str, value: float) -> None:
        if self.posing and path in self._bench.values:
            self._engine.change({path: value})
            self._seen()

    def _set(self, path: str, value: float) -> None:
        self._require_posing()
        self._bench.set_on(path, value)
        self._seen()

    def _do(self, line: str) -> None:
        self._require_posing()
        word = SHELL.match(line)
        if word is None:
            self._stepped(functools.partial(self._bench.replay, line))
        elif word[1] == "help":
            self._note("note", *self._helpers.help, SHELL_HELP)
        elif word[1] == "flip":
            self._add_message(f"{LOOKING} ...; Escape ends it")
            self._flip(word[2] or "")
            self._command("curve", self._find_curve)
        elif word[1] == "write_trajectory":
            self._write_trajectory(word[2] or "")
        elif word[1] == "read_trajectory":
            self._read_trajectory(word[2] or "")
        else:
            undoing = word[1] == "undo"
            call = self._bench.undo if undoing else self._bench.redo
            self._shell(call, f"{word[1]}()", "nothing to take back" if undoing else "nothing was taken back")

    def _shell(self, call: Callable[[], Any], text: str, otherwise: str = "") -> None:
        """A call that is no step of the script."""
        went = call()
        self._note("step", f"# {text}") if went is not False else self._add_message(otherwise)
        self._seen()
        self._command("ranges", self._find_ranges)
        self._command("curve", self._find_curve)

    def _toggle_lock(self, path: str) -> None:
        self._require_posing()
        paths = sorted(one for one in self._bench.lockable if one == path or one.startswith(f"{path}."))
        if not paths:
            self._add_message(f"{path}: nothing that can be locked; pick a joint or a body")
            return
        locked = self._bench.locks.issuperset(paths)
        self._stepped(functools.partial(self._bench.do, "unlock" if locked else "lock", *paths))
        self._add_message(f"{path} {'moves again' if locked else 'is locked'}")

    def _toggle_wanted(self, key: str, path: str) -> None:
        self._require_posing()
        there = {one: value for one, value in self._bench.values.items() if one == path or one.startswith(f"{path}.")}
        stated = bool(getattr(dict(self._bench.drawn_model.joints())[path], key))
        if not there:
            self._add_message(f"{path}: no coordinate of one number")
            return
        lines = [line_of(key, (one, None if stated else value), {}) for one, value in there.items()]
        self._stepped(functools.partial(self._bench.replay, "; ".join(lines)))

    def _save(self, folder: Path) -> None:
        self._add_message(self._written(folder))

    def _written(self, folder: Path) -> str:
        """Writes the model and what was done; a sentence that says where."""
        stem = f"{UNSAFE.sub('_', self._bench.model.name) or 'mechanism'}_posed"
        target = folder / f"{free_stem(folder, stem, ('.json', '.txt'))}.json"
        self._bench.save(target)
        self._saved = self._bench.script
        target.with_suffix(".txt").write_text(self._saved, encoding="utf-8")
        return f"written: {target}, and what was done: {target.with_suffix('.txt').name}"

    def _vary(self, folder: Path, done: Callable[[Path], None]) -> None:
        self._require_posing()
        self._bench.drop()
        if self._helpers.variants is None:
            self._add_message("Studies are made by `shiftjax view MODEL --pose`.")
            return
        numbers = self._bench.model.numbers()
        still = [path for path in self._bench.numbers_set if numbers[path] == 0.0]
        self._note("note", *(f"{path} is 0, of which a tenth is nothing: it does not vary" for path in still))
        self._add_message("simulating variants ...")
        done(self._helpers.variants(self._bench.model, self._bench.numbers_set, folder))

    def _find_curve(self) -> None:
        if self._curve_of is None or not self.posing:
            return
        wanted, self.curve = self._curve_of, None
        try:
            curve = self._bench.curve_of(*wanted)
        except ModelError:
            self._curve_of = None  # it is said once
            raise
        if self._curve_of is wanted:
            self.curve = curve

    def _marks(self, paths: Sequence[str]) -> dict[str, list[tuple[float, str]]]:
        """Coordinate -> where it stands within its range at a dead point of another one, and of which."""
        dead = [(other, there) for other, poses in self._dead.items() for there in poses]
        return self._within_ranges(
            [(other, path, there[path]) for other, there in dead for path in paths if path != other and path in there]
        )

    def _travel(self, path: str) -> None:
        self._require_posing()
        travel, degrees = self._bench.travel_of(path), 180.0 / np.pi
        lines = []
        for side, place, there in (("lower", travel.low, travel.at_low), ("upper", travel.high, travel.at_high)):
            if not np.isfinite(place):
                lines.append(f"{path}: no {side} end")
                continue
            others = ", ".join(f"{name.rpartition(':')[2]} {float(x):.6g}" for name, x in there.items() if name != path)
            end = f"{degrees * place:.6g} deg" if travel.unit == "rad" else f"{place:.6g} m"
            lines.append(
                f"{path}: {side} end at {end} ({float(place):.9g} {travel.unit}), a dead point; there {others}"
            )
        self._note("note", *lines)
        self._add_message("; ".join(lines))

    def _find_ranges(self, first: int = 0) -> None:
        """How far joints go, one after the other: what is done by hand meanwhile comes first."""
        paths = [*self._bench.values][:SLIDERS]
        if not self.posing or self.pull is not None or self.twist is not None:
            return
        if not first:
            self.ranges = {path: ends for path, ends in self.ranges.items() if path in paths}
            self._dead = {}
        if first < len(paths):
            way = self._bench.way_of(paths[first])
            self._dead[paths[first]] = way.dead
            self.ranges = {**self.ranges, paths[first]: (way.low, way.high)}
            self.dead_points = self._marks(paths)
            self._command("ranges", functools.partial(self._find_ranges, first + 1))
        else:
            leading = self._leading({path: bool(self._dead.get(path)) for path in paths})
            self._command("singular", functools.partial(self._find_singular, leading))

    def _new_history(self) -> None:
        engine = self._engine
        where = f"{self._bench.model.name} {'by hand' if self.posing else 'live'}".strip()
        model = self._bench.locked_model if self.posing else engine.model
        if self.pull is not None and self.pull[0] not in engine.nodes:
            self.pull = None
        if self.twist is not None and self.twist[0] not in engine.nodes:
            self.twist = None
        history = History(
            model, engine.nodes, where=where, report=engine.report,
            settings={"step": engine.step, "mode": "live"}, channels=engine.units,
        )  # fmt: skip
        history.at_instants, self._drawn = self.history.at_instants, engine.model
        self._record(history=history)

    def _report_again(self) -> None:
        """The report of the topology, where that has changed."""
        model = self._engine.model
        before, after = ({path: _tied(joint) for path, joint in one.joints()} for one in (self._drawn, model))
        if before != after and self._helpers.report is not None:
            self._bench_engine.report = dict(self._helpers.report(model))

    def _seen(self) -> None:
        """The pose as a new instant of the history, of a new one where the model has changed."""
        self._bench_engine.time += INTERVAL
        if self._bench.drawn_model is not self._drawn:
            if self._curve_of is not None:
                body, point = self._curve_of
                self._curve_of = renamed_paths(self._drawn, self._bench.drawn_model).get(body, body), point
            self._report_again()
            self._new_history()
            self._command("curve", self._find_curve)
        else:
            self._record()
        if self.locks != self._bench.locks:
            self.history.model = self._bench.locked_model  # it is drawn so
        self.ranges = {path: ends for path, ends in self.ranges.items() if path in self.values}
        self.requested = dict(self.values)
        self.locks, self.script = self._bench.locks, self._bench.script
        self._publish_goals()


def _tied(joint: Joint) -> tuple[str, FrameRef, FrameRef]:
    """What of a joint the topology depends on."""
    return joint.type, joint.parent, joint.child
