"""`travel`: how far a joint can be moved from where it stands, before its loops can no longer be closed. Host code.

The ends of one branch, the one on which each design stands: by continuation to 1e-10 (`run.travel.folds`), or in closed
form whether there are any (`run.travel.triangles`), then to rounding as what they are: the place of the joint is
stationary on the closures (Lagrange). The multipliers of the closures are the left null vector of the Jacobian without
the joint, which gives the slopes of an end. Limits of joints are springs, and do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import need
from shiftjax.formats.files import load
from shiftjax.gradients.implicit import Answered, Implicit, Solutions
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.gradients.transforms import differentiable
from shiftjax.kinematics.freedoms import refuse_freedoms, refuse_laws_in_time
from shiftjax.kinematics.ranges.led_joint import LedJoint, StageTravel
from shiftjax.kinematics.ranges.travel_begin import JointBeginning
from shiftjax.kinematics.ranges.turning import TurningMargin
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import start_from, unsound
from shiftjax.run.closing.equations import Equations, closures, least_change
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.topology_report import topology_report
from shiftjax.run.travel.folds import followed_poses
from shiftjax.run.travel.reach import reaches

TURNS = 4.0 * np.pi  # rad: who goes so far in one direction goes on for ever
FAR = 100.0  # of the model's length, for a joint that slides
SOLVED = 1e-11  # residual of an end that is stationary, dimensionless
SAME = 1e-6  # of its place, which was followed to 1e-10: another end
FIRST = 5  # answers before the places at the ends: begin, whether assembled, low, high, turning margin
ASSEMBLED, LOW, HIGH, MARGIN = 1, 2, 3, 4  # which of them
Array = Any  # of NumPy, or of JAX where it is traced


@record
class JointTravel:
    """How far a joint can be moved, of B designs, or of one without a member axis.

    Attributes:
        coordinate: the joint's. unit: rad or m. begin: (B,) where it stands. low, high: (B,) the ends, infinite where
            there is none. assembled: (B,) whether the loops close where it begins; ends are NaN where not.
        turning_margin: (B,) of a joint of a planar loop of four joints that turn, by how much the bars may be off
            before whether it turns round changes [m]: above zero where it does, negative where it ends at dead points.
            None of other joints; NaN of a member that is not planar, or not assembled.
        at_low, at_high: coordinate of its loops -> (B,) its place at either end [rad or m], at the dead points; NaN
            where there is none.
    """

    coordinate: str
    unit: str
    begin: Array
    low: Array
    high: Array
    assembled: Array
    turning_margin: Array | None
    at_low: Mapping[str, Array]
    at_high: Mapping[str, Array]

    @property
    def unlimited(self) -> Array:
        """(B,) whether there are no ends: a crank that turns round."""
        return (jnp if is_traced(self.low) else np).isinf(self.high - self.low)


def travel(
    model: Model | str,
    coordinate: str,
    *,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
    together: bool = False,
) -> JointTravel:
    """How far a joint can be moved from where it stands, before its loops can no longer be closed.

    Of a model with sublinkages those of its stage: what drives them stays, and what they drive follows, or opens, and
    never limits them.

    Args:
        model: a Model, a library name or a path; it needs no masses.
        coordinate: of a joint, which must leave the others of its loops no freedom.
        vary, assign, derive, tie: as those of `simulate`.
        branch: the name of an assembly branch, or one for each design, as `branches` of the model gives it where the
            joint stands; that of the model where left out.
        together: all loops close at once, whatever sublinkages say.

    Returns:
        the ends of the travel on the branch on which each design stands, to rounding where they are dead points, else
        to 1e-10 rad or parts of the model's length; of a joint that stands at its own dead point, where two branches
        meet, the ends of the one that leads farther. Where JAX traces numbers of `vary` the ends and the poses there
        are JAX arrays with first derivatives; where a joint begins, and whether loops close there, has none.

    Raises:
        ModelError: anything the model or the arguments make impossible; freedoms that the joint does not lead.
    """
    model = model if isinstance(model, Model) else load(model)
    path = plain_coordinate(model, coordinate, "travel")
    need("together", together, bool, "True or False")
    options = options_of(vary=vary, assign=assign, derive=derive, tie=tie, branch=branch)
    if any(is_traced(values) for values in (vary or {}).values()):
        return _traced(model, path, options, together=together)
    options = replace(options, design=options.design.worked_out(model))
    ends = TravelEnds.of(model, path, options, together=together)
    y = ends.answers()
    return _shown(ends, (y if options.design.vary is not None else y[0]).T)


def travel_apart(model: Model, path: str) -> JointTravel:
    """The travel of a coordinate in its stage, from where that stands with loops of later ones open."""
    ends = TravelEnds.of(model, path, options_of(), apart=True)
    return _shown(ends, ends.answers()[0])


def _shown(ends: TravelEnds, rows: Array) -> JointTravel:
    """The record of answers (answers, B) or (answers,)."""
    names, (begin, assembled, low, high, margin) = ends.names, rows[:FIRST]
    poses = [dict(zip(names, rows[FIRST + k * len(names) :], strict=False)) for k in range(2)]
    turning_margin = None if ends.turning is None else margin
    return JointTravel(ends.path, ends.unit, begin, low, high, assembled > 0.0, turning_margin, *poses)


def _traced(model: Model, path: str, options: Options, *, together: bool) -> JointTravel:
    """The travels of designs that JAX traces."""
    columns, design = traced_design(model, options.design)
    with jax.ensure_compile_time_eval():
        alone = replace(options, design=replace(design, vary={}))
        named = TravelEnds.of(model, path, alone, together=together, only_named=True)
    named.stage.refuse_slopes()

    def answer(x: np.ndarray) -> Answered:
        vary = dict(zip(columns, x.T, strict=True))
        every = replace(options, design=replace(design, vary=vary))
        return TravelEnds.of(model, path, every, together=together).answered(columns)

    host = Implicit(named.count, answer)
    y = differentiable(host)(jnp.stack([*columns.values()], axis=1))
    return _shown(named, y.T)


@dataclass
class TravelEnds:
    """Ends of the travel of a coordinate, of all members of a prepared model with a driver that leads it.

    Attributes:
        index: the substructure that it moves; None where it moves by itself. names: plain coordinates of that, and
            rows: where they stand. begin: (B,); closed: (B,). ends: (2, B) low and high. poses: (2, nq, B) there.
            dead: (2, B) whether they are dead points. multipliers: (2, rows, B). varied: how many of the numbers that
            vary are the caller's; those of the driver follow. turning: of joints that have a margin, and margin: (B,).
            start: (nq, B) where they begin, and beginning: what that follows from. stage: which loops count.
    """

    prepared: Prepared
    varied: int
    path: str
    unit: str
    index: int | None
    names: list[str]
    rows: list[int]
    begin: np.ndarray
    closed: np.ndarray
    ends: np.ndarray
    poses: np.ndarray
    dead: np.ndarray
    multipliers: np.ndarray
    margin: np.ndarray
    start: np.ndarray
    stage: StageTravel
    turning: TurningMargin | None = None
    equations: Equations | None = None
    beginning: JointBeginning | None = None

    @classmethod
    def of(
        cls, model: Model, path: str, options: Options, *, together: bool = False, apart: bool = False,
        only_named: bool = False,
    ) -> TravelEnds:  # fmt: skip
        """Of a coordinate in its stage, as of `LedJoint.of`."""
        led = LedJoint.of(model, path, options, together=together, apart=apart)
        prepared, varied, stage = led.prepared, led.varied, led.stage
        plan, B = prepared.plan, prepared.members
        driver = next(k for k, group in enumerate(plan.constraints)
                      if group.prescribes and plan.coordinates[group.coordinates[0]].path == path)  # fmt: skip
        index = next((s for s, block in enumerate(plan.substructures) if driver in block.groups), None)
        moved = plan.coordinates[plan.constraints[driver].coordinates[0]]
        here = [] if index is None else [plan.coordinates[k] for k in plan.coordinates_in(index)]
        plain = [one for one in here if one.nq == 1]
        ends = cls(
            prepared, varied, path, moved.unit, index, [one.path for one in plain], [one.q for one in plain],
            np.zeros(B), np.zeros(B, bool), np.full((2, B), np.nan), np.full((2, plan.nq, B), np.nan),
            np.zeros((2, B), bool), np.zeros((2, 0, B)), np.full(B, np.nan), prepared.file_start.q, stage,
        )  # fmt: skip
        driven = plan.constraints[driver].coordinates[0]
        ends.turning = TurningMargin.of(prepared, varied, index, driven, prepared.file_start.q)
        if not only_named:
            q, closed = led.q, led.closed
            if prepared.branch:
                faulty = unsound(prepared, 0.0, 0.0, strict=False)
                began = start_from(prepared, None, faulty, massless=True, moving=False)
                began = on_branch(prepared, began, faulty)
                q, closed = began.q, began.closed
            ends.beginning = JointBeginning(led.free, led.stated, path)
            ends.begin, ends.closed, ends.start = q[moved.q], closed, q
            members = np.flatnonzero(closed)
            if ends.turning is not None and len(members):
                ends.margin[members] = ends.turning.values(q[:, members], members)
            if index is not None and len(members):
                refuse_laws_in_time(prepared, {driver}, index)
                refuse_freedoms(prepared, topology_report(prepared), index)
                ends._find(driver, index, q, members)
            elif len(members):
                ends.ends[:, members] = [[-np.inf], [np.inf]]
        return ends

    def _find(self, driver: int, index: int, q: np.ndarray, members: np.ndarray) -> None:
        plan, lane, q = self.prepared.plan, self.prepared.lane_of(members, 1.0), q[:, members]
        moved = plan.coordinates[plan.constraints[driver].coordinates[0]]
        far = TURNS if moved.unit == "rad" else FAR * self.prepared.setup.length
        targets = [q[moved.q] - far, q[moved.q] + far]
        ends = reaches(plan, lane, index, driver, q, targets)
        for row, (sign, target, end) in enumerate(zip((-1.0, 1.0), targets, ends, strict=True)):
            self.ends[row, members] = np.where(end == target, sign * np.inf, end)
            if len(some := np.flatnonzero(end != target)):
                there = followed_poses(plan, lane.of(some), index, driver, q[:, some], end[some] + sign)
                self._settle(row, index, moved.q, members[some], there)

    def _settle(self, row: int, index: int, place: int, members: np.ndarray, q: np.ndarray) -> None:
        """Takes ends as dead points where they are: q (nq, K) is next to them."""
        prepared, numbers = self.prepared, self.prepared.values[: self.varied][:, members]
        system = self.equations = self.equations or self._dead_points(index, place)
        x = system.inputs(q, numbers)
        J, gradient = self._slopes.slopes(x[: self._slopes.layout.count])
        multipliers = least_change(J.transpose(0, 2, 1), gradient[:, 0])
        there, multipliers, size = system.solved(q, numbers, multipliers.T)
        dead = (size < SOLVED) & (
            np.abs(there[place] - self.ends[row, members]) <= SAME * max(1.0, prepared.setup.length)
        )
        if not self.multipliers.size:
            self.multipliers = np.full((2, len(multipliers), prepared.members), np.nan)
        self.dead[row, members], self.multipliers[row][:, members] = dead, multipliers
        self.ends[row, members] = np.where(dead, there[place], self.ends[row, members])
        self.poses[row][:, members] = np.where(dead, there, q)

    def _dead_points(self, index: int, place: int) -> Equations:
        """Where a coordinate is stationary on closures; its answers are that coordinate, then all that have names."""
        prepared = self.prepared
        plan = prepared.plan
        led = [plan.coordinates[k] for group in plan.constraints if group.prescribes for k in group.coordinates]
        still = {one.v for one in led if one.q != place}
        columns = [speed for speed in plan.substructures[index].columns if speed not in still]
        self._slopes = Equations.of(
            prepared.setup, prepared.own_numbers, prepared.places[: self.varied], columns,
            lambda lane, q, _: (closures(lane, q, [index], drivers=False), [q[place], *(q[k] for k in self.rows)]),
        )  # fmt: skip
        return self._slopes.stationary(0)

    @property
    def count(self) -> int:
        """Answers of every member."""
        return FIRST + 2 * len(self.names)

    def place_at(self, coordinate: str, *, high: bool) -> int:
        """Which answer is the place of a coordinate at an end."""
        return FIRST + high * len(self.names) + self.names.index(coordinate)

    def answers(self) -> np.ndarray:
        """(B, count): where it begins, whether loops close there, both ends, the turning margin, the places of all at
        each end."""
        first = [self.begin, self.closed, *self.ends, self.margin]
        return np.concatenate([first, *(pose[self.rows] for pose in self.poses)]).T

    def answered(self, paths: Mapping[str, Any], *, begins: bool = False) -> Answered:
        """The answers with slopes by numbers, as columns in the order of `paths`; `begins`: also of where it begins."""
        self.stage.refuse_slopes()
        order = list(paths)
        columns = [order.index(path) for path in self.prepared.vary[: self.varied]]
        y, parts, n = self.answers(), list[Solutions](), len(self.names)
        for row in range(2):
            members = np.flatnonzero(np.isfinite(self.ends[row]))
            if self.equations is not None and len(members):
                numbers = self.prepared.values[: self.varied][:, members]
                x = self.equations.inputs(self.poses[row][:, members], numbers, self.multipliers[row][:, members])
                outputs = [LOW + row, *range(FIRST + row * n, FIRST + (row + 1) * n)]
                parts.append(Solutions(self.equations, x, columns, members, outputs, self.dead[row, members]))
        if self.turning is not None and len(members := np.flatnonzero(np.isfinite(self.margin))):
            parts.append(self.turning.solutions(self.start[:, members], members, columns, MARGIN))
        if begins and self.beginning is not None:
            stated, staged = self.beginning.stated, bool(self.stage.opened)  # in an order of its own, all loops closed
            q, closed = (stated.q, self.closed & stated.closed) if staged else (self.start, self.closed)
            if len(members := np.flatnonzero(closed)):
                parts.append(self.beginning.solutions(q[:, members], members, order))
        return Answered(y, parts)
