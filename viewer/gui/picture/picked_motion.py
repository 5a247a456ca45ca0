"""What the picked body of a mechanism that is posed does to first order: its screws and its ellipsoids. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.editing.velocities.ellipsoids import VelocityEllipsoid
from shiftjax.editing.velocities.free_motions import FreeMotions, LedMotion
from shiftjax.editing.velocities.screws import BodyScrew
from shiftjax.mechanism.records import FIXED
from shiftjax.poses import to_world
from shiftjax.record import record
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.latest_values import LatestValues
from shiftjax.viewer.scene.affine import as_tuple

SCREW, ELLIPSOID = "screw", "ellipsoid"  # display classes


@record
class SeenMotion:
    """The motion of a body as another one sees it."""

    body: str
    other: str
    screw: BodyScrew


@record
class PickedMotion:
    """The motion of the picked body.

    Attributes:
        body: its path. led: which motion it is, or why none is. seen: from ground, and from another body; none where no
            motion is known. planar: whether all bodies move in one plane.
    """

    body: str
    led: LedMotion
    seen: tuple[SeenMotion, ...]
    planar: bool


def watch(state: WindowState) -> FreeMotions | None:
    """Has motions found where they are drawn; those of the pose that is shown, None where they are not known."""
    run = state.hand
    if run is None:
        return None
    run.watch_motions(on=run.posing and any(state.display.drawn(name) != "hidden" for name in (SCREW, ELLIPSOID)))
    motions = run.free_motions if run.posing else None
    now = state.clock.time >= float(state.study.time[-1])  # no earlier instant of what was done
    return motions if motions is not None and now and motions.bodies.keys() == state.node.keys() else None


def bodies(state: WindowState) -> tuple[str, str]:
    """The picked body and the one that it is seen from beside ground, "" each where none is: of a picked frame its
    body, of a joint its child, seen from the parent; a selected body before that."""
    pick, joints = state.selection.pick, state.mechanism.joints
    other = ""
    if pick in joints:
        body, other = (joints[pick].child.body, joints[pick].parent.body)
        body, other = (other, body) if body == FIXED else (body, other)
    else:
        node = state.node_of(pick) if pick is not None else None
        body = state.study.nodes[node] if node else ""
    selected = [path for path in state.selection.selected if path in state.node and path not in (body, FIXED)]
    other = selected[0] if selected else other
    return body, "" if other == FIXED else other


class PickedValues:
    """What was worked out last, for as long as the motions and what is picked are the same: lines, legend and pane of
    one frame ask for it, and so do frames in which nothing moves."""

    def __init__(self) -> None:
        self.motion, self.ellipsoid = LatestValues(), LatestValues()


def of_pick(state: WindowState, motions: FreeMotions) -> PickedMotion | None:
    """The motion of the picked body; None where none is picked."""
    body, other = bodies(state)
    if not body:
        return None
    lead = next((path for path in state.selection.marked if path in motions.joints), "")
    latest = state.pane_data(PickedValues).motion
    return latest.get((motions, body, other, lead), SCREW, lambda: _motion(motions, body, other, lead))


def _motion(motions: FreeMotions, body: str, other: str, lead: str) -> PickedMotion:
    led = motions.led(lead)
    others = [FIXED, *([other] if other else [])] if led.weights is not None else []
    seen = [SeenMotion(body, one, motions.screw(body, led, one)) for one in others]
    return PickedMotion(body, led, tuple(seen), motions.normal is not None)


def point_of(state: WindowState, body: str) -> tuple[np.ndarray, str]:
    """The point (3,) of a body in the world [m] that is looked at, and what it is: the picked frame, the mark, where
    the body was picked, its origin."""
    pick, pose = state.selection.pick, state.body_poses()[body]
    if pick in state.mechanism.frames and pick not in state.node:
        return to_world(pose, state.mechanism.frames[pick][:3, 3]), f"the frame {pick.rpartition(':')[2]}"
    if state.mark is not None:
        return state.mark, "the mark, taken with the body"
    if pick == body and state.selection.pick_point is not None:
        return to_world(pose, state.selection.pick_point), "where it was picked"
    return pose[:3], "its origin"


def ellipsoid_of_pick(state: WindowState, motions: FreeMotions) -> VelocityEllipsoid | None:
    """Of the point that is looked at; None where no body is picked, or nothing is known. Joints that are selected are
    inputs before others."""
    body, _ = bodies(state)
    if not body:
        return None
    selected = tuple(path for path in state.selection.selected if path in motions.joints)
    point = point_of(state, body)[0]
    latest, of = state.pane_data(PickedValues).ellipsoid, (motions, body, as_tuple(point), selected)
    return latest.get(of, ELLIPSOID, lambda: motions.ellipsoid(body, point, selected))
