"""What a report tells of: the tables, settings and kept motions of a store, and the names they are shown by."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.report.effects import spearman
from shiftjax.ensembles.report.influences import Indices, indices
from shiftjax.ensembles.store.members import Column, Members
from shiftjax.record import record
from shiftjax.run.results.event_history import EventHistory, history_in

MOST_METRICS = 8  # told in full; of all others the tables speak
MOST_NUMBERS = 12  # of the design in one figure, the most influential ones
SAME = 0.9999  # rank correlation from which a number follows from another one
DEPENDENT = 0.2  # rank correlation from which indices of independent numbers may mislead
DEPENDENT_FROM = 100  # members below which such a correlation is chance
Points = Callable[[Mapping[str, np.ndarray], Mapping[str, np.ndarray]], list[np.ndarray]]
PLAIN_UNITS = {"1": "", "": ""}


@record
class Content:
    """Everything a report is made of.

    Attributes:
        members: the table.
        varied: design numbers and switches that differ and do not follow from one before them.
        followers: names of those that do.
        settings: as they were used. about: attributes of the root.
        name: of the model: its own, or that of its file.
        points: bodies of the model -> paths of their points, see `body_paths.points_of`.
        down: the directions of gravity that are positive, of the axes x, y, z.
        prefix: what all paths begin with, left out where they are shown.
        trajectories: of the members that were kept.
        influence: metric -> indices of `varied`, where they could be found.
        dependent: pairs of varied numbers that are not independent, with their rank correlation.
        slopes: of the metrics with the varied numbers, empty where none were taken.
        events: when they happened, None where none were asked for.
    """

    members: Members
    varied: tuple[Column, ...]
    followers: tuple[str, ...]
    settings: dict[str, Any]
    about: dict[str, Any]
    name: str
    points: Points
    down: tuple[bool, ...]
    prefix: str
    trajectories: xr.Dataset
    influence: dict[str, Indices]
    dependent: tuple[tuple[str, str, float], ...]
    slopes: xr.Dataset
    events: EventHistory | None = None

    def short(self, name: str) -> str:
        """A path as it is shown."""
        return name.removeprefix(self.prefix)

    def label(self, column: Column) -> str:
        """Short name and unit of a column."""
        unit = unit_text(column.unit)
        return f"{self.short(column.name)} [{unit}]" if unit else self.short(column.name)

    @property
    def main_metrics(self) -> tuple[Column, ...]:
        """The metrics that the page shows in full: the first of those that have values."""
        return tuple(m for m in self.members.metrics if self.known(m).any())[:MOST_METRICS]

    def known(self, column: Column) -> np.ndarray:
        """(B,) where members finished and the column is finite."""
        return self.members.finished & np.isfinite(column.values)

    def ranked(self, metric: Column) -> list[int]:
        """Places in `varied`, most influential on a metric first, at most `MOST_NUMBERS`."""
        indices = self.influence.get(metric.name)
        if indices is None:
            rows = self.known(metric)
            weights = np.abs(spearman([metric.values[rows], *(c.values[rows] for c in self.varied)])[0, 1:])
        else:
            weights = np.where(np.isfinite(indices.total), indices.total, indices.first)
        return np.argsort(-np.nan_to_num(weights), kind="stable").tolist()[:MOST_NUMBERS]


def content_of(members: Members, tree: xr.DataTree, name: str, points: Points, down: tuple[bool, ...]) -> Content:
    """What is told of a store, with what moves each metric; see `Content`."""
    varied, followers = independent(members)
    prefixes = {c.name.split(":")[0] + ":" if ":" in c.name else "" for c in members.design}
    about = {str(key): value for key, value in tree.attrs.items()}
    content = Content(
        members,
        varied,
        followers,
        json.loads(about.get("settings", "{}")),
        about,
        name,
        points,
        down,
        prefixes.pop() if len(prefixes) == 1 else "",
        tree["trajectories"].to_dataset() if "trajectories" in tree.children else xr.Dataset(),
        {},
        dependent(members, varied),
        tree["sensitivity"].to_dataset() if "sensitivity" in tree.children else xr.Dataset(),
        history_in(tree),
    )
    for metric in content.main_metrics if varied else ():
        rows = content.known(metric)
        x = np.stack([column.values[rows] for column in varied], 1)
        usable = [k for k in range(len(varied)) if np.ptp(x[:, k]) > 0.0]
        sensitivity = indices(x[:, usable], metric.values[rows], whole=bool(rows.all())) if usable else None
        if sensitivity is not None:
            content.influence[metric.name] = spread(sensitivity, usable, len(varied))
    return content


def independent(members: Members) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The design columns that differ, and the names of those that follow from one before them."""
    varied: list[Column] = []
    followers = []
    for column in members.design:
        if len(members.numbers) < 2 or not np.ptp(column.values) > 0.0:
            continue
        same = np.abs(spearman([column.values, *(c.values for c in varied)])[0, 1:]) if len(members.numbers) > 2 else []
        if any(value >= SAME for value in same):
            followers.append(column.name)
        else:
            varied.append(column)
    return tuple(varied), tuple(followers)


def dependent(members: Members, varied: tuple[Column, ...]) -> tuple[tuple[str, str, float], ...]:
    """Pairs of varied numbers that are not independent of each other."""
    if len(members.numbers) < DEPENDENT_FROM:
        return ()
    r = spearman([column.values for column in varied])
    pairs = [(i, j) for i in range(len(varied)) for j in range(i) if abs(r[i, j]) > DEPENDENT]
    return tuple((varied[j].name, varied[i].name, float(r[i, j])) for i, j in pairs)


def spread(some: Indices, places: list[int], count: int) -> Indices:
    """Indices of some of the varied numbers as those of all; a number that does not differ has none."""

    def wide(values: np.ndarray) -> np.ndarray:
        every = np.full((count, *values.shape[1:]), np.nan)
        every[places] = values
        return every

    return Indices(wide(some.first), wide(some.first_range), wide(some.total), wide(some.total_range), some.method)


def unit_text(unit: str) -> str:
    """A unit as it is printed; nothing where there is none."""
    text = PLAIN_UNITS.get(unit, unit)
    for plain, raised in (("^2", "²"), ("^3", "³"), ("**2", "²"), ("**3", "³"), ("*", "·")):
        text = text.replace(plain, raised)
    return text
