"""What a page has of the members that it simulates itself: programs, starts, decisions, shapes, and what tables say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import need_count
from shiftjax.kernels.wasm.lane_runs import LaneRuns
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.export.pose_tracks import MOST
from shiftjax.viewer.export.scene_items import ShapeItems
from shiftjax.viewer.export.sheets import MOST_PLOTS, curve_names, instants_of, tables_of
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.study.trajectories import GROUND_POSE

SIMULATED = 1000  # members that a page simulates, if it is not told otherwise
ALIGNED = 8  # bytes of a double
Item = dict[str, Any]


def chosen(numbers: np.ndarray, unstarted: np.ndarray, moving: Sequence[int], most: int) -> tuple[list[int], list[str]]:
    """Members that a page simulates, and what it says of that: those of its table that started and do not move anyway.

    Args:
        numbers: (n,) members of the table. unstarted: (n,). moving: members whose motion is in the page.
        most: of more than so many evenly spaced ones are taken.
    """
    need_count("members that a page simulates", most, 1)
    able = np.setdiff1d(numbers[~unstarted], np.asarray(moving, np.int64))
    some = able[evenly_spaced(len(able), most)] if len(able) > most else able
    notes = [f"{len(some)} of {len(able)} members without their motion are simulated in this page when they are chosen"]
    return some.tolist(), notes if len(some) < len(able) else []


def recorded(study: ViewedStudy) -> list[str]:
    """Paths of what a page records of a member: all that the study has, or what is plotted of one that has nothing."""
    return list(study.channels) or curve_names(study)[:MOST_PLOTS]


def packed_runs(runs: LaneRuns, study: ViewedStudy, scenes: MemberScenes, pack: Pack) -> Item:
    """The data of the script `simulated.js`; arrays are in the pack."""
    varied = np.flatnonzero(~(runs.start == runs.start[:, :1]).all(1))
    same, ids = runs.start[:, 0].copy(), [int(k) for k in runs.members]
    shapes, casts = ShapeItems(pack), list[int]()
    known = dict[int, int]()
    for row, member in enumerate(ids):
        scene = scenes.starting(member, dict(zip(study.nodes, (np.array(GROUND_POSE), *runs.first[row]), strict=True)))
        number = known.get(id(scene))
        if number is None:
            number = shapes.cast(scene)
            if scene is scenes.first:
                known[id(scene)] = number
        casts.append(number)
    ticks = runs.clock.steps // runs.clock.every + 1
    order = np.argsort(runs.decisions[0], kind="stable")
    curves = curve_names(study)[:MOST_PLOTS]
    return {
        "store": study.where,
        "clock": dataclasses.asdict(runs.clock),
        "groups": runs.groups,
        "patterns": runs.patterns,
        "quaternions": runs.quaternions,
        "width": runs.width,
        "rows": len(runs.start),
        "programs": [
            {"choice": choice, "room": module.room, "code": pack.add(module.code)}
            for choice, module in runs.programs.items()
        ],
        "members": pack.add(np.asarray(ids, "<u4")),
        "same": _doubles(same, pack),
        "varied": varied.tolist(),
        "starts": _doubles(runs.start[varied].T, pack),
        "choice": pack.add(runs.choice.T.astype("<u4")),
        "decided": pack.add(np.bincount(runs.decisions[0].astype(int), minlength=len(ids)).astype("<u4")),
        "decisions": pack.add(runs.decisions[1:, order].T.astype("<i4")),
        "end": pack.add(runs.end.astype("<u4")),
        "bodies": runs.poses,
        "frames": evenly_spaced(ticks, MOST).tolist() if ticks > MOST else None,
        "instants": None if len(instants_of(study)) == len(study.time) else instants_of(study).tolist(),
        "curves": [runs.channels[name] for name in curves],
        "turned": [name.endswith(".orientation") for name in curves],
        "tables": [[row["values"] for row in table["rows"]] for table in tables_of(study, ids)],
        "notes": [study.message(member) for member in ids],
        "casts": casts,
        "shapes": shapes.items(),
    }


def _doubles(values: np.ndarray, pack: Pack) -> tuple[int, int]:
    """Puts numbers into a pack where a browser reads them as they are."""
    if pack.size % ALIGNED:
        pack.add(bytes(ALIGNED - pack.size % ALIGNED))
    return pack.add(np.ascontiguousarray(values, "<f8"))
