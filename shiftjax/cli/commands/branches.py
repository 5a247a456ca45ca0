"""`shiftjax branches`: all assemblies of one model at given inputs, by the names that `--branch` takes."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.cli.joint_values import joint_values
from shiftjax.run.assemblies.all_assemblies import branches
from shiftjax.run.assemblies.table import Branches

BESIDE = 6  # assemblies side by side


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    line = "position of an input joint, 'crank=40deg'; as many as there are degrees of freedom"
    add("--at", action="append", default=[], metavar="JOINT=VALUE", help=line)
    parsing.add_set(parser)
    add("--json", action="store_true", help="print assemblies and certificates as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    table = branches(model, joint_values(model, options.at, "--at"), assign=common.assigned(options, model) or None)
    if options.json:
        common.put_json(_document(table))
        return 0
    common.put(f"{len(table)} assemblies, {int(table.complex[0])} complex poses; {table.complete}: {table.reason}")
    for first in range(0, len(table), BESIDE):
        some = range(first, min(first + BESIDE, len(table)))
        rows = [
            (path, *(f"{x[k]:.9g}" for k in some), table.units[one])
            for one, values in table.q.items()
            for path, x in _numbers(one, values)
        ]
        rows += [(name, *(f"{x[k]:.2g}" for k in some), "") for name, x in (("h", table.h), ("margin", table.margin))]
        common.table(("coordinate", *(table.names[k] for k in some), "unit"), rows)
    if len(table):
        common.put("h of 0.5 or less proves an assembly; margin: its smallest singular value, 0 at a singular pose")
    return 0


def _numbers(path: str, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Each number of a coordinate, of all assemblies."""
    if values.ndim == 1:
        return [(path, values)]
    return [(f"{path}[{k}]", column) for k, column in enumerate(values.T)]


def _document(table: Branches) -> dict[str, Any]:
    """Everything, null for what there is not."""
    marks = {name: getattr(table, name) for name in ("h", "radius", "alone", "margin", "residual")}
    every = [
        {
            "name": name,
            "q": {path: np.asarray(x[k]).tolist() for path, x in table.q.items()},
            **{mark: float(x[k]) if math.isfinite(x[k]) else None for mark, x in marks.items()},
        }
        for k, name in enumerate(table.names)
    ]
    return {
        "assemblies": every, "complex": int(table.complex[0]), "lost": int(table.lost[0]), "complete": table.complete,
        "reason": table.reason, "units": dict(table.units),
    }  # fmt: skip
