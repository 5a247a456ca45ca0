"""Drives that are more than the freedoms of their loops: two on one freedom contradict each other but by chance.

So does a driver of a frame along which nothing moves that frame.
"""

from __future__ import annotations

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.constraints import CONSTRAINTS
from shiftjax.mechanism.paths import listed
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import RANK, complete_pivoting


def overdriven(prepared: Prepared, index: int) -> str:
    """Names the drives of a substructure where they are more than the motions that its loops leave it, with the remedy;
    "" where they are not.
    """
    plan = prepared.plan
    groups = [plan.constraints[k] for k in plan.substructures[index].groups]
    paths = [plan.coordinates[group.coordinates[0]].path for group in groups if group.prescribes]
    if len(paths) < 2:
        return ""
    of_loops = np.repeat([not group.prescribes for group in groups], [group.rows for group in groups])
    _, J = host.closure(prepared.file_lane(), prepared.file_start.q, index)
    free = J.shape[2] - int(complete_pivoting(J[:, of_loops], RANK).rank[0])
    if len(paths) <= free:
        return ""
    names, freedoms = f"{', '.join(paths[:-1])} and {paths[-1]}", "one freedom" if free == 1 else f"{free} freedoms"
    return (
        f"{names} are {len(paths)} drives on {freedoms} of their loops, and ask for what these do not allow together: "
        f"leave {len(paths) - free} of them out, or give them motions that agree"
    )


def far_away(prepared: Prepared, constraint: int) -> str:
    """The remedy where a driver of frames begins farther away than joints are moved to meet it; "" for others.

    Args:
        constraint: index of the one that stays open.
    """
    plan = prepared.plan
    group = plan.constraints[constraint]
    if not group.frames or CONSTRAINTS[group.kind].listed != "drivers" or group in host.deciding_drivers(plan).values():
        return ""
    carriers = listed([plan.joints[k].path for k in group.coupled])
    return (
        f"{group.name} begins farther away than {carriers} are moved from where they start to meet it: give them an "
        "initial_displacement near to where it begins, leave out those that keep them away, or let it begin elsewhere"
    )


def immovable(prepared: Prepared, member: int, q: np.ndarray) -> str:
    """Names a driver of a frame whose row the others hold already, so that no freedom follows it, with the remedy; ""
    where there is none.

    Args:
        q: (nq, 1) the pose of the member.
    """
    plan = prepared.plan
    for index, block in enumerate(plan.substructures):
        groups = [plan.constraints[k] for k in block.groups]
        driving = [bool(group.frames) and CONSTRAINTS[group.kind].listed == "drivers" for group in groups]
        if not any(driving):
            continue
        _, J = host.closure(prepared.lane_of(np.array([member]), 1.0), q, index)
        owners = np.repeat(np.arange(len(groups)), [group.rows for group in groups])
        whole = _rank(J)
        for k, group in enumerate(groups):
            if driving[k] and _rank(J[:, owners != k]) == whole:
                words = dict(group.words)
                what = words.get("component") or words.get("angle") or "it"
                return (
                    f"{group.name} drives {what} of a frame, which no freedom moves that the joints and the other "
                    "constraints leave: drive something else of it, or leave it out"
                )
    return ""


def _rank(J: np.ndarray) -> int:
    return int(complete_pivoting(J, RANK).rank[0]) if J.size else 0
