"""One run or path as tables that a person reads."""

from __future__ import annotations

import argparse
import json

import numpy as np

from shiftjax.cli import common
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.run.results.plain_values import short_number
from shiftjax.run.results.result import Result


def show(result: Result, options: argparse.Namespace) -> None:
    """The run as tables a person reads."""
    outcome = result.outcomes()[0][0]
    common.put(f"{options.model}: {outcome.name}; {common.about(result)}")
    common.put()
    rows = [(name, short_number(value), CERTIFICATE.get(name, "1")) for name, value in result.certificate.items()]
    common.table(("certificate", "value", "unit"), rows)
    rows = [(name, f"{value:.6g}", result.metric_units[name]) for name, value in result.metrics.items()]
    if rows:
        common.put()
        common.table(("metric", "value", "unit"), rows)
    if result.events is not None:
        common.put()
        counts = zip(result.events.names, np.atleast_2d(result.events.count)[0].tolist(), strict=True)
        never = [(name, "never", "") for name, count in counts if not count]
        rows = [*((one.name, f"{one.time:.9g}", one.direction) for one in result.events.of()), *never]
        common.table(("event", "time [s]", "direction"), rows)
    if result.channels:
        common.put()
        rows = [row for path, values in result.channels.items() for row in channel_rows(path, values, result)]
        common.table(("channel over all steps", "start", "end", "smallest", "largest", "unit"), rows)
    if options.log or options.log_jacobian:
        common.put()
        for entry in result.log:
            common.put_json(json.loads(json.dumps(dict(entry), default=str)))


def channel_rows(path: str, values: np.ndarray, result: Result) -> list[tuple[str, ...]]:
    """A table line for every number of a channel (n, ...)."""
    flat = values.reshape(len(values), -1)
    extremes = result.extremes.get(path, values[[0, 0]]).reshape(2, -1)  # where nothing moves, there is one instant
    names = [path] if values.ndim == 1 else [f"{path}[{k}]" for k in range(flat.shape[1])]
    unit = result.units.get(path, "1")
    return [
        (name, *(f"{x:.6g}" for x in (column[0], column[-1], *both)), unit)
        for name, column, both in zip(names, flat.T, extremes.T, strict=True)
    ]
