"""Members whose path begins next to the end of a travel, or at it. Host code.

Problem: there both assemblies meet, and speeds grow without bound: no step leads away from there on one of them that is
known. The member is assembled a little further on its path instead, where its model's branch can be told, and led from
there; its first pose is recorded where it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftjax.kinematics.paths.inputs import Inputs
from shiftjax.kinematics.paths.path_ends import Beginning
from shiftjax.outcome import Outcome
from shiftjax.run.advance.driver import repartition
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start

NEARLY = 3e-3  # a pivot ratio of poses 1e-5 rad before an end and less
INSIDE = 1e-3  # rad or parts of the model's length by which such a member is led on at once, at most half a pose


def begun_inside(prepared: Prepared, began: Start, inputs: Inputs, driver: int, lanes: Ensemble) -> Beginning:
    """Puts members that begin next to an end a little further on their path, recorded where they begin.

    Args:
        driver: the sole one.
    """
    group = prepared.plan.constraints[driver]
    coordinate = prepared.plan.coordinates[group.coordinates[0]]
    lost = (
        (lanes.status == Outcome.non_finite) & began.closed & np.isfinite(began.q).all(0)
    )  # whose speeds are infinite
    members = np.flatnonzero(lost | ((lanes.status <= 0) & (lanes.ratio < NEARLY).any(0)))
    places = np.broadcast_to(inputs.places[coordinate.path], (prepared.members, inputs.count))[members]
    stride = places[:, 1] - places[:, 0] if inputs.count > 1 else np.zeros(len(members))
    members, stride = members[stride != 0.0], stride[stride != 0.0]
    if not len(members):
        return Beginning(prepared, began, members)
    most = INSIDE * (1.0 if coordinate.unit == "rad" else prepared.setup.length)
    share = 0.5 ** np.ceil(np.log2(np.maximum(np.abs(stride) / most, 2.0)))  # of a stride, by halvings
    row = next(
        k for k, place in enumerate(prepared.places)
        if prepared.plan.numbers[place].path == f"{group.name}.coefficients[0]"
    )  # fmt: skip
    values = prepared.values.copy()
    values[row, members] += share * stride
    led_on = replace(prepared, values=values)
    inside = start_of(led_on.some(members), moving=False)
    good = inside.closed
    members, share, there = members[good], share[good], inside.q[:, good]
    _record_lost(lanes, began, members[lost[members]])
    lanes.table.set("q", there, members)
    lanes.table.set("clock", share, members)
    lanes.evaluate("project", members)
    for s in range(lanes.setup.blocks):
        repartition(lanes, s, members, np.ones(len(members), bool))
        lanes.limit(s, members)
    q = began.q.copy()
    q[:, members] = there
    return Beginning(led_on, replace(began, q=q), members)


def _record_lost(lanes: Ensemble, began: Start, members: np.ndarray) -> None:
    """Records the places of members whose speeds are no numbers, which are no fault then."""
    if len(members):
        q = lanes.table.rows("q", members)  # projected
        lanes.table.set("q", np.where(np.isfinite(q).all(0), q, began.q[:, members]), members)
        lanes.table.set("x", np.nan, members)
        lanes.table.set("dx", np.nan, members)
        lanes.evaluate("observe", members)
        lanes.status[members] = int(Outcome.ok)
