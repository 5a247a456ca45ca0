"""`shiftjax top`: the first members of a stored study by a metric."""

from __future__ import annotations

import argparse

from shiftjax.cli import common, parsing
from shiftjax.cli.rows import DIGITS
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.members import Column, Members, members_of
from shiftjax.ensembles.store.top import Top, top
from shiftjax.ensembles.study.rankings import ranking
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.run.results.plain_values import digits_to_tell, plain

COUNT = 10  # members, unless so many are asked for
WIDEST = 12  # columns of design numbers and metrics in a table that a person reads


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("store", metavar="STORE", help="what `sweep --out` wrote")
    line = "a metric, a design number or a number of the certificate; or an expression: '{swing} / {coupler.mass}'; "
    line += "or all in one, as in a choice of members: best:5:swing"
    add("metric", metavar="METRIC", help=line)
    add("-n", type=parsing.count, metavar="N", help="how many; default 10")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--largest", action="store_const", const="largest", dest="end", help="largest first (default)")
    ends.add_argument("--smallest", action="store_const", const="smallest", dest="end", help="smallest first")
    line = "first, as the study says what is good of a metric; of the certificate the {} accurate"
    ends.add_argument("--worst", action="store_const", const="worst", dest="end", help="worst " + line.format("least"))
    ends.add_argument("--best", action="store_const", const="best", dest="end", help="best " + line.format("most"))
    add("--json", action="store_true", help="print them as JSON")


def call(options: argparse.Namespace) -> int:
    members = members_of(store.read(options.store))
    order = top(members, *_wanted(options, members))
    if order.note:
        common.say(f"note: {order.note}")
    if options.json:
        common.put_json(_document(members, order))
        return 0
    shown = _shown(members, order)
    head = ("member", *(_title(column) for column in shown), "status")
    digits = [(column, digits_to_tell(column.values[order.rows], DIGITS)) for column in shown]
    rows = [
        (str(members.numbers[row]), *(f"{c.values[row]:.{n}g}" for c, n in digits), _status(members, row))
        for row in order.rows
    ]
    meant = f" ({order.end} first)" * (order.asked != order.end)
    common.put(f"{order.asked} {order.column.name} of {len(members.numbers)} members{meant}")
    common.put()
    common.table(head, rows, left=())
    if order.failed or order.unknown:
        words = [f"{order.failed} that failed"] * bool(order.failed)
        words += [f"{order.unknown} without a finite value"] * bool(order.unknown)
        common.say(f"note: left out: {' and '.join(words)}")
    return 0


def _wanted(options: argparse.Namespace, members: Members) -> tuple[str, int, str]:
    """Column, how many and which end: of the options, or of a ranking in place of the column."""
    words = None if any(c.name == options.metric for c in members.columns) else ranking(options.metric)
    if words is None:
        return options.metric, options.n or COUNT, options.end or "largest"
    if words.among:
        todo = "A choice of members ranks some only: shiftjax view, --ghosts."
        raise ModelError("top", f"of {words.among}", "a ranking of all members", todo)
    if not words.column or not words.count:
        raise ModelError("top", options.metric, "best:5:METRIC, worst:, largest: and smallest: alike", "Name a metric.")
    given = "-n" * (options.n is not None) or f"--{options.end}" * (options.end is not None)
    if given:
        raise ModelError(given, f"with {options.metric}", "one of them", "Leave it out.")
    return words.column, words.count, words.end


def _shown(members: Members, ranking: Top) -> list[Column]:
    """What it was ordered by first, then the design without what follows from it, and the metrics."""
    others = [c for c in (*members.design, *members.metrics) if c.name != ranking.column.name and not c.follows]
    if len(others) > WIDEST:
        common.say(f"note: {len(others) - WIDEST} more columns with --json")
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
        "asked": ranking.asked,
        "end": ranking.end,
        "note": ranking.note,
        "failed": ranking.failed,
        "unknown": ranking.unknown,
    }
    return {**words, "units": units, "members": rows}
