"""What a run would say of a model: `shiftjax check`. Host code.

Problem: name what is wrong with a model before it is run, and what its author may not have meant.
Errors end a run or refuse it. Warnings are things that can be meant, but seldom are. Notes tell what the start chose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError
from shiftjax.field import Role
from shiftjax.joints import KINDS
from shiftjax.measures.run_metrics import Metrics
from shiftjax.mechanism.events import events_of, words_of_event
from shiftjax.mechanism.model import ADDED, Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.holding import null_space
from shiftjax.run.inertias import odd_inertias
from shiftjax.run.options import options_of
from shiftjax.run.start.event_values import with_laws
from shiftjax.run.start.physical import impossible
from shiftjax.run.start.planar_loops import odd_axes
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.refusals import refuse_massless_motion, refuse_open_welds
from shiftjax.run.start.rounded import notes_of_rounding
from shiftjax.run.topology_report import topology_report

CHANGED = 1e-6  # a start that differs this much from what the file says is reported [rad or m, per second]
NAMED = 1e-6  # a joint whose motion is this small a part of a motion of the loops does not name it
FORCES = ("N", "J", "W", "Pa")  # that the unit of a number of a force law begins with
TURN = 2.0 * math.pi


def verdict(
    model: Model, tie: Mapping[str, CoordinateFunction | str] | None = None, *, massless: bool = False
) -> dict[str, Any]:
    """The report of `shiftjax check --json`.

    Args:
        tie: what a run ties beside the model, as of `simulate`. massless: whether motions that move no mass may be.

    Returns:
        `valid`: whether a run would begin; `refused`: what it would refuse; `errors`: why it would end at once;
        `warnings`, `notes`; counts; `start`: a line for every coordinate; `events`: those of the file, in words;
        `forces`: every number of a force law that is not zero, as it acts, in SI.
    """
    model = replace(model, origin=None, replaced=())  # as a file of these numbers would be read
    prepared = prepare(model, {}, options_of(tie=tie), refuse=False)
    report = topology_report(prepared)
    refused = [f"{path}: {what} cannot be simulated yet" for path, what in model.unsupported()]
    errors = list(impossible(model, (), np.zeros((0, 1))).values())
    odd = odd_inertias(prepared)  # these end a run that has begun
    refused += _refused_events(prepared)
    if faults := _refused(prepared, massless=massless):
        errors += [f"{text}; {fault}" for text in odd.values() for fault in faults]
        refused += [] if odd else faults
    errors += [] if report["assembled"] else [*_open_loops(prepared)]
    start = start_table(prepared)
    return {
        "valid": not refused and not errors,
        "bodies": report["bodies"],
        "joints": report["joints"],
        "restraints": sum(1 for _ in model.restraints()),
        "numbers": len(model.numbers()),
        "loops": report["loops"],
        "dof": report["dof"],
        "assembled": report["assembled"],
        "gap": report["gap"],
        "refused": refused,
        "errors": errors,
        "warnings": [
            *model.warnings,
            *_floating(model),
            *_degrees(model),
            *_structure(prepared, report),
            *(_moved(start) if report["assembled"] else ()),
        ],
        "notes": [*_left_out(model), *notes_of_rounding(prepared), *_unnamed(prepared, report)],
        "events": {name: words_of_event(event) for name, event in events_of(model.events).items()},
        "forces": _forces(model),
        "start": start,
    }


def _forces(model: Model) -> list[dict[str, Any]]:
    """Loads, stiffnesses and dampings in SI, whatever the units of the file."""
    return [
        {"path": path, "value": number.value, "unit": number.unit}
        for path, number in model.described().items()
        if number.value and number.unit.split("/")[0].split(" ")[0] in FORCES
    ]


def _refused(prepared: Prepared, *, massless: bool) -> list[str]:
    """What a run would raise at its start."""
    try:
        refuse_open_welds(prepared)
        if prepared.file_start.closed[0] and not massless:
            refuse_massless_motion(prepared, prepared.file_start)
    except ModelError as error:
        return [str(error)]
    return []


def _refused_events(prepared: Prepared) -> list[str]:
    """What a run would raise at an event of the file."""
    model, plan, faults = prepared.model, prepared.plan, list[str]()
    for name, words in model.events.items():
        try:
            Metrics(None, plan, model.resolve, (0.0, model.settings.span or 0.0), events={name: words})
            with_laws(plan, model, (), {name: words})
        except ModelError as error:
            faults.append(str(error))
    return faults


def _open_loops(prepared: Prepared) -> Iterator[str]:
    """The constraints that cannot be met, and by how much they are missed."""
    plan, lane, q = prepared.plan, prepared.file_lane(), prepared.file_start.q
    for s, block in enumerate(plan.substructures):
        gap, first = np.abs(host.true_gap(lane, q, s)[0]), 0
        for group in (plan.constraints[k] for k in block.groups):
            rows = gap[first : first + group.rows]
            first += group.rows
            if not rows.max(initial=0.0) <= CLOSED * max(1.0, lane.length):
                turned, apart = (rows[:3].max(), rows[3:].max()) if group.loop else (0.0, rows.max())
                what = f"the loop closed by {group.name}" if group.loop else f"constraint {group.name}"
                sizes = f"{apart:.3g} m and {turned:.3g} rad" if group.loop else f"{apart:.3g} (m or rad)"
                yield f"{what} stays open by {sizes}: no pose near the file's start closes it"


def start_table(prepared: Prepared) -> list[dict[str, Any]]:
    """One entry for every coordinate: where and how fast the file says it starts, and where and how fast it does.

    `displacement` and `speed` say whether the number is "stated", was stated and is "changed", or was "found".
    """
    plan, lane, start = prepared.plan, prepared.file_lane(), prepared.file_start
    file_q, file_v = host.stated_coordinates(lane, 1)[:, 0], host.per_member(lane.speeds(), 1)[:, 0]
    names = plan.speed_names()
    out: list[dict[str, Any]] = []
    index = {coordinate.path: k for k, coordinate in enumerate(plan.coordinates)}
    kinds = [(path, KINDS[joint.type]) for path, joint in prepared.model.joints()]
    for k in (index[path] for joint, kind in kinds for path in kind.paths(joint)):
        coordinate = plan.coordinates[k]
        for v in coordinate.speeds:
            entry: dict[str, Any] = {"joint": names[v], "unit": coordinate.unit}
            if coordinate.plain and not plan.joints[coordinate.joint].kind.placed:
                entry["file"], entry["start"] = float(file_q[coordinate.q]), float(start.q[coordinate.q, 0])
                stated = k in prepared.statements.positions
                entry["displacement"] = _origin(entry["file"], entry["start"], stated=stated)
            entry["file_speed"], entry["start_speed"] = float(file_v[v]), float(start.v[v, 0])
            entry["speed"] = _origin(entry["file_speed"], entry["start_speed"], stated=k in prepared.statements.speeds)
            out.append(entry)
    return out


def _origin(file: float, start: float, *, stated: bool) -> str:
    """Where a number of the start comes from."""
    if not stated:
        return "found"
    return "stated" if abs(start - file) <= CHANGED else "changed"


def _moved(start: list[dict[str, Any]]) -> Iterator[str]:
    """Stated numbers of the start that the loops do not allow."""
    for origin, file, start_key, per in (
        ("displacement", "file", "start", ""),
        ("speed", "file_speed", "start_speed", "/s"),
    ):
        moved = [
            f"{entry['joint']} from {entry[file]:.6g} to {entry[start_key]:.6g} {entry['unit']}{per}"
            for entry in start if entry.get(origin) == "changed"
        ]  # fmt: skip
        if moved:
            yield f"the loops do not allow the start that is stated; they move {listed(moved)}"


def _floating(model: Model) -> Iterator[str]:
    """Bodies that got a joint of six freedoms because nothing joins them to ground."""
    for path, joint in model.joints():
        if joint.comment == ADDED:
            yield (
                f"nothing joins {joint.child.body} to ground: it floats freely, by a joint {path} that was added; "
                "join it to ground, or write a joint of type float"
            )


def _degrees(model: Model) -> Iterator[str]:
    """Angles of more than a turn, as those of a file that means degrees."""
    types = {path: joint.type for path, joint in model.joints()}
    for path, number in model.described().items():
        turning = number.role in (Role.ANGLE, Role.POSITION) and number.unit == "rad"
        plain = not KINDS[types[path.partition(".")[0]]].placed if path.partition(".")[0] in types else 1
        if turning and plain and abs(number.value) > TURN:
            yield (
                f"{path} = {number.value:g} rad is {abs(number.value) / TURN:.3g} turns; "
                f"if degrees are meant, write {math.radians(number.value):.6g}, or degrees in units"
            )


def _structure(prepared: Prepared, report: dict[str, Any]) -> Iterator[str]:
    """What cannot move, and axes that explain it."""
    for s, block in enumerate(report["substructures"]):
        if block["columns"] == block["rank"] and not any(
            prepared.plan.constraints[k].prescribes for k in prepared.plan.substructures[s].groups
        ):
            yield f"{listed(block['joints'])} cannot move: {block['columns']} coordinates, rank {block['rank']}"
        if block["doubtful"]:
            yield (
                f"the start is near a singular pose: of the pivots of {listed(block['joints'])} the last is "
                f"{block['last_pivot']:.1e} and the first dropped {block['dropped_pivot']:.1e}"
            )
    yield from odd_axes(prepared)


def _left_out(model: Model) -> Iterator[str]:
    yield from model.ignored()
    yield from model.undrawn()
    yield from (f"{path} is left out: it touches something switched off" for path in model.dangling())


def _unnamed(prepared: Prepared, report: dict[str, Any]) -> Iterator[str]:
    """Freedoms of the loops of which the file says nothing, so that the start takes what is nearest."""
    plan, lane, start = prepared.plan, prepared.file_lane(), prepared.file_start
    named = np.zeros(plan.nv, bool)
    for k in {*prepared.statements.positions, *prepared.statements.speeds}:
        named[[*plan.coordinates[k].speeds]] = True
    for s, block in enumerate(report["substructures"]):
        columns = list(plan.substructures[s].columns)
        _, J = host.closure(lane, start.q, s)
        Z = null_space(J[0])
        stated = Z[named[columns]]
        size = np.linalg.svd(stated, compute_uv=False) if stated.size else np.zeros(0)
        missing = Z.shape[1] - int((size > NAMED).sum())
        if missing > 0:
            free = [plan.speed_names()[c] for c, amount in zip(columns, np.abs(Z).max(1), strict=True)
                    if amount > NAMED and not named[c]]  # fmt: skip
            yield (
                f"{_freedoms(missing)} of {listed(block['chords'] or block['constraints'])}: "
                f"nothing is stated about {listed(free)}; the start takes the nearest pose"
            )


def _freedoms(count: int) -> str:
    return "1 degree of freedom" if count == 1 else f"{count} degrees of freedom"
