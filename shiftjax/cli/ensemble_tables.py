"""What `shiftjax sweep MODEL` prints of an ensemble."""

from __future__ import annotations

import argparse

import numpy as np

from shiftjax.cli import common
from shiftjax.cli.rows import METRIC_HEAD, certificate_head, certificate_rows, metric_row, metric_summary
from shiftjax.ensembles.study.spec import Vary
from shiftjax.run.results.plain_values import plain, worst
from shiftjax.run.results.result import Result


def summary(result: Result) -> dict[str, object]:
    """The ensemble in one JSON object: counts of outcomes, and the worst of every number of the certificate."""
    return {
        "members": result.members,
        "status": {outcome.name: len(members) for outcome, members in result.outcomes()},
        "failed": result.failed.tolist(),
        "notes": list(result.notes),
        "settings": plain(result.settings),
        "metrics": {name: metric_summary(values) for name, values in result.metrics.items()},
        "certificate": {
            name: plain(worst(name, values, result.status)[0]) for name, values in result.certificate.items()
        },
        "programs": int(result.programs),
        "compile_s": float(result.compile_s),
        "wall_s": float(result.wall_s),
    }


def show(result: Result, study: list[Vary], options: argparse.Namespace) -> None:
    """The ensemble as tables a person reads."""
    counts = ", ".join(f"{len(members)} {outcome.name}" for outcome, members in result.outcomes())
    common.put(f"{options.model}: {result.members} members: {counts}; {common.about(result)}")
    common.put()
    drawn = [(vary.path, vary.distribution) for vary in study]
    drawn += [(path, "derived") for path in list(result.design)[len(study) :]]
    rows = [
        (name, f"{values.min():.6g}", f"{values.max():.6g}", how, result.units[path])
        for (name, how), (path, values) in zip(drawn, result.design.items(), strict=True)
        if path not in result.model.expressions
    ]
    common.table(("varied", "smallest", "largest", "drawn", "unit"), rows)
    if follow := len(result.design) - len(rows):
        common.put(f"{follow} numbers follow from these by expressions of the file")
    common.put()
    common.table(certificate_head(result.status), certificate_rows(result.certificate, result.status))
    rows = [metric_row(name, values, result.metric_units[name]) for name, values in result.metrics.items()]
    if rows:
        common.put()
        common.table(METRIC_HEAD, rows)
    rows = [row for path, values in result.channels.items() for row in final_rows(path, values, result)]
    if rows:
        common.put()
        common.table(("channel at the end", "smallest", "median", "largest", "unit"), rows)
        rows = [row for path, values in result.extremes.items() for row in extreme_rows(path, values, result)]
        common.put()
        common.table(("channel over all steps", "smallest", "member", "largest", "member", "unit"), rows)


def final_rows(path: str, values: np.ndarray, result: Result) -> list[tuple[str, ...]]:
    """A table line for every number of a channel (B, n, ...), over the members that finished."""
    unit = result.units.get(path, "1")
    return [
        (name, *(f"{x:.6g}" for x in (end.min(), np.median(end), end.max())), unit)
        for name, column, _ in numbers_of(path, values, result)
        for end in (column[:, -1],)
    ]


def extreme_rows(path: str, values: np.ndarray, result: Result) -> list[tuple[str, ...]]:
    """The extremes of every number of a channel (B, 2, ...) over all steps of the members that finished, each with its
    member."""
    unit = result.units.get(path, "1")
    rows = []
    for name, column, members in numbers_of(path, values, result):
        low, high = column.T
        least, most = int(low.argmin()), int(high.argmax())
        rows.append((name, f"{low[least]:.6g}", str(members[least]), f"{high[most]:.6g}", str(members[most]), unit))
    return rows


def numbers_of(path: str, values: np.ndarray, result: Result) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Name, (G, n) values and member numbers (G,) of every number of a channel, of the members that finished."""
    members = np.flatnonzero(np.asarray(result.status) <= 0)
    if not len(members):
        return []
    flat = values[members].reshape(len(members), values.shape[1], -1)
    names = [path] if values.ndim == 2 else [f"{path}[{k}]" for k in range(flat.shape[2])]
    return [(name, flat[:, :, k], members) for k, name in enumerate(names)]
