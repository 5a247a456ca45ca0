"""The designs that an optimisation came by, to be looked at: of one start iteration by iteration, or the best of all.

A store of an optimisation holds numbers and no motion. Another process simulates the designs into a result of their
own, which is opened, drawn and exported as any other; this one stays without jax. An optimisation that still runs, or
that was killed, has a trail, too: of the iterations so far.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from shiftjax.ensembles.optimization.iterates import Iterates
from shiftjax.ensembles.study.definition import from_document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.errors import ModelError
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.plugins import need_plugins
from shiftjax.record import record

MODULE = "shiftjax.ensembles.optimization.trail_process"
MOST = 64  # designs: as many as are drawn at once
EVERY_START = "all"
COLUMNS = ("iteration", "start", "objective", "excess", "gradient_norm", "halved")  # of the table of members


@record
class Trail:
    """Designs of one start, or the best one of each.

    Attributes:
        group: the model, and how it is run. vary: path -> (k,) numbers of the designs.
        columns: name of `COLUMNS` -> (k,).
    """

    group: MemberGroup
    vary: dict[str, np.ndarray]
    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["iteration"])


def trail(place: str | Path, most: int = MOST, start: str = "") -> Trail:
    """The designs of one start that an optimisation went on from, each once, by their iterations; or the best of each.

    Args:
        place: of its store, complete or not. most: designs, 3 or more; of more than so many of one start some are left
            out evenly, never the first, the best and the last; of more starts the worst are left out.
        start: its number; `EVERY_START` for the best design of each, the best first; left out, the best start.

    Raises:
        ModelError: no optimisation there, no such start, or no design of it that runs.
    """
    history = Iterates(Path(place))
    about = history.about
    need_plugins(str(place), about)
    (group,) = designs(from_document(json.loads(about["study"]), about["study_folder"]))
    seen = {str(name): np.asarray(values.values) for name, values in history.dataset("history").items()}
    ran = np.isfinite(seen["objective"])
    if not ran.any():
        fault = f"{history.done} iterations without a design that runs"
        raise ModelError(str(place), fault, "one that does", "Let it go on, or look at its evaluations.")
    over = np.where(seen["excess"] <= about["constraint_tolerance"], 0.0, seen["excess"])
    rank = np.lexsort((seen["objective"].ravel(), np.where(ran, over, np.inf).ravel()))
    ranked = np.stack(np.unravel_index(rank[: ran.sum()], ran.shape))  # iterations and starts, the best first
    if start == EVERY_START:
        rows, starts = ranked[:, np.sort(np.unique(ranked[1], return_index=True)[1])][:, :most]
    else:
        wanted = int(ranked[1, 0]) if not start else _number(start, ran)
        best = int(ranked[0, ranked[1] == wanted][0])
        rows = _by_iteration(seen["numbers"][:, wanted], ran[:, wanted], best, most)
        starts = np.full(len(rows), wanted)
    vary = {path: np.asarray(values)[starts] for path, values in group.vary().items()}
    vary |= dict(zip(json.loads(about["parameters"]), seen["numbers"][rows, starts].T.copy(), strict=True))
    columns = {"iteration": rows, "start": starts}
    columns |= {name: seen[name][rows, starts] for name in COLUMNS if name not in columns}
    return Trail(group, vary, {name: values.astype(float) for name, values in columns.items()})


def _number(start: str, ran: np.ndarray) -> int:
    """A start that has a design that ran (iterations, starts)."""
    starts = ran.shape[1]
    if not start.isdecimal() or int(start) >= starts:
        raise ModelError("--start", start, f"0 to {starts - 1}, or {EVERY_START}", "See the report of its starts.")
    if not ran[:, int(start)].any():
        raise ModelError("--start", f"{start}, no design of which runs", "one that does", f"Take {EVERY_START}.")
    return int(start)


def _by_iteration(numbers: np.ndarray, ran: np.ndarray, best: int, most: int) -> np.ndarray:
    """Iterations at which the numbers (iterations, P) of a start were others than before, those (iterations,) that ran;
    at most so many, the best among them."""
    fresh = np.append(True, (numbers[1:] != numbers[:-1]).any(axis=1) | ~ran[:-1]) & ran
    rows = np.flatnonzero(fresh)
    return rows[_thinned(len(rows), int(np.searchsorted(rows, best, side="right")) - 1, most)]


def _thinned(count: int, best: int, most: int) -> np.ndarray:
    """Places of at most so many of `count`: the first, the best, the last and others evenly between."""
    if count <= most:
        return np.arange(count)
    chosen = evenly_spaced(count, most)
    inner = 1 + int(np.argmin(np.abs(chosen[1:-1] - best)))
    if best not in chosen:
        chosen[inner] = best
    return np.unique(chosen)


def column(name: str, metrics: Collection[str]) -> str:
    """What one of `COLUMNS` is called beside the metrics of a study, one of which may have its name."""
    return f"optimize.{name}" if name in metrics else name


def titles(metrics: Mapping[str, np.ndarray]) -> list[str]:
    """What members of the result are called: iteration and objective of each, and the start where there are several.

    Args:
        metrics: the columns of its table.
    """
    names = ("iteration", "objective", "start")
    columns = [metrics[f"optimize.{name}" if f"optimize.{name}" in metrics else name] for name in names]
    several = len(np.unique(columns[2])) > 1
    return [
        f"{f'start {start:.0f}, ' if several else ''}iteration {k:.0f}, objective {value:.4g}"
        for k, value, start in zip(*columns, strict=True)
    ]


@contextmanager
def simulated(place: str | Path, tell: Callable[[float], None] = lambda done: None, start: str = "") -> Iterator[Path]:
    """The store of a result whose members are the designs, run by another process; it is gone afterwards.

    Args:
        tell: called with the fraction done. start: as of `trail`.

    Raises:
        ModelError: what `trail` and the run raise.
    """
    with tempfile.TemporaryDirectory(prefix="shiftjax-") as folder, tempfile.TemporaryFile("w+") as log:
        target = Path(folder) / "designs.zarr"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(os.path.abspath(one) for one in sys.path)}
        command = [sys.executable, "-P", "-m", MODULE, os.path.abspath(place), str(target), start]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=environment, text=True
        )
        try:
            _followed(process, str(place), tell)
        finally:
            process.kill()
            code = process.wait()
        if not target.exists():
            log.seek(0)
            last = next((line.strip() for line in reversed(log.read().splitlines()) if line.strip()), "")
            fault = f"a simulator that ended with code {code}{f': {last}' if last else ''}"
            raise ModelError(f"{place}: simulating its designs", fault, "designs that run", "Report it.")
        yield target


def _followed(process: subprocess.Popen[str], place: str, tell: Callable[[float], None]) -> None:
    """Reads what the process says until it ends: a fraction or the parts of an error, a line each."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            message = json.loads(line)
            if isinstance(message, list):
                where, fault, allowed, todo = message
                raise ModelError(where or place, fault, allowed, todo)
            tell(float(message))
    process.wait()
