"""`shiftjax sweep`: many variants of one model, all at once."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.cli import common, parsing, running
from shiftjax.ensembles import picture, store, study_file
from shiftjax.ensembles.definition import Definition, from_document
from shiftjax.ensembles.designs import designs
from shiftjax.ensembles.keeping import USUAL
from shiftjax.ensembles.sample import sample
from shiftjax.ensembles.spec import FORMS, Vary, parse_vary, split_assignment
from shiftjax.errors import ModelError
from shiftjax.run.figures import CERTIFICATE, figure_text, plain, worst
from shiftjax.run.result import Result
from shiftjax.run.simulate import simulate

SAME = "span step method output_step backend precision energy_limit gap_limit angle_limit samples".split()
TABLES = ("vary", "set", "derive", "drive")  # options PATH=WORDS


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    add("--vary", action="append", required=True, metavar="PATH=RANGE", help=f"{FORMS}; may be repeated")
    add("--samples", type=int, metavar="N", help="how many designs are drawn (at every grid point)")
    add("--seed", type=int, default=0, metavar="K", help="of the draws; default 0")
    add("--keep", type=parsing.keep, default=64, metavar="all|K|none", help="trajectories stored; default 64")
    add("--write", metavar="STUDY", help="write these options as a study, STUDY.toml, instead of running them")
    add("--picture", metavar="FILE", help="draw the trajectories that are kept, as .png, .svg or .pdf")
    parsing.add_run(parser)


def call(options: argparse.Namespace) -> int:
    if options.write is not None:
        return write(options)
    model = common.open_model(options)
    if options.seed < 0:
        raise ModelError("--seed", str(options.seed), "a whole number from 0", "Take another seed.")
    study = [parse_vary(text) for text in options.vary]
    common.check_units(model, {vary.path: vary.unit for vary in study}, "--vary")
    design = sample(study, options.samples, options.seed)
    if options.out is not None:
        store.check_target(options.out, force=options.force, batched=True)
    if options.picture is not None:
        picture.check_target(options.picture, force=options.force)
    wanted = "none" if options.out is None and options.picture is None else options.keep
    given = {**common.arguments(options, model), "vary": design, "keep": wanted}
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
        "metrics": {name: summary_of(values) for name, values in result.metrics.items()},
        "certificate": {name: plain(worst(name, values)[0]) for name, values in result.certificate.items()},
        "programs": int(result.programs),
        "compile_s": float(result.compile_s),
        "wall_s": float(result.wall_s),
    }


def show(result: Result, study: list[Vary], options: argparse.Namespace) -> None:
    """The ensemble as tables a person reads."""
    counts = ", ".join(f"{len(members)} {outcome.name}" for outcome, members in result.outcomes())
    print(f"{options.model}: {result.members} members: {counts}; {common.about(result)}\n")
    drawn = [(vary.path, vary.distribution) for vary in study]
    drawn += [(path, "derived") for path in list(result.design)[len(study) :]]
    rows = [
        (name, f"{values.min():.6g}", f"{values.max():.6g}", how, result.units[path])
        for (name, how), (path, values) in zip(drawn, result.design.items(), strict=True)
    ]
    common.table(("varied", "smallest", "largest", "drawn", "unit"), rows)
    rows = []
    for name, values in result.certificate.items():
        figure, member = worst(name, np.asarray(values, np.float64))
        rows.append(
            (
                name,
                figure_text(float(np.median(values[np.isfinite(values)]))) if np.isfinite(values).any() else "nan",
                figure_text(figure),
                str(member),
                CERTIFICATE.get(name, "1"),
            )
        )
    print()
    common.table(("certificate", "median", "worst", "member", "unit"), rows)
    rows = [metric_row(name, values, result.metric_units[name]) for name, values in result.metrics.items()]
    if rows:
        print()
        common.table(("metric", "smallest", "member", "median", "largest", "member", "unit"), rows)
    rows = [row for path, values in result.channels.items() for row in final_rows(path, values, result)]
    if rows:
        print()
        common.table(("channel at the end", "smallest", "median", "largest", "unit"), rows)
        rows = [row for path, values in result.extremes.items() for row in extreme_rows(path, values, result)]
        print()
        common.table(("channel over all steps", "smallest", "member", "largest", "member", "unit"), rows)


def final_rows(path: str, values: np.ndarray, result: Result) -> list[tuple[str, ...]]:
    """A table line for every number of a channel (B, n, ...), over the members that finished."""
    unit = result.units.get(path, "1")
    return [
        (name, *(f"{x:.6g}" for x in (end.min(), np.median(end), end.max())), unit)
        for name, column, _ in numbers_of(path, values, result)
        for end in (column[:, -1],)
    ]


def metric_row(name: str, values: np.ndarray, unit: str) -> tuple[str, ...]:
    """A table line: extremes of a metric (B,) with the members that have them, over those that have one."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return (name, "nan", "-", "nan", "nan", "-", unit)
    low, high = (int(known[pick(values[known])]) for pick in (np.argmin, np.argmax))
    middle = f"{np.median(values[known]):.6g}"
    return (name, f"{values[low]:.6g}", str(low), middle, f"{values[high]:.6g}", str(high), unit)


