"""What `run` and `sweep` share: a run that can be interrupted, what is written of it, and the exit code."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

from shiftjax.cli import common
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.cli.ending import exit_code as code_of_signal
from shiftjax.cli.progress import Progress
from shiftjax.outcome import Outcome
from shiftjax.run.memory import Need, size
from shiftjax.run.results.interrupted import Interrupted
from shiftjax.run.results.result import Result

ENDS = 2  # instants that are recorded where nothing is said
MORE = "give --output-step, such as 0.02, to view them"
MUCH = 1e9  # bytes of memory that are told before


def check_target(options: argparse.Namespace) -> None:
    """Refuses an `--out` of one member that cannot be written."""
    if options.out is not None:
        store().check_target(options.out, force=options.force, batched=False)


def store() -> ModuleType:
    """What writes results, and takes a third of a second to load."""
    from shiftjax.ensembles.store import store as writer

    return writer


def simulated(run: Callable[..., Result], options: argparse.Namespace) -> tuple[Result, Interrupted | None]:
    """The result of `simulate` with all but its progress given; of a run that is interrupted, what is done."""

    def announce(need: Need) -> None:
        if need.total > MUCH:
            common.say(f"memory: about {size(need.total)}")
        if need.faster:
            common.say(f"note: {need.faster}")
        if options.out is not None:
            store().refuse_no_room(options.out, need.stored)

    try:
        with Progress(options.model) as progress:
            return run(progress=progress.update, announce=announce), None
    except Interrupted as stop:
        result = stop.result
        common.say(f"interrupted: {result.members - _unfinished(result)} of {result.members} are done")
        return result, stop


def _unfinished(result: Result) -> int:
    return int(np.sum(np.asarray(result.status) == Outcome.interrupted))


def nothing_done(result: Result) -> bool:
    """Whether an interrupt came before any member was done."""
    return _unfinished(result) == result.members


def save(result: Result, options: argparse.Namespace) -> None:
    """Writes `--out`, unless an interrupt came before any member was done."""
    if options.out is None:
        return
    if nothing_done(result):
        common.say(f"nothing is written to {options.out}")
        return
    try:
        store().write(result, options.out, force=options.force)
    except KeyboardInterrupt:
        common.say(f"nothing is written to {options.out}")
        raise
    say_written(options, options.out, len(result.time) if result.poses else 0)


def say_written(options: argparse.Namespace, out: str | Path, instants: int) -> None:
    """Says where the store is; and of poses, at so many instants, that they make no motion, where nobody asked for
    instants."""
    common.say(f"written: {out}")
    if instants == ENDS and options.output_step is None and Path(out).suffix == ".zarr":
        common.say(f"note: of motions only the first and the last instant are stored: {MORE}")


def exit_code(result: Result, stop: Interrupted | None) -> int:
    if stop is not None:
        return code_of_signal(stop)
    return SOME_FAILED if len(result.failed) else 0
