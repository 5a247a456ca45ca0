"""The lanes of an ensemble: their table of numbers, their partitions and limits, what is recorded, and their start.

Host code above the kernels. The state is one table (rows, B); what is done with some members gathers their columns,
grouped by what is recorded of them and by the combination of their partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Protocol

import numpy as np

from shiftjax.kernels.contract import Group, Kernel
from shiftjax.kernels.lane_program import DTYPES, LaneProgram, Layout
from shiftjax.measures.metric import Measurement
from shiftjax.outcome import Outcome
from shiftjax.run.advance.interpolation import interpolated
from shiftjax.run.advance.samples import Samples
from shiftjax.run.advance.schedule import PATTERNS, Schedule
from shiftjax.run.programs.setup import ACCUMULATORS, MONITORS_PER_BLOCK, REPORTS, Setup
from shiftjax.run.start.stated import Start
from shiftjax.shield import shielded
from shiftjax.topology.partition import Block, Partition

PIVOT_TRIGGER = 0.01  # of the pivot ratio at partition
# The same, for singular steps. 256 random N-four-bars of N = 5 over 10 s at 1 ms: worst crank 8e-7 rad with 1e-4,
# 4e-9 with 3e-4; with 1e-3 no pattern of steps clears the window any more.
WINDOW = 3e-4
# Of the model's length, at which a run ends; a projection leaves this much only if a needed row was dropped.
GAP_LIMIT = {"f64": 1e-5, "f32": 1e-3}
MASS_LIMIT = 1e12  # diagonal over pivot of Z^T H Z


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
    """How to run: clock, trigger and recording. `every` in steps; `multiplier` is m of ||B|| > m max(||B||_0, 1).

    Clocks count from t0, over all the runs of which this one is the last: they stand at `before` where it begins.
    """

    h: float
    steps: int
    every: int
    t0: float = 0.0
    multiplier: float = 2.0
    repartition: bool = True
    move_steps: bool = True
    log_jacobian: bool = False
    before: int = 0  # steps done in the runs that this one goes on from
    energy_limit: float = 1e-3  # above these a member that has finished is `inaccurate`: energy error,
    gap_limit: float = 1e-6  # gap over the model's length,
    angle_limit: float = 1e-3  # error of coordinates [rad, or parts of the model's length]
    progress: Callable[[float], None] = lambda done: None

    @property
    def end(self) -> int:
        """Clock at which the run ends."""
        return self.before + self.steps

    @property
    def begin(self) -> float:
        """Time at which the run begins [s]."""
        return self.t0 + self.before * self.h


class Programs(Protocol):
    """The lane programs of one setup and some channels; `lane_program.Programs` builds them."""

    setup: Setup
    layout: Layout
    width: int  # scalars of the channels
    identity: str  # of the setup

    def of(self, partition: Partition) -> LaneProgram:
        """The lane program of one partition."""
        ...

    @property
    def metrics(self) -> Measurement | None:
        """What is measured, None for nothing."""
        ...

    @property
    def pieces(self) -> int:
        """Distinct pieces for accelerations."""
        ...


class Jacobian(Protocol):
    """The dimensionless Jacobian of one substructure for many members; `run.programs.jacobian` compiles it."""

    rows: np.ndarray  # (m,) local rows that it consists of

    def __call__(self, q: np.ndarray, p: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(B, m, n) for coordinates (nq, B), varied numbers (np, B) and times (B,) [s]."""
        ...


@dataclass
class Recording:
    """What is recorded of some members: programs that observe its channels, and where it goes.

    Attributes:
        members: (K,) numbers of the members. out: (K, ticks, channels), NaN where nothing was recorded.
    """

    programs: Programs
    members: np.ndarray
    out: np.ndarray

    def row(self, members: np.ndarray) -> np.ndarray:
        """Rows of `out` of some of its members."""
        return np.searchsorted(self.members, members)


# Arrays (B,) of an ensemble that a run which goes on takes over.
COUNTS = ("status", "warnings", "repartitions", "rejected", "tries", "tried_at")


