"""The first members of a stored study by a metric, a design number, a number of the certificate, or an expression.

Members that failed, and those where the value is not finite, are never among them.
"""

from __future__ import annotations

import numpy as np

from shiftjax.ensembles.store.members import Column, Members
from shiftjax.ensembles.store.ranking import ranked
from shiftjax.ensembles.study.rankings import ENDS, assumed, rising
from shiftjax.errors import ModelError, need_count, one_of
from shiftjax.expressions.dialects import NUMBERS
from shiftjax.expressions.evaluation import evaluate_number
from shiftjax.expressions.expression import names
from shiftjax.expressions.grammar import parse
from shiftjax.measures.expression_units import unit_of
from shiftjax.record import record


@record
class Top:
    """The first members by a column.

    Attributes:
        column: what they were ordered by.
        asked: one of `rankings.ENDS`.
        end: "largest" or "smallest", whichever comes first.
        note: what the order assumes, a sentence; "" where it assumes nothing.
        rows: (n,) places in `Members.numbers`, first member first.
        failed: members left out since they ended early.
        unknown: members left out since they have no finite value, though they finished.
    """

    column: Column
    asked: str
    end: str
    note: str
    rows: np.ndarray
    failed: int
    unknown: int


def top(members: Members, text: str, count: int = 10, end: str = "largest") -> Top:
    """The first members by a column or an expression; equal ones in the order of their numbers.

    Args:
        members: of a store.
        text: a column (`swing`, `coupler.mass`, `gap`), or an expression with columns in braces (`{swing} / {mass}`),
            with + - * / **, parentheses and the functions of `simulate(derive=)`.
        count: how many.
        end: "largest", "smallest", or by what is good "best" or "worst": of a figure of the certificate by what it is,
            of a metric as its study says; where nothing says it small is taken as good, and the note says so.

    Raises:
        ModelError: no such column, an expression with something else in it, no finished member with a finite value.
    """
    need_count("top: count", count, 1)
    one_of("top: end", end, ENDS)
    column = column_of(members, text)
    ascending = rising(end, column.good)
    known = members.finished & np.isfinite(column.values)
    if not known.any():
        fault = f"no finished member with a finite {text}"
        raise ModelError(f"top {text}", fault, "one at least", "See `shiftjax report` for why members failed.")
    rows = ranked(column.values, members.status, rising=ascending)[:count]
    failed = int(np.sum(~members.finished))
    first = "smallest" if ascending else "largest"
    return Top(
        column, end, first, assumed(end, column.name, column.good), rows, failed, len(known) - int(known.sum()) - failed
    )


def column_of(members: Members, text: str) -> Column:
    """The column of a name, or the values of an expression of columns in braces."""
    if "{" not in text or any(column.name == text for column in members.columns):
        return members.column(text, "top")
    node = parse(text, f"top {text}", NUMBERS)
    columns = {name.text: members.column(name.text, "top") for name in names(node) if name.braces}
    with np.errstate(all="ignore"):  # a value that is not finite is never listed
        by_name = {name: column.values for name, column in columns.items()}
        values = np.asarray(evaluate_number(node, by_name, f"top {text}"), np.float64)
    if values.ndim == 0:
        raise ModelError(f"top {text}", "one number for all", "an expression of columns", "Write {swing} / {mass}.")
    unit = unit_of(node, {name: column.unit for name, column in columns.items()}) or "1"
    return Column(text, "metric", unit, values, text)
