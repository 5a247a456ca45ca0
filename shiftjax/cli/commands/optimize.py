"""`shiftjax optimize`: the best designs of a study with a table `[optimize]`, from many starts at once."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from shiftjax.cli import common
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.ensembles.execution.sweep import SUFFIX
from shiftjax.ensembles.optimization.optimize import DescentProgress, optimize
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.optimization_words import DescentEnding
from shiftjax.errors import ModelError, need_count, printable
from shiftjax.formats.files import save
from shiftjax.run.results.plain_values import plain

SHOWN = 5  # starts that are listed


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("study", metavar="STUDY.toml", help="a study with a table [optimize]")
    add("--out", metavar="FILE", help="the store, NAME.zarr; left out, the study's name with .zarr")
    add("--starts", type=int, metavar="N", help="how many; those of the study where left out")
    add("--iterations", type=int, metavar="N", help="at most; those of the study where left out")
    add("--resume", action="store_true", help="go on with what stands in --out")
    add("--force", action="store_true", help="replace what stands in --out")
    add("--save", metavar="MODEL.json", help="write the model with the best design")
    add("--threads", type=int, metavar="N", help="of the kernel; all cores where left out")
    add("--json", action="store_true", help="print what came of it as JSON")


def call(options: argparse.Namespace) -> int:
    if not study_file.is_study(options.study):
        raise ModelError("STUDY.toml", repr(options.study), "a study file, NAME.toml", "Name one.")
    definition = study_file.read(options.study)
    changed = {name: getattr(options, name) for name in ("starts", "iterations") if getattr(options, name) is not None}
    for name, value in changed.items():
        need_count(f"--{name}", value, 1)
    if changed and definition.optimize:
        definition = dataclasses.replace(definition, optimize={**definition.optimize, **changed})
    out = options.out or f"{Path(options.study).stem}{SUFFIX}"
    with _bar(printable(Path(options.study).stem)) as bar:
        optimum = optimize(
            definition, out, resume=options.resume, force=options.force, threads=options.threads,
            progress=lambda progress: _show_progress(bar, progress),
        )  # fmt: skip
    if options.json:
        common.put_json(plain(summary(optimum)))
    else:
        show(optimum)
    if options.save is not None and np.isfinite(optimum.best.objective):
        save(optimum.model, options.save)
        common.say(f"written: {options.save}")
    common.say(f"written: {out}")
    return SOME_FAILED if DescentEnding.infeasible.name in optimum.ending else 0


def summary(optimum: Optimum) -> dict[str, Any]:
    """What came of it, for other programs."""
    best = optimum.best
    endings = {ending.name: optimum.ending.count(ending.name) for ending in DescentEnding}
    return {
        "store": str(optimum.path),
        "starts": len(optimum.objective),
        "endings": {name: count for name, count in endings.items() if count},
        "halved": int(optimum.starts["halved"].sum()),
        "jumping": int((optimum.starts["jumps"] > 0).sum()),
        "best": {field.name: getattr(best, field.name) for field in dataclasses.fields(best)},
    }


def show(optimum: Optimum) -> None:
    """What came of it, as a person reads it."""
    best, document = optimum.best, summary(optimum)
    endings = ", ".join(f"{count} {name}" for name, count in document["endings"].items())
    common.put(f"{optimum.path.name}: {document['starts']} starts: {endings}; {document['halved']} steps halved back")
    if document["jumping"]:
        ignoring = f"gradients of {document['jumping']} of them ignore forces that jump"
        common.put(f"{ignoring}: see `jumps` of the starts in the store")
    if not np.isfinite(best.objective):
        common.put("no design that runs was found; the evaluations in the store have the status of each")
        return
    common.put(f"best: start {best.start}, objective {best.objective:.6g}")
    if best.excess > 0:
        common.put(f"its constraints are exceeded by {best.excess:.3g} at most")
    units = optimum.units
    rows = [
        (path, f"{best.began[path]:.6g}", f"{value:.6g}", units.get(path, "1")) for path, value in best.design.items()
    ]
    common.put()
    common.table(("parameter", "before", "best", "unit"), rows, left=(0, 3))
    if best.metrics:
        rows = [(k, f"{best.before[k]:.6g}", f"{v:.6g}", units.get(k, "1")) for k, v in best.metrics.items()]
        common.put()
        common.table(("metric", "before", "best", "unit"), rows, left=(0, 3))
    ranked = optimum.order[:SHOWN]
    rows = [(str(k), f"{optimum.objective[k]:.6g}", optimum.ending[k], *_counts(optimum, k)) for k in ranked]
    common.put()
    common.table(("start", "objective", "ending", "iterations", "halved"), rows, left=(2,))
    if len(optimum.order) > SHOWN:
        common.put(f"... {len(optimum.order) - SHOWN} more in the store")
    if DescentEnding.going.name in optimum.ending:
        common.put("going: not at an optimum yet; the same command with --resume and more --iterations goes on")


def _counts(optimum: Optimum, k: int) -> tuple[str, str]:
    row = optimum.starts.isel(start=int(k))
    return str(int(row["iterations"])), str(int(row["halved"]))


def _bar(name: str) -> Any:
    shape = "{l_bar}{bar}| {n_fmt}/{total_fmt} iterations, {elapsed}<{remaining}{postfix}"
    return tqdm(desc=name, total=1, bar_format=shape, leave=False, disable=not sys.stderr.isatty())


def _show_progress(bar: Any, progress: DescentProgress) -> None:
    """Shows how far it is."""
    bar.total = progress.iterations
    best = "none runs yet" if not np.isfinite(progress.objective) else f"best {progress.objective:.6g}"
    bar.set_postfix_str(f"; {best}, {progress.running} starts going on", refresh=False)
    bar.update(progress.iteration - bar.n)
