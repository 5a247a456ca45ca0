"""Lane functions evaluated on the host, for arrays with one entry a member.

Arrays have members last, (n, B); matrices handed to linear algebra have them first, (B, m, n).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftjax.algebra import Mat, Scalar, Vec, largest, matmul, matvec, minus, plus, quotient, transpose, zeros
from shiftjax.constraints import CONSTRAINTS, DriverKind, PoseDriver, RowGroup, scales
from shiftjax.dynamics import kinematics
from shiftjax.dynamics.kinematics import Motion, Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.field import Role
from shiftjax.lanes.member_values import MemberValues
from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH
from shiftjax.run.closing.host_functions import NO_TANGENTS, Bend, evaluate, made_once
from shiftjax.run.closing.normal_equations import MOST, damped_change
from shiftjax.run.closing.polygons import at_corners, excess, judged_loops, sides
from shiftjax.run.closing.rounding import but_for_rounding
from shiftjax.topology.partition import Block
from shiftjax.topology.plan import Plan, TreeJoint, flat


@dataclass
class StartLane(Lane):
    """A lane whose numbers say where a run begins, too; the lanes of programs do not hold those."""

    def coordinates(self) -> Vec:
        """(nq,) as the numbers and drivers say, loops open as they may be."""
        out = self.of_numbers()
        for place, value in self.prescribed().items():
            out[place] = value
        return out

    def of_numbers(self) -> Vec:
        """(nq,) as the numbers of starts say, drivers apart."""
        out: Vec = []
        for joint in self.plan.joints:
            if not joint.nq:
                continue
            if not joint.kind.placed:
                out += [self.params.at(place) for place in flat(joint.displacement)]
                continue
            *shift, vector = joint.displacement
            p = [*(self.params.at(shift[0]) if shift else ()), *zeros()][:3]
            n = {name: self.params.at(places) for name, places in joint.numbers}
            out += joint.kind.measured(self.params.rotation(joint.matrix, vector), p, n)
        return out

    def prescribed(self) -> dict[int, Scalar]:
        """Coordinate -> where its driver puts it."""
        values: dict[int, Scalar] = {}
        motion = self.motion([], None)
        for group in self.plan.constraints:
            kind = CONSTRAINTS[group.kind]
            if isinstance(kind, DriverKind):
                values[self.plan.coordinates[group.coordinates[0]].q] = kind.motion(group, motion)[0]
            elif isinstance(kind, PoseDriver) and (joint := _between(self.plan, group)):
                values |= self._posed(joint, *_of_joint(joint, group, motion, *kind.pose(group, motion)))
        return values

    def _posed(self, joint: TreeJoint, R: Mat, place: Vec | None) -> dict[int, Scalar]:
        """Coordinates of a joint whose child is turned by R, and moved where a place is said [m]."""
        shifts = [one for one in joint.kind.coordinates if one.unit == "m"]
        n = {name: self.params.at(places) for name, places in joint.numbers}
        values = joint.kind.measured(R, zeros() if place is None else place, n)
        still = {one.q for one in shifts} if place is None else set()
        return {joint.q + k: value for k, value in enumerate(values) if k not in still}

    def speeds(self) -> Vec:
        """(nv,) as the numbers say."""
        return [number for joint in self.plan.joints if joint.nv for number in self.params.at(joint.velocity)]

    def states(self) -> Vec:
        """(ns,) where the forces' own states begin."""
        starts = [
            places
            for force in self.plan.forces
            for name, places in force.numbers
            if isinstance(places, int) and self.plan.numbers[places].role is Role.STATE
        ]
        return [self.params.at(places) for places in starts]


def _between(plan: Plan, group: RowGroup) -> TreeJoint | None:
    """The joint between the two bodies whose frames a driver has, where it turns any way; None where none is."""
    bodies = {frame.node for frame in group.frames}
    for joint in plan.joints:
        if joint.nv and joint.kind.placed and not joint.chord and {joint.near, joint.far} == bodies:
            return joint
    return None


