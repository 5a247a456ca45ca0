"""How far the driver of a substructure can move its coordinate before the loops can no longer be closed. Host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.dynamics.lane import Lane
from shiftjax.kernels.workers import in_portions
from shiftjax.run.travel.folds import followed_to
from shiftjax.run.travel.triangles import ends_in_closed_form
from shiftjax.topology.plan import Plan

PORTION = 8192  # members: a call of Python takes as long as some hundred of them


def reach(plan: Plan, lane: Lane, index: int, driver: int, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(B,) where a driven coordinate comes to on its way to a target: there, or the end of its travel [rad or m].

    Args:
        index: substructure. driver: the only constraint that moves it; it leaves the others no freedom.
        q: (nq, B) closed coordinates. target: (B,) [rad or m].
    """
    return reaches(plan, lane, index, driver, q, [target])[0]


def reaches(
    plan: Plan, lane: Lane, index: int, driver: int, q: np.ndarray, targets: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """As `reach`, on the ways to several targets (B,) from the same coordinates."""
    everyone = np.arange(q.shape[1])

    def known(portion: slice) -> list[np.ndarray]:
        some = everyone[portion]
        lane_of_some = lane if len(some) == len(everyone) else lane.of(some)
        return ends_in_closed_form(plan, lane_of_some, index, driver, q[:, some], [target[some] for target in targets])

    portions = in_portions(known, len(everyone), PORTION) or [known(slice(0, 0))]
    ends = [np.concatenate(parts) for parts in zip(*portions, strict=True)]
    for end, target in zip(ends, targets, strict=True):
        unknown = np.isnan(end)
        if unknown.any():
            end[unknown] = followed_to(plan, lane.of(unknown), index, driver, q[:, unknown], target[unknown])
    return ends
