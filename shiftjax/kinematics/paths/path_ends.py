"""Where members of a path come to the end of the travel of a driver. Host code.

Problem: a driver leads its loops alone; beyond some place they cannot be closed. No member may step past it, whatever
its strides, and one that is led just there is to come there. Next to it both assemblies meet, and places of the others
go with the root of the distance: a pose is known to the root of the rounding of its place, some 1e-8 rad, and a member
that stands some roundings before the end stands there as well as numbers can say. It goes no further: from there
nothing tells on which assembly.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.kinematics.paths.inputs import Inputs
from shiftjax.outcome import Outcome
from shiftjax.record import record
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.run.travel.reach import reaches

BEYOND = 1e-9  # rad or parts of the model's length: a path that only reaches the end of a travel does not leave it
PAST = 0.05  # the same by which ends are looked for past the farthest place: to rounding where that is well past them
BEFORE = 16  # roundings of a place, or of a clock, before the end at which a member stands there


@record
class Beginning:
    """Where members are led from.

    Attributes:
        prepared: the model, with its driver there; began: their poses. leaving: (K,) members that begin at an end.
    """

    prepared: Prepared
    began: Start
    leaving: np.ndarray


class PathEnds:
    """The ends of the travels of drivers that leave their substructures no freedom.

    Args:
        inputs: of the path; places at which a member comes to an end are put some roundings before it.
        drivers: coordinate -> its constraint.

    Attributes:
        causes: member -> what is said where it is locked. reaching: (B,) the pose at which a member comes to the end of
            its travel, -1 where it comes to none, or goes past it.
    """

    def __init__(self, beginning: Beginning, inputs: Inputs, drivers: Mapping[str, int], lanes: Ensemble) -> None:
        prepared, self.inputs, self.lanes = beginning.prepared, inputs, lanes
        self.prepared, self.leaving = prepared, {*beginning.leaving.tolist()}
        self.causes: dict[int, str] = {}
        self.reaching = np.full(prepared.members, -1)
        plan = prepared.plan
        for s, block in enumerate(plan.substructures):
            moving = [k for k in block.groups if k in drivers.values()]
            if len(moving) == 1:
                self._find(next(path for path, k in drivers.items() if k == moving[0]), s, moving[0], beginning.began)

    def _find(self, path: str, s: int, driver: int, began: Start) -> None:
        """Of one driver, in both directions."""
        prepared, lanes, places = self.prepared, self.lanes, self.inputs.places[path]
        unit = prepared.plan.coordinates[prepared.plan.constraints[driver].coordinates[0]].unit
        size = 1.0 if unit == "rad" else prepared.setup.length
        members = np.flatnonzero(lanes.status <= 0)
        lane, q = prepared.lane_of(members, 1.0), began.q[:, members]
        ways = ((1.0, places.max(1)), (-1.0, places.min(1)))
        targets = [np.broadcast_to(far + PAST * sign * size, prepared.members)[members] for sign, far in ways]
        both = reaches(prepared.plan, lane, s, driver, q, targets)
        for (sign, _), target, end in zip(ways, targets, both, strict=True):
            for row in np.flatnonzero(end != target):
                self._note(int(members[row]), path, unit, sign, float(end[row]), BEYOND * size)

    def _roundings(self, size: float) -> float:
        return BEFORE * float(np.spacing(np.asarray(size, self.lanes.table.dtype)))

    def _note(self, member: int, path: str, unit: str, sign: float, end: float, margin: float) -> None:
        """Where one member comes to an end, if it comes to no other one before."""
        way = self._way(path, member)
        beyond = sign * (way - end)
        at_end = beyond >= -self._roundings(max(abs(end), 1.0))
        at_end[0] &= member not in self.leaving
        pose = int(at_end.argmax())
        if not at_end[pose] or pose - 1 >= self.lanes.ends[member]:
            return
        limit = f"{path} locks at {end:.12g} {unit}, the end of its travel: "
        if pose and beyond[pose] <= margin:
            self.reaching[member] = pose
            self._stop_before(member, path, pose, end - sign * self._roundings(max(abs(end), 1.0)))
            self.causes[member] = f"{limit}pose {pose} is there, and nothing tells on which assembly it goes on"
            return
        self.reaching[member], self.lanes.ends[member] = -1, pose - 1
        self.causes[member] = f"{limit}pose {pose} drives it to {way[pose]:.6g} {unit}"

    def _stop_before(self, member: int, path: str, pose: int, place: float) -> None:
        """Lets a member stop at a place, which its driver takes at a clock before a pose of an even path."""
        if not self.inputs.even:
            self.inputs.change_place(path, self.prepared.members, member, pose, place)
            self.lanes.ends[member] = pose
            return
        before, there = self._way(path, member)[pose - 1 : pose + 1]
        clock = pose - max((there - place) / (there - before), 0.0)
        self.lanes.ends[member] = min(clock, pose - self._roundings(pose))

    def _way(self, path: str, member: int) -> np.ndarray:
        places = self.inputs.places[path]
        return places[member if len(places) > 1 else 0]

    def record_reached(self) -> None:
        """Records members that stand some roundings before a pose of an even path."""
        lanes = self.lanes
        arrived, between = lanes.clock_of() >= lanes.ends, lanes.clock_of() % 1.0 != 0.0
        there = np.flatnonzero((lanes.status <= 0) & (self.reaching >= 0) & arrived & between)
        if len(there):
            lanes.evaluate("observe", there)

    def say_locked(self) -> None:
        """Gives members at the end of their travel, or that came to no pose shortly before it, their status.

        One whose path ends with it has done what was asked.
        """
        lanes = self.lanes
        near = lanes.status == Outcome.singular_pose
        stopped = np.isfinite(lanes.ends) & ((lanes.status <= 0) | (near & (lanes.clock_of() > lanes.ends - 1.0)))
        arrived = (lanes.status <= 0) & (self.reaching == self.inputs.count - 1)
        lanes.end({int(k): self.causes[int(k)] for k in np.flatnonzero(stopped & ~arrived)}, Outcome.locked)
