"""`shiftjax check`: is this file a model? Warnings are listed; a file that cannot be used ends with exit code 2.

With `--schema` the JSON Schema of the format is printed, for editors and other programs.
"""

from __future__ import annotations

import argparse
import json

from shiftjax.cli import parsing
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.formats.schema import schema


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser, needed=False)
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of model files (no MODEL needed)")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def call(options: argparse.Namespace) -> int:
    if options.schema:
        if options.model is not None:
            raise ModelError("--schema", f"a model, {options.model!r}", "no model", "Leave one of them out.")
        print(json.dumps(schema(), indent=1, ensure_ascii=False))
        return 0
    if options.model is None:
        raise ModelError("check", "no model", "a model, or --schema", "Say which, as `shiftjax check four_bar`.")
    model = load(options.model)
    counts = {
        "bodies": sum(1 for _ in model.bodies()),
        "joints": sum(1 for _ in model.joints()),
        "restraints": sum(1 for _ in model.restraints()),
        "numbers": len(model.numbers()),
    }
    if options.json:
        print(json.dumps({"valid": True, **counts, "warnings": list(model.warnings)}, ensure_ascii=False))
        return 0
    print(f"{options.model}: valid; {', '.join(f'{count} {what}' for what, count in counts.items())}")
    for warning in model.warnings:
        print(f"warning: {warning}")
    return 0