def summary_of(values: np.ndarray) -> dict[str, object]:
    """The same for JSON."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return {"smallest": None, "median": None, "largest": None}
    low, high = (int(known[pick(values[known])]) for pick in (np.argmin, np.argmax))
    figures = {"smallest": values[low], "median": np.median(values[known]), "largest": values[high]}
    return {**{key: float(x) for key, x in figures.items()}, "smallest_member": low, "largest_member": high}


def extreme_rows(path: str, values: np.ndarray, result: Result) -> list[tuple[str, ...]]:
    """The extremes of every number of a channel (B, 2, ...) over all steps of the members that finished, each with its
    member."""
    unit = result.units.get(path, "1")
    found = []
    for name, column, members in numbers_of(path, values, result):
        low, high = column.T
        least, most = int(low.argmin()), int(high.argmax())
        found.append((name, f"{low[least]:.6g}", str(members[least]), f"{high[most]:.6g}", str(members[most]), unit))
    return found


def numbers_of(path: str, values: np.ndarray, result: Result) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Name, (G, n) values and member numbers (G,) of every number of a channel, of the members that finished."""
    members = np.flatnonzero(np.asarray(result.status) <= 0)
    if not len(members):
        return []
    flat = values[members].reshape(len(members), values.shape[1], -1)
    names = [path] if values.ndim == 2 else [f"{path}[{k}]" for k in range(flat.shape[2])]
    return [(name, flat[:, :, k], members) for k, name in enumerate(names)]


def definition_of(options: argparse.Namespace) -> Definition:
    """The definition that the options of `shiftjax sweep` give.

    Raises:
        ModelError: an option that is wrong, named by its key in a study.
    """
    words: dict[str, Any] = {name: getattr(options, name) for name in SAME}
    words |= {name: _entries(getattr(options, name), f"--{name}") for name in TABLES}
    words |= {"model": options.model, "seed": options.seed, "channels": options.channel, "hold": options.hold}
    words |= {"strict_start": options.strict_start, "keep": None if options.keep == USUAL else options.keep}
    return from_document({key: value for key, value in words.items() if value is not None}, Path.cwd())


def write(options: argparse.Namespace) -> int:
    """`sweep --write`: the definition as a file, once it is known that it makes members."""
    for name in ("out", "picture"):
        if getattr(options, name) is not None:
            todo = "Leave one of them out; the study that is written runs with shiftjax sweep."
            raise ModelError(f"--{name}", "with --write", "one of them", todo)
    definition = definition_of(options)
    members = sum(group.members for group in designs(definition))
    study_file.write(definition, options.write, force=options.force)
    print(f"written: {options.write}, {members} members")
    return 0


def _entries(texts: Sequence[str], option: str) -> dict[str, str]:
    """PATH=WORDS of an option that may be repeated, by path."""
    found: dict[str, str] = {}
    for text in texts:
        path, words = split_assignment(text, option)
        if path in found:
            raise ModelError(f"{option} {path}", "the path twice", "each path once", "Leave one of them out.")
        found[path] = words
    return found
