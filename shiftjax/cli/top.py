"""`shiftjax top`: the first members of a stored study by a metric."""

from __future__ import annotations

import argparse
import json
import sys

from shiftjax.cli import common, parsing
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.members import Column, Members, members_of
from shiftjax.ensembles.store.top import Top, top
from shiftjax.outcome import Outcome
from shiftjax.run.results.plain_values import plain

WIDEST = 12  # columns of design numbers and metrics in a table that a person reads


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("store", metavar="STORE", help="what `sweep --out` wrote")
    line = "a metric, a design number or a number of the certificate; or an expression: '{swing} / {coupler.mass}'"
    add("metric", metavar="METRIC", help=line)
    add("-n", type=parsing.count, default=10, metavar="N", help="how many; default 10")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--largest", action="store_const", const="largest", dest="end", help="largest first (default)")
    ends.add_argument("--smallest", action="store_const", const="smallest", dest="end", help="smallest first")
    line = "of the certificate: the least accurate first"
    ends.add_argument("--worst", action="store_const", const="worst", dest="end", help=line)
    add("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(end="largest")


def call(options: argparse.Namespace) -> int:
    members = members_of(store.read(options.store))
    ranking = top(members, options.metric, options.n, options.end)
    if options.json:
        print(json.dumps(_document(members, ranking), allow_nan=False, ensure_ascii=False))
        return 0
    shown = _shown(members, ranking)
    head = ("member", *(_title(column) for column in shown), "status")
    rows = [
        (str(members.numbers[row]), *(f"{column.values[row]:.6g}" for column in shown), _status(members, row))
        for row in ranking.rows
    ]
    print(f"{ranking.end} {ranking.column.name} of {len(members.numbers)} members\n")
    common.table(head, rows, left=())
    if ranking.failed or ranking.unknown:
        words = [f"{ranking.failed} that failed"] * bool(ranking.failed)
        words += [f"{ranking.unknown} without a finite value"] * bool(ranking.unknown)
        print(f"note: left out: {' and '.join(words)}", file=sys.stderr)
    return 0


def _shown(members: Members, ranking: Top) -> list[Column]:
    """What it was ordered by first, then the design and the metrics."""
    others = [c for c in (*members.design, *members.metrics) if c.name != ranking.column.name]
    if len(others) > WIDEST:
        print(f"note: {len(others) - WIDEST} more columns with --json", file=sys.stderr)
    return [ranking.column, *others[:WIDEST]]


def _title(column: Column) -> str:
    return f"{column.name} [{column.unit}]" if column.unit else column.name


def _status(members: Members, row: int) -> str:
    return Outcome(int(members.status[row])).name


def _document(members: Members, ranking: Top) -> dict[str, object]:
    """Everything known of the members listed, as one JSON object."""
    rows = [
        {
            "member": int(members.numbers[row]),
            "value": plain(ranking.column.values[row]),
            "status": _status(members, row),
            **{c.name: plain(c.values[row]) for c in members.columns},
        }
        for row in ranking.rows
    ]
    units = {column.name: column.unit for column in (*members.columns, ranking.column)}
    words = {
        "ordered_by": ranking.column.name,
        "end": ranking.end,
        "failed": ranking.failed,
        "unknown": ranking.unknown,
    }
    return {**words, "units": units, "members": rows}
