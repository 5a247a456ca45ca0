"""`shiftjax info`: what a model is made of, as text, JSON or a graph."""

from __future__ import annotations

import argparse
import json

from shiftjax.cli import common
from shiftjax.report import dot, info, tables, text


def define(parser: argparse.ArgumentParser) -> None:
    common.add_model(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--dot", action="store_true", help="print the graph of bodies and joints for Graphviz")
    form.add_argument("--tables", action="store_true", help="print the permutation and scatter tables of the plan")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    if options.json:
        print(json.dumps(info(model), ensure_ascii=False))
    else:
        form = dot if options.dot else tables if options.tables else text
        print(form(model))
    return 0
