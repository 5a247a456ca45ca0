"""`shiftjax sensitivity`: how every metric of a study changes with every number that varies, by gradients."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.cli import common
from shiftjax.cli.progress import Progress
from shiftjax.ensembles.execution.sweep import SUFFIX
from shiftjax.ensembles.sensitivities.slopes import Sensitivity, sensitivity
from shiftjax.ensembles.study.spec import assigned, split_assignment
from shiftjax.gradients.planning import DIRECTIONS
from shiftjax.run.results.plain_values import plain

SHOWN = 4  # members of whose slopes something is said


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("study", metavar="STUDY", help="a study file, NAME.toml, or the store of a study, NAME.zarr")
    add("--out", metavar="FILE", help="the store of a study file, NAME.zarr; left out, the study's name with .zarr")
    add(
        "--direction",
        choices=DIRECTIONS,
        help="of derivatives, or differences of moved runs; what takes least where left out",
    )
    add("--sigma", action="append", default=[], metavar="METRIC=NUMBER",
        help="a metric that is measured, with the standard deviation of its error: how well do measurements tell the"
             " numbers? kept for the report; may be repeated")  # fmt: skip
    add("--resume", action="store_true", help="go on with what stands in --out")
    add("--force", action="store_true", help="replace what stands in --out")
    add("--threads", type=int, metavar="N", help="of the kernel; all cores where left out")
    add("--json", action="store_true", help="print it as JSON")


def call(options: argparse.Namespace) -> int:
    sigmas = {name: assigned(words, f"--sigma {name}")[0] for name, words in map(_sigma, options.sigma)}
    out = options.out or f"{Path(options.study).stem}{SUFFIX}"
    with Progress(Path(options.study).stem) as progress:
        slopes = sensitivity(
            options.study, out, direction=options.direction, resume=options.resume, force=options.force,
            threads=options.threads, progress=lambda done, members: progress.update(done / members),
        )  # fmt: skip
    if sigmas:
        slopes.measured(sigmas)
    document = summary(slopes, sigmas)
    if options.json:
        common.put_json(plain(document))
    else:
        show(document)
    common.say(f"written: {slopes.study.path}")
    return 0


def _sigma(text: str) -> tuple[str, str]:
    return split_assignment(text, "--sigma")


def summary(outcome: Sensitivity, sigmas: dict[str, float]) -> dict[str, Any]:
    """Slopes over the members, the largest error of differences; deviations that measurements leave."""
    slopes, units, errors = outcome.slopes, outcome.xarray["unit"].values, outcome.errors
    rows = []
    for m, name in enumerate(outcome.metrics):
        for k, path in enumerate(outcome.parameters):
            rows.append({"metric": name, "parameter": path, "unit": str(units[m, k]), **_range(slopes[:, m, k])})
            rows[-1]["error"] = _range(errors[:, m, k])["largest"]
    document: dict[str, Any] = {"store": str(outcome.study.path), "direction": outcome.planned.direction}
    document |= {"why": outcome.planned.why, "slopes": rows, "deviations": []}
    document["messages"] = {str(k): text for k, text in enumerate(outcome.messages) if text}
    if sigmas:
        information = outcome.fisher(sigmas)
        document["rank"] = _range(information.rank.astype(float))
        for k, path in enumerate(outcome.parameters):
            document["deviations"].append({"parameter": path, **_range(information.standard_deviations[:, k])})
    return document


def _range(values: np.ndarray) -> dict[str, float | None]:
    """Over the members that have one; None where none has, or it is infinite."""
    known = values[~np.isnan(values)]
    if not len(known):
        return dict.fromkeys(("smallest", "median", "largest"))
    statistics = {"smallest": known.min(), "median": np.median(known), "largest": known.max()}
    return {name: float(value) if np.isfinite(value) else None for name, value in statistics.items()}


def show(document: dict[str, Any]) -> None:
    """The summary as a person reads it."""
    way = "by differences" if document["direction"] == "differences" else document["direction"]
    common.put(f"{Path(document['store']).name}: slopes taken {way} ({document['why']})")
    common.put()
    head = ("metric", "parameter", "smallest", "median", "largest", "unit")
    rows = [(row["metric"], row["parameter"], *_texts(row, "nan"), row["unit"]) for row in document["slopes"]]
    if document["direction"] == "differences":
        head = (*head, "error")
        errors = ["nan" if row["error"] is None else f"{row['error']:.2g}" for row in document["slopes"]]
        rows = [(*row, error) for row, error in zip(rows, errors, strict=True)]
    common.table(head, rows, left=(0, 1, 5))
    for member, text in [*document["messages"].items()][:SHOWN]:
        common.put(f"member {member}: {text}")
    if len(document["messages"]) > SHOWN:
        common.put(
            f"... and {len(document['messages']) - SHOWN} members more: `message` in the store's group `sensitivity`"
        )
    if document["deviations"]:
        common.put()
        common.put("standard deviation of every number that is found from the measurements:")
        common.table(
            ("parameter", "smallest", "median", "largest"),
            [(row["parameter"], *_texts(row, "not told")) for row in document["deviations"]],
        )


def _texts(row: dict[str, Any], none: str) -> tuple[str, ...]:
    return tuple(none if row[key] is None else f"{row[key]:.6g}" for key in ("smallest", "median", "largest"))
