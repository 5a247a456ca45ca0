"""How every metric of a study changes with every number that varies, for each member: d(metrics)/d(parameters).

One pass gives all: forward, a direction a parameter, or reverse, a way back a metric; or moved runs, by differences, of
what has no derivative. `gradients.planning` says which takes least.
The slopes stand in the store of the study, in a group `sensitivity` with the axes member, metric and parameter, which
grows shard by shard and goes on where it was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from shiftjax.ensembles.execution.shards import parts
from shiftjax.ensembles.execution.study_plan import StudyPlan, opened
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.fisher_information import Fisher, fisher, sizes
from shiftjax.ensembles.sensitivities.derivatives import Runs
from shiftjax.ensembles.store import study_store
from shiftjax.ensembles.store.checksums import attributes_of
from shiftjax.ensembles.store.folders import CheckedFolder, opened_group
from shiftjax.ensembles.store.new_arrays import new_array
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.group import MemberGroup
from shiftjax.ensembles.study.posed import posed
from shiftjax.ensembles.study.run_flags import check_flags
from shiftjax.errors import ModelError, need, need_number, need_path, one_of
from shiftjax.gradients.differences import BESIDE, PLACES, MovedRuns, central
from shiftjax.gradients.doubts import NONE, Doubts
from shiftjax.gradients.planning import DIRECTIONS, Planned, Planner, by_differences, without_derivative
from shiftjax.run.memory import Need, free_memory
from shiftjax.run.options import options_of
from shiftjax.shield import interruptible

GROUP, DONE, SIGMAS = "sensitivity", "shards_done", "sigmas"
BLOCK = 512  # members whose slopes are taken at once
SHARE = 0.25  # of the free memory, for moved runs


class Sensitivity:
    """The slopes of a study.

    Args:
        study: whose store they are in.

    Raises:
        ModelError: no slopes there, or not all of them yet.
    """

    def __init__(self, study: Study) -> None:
        need("Sensitivity: study", study, Study, "a Study")
        self.study = study
        about = _about(study.path)
        if not about or about[DONE] < about["shards"]:
            todo = "Run `shiftjax sensitivity` on it."
            raise ModelError(str(study.path), "a study without all slopes", "one that has them", todo)
        self.planned = Planned(about["direction"], about["why"])

    @property
    def xarray(self) -> xr.Dataset:
        """`slope` (member, metric, parameter), NaN where a run ended early, and its `unit` (metric, parameter)."""
        return opened_group(CheckedFolder(self.study.path), GROUP)

    @property
    def slopes(self) -> np.ndarray:
        """(B, M, P)."""
        return self.xarray["slope"].values

    @property
    def jumps(self) -> np.ndarray:
        """(B,) how often forces of a member jumped: what its slopes ignore."""
        return self.xarray["jumps"].values

    @property
    def growth(self) -> np.ndarray:
        """(B,) by which small changes of a member's run grow, as in `gradients.growth`; NaN where that is not told."""
        return self.xarray["growth"].values

    @property
    def errors(self) -> np.ndarray:
        """(B, M, P) by how much differences of order 4 and 2 differ; NaN for slopes that are derivatives."""
        return self.xarray["error"].values

    @property
    def messages(self) -> list[str]:
        """(B,) what is to be said of a member's slopes, "" for good ones."""
        return [str(text) for text in self.xarray["message"].values]

    @property
    def metrics(self) -> list[str]:
        return [str(name) for name in self.xarray["metric"].values]

    @property
    def parameters(self) -> list[str]:
        return [str(path) for path in self.xarray["parameter"].values]

    def fisher(self, sigmas: Mapping[str, float], *, scaled: bool = True) -> Fisher:
        """What measurements of metrics tell of the parameters, for every member.

        Args:
            sigmas: metric -> standard deviation of its error, of those that are measured.
            scaled: eigenvalues of parameters in parts of their mean size in the study, else in their units.

        Raises:
            ModelError: no such metric, a deviation that is not positive.
        """
        known, columns = self.metrics, self.study.xarray["members"].to_dataset()
        for name in sigmas:
            one_of("fisher: sigmas", name, known)
        rows = [known.index(name) for name in sigmas]
        scales = sizes([columns[path].values for path in self.parameters]) if scaled else None
        return fisher(self.slopes[:, rows], np.array([*sigmas.values()]), scales)

    def measured(self, sigmas: Mapping[str, float]) -> None:
        """Stores which metrics are measured, with the standard deviations of their errors, of which the report of the
        study tells how well they tell the numbers.

        Raises:
            ModelError: no such metric, a deviation that is not positive; a store that cannot be written.
        """
        for name, sigma in sigmas.items():
            one_of("measured: sigmas", name, self.metrics)
            need_number(f"measured: {name}", sigma, "a number above 0", above=0.0)
        with study_store.locked(self.study.path), study_store.writing(self.study.path) as files:
            study_store.say(files, {SIGMAS: json.dumps(dict(sigmas))}, GROUP)

    def __repr__(self) -> str:
        sizes, doubtful = self.xarray.sizes, sum(map(bool, self.messages))
        doubts = f"; something is said of {doubtful} of {sizes['member']} members: see messages" if doubtful else ""
        return f"Sensitivity of {sizes['metric']} metrics to {sizes['parameter']} numbers in {self.study.path}{doubts}"


