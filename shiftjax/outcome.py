"""How a member's run ended: one word each, with its cause and its remedy.

A member may have several warnings; its status is then the gravest one, the lowest number, and its message says all.
That an event has stopped it is no fault: its status says so where there is no warning.
"""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """How a run ended: 0 good; below 0 finished with a warning; above 0 ended early."""

    out_of_reach = -7
    event = -6
    impossible_inertia = -5
    inaccurate = -4
    branch_unsure = -3
    start_changed = -2
    near_singular = -1
    ok = 0
    not_assembled = 1
    non_finite = 2
    stuck = 3
    loop_open = 4
    no_mass = 5
    unphysical = 6
    locked = 7
    interrupted = 8
    too_small = 9
    singular_pose = 10
    no_equilibrium = 11
    unlimited = 12


GOOD = (Outcome.ok, Outcome.event)  # statuses of members of which nothing is to be said


class WithRemedy(str):
    """What ended a run, with its remedy: that of its outcome is not added."""

    __slots__ = ()


REMEDY: dict[Outcome, str] = {
    Outcome.ok: "",
    Outcome.event: "an event has stopped the run, as was asked: `events` and `final` of the result say where",
    Outcome.out_of_reach: (
        "its goals cannot all be met, or not from where it begins, and it stands at the nearest pose that was come to: "
        "try from other poses (`tries`), or ask for less"
    ),
    Outcome.near_singular: (
        "the run stayed near a pose where the rank of the loops drops; positions there are less certain: "
        "check the certificate's pivot_ratio, or change the step so that the pose is crossed elsewhere"
    ),
    Outcome.start_changed: (
        "the loops of this design do not allow the start that was stated; start_change says by how much it moved: "
        "state another one, or state fewer joints"
    ),
    Outcome.branch_unsure: (
        "the way from the file's start to this member's led through a singular or infeasible pose, where assembly "
        "branches meet: compare its start with the one meant, or state the start of one more joint"
    ),
    Outcome.inaccurate: (
        "the energy balance or the loop gap is worse than the method promises: take a smaller step, or accept it "
        "with a larger limit"
    ),
    Outcome.impossible_inertia: (
        "no body has these moments, but every motion of this mechanism moves positive mass, so that it runs: correct "
        "the inertia, or refuse such members with strict_inertia"
    ),
    Outcome.not_assembled: (
        "the loops of this design cannot be closed from the model's start: "
        "change the lengths or the start, or hold fewer joints"
    ),
    Outcome.non_finite: (
        "a number became infinite or not a number: check this member's parameters for NaN and zero masses, "
        "or take a smaller step"
    ),
    Outcome.stuck: "a step tripped repeatedly: it is too large for this motion; take a smaller one",
    Outcome.loop_open: "a step left the loops open by more than the projection can close: take a smaller step",
    Outcome.no_mass: "a motion of this mechanism moves no mass: give the named body an inertia, or hold the joint",
    Outcome.unphysical: "a number of this member that cannot be: correct the one that is named",
    Outcome.locked: (
        "the mechanism was driven past the end of its travel, where its loops can no longer be closed: "
        "drive it less far, or change the lengths"
    ),
    Outcome.too_small: (
        "no step is small enough for the tolerance: a force jumps there, or grows without bound; soften it, "
        "take a larger tolerance or fixed steps"
    ),
    Outcome.singular_pose: (
        "the loops lose rank at the next pose, and singular='stop' asked the member to stop before it: begin on the "
        "other side of the pose, or let it pass along its branch, with singular='pass'"
    ),
    Outcome.no_equilibrium: (
        "forces still move the mechanism after many steps downhill: hold what falls or turns freely by a spring or a "
        "drive, or begin nearer to the equilibrium"
    ),
    Outcome.unlimited: (
        "a joint has no end of its travel, or a workspace no bounds, of which a metric is: it turns round, or slides "
        "on for ever; make a metric of its turning margin, give joints limits, or change the lengths"
    ),
    Outcome.interrupted: "the run was stopped from outside before this member's end: run it again",
}
