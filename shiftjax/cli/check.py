"""`shiftjax check`: is this file a model? Warnings are listed; a file that cannot be used ends with exit code 2."""

from __future__ import annotations

import argparse
import json

from shiftjax.cli import parsing
from shiftjax.formats.files import load


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def call(options: argparse.Namespace) -> int:
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
