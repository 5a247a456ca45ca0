"""Runs the lanes of an ensemble: groups by program, freezes, repartitions, moves steps off singular poses.

Host code above the kernels. The state is one table (rows, B); a round gathers the running lanes by their combination of
partitions, lets the kernel advance them, and looks at those that tripped. What happens to a lane follows from the lane
alone, so results never depend on who else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import shiftjax.hosted as hosted
from shiftjax.equations import MONITORS_PER_BLOCK, Lane
from shiftjax.moving import move_off, step_through
from shiftjax.outcome import Outcome
from shiftjax.partition import RANK_TOLERANCE, Block, Partition, blocks_of, complete_pivoting
from shiftjax.program import ACCUMULATORS, REPORTS, Setup, build

PIVOT_TRIGGER = 0.01  # of the pivot ratio at partition
# The same, for moving steps. 256 random N-four-bars of N = 5 over 10 s at 1 ms: worst crank 8e-7 rad with 1e-4,
# 4e-9 with 3e-4; with 1e-3 no pattern of steps clears the window any more.
WINDOW = 3e-4
BETTER = 10.0  # a new partition for a pivot's sake must have pivots this much better
GAP_LIMIT = {"f64": 1e-6, "f32": 1e-3}  # m or rad; a projection leaves this much only if a needed row was dropped
MASS_LIMIT = 1e12  # diagonal over pivot of Z^T H Z
TRIES = 3  # trips in one step
DTYPE = {"f64": np.float64, "f32": np.float32}


@dataclass(frozen=True)
class Repartition:
    """One line of the log."""

    time: float
    member: int
    substructure: int
    old: Block
    new: Block
    jacobian: np.ndarray | None = None  # dimensionless block (rows, columns), on request


@dataclass
class Settings:
    """How to run: clock, trigger and recording. `every` in steps; `multiplier` is m of ||B|| > m max(||B||_0, 1)."""

    h: float
    steps: int
    every: int
    t0: float = 0.0
    multiplier: float = 2.0
    repartition: bool = True
    move_steps: bool = True
    log_jacobian: bool = False
    progress: Callable[[float], None] = lambda done: None


@dataclass
class Ensemble:
    """All lanes of one run. table: (rows, B); choice: (S, B) index into known[s]; status: (B,) Outcome values."""

    setup: Setup
    kernel: object
    settings: Settings
    table: np.ndarray
    choice: np.ndarray
    known: list[list[Block]]
    ratio: np.ndarray  # (S, B) pivot ratio where the lane took its partition
    status: np.ndarray
    out: np.ndarray  # (B, ticks, channels)
    log: list[Repartition] = field(default_factory=list)
    repartitions: np.ndarray = field(init=False)
    rejected: np.ndarray = field(init=False)
    tries: np.ndarray = field(init=False)
    tried_at: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        members = self.table.shape[1]
        self.repartitions, self.rejected, self.tries = (np.zeros(members, int) for _ in range(3))
        self.tried_at = np.full(members, -1.0)

    def rows(self, name: str) -> np.ndarray:
        """View of a group of rows of the table."""
        place = self.setup.layout().rows(name)
        return self.table[place.start : place.stop]

    def row(self, name: str) -> np.ndarray:
        return self.rows(name)[0]

    def lane(self, members: np.ndarray) -> Lane:
        return self.setup.lane(list(self.rows("p")[:, members].astype(float)), 0.0)

    def groups(self, members: np.ndarray) -> list[tuple[Partition, np.ndarray]]:
        """Members by combination of partitions."""
        if not len(self.choice):
            return [(Partition(()), members)]
        combos, which = np.unique(self.choice[:, members], axis=1, return_inverse=True)
        which = np.ravel(which)
        out: list[tuple[Partition, np.ndarray]] = []
        for k, combo in enumerate(combos.T):
            blocks = tuple(self.known[s][c] for s, c in enumerate(combo))
            out.append((Partition(blocks), members[which == k]))
        return out

    def take(self, s: int, members: np.ndarray, blocks: Sequence[Block]) -> None:
        """Gives members their partitions of substructure s and sets the limits of its monitors."""
        for block in dict.fromkeys(blocks):
            if block not in self.known[s]:
                self.known[s].append(block)
            mine = members[[b == block for b in blocks]]
            self.choice[s, mine] = self.known[s].index(block)
            b, ratio = hosted.block_monitors(self.lane(mine), self._q(mine), s, block)
            self.ratio[s, mine] = ratio
            self._limit(s, mine, b, ratio)

    def _q(self, members: np.ndarray) -> np.ndarray:
        return self.rows("q")[:, members].astype(float)

    def _limit(self, s: int, members: np.ndarray, b: np.ndarray, ratio: np.ndarray) -> None:
        limit, armed, first = self.rows("limit"), self.rows("armed"), MONITORS_PER_BLOCK * s
        on = self.settings.repartition
        limit[first, members] = self.settings.multiplier * np.maximum(b, 1.0) if on else np.inf
        limit[first + 1, members] = (PIVOT_TRIGGER * ratio) ** -2.0 if on else np.inf
        limit[first + 2, members] = (WINDOW * ratio) ** -2.0 if self.settings.move_steps else np.inf
        armed[first : first + 3, members] = 1.0

    def evaluate(self, phase: str, members: np.ndarray) -> None:
        """Runs one phase on some members in place; observing writes the tick of their clock."""
        for partition, mine in self.groups(members):
            part = np.ascontiguousarray(self.table[:, mine])
            program = build(self.setup, partition)
            seen = self.kernel.evaluate(program, phase, part, self.settings.t0, self.settings.h)  # type: ignore[attr-defined]
            if phase == "observe":
                tick = np.rint(self.row("clock")[mine]).astype(int) // self.settings.every
                self.out[mine, tick] = np.asarray(seen).T
            else:
                self.table[:, mine] = part

    def advance(self, members: np.ndarray, until: float, shift: float = 0.0, recorded: bool = True) -> None:
        """Lets the kernel run some members up to step `until` (counted from step `shift`) or their trip."""
        groups, back = [], []
        for partition, mine in self.groups(members):
            part = np.ascontiguousarray(self.table[:, mine])
            groups.append((build(self.setup, partition), part, mine if recorded else np.full_like(mine, -1)))
            back.append((mine, part))
        s = self.settings
        self.kernel.advance(groups, until, s.h, s.t0 + shift * s.h, s.every, self.out)  # type: ignore[attr-defined]
        for mine, part in back:
            self.table[:, mine] = part


def begin(
    setup: Setup,
    kernel: object,
    settings: Settings,
    q: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    good: np.ndarray,
    blocks: Sequence[Sequence[Block]],
) -> Ensemble:
    """An ensemble at its start: projected once, energies and certificate begun, first tick recorded.

    Args:
        q, v, p: (nq, B), (nv, B), (np, B); good: (B,) members that may run; blocks: for every substructure the
            partition of every member.
    """
    layout, members, dtype = setup.layout(), q.shape[1], DTYPE[setup.precision]
    table = np.zeros((layout.row_count, members), dtype)
    ticks = settings.steps // settings.every + 1
    out = np.full((members, ticks, layout.nc), np.nan, dtype)
    lanes = Ensemble(
        setup, kernel, settings, table, np.zeros((setup.blocks, members), int), [[] for _ in range(setup.blocks)],
        np.ones((setup.blocks, members)), np.where(good, 0, int(Outcome.not_assembled)), out,
    )  # fmt: skip
    lanes.rows("q")[:], lanes.rows("x")[: setup.plan.nv], lanes.rows("p")[:] = q, v, p
    lanes.row("fraction")[:] = 1.0
    lanes.rows("limit")[-2:] = np.array([[GAP_LIMIT[setup.precision]], [MASS_LIMIT]])
    lanes.rows("armed")[:] = 1.0
    running = np.flatnonzero(good)
    if len(running) == 0:
        return lanes
    for s in range(setup.blocks):
        lanes.take(s, running, [blocks[s][int(k)] for k in running])
    lanes.evaluate("project", running)
    finite = np.isfinite(lanes.table[layout.rows("q").start : layout.rows("dx").stop]).all(0)
    lanes.status[good & ~finite] = int(Outcome.non_finite)
    running = np.flatnonzero(lanes.status == 0)
    _begin_certificate(lanes)
    if layout.nc and len(running):
        lanes.evaluate("observe", running)
    return lanes


def _begin_certificate(lanes: Ensemble) -> None:
    acc, rep = lanes.rows("acc"), lanes.rows("rep")
    kinetic, potential = rep[REPORTS.index("kinetic")], rep[REPORTS.index("potential")]
    acc[ACCUMULATORS.index("gap")], acc[ACCUMULATORS.index("velocity_gap")] = rep[0], rep[1]
    for s in range(lanes.setup.blocks):
        spread = lanes.rows("mon")[MONITORS_PER_BLOCK * s + 1]
        acc[ACCUMULATORS.index("spread")] = np.maximum(acc[ACCUMULATORS.index("spread")], spread)
    acc[ACCUMULATORS.index("kinetic")] = kinetic
    acc[ACCUMULATORS.index("start_energy")] = kinetic + potential
    acc[ACCUMULATORS.index("start_potential")] = potential


def run(lanes: Ensemble) -> None:
    """Advances all lanes to the end of the span or their own."""
    total = lanes.settings.steps
    chunk = max(64, total // 16)
    until = 0
    while until < total:
        until = min(total, until + chunk)
        while True:
            clock = lanes.row("clock")
            running = np.flatnonzero((lanes.status <= 0) & (clock < until))
            if len(running) == 0:
                break
            lanes.advance(running, until)
            tripped = running[lanes.row("trip")[running] != 0]
            if len(tripped):
                handle_trips(lanes, tripped)
        lanes.settings.progress(until / total)


def handle_trips(lanes: Ensemble, tripped: np.ndarray) -> None:
    """Repartitions, moves or ends the lanes that froze."""
    clock, trip, monitors = lanes.row("clock"), lanes.row("trip"), lanes.setup.monitors
    again = lanes.tried_at[tripped] == clock[tripped]
    lanes.tries[tripped] = np.where(again, lanes.tries[tripped] + 1, 1)
    lanes.tried_at[tripped] = clock[tripped]
    code = np.rint(trip[tripped]).astype(int) - 1
    trip[tripped] = 0.0
    lanes.rejected[tripped] += 1
    blocks = MONITORS_PER_BLOCK * lanes.setup.blocks
    kind = np.where(code < blocks, code % MONITORS_PER_BLOCK, MONITORS_PER_BLOCK + code - blocks)
    attempt = lanes.rows("mon")[:blocks][:, tripped]
    lost = ~np.isfinite(attempt).all(0) | (code == monitors)
    stuck = lanes.tries[tripped] > TRIES * max(1, lanes.setup.blocks)
    lanes.status[tripped[stuck]] = int(Outcome.stuck)
    movable = lanes.settings.move_steps and lanes.setup.blocks > 0
    if not movable:
        lanes.status[tripped[lost & ~stuck]] = int(Outcome.non_finite)
    lanes.status[tripped[~stuck & ~lost & (kind == MONITORS_PER_BLOCK)]] = int(Outcome.loop_open)
    lanes.status[tripped[~stuck & ~lost & (kind == MONITORS_PER_BLOCK + 1)]] = int(Outcome.no_mass)
    for s in range(lanes.setup.blocks):
        here = ~stuck & ~lost & (code // MONITORS_PER_BLOCK == s)
        if (here & (kind < 2)).any():
            repartition(lanes, s, tripped[here & (kind < 2)], kind[here & (kind < 2)] == 1)
        if (here & (kind == 2)).any():
            cross(lanes, s, tripped[here & (kind == 2)])
    if movable and (lost & ~stuck).any():
        move_off(lanes, tripped[lost & ~stuck])


def cross(lanes: Ensemble, s: int, members: np.ndarray) -> None:
    """A step came too near a vanishing pivot of substructure s.

    Where other coordinates have far better pivots the pose is no singular one: the lane repartitions, or with the
    trigger switched off steps through as it is. Else the steps are moved off the pose.
    """
    found = _Fresh.of(lanes, s, members)
    curable = ~found.same & (found.ratio >= BETTER * found.old_ratio)
    if curable.any():
        if lanes.settings.repartition:
            repartition(lanes, s, members[curable], np.ones(int(curable.sum()), bool))
        else:
            step_through(lanes, members[curable])
    if not curable.all():
        move_off(lanes, members[~curable])


@dataclass
class _Fresh:
    """What GCP gives some members now, beside what they have."""

    jacobian: np.ndarray  # (B, m, n)
    blocks: list[Block]
    old: list[Block]
    same: np.ndarray
    b_norm: np.ndarray
    ratio: np.ndarray
    old_b_norm: np.ndarray
    old_ratio: np.ndarray

    @classmethod
    def of(cls, lanes: Ensemble, s: int, members: np.ndarray) -> _Fresh:
        lane, q = lanes.lane(members), lanes.rows("q")[:, members].astype(float)
        _, J = hosted.closure(lane, q, s)
        found = complete_pivoting(J, RANK_TOLERANCE[lanes.setup.precision])
        blocks = blocks_of(found, lanes.setup.plan.substructures[s])
        old = [lanes.known[s][c] for c in lanes.choice[s, members]]
        same = np.array([a == b for a, b in zip(blocks, old, strict=True)])
        return cls(J, blocks, old, same, *_monitors(lane, q, s, blocks), *_monitors(lane, q, s, old))


def repartition(lanes: Ensemble, s: int, members: np.ndarray, by_pivot: np.ndarray) -> None:
    """Gives members a fresh partition of substructure s; one that brings nothing is not one."""
    found = _Fresh.of(lanes, s, members)
    poor = np.where(by_pivot, found.ratio < BETTER * found.old_ratio, ~(found.b_norm < found.old_b_norm))
    useless = found.same | poor
    first = MONITORS_PER_BLOCK * s
    # The pose itself is near singular, or pivoting is greedy: the lane runs on, its pivot trigger off until the pivot
    # has recovered (the kernel arms it again), its B counted from where it is now.
    lanes.rows("armed")[first + 1, members[useless & by_pivot]] = 0.0
    raised = members[useless & ~by_pivot]
    now_b = found.old_b_norm[useless & ~by_pivot]
    lanes.rows("limit")[first, raised] = lanes.settings.multiplier * np.maximum(now_b, 1.0)
    changed = members[~useless]
    if len(changed) == 0:
        return
    chosen = [block for block, u in zip(found.blocks, useless, strict=True) if not u]
    time = lanes.settings.t0 + lanes.row("clock")[changed] * lanes.settings.h
    before = [block for block, u in zip(found.old, useless, strict=True) if not u]
    blocks = found.jacobian[~useless] if lanes.settings.log_jacobian else [None] * len(changed)
    for k, member in enumerate(changed):
        lanes.log.append(Repartition(float(time[k]), int(member), s, before[k], chosen[k], blocks[k]))
    lanes.take(s, changed, chosen)
    lanes.repartitions[changed] += 1
    lanes.evaluate("accelerate", changed)


def _monitors(lane: Lane, q: np.ndarray, s: int, blocks: Sequence[Block]) -> tuple[np.ndarray, np.ndarray]:
    """Largest |B_ij| and pivot ratio of every member under its own partition."""
    b, ratio = np.zeros(q.shape[1]), np.zeros(q.shape[1])
    for block in dict.fromkeys(blocks):
        mine = np.array([other == block for other in blocks])
        b_all, ratio_all = hosted.block_monitors(lane.of(mine), q[:, mine], s, block)
        b[mine], ratio[mine] = b_all, ratio_all
    return b, ratio
