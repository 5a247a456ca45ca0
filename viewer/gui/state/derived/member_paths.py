"""The path of the traced point of many members, as lines; collected a little in every frame. No GL, no GUI library.

Properties: a path that is known is not made again while others are selected; the lines stay the same arrays until
something changes, so that nobody copies or compares them; members without a trajectory are counted.
"""

from __future__ import annotations

import time

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.poses import to_world
from shiftjax.viewer.gui.state.colours import TRACE, of_set
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.ghost_choice import drawn
from shiftjax.viewer.members.member_sets import first_of
from shiftjax.viewer.scene.affine import of_frame
from shiftjax.viewer.scene.ramp import ends, ramp
from shiftjax.viewer.scene.scene import Strokes

MOST_PATHS = 1000  # members
POINTS = 400  # of a path at most; a stored run may have far more instants
LINES = 48_000  # of all paths together, each at least of `FEWEST` lines
FEWEST = 24
SECONDS = 0.02  # of collecting, a frame
BLOCK = 32  # members whose trajectories are read together
KEPT_PATHS = 4 * MOST_PATHS  # in memory
FAINTEST = 0.25  # opacity of very many paths


class MemberPaths:
    """Paths of the selected members, or of the chosen ones, by one point.

    Attributes:
        wished: how many members they should be of. without: how many of these have no trajectory.
        members: (k,) of whom paths are drawn, when all are collected; collected: how many are.
    """

    def __init__(self) -> None:
        self.wished = self.without = self.collected = 0
        self.members = np.zeros(0, np.int64)
        self._of: object = None  # for which members they are
        self._point: object = None  # of which point the paths are
        self._paths: dict[int, np.ndarray] = {}  # member -> (n, 3), in the order of use
        self._lost: set[int] = set()  # members that never started
        self._lines: tuple[object, Strokes] | None = None
        self._grew = False  # in the last call

    def look(self, state: WindowState, seconds: float = SECONDS) -> Strokes | None:
        """Goes on collecting; the lines of all paths that are there, None where none is wished."""
        if not state.choice.traces_on or state.view.trace is None or state.live is not None:
            self.wished = self.without = self.collected = 0
            self.members, self._of, self._grew = self.members[:0], None, False
            return None
        self._choose(state)
        left = [member for member in self.members.tolist() if member not in self._paths]
        until, at = time.perf_counter() + seconds, 0
        while at < len(left):
            block = left[at : at + BLOCK]
            self._read(state, block)
            at += len(block)
            if time.perf_counter() > until:
                break
        if self._lost:
            self._of = None if self._lost & set(left) else self._of  # others take their places
        there = [member for member in self.members.tolist() if member in self._paths]
        self._grew, self.collected = bool(left), len(there)
        return self._strokes(state, np.array(there, np.int64))

    @property
    def unfinished(self) -> bool:
        """Whether paths are still to come, or have just come."""
        return self._grew

    def words(self) -> str:
        """How many paths there are and of whom none is drawn; "" where none is wished."""
        if not self.wished:
            return ""
        with_path = self.wished - self.without
        count = (
            f"{self.collected:,} of {len(self.members):,}"
            if self.collected < len(self.members)
            else f"{self.collected:,}"
        )
        parts = [f"paths of {count} members"]
        parts += [f"spread over {with_path:,} with trajectories"] if with_path > len(self.members) else []
        parts += [f"{self.without:,} of {self.wished:,} have no trajectory"] if self.without else []
        return ", ".join(parts)

    def _choose(self, state: WindowState) -> None:
        """Of whom paths are drawn, and of which point; what does not fit is forgotten."""
        study, explorer, trace = state.study, state.explorer, state.view.trace
        if trace is None:
            return
        if (point := (trace[0], trace[1].tobytes(), state.view.trace_frame, study.revision)) != self._point:
            self._point, self._paths, self._lost, self._lines, self._of = point, {}, set(), None, None
        colour_by, simulated = state.choice.colour_by, study.simulated
        of = explorer.revision, state.choice.chosen.tobytes(), colour_by, len(simulated), point
        if of == self._of:
            return
        self._of = of
        wished = np.flatnonzero(explorer.selected) if explorer.counts()[1] else np.unique(state.choice.chosen)
        have = np.intersect1d(wished, np.union1d(study.kept, simulated))
        have = np.setdiff1d(have, list(self._lost)).astype(np.int64)
        metric = np.asarray(study.metrics[colour_by], float) if colour_by else None
        self.members = drawn(have, metric, MOST_PATHS)
        self.wished, self.without = len(wished), len(wished) - len(have)
        others = [member for member in self._paths if member not in set(self.members.tolist())]
        for member in others[: max(len(self._paths) - KEPT_PATHS, 0)]:
            del self._paths[member]

    def _read(self, state: WindowState, block: list[int]) -> None:
        """The paths of some members, whose trajectories are read together."""
        study, trace = state.study, state.view.trace
        if trace is None:
            return
        try:
            study.poses_of(block, float(study.time[0]))
        except ModelError:  # one of them never started: the others are read one by one
            pass
        instants = evenly_spaced(len(study.time), POINTS)
        for member in block:
            try:
                track = study.track(member)[instants, trace[0]]
                frame = state.view.trace_frame
                self._paths[member] = to_world(track, place_of(study.model_of(member), frame) if frame else trace[1])
            except (ModelError, KeyError, StopIteration):  # it never started, or has no such body or frame
                self._lost.add(member)

    def _strokes(self, state: WindowState, members: np.ndarray) -> Strokes:
        """The lines of all paths in their colours; the same object while nothing changes."""
        limits = metric_ends(state, self.members)
        key = self._of, members.tobytes(), limits
        if self._lines is None or self._lines[0] != key:
            self._lines = (key, self._made(state, members, limits))
        return self._lines[1]

    def _made(self, state: WindowState, members: np.ndarray, limits: tuple[float, float] | None) -> Strokes:
        if not len(members):
            return Strokes(np.zeros((0, 2, 3)), np.zeros((0, 4)))
        paths = np.stack([self._paths[member] for member in members.tolist()])
        most = max(LINES // len(members), FEWEST) + 1
        paths = paths[:, evenly_spaced(paths.shape[1], most)]
        each = np.stack([paths[:, :-1], paths[:, 1:]], axis=2)  # (members, lines, 2, 3)
        colours = np.repeat(colours_of(state, members, limits), each.shape[1], axis=0)
        strokes = Strokes(np.ascontiguousarray(each.reshape(-1, 2, 3)), colours)
        for array in (strokes.ends, strokes.colours):
            array.flags.writeable = False
        return strokes


def place_of(model: Model, frame: str) -> np.ndarray:
    """(3,) where a frame is in its body [m]; KeyError or StopIteration where the model has no such body or frame."""
    body, _, name = frame.rpartition(":")
    frames = model.frames if body == FIXED else dict(model.bodies())[body].frames
    return of_frame(frames, name)[:3, 3]


def colours_of(state: WindowState, members: np.ndarray, limits: tuple[float, float] | None) -> np.ndarray:
    """(k, 4) colours of the paths of (k,) members: by the metric that colours ghosts, else of their sets.

    Args:
        limits: numbers at both ends of the ramp, None without a metric.
    """
    opacity = float(np.clip(60.0 / len(members), FAINTEST, 0.9))
    colours = np.tile((*TRACE[:3], opacity), (len(members), 1))
    if limits is not None:
        colours[:, :3] = ramp(np.asarray(state.study.metrics[state.choice.colour_by], float)[members], limits)
    else:
        for k, place in enumerate(first_of(state.explorer.sets, members).tolist()):
            if place >= 0:
                colours[k, :3] = of_set(place)[:3]
    return colours


def metric_ends(state: WindowState, traced: np.ndarray | None = None) -> tuple[float, float] | None:
    """What both ends of the ramp mean, for ghosts and paths alike; None without a metric, or where neither is drawn.

    Args:
        traced: (k,) members whose paths are drawn; None for those of the last picture.
    """
    choice = state.choice
    if not choice.colour_by:
        return None
    metric = np.asarray(state.study.metrics[choice.colour_by], float)
    ghosts = drawn(choice.others, metric) if choice.ghosts_on else choice.chosen[:0]
    traced = state.pane_data(MemberPaths).members if traced is None else traced
    members = np.union1d(ghosts, traced)
    return ends(metric[members]) if len(members) else None
