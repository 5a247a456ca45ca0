"""The first members by a column, those that `[keep]` ranks. Host only, no jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

from shiftjax.ensembles.store.members import Column, Members, members_of
from shiftjax.ensembles.store.ranking import ranked
from shiftjax.ensembles.store.top import column_of
from shiftjax.ensembles.study.keeping import Extreme, Keep
from shiftjax.ensembles.study.rankings import rising
from shiftjax.errors import ModelError
from shiftjax.run.results.labelled import to_tree
from shiftjax.run.results.result import Result


def extremes(members: xr.Dataset, keep: Keep) -> np.ndarray:
    """(K,) the members that are among the first by a metric.

    Args:
        members: the table of all members of a study.
    """
    status = np.asarray(members["status"].values)
    numbers = np.asarray(members["member"].values)

    def chosen(extreme: Extreme) -> np.ndarray:
        values = values_of(members, extreme.metric)
        return numbers[ranked(values, status, rising=rising(extreme.end, extreme.good))[: extreme.count]]

    return np.unique(np.concatenate([np.zeros(0, np.int64), *map(chosen, keep.extremes)]))


def values_of(members: xr.Dataset, metric: str) -> np.ndarray:
    """(B,) of a column, or of an expression of columns in braces, as `top` takes them.

    Raises:
        ModelError: no such column.
    """
    if metric in members:
        return np.asarray(members[metric].values, float)
    return _column(members_of(xr.DataTree.from_dict({"/members": members})), metric).values


def refuse_unknown(names: Iterable[str], keep: Keep) -> None:
    """Raises where an extreme is of no column, before any time is spent on a run.

    Args:
        names: of the columns that there will be.
    """
    nothing = np.full(1, np.nan)
    known = Members(np.zeros(1, int), tuple(Column(name, "metric", "1", nothing) for name in names), nothing, nothing)
    for extreme in keep.extremes:
        _column(known, extreme.metric)


def _column(members: Members, metric: str) -> Column:
    try:
        return column_of(members, metric)
    except ModelError as error:
        raise ModelError(f"keep by {metric}", error.found, error.allowed, error.todo) from None


def with_extremes(result: Result, keep: Keep, run: Callable[[np.ndarray], Result]) -> Result:
    """A result of which no poses were recorded, with those of the members that are ranked first.

    Args:
        run: gives some members again, with all their poses: (K,) numbers -> their result.
    """
    chosen = extremes(to_tree(result, keep="none")["members"].to_dataset(), keep)
    if not len(chosen):
        return result
    return dataclasses.replace(result, poses=run(chosen).poses, kept=chosen)
