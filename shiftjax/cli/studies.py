"""Study files on the command line: what `check` says of one, and the definition that the options of `sweep` give."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.cli import common
from shiftjax.dynamics.channels import channels
from shiftjax.ensembles import study_file
from shiftjax.ensembles.definition import Definition, from_document
from shiftjax.ensembles.designs import Group, designs
from shiftjax.ensembles.keeping import USUAL
from shiftjax.ensembles.spec import split_assignment
from shiftjax.errors import ModelError, one_of
from shiftjax.kernels.backends import BACKENDS
from shiftjax.run.verdict import verdict
from shiftjax.topology.analysis import analyze

SAME = "span step method output_step backend precision energy_limit gap_limit angle_limit samples".split()
TABLES = {"vary": "vary", "set": "set", "derive": "derive", "drive": "drive"}  # option -> key


def is_study(name: str) -> bool:
    """Whether a name on the command line is that of a study file."""
    return Path(name).suffix.lower() == study_file.SUFFIX


def outline(definition: Definition) -> dict[str, Any]:
    """What a study is: members, groups, what varies from where to where, metrics, what is kept.

    Raises:
        ModelError: anything for which none of its members could be run.
    """
    groups = designs(definition)
    members = sum(group.members for group in groups)
    kept = definition.kept
    found = {
        "members": members,
        "groups": [_group(group) for group in groups],
        "varied": _varied(definition, groups),
        "metrics": {name: _of(words) for name, words in definition.metrics.items()},
        "kept": kept.text(),
        "kept_members": len(kept.stated(members)),
    }
    _refuse_settings(definition, groups)
    return found


def _group(group: Group) -> dict[str, Any]:
    said = verdict(group.model)
    return {
        "switches": dict(group.switches),
        "first": group.first,
        "members": group.members,
        "absent": list(group.absent),
        "dof": said["dof"],
        "refused": said["refused"],
        "warnings": [*said["errors"], *said["warnings"]],
        "notes": [*said["notes"]],
    }


def _varied(definition: Definition, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """A line for every number that varies, of the first group that has it."""
    laws = [" ".join(filter(None, (v.distribution, v.sampling))) for v in definition.varied]
    drawn = ["table"] * (len(groups[0].values) - len(laws)) + laws  # the columns of the table come first
    units = {path: number for group in reversed(groups) for path, number in group.model.number_units().items()}
    found = []
    for (path, values), how in zip(groups[0].values.items(), drawn, strict=True):
        there = next((group.values[path] for group in groups if path not in group.absent), values)
        found.append(
            {
                "path": path,
                "smallest": float(np.min(there)),
                "largest": float(np.max(there)),
                "drawn": how,
                "unit": units[path],
            }
        )
    return found


def _of(words: Any) -> str:
    return words if isinstance(words, str) else str(words["of"])


def _refuse_settings(definition: Definition, groups: Sequence[Group]) -> None:
    """Raises for settings that every run would refuse."""
    if definition.backend is not None:
        one_of("backend", definition.backend, BACKENDS)
    for group in groups:
        if definition.span is None and group.model.settings.span is None:
            raise ModelError("span", "nothing", "seconds to run", "The model file has none either; add span = 1.0.")
        try:
            channels(analyze(group.model), group.settings.get("channels", ()), group.model.resolve)
        except ModelError as error:
            raise ModelError(f"channels, {error.where}", error.found, error.allowed, error.todo) from None


def show(name: str, found: dict[str, Any]) -> None:
    """The outline as a person reads it."""
    groups = found["groups"]
    count = f"{found['members']} member{'s' * (found['members'] != 1)}"
    valid = "cannot run" if any(group["refused"] for group in groups) else "valid"
    print(f"{name}: {valid}; {count}" + (f" in {len(groups)} groups, a model each" if len(groups) > 1 else ""))
    if found["varied"]:
        rows = [
            (v["path"], f"{v['smallest']:.6g}", f"{v['largest']:.6g}", v["drawn"], v["unit"]) for v in found["varied"]
        ]
        print()
        common.table(("varied", "smallest", "largest", "drawn", "unit"), rows)
    if len(groups) > 1:
        rows = [(_states(g), str(g["first"]), str(g["members"]), str(g["dof"]), str(len(g["absent"]))) for g in groups]
        print()
        common.table(("group", "first member", "members", "dof", "paths left out"), rows)
    if found["metrics"]:
        print()
        common.table(("metric", "of"), list(found["metrics"].items()), left=(0, 1))
    print(f"\nkept: {found['kept']}")
    told: dict[str, None] = {}
    for group in groups:
        where = f"{_states(group)}: " if len(groups) > 1 else ""
        for kind in ("refused", "warnings", "notes"):
            told |= dict.fromkeys(f"{kind.rstrip('s')}: {where}{text}" for text in group[kind])
    for line in told:
        print(line)


def _states(group: dict[str, Any]) -> str:
    return ", ".join(f"{path} {'on' if on else 'off'}" for path, on in group["switches"].items())


def definition_of(options: argparse.Namespace) -> Definition:
    """The definition that the options of `shiftjax sweep` give.

    Raises:
        ModelError: an option that is wrong, named by its key in a study.
    """
    words: dict[str, Any] = {name: getattr(options, name) for name in SAME}
    words |= {key: _entries(getattr(options, name), f"--{name}") for name, key in TABLES.items()}
    words |= {"model": options.model, "seed": options.seed, "channels": options.channel, "hold": options.hold}
    words |= {"strict_start": options.strict_start, "keep": None if options.keep == USUAL else options.keep}
    return from_document({key: value for key, value in words.items() if value is not None}, Path.cwd())


def write(options: argparse.Namespace) -> int:
    """`sweep --write`: the definition as a file, once it is known that it makes members."""
    for name in ("out", "picture"):
        if getattr(options, name) is not None:
            todo = "Leave one of them out; the study that is written runs with shiftjax sweep."
            raise ModelError(f"--{name}", "with --write", "one of them", todo)
    definition = definition_of(options)
    members = sum(group.members for group in designs(definition))
    study_file.write(definition, options.write, force=options.force)
    print(f"written: {options.write}, {members} members")
    return 0


def _entries(texts: Sequence[str], option: str) -> dict[str, str]:
    """PATH=WORDS of an option that may be repeated, by path."""
    found: dict[str, str] = {}
    for text in texts:
        path, words = split_assignment(text, option)
        if path in found:
            raise ModelError(f"{option} {path}", "the path twice", "each path once", "Leave one of them out.")
        found[path] = words
    return found
