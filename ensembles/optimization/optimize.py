"""An optimisation: all starts of a study run together, iteration by iteration, into a store that survives a kill."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.ensembles.execution.study_plan import digest, embedded
from shiftjax.ensembles.optimization.data import Data
from shiftjax.ensembles.optimization.iterates import EVERY, Iterates
from shiftjax.ensembles.optimization.meaning import parameters, refuse_without_slopes
from shiftjax.ensembles.optimization.methods.descent import Descent
from shiftjax.ensembles.optimization.methods.least_squares import LeastSquares
from shiftjax.ensembles.optimization.methods.limited_memory import LimitedMemory
from shiftjax.ensembles.optimization.methods.one_start import Seen, State
from shiftjax.ensembles.optimization.methods.sequential_quadratic import SequentialQuadratic
from shiftjax.ensembles.optimization.optimum import Optimum
from shiftjax.ensembles.optimization.problem import DescentMethod, Problem
from shiftjax.ensembles.optimization.resuming import grows
from shiftjax.ensembles.sensitivities.derivatives import Runs
from shiftjax.ensembles.store import store, study_store
from shiftjax.ensembles.store.replacing import remove
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition, document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.optimization_words import MONOTONE, QUADRATIC, Wanted
from shiftjax.ensembles.study.run_flags import check_flags
from shiftjax.errors import ModelError, need_path
from shiftjax.record import record
from shiftjax.shield import interruptible
from shiftjax.version import VERSION

PATIENCE = 10.0  # s between two writings at most, and an iteration


@record
class DescentProgress:
    """Where an optimisation stands.

    Attributes:
        iteration: that is done, of iterations. objective: the best of all starts. running: starts that have not ended.
        seconds: since this call began.
    """

    iteration: int
    iterations: int
    objective: float
    running: int
    seconds: float


@interruptible
def optimize(
    study: Definition | str | Path,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    progress: Callable[[DescentProgress], None] = lambda progress: None,
) -> Optimum:
    """Makes the objective of a study small, from many starts at once, each by itself.

    Args:
        study: the definition, or the path of a study file (.toml), with a table `[optimize]`.
        out: the store, NAME.zarr; left out, a temporary one that lives as long as the result.
        resume: go on with what stands there, or begin it; the iterates are those of an optimisation that nothing
            stopped, to the last bit. More iterations may be asked for than it was begun with.
        force: replace what is there.
        threads: of the kernel; all cores where left out.
        progress: called after every iteration.

    Raises:
        ModelError: no `[optimize]`, what the definition, a model or the store make impossible.
        KeyboardInterrupt: Ctrl-C. All iterations that were done are in the store.
    """
    threads = check_flags("optimize", resume=resume, force=force, threads=threads, progress=progress)
    definition, wanted = asked(study)
    place, temporary = _place(out)
    definition = embedded(definition)
    groups = designs(definition)
    group, *others = groups
    if others:
        todo = "Give every switch one state."
        raise ModelError("switch", f"{len(groups)} models", "one model", todo)
    history, mark = Iterates(place), digest(groups) + _of_data(definition, wanted)
    going_on = resume and place.exists()
    more = going_on and grows(history, definition, wanted, mark)
    if not going_on:
        store.check_target(
            place,
            force=force,
            batched=True,
            todo="Resume (--resume) goes on, force (--force) replaces it; or give another name (--out).",
        )
    if going_on and history.complete and not more:
        return Optimum(place, temporary)
    with study_store.locked(place):
        if going_on:
            with study_store.writing(place):
                study_store.clean(place)
        else:
            with study_store.writing(place):
                remove(place)
        problem = problem_of(definition, wanted, group, threads)
        about = {"study": json.dumps(document(definition)), "study_folder": definition.folder}
        low, high = problem.space.low.tolist(), problem.space.high.tolist()
        about["bounds"] = json.dumps(dict(zip(problem.parameters, zip(low, high, strict=True), strict=True)))
        if going_on:
            history.reopen(wanted.iterations, about)
        about |= {"designs": mark, "shiftjax_version": VERSION, "parameters": json.dumps(problem.parameters)}
        about |= {"units": json.dumps(problem.units), "constraint_tolerance": wanted.constraint_tolerance}
        _Run(problem, history, about, progress).run()
    return Optimum(place, temporary)


def asked(study: Definition | str | Path) -> tuple[Definition, Wanted]:
    """The definition with as many samples as starts, and what its `[optimize]` asks for."""
    if not isinstance(study, Definition):
        need_path("optimize: study", study)
        study = study_file.read(study)
    wanted = study.optimized
    if wanted is None:
        todo = 'Add [optimize] with objective = "METRIC".'
        raise ModelError("optimize", "a study without [optimize]", "one that says what is made small", todo)
    if study.assemble_only:
        raise ModelError("assemble_only", "true", "runs, which metrics are taken of", "Leave it out.")
    count = wanted.starts
    drawn = any(not vary.is_axis for vary in study.varied)
    return (dataclasses.replace(study, samples=count) if count and drawn else study), wanted


def problem_of(definition: Definition, wanted: Wanted, group: MemberGroup, threads: int | None = None) -> Problem:
    """What is made small, with the runs of a group of the study."""
    data = None if wanted.data is None else Data(definition.placed(wanted.data), wanted, group)
    runs = Runs(group, parameters(wanted, group), data.paths if data else (), threads)
    refuse_without_slopes(wanted, runs.without_slopes)
    return Problem(definition, wanted, group, runs, data)


def method_of(problem: Problem) -> DescentMethod:
    """How its starts go down."""
    if problem.wanted.residuals:
        return LeastSquares(problem)
    if problem.wanted.method in QUADRATIC:
        return SequentialQuadratic(problem)
    return (LimitedMemory if problem.wanted.method in MONOTONE else Descent)(problem)


class _Run:
    """The iterations of an optimisation."""

    def __init__(
        self, problem: Problem, history: Iterates, about: dict[str, Any], progress: Callable[[DescentProgress], None]
    ) -> None:
        self.problem, self.history, self.about, self.progress = problem, history, about, progress
        self.method = method_of(problem)
        self.names = {"parameter": problem.parameters, "metric": problem.names}
        self.names["constraint"] = tuple(c.text for c in problem.wanted.constraints)
        self._begun = self._written = time.monotonic()
        self._waiting: list[tuple[int, Seen, Seen]] = []  # iterations that are not yet written: seen, and shown

    def run(self) -> None:
        """Repeats what is stored, runs what is missing."""
        iterations = self.problem.wanted.iterations
        state, ready, k, first = self.method.begin(), 0, 0, None
        if self.history.place.exists():
            ready = self.history.done
        try:
            while k < iterations and (state["ended"] == 0).any():
                seen = self.history.read(k) if k < ready else self.method.see(state)
                first = first or seen
                state = self.method.advance(state, seen)
                if k >= ready:
                    self._note(k, seen, state)
                k += 1
                best = float(np.min(state["best_objective"]))
                running = int((state["ended"] == 0).sum())
                self.progress(DescentProgress(k, iterations, best, running, time.monotonic() - self._begun))
        finally:
            self._write()
        assert first is not None
        self.history.finish(self._came(state, first), self.names)

    def _note(self, k: int, seen: Seen, state: State) -> None:
        """An iteration is done; it is written now and then."""
        if not self.history.place.exists():  # of one that was killed here, the empty store stands
            self.history.begin(self.about, self.names, self.problem.wanted.iterations, seen)
        self._waiting.append((k, seen, self._shown(seen, state)))
        if (k + 1) % EVERY == 0 or time.monotonic() - self._written > PATIENCE:
            self._write()

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            numbers, seen, shown = zip(*waiting, strict=True)
            self.history.append(numbers[0], seen, shown)
        self._written = time.monotonic()

    def _shown(self, seen: Seen, state: State) -> Seen:
        """The last good design of every start."""
        numbers = self.method.place(state["base"])
        iterate = {"numbers": numbers, "objective": state["base_objective"], "excess": state["base_excess"]}
        iterate |= {"gradient_norm": state["base_gradient"], "status": seen["status"].astype(np.int32)}
        iterate |= {name: seen[name] for name in ("jumps", "growth")}
        return iterate | {name: state[name].astype(np.int32) for name in ("halved", "ended")}

    def _came(self, state: State, first: Seen) -> Seen:
        """What came of every start."""
        lost = first["status"] > 0
        before = np.where(lost[:, None], np.nan, first["metrics"])
        numbers = self.method.place(state["best"])
        ends = {"numbers": numbers, "objective": state["best_objective"], "excess": state["best_excess"]}
        none = ~np.isfinite(state["best_objective"])
        ends["metrics"] = np.where(none[:, None], np.nan, state["best_metrics"])
        ends |= {"first_numbers": first["numbers"], "first_metrics": before}
        ends["growth"] = state["best_growth"]
        whole = {
            "jumps": state["best_jumps"],
            "halved": state["halved"],
            "ended": state["ended"],
            "iterations": state["asked"],
            "runs": state["runs"],
            "slopes": state["slopes"],
        }
        return ends | {name: values.astype(np.int32) for name, values in whole.items()}


def _of_data(definition: Definition, wanted: Wanted) -> str:
    """What tells the measurements from others; nothing where there are none, or no such file."""
    file = None if wanted.data is None else definition.placed(wanted.data)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file and file.is_file() else ""


def _place(out: str | Path | None) -> tuple[Path, Any]:
    """The folder of the store, and what keeps a temporary one."""
    if out is not None:
        need_path("optimize: out", out)
        return Path(out).absolute(), None
    folder = Path(tempfile.mkdtemp(prefix="shiftjax-"))
    keeper = _Keeper()
    weakref.finalize(keeper, partial(shutil.rmtree, folder, ignore_errors=True))
    return folder / "optimum.zarr", keeper


class _Keeper:
    """Something that a temporary folder lives as long as."""
