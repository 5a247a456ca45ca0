"""Options of `shiftjax sweep` as the definition of a study: of a study file with what they change, or of a model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiftjax.cli import common
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition, document, from_document
from shiftjax.ensembles.study.designs import designs
from shiftjax.errors import ModelError
from shiftjax.mechanism.events import written_events

SAME = "span step tolerance method output_step backend precision accuracy singular samples keep".split()
SAME += ["branch", "energy_limit", "gap_limit", "angle_limit"]
TABLES = ("vary", "set", "derive", "drive", "tie")  # options PATH=WORDS


def definition_of(options: argparse.Namespace) -> Definition:
    """The definition that the options of `shiftjax sweep` give: a study file's, with what they change, or a model's.

    Raises:
        ModelError: an option that is wrong, named by its key in a study.
    """
    words: dict[str, Any] = {name: getattr(options, name) for name in SAME}
    words |= {"channels": options.channel, "hold": options.hold, "seed": options.seed or None}
    words |= {"strict_start": options.strict_start or None, "assemble_only": options.assemble_only or None}
    words["strict_inertia"] = options.strict_inertia or None
    tables: dict[str, Mapping[str, Any]] = {
        name: common.entries(getattr(options, name), f"--{name}") for name in TABLES
    }
    tables["metrics"] = common.metrics(options)
    tables["events"] = written_events(common.events(options))
    if study_file.is_study(options.model):
        read = study_file.read(options.model)
        given, folder = document(read), read.folder
    else:
        given, folder = {"model": options.model}, str(Path.cwd())
    changed = {name: {**given.get(name, {}), **entries} for name, entries in tables.items() if entries}
    stated = {key: value for key, value in words.items() if value is not None and value != []}
    for one, other in (("step", "tolerance"), ("tolerance", "step")):  # each takes the place of the other
        if one in stated and other not in stated:
            given.pop(other, None)
    return from_document({**given, **stated, **changed}, folder)


def write(options: argparse.Namespace) -> int:
    """`sweep --write`: the definition as a file, once it is known that it makes members."""
    for name in ("out", "picture"):
        if getattr(options, name) is not None:
            todo = "Leave one of them out; the study that is written runs with shiftjax sweep."
            raise ModelError(f"--{name}", "with --write", "one of them", todo)
    definition = definition_of(options)
    members = sum(group.members for group in designs(definition))
    study_file.write(definition, options.write, force=options.force)
    common.put(f"written: {options.write}, {members} members")
    return 0
