"""Independent coordinates on which matrices of small motions are given. Host code."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.linalg import qr

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import listed
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.run.start.prepared import Prepared, coordinates_named
from shiftjax.statics.at_rest import AtRest, ranks_at
from shiftjax.statics.search import Search


def independent_speeds(search: Search, named: Sequence[str]) -> tuple[int, ...]:
    """The speeds of the coordinates named, or chosen."""
    prepared, k = search.prepared, search.squared.shape[1]
    plan = prepared.plan
    if not named:
        return _chosen(prepared, prepared.file_lane(), search, k)
    places = coordinates_named(plan, prepared.model, named, "independent")
    speeds = tuple(speed for place in places for speed in plan.coordinates[place].speeds)
    if len(speeds) != k:
        todo = f"Name {k} of {listed(list(plan.speed_names()))}."
        raise ModelError("independent", f"{len(speeds)} speeds", f"{k}, as many as freedoms", todo)
    return speeds


def _chosen(prepared: Prepared, lane: StartLane, search: Search, k: int) -> tuple[int, ...]:
    """Those that tell motions at the drawn pose apart best, or at the first member's where loops lose rank there."""
    plan, q = prepared.plan, prepared.file_start.q
    rest = AtRest(plan, lane, tuple(map(int, ranks_at(plan, lane, q)[0])))
    Z = rest.motions(q)[0][0]
    if Z.shape[1] != k:
        Z = next((linear.Z[0] for _, linear in search.linear if linear.Z.shape[2] == k), Z[:, :k])
    _, _, order = qr(Z.T, pivoting=True, mode="economic")  # type: ignore[misc]
    return tuple(sorted(int(speed) for speed in order[:k]))
