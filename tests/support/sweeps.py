"""A small study of several shards, and when two stores are the same: for tests of what may happen to a sweep."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shiftjax.cli.ending import stoppable
from shiftjax.ensembles.execution import shards
from shiftjax.ensembles.execution.progress import StudyProgress
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.optimization.optimize import DescentProgress, optimize
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition

MEMBERS, SIZE = 192, 16  # members of the study and of a shard of it
# Length of the crank [m], the same in a whole shard: looking for a pose takes most of the time of so short a study, and
# longest where there is none.
CRANKS = (0.15, 0.17, 0.19, 0.21, 0.23, 0.25, 0.27, 0.29, 0.31, 0.33, 0.35, 1.5)

# Some of every shard cannot be assembled.
MIXED = {"coupler.mass": "0.5:2~sobol", "crank:tip.T[0]": "0.15:1.5~sobol"}

# Processes that are killed: forks of one that has imported what they need, two seconds of processor time of each.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])


def sweeping(place: Path, threads: int, errors: Path, done: Connection) -> None:
    """What such a process does: sweeps slowly, sending after each shard how many members are done."""
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)

    def send(progress: StudyProgress) -> None:
        done.send(progress.done)
        time.sleep(0.4)  # so that it takes four seconds at least

    small(setattr)
    with stoppable():
        sweep(study(), place, resume=True, threads=threads, progress=send)


def optimizing(file: Path, place: Path, iterations: Connection) -> None:
    """The same for an optimisation, which sends the number of each iteration."""

    def send(progress: DescentProgress) -> None:
        iterations.send(progress.iteration)
        time.sleep(0.1)  # so that it is killed long before its end

    optimize(study_file.read(file), place, progress=send)


def study(**more: Any) -> Definition:
    """Four-bars, of which the last shard cannot be assembled."""
    given: dict[str, Any] = {
        "model": "four_bar",
        "vary": {"crank:tip.T[0]": list(CRANKS), "coupler.mass": "0.5:2~sobol"},
        "samples": MEMBERS // len(CRANKS),
        "span": 0.05,
        "output_step": 0.01,
        "channels": ["rocker_pivot.q"],
        "metrics": {"swing": "peak_to_peak(rocker_pivot.q)", "late": "final(crank_pivot.q)"},
        "keep": "every 40",
    }
    return Definition(**{**given, **more})


def small(patch: Any) -> None:
    """Shards of `SIZE` members, by the `setattr` of pytest or the one of Python."""
    patch(shards, "LEAST", SIZE)
    patch(shards, "STEPS", 1.0)


def files(store: Path) -> dict[str, bytes]:
    """Name in the store -> what is in the file; attributes in one order."""

    def content(path: Path) -> bytes:
        raw = path.read_bytes()
        return json.dumps(json.loads(raw), sort_keys=True).encode() if path.name == "zarr.json" else raw

    return {p.relative_to(store).as_posix(): content(p) for p in sorted(store.rglob("*")) if p.is_file()}


def assert_same(store: Path, other: Path) -> None:
    """Every array and attribute, bit for bit, and no file beside."""
    mine, theirs = files(store), files(other)
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if mine[name] != theirs[name]] == []
