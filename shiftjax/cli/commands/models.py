"""`shiftjax models`: the library, a line each."""

from __future__ import annotations

import argparse

from shiftjax.cli import common
from shiftjax.models import names, summary


def define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print {name: summary} as JSON")


def call(options: argparse.Namespace) -> int:
    library = {name: summary(name) for name in names()}
    if options.json:
        common.put_json(library, indent=1)
        return 0
    width = max(map(len, library), default=0)
    for name, line in library.items():
        common.put(f"{name:<{width}}  {line}")
    return 0
