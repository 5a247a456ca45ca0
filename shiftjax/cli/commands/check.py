"""`shiftjax check`: is this file a model or a study, and what would a run say of it? Nothing is simulated.

It assembles the model and prints its start. Exit codes are those of `run`: 0 where it would begin, warnings or not; 2
where it would be refused, as a file that is no model is; 3 where it would end at once, as with loops that do not close.
Of a study, a file NAME.toml, it says which members it has, what varies, and what is measured and kept.
With `--schema`, or `--study-schema`, the JSON Schema of the format is printed, for editors and other programs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.ensembles.optimization.meaning import bounds, expressions, parameters
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import OF_IK, Definition
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.posed import of_kind
from shiftjax.errors import ModelError, one_of
from shiftjax.formats.files import load
from shiftjax.formats.schema import schema
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kinematics.paths.inputs import Inputs, as_drives, inputs_of
from shiftjax.kinematics.paths.path_metrics import path_metrics
from shiftjax.measures.aims import ATTRIBUTES, aim_of
from shiftjax.measures.channels import channels
from shiftjax.measures.run_metrics import Metrics
from shiftjax.mechanism.events import events_of, words_of_event
from shiftjax.run.options import options_of
from shiftjax.run.results.result import plain
from shiftjax.run.start.prepare import prepare
from shiftjax.run.verdict import verdict
from shiftjax.topology.plan import Plan

REFUSED = 2
FORCES = 24  # numbers of force laws that are printed
LONGEST = 90  # characters of a metric in a table
ROUNDING = 1e-12  # of a start that is zero
EVENT_HEAD = ("event", "of, direction, action")
COUNTED = {"bodies": "body", "joints": "joint", "loops": "loop", "restraints": "restraint", "numbers": "number"}


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser, needed=False)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of model files (no MODEL needed)")
    parser.add_argument("--study-schema", action="store_true", help="print the JSON Schema of studies")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def call(options: argparse.Namespace) -> int:
    if options.schema or options.study_schema:
        if options.model is not None:
            option = "--schema" if options.schema else "--study-schema"
            raise ModelError(option, f"a model, {options.model!r}", "no model", "Leave one of them out.")
        common.put_json(schema() if options.schema else study_file.schema(), indent=1)
        return 0
    if options.model is None:
        raise ModelError("check", "no model", "a model, or --schema", "Say which, as `shiftjax check four_bar`.")
    if study_file.is_study(options.model):
        return _of_study(options)
    judgement = verdict(load(options.model))
    if options.json:
        common.put_json(plain(judgement))
    else:
        show(str(options.model), judgement)
    return REFUSED if judgement["refused"] else SOME_FAILED if judgement["errors"] else 0


def _of_study(options: argparse.Namespace) -> int:
    """`shiftjax check STUDY.toml`."""
    outlined = outline(study_file.read(options.model))
    if options.json:
        common.put_json(plain(outlined))
    else:
        show_study(str(options.model), outlined)
    return REFUSED if any(group["refused"] for group in outlined["groups"]) else 0


def show(name: str, judgement: dict[str, Any]) -> None:
    """The verdict as a person reads it."""
    counts = ", ".join(_counted(judgement[what], one, what) for what, one in COUNTED.items())
    freedoms = _counted(judgement["dof"], "degree of freedom", "degrees of freedom")
    word = "valid" if judgement["valid"] else "cannot run"
    common.put(f"{name}: {word}; {counts}; {freedoms}")
    for kind in ("refused", "errors", "warnings", "notes"):
        for text in judgement[kind]:
            common.put(f"{kind.rstrip('s')}: {text}")
    if judgement["events"]:
        common.put()
        common.table(EVENT_HEAD, [*judgement["events"].items()], left=(0, 1))
    if judgement["forces"]:
        common.put()
        common.put("forces, as they act:")
        shown = judgement["forces"][:FORCES]
        common.table(("number", "value", "unit"), [(one["path"], f"{one['value']:.6g}", one["unit"]) for one in shown],
                     left=(0, 2))  # fmt: skip
        if more := len(judgement["forces"]) - len(shown):
            common.put(f"and {more} more; `shiftjax info {name} --paths` lists them")
    if judgement["start"]:
        closed = "" if judgement["assembled"] else ", loops open"
        common.put()
        common.put(f"start, largest gap {judgement['gap']:.1e} (m or rad){closed}:")
        head = ("joint", "file", "position", "unit", "", "file", "speed", "unit", "")
        common.table(head, [_line(entry) for entry in judgement["start"]], left=(0, 3, 4, 7, 8))


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _line(entry: dict[str, Any]) -> tuple[str, ...]:
    unit = entry["unit"]
    place = ("", "", "", "")  # an orientation is a quaternion
    if "start" in entry:
        place = (_of_the_file(entry, "displacement", "file"), _shown(entry["start"]), unit, entry["displacement"])
    speed = (_of_the_file(entry, "speed", "file_speed"), _shown(entry["start_speed"]), f"{unit}/s", entry["speed"])
    return entry["joint"], *place, *speed


def _of_the_file(entry: dict[str, Any], origin: str, file: str) -> str:
    return "" if entry[origin] == "found" else f"{entry[file]:.6g}"


def _shown(number: float) -> str:
    return f"{0.0 if abs(number) < ROUNDING else number:.6g}"


def outline(definition: Definition) -> dict[str, Any]:
    """What a study is: members, groups, what varies from where to where, metrics, what is kept.

    Raises:
        ModelError: anything for which none of its members could be run.
    """
    groups = designs(definition)
    members = sum(group.members for group in groups)
    keeping = definition.kept
    outlined = {
        "members": members,
        "groups": [_group(group) for group in groups],
        "varied": _varied(definition, groups),
        "metrics": {name: _of(words) for name, words in definition.metrics.items()},
        "led": inputs.texts() if (inputs := _inputs(groups[0])) else {},
        "events": _events(groups[0]),
        "aims": {name: aim_of(words, "").attributes for name, words in definition.measured.items()},
        "kept": keeping.text(),
        "kept_members": len(keeping.stated(members)),
        "optimized": _optimized(definition, groups),
    }
    _refuse_settings(definition, groups)
    return outlined


def _group(group: MemberGroup) -> dict[str, Any]:
    judgement = verdict(group.model, group.settings.get("tie"), massless=not group.moves)
    return {
        "switches": dict(group.switches),
        "first": group.first,
        "members": group.members,
        "absent": list(group.absent),
        "dof": judgement["dof"],
        "refused": judgement["refused"],
        "warnings": [*judgement["errors"], *judgement["warnings"]],
        "notes": [*judgement["notes"]],
    }


def _varied(definition: Definition, groups: Sequence[MemberGroup]) -> list[dict[str, Any]]:
    """A line for every number that varies, of the first group that has it."""
    laws = [" ".join(filter(None, (v.distribution, v.sampling))) for v in definition.varied]
    drawn = ["table"] * (len(groups[0].values) - len(laws)) + laws  # the columns of the table come first
    units = {path: number for group in reversed(groups) for path, number in group.model.number_units().items()}
    rows = []
    for (path, values), how in zip(groups[0].values.items(), drawn, strict=True):
        there = next((group.values[path] for group in groups if path not in group.absent), values)
        rows.append(
            {
                "path": path,
                "smallest": float(np.min(there)),
                "largest": float(np.max(there)),
                "drawn": how,
                "unit": units[path],
            }
        )
    return rows


def _optimized(definition: Definition, groups: Sequence[MemberGroup]) -> dict[str, Any] | None:
    """What `shiftjax optimize` would make small, None without `[optimize]`."""
    wanted = definition.optimized
    if wanted is None:
        return None
    names = parameters(wanted, groups[0])
    expressions(wanted, [*definition.metrics], groups[0])
    low, high, _ = bounds(definition, wanted, groups[0], names)
    return {
        "objective": wanted.objective or f"half the sum of squares of {', '.join(wanted.residuals)}",
        "constraints": [constraint.text for constraint in wanted.constraints],
        "method": wanted.method,
        "iterations": wanted.iterations,
        "bounds": {name: [_finite(a), _finite(b)] for name, a, b in zip(names, low, high, strict=True)},
    }


def _events(group: MemberGroup) -> dict[str, str]:
    """Name -> words of the events of a group's runs, those of the model's file among them."""
    return {name: words_of_event(event) for name, event in events_of(group.settings.get("events")).items()}


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _of(words: Any) -> str:
    return words if isinstance(words, str) else str(words["of"])


def _word(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _shortened(text: str) -> str:
    """On one line, with its beginning only where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"


