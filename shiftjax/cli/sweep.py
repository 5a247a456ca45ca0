"""`shiftjax sweep`: many variants of one model, all at once."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import partial

import numpy as np

from shiftjax.cli import common, parsing, running
from shiftjax.ensembles import picture, store
from shiftjax.ensembles.sample import sample
from shiftjax.ensembles.spec import FORMS, Vary, parse_vary
from shiftjax.errors import ModelError
from shiftjax.run.result import CERTIFICATE, Result, plain
from shiftjax.run.simulate import simulate


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    add("--vary", action="append", required=True, metavar="PATH=RANGE", help=f"{FORMS}; may be repeated")
    add("--samples", type=int, metavar="N", help="how many designs are drawn (at every grid point)")
    add("--seed", type=int, default=0, metavar="K", help="of the draws; default 0")
    add("--keep", type=parsing.keep, default=64, metavar="all|K|none", help="trajectories stored; default 64")
    add("--picture", metavar="FILE", help="draw the trajectories that are kept, as .png, .svg or .pdf")
    parsing.add_run(parser)


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    if options.seed < 0:
        raise ModelError("--seed", str(options.seed), "a whole number from 0", "Take another seed.")
    study = [parse_vary(text) for text in options.vary]
    design = sample(study, options.samples, options.seed)
    if options.out is not None:
        store.check_target(options.out, force=options.force, batched=True)
    if options.picture is not None:
        picture.check_target(options.picture, force=options.force)
    wanted = "none" if options.out is None and options.picture is None else options.keep
    given = {**common.arguments(options), "vary": design, "keep": wanted}
    result, stop = running.simulated(partial(simulate, model, **given), options)
    drawn = {"vary": options.vary, "samples": options.samples, "seed": options.seed}
    result = replace(result, settings={**result.settings, **drawn})
    common.report_outcomes(result)
    if options.json:
        print(json.dumps(summary(result), allow_nan=False, ensure_ascii=False))
    else:
        show(result, study, options)
    running.save(result, options)
    if options.picture is not None:
        picture.draw(result, options.picture)
        print(f"drawn: {options.picture}", file=sys.stderr)
    return running.exit_code(result, stop)


def summary(result: Result) -> dict[str, object]:
    """The ensemble in one JSON object: counts of outcomes, and the worst of every figure of the certificate."""
    return {
        "members": result.members,
        "status": {outcome.name: len(members) for outcome, members in result.outcomes()},
        "failed": result.failed.tolist(),
        "notes": list(result.notes),
        "settings": plain(result.settings),
        "certificate": {name: plain(worst(name, values)[0]) for name, values in result.certificate.items()},
        "programs": int(result.programs),
        "compile_s": float(result.compile_s),
        "wall_s": float(result.wall_s),
    }


def worst(name: str, values: np.ndarray) -> tuple[float, int]:
    """The worst figure and its member: the smallest pivot ratio, the largest of all others; finite ones only."""
    finite = np.isfinite(values)
    if not finite.any():
        return float("nan"), 0
    least = name == "pivot_ratio"
    ranked = np.where(finite, values, np.inf if least else -np.inf)
    member = int(ranked.argmin() if least else ranked.argmax())
    return float(values[member]), member


def show(result: Result, study: list[Vary], options: argparse.Namespace) -> None:
    """The ensemble as tables a person reads."""
    counts = ", ".join(f"{len(members)} {outcome.name}" for outcome, members in result.outcomes())
    print(f"{options.model}: {result.members} members: {counts}; {common.about(result)}\n")
    rows = [
        (vary.path, f"{values.min():.6g}", f"{values.max():.6g}", vary.distribution, result.units[path])
        for vary, (path, values) in zip(study, result.design.items(), strict=True)
    ]
    common.table(("varied", "smallest", "largest", "drawn", "unit"), rows)
    rows = []
    for name, values in result.certificate.items():
        figure, member = worst(name, np.asarray(values, np.float64))
        rows.append(
            (
                name,
                f"{np.median(values[np.isfinite(values)]):.3g}" if np.isfinite(values).any() else "nan",
                f"{figure:.3g}",
                str(member),
                CERTIFICATE.get(name, "1"),
            )
        )
    print()
    common.table(("certificate", "median", "worst", "member", "unit"), rows)
    rows = [row for path, values in result.channels.items() for row in final_rows(path, values, result)]
    if rows:
        print()
        common.table(("channel at the end", "smallest", "median", "largest", "unit"), rows)


def final_rows(path: str, values: np.ndarray, result: Result) -> list[tuple[str, ...]]:
    """A table line for every number of a channel (B, n, ...), over the members that finished."""
    end = values[np.asarray(result.status) <= 0, -1]
    if not len(end):
        return []
    flat = end.reshape(len(end), -1)
    names = [path] if values.ndim == 2 else [f"{path}[{k}]" for k in range(flat.shape[1])]
    unit = result.units.get(path, "1")
    return [
        (name, *(f"{x:.6g}" for x in (column.min(), np.median(column), column.max())), unit)
        for name, column in zip(names, flat.T, strict=True)
    ]
