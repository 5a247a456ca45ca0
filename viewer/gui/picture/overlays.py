"""Lines drawn over the scene: the trace of a point, directions of joints, and what a user adds. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.poses import to_world
from shiftjax.viewer.gui.actions import additions
from shiftjax.viewer.gui.actions.workbench import drawing, pulling
from shiftjax.viewer.gui.picture import goal_ghosts
from shiftjax.viewer.gui.state.colours import ARROW, TRACE
from shiftjax.viewer.gui.state.derived.member_paths import place_of
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.values import frame_in_world, screws
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.scene.affine import PARALLEL, z_along
from shiftjax.viewer.scene.scene import Colour, Strokes

TRACE_POINTS = 400  # a stored run may have far more instants
ARROW_LENGTH, HEAD = 0.18, 0.25  # of an arrow in model sizes, of its head in lengths


def line(points: np.ndarray, colour: Colour) -> Strokes:
    """A line through points (n, 3)."""
    ends = np.stack([points[:-1], points[1:]], axis=1)
    return Strokes(ends, np.tile(np.array(colour, float), (len(ends), 1)))


def joined(several: list[Strokes]) -> Strokes | None:
    """All strokes as one; None where there are none."""
    several = [strokes for strokes in several if len(strokes.ends)]
    if not several:
        return None
    return Strokes(np.concatenate([s.ends for s in several]), np.concatenate([s.colours for s in several]))


def trace(state: WindowState, right: RightHalf | None = None) -> Strokes | None:
    """The path of the traced point of the current member, or of the same point in the right half."""
    if state.view.trace is None:
        return None
    node, point = state.view.trace
    frame = state.view.trace_frame
    if right is None and frame in state.mechanism.frames:
        point = state.mechanism.frames[frame][:3, 3]
    if right is None:
        return path_of(state.study, state.choice.member, node, point)
    body = state.study.nodes[node]
    if body not in right.study.nodes:
        return None
    if frame:
        try:
            point = place_of(right.study.model_of(right.member), frame)
        except (KeyError, StopIteration):  # it has no such body or frame
            return None
    return path_of(right.study, right.member, right.study.nodes.index(body), point)


def path_of(study: StudyLike, member: int, node: int, point: np.ndarray) -> Strokes:
    """The path of a point (3,) of a node [m] of a member, over the whole run."""
    times = np.linspace(study.time[0], study.time[-1], max(2, min(TRACE_POINTS, len(study.time))))
    return line(to_world(study.poses(member, times)[:, node], point), TRACE)


def curve_by_hand(state: WindowState) -> Strokes | None:
    """The curve of a point through the motion of a mechanism on the workbench."""
    curve = state.hand.curve if state.hand is not None else None
    return line(curve.points, TRACE) if curve is not None else None


def arrows(state: WindowState) -> Strokes:
    """An arrow along the axis of every joint of one coordinate, in its file sense."""
    poses, length = state.body_poses(), ARROW_LENGTH * state.scene.size
    ends = []
    for path, joint in state.mechanism.joints.items():
        motions = screws(state.mechanism, path, poses)
        if len(motions) != 1:
            continue
        way = motions[0, :3] if motions[0, :3].any() else motions[0, 3:]
        start = frame_in_world(state.mechanism, joint.parent, poses)[:3, 3]
        tip = start + length * way
        other = np.array((0.0, 0.0, 1.0) if abs(way[2]) < PARALLEL else (1.0, 0.0, 0.0))
        barb = HEAD * length * z_along(way, other)[:, 1]
        back = start + (1 - HEAD) * length * way
        ends += [(start, tip), (tip, back + barb), (tip, back - barb)]
    return Strokes(np.array(ends).reshape(-1, 2, 3), np.tile(np.array(ARROW), (len(ends), 1)))


def strokes(state: WindowState) -> Strokes | None:
    """All lines drawn now; a user overlay that fails is reported and removed."""
    built_in = (
        trace(state),
        arrows(state) if state.arrows_on else None,
        pulling.line(state),
        goal_ghosts.lines(state),
        drawing.line(state),
        curve_by_hand(state),
        drawing.mark(state),
    )
    drawn = [s for s in built_in if s is not None]
    for overlay in list(state.overlays):
        well, added = additions.user_call(state, "overlay", overlay)
        if well:
            drawn.append(added)
        else:
            state.overlays.remove(overlay)
    return joined(drawn)
