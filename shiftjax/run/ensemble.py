"""The lanes of an ensemble: their table of numbers, their partitions and limits, and their start.

Host code above the kernels. The state is one table (rows, B); what is done with some members gathers their columns,
grouped by the combination of their partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import shiftjax.run.host_evaluation as host
from shiftjax.dynamics.equations import MONITORS_PER_BLOCK, Lane
from shiftjax.outcome import Outcome
from shiftjax.run.lane_program import ACCUMULATORS, REPORTS, Setup, build
from shiftjax.topology.partition import Block, Partition

PIVOT_TRIGGER = 0.01  # of the pivot ratio at partition
# The same, for moving steps. 256 random N-four-bars of N = 5 over 10 s at 1 ms: worst crank 8e-7 rad with 1e-4,
# 4e-9 with 3e-4; with 1e-3 no pattern of steps clears the window any more.
WINDOW = 3e-4
GAP_LIMIT = {"f64": 1e-6, "f32": 1e-3}  # m or rad; a projection leaves this much only if a needed row was dropped
MASS_LIMIT = 1e12  # diagonal over pivot of Z^T H Z
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
            b, ratio = host.block_monitors(self.lane(mine), self._q(mine), s, block)
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
        worst = acc[ACCUMULATORS.index("squared_condition")]
        np.maximum(worst, lanes.rows("mon")[MONITORS_PER_BLOCK * s + 1], out=worst)
    acc[ACCUMULATORS.index("kinetic")] = kinetic
    acc[ACCUMULATORS.index("start_energy")] = kinetic + potential
    acc[ACCUMULATORS.index("start_potential")] = potential