def _refuse_settings(definition: Definition, groups: Sequence[MemberGroup]) -> None:
    """Raises for settings that every run would refuse."""
    if definition.backend is not None:
        one_of("backend", definition.backend, BACKENDS)
    for group in groups:
        if definition.simulated and definition.span is None and group.model.settings.span is None:
            raise ModelError("span", "nothing", "seconds to run", "The model file has none either; add span = 1.0.")
        plan = _plan(group)
        try:
            channels(plan, group.settings.get("channels", ()), group.model.resolve)
        except ModelError as error:
            raise ModelError(f"channels, {error.where}", error.found, error.allowed, error.todo) from None
        events, measured = group.settings.get("events"), group.settings.get("metrics")
        if group.kind == "travel":
            of_kind("travel", "refuse_travels")(group.model, measured, group.settings.get("tie"))
            continue
        if group.kind == "workspace":
            refuse_spaces = of_kind("workspace", "refuse_spaces")
            stated = (group.settings.get(name) for name in ("workspace", "metrics", "tie", "branch"))
            refuse_spaces(group.model, *stated)
            continue
        if group.kind == "ik":
            refuse_goals = of_kind("ik", "refuse_goals")
            refuse_goals(group.model, **{name: group.settings.get(name) for name in (*OF_IK, "metrics")})
            continue
        if inputs := _inputs(group):
            path_metrics(measured, plan, group.model.resolve, inputs)
            continue
        span = definition.span or group.model.settings.span or 0.0
        Metrics(measured, plan, group.model.resolve, (0.0, span), events=events)