@interruptible
def sensitivity(
    study: Study | Definition | str | Path,
    out: str | Path | None = None,
    *,
    direction: str | None = None,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, members: None,
) -> Sensitivity:
    """The slopes of all metrics of a study with all its varied numbers, into its store.

    Args:
        study: one that is complete, or its store; or a definition, or a study file, which is run first.
        out: the store of a study that is run, as of `sweep`.
        direction: "forward", "reverse" or "differences"; where left out, that of the slopes that are there already,
            else the one that takes least.
        resume, force, threads: as of `sweep`.
        progress: called with the members that are done, and all.

    Raises:
        ModelError: a study without metrics, or without numbers that vary; a run that has no derivatives.
    """
    threads = check_flags("sensitivity", resume=resume, force=force, threads=threads, progress=progress)
    if not isinstance(study, Study):
        if not isinstance(study, Definition):
            need_path("sensitivity: study", study)
        if not isinstance(study, Definition) and Path(study).suffix == ".zarr":
            study = Study(study)
        else:
            study = sweep(study, out, resume=resume, force=force, threads=threads)
    if not study.complete:
        raise ModelError(str(study.path), "a study that is not complete", "a complete one", "Resume it first.")
    plan = opened(str(study.path))
    names, paths = tuple(plan.definition.metrics), tuple(plan.groups[0].values)
    for what, given, key in (("metrics", names, "[metrics]"), ("numbers that vary", paths, "[vary]")):
        if not given:
            raise ModelError(str(study.path), f"a study without {what}", f"one with {key}", f"Add {key}.")
    if plan.definition.assemble_only:
        raise ModelError("assemble_only", "true", "a study that runs", "Leave it out.")
    with study_store.locked(study.path):
        about = _about(study.path)
        if about and not force and direction in (None, about["direction"]):
            how = Planned(about["direction"], about["why"])
        else:
            how = _planned(plan, direction, threads)
        if force or not about or (about["direction"], about["shards"]) != (how.direction, plan.shards):
            _begin(plan, names, paths, how)
            about = _about(study.path)
        _run(plan, int(about[DONE]), how, threads, progress)
    return Sensitivity(study)


def slopes(runs: Runs, x: np.ndarray, direction: str) -> np.ndarray:
    """(B, M, P) slopes of the metrics with the parameters at designs (B, V); NaN where a run ended early."""
    if direction == "forward":
        return np.moveaxis(runs.tangent(x)[:, :, runs.recorded :], 0, 2)
    outputs = runs.recorded + len(runs.metrics)
    bars = np.zeros((len(runs.metrics), len(x), outputs))
    for k in range(len(runs.metrics)):
        bars[k, :, runs.recorded + k] = 1.0
    return np.moveaxis(runs.adjoint(x, bars), 0, 1)


def _planned(plan: StudyPlan, direction: str | None, threads: int | None) -> Planned:
    """The way to the slopes of a study; its costs are those of the first model."""
    group = plan.groups[0]
    paths, outcomes = tuple(group.vary()), len(plan.definition.metrics)
    if why := _without_derivative(group, paths):
        return by_differences(len(paths), why, direction)
    if not group.moves:
        return _of_poses(outcomes, len(paths), direction)
    members = min(BLOCK, plan.size, group.members)
    planner = Planner(Runs(group, paths, threads=threads).begun)
    return planner.planned(outcomes, len(paths), members, direction=direction)


