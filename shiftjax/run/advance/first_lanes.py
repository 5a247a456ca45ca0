"""An ensemble at its start: projected once, energies and certificate begun, first tick recorded. Host code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shiftjax.kernels.contract import Kernel, evaluated, placed
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kernels.lane_table import STATE, LaneTable
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ensemble import Ensemble, Programs, Recording
from shiftjax.run.advance.settings import Settings
from shiftjax.run.programs.setup import ACCUMULATORS, MONITORS_PER_BLOCK, REPORTS, Setup
from shiftjax.run.start.stated import MIDDLE, Start
from shiftjax.topology.partition import MemberBlocks

# Of the model's length, at which a run ends; a projection leaves this much only if a needed row was dropped.
GAP_LIMIT = {"f64": 1e-5, "f32": 1e-3}
MASS_LIMIT = 1e12  # diagonal over pivot of Z^T H Z
Observed = tuple[Recording, np.ndarray, np.ndarray]  # members (K,) of it, and their channels (K, n)
AWAY = 10.0  # times the pivots of the farthest pose beside a singular one, of a pose at which partitions are taken


def begin(
    kernel: Kernel,
    settings: Settings,
    start: Start,
    p: np.ndarray,
    good: np.ndarray,
    blocks: Sequence[MemberBlocks],
    recorded: Sequence[tuple[Programs, np.ndarray]],
    instants: np.ndarray | None = None,
) -> Ensemble:
    """An ensemble at its start: projected once, energies and certificate begun, first tick recorded.

    Args:
        p: (np, B); good: (B,) members that may run; blocks: for every substructure the partition of every member.
        recorded: programs and the members that they observe, every member once.
        instants: (B,) where the clocks stand [s]; all at the beginning of the settings where left out.
    """
    setup = recorded[0][0].setup
    layout, members = recorded[0][0].layout, start.q.shape[1]
    table = placed(kernel, LaneTable.zeros(layout, members, DTYPES[setup.precision]))
    recordings, which = recordings_of(settings, setup, recorded, members)
    lanes = Ensemble(
        setup=setup,
        kernel=kernel,
        settings=settings,
        table=table,
        recordings=recordings,
        recorded=which,
        choice=np.zeros((setup.blocks, members), int),
        known=[[] for _ in range(setup.blocks)],
        ratio=np.ones((setup.blocks, members)),
        status=np.where(good, 0, int(Outcome.not_assembled)),
    )
    nv, ns = setup.plan.nv, setup.plan.ns
    table.set("q", start.q)
    table.set("x", start.v, within=slice(nv))
    table.set("x", start.states, within=slice(nv, nv + ns))
    table.set("p", p)
    table.set("fraction", 1.0)
    if instants is not None:
        table.set("clock", (instants - settings.t0) / settings.h)
    table.set("limit", np.array([[GAP_LIMIT[setup.precision] * setup.length], [MASS_LIMIT]]), within=slice(-2, None))
    table.set("armed", 1.0)
    table.set("watched", 1.0)
    running = np.flatnonzero(good)
    if len(running) == 0:
        return lanes
    for s in range(setup.blocks):
        lanes.choose(s, running, blocks[s].some(running))
    lanes.first_choice = lanes.choice.copy()
    lanes.evaluate("project", running)
    if layout.ne:
        lanes.evaluate("events", running)
    for s in range(setup.blocks):
        lanes.limit(s, running)
    observed: list[Observed] = []
    if start.ways is not None:
        observed = _stand_on_poses(lanes, start, running[np.isfinite(start.ways[:, :, running]).all((0, 1))])
    finite = np.logical_and.reduce([table.reduce("finite", name) for name in STATE])
    lanes.status[good & ~finite] = int(Outcome.non_finite)
    running = np.flatnonzero(lanes.status == 0)
    begin_certificate(lanes)
    if len(running):
        lanes.begin_metrics(running)
        lanes.evaluate("observe", running)
    for recording, alike, values in observed:  # loads of drives, reactions: on the pose they are no numbers
        first = recording.out[recording.row(alike), 0]
        recording.out[recording.row(alike), 0] = np.where(np.isfinite(first), first, values)
    return lanes


def _stand_on_poses(lanes: Ensemble, start: Start, members: np.ndarray) -> list[Observed]:
    """Sets lanes that begin on a singular pose: what equations say there lies between what they say on both sides.

    Six poses at -3 to 3 times the same distance along the branch, their polynomial of the fifth degree at 0. The window
    of the pose is that of a partition taken 0.45 rad away, where pivots are ten times those of the farthest of them.

    Returns:
        what is observed there.
    """
    if not len(members) or start.ways is None:
        return []
    plan, table = lanes.setup.plan, lanes.table
    between = {name: np.zeros_like(table.rows(name, members)) for name in ("dx", "rep")}
    clock, observed = table.row("clock", members).copy(), list[Observed]()
    for way, weight in zip(start.ways[:, :, members], MIDDLE, strict=True):
        table.set("q", way[: plan.nq], members)
        table.set("x", way[plan.nq : -1], members, slice(plan.nv))
        table.set("clock", clock + way[-1] / lanes.settings.h, members)
        lanes.evaluate("project", members)
        for name, sums in between.items():
            sums += weight * table.rows(name, members)
        there = [(recording, alike, weight * values) for recording, alike, values in _observed(lanes, members)]
        pairs = zip(observed, there, strict=True) if observed else ()
        observed = [(*one[:2], one[2] + more[2]) for one, more in pairs] or there
    table.set("q", start.q[:, members], members)
    table.set("x", start.v[:, members], members, slice(plan.nv))
    table.set("clock", clock, members)
    for name, values in between.items():
        table.set(name, values, members)
    for s in range(lanes.setup.blocks):
        pivots = slice(MONITORS_PER_BLOCK * s + 1, MONITORS_PER_BLOCK * (s + 1))
        here = start.at_pose[members] == s if start.at_pose is not None else np.zeros(len(members), bool)
        table.set("mon", table.rows("mon", members[here], pivots) / AWAY**2, members[here], pivots)
        lanes.limit(s, members[here])
    if lanes.layout.ne:
        lanes.evaluate("events", members)
    return observed


def _observed(lanes: Ensemble, members: np.ndarray) -> Iterator[Observed]:
    """The channels of some members as they stand."""
    settings = lanes.settings
    for recording, partition, alike in lanes.groups(members):
        if recording.out.shape[2]:
            program, table = recording.programs.of(partition), lanes.table.batch(alike)
            seen = evaluated(lanes.kernel, program, "observe", table, settings.t0, settings.h)
            yield recording, alike, np.asarray(seen).T.astype(float)


def begin_certificate(lanes: Ensemble) -> None:
    """Begins the accumulators of the certificate of lanes at their start, projected."""
    table, rep = lanes.table, dict(zip(REPORTS, lanes.table.rows("rep"), strict=True))
    condition = lanes.certificate_of()[ACCUMULATORS.index("squared_condition")]
    for s in range(lanes.setup.blocks):
        condition = np.maximum(condition, table.rows("mon", within=MONITORS_PER_BLOCK * s + 1))
    begun = {
        "gap": rep["gap"],
        "velocity_gap": rep["velocity_gap"],
        "squared_condition": condition,
        "kinetic": rep["kinetic"],
        "start_energy": _sum(rep["kinetic"], rep["potential"]),
        "start_potential": rep["potential"],
    }
    for name, values in begun.items():
        table.set("acc", values, within=ACCUMULATORS.index(name))


@np.errstate(all="ignore")  # of members that are far out, infinities of both signs
def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a + b


def recordings_of(
    settings: Settings, setup: Setup, recorded: Sequence[tuple[Programs, np.ndarray]], members: int
) -> tuple[tuple[Recording, ...], np.ndarray]:
    """Room for what is recorded, empty, and which recording is each member's (B,)."""
    ticks = settings.steps // settings.every + 1
    which, recordings = np.zeros(members, int), []
    for k, (programs, group) in enumerate(recorded):
        which[group] = k
        out = np.full((len(group), ticks, programs.width), np.nan, DTYPES[setup.precision])
        recordings.append(Recording(programs, group, out))
    return tuple(recordings), which