class Notebook(Protocol):
    """Notes lanes on their way, where the way back needs them; `gradients.reverse.tape.Tape` is one."""

    def stops(self, clock: np.ndarray, until: np.ndarray) -> np.ndarray:
        """Clocks at which lanes are noted next on their way."""
        ...

    def note(self, lanes: Ensemble, members: np.ndarray, pattern: np.ndarray | int = ...) -> None:
        """Notes some lanes where they stand, and by which of the `PATTERNS` they go on."""
        ...


@dataclass(frozen=True)
class Kept:
    """One lane as it stood before steps that were chosen to fit into the span."""

    column: np.ndarray
    choice: np.ndarray
    ratio: np.ndarray
    samples: tuple[float, ...]
    counts: dict[str, float]


@dataclass
class Ensemble:
    """All lanes of one run.

    Attributes:
        table: (rows, B); recordings: of which `recorded` (B,) says each member's; choice: (S, B) index into known[s].
        ratio: (S, B) pivot ratio where the lane took its partition; status: (B,) Outcome values.
    """

    setup: Setup
    kernel: Kernel
    settings: Settings
    table: np.ndarray
    recordings: tuple[Recording, ...]
    recorded: np.ndarray
    choice: np.ndarray
    known: list[list[Block]]
    ratio: np.ndarray
    status: np.ndarray
    log: list[Repartition] = field(default_factory=list)
    decisions: list[np.ndarray] = field(default_factory=list)  # (4, D) each: member, clock, substructure, choice
    repartitions: np.ndarray = field(init=False)
    rejected: np.ndarray = field(init=False)
    tries: np.ndarray = field(init=False)
    tried_at: np.ndarray = field(init=False)
    first_choice: np.ndarray = field(init=False)
    samples: Samples = field(init=False)
    cut_short: dict[int, Kept] = field(init=False, default_factory=dict)  # by member
    warnings: np.ndarray = field(init=False)  # (B,) bit -o is set where a member has the warning o
    causes: dict[int, str] = field(init=False, default_factory=dict)  # member -> what exactly ended it
    ends: np.ndarray = field(init=False)  # (B,) step after which a lane does not go on; infinite where nothing ends it
    jacobians: dict[int, Jacobian] = field(init=False, default_factory=dict)  # of substructures that needed one
    tape: Notebook | None = None

    def __post_init__(self) -> None:
        members = self.table.shape[1]
        self.layout = self.recordings[0].programs.layout  # those of the others differ in channels, which have no rows
        self.repartitions, self.rejected, self.tries = (np.zeros(members, int) for _ in range(3))
        self.tried_at = np.full(members, -1.0)
        self.first_choice = self.choice.copy()
        self.warnings = np.zeros(members, int)
        self.ends = np.full(members, np.inf)
        self.samples = Samples.none(members)

    def warn(self, members: np.ndarray, outcome: Outcome) -> None:
        """Gives some members a warning; those that have ended early keep their status."""
        self.warnings[members] |= 1 << -int(outcome)
        status = self.status[members]
        self.status[members] = np.where(status > 0, status, np.minimum(status, int(outcome)))

    def end(self, causes: Mapping[int, str], outcome: Outcome) -> None:
        """Ends members, each with its cause."""
        self.status[list(causes)] = int(outcome)
        self.causes.update(causes)

    def keep_before_end(self, members: np.ndarray) -> None:
        """Keeps lanes that froze so near the end of the span that it decides how they go on."""
        for k in members[self.row("clock")[members] > self.settings.end - max(map(len, PATTERNS))]:
            member = int(k)
            if member not in self.cut_short:
                counts = {name: float(getattr(self, name)[member]) for name in COUNTS}
                column = self.table[:, member].copy()
                column[self.layout.rows("trip").start] = 0.0
                samples = tuple(float(values[member]) for values in astuple(self.samples))
                self.cut_short[member] = Kept(
                    column, self.choice[:, member].copy(), self.ratio[:, member].copy(), samples, counts
                )

    def rows(self, name: str) -> np.ndarray:
        """View of a group of rows of the table."""
        place = self.layout.rows(name)
        return self.table[place.start : place.stop]

    def row(self, name: str) -> np.ndarray:
        return self.rows(name)[0]

    @property
    def certificate(self) -> np.ndarray:
        """View of the accumulators of the certificate, `ACCUMULATORS`."""
        return self.rows("acc")[: len(ACCUMULATORS)]

    @property
    def measured(self) -> np.ndarray:
        """View of the accumulators of the metrics."""
        return self.rows("acc")[len(ACCUMULATORS) :]

    def begin_metrics(self, members: np.ndarray) -> None:
        """The metrics of some members begin where they stand."""
        metrics = self.recordings[0].programs.metrics
        if metrics is not None and len(members):
            self.evaluate("accumulate", members)
            rows = self.measured[:, members]
            metrics.begin(rows)
            self.measured[:, members] = rows

    def between(self, a: np.ndarray, b: np.ndarray, s: np.ndarray, span: np.ndarray) -> np.ndarray:
        """The table between two of the same members, at fractions s (B,) of spans of time (B,) [s]."""
        places = {name: self.layout.rows(name) for name in ("q", "x", "dx")}
        return interpolated(self.setup.plan, places, a, b, s, span)

    def groups(self, members: np.ndarray) -> Iterator[tuple[Recording, Partition, np.ndarray]]:
        """Members by what is recorded of them and by combination of partitions."""
        combos = np.concatenate([self.recorded[None, members], self.choice[:, members]])
        if (combos == combos[:, :1]).all():  # the usual case, fifty times as fast
            found, which = combos[:, :1], None
        else:
            found, which = np.unique(combos, axis=1, return_inverse=True)
        for k, (recording, *combo) in enumerate(found.T):
            blocks = tuple(self.known[s][c] for s, c in enumerate(combo))
            mine = members if which is None else members[np.ravel(which) == k]
            yield self.recordings[recording], Partition(blocks), mine

    def decided(self, members: np.ndarray, clock: np.ndarray, s: int, choice: np.ndarray) -> None:
        """Notes a decision of each of some members for the schedule."""
        self.decisions.append(np.stack([members, np.rint(clock), np.full(len(members), s), choice]).astype(int))

    def schedule(self) -> Schedule:
        """What was decided so far."""
        decisions = np.concatenate([np.zeros((4, 0), int), *self.decisions], axis=1)
        member, clock, substructure, choice = decisions[:, np.lexsort(decisions[[0, 1]])]
        s = self.settings
        return Schedule(
            s.h, s.steps, s.begin, tuple(map(tuple, self.known)), PATTERNS, self.first_choice, member,
            clock - s.before, substructure, choice, np.rint(self.row("clock")).astype(int) - s.before,
            self.status.copy(), self.rejected.copy(),
        )  # fmt: skip

    def choose(self, s: int, members: np.ndarray, blocks: Sequence[Block]) -> None:
        """Gives members their partitions of substructure s."""
        for block in dict.fromkeys(blocks):
            if block not in self.known[s]:
                self.known[s].append(block)
        self.choice[s, members] = [self.known[s].index(block) for block in blocks]

    def limit(self, s: int, members: np.ndarray) -> None:
        """Sets the limits of the monitors of substructure s from where they stand."""
        mon, limit, armed = (self.rows(name) for name in ("mon", "limit", "armed"))
        first, settings = MONITORS_PER_BLOCK * s, self.settings
        with np.errstate(all="ignore"):
            ratio = 1.0 / np.sqrt(mon[first + 1, members].astype(float))
            entries = np.maximum(mon[first, members], 1.0)
            self.ratio[s, members] = ratio
            on, move = settings.repartition, settings.move_steps
            limit[first, members] = settings.multiplier * entries if on else np.inf
            limit[first + 1, members] = (PIVOT_TRIGGER * ratio) ** -2.0 if on else np.inf
            limit[first + 2, members] = (WINDOW * ratio) ** -2.0 if move else np.inf
        armed[first : first + 3, members] = 1.0

    def adopt(self, s: int, members: np.ndarray, blocks: Sequence[Block], jacobians: np.ndarray | None = None) -> None:
        """Gives some members other partitions of substructure s, and logs it."""
        time = self.settings.t0 + self.row("clock")[members] * self.settings.h
        for k, (member, t, new) in enumerate(zip(members, time, blocks, strict=True)):
            old = self.known[s][self.choice[s, member]]
            jacobian = None if jacobians is None else jacobians[k]
            self.log.append(Repartition(float(t), int(member), s, old, new, jacobian))
        self.choose(s, members, blocks)
        self.decided(members, self.row("clock")[members], s, self.choice[s, members])
        self.repartitions[members] += 1
        self.evaluate("accelerate", members)
        self.limit(s, members)
        if self.tape is not None:
            self.tape.note(self, members)

    def interrupt(self) -> None:
        """Marks the members that have not come to their end."""
        self.status[(self.status <= 0) & (self.row("clock") < np.minimum(self.settings.end, self.ends))] = int(
            Outcome.interrupted
        )

    def evaluate(self, phase: str, members: np.ndarray) -> None:
        """Runs one phase on some members in place; observing writes the tick of their clock."""
        for recording, partition, mine in self.groups(members):
            if phase == "observe" and not recording.out.shape[2]:
                continue
            part = np.ascontiguousarray(self.table[:, mine])
            program = recording.programs.of(partition)
            seen = self.kernel.evaluate(program, phase, part, self.settings.t0, self.settings.h)
            if phase == "observe":
                tick = (np.rint(self.row("clock")[mine]).astype(int) - self.settings.before) // self.settings.every
                recording.out[recording.row(mine), tick] = np.asarray(seen).T
            else:
                self.table[:, mine] = part

    def advance(self, members: np.ndarray, until: float | np.ndarray) -> None:
        """Lets the kernel run some members up to a step, each to its own where there are several, or to its trip."""
        until = np.broadcast_to(until, members.shape)
        if self.tape is None:
            self._advance(members, until)
            return
        clock, trip = self.row("clock"), self.row("trip")
        while len(members):
            self._advance(members, self.tape.stops(clock[members], until))
            runs = trip[members] == 0
            self.tape.note(self, members[runs])
            further = runs & (clock[members] < until)
            members, until = members[further], until[further]

    def _advance(self, members: np.ndarray, until: np.ndarray) -> None:
        stops = np.zeros(self.table.shape[1])
        stops[members] = until
        groups: list[tuple[np.ndarray, Group]] = []
        for recording, partition, mine in self.groups(members):
            part = self.table
            if len(mine) == part.shape[1]:  # no copy is needed
                mine = np.arange(len(mine))
            else:
                part = np.ascontiguousarray(part[:, mine])
            rows = recording.row(mine)
            rows[self.row("clock")[mine] < self.settings.before] = -1  # before the first instant of a run that goes on
            groups.append((mine, Group(recording.programs.of(partition), part, stops[mine], recording.out, rows)))
        try:
            self._run([group for _, group in groups])
        finally:  # an interrupted lane stands at the step that it has reached
            with shielded():
                for mine, group in groups:
                    if group.table is not self.table:
                        self.table[:, mine] = group.table

    def step(self, members: np.ndarray, table: np.ndarray) -> None:
        """One step of every member in a table (rows, B) of theirs, in place; nothing is recorded."""
        place = np.empty(self.table.shape[1], int)
        place[members] = np.arange(len(members))
        clock = self.layout.rows("clock").start
        groups: list[tuple[np.ndarray, Group]] = []
        for recording, partition, mine in self.groups(members):
            where = place[mine]
            part = table if len(where) == len(members) else np.ascontiguousarray(table[:, where])
            nowhere = np.full(len(where), -1)
            beyond = np.nextafter(part[clock], np.inf)  # a step moves a clock past whatever comes first
            groups.append((where, Group(recording.programs.of(partition), part, beyond, None, nowhere)))
        self._run([group for _, group in groups])
        for where, group in groups:
            if group.table is not table:
                table[:, where] = group.table

    def _run(self, groups: Sequence[Group]) -> None:
        s = self.settings
        self.kernel.advance(groups, h=s.h, t0=s.t0, every=s.every, origin=s.before)


