"""The pose that a file draws: where its bodies stand at the displacements that its joints state, loops left open.

Host code. Joints that state their displacement lead; those that do not are used where nothing else reaches a body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from shiftjax.algebra import Mat, Vec, identity, matmul, matvec, minus, plus, transpose, zeros
from shiftjax.joints import KINDS
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import FIXED, Body, Frame, FrameRef, Joint, Placement
from shiftjax.record import record
from shiftjax.rotations import rotation_of_vector


@record
class DrawnBody:
    """A body in the world.

    Attributes:
        R, p: its rotation, and its origin [m]. near, far: frames of the joint that leads to it, from ground on; None of
            ground, and of a body that nothing joins to it.
    """

    R: Mat
    p: Vec
    near: FrameRef | None = None
    far: FrameRef | None = None

    def of(self, frame: Frame | None) -> tuple[Mat, Vec]:
        """A frame of it in the world; None is its origin."""
        if frame is None:
            return self.R, self.p
        R, T = frame_in_body(frame)
        return matmul(self.R, R), plus(self.p, matvec(self.R, T))


def frame_in_body(frame: Frame | Placement) -> tuple[Mat, Vec]:
    """Rotation and translation of a frame in its body, or of a placement in its frame."""
    return matmul([list(row) for row in frame.R], rotation_of_vector(frame.rotation)), list(frame.T)


class DrawnContents(Protocol):
    """The part of a model that is read here: active elements by path."""

    @property
    def frames(self) -> tuple[Frame, ...]: ...

    def bodies(self) -> Iterable[tuple[str, Body]]: ...

    def joints(self) -> Iterable[tuple[str, Joint]]: ...


def frames_of(model: DrawnContents) -> dict[tuple[str, str], Frame]:
    """Body, or ground, and name -> frame."""
    frames = {(path, frame.name): frame for path, body in model.bodies() for frame in body.frames}
    return frames | {(FIXED, frame.name): frame for frame in model.frames}


def drawn(model: DrawnContents) -> dict[str, DrawnBody]:
    """Where ground and every active body stand; a body that nothing joins to ground stands in the world's axes."""
    frames = frames_of(model)
    placed = {FIXED: DrawnBody(identity(), zeros())}
    joints = [joint for _, joint in model.joints()]
    for body in (FIXED, *(path for path, _ in model.bodies())):
        placed.setdefault(body, DrawnBody(identity(), zeros()))
        while (step := next(_leading(joints, placed), None)) is not None:
            joint, near, far = step
            R, p = placed[near.body].of(frames.get((near.body, near.frame)))
            turn, shift = motion_of(joint)
            if near == joint.child:
                turn, shift = transpose(turn), [-x for x in matvec(transpose(turn), shift)]
            R, p = matmul(R, turn), plus(p, matvec(R, shift))  # of the far frame
            inside = frames.get((far.body, far.frame))
            R_far, T_far = (identity(), zeros()) if inside is None else frame_in_body(inside)
            R = matmul(R, transpose(R_far))
            placed[far.body] = DrawnBody(R, minus(p, matvec(R, T_far)), near, far)
    return placed


def _leading(joints: list[Joint], placed: dict[str, DrawnBody]) -> Iterator[tuple[Joint, FrameRef, FrameRef]]:
    """The joints from bodies that are placed to others, those first that state their displacement."""
    for stating in (True, False):
        for joint in joints:
            ends = [(joint.parent, joint.child), (joint.child, joint.parent)]
            leads = [(near, far) for near, far in ends if near.body in placed and far.body not in placed]
            if leads and stating == any(word.startswith("initial_displacement") for word in joint.stated):
                yield joint, *leads[0]


def motion_of(joint: Joint) -> tuple[Mat, Vec]:
    """Rotation and translation of a joint's child frame in its parent frame, at its stated displacement."""
    kind, start = KINDS[joint.type], joint.initial_displacement
    if isinstance(start, Placement):
        return frame_in_body(start)
    numbers: dict[str, Any] = {"axis": joint.axis, **joint.values}
    R, p = identity(), zeros()
    for coordinate in kind.coordinates:
        q = start[coordinate.name] if isinstance(start, FrozenJson) else start
        turn, shift = coordinate.primitive.motion([q], numbers)
        R, p = matmul(R, turn), plus(p, matvec(R, shift))
    return R, p
