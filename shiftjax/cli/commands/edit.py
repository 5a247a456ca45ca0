"""`shiftjax edit`: changes of a model's bodies and joints, written down as steps, bodies staying where they stand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shiftjax.cli import common, parsing
from shiftjax.editing.editor import Editor
from shiftjax.errors import ModelError


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    add(
        "script",
        metavar="SCRIPT",
        nargs="?",
        help="a file of steps, one a line, as invert('rocker_pivot'); - for stdin",
    )
    add("--do", metavar="STEP", action="append", default=[], help="a step after those of SCRIPT; may be repeated")
    add("--out", metavar="FILE", help="write the model to FILE (.json); without steps as it was read, of any format")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print the steps and their notes as JSON")


def call(options: argparse.Namespace) -> int:
    edit = Editor(common.open_model(options))
    if not options.script and not options.do and not options.out:
        allowed = "a file of steps, --do, or --out, which writes the model as it is"
        raise ModelError("edit", "no step", allowed, "Write --do \"invert('rocker_pivot')\".")
    if options.out:
        common.new_file(options.out, (".json",), force=options.force)
    edit.replay("\n".join([*([_read(options.script)] if options.script else []), *options.do]))
    if options.json:
        steps = [{"steps": list(entry.lines), "notes": list(entry.notes)} for entry in edit.steps]
        common.put_json({"steps": steps, "freedoms": edit.freedoms})
    else:
        for entry in edit.steps:
            common.put("; ".join(entry.lines))
            for note in entry.notes:
                common.put(f"  {note}")
        common.put(f"{edit.model!r}, {edit.freedoms} degree{'s' * (edit.freedoms != 1)} of freedom")
    if options.out:
        edit.save(options.out)
        common.say(f"written: {options.out}")
    return 0


def _read(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError("SCRIPT", f"{name}: {error}", "a file of steps", "Check the name.") from None
