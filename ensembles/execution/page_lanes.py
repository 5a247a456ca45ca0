"""Members of a store as a page simulates them: lane programs as WebAssembly, starts, and what is decided on the way.

The members run here once, unrecorded: then it is known which partitions they take, when, and which of their steps are
moved off singular poses. With that schedule (`run.advance.schedule`) a page repeats their runs without a search, and
whatever it records has the bits that the run has.
Refused: by name whatever a page does not follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from shiftjax.dynamics.kinematics import quaternion_places, vector_places
from shiftjax.ensembles.execution.page_code import PageCode
from shiftjax.ensembles.execution.page_designs import designs_of
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.recipe import Recipe
from shiftjax.ensembles.stored_study import recipes_of
from shiftjax.errors import ModelError
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.wasm.lane_module import wasm_module
from shiftjax.kernels.wasm.lane_runs import Combination, LaneRuns, StepClock
from shiftjax.mechanism.paths import listed
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.schedule import STEPS, Schedule
from shiftjax.run.advance.settings import Settings
from shiftjax.run.beginning import Begun

TODO = "Write the page without it."


def lane_runs(
    path: str | Path,
    members: Sequence[int],
    channels: Sequence[str] = (),
    bodies: Sequence[str] = (),
    points: Sequence[str] = (),
    numbers: Sequence[str] = (),
    progress: Callable[[float], None] = lambda done: None,
) -> LaneRuns:
    """The runs of members of a store; those that never start are left out.

    Args:
        path: of the store, .zarr or .json.
        members: their numbers; all have one model.
        channels: paths of what is recorded. bodies: paths of those whose poses are recorded, too; points: of frames
            whose places are.
        numbers: paths of those that are free, of designs that a page tries.
        progress: called with the fraction done.

    Raises:
        ModelError: no such member, several models, or a study that a page does not follow.
    """
    tree = store.read(path)
    (recipe, *others) = recipes_of(path, tree, members)
    _refuse(path, recipe, others)
    span = recipe.settings.get("span") or recipe.model.settings.span
    begun: list[tuple[Begun, LaneTable]] = []
    more = {"metrics": {}, "accuracy": "local", "backend": "cpu", "error_growth": None}
    result = recipe.run(
        channels=list(channels), keep="none", progress=progress, output_step=span,
        watch=lambda run: begun.append((run, run.lanes.table.copy())), **more,
    )  # fmt: skip
    ((run, table),) = begun
    lanes, schedule = run.lanes, result.schedule
    assert schedule is not None
    _refuse_events(path, lanes)
    if (schedule.substructure == STEPS).any() and vector_places(lanes.setup.plan):
        raise _refused(path, "steps moved off singular poses, of a model with rotation vectors")
    started = np.flatnonzero(schedule.end > 0)
    code, layout, settings = PageCode(run, bodies, points), lanes.layout, lanes.settings
    start = np.array(table.array[:, started])
    first = code.poses_at(start, schedule.start[:, started])
    start[[*layout.rows("limit")]] = np.inf  # nothing trips: what was decided stands in the schedule
    place = np.full(len(schedule.end), -1)
    place[started] = np.arange(len(started))
    rows = place[schedule.member]
    decisions = np.array([rows, schedule.clock, schedule.substructure, schedule.choice], float)[:, rows >= 0]
    return LaneRuns(
        members=recipe.members[started],
        clock=StepClock(settings.t0, settings.h, settings.steps, _every(tree, settings)),
        groups={name: (layout.rows(name).start, len(layout.rows(name))) for name in layout.columns()},
        channels=code.places,
        poses=tuple(code.recorded.width + 7 * k for k in range(len(bodies))),
        points=tuple(code.recorded.width + 7 * len(bodies) + 3 * k for k in range(len(points))),
        width=code.recorded.width + code.posed.width,
        first=first,
        quaternions=tuple(first for first, _ in quaternion_places(lanes.setup.plan)),
        programs={one: wasm_module(code.program(one)) for one in _combinations(schedule, started)},
        start=start,
        choice=schedule.start[:, started],
        decisions=decisions,
        patterns=schedule.patterns,
        end=schedule.end[started],
        designs=designs_of(run, numbers),
    )


def _every(tree: xr.DataTree, settings: Settings) -> int:
    """Steps between two instants of the store."""
    time = np.asarray(tree["trajectories"]["time"].values, float)
    return round((time[1] - time[0]) / settings.h) if len(time) > 1 else settings.steps


def _combinations(schedule: Schedule, members: np.ndarray) -> list[Combination]:
    """Those that occur, the most frequent at starts first."""
    now = {member: schedule.start[:, member].tolist() for member in members.tolist()}
    count = Counter(map(tuple, now.values()))
    for member, s, choice in zip(schedule.member, schedule.substructure, schedule.choice, strict=True):
        if s != STEPS and member in now:
            now[member][s] = int(choice)
            count[tuple(now[member])] += 0
    return [combination for combination, _ in count.most_common()]


def _refuse(path: str | Path, recipe: Recipe, others: Sequence[Recipe]) -> None:
    """Raises where a page cannot follow the study."""
    if others:
        raise _refused(path, "members of several models, by their switches")
    if recipe.kind != "run" or recipe.still:
        raise _refused(path, "members that do not move in time")
    if recipe.settings.get("tolerance") is not None:
        raise _refused(path, "steps whose sizes a tolerance chooses")
    if recipe.settings.get("precision", "f64") != "f64":
        raise _refused(path, "single precision")


def _refuse_events(path: str | Path, lanes: Ensemble) -> None:
    """Raises where steps are to end at events."""
    if guarded := lanes.guarded_events:
        raise _refused(path, f"events that stop a member or set numbers of it ({listed([e.name for e in guarded])})")


def _refused(path: str | Path, fault: str) -> ModelError:
    allowed = "members that run in time at fixed steps in double precision, all of one model, past no event"
    return ModelError(f"{path}: simulating members in a page", fault, allowed, TODO)