def recordings_of(
    settings: Settings, setup: Setup, recorded: Sequence[tuple[Programs, np.ndarray]], members: int
) -> tuple[tuple[Recording, ...], np.ndarray]:
    """Room for what is recorded, empty, and which recording is each member's (B,)."""
    ticks = settings.steps // settings.every + 1
    which, recordings = np.zeros(members, int), []
    for k, (programs, own) in enumerate(recorded):
        which[own] = k
        out = np.full((len(own), ticks, programs.width), np.nan, DTYPES[setup.precision])
        recordings.append(Recording(programs, own, out))
    return tuple(recordings), which


def begin(
    kernel: Kernel,
    settings: Settings,
    start: Start,
    p: np.ndarray,
    good: np.ndarray,
    blocks: Sequence[Sequence[Block]],
    recorded: Sequence[tuple[Programs, np.ndarray]],
) -> Ensemble:
    """An ensemble at its start: projected once, energies and certificate begun, first tick recorded.

    Args:
        p: (np, B); good: (B,) members that may run; blocks: for every substructure the partition of every member.
        recorded: programs and the members that they observe, every member once.
    """
    setup = recorded[0][0].setup
    layout, members = recorded[0][0].layout, start.q.shape[1]
    table = np.zeros((layout.row_count, members), DTYPES[setup.precision])
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
    lanes.rows("q")[:], lanes.rows("x")[:nv], lanes.rows("x")[nv : nv + ns] = start.q, start.v, start.states
    lanes.rows("p")[:] = p
    lanes.row("fraction")[:] = 1.0
    lanes.rows("limit")[-2:] = np.array([[GAP_LIMIT[setup.precision] * setup.length], [MASS_LIMIT]])
    lanes.rows("armed")[:] = 1.0
    running = np.flatnonzero(good)
    if len(running) == 0:
        return lanes
    for s in range(setup.blocks):
        lanes.choose(s, running, [blocks[s][int(k)] for k in running])
    lanes.first_choice = lanes.choice.copy()
    lanes.evaluate("project", running)
    for s in range(setup.blocks):
        lanes.limit(s, running)
    finite = np.isfinite(lanes.table[layout.rows("q").start : layout.rows("dx").stop]).all(0)
    lanes.status[good & ~finite] = int(Outcome.non_finite)
    running = np.flatnonzero(lanes.status == 0)
    begin_certificate(lanes)
    if len(running):
        lanes.begin_metrics(running)
        lanes.evaluate("observe", running)
    return lanes


def begin_certificate(lanes: Ensemble) -> None:
    """Begins the accumulators of the certificate of lanes at their start, projected."""
    acc, rep = lanes.certificate, lanes.rows("rep")
    kinetic, potential = rep[REPORTS.index("kinetic")], rep[REPORTS.index("potential")]
    acc[ACCUMULATORS.index("gap")], acc[ACCUMULATORS.index("velocity_gap")] = rep[0], rep[1]
    for s in range(lanes.setup.blocks):
        worst = acc[ACCUMULATORS.index("squared_condition")]
        np.maximum(worst, lanes.rows("mon")[MONITORS_PER_BLOCK * s + 1], out=worst)
    acc[ACCUMULATORS.index("kinetic")] = kinetic
    acc[ACCUMULATORS.index("start_energy")] = kinetic + potential
    acc[ACCUMULATORS.index("start_potential")] = potential
