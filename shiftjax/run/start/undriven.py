"""The pose of the file without the drives that a run gives it: what names of assemblies are by. Host code."""

from __future__ import annotations

import numpy as np

from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared


def undriven_pose(prepared: Prepared) -> np.ndarray | None:
    """(nq, 1) coordinates of a prepared model at the pose of its file; None where that closes nowhere."""
    alone = prepare(prepared.undriven, {}) if prepared.vary or prepared.model is not prepared.undriven else prepared
    if not alone.file_start.closed[0]:
        return None
    places = {one.path: one.places for one in alone.plan.coordinates}
    q = np.zeros((prepared.plan.nq, 1))
    for one in prepared.plan.coordinates:
        q[one.places] = alone.file_start.q[places[one.path]]
    return q