def _of_joint(joint: TreeJoint, group: RowGroup, motion: Motion, R: Mat, place: Vec | None) -> tuple[Mat, Vec | None]:
    """How the child's frame of a joint stands in the parent's, where a driver says it of other frames of both bodies.

    Args:
        R, place: of the driver's second frame in its first, the place [m] or None where it is not driven.
    """
    parent, child = (joint.near_place, joint.far_place)[:: -1 if joint.reverse else 1]
    first, second = group.frames
    if (first, second) == (parent, child):
        return R, place
    if first.node != parent.node:
        first, second, R = second, first, transpose(R)
        place = None if place is None else minus(zeros(), matvec(R, place))
    before, p_before = motion.pose(first, relative=parent)
    after, p_after = motion.pose(child, relative=second)
    if place is not None:
        place = plus(p_before, matvec(before, plus(place, matvec(R, p_after))))
    return matmul(matmul(before, R), after), place


def deciding_drivers(plan: Plan) -> dict[int, RowGroup]:
    """Coordinate -> the driver that says where it stands: one of it alone, or of the pose of its joint."""
    out: dict[int, RowGroup] = {}
    for group in plan.constraints:
        if group.prescribes:
            out |= dict.fromkeys(group.coordinates, group)
        elif (joint := led_joint(plan, group)) is not None:
            led = [k for k, one in enumerate(plan.coordinates) if plan.joints[one.joint] is joint]
            whole = drives_places(group)
            out |= {k: group for k in led if whole or plan.coordinates[k].unit == "rad"}
    return out


def led_joint(plan: Plan, group: RowGroup) -> TreeJoint | None:
    """The joint whose pose a driver says; None of other constraints, and of drivers of other frames."""
    return _between(plan, group) if isinstance(CONSTRAINTS[group.kind], PoseDriver) else None


def drives_places(group: RowGroup) -> bool:
    """Whether a driver of a pose says where the joint's child is, too, not its orientation alone."""
    kind = CONSTRAINTS[group.kind]
    return isinstance(kind, PoseDriver) and kind.whole


def leads_joints(plan: Plan) -> bool:
    """Whether drivers say where joints stand."""
    return any(isinstance(CONSTRAINTS[group.kind], DriverKind | PoseDriver) for group in plan.constraints)


def stated_coordinates(lane: StartLane, members: int) -> np.ndarray:
    """(nq, B) coordinates as the numbers of all members and their drivers say."""
    values = MemberValues()
    return per_member(values.numbers(lane.in_graph(values).coordinates()), members)


def coordinates_of_numbers(lane: StartLane, members: int) -> np.ndarray:
    """(nq, B) coordinates as the numbers of all members say, drivers apart."""
    values = MemberValues()
    return per_member(values.numbers(lane.in_graph(values).of_numbers()), members)


def prescribed_coordinates(lane: StartLane) -> dict[int, float | np.ndarray]:
    """Coordinate -> where its driver puts it: for all members, or for each (B,)."""
    values = MemberValues()
    prescribed = lane.in_graph(values).prescribed()
    return dict(zip(prescribed, values.numbers(prescribed.values()), strict=True))


def motion_of(lane: Lane, q: np.ndarray, v: np.ndarray | None = None) -> tuple[Motion, MemberValues]:
    """The motion of all members at coordinates (nq, B) and speeds (nv, B), and what gives numbers of its scalars."""
    values = MemberValues()
    at = values.lane_values(q), None if v is None else values.lane_values(v)
    return lane.in_graph(values).motion(*at), values


def per_member(values: Sequence[Scalar], members: int) -> np.ndarray:
    """(n, B) array of scalars, known numbers repeated."""
    out = np.empty((len(values), members))
    for k, value in enumerate(values):
        out[k] = value
    return out


def matrices_per_member(values: Sequence[Sequence[Scalar]], members: int) -> np.ndarray:
    """(B, m, n) array of rows of scalars."""
    out = np.empty((members, len(values), len(values[0]) if values else 0))
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            out[:, i, j] = value
    return out


