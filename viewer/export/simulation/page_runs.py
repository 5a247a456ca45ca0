"""What a page has of the members that it simulates itself: programs, starts, decisions, shapes, and what tables say."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftjax.errors import need_count
from shiftjax.kernels.wasm.lane_runs import LaneRuns, WasmModule
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.export.pose_tracks import MOST
from shiftjax.viewer.export.scene_items import ShapeItems
from shiftjax.viewer.export.sheets import MOST_PLOTS, curve_names, instants_of, tables_of
from shiftjax.viewer.members.nearest_design import ranges_of
from shiftjax.viewer.scene.shapes import cylinder
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from shiftjax.viewer.study.trajectories import GROUND_POSE

SIMULATED = 1000  # members that a page simulates, if it is not told otherwise
ALIGNED = 8  # bytes of a double
ROOM, PART = 2 << 20, 400  # bytes of shapes in a page, and of a part in its text
BARS = -1  # in place of the number of a cast
Item = dict[str, Any]


def chosen(numbers: np.ndarray, unstarted: np.ndarray, most: int) -> tuple[list[int], list[str]]:
    """Members that a page simulates, those whose motion it has included, since designs begin at the nearest one; and
    what the page says of that.

    Args:
        numbers: (n,) members of its table. unstarted: (n,). most: of more than so many evenly spaced ones are taken.

    Raises:
        ModelError: no number of members.
    """
    need_count("members that a page simulates", most, 1)
    able = numbers[~unstarted]
    some = able[evenly_spaced(len(able), most)]
    notes = [f"{len(some)} of {len(able)} members are simulated in this page when they are chosen"]
    return some.tolist(), notes if len(some) < len(able) else []


def recorded(study: ViewedStudy) -> list[str]:
    """Paths of what a page records of a member: all that the study has, or what is plotted of one that has nothing."""
    return list(study.channels) or curve_names(study)[:MOST_PLOTS]


def bar_ends(study: ViewedStudy) -> tuple[list[str], list[list[int]]]:
    """Paths of the frames between which bars are drawn, and of each node of the study which of them it carries: those
    of its joints, and the other ones of a body with one joint."""
    carried: dict[str, list[str]] = {node: [] for node in study.nodes}
    for _, joint in study.model.joints():
        for ref in (joint.parent, joint.child):
            if ref.body in study.nodes[1:]:
                carried[ref.body].append(f"{ref.body}:{ref.frame}")
    for path, body in study.model.bodies():
        if path in study.nodes[1:] and len({*carried[path]}) < 2:
            carried[path] += [f"{path}:{frame.name}" for frame in body.frames]
    carried = {node: [*dict.fromkeys(paths)] for node, paths in carried.items()}
    every = [path for paths in carried.values() for path in paths]
    return every, [[every.index(path) for path in paths] for paths in carried.values()]


def slider_ranges(runs: LaneRuns, study: ViewedStudy) -> list[tuple[float, float]]:
    """The least and the largest value of each number of a design in the study; one alone where members that the page
    simulates have no other, since their shapes tell which bodies vary. None where it begins no designs, or all numbers
    have one value."""
    if isinstance(runs.designs, str):
        return []
    columns = {number.path: study.design[number.path] for number in runs.designs.numbers}
    every, some = ranges_of(columns), ranges_of(columns, np.isin(np.arange(study.members), runs.members))
    ranges = [every[path] if some[path][0] < some[path][1] else some[path] for path in columns]
    return ranges if any(low < high for low, high in ranges) else []


def packed_runs(runs: LaneRuns, study: ViewedStudy, scenes: MemberScenes, pack: Pack) -> Item:
    """The data of the script `simulated.js`; arrays are in the pack."""
    varied = np.flatnonzero(~(runs.start == runs.start[:, :1]).all(1))
    same, ids = runs.start[:, 0], runs.members.tolist()
    ticks = runs.clock.steps // runs.clock.every + 1
    order = np.argsort(runs.decisions[0], kind="stable")
    curves = curve_names(study)[:MOST_PLOTS]
    return {
        "store": study.where,
        "size": float(scenes.first.size),
        "clock": dataclasses.asdict(runs.clock),
        "groups": runs.groups,
        "patterns": runs.patterns,
        "quaternions": runs.quaternions,
        "width": runs.width,
        "rows": len(runs.start),
        "programs": [{"choice": choice, **_code(module, pack)} for choice, module in runs.programs.items()],
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
        "designs": _designs(runs, study, pack),
        **_shapes(runs, study, scenes, pack),
    }


def _shapes(runs: LaneRuns, study: ViewedStudy, scenes: MemberScenes, pack: Pack) -> Item:
    """What is drawn of each member: its own shapes, as far as there is room for them; of others, and of designs of the
    reader's, bodies whose shapes vary are bars from joint to joint, or as the first member has them without two points.
    """
    shapes, casts, begin = ShapeItems(pack), list[int](), pack.size
    first, varying = -1, set[int]()
    for row, member in enumerate(runs.members.tolist()):
        if pack.size - begin + PART * shapes.parts > ROOM:
            casts.append(BARS)
            continue
        poses = dict(zip(study.nodes, (np.array(GROUND_POSE), *runs.first[row]), strict=True))
        scene = scenes.starting(member, poses)
        number = first if scene is scenes.first and first >= 0 else shapes.cast(scene)
        first = number if scene is scenes.first else first
        varying |= shapes.differing(number)
        casts.append(number)
    _, carried = bar_ends(study)
    bars = {
        "varying": sorted(varying),
        "carried": carried,
        "points": runs.points,
        "mesh": shapes.mesh(cylinder(1.0, 1.0)),
    }
    return {"casts": casts, "bars": bars | {"springs": not shapes.springs_differ}, "shapes": shapes.items()}


def _designs(runs: LaneRuns, study: ViewedStudy, pack: Pack) -> Item:
    """How designs of the reader's own begin, and between which values; nothing where there are none."""
    designs, ranges = runs.designs, slider_ranges(runs, study)
    if isinstance(designs, str) or not ranges:
        return {}
    about = dataclasses.asdict(designs)
    if designs.holding is not None:
        about["holding"] = _code(designs.holding, pack)
    for number, (low, high) in zip(about["numbers"], ranges, strict=True):
        unit = study.unit(number["path"])
        number |= {"low": low, "high": high, "unit": "" if unit == "1" else unit}
    return about


def _code(module: WasmModule, pack: Pack) -> Item:
    return {"room": module.room, "code": pack.add(module.code), "relaxed": pack.add(module.relaxed)}


def _doubles(values: np.ndarray, pack: Pack) -> tuple[int, int]:
    """Puts numbers into a pack where a browser reads them as they are."""
    if pack.size % ALIGNED:
        pack.add(bytes(ALIGNED - pack.size % ALIGNED))
    return pack.add(np.ascontiguousarray(values, "<f8"))
