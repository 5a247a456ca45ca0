"""Goals of a mechanism that is posed by hand: a ghost of each body where its goal is met, and a line to there while it
is not; and the other assembly as a ghost. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.poses import quaternions
from shiftjax.record import record
from shiftjax.viewer.gui.state.colours import OF_STATE, OTHER
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion.live_run import ByHandRun, ShownGoal
from shiftjax.viewer.scene.scene import Colour, Ghosts, Scene, ScenePart, Strokes

CROSS = 0.03  # half size of a cross at a goal, in model sizes
GHOST = 0.4  # opacity of a body where its goal is met


@record
class _BodyParts:
    """The parts of bodies of one scene, the same objects from frame to frame: what is drawn is kept by them."""

    scene: Scene
    of: dict[str, tuple[ScenePart, ...]]


class GoalParts:
    """Parts of bodies for ghosts, as long as the scene is the same."""

    def __init__(self) -> None:
        self._last: _BodyParts | None = None

    def of(self, scene: Scene, body: str) -> tuple[ScenePart, ...]:
        """Those of a body, and of what is fixed on it."""
        if self._last is None or self._last.scene is not scene:
            self._last = _BodyParts(scene, {})
        if body not in self._last.of:
            node = scene.nodes.index(body)
            self._last.of[body] = tuple(part for part in scene.parts if part.node == node and part.kind == "body")
        return self._last.of[body]


def shown(run: ByHandRun) -> list[ShownGoal]:
    """The goals that are drawn: those that are kept, and while a body is turned what the hand wants; of a drag there is
    the line to the hand."""
    return [*(run.hand_goals if run.twist is not None else ()), *run.goals]


def with_goals(others: Ghosts | None, state: WindowState) -> Ghosts | None:
    """Ghosts of members, or those of a mechanism that is posed by hand: bodies where goals are met, as far as they are
    not, and the other assembly."""
    run = state.hand
    if run is None or not run.posing:
        return others
    parts, poses, colours = list[tuple[ScenePart, ...]](), list[np.ndarray](), list[Colour]()
    for goal in shown(run):
        if goal.state == "met" or goal.body not in state.node:
            continue
        there, node = np.zeros((len(state.study.nodes), 7)), state.node[goal.body]
        there[:, 3] = 1.0
        there[node] = [*goal.ghost[1], *quaternions(goal.ghost[0][None])[0]]
        parts.append(state.pane_data(GoalParts).of(state.scene, goal.body))
        poses.append(there)
        colours.append((*OF_STATE[goal.state][:3], GHOST))
    if (other := run.other) is not None and len(other.poses) == len(state.study.nodes):
        parts.append(state.scene.parts)
        poses.append(other.poses)
        colours.append(OTHER)
    return Ghosts(np.array(poses), np.array(colours), tuple(parts)) if poses else others


def lines(state: WindowState) -> Strokes | None:
    """A cross where each goal is, along its axes, with the edges of a region of its place, and a line to there from
    where its point is."""
    run = state.hand
    if run is None or not run.posing:
        return None
    ends, colours = list[np.ndarray](), list[Colour]()
    for goal in shown(run):
        arms = CROSS * state.scene.size * goal.ghost[0].T
        cross = np.stack([goal.ends[1] - arms, goal.ends[1] + arms], axis=1)
        ends += [*cross, *goal.edges, *([goal.ends] if goal.state != "met" else [])]
        colours += [OF_STATE[goal.state]] * (len(ends) - len(colours))
    return Strokes(np.array(ends), np.array(colours)) if ends else None
