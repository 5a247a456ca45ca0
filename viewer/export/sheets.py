"""What a page tells of each member beside the picture: its varied numbers, its metrics, and curves over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.motion import curves
from shiftjax.viewer.motion.curves import Curve

MOST_PLOTS = 8
MOST_ROWS = 60  # of a table
INSTANTS = 1_000  # of a curve: three a pixel of the widest plot
Item = dict[str, Any]


def sheets_of(study: StudyLike, members: Sequence[int], pack: Pack) -> Item:
    """Tables and plots of some members of a study; numbers of curves are in the pack, as `html` puts poses there.

    Plots are of what was recorded, of the joints' coordinates where nothing was.
    """
    instants = instants_of(study)
    wanted, remarks = curve_names(study), []
    if len(wanted) > MOST_PLOTS:
        remarks.append(f"{MOST_PLOTS} of {len(wanted)} curves are plotted")
    if len(instants) < len(study.time) and wanted:
        remarks.append(f"curves are plotted at {len(instants)} of {len(study.time)} instants")
    return {
        "time": pack.add((study.time[instants] - study.time[0]).astype("<f4")),
        "tables": tables_of(study, members),
        "notes": [study.message(member) for member in members],
        "plots": [_plot(name, (curves.curve(study, m, name) for m in members), instants, pack)
                  for name in wanted[:MOST_PLOTS]],
        "remarks": remarks,
    }  # fmt: skip


def tables_of(study: StudyLike, members: Sequence[int]) -> list[Item]:
    """Tables of some members: of their varied numbers, their metrics, and how accurate they are."""
    accuracy = [name for name in study.metrics if name in CERTIFICATE]
    metrics = [name for name in study.metrics if name not in CERTIFICATE]
    named = {"Design": (study.design, list(study.design)), "Metrics": (study.metrics, metrics)}
    named["Accuracy"] = (study.metrics, accuracy)
    return [_table(study, title, *of, members) for title, of in named.items() if of[1]]


def instants_of(study: StudyLike) -> np.ndarray:
    """(n,) the stored instants at which curves are plotted."""
    return evenly_spaced(len(study.time), INSTANTS)


def curve_names(study: StudyLike) -> list[str]:
    """The names of the curves; none where nothing moves."""
    if len(study.time) < 2:
        return []
    return list(study.channels) or [name for name in curves.computed(study) if name.endswith(".q")]


def _table(
    study: StudyLike, title: str, columns: Mapping[str, np.ndarray], names: list[str], members: Sequence[int]
) -> Item:
    rows = [
        {"name": name, "unit": _unit(study.unit(name)), "values": [f"{float(columns[name][m]):.6g}" for m in members]}
        for name in names[:MOST_ROWS]
    ]
    return {"title": title, "rows": rows, "more": max(len(names) - MOST_ROWS, 0), "open": title != "Accuracy"}


def _plot(name: str, of_members: Iterable[Curve], instants: np.ndarray, pack: Pack) -> Item:
    """A plot of one quantity, with the range of all members."""
    every = list(of_members)
    # a member that ended in the middle of a chunk may have fewer instants than there are
    whole = [np.pad(c.values, ((0, instants[-1] + 1 - len(c.values)), (0, 0)), constant_values=np.nan) for c in every]
    with np.errstate(over="ignore"):  # beyond 3e38 there is no curve
        values = np.stack([one[instants].T for one in whole]).astype("<f4")  # (members, k, n)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return {
        "name": name,
        "unit": _unit(every[0].unit),
        "labels": list(every[0].labels),
        "low": low,
        "high": high,
        "curves": [pack.add(one) for one in values],
    }


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit
