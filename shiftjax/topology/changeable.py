"""Which numbers of a plan may change while a mechanism runs, and what a change of them moves. Host code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiftjax.field import Role
from shiftjax.plan_elements import FrameNumbers
from shiftjax.topology.plan import Plan, numbers_read


def changeable(plan: Plan) -> Iterator[int]:
    """Places of numbers that may change on the way: of forces, bodies, joints and frames; gravity.

    Not where something begins, nor what constraints read: a drive or a coupling that jumps leads nowhere.
    """
    read = numbers_read(plan.forces) | _of_frames(placed.frame for _, placed in plan.frames) | _of_joints(plan)
    for node in plan.nodes:
        if node.numbers is not None:
            of_body = node.numbers
            read |= {of_body.mass, *of_body.inertia, *of_body.center_of_mass, of_body.gravity_scale}
    of_constraints = plan.read_by_constraints()
    for k, number in enumerate(plan.numbers):
        role = number.role
        of_run = k in read and not (role.of_start or role is Role.LOAD)
        if (of_run or role is Role.ACCELERATION) and k not in of_constraints:
            yield k


def of_loops(plan: Plan) -> set[int]:
    """Places of the numbers that move closed loops: of joints, and of the frames of joints and constraints."""
    if not plan.substructures:
        return set()
    return _of_joints(plan) | _of_frames(placed.frame for group in plan.constraints for placed in group.frames)


def of_mechanism(plan: Plan) -> set[int]:
    """Places of the numbers that are no law of a force, nor gravity: energies jump where they are set."""
    of_forces = numbers_read(plan.forces)
    return {k for k, number in enumerate(plan.numbers) if number.role is not Role.ACCELERATION} - of_forces


def _of_joints(plan: Plan) -> set[int]:
    frames = (frame for joint in plan.joints for frame in (joint.near_frame, joint.far_frame))
    return numbers_read(plan.joints) | _of_frames(frames)


def _of_frames(frames: Iterable[FrameNumbers | None]) -> set[int]:
    return {place for frame in frames if frame is not None for place in (*frame.T, *frame.rotation)}
