"""`shiftjax sweep`: many variants of one model, all at once; or a study from its file, into a store that survives."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from shiftjax.cli import common, ensemble_tables, parsing, running, showing_members, studies
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.ensembles import picture
from shiftjax.ensembles.execution.distribute import LOCAL, executor_of
from shiftjax.ensembles.execution.progress import StudyProgress
from shiftjax.ensembles.execution.sweep import SUFFIX, sweep
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.extremes import refuse_unknown, with_extremes
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.keeping import USUAL, extreme_words, keep
from shiftjax.ensembles.study.sample import sample
from shiftjax.ensembles.study.spec import FORMS, parse_vary
from shiftjax.errors import ModelError
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    add("--vary", action="append", default=[], metavar="PATH=RANGE", help=f"{FORMS}; may be repeated")
    add("--samples", type=int, metavar="N", help="how many designs are drawn (at every grid point)")
    add("--seed", type=int, default=0, metavar="K", help="of the draws; default 0")
    line = f"trajectories stored; default {USUAL}. RANK: 'worst:5 by METRIC', best:, largest: or smallest: alike, of a "
    line += "column or an expression as of `top`; large is worst, but small of pivot_ratio"
    add("--keep", type=parsing.keep, metavar="all|K|none|RANK", help=line)
    add("--write", metavar="STUDY", help="write these options as a study, STUDY.toml, instead of running them")
    add("--picture", metavar="FILE", help="draw the trajectories that are kept, as .png, .svg or .pdf")
    add("--dask", metavar="local|tcp://HOST:PORT", help="of a study: run it on processes of this machine, or a cluster")
    add("--assemble-only", action="store_true", help="of a study: close the loops of every design, and run none")
    add("--resume", action="store_true", help="of a study: go on with what stands in --out")
    add("--verify", action="store_true", help="with --resume: check what is there, and run again what is damaged")
    parsing.add_run(parser)


def call(options: argparse.Namespace) -> int:
    if study_file.is_study(options.model):
        return _study(options)
    if options.write is not None:
        return studies.write(options)
    for name in ("resume", "verify", "dask", "assemble_only"):
        if getattr(options, name):
            todo = "Write one with --write STUDY.toml, and sweep it."
            raise ModelError(f"--{name.replace('_', '-')}", "no study", "a study file", todo)
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
    wanted = USUAL if options.keep is None else options.keep
    wanted = "none" if options.out is None and options.picture is None else wanted
    given = {**common.arguments(options, model), "vary": design, "keep": wanted}
    extreme = extreme_words(wanted)
    if extreme:
        given["keep"] = "none"
        derived = (*map(model.resolve, given.get("derive", {})), *model.expressions)
        refuse_unknown((*map(model.resolve, design), *derived, *given.get("metrics", {}), *CERTIFICATE), keep(extreme))
    result, stop = running.simulated(partial(simulate, model, **given), options)
    if extreme and stop is None:
        result = with_extremes(result, keep(extreme), partial(_again, model, given))
    drawn = {"vary": options.vary, "samples": options.samples, "seed": options.seed}
    result = replace(result, settings={**result.settings, **drawn})
    common.report_outcomes(result)
    if options.json:
        common.put_json(ensemble_tables.summary(result))
    else:
        ensemble_tables.show(result, study, options)
    running.save(result, options)
    if options.picture is not None:
        picture.draw(result, options.picture)
        common.say(f"drawn: {options.picture}")
    return running.exit_code(result, stop)


def _again(model: Model, given: Mapping[str, Any], members: np.ndarray) -> Result:
    """Some members of a sweep again, with their poses.

    Args:
        given: the keywords of the sweep.
    """
    few = {path: np.asarray(values)[members] for path, values in given["vary"].items()}
    return simulate(model, **{**given, "vary": few, "keep": "all"})


def _study(options: argparse.Namespace) -> int:
    """Runs the study, or what is missing of it, and prints what came of it."""
    if options.picture is not None:
        raise ModelError("--picture", "a study", "a sweep of one model", "Draw it with `shiftjax report STORE --png`.")
    if options.write is not None:
        return studies.write(options)
    definition = studies.definition_of(options)
    out = options.out or f"{Path(options.model).stem}{SUFFIX}"
    try:
        with _bar(definition) as bar, _executor(options.dask) as executor:
            study = sweep(
                definition, out, resume=options.resume, verify=options.verify, force=options.force, executor=executor,
                threads=1 if options.dask == LOCAL else options.threads,
                progress=lambda progress: _show_progress(bar, progress),
            )  # fmt: skip
    except KeyboardInterrupt:
        with suppress(ModelError):
            ready = members_of(Study(out).xarray).status != int(Outcome.interrupted)
            common.say(f"{int(ready.sum())} of {len(ready)} members are in {out}; --resume goes on")
        raise
    tree = study.xarray
    for note in json.loads(tree.attrs["notes"]):
        common.say(f"note: {note}")
    members = members_of(tree)
    showing_members.warn(members)
    if options.json:
        common.put_json(showing_members.summary(study.path, members))
    else:
        showing_members.show(study.path, members)
    sizes = tree["trajectories"].sizes if "trajectories" in tree else {}
    running.say_written(options, out, sizes.get("time", 0) if sizes.get("member") and sizes.get("body") else 0)
    return SOME_FAILED if (members.status > 0).any() else 0


def _executor(address: str | None) -> AbstractContextManager[Executor | None]:
    """What runs the shards: None for this process."""
    return nullcontext() if address is None else executor_of(address)


def _bar(definition: Definition) -> Any:
    shape = "{l_bar}{bar}| {n_fmt}/{total_fmt} members, {elapsed}<{remaining}{postfix}"
    name = definition.model if isinstance(definition.model, str) else "study"
    return tqdm(desc=name, total=1, bar_format=shape, leave=False, disable=not sys.stderr.isatty())


def _show_progress(bar: Any, progress: StudyProgress) -> None:
    """Shows how far the study is, and the group of it that runs."""
    bar.total, shown = progress.members, f", {progress.rate:.3g} members a second"
    under_way = next((k for k, group in enumerate(progress.groups) if group.done < group.members), 0)
    if len(progress.groups) > 1:
        group = progress.groups[under_way]
        counts = f"{group.failed} failed, {group.repartitioned} repartitioned"
        time_left = "" if group.left == math.inf else f", {tqdm.format_interval(group.left)} left"
        shown += f"; group {under_way + 1} of {len(progress.groups)}: {group.done}/{group.members}, {counts}{time_left}"
    bar.set_postfix_str(
        f"{shown}; in all {progress.failed} failed, {progress.repartitioned} repartitioned", refresh=False
    )
    bar.update(int(progress.done + progress.running) - bar.n)