def _without_derivative(group: MemberGroup, paths: tuple[str, ...]) -> str:
    """Why members of a group have no derivative but by differences, "" where they have."""
    if group.moves:
        return without_derivative(options_of(**group.settings))
    try:
        Runs(group, paths)
    except ModelError as error:
        return f"{error.where}: {error.found}"
    return ""


def _of_poses(outcomes: int, parameters: int, direction: str | None) -> Planned:
    """The way to slopes of poses, each of which has its own: what takes fewer products with their Jacobians."""
    if direction is not None:
        one_of("direction", direction, DIRECTIONS)
        return Planned(direction, "it was asked for")
    forward = parameters <= outcomes
    return Planned("forward" if forward else "reverse", "one product a number" if forward else "one product a metric")


class _MovedPoses:
    """Metrics of plain paths or travels of one model, as `MovedRuns` has those of runs.

    Args:
        vary: full paths of the V numbers that vary.
    """

    def __init__(self, group: MemberGroup, vary: Sequence[str], **more: Any) -> None:
        self.group, self.vary, self.settings = group, tuple(vary), {**group.settings, **more}
        self.metrics = tuple(group.settings.get("metrics") or ())

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Metrics (B, M) and status (B,) of designs (B, V)."""
        columns = {path: np.ascontiguousarray(x[:, k]) for k, path in enumerate(self.vary)}
        result = posed(self.group.kind, self.group.model, {**self.settings, "vary": columns})
        return np.stack([result.metrics[name] for name in self.metrics], axis=1).astype(float), result.status


class _Slopes:
    """What takes the slopes of the members of a group, block by block.

    Args:
        differs: whether by differences.
    """

    def __init__(self, group: MemberGroup, differs: bool, threads: int | None) -> None:
        self.parameters = tuple(group.vary())
        self._runs = None if differs else Runs(group, self.parameters, threads=threads)
        self._needs, self._precision = list[Need](), group.settings.get("precision", "f64")
        more: dict[str, Any] = {"channels": [], "threads": threads, "announce": self._needs.append}
        if not group.moves:
            self._moved = _MovedPoses(group, self.parameters, **more)
        else:
            given = options_of(**group.settings).changed(keep="none", **more)
            given = given.changed(output_step=given.numerics.span or group.model.settings.span)
            self._moved = MovedRuns(group.model, self.parameters, given)
        self.metrics = self._moved.metrics if self._runs is None else self._runs.metrics

    def of(self, x: np.ndarray, direction: str) -> tuple[np.ndarray, np.ndarray, Doubts]:
        """Slopes (B, M, P), their errors where they are told, and doubts, of designs (B, V)."""
        if self._runs is not None:
            exact = slopes(self._runs, x, direction)
            return exact, np.full_like(exact, np.nan), self._reasoned(exact)
        if not self._needs:
            self._moved(x[:1])
        room = SHARE * free_memory() / max(self._needs[0].total, 1.0)
        parts = [
            central(self._moved, some, range(len(self.parameters)), self._precision, room)
            for some in np.array_split(x, max(1, int(np.ceil(PLACES * len(x) / max(room, 1.0)))))
            if len(some)
        ]
        lost = np.concatenate([part.lost for part in parts])
        count = BESIDE * len(self.parameters)
        messages = tuple(
            f"{k} of {count} moved runs ended early: no slopes with their numbers" if k else "" for k in lost
        )
        doubts = Doubts(lost > 0, np.zeros(len(x), int), np.full(len(x), np.nan), messages, np.zeros(len(x), bool))
        differences, errors = (np.concatenate([getattr(part, name) for part in parts]) for name in ("slopes", "errors"))
        return differences, errors, doubts

    def _reasoned(self, exact: np.ndarray) -> Doubts:
        """The doubts of slopes (B, M, P), of metrics that never have any with the reason."""
        assert self._runs is not None
        doubts, without = self._runs.doubts, self._runs.without_slopes
        if not without:
            return doubts
        others = [k for k, name in enumerate(self.metrics) if name not in without]
        sound = [bool(np.isfinite(one).all()) for one in exact[:, others]]
        why = "; ".join(f"{name}: {reason}" for name, reason in without.items())
        messages = (
            text.replace(NONE, why) if good else text for text, good in zip(doubts.messages, sound, strict=True)
        )
        return replace(doubts, messages=tuple(messages))


def _run(plan: StudyPlan, ready: int, how: Planned, threads: int | None, progress: Callable[[int, int], None]) -> None:
    """The slopes of the shards that have none yet."""
    known: dict[int, _Slopes] = {}
    names, paths = tuple(plan.definition.metrics), tuple(plan.groups[0].values)
    members = sum(group.members for group in plan.groups)
    for shard in range(ready, plan.shards):
        first, rows, doubts = shard * plan.size, list[np.ndarray](), list[Doubts]()
        for part in parts(plan.groups, shard, plan.size):
            group = part.group
            if group.first not in known:
                known[group.first] = _Slopes(group, how.direction == "differences", threads)
            model = known[group.first]
            x = np.stack([*group.vary(part.begin, part.end).values()], axis=1)
            for begin in range(0, len(x), BLOCK):
                *some, doubt = model.of(x[begin : begin + BLOCK], how.direction)
                whole = np.full((2, len(doubt.lost), len(names), len(paths)), np.nan)
                of = [names.index(name) for name in model.metrics], [paths.index(path) for path in model.parameters]
                whole[np.ix_(range(2), range(len(doubt.lost)), *of)] = some
                rows.append(whole)
                doubts.append(doubt)
                progress(first + sum(row.shape[1] for row in rows), members)
        with study_store.writing(plan.folder) as files:
            columns = dict(zip(("slope", "error"), np.concatenate(rows, axis=1), strict=True))
            columns |= {name: np.concatenate([getattr(part, name) for part in doubts]) for name in ("jumps", "growth")}
            columns["message"] = np.array([text for part in doubts for text in part.messages], object)
            for name, values in columns.items():
                study_store.write_at(files, f"{GROUP}/{name}", first, values)
            files.settle()
            study_store.say(files, {DONE: shard + 1}, GROUP)


def _begin(plan: StudyPlan, names: tuple[str, ...], paths: tuple[str, ...], how: Planned) -> None:
    """The empty group."""
    members = sum(group.members for group in plan.groups)
    units_of_slopes = _units(plan, names, paths)
    about = {"direction": how.direction, "why": how.why, "shards": plan.shards, DONE: 0}
    with study_store.writing(plan.folder) as files:
        zarr.open_group(files, mode="r+").create_group(GROUP, overwrite=True)
        shape = (members, len(names), len(paths))
        chunk, units = min(plan.size, members), {"units": "1"}
        for name in ("slope", "error"):
            axes, about_slopes = ["member", "metric", "parameter"], {"units": "see unit"}
            new_array(
                files, f"{GROUP}/{name}", shape, (chunk, *shape[1:]), np.dtype(float), axes, about_slopes, np.nan
            )  # fmt: skip
        for name, kind, empty in (("jumps", np.int32, 0), ("growth", float, np.nan), ("message", object, "")):
            new_array(
                files, f"{GROUP}/{name}", (members,), (chunk,), np.dtype(kind), ["member"], units, empty
            )  # fmt: skip
        for name, values, axes in (
            ("member", np.arange(members), ["member"]),
            ("metric", np.array(names, object), ["metric"]),
            ("parameter", np.array(paths, object), ["parameter"]),
            ("unit", units_of_slopes, ["metric", "parameter"]),
        ):
            empty = "" if values.dtype == object else 0
            new_array(files, f"{GROUP}/{name}", values.shape, values.shape, values.dtype, axes, units, empty)
            study_store.write_at(files, f"{GROUP}/{name}", 0, values)
        files.settle()
        study_store.say(files, about, GROUP)
        study_store.list_contents(files)


def _units(plan: StudyPlan, names: tuple[str, ...], paths: tuple[str, ...]) -> np.ndarray:
    """(M, P) units of the slopes."""
    columns = Study(plan.folder).xarray["members"].to_dataset().variables
    units_of = {str(v.attrs.get("path", name)): str(v.attrs.get("units", "1")) for name, v in columns.items()}
    return np.array(
        [[_ratio(units_of.get(name, "1"), units_of.get(path, "1")) for path in paths] for name in names], object
    )


def _ratio(above: str, below: str) -> str:
    if above == below:
        return "1"
    return above if below == "1" else f"{above}/({below})" if "/" in below or " " in below else f"{above}/{below}"


def _about(folder: Path) -> dict[str, Any]:
    """The attributes of the group, none where there is none."""
    return attributes_of(folder, GROUP)
