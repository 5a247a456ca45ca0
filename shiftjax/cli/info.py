"""`shiftjax info`: what a model is made of, as text, JSON or a graph."""

from __future__ import annotations

import argparse
import json

from shiftjax.cli import common, parsing
from shiftjax.run.report import dot, info, tables, text


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument(
        "--dot",
        nargs="?",
        const="cut",
        choices=["cut", "whole"],
        help="print the graph of bodies and joints for Graphviz, loops cut (default) or whole",
    )
    form.add_argument("--tables", action="store_true", help="print the permutation and scatter tables as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    if options.json or options.tables:
        print(json.dumps(info(model) if options.json else tables(model), ensure_ascii=False))
    else:
        print(dot(model, whole=options.dot == "whole") if options.dot else text(model))
    return 0