def closure(lane: Lane, q: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and Jacobian of one substructure for all members, dimensionless.

    Args:
        q: (nq, B) coordinates.

    Returns:
        phi: (B, m) with rotation vectors for orientations; J: (B, m, n). Of a substructure of rounded numbers the part
        that `but_for_rounding` leaves.
    """
    block = lane.plan.substructures[index]
    # C order whatever B: matrix products add up in an order that depends on strides.
    phi, J = np.empty((q.shape[1], block.rows)), np.zeros((q.shape[1], block.rows, len(block.columns)))
    _closure_into(lane, q, index, phi, J)
    return but_for_rounding(phi, J) if block.rounded else (phi, J)


def _closure_into(
    lane: Lane, q: np.ndarray, index: int, phi: np.ndarray, J: np.ndarray,
    tangents: Mapping[int, np.ndarray] = NO_TANGENTS,
) -> None:  # fmt: skip
    """Writes residuals (B, m) and Jacobian (B, m, n) of one substructure, or their tangents."""
    evaluate_on(
        lane, q, ("closure", index), lambda valued, at: _closure(valued, at, index),
        lambda place: J[:, place[0], place[1]] if isinstance(place, tuple) else phi[:, place], tangents,
    )  # fmt: skip


def closure_slopes(
    lane: Lane, q: np.ndarray, index: int, tangents: Mapping[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """How residuals (B, m) and Jacobian (B, m, n) of `closure` change along one direction.

    Args:
        tangents: of coordinates, by their places, and of numbers of the model, by nq plus theirs.
    """
    block = lane.plan.substructures[index]
    phi, J = np.zeros((q.shape[1], block.rows)), np.zeros((q.shape[1], block.rows, len(block.columns)))
    _closure_into(lane, q, index, phi, J, tangents)
    return phi, J


def can_close(lane: Lane, q: np.ndarray, index: int, holding: Sequence[int]) -> np.ndarray:
    """(B,) False for members of which some loop cannot close as long as coordinates `holding` stay as in q (nq, B)."""
    plan, over = lane.plan, np.zeros(q.shape[1])
    judged = judged_loops(plan, index, holding)

    def function(valued: Lane, at: Vec) -> dict[str, Scalar]:
        motions = ((k, valued.motion(at_corners(plan, at, k, holding), None)) for k in judged)
        return {"over": largest([excess(plan, motion, valued.length, k, holding) for k, motion in motions])}

    if judged:
        evaluate_on(lane, q, ("polygons", index, *holding), function, lambda label: over)
    return ~(over > 0.0)


def loop_sides(lane: Lane, q: np.ndarray, group: int, holding: Sequence[int]) -> np.ndarray:
    """(n, B) sides of the polygon of a planar loop whose free joints only turn [m], across their axes; the joints
    `holding` as in q (nq, B)."""
    plan = lane.plan
    lengths: dict[int, np.ndarray] = {}

    def function(valued: Lane, at: Vec) -> dict[int, Scalar]:
        motion = valued.motion(at_corners(plan, at, group, holding), None)
        return dict(enumerate(sides(plan, motion, group, holding, in_plane=True)[0]))

    evaluate_on(
        lane, q, ("sides", group, *holding), function, lambda label: lengths.setdefault(label, np.empty(q.shape[1]))
    )
    return np.array([lengths[k] for k in sorted(lengths)])


def evaluate_on(
    lane: Lane,
    values: np.ndarray,
    what: Hashable,
    function: Callable[[Lane, Vec], dict[Any, Scalar]],
    out: Callable[[Any], np.ndarray],
    tangents: Mapping[int, np.ndarray] = NO_TANGENTS,
    bend: Bend | None = None,
) -> None:
    """A lane function of coordinates, or other rows of values (n, B), as of `host_functions.evaluate`."""
    evaluate(*_asked(lane, values, what, function), out, tangents, bend)


def _asked(
    lane: Lane, values: np.ndarray, what: Hashable, function: Callable[[Lane, Vec], dict[Any, Scalar]]
) -> tuple[list[Scalar], Hashable, Sequence[Any], Callable[[Vec], dict[Any, Scalar]]]:
    """A lane function of rows of values (n, B) as `host_functions` takes it."""
    count, matrices = len(values), lane.params.matrices

    def of_values(every: Vec) -> dict[Any, Scalar]:
        valued = replace(lane, params=Parameters(every[count:-1], matrices), t=every[-1])
        return function(valued, every[:count])

    owners = (lane.plan, lane.functions, matrices)
    return [*values, *lane.params.numbers, lane.t], (what, lane.length), owners, of_values


class AloneOn:
    """A lane function of coordinates of one member that is asked again and again: what stays is looked up once.

    Args:
        lane: of one member. what, function: as of `evaluate_on`.

    Attributes:
        labels: of its results. moved: coordinates that these depend on, ascending.
    """

    def __init__(self, lane: Lane, what: Hashable, function: Callable[[Lane, Vec], dict[Any, Scalar]]) -> None:
        nq = lane.plan.nq
        asked = _asked(lane, np.zeros((nq, 1)), what, function)
        values, made = asked[0], made_once(*asked)
        self.labels, self._function = made.labels, made.of_one
        self._numbers = [x[0] for x in values[nq:] if isinstance(x, np.ndarray)]
        self.moved = np.array(sorted({k for _, k in made.run.inputs if k < nq}), int)

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """Results at coordinates (nq,), by `labels`."""
        values: Any = [*q, *self._numbers] if self._numbers else q  # numbers of NumPy's either way
        return np.array(self._function(values), float)


class LoneClosure:
    """Residuals and Jacobian of one substructure of one member, as of `closure`; not of rounded numbers.

    Args:
        part: rows of the substructure, and numbers of its columns, which alone are evaluated; all where left out.

    Attributes:
        rows, columns: (k,) where the entries of the Jacobian stand in it. moved: coordinates that count, ascending.
    """

    def __init__(self, lane: Lane, index: int, part: tuple[Sequence[int], Sequence[int]] | None = None) -> None:
        def within(label: int | tuple[int, int]) -> bool:
            row, *column = label if isinstance(label, tuple) else (label,)
            return part is None or (row in part[0] and all(one in part[1] for one in column))

        def function(valued: Lane, at: Vec) -> dict[Any, Scalar]:
            return {label: value for label, value in _closure(valued, at, index).items() if within(label)}

        self._of = AloneOn(lane, ("closure", index) if part is None else ("part of closure", index, part), function)
        self.moved = self._of.moved
        places = [(k, label) for k, label in enumerate(self._of.labels) if isinstance(label, tuple)]
        self._entries = np.array([k for k, _ in places], int)
        self._residuals = np.setdiff1d(np.arange(len(self._of.labels)), self._entries)  # in the order of rows
        self.rows, self.columns = np.array([label for _, label in places], int).reshape(-1, 2).T

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,), and entries (k,) of the Jacobian, dimensionless."""
        every = self._of(q)
        return every[self._residuals], every[self._entries]


def _closure(lane: Lane, q: Vec, index: int) -> dict[int | tuple[int, int], Scalar]:
    """Dimensionless residuals by row, and entries of the Jacobian by row and column; lane code."""
    motion = lane.motion(q, None)
    rows = lane.rows(motion, index)
    row_unit, unit = scales(rows.unit, lane.length), lane.units
    residuals = zip(lane.residuals(motion, index, rows), row_unit, strict=True)
    entries: dict[int | tuple[int, int], Scalar] = {
        i: quotient(value, size) for i, (value, size) in enumerate(residuals)
    }
    for i, line in enumerate(rows.J):
        for j, speed in enumerate(lane.plan.substructures[index].columns):
            if speed in line:
                entries[i, j] = unit[speed] / row_unit[i] * line[speed]
    return entries


def residuals_of(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(2, m, B) residuals in m and rad, and dimensionless, without the Jacobian, which takes as long again."""

    def residuals(valued: Lane, at: Vec) -> dict[tuple[int, int], Scalar]:
        motion = valued.motion(at, None)
        rows = valued.rows(motion, index)
        every = list(enumerate(valued.residuals(motion, index, rows)))
        units = scales(rows.unit, valued.length)
        return {(0, i): value for i, value in every} | {(1, i): quotient(value, units[i]) for i, value in every}

    out = np.empty((2, lane.plan.substructures[index].rows, q.shape[1]))
    evaluate_on(lane, q, ("residuals", index), residuals, lambda place: out[place])
    return out


def true_gap(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) residuals in m and rad."""
    return np.asarray(residuals_of(lane, q, index)[0].T)


def prescribed_speeds(lane: Lane, q: np.ndarray, index: int) -> np.ndarray:
    """(B, m) right-hand sides nu of J v = nu, dimensionless."""

    def speeds(valued: Lane, at: Vec) -> dict[int, Scalar]:
        rows = valued.rows(valued.motion(at, None), index)
        unit = scales(rows.unit, valued.length)
        return {row: quotient(nu, size) for row, (nu, size) in enumerate(zip(rows.nu, unit, strict=True))}

    out = np.empty((q.shape[1], lane.plan.substructures[index].rows))
    evaluate_on(lane, q, ("speeds", index), speeds, lambda row: out[:, row])
    return out


def block_monitors(lane: Lane, q: np.ndarray, index: int, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Largest |B_ij| and pivot ratio (smallest over largest length) of a partition for all members, each (B,)."""

    def monitors(valued: Lane, at: Vec) -> dict[int, Scalar]:
        rows = valued.rows(valued.motion(at, None), index)
        solution = valued.solve(block, rows, rows.phi)
        return {0: solution.b_norm, 1: solution.squared_condition}

    b_norm, squared_condition = out = np.empty((2, q.shape[1]))
    evaluate_on(lane, q, ("monitors", index, block), monitors, lambda row: out[row])
    with np.errstate(all="ignore"):
        return b_norm, 1.0 / np.sqrt(squared_condition)


def retract(plan: Plan, q: np.ndarray, change: np.ndarray) -> np.ndarray:
    """q (+) change for (nv, B) changes."""

    def retracted(values: Vec) -> dict[int, Scalar]:
        return dict(enumerate(kinematics.retract(plan, values[: plan.nq], dict(enumerate(values[plan.nq :])))))

    out = np.empty((plan.nq, q.shape[1]))
    evaluate([*q, *change], "retract", (plan,), retracted, lambda row: out[row])
    return out


@dataclass
class Loops:
    """`Residuals` of the rows of one substructure, dimensionless.

    Attributes:
        rows: those that count, all where None.
    """

    plan: Plan
    lane: Lane
    index: int
    rows: np.ndarray | None = None

    @property
    def columns(self) -> np.ndarray:
        """(n,) speeds of the mechanism."""
        return np.asarray(self.plan.substructures[self.index].columns)

    @property
    def unit(self) -> np.ndarray:
        """(n,) what makes a change dimensionless: 1 for angles, the model's length for metres."""
        return np.asarray(self.lane.units)[self.columns]

    @property
    def cap(self) -> np.ndarray:
        """(n,) the largest change in one iteration: 10 degrees, 5 % of the model's size."""
        return np.where(self.unit == 1.0, STEP_ANGLE, STEP_LENGTH)

    def of(self, members: np.ndarray) -> Loops:
        """Those of some members."""
        return replace(self, lane=self.lane.of(members))

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (B, m) and Jacobian (B, m, n) at coordinates (nq, B)."""
        phi, J = closure(self.lane, q, self.index)
        return (phi, J) if self.rows is None else (phi[:, self.rows], J[:, self.rows])

    def solves(self, still: Sequence[int]) -> bool:
        """Whether `solved` gives changes where some columns do not move."""
        block = self.plan.substructures[self.index]
        return not block.rounded and 0 < len(block.columns) - len({*still}) <= MOST

    def solved(
        self, q: np.ndarray, still: Sequence[int], *, jacobians: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals (m, B), Jacobian (m, n, B), and damped changes (n, B) of least squares at coordinates (nq, B).

        Args:
            still: columns that do not move. jacobians: whether those are wanted; else they are zero.
        """
        block = self.plan.substructures[self.index]
        rows = tuple(range(block.rows) if self.rows is None else self.rows.tolist())
        columns = [k for k in range(len(block.columns)) if k not in still]
        place = {row: k for k, row in enumerate(rows)}

        def function(valued: Lane, at: Vec) -> dict[Hashable, Scalar]:
            every = _closure(valued, at, self.index)
            residuals = {row: every[row] for row in rows}
            entries = {at: x for at, x in every.items() if isinstance(at, tuple) and at[0] in place}
            changes = damped_change(residuals, entries, columns, len(block.columns))
            wanted = {**residuals, **(entries if jacobians else {})}
            return {**wanted, **{("change", k): x for k, x in zip(columns, changes, strict=True)}}

        count, size = q.shape[1], len(block.columns)
        phi, change = np.empty((len(rows), count)), np.zeros((size, count))
        J = np.zeros((len(rows), size, count if jacobians else 1))

        def out(label: Any) -> np.ndarray:
            row, *column = label if isinstance(label, tuple) else (label,)
            return change[column[0]] if row == "change" else J[place[row], column[0]] if column else phi[place[row]]

        evaluate_on(self.lane, q, ("solved", self.index, rows, jacobians, *columns), function, out)
        change[:, ~np.isfinite(change).all(0)] = 0.0
        return phi, J, change

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) after a change (B, n)."""
        step = np.zeros((self.plan.nv, q.shape[1]))
        step[self.columns] = (change * self.unit).T
        return retract(self.plan, q, step)