def _inputs(group: MemberGroup) -> Inputs | None:
    """The path of members that are followed."""
    return inputs_of(group.model, group.settings["drive"], None) if group.led else None


def _plan(group: MemberGroup) -> Plan:
    """The plan of a group, unless its first member states a start that it cannot have, as of a joint that is driven."""
    inputs = _inputs(group)
    given = options_of(
        drive=as_drives(inputs, 1) if inputs else None,
        vary=group.vary(0, 1),
        derive=group.settings.get("derive"),
        hold=group.settings.get("hold", ()),
        tie=group.settings.get("tie"),
    )
    design = given.design.worked_out(group.model)
    return prepare(group.model, design.vary or {}, replace(given, design=design), refuse=False).plan


def show_study(name: str, outlined: dict[str, Any]) -> None:
    """The outline as a person reads it."""
    groups = outlined["groups"]
    count = f"{outlined['members']} member{'s' * (outlined['members'] != 1)}"
    valid = "cannot run" if any(group["refused"] for group in groups) else "valid"
    common.put(f"{name}: {valid}; {count}" + (f" in {len(groups)} groups, a model each" if len(groups) > 1 else ""))
    if outlined["led"]:
        common.put()
        common.table(("led", "along"), [*outlined["led"].items()], left=(0, 1))
    if outlined["varied"]:
        rows = [
            (v["path"], f"{v['smallest']:.6g}", f"{v['largest']:.6g}", v["drawn"], v["unit"])
            for v in outlined["varied"]
        ]
        common.put()
        common.table(("varied", "smallest", "largest", "drawn", "unit"), rows)
    if len(groups) > 1:
        rows = [(_states(g), str(g["first"]), str(g["members"]), str(g["dof"]), str(len(g["absent"]))) for g in groups]
        common.put()
        common.table(("group", "first member", "members", "dof", "paths left out"), rows)
    if outlined["metrics"]:
        common.put()
        head = ("metric", "of", "good", "from", "to")  # limits in SI
        rows = [
            (name, _shortened(of), *(_word(outlined["aims"][name].get(key, "")) for key in ("good", *ATTRIBUTES)))
            for name, of in outlined["metrics"].items()
        ]
        used = [k for k in range(len(head)) if k < 2 or any(row[k] for row in rows)]
        common.table(tuple(head[k] for k in used), [tuple(row[k] for k in used) for row in rows], left=(0, 1, 2))
    if outlined["events"]:
        common.put()
        common.table(EVENT_HEAD, [*outlined["events"].items()], left=(0, 1))
    common.put()
    common.put(f"kept: {outlined['kept']}")
    if asked := outlined["optimized"]:
        subject = "".join(f", {text}" for text in asked["constraints"])
        common.put(
            f"optimised: {asked['objective']}{subject}; {asked['method']}, {asked['iterations']} iterations at most"
        )
    lines: dict[str, None] = {}
    for group in groups:
        where = f"{_states(group)}: " if len(groups) > 1 else ""
        for kind in ("refused", "warnings", "notes"):
            lines |= dict.fromkeys(f"{kind.rstrip('s')}: {where}{text}" for text in group[kind])
    for line in lines:
        common.put(line)


def _states(group: dict[str, Any]) -> str:
    return ", ".join(f"{path} {'on' if on else 'off'}" for path, on in group["switches"].items())
