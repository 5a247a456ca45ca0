"""`info`: a model analysed as it stands, without a run: as a dictionary, text, tables and a graph. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from shiftjax.errors import need, printable, refuse_text
from shiftjax.markup import text_table
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import every_channel
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.overview import (
    ACTING_HEAD,
    BODY_HEAD,
    EVENT_HEAD,
    JOINT_HEAD,
    NAMED_HEAD,
    POSED_HEAD,
    SUBLINKAGE_HEAD,
    acting_rows,
    body_rows,
    event_rows,
    joint_rows,
    named_rows,
    posed_rows,
    sublinkage_rows,
)
from shiftjax.mechanism.parameters import asking
from shiftjax.mechanism.paths import listed, split, text_of
from shiftjax.mechanism.posing import posed_in, virtual_in
from shiftjax.mechanism.records import Element
from shiftjax.mechanism.sublinkages import LinkageStage, stages_of, welds_of
from shiftjax.run.indeterminate import indeterminate
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.topology_report import eliminated, topology_report
from shiftjax.topology.partition import blocks_of


def info(model: Model, cut: Sequence[str] = (), *, cluster: bool = True) -> dict[str, Any]:
    """What a model is made of: the report of `shiftjax info --json`; coordinates are counted in speeds.

    Raises:
        ModelError: cutting joints that leave a body without a way to ground.
    """
    need("info: model", model, Model, "a Model, as `load` gives")
    refuse_text("cut", cut)
    need("cluster", cluster, bool, "True or False")
    alone = replace(model, origin=None, replaced=())  # as a file of these numbers would be read
    prepared = prepare(alone, {}, options_of(cut=cut, cluster=cluster), refuse=False)
    joints = dict(prepared.model.joints())
    return topology_report(prepared) | {
        "indeterminate": indeterminate(prepared),
        "named": _named(model),
        "events": thaw(model.events),
        "posed": [asdict(one) for one in posed_in(model)],
        "virtual": list(virtual_in(model)),
        "sublinkages": [asdict(one) for one in model.sublinkages],
        "stages": [asdict(one) for one in stages_of(model.sublinkages, joints, welds_of(joints))],
    }


def _named(model: Model) -> list[dict[str, Any]]:
    """The parameters and the coordinates of points of a model, with what their expressions and others say."""
    return [
        {
            "path": (path := block + text_of(keys)),
            "value": value,
            "unit": field.unit,
            "minimum": field.least,
            "maximum": field.most,
            "meaning": field.doc,
            "follows_from": model.expressions.get(path),
            "acts_on": list(asking(model.expressions, path)),
        }
        for block, numbers in model.named_numbers()
        for field, keys, value in numbers.numbers()
    ]


def text(model: Model) -> str:
    """The report as a person reads it."""
    report = info(model)
    lines = [
        f"{printable(model.name) or 'model'}: {report['bodies']} bodies, {report['joints']} joints,"
        f" {report['coordinates']} coordinates, {report['loops']} loops, rank {report['rank']},"
        f" {report['dof']} degree{'s' * (report['dof'] != 1)} of freedom",
        "",
        *text_table(BODY_HEAD, body_rows(model.bodies()), left=(0, 2, 3, 4)),
        "",
        *text_table(JOINT_HEAD, joint_rows(model.joints()), left=(0, 1, 2, 3)),
        "",
    ]
    if acting := [*model.restraints(), *model.acting()]:
        rows = acting_rows(acting, model.coordinate_units())
        lines += [*text_table(ACTING_HEAD, rows, left=(0, 1, 2, 3)), ""]
    if model.parameters or model.points:
        rows = named_rows(model.named_numbers(), model.expressions)
        lines += [*text_table(NAMED_HEAD, rows, left=(0, 2, 5, 6)), ""]
    if model.events:
        lines += [*text_table(EVENT_HEAD, event_rows(model.events), left=(0, 1, 2, 3)), ""]
    if posed := [*posed_rows(model)]:
        lines += [*text_table(POSED_HEAD, posed, left=(0, 1, 4)), ""]
    if report["virtual"]:
        lines += [f"virtual, drawn translucent: {listed(report['virtual'], 12)}", ""]
    if model.sublinkages:
        lines += [*text_table(SUBLINKAGE_HEAD, sublinkage_rows(model.sublinkages), left=(0, 1, 2, 3)), ""]
        stages = (LinkageStage(**one) for one in report["stages"])
        lines += [*(f"posed in stage {k}: {stage.title}, {_few(stage)}" for k, stage in enumerate(stages, 1)), ""]
    for k, s in enumerate(report["substructures"]):
        lines += [
            f"substructure {k}: {s['loops']} loops, {s['rows']} rows x {s['columns']} columns, rank {s['rank']}"
            + (f", on {', '.join(s['base'])}" if s["base"] else ""),
            f"  dependent:   {', '.join(s['dependent'])}",
            f"  independent: {', '.join(s['independent']) or 'none'}",
            *([f"  tied by:     {', '.join(s['constraints'])}"] if s["constraints"] else []),
        ]
        for row in s["redundant_rows"]:
            reason = f"repeats {', '.join(row['with'])}" if row["with"] else "holds by itself"
            lines.append(f"  redundant:   {row['row']} ({reason})")
        if s["doubtful"]:
            lines.append(f"  rank doubtful: last pivot {s['last_pivot']:.1e}, first dropped {s['dropped_pivot']:.1e}")
    for loads in report["indeterminate"]:
        also = f", and friction of {', '.join(loads['friction'])}" if loads["friction"] else ""
        what, rows = ", ".join(loads["joints"]), ", ".join(loads["rows"])
        lines.append(f"indeterminate: reactions of {what}{also}, because of {rows}")
    for motion in report["idle"]:
        lines.append(f"idle motion: {motion['body']} moves alone, carried by {', '.join(motion['joints'])}")
    if not report["assembled"]:
        lines.append(f"the loops do not close: {report['gap']:.3g} (m or rad) stays open")
    lines += [f"left out: {path} touches something switched off" for path in report["dangling"]]
    lines += [f"cannot be simulated yet: {item}" for item in report["not_simulated"]]
    lines += [f"warning: {message}" for message in report["warnings"]]
    return "\n".join(lines)


def _few(stage: LinkageStage) -> str:
    count = len(stage.joints)
    return f"{count} joint{'s' if count > 1 else ''}: {listed(stage.joints)}"


def channel_list(model: Model) -> list[Channel]:
    """Every channel that can be recorded of a model."""
    return list(every_channel(prepare(model, {}, refuse=False).plan))


def dot(model: Model, *, whole: bool = False) -> str:
    """A Graphviz drawing, substructures coloured; `whole` draws it before the loops are cut.

    Constraints and drivers are diamonds, forces and restraints between frames ellipses, on broken lines to the bodies
    whose joints or frames they name.
    """
    plan = prepare(model, {}, refuse=False).plan
    colours = ("crimson", "royalblue", "forestgreen", "darkorange", "purple", "teal")
    colour = {j: colours[s % len(colours)] for s, block in enumerate(plan.substructures) for j in block.joints}
    ids = {
        k: _quoted(node.path if whole or not node.virtual else f"{node.path} (virtual {k})")
        for k, node in enumerate(plan.nodes)
    }
    lines = [
        "graph mechanism {",
        "  node [shape=box, style=rounded];",
        '  "fixed" [style=filled, fillcolor=lightgray];',
    ]
    lines += [f"  {ids[k]} [style=dashed];" for k, node in enumerate(plan.nodes) if node.virtual and not whole]
    for k, joint in enumerate(plan.joints):
        lines.append(
            f"  {ids[joint.near]} -- {ids[joint.far]} [label={_quoted(joint.path)}, color={colour.get(k, 'black')}];"
        )
    lines += _acting_nodes(model)
    if not whole:
        lines += [f'  {ids[loop.virtual]} -- {ids[loop.real]} [style=dotted, label="chord"];' for loop in plan.loops]
    return "\n".join([*lines, "}"])


def _acting_nodes(model: Model) -> list[str]:
    """Constraints, drivers and forces between frames as nodes of a Graphviz drawing."""
    child = {path: joint.child.body for path, joint in model.joints()}
    ties = {path for path, _ in (*model.constraints(), *model.drivers())}
    lines = []
    for path, item in (*model.restraints(), *model.acting()):
        joints = item.joints if isinstance(item, Element) and path in ties else ()
        bodies = [child[split(joint)[0]] for joint in joints] + [ref.body for ref in item.frames or ()]
        if bodies and (path in ties or len(bodies) > 1):
            shape = "diamond" if path in ties else "ellipse"
            lines.append(f"  {_quoted(path)} [shape={shape}, style=dashed];")
            lines += [f"  {_quoted(path)} -- {_quoted(body)} [style=dashed];" for body in dict.fromkeys(bodies)]
    return lines


def _quoted(name: str) -> str:
    """A name as a string of Graphviz, of whose labels a backslash begins an escape."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def tables(model: Model) -> dict[str, Any]:
    """The permutation and scatter tables of the Plan and of the nominal partition, in ints."""
    prepared = prepare(model, {}, refuse=False)
    plan, start, lane = prepared.plan, prepared.file_start, prepared.file_lane()
    out: list[Mapping[str, Any]] = []
    for s, block in enumerate(plan.substructures):
        _, elimination = eliminated(lane, start.q, s)
        split = blocks_of(elimination, block)[0]
        out.append(
            {
                "first_row": block.first_row,
                "rows": block.rows,
                "columns": list(block.columns),
                "primary_rows": [block.first_row + k for k in split.primary],
                "secondary_rows": [block.first_row + k for k in range(block.rows) if k not in split.primary],
                "dependent": list(split.dependent),
                "independent": list(split.independent),
            }
        )
    file_order = {path: k for k, (path, _) in enumerate(model.joints())}
    return {
        "joint_of_file": [file_order[joint.path] for joint in plan.joints],
        "first_coordinate": [joint.q for joint in plan.joints],
        "first_speed": [joint.v for joint in plan.joints],
        "near": [joint.near for joint in plan.joints],
        "far": [joint.far for joint in plan.joints],
        "sense": [-1 if joint.reverse else 1 for joint in plan.joints],
        "levels": [node.level for node in plan.nodes],
        "substructures": out,
    }
