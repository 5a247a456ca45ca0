"""`shiftjax check`: is this file a model or a study, and what would a run say of it? Nothing is simulated.

It assembles the model and prints its start. Exit codes are those of `run`: 0 where it would begin, warnings or not; 2
where it would be refused, as a file that is no model is; 3 where it would end at once, as with loops that do not close.
Of a study, a file NAME.toml, it says which members it has, what varies, and what is measured and kept.
With `--schema`, or `--study-schema`, the JSON Schema of the format is printed, for editors and other programs.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from shiftjax.cli import common, parsing, studies
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.ensembles import study_file
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.formats.schema import schema
from shiftjax.run.result import plain
from shiftjax.run.verdict import verdict

REFUSED = 2
ROUNDING = 1e-12  # of a start that is zero
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
        print(json.dumps(schema() if options.schema else study_file.schema(), indent=1, ensure_ascii=False))
        return 0
    if options.model is None:
        raise ModelError("check", "no model", "a model, or --schema", "Say which, as `shiftjax check four_bar`.")
    if studies.is_study(options.model):
        return _of_study(options)
    found = verdict(load(options.model))
    if options.json:
        print(json.dumps(plain(found), allow_nan=False, ensure_ascii=False))
    else:
        show(str(options.model), found)
    return REFUSED if found["refused"] else SOME_FAILED if found["errors"] else 0


def _of_study(options: argparse.Namespace) -> int:
    """`shiftjax check STUDY.toml`."""
    found = studies.outline(study_file.read(options.model))
    if options.json:
        print(json.dumps(plain(found), allow_nan=False, ensure_ascii=False))
    else:
        studies.show(str(options.model), found)
    return REFUSED if any(group["refused"] for group in found["groups"]) else 0


def show(name: str, found: dict[str, Any]) -> None:
    """The verdict as a person reads it."""
    counts = ", ".join(_counted(found[what], one, what) for what, one in COUNTED.items())
    freedoms = _counted(found["dof"], "degree of freedom", "degrees of freedom")
    word = "valid" if found["valid"] else "cannot run"
    print(f"{name}: {word}; {counts}; {freedoms}")
    for kind in ("refused", "errors", "warnings", "notes"):
        for text in found[kind]:
            print(f"{kind.rstrip('s')}: {text}")
    if found["start"]:
        closed = "" if found["assembled"] else ", loops open"
        print(f"\nstart, largest gap {found['gap']:.1e} (m or rad){closed}:")
        head = ("joint", "file", "position", "unit", "", "file", "speed", "unit", "")
        common.table(head, [_line(entry) for entry in found["start"]], left=(0, 3, 4, 7, 8))


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _line(entry: dict[str, Any]) -> tuple[str, ...]:
    unit = entry["unit"]
    place = ("", "", "", "")  # an orientation is a quaternion
    if "start" in entry:
        place = (_said(entry, "displacement", "file"), _shown(entry["start"]), unit, entry["displacement"])
    speed = (_said(entry, "speed", "file_speed"), _shown(entry["start_speed"]), f"{unit}/s", entry["speed"])
    return entry["joint"], *place, *speed


def _said(entry: dict[str, Any], origin: str, file: str) -> str:
    return "" if entry[origin] == "found" else f"{entry[file]:.6g}"


def _shown(number: float) -> str:
    return f"{0.0 if abs(number) < ROUNDING else number:.6g}"
