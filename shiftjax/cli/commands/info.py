"""`shiftjax info`: what a model is made of, as text, JSON or a graph; with `--paths` its numbers and channels."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from shiftjax.cli import common, parsing
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.run.info import channel_list, dot, info, tables, text
from shiftjax.run.results.plain_values import plain


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    parser.add_argument("--json", action="store_true", help="print the report, or the numbers of --paths, as JSON")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--paths",
        action="store_true",
        help="list every number, with value and unit, and every channel",
    )
    form.add_argument(
        "--dot",
        nargs="?",
        const="cut",
        choices=["cut", "whole"],
        help="print the graph of bodies, joints and what acts between them for Graphviz, loops cut (default) or whole",
    )
    form.add_argument("--tables", action="store_true", help="print the permutation and scatter tables as JSON")


def call(options: argparse.Namespace) -> int:
    if options.json and (options.dot or options.tables):
        other = "--dot" if options.dot else "--tables"
        raise ModelError("--json", f"{other} beside it", "--json alone or with --paths", "Leave one of them out.")
    model = common.open_model(options)
    if options.paths:
        _paths(model, options)
    elif options.json or options.tables:
        common.put_json(plain(info(model) if options.json else tables(model)))
    else:
        for line in (dot(model, whole=options.dot == "whole") if options.dot else text(model)).split("\n"):
            common.put(line)
    return 0


def _paths(model: Model, options: argparse.Namespace) -> None:
    """Numbers that can be set or varied, then channels that can be recorded."""
    numbers, channels = model.described(), channel_list(model)
    if options.json:
        lines: list[dict[str, Any]] = [{"path": path, **asdict(number)} for path, number in numbers.items()]
        lines += [{"path": c.path, "value": None, "unit": c.unit, "role": "channel", "size": c.size} for c in channels]
        common.put_json(lines)
        return
    rows = [(path, f"{n.value:.9g}", n.unit, n.doc) for path, n in numbers.items()]
    common.table(("number", "value", "unit", "meaning"), rows, left=(0, 2, 3))
    common.put()
    common.table(("channel", "numbers", "unit"), [(c.path, str(c.size), c.unit) for c in channels], left=(0, 2))
