"""`travel`: how far a joint can be moved from where it stands, before its loops can no longer be closed. Host code.

The ends of one branch, the one on which each design stands: in closed form where a planar loop has three more corners
(`run.travel.triangles`), by continuation to 1e-10 elsewhere (`run.travel.folds`). Limits of joints are springs, and do
not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction, Polynomial
from shiftjax.formats.files import load
from shiftjax.kinematics.freedoms import refuse_freedoms, refuse_laws_in_time
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.record import record
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import start_from, unsound
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.topology_report import topology_report
from shiftjax.run.travel.reach import reach

TURNS = 4.0 * np.pi  # rad: who goes so far in one direction goes on for ever
FAR = 100.0  # of the model's length, for a joint that slides


@record
class JointTravel:
    """How far a joint can be moved, of B designs, or of one without a member axis.

    Attributes:
        coordinate: the joint's. unit: rad or m. begin: (B,) where it stands. low, high: (B,) the ends, infinite where
            there is none. assembled: (B,) whether the loops close where it begins; ends are NaN where not.
    """

    coordinate: str
    unit: str
    begin: np.ndarray
    low: np.ndarray
    high: np.ndarray
    assembled: np.ndarray

    @property
    def unlimited(self) -> np.ndarray:
        """(B,) whether there are no ends: a crank that turns round."""
        return np.isinf(self.low) & np.isinf(self.high)


def travel(
    model: Model | str,
    coordinate: str,
    *,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
) -> JointTravel:
    """How far a joint can be moved from where it stands, before its loops can no longer be closed.

    Args:
        model: a Model, a library name or a path; it needs no masses.
        coordinate: of a joint, which must leave the others of its loops no freedom.
        vary, assign, derive, tie: as those of `simulate`.
        branch: the name of an assembly branch, or one for each design, as `branches` of the model gives it where the
            joint stands; that of the model where left out.

    Returns:
        the ends of the travel on the branch on which each design stands, to 1e-10 rad or parts of the model's length.

    Raises:
        ModelError: anything the model or the arguments make impossible; freedoms that the joint does not lead.
    """
    model = model if isinstance(model, Model) else load(model)
    path = plain_coordinate(model, coordinate, "travel")
    options = options_of(vary=vary, assign=assign, derive=derive, tie=tie, branch=branch)
    options = replace(options, design=options.design.worked_out(model))
    prepared = _led_where_it_stands(model, path, options)
    plan = prepared.plan
    driver = next(k for k, group in enumerate(plan.constraints)
                  if group.prescribes and plan.coordinates[group.coordinates[0]].path == path)  # fmt: skip
    index = next((s for s, block in enumerate(plan.substructures) if driver in block.groups), None)
    faulty = unsound(prepared, 0.0, 0.0, strict=False)
    began = on_branch(prepared, start_from(prepared, None, faulty, massless=True), faulty)
    moved = plan.coordinates[plan.constraints[driver].coordinates[0]]
    far = TURNS if moved.unit == "rad" else FAR * prepared.setup.length
    ends = np.full((2, prepared.members), np.nan)
    members = np.flatnonzero(began.closed)
    if index is not None and len(members):
        refuse_laws_in_time(prepared, {driver}, index)
        refuse_freedoms(prepared, topology_report(prepared), index)
        lane, q = prepared.lane_of(members, 1.0), began.q[:, members]
        for row, sign in enumerate((-1.0, 1.0)):
            target = q[moved.q] + sign * far
            end = reach(plan, lane, index, driver, q, target)
            ends[row, members] = np.where(end == target, sign * np.inf, end)
    elif len(members):
        ends[:, members] = [[-np.inf], [np.inf]]
    whole = [began.q[moved.q], *ends, began.closed]
    if options.design.vary is None:
        whole = [values[0] for values in whole]
    return JointTravel(path, moved.unit, *whole)


def _led_where_it_stands(model: Model, path: str, options: Options) -> Prepared:
    """The model with a driver that keeps a coordinate where each design has it, loops closed.

    What designs state of its start has been heard then, and is left out: a driver says where it is.
    """
    free = prepare(model, options.design.vary or {}, options)
    began = start_of(free, unsound(free, 0.0, 0.0, strict=False))
    at = next(one.q for one in free.plan.coordinates if one.path == path)
    place = np.where(began.closed, began.q[at], free.file_start.q[at, 0])
    stated = {number for number in free.vary if _states(number, path)}
    vary = {
        number: values for number, values in (options.design.vary or {}).items() if model.resolve(number) not in stated
    }
    assign = {
        number: x for number, x in (options.design.assign or {}).items() if not _states(model.resolve(number), path)
    }
    led = options.changed(assign=assign or None, drive={path: Polynomial([place if options.design.vary else place[0]])})
    return prepare(model, vary, led)


def _states(number: str, path: str) -> bool:
    """Whether a number is where a coordinate begins, or how fast."""
    joint, coordinate = split(path)
    return number in {f"{joint}.{start}{coordinate}" for start in ("initial_displacement", "initial_velocity")}
