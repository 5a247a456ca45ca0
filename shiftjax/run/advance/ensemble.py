"""The lanes of an ensemble: their table of numbers, their partitions and limits, what is recorded, and their start.

Host code above the kernels. The state is one `LaneTable`; what is done with some members takes their columns, grouped
by what is recorded of them and by the combination of their partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from shiftjax.kernels.contract import Group, Kernel, evaluated
from shiftjax.kernels.guards import disarm
from shiftjax.kernels.lane_program import WRITES, LaneProgram, Layout
from shiftjax.kernels.lane_table import ALL, LaneTable, Members, Trips
from shiftjax.kernels.pivoting.search import Jacobian
from shiftjax.kernels.workers import in_portions
from shiftjax.measures.accumulators import Accumulators
from shiftjax.measures.events import ReadEvent
from shiftjax.outcome import Outcome
from shiftjax.run.advance.interpolation import interpolated
from shiftjax.run.advance.numbers_set import NumbersSet
from shiftjax.run.advance.repeats import Repeats
from shiftjax.run.advance.samples import Samples
from shiftjax.run.advance.schedule import PATTERNS, Schedule, chosen_steps, sorted_decisions
from shiftjax.run.advance.settings import Settings
from shiftjax.run.programs.setup import ACCUMULATORS, MONITORS_PER_BLOCK, Setup
from shiftjax.shield import shielded
from shiftjax.topology.partition import Block, MemberBlocks, Partition

T = TypeVar("T")
PIVOT_TRIGGER = 0.01  # of the pivot ratio at partition
# The same, for singular steps. 256 random N-four-bars of N = 5 over 10 s at 1 ms: worst crank 8e-7 rad with 1e-4,
# 4e-9 with 3e-4; with 1e-3 no pattern of steps clears the window any more.
WINDOW = 3e-4
# The same, for steps that end at an instant within one of a tolerance: nothing rejects them where accelerations, noise
# of eps / sigma^3 there, act for the whole of a large step. Instants were off by 1e-4 with a tolerance of 1e-6.
NEAR_WINDOW = 3e-3
APPROACH = 0.1  # the same, where fixed steps that may pass a pose at which a lane is to stop are looked at
COUNTED = 4096  # combinations of partitions that are counted; of more members are sorted, ten times as long
CERTIFICATE, METRICS = slice(0, len(ACCUMULATORS)), slice(len(ACCUMULATORS), None)  # of the accumulators


class Repartitions(NamedTuple):
    """What was repartitioned at once, an entry a member.

    Attributes:
        time: [s]. substructure: of all. old, new: numbers of their partitions in `Ensemble.known`.
        jacobians: (B, rows, columns) the dimensionless blocks, on request.
    """

    time: np.ndarray
    member: np.ndarray
    substructure: int
    old: np.ndarray
    new: np.ndarray
    jacobians: np.ndarray | None


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
    def metrics(self) -> Accumulators | None:
        """What is measured, None for nothing."""
        ...

    @property
    def pieces(self) -> int:
        """Distinct pieces for accelerations."""
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
        first, last = self.members[[0, -1]] if len(self.members) else (0, -1)
        if last - first == len(self.members) - 1:  # in a row, as all members are
            return members - first
        return np.searchsorted(self.members, members)


# Arrays (B,) of an ensemble that a run which goes on takes over.
COUNTS = ("status", "warnings", "repartitions", "rejected", "tries", "tried_at", "lingers")


class Notebook(Protocol):
    """Notes lanes on their way, where the way back needs them; `gradients.reverse.tape.Tape` is one."""

    def stops(self, clock: np.ndarray, until: np.ndarray) -> np.ndarray:
        """Clocks at which lanes are noted next on their way."""
        ...

    def note(self, lanes: Ensemble, members: np.ndarray, pattern: np.ndarray | int = ...) -> None:
        """Notes some lanes where they stand, and by which of the `PATTERNS` they go on."""
        ...


@dataclass(frozen=True)
class BeforeEnd:
    """Some lanes as they stood before steps that were chosen to fit into the span; arrays have K columns."""

    members: np.ndarray
    lanes: LaneTable
    choice: np.ndarray
    ratio: np.ndarray
    samples: np.ndarray
    counts: dict[str, np.ndarray]


@dataclass
class Ensemble:
    """All lanes of one run.

    Attributes:
        table: of their numbers; recordings: of which `recorded` (B,) says each member's.
        choice: (S, B) index into known[s]; ratio: (S, B) pivot ratio where the lane took its partition.
        status: (B,) Outcome values.
    """

    setup: Setup
    kernel: Kernel
    settings: Settings
    table: LaneTable
    recordings: tuple[Recording, ...]
    recorded: np.ndarray
    choice: np.ndarray
    known: list[list[Block]]
    ratio: np.ndarray
    status: np.ndarray
    log: list[Repartitions] = field(default_factory=list)
    decisions: list[np.ndarray] = field(default_factory=list)  # (4, D) each: member, clock, substructure, choice
    chosen: list[np.ndarray] = field(default_factory=list)  # (2, n) each: member and clock at the end of a chosen step
    repartitions: np.ndarray = field(init=False)
    rejected: np.ndarray = field(init=False)
    tries: np.ndarray = field(init=False)
    tried_at: np.ndarray = field(init=False)
    interpolated: np.ndarray = field(init=False)  # (B,) whether instants next to a pose lie between both ends of a step
    lingers: np.ndarray = field(init=False)  # (B,) runs of steps, one after the other, that nothing moved off a pose
    first_choice: np.ndarray = field(init=False)
    samples: Samples = field(init=False)
    cut_short: list[BeforeEnd] = field(init=False, default_factory=list)  # every member once at most
    warnings: np.ndarray = field(init=False)  # (B,) bit -o is set where a member has the warning o
    causes: dict[int, str] = field(init=False, default_factory=dict)  # member -> what exactly ended it
    odd_inertias: dict[int, str] = field(init=False, default_factory=dict)  # member -> moments that no body has
    end_poses: dict[int, str] = field(init=False, default_factory=dict)  # member -> the pose on which its span ends
    ends: np.ndarray = field(init=False)  # (B,) step after which a lane does not go on; infinite where nothing ends it
    stopped: np.ndarray = field(init=False)  # (B,) which guarded event has ended a lane; -1 where none has
    jacobians: dict[int, Jacobian] = field(init=False, default_factory=dict)  # of substructures that needed one
    skipped: dict[str, set[int]] = field(init=False, default_factory=dict)  # event -> members whose numbers it left
    late: dict[str, set[int]] = field(init=False, default_factory=dict)  # event -> members that came past it first
    sets: list[NumbersSet] = field(init=False, default_factory=list)  # those of each member in the order of time
    tape: Notebook | None = None
    repeats: Repeats | None = None  # what running again at half the step says of the errors
    estimates: np.ndarray | None = None  # (3, B) of the errors, `accuracy`'s, of lanes that go no further

    def __post_init__(self) -> None:
        members = self.table.lanes
        self.layout = self.recordings[0].programs.layout  # those of the others differ in channels, which have no rows
        self.repartitions, self.rejected, self.tries = (np.zeros(members, int) for _ in range(3))
        self.tried_at = np.full(members, -1.0)
        self.lingers = np.zeros(members, int)
        self.interpolated = np.zeros(members, bool)
        self.first_choice = self.choice.copy()
        self.warnings = np.zeros(members, int)
        self.ends = np.full(members, np.inf)
        self.stopped = np.full(members, -1)
        self.samples = Samples.none(members)

    def warn(self, members: np.ndarray, outcome: Outcome) -> None:
        """Gives some members a warning; those that have ended early keep their status."""
        self.warnings[members] |= 1 << -int(outcome)
        status = self.status[members]
        gravest = np.minimum(np.where(status == Outcome.event, 0, status), int(outcome))
        self.status[members] = np.where(status > 0, status, gravest)

    def stop(self, members: np.ndarray, which: np.ndarray) -> None:
        """Ends members where they stand, at the events that stop them; it is no fault, and no warning gives way to it.

        Args:
            which: (n,) of the guarded events.
        """
        self.warnings[members] |= 1 << -int(Outcome.event)
        self.status[members] = np.where(self.status[members] == 0, int(Outcome.event), self.status[members])
        self.stopped[members], self.ends[members] = which, self.clock_of(members)

    def end(self, causes: Mapping[int, str], outcome: Outcome) -> None:
        """Ends members, each with its cause."""
        self.status[list(causes)] = int(outcome)
        self.causes.update(causes)

    def keep_before_end(self, members: np.ndarray) -> None:
        """Keeps lanes that froze so near the end of the span that it decides how they go on."""
        members = members[self.clock_of(members) > self.settings.end - max(map(len, PATTERNS))]
        for before in self.cut_short:
            members = np.setdiff1d(members, before.members, assume_unique=True)
        if len(members):
            lanes = self.table.take(members).on_host()
            lanes.set("trip", 0.0)
            counts = {name: getattr(self, name)[members] for name in COUNTS}
            choice, ratio, samples = self.choice[:, members], self.ratio[:, members], self.samples.of(members)
            self.cut_short.append(BeforeEnd(members, lanes, choice, ratio, samples, counts))

    def clock_of(self, members: Members = ALL) -> np.ndarray:
        """(K,) steps done since t0."""
        return self.table.row("clock", members)

    def certificate_of(self, members: Members = ALL) -> np.ndarray:
        """Accumulators of the certificate, `ACCUMULATORS`."""
        return self.table.rows("acc", members, CERTIFICATE)

    def measured_of(self, members: Members = ALL) -> np.ndarray:
        """Accumulators of the metrics."""
        return self.table.rows("acc", members, METRICS)

    def watched_of(self, members: Members = ALL) -> np.ndarray:
        """Accumulators of what is watched beside the metrics."""
        return self.table.rows("acc", members, self.watched)

    @property
    def set_rows(self) -> list[int]:
        """Rows of the numbers that events set."""
        return sorted({row for _, law in self.setup.laws for row, _ in law})

    @property
    def watched(self) -> slice:
        """Those of the accumulators."""
        metrics = self.recordings[0].programs.metrics
        return slice(METRICS.start + (metrics.metrics if metrics else 0), None)

    @property
    def guarded_events(self) -> tuple[ReadEvent, ...]:
        """The events that stop a lane, or set numbers of it; of long steps those that mark, too."""
        metrics = self.recordings[0].programs.metrics
        return metrics.guarded if metrics else ()

    def begin_metrics(self, members: np.ndarray, *, afresh: bool = True) -> None:
        """The metrics of some members begin where they stand.

        Args:
            afresh: whether what is watched beside them begins, too.
        """
        metrics = self.recordings[0].programs.metrics
        if metrics is not None and len(members):
            self.evaluate("accumulate", members)
            rows = self.measured_of(members)
            metrics.begin(rows)
            if afresh:
                metrics.begin_watched(rows)
            self.table.set("acc", rows, members, METRICS)

    def measure_anew(self, members: np.ndarray) -> None:
        """Takes what metrics hold of the instant at which some members stand again: their rates have changed."""
        if (metrics := self.recordings[0].programs.metrics) is None or not len(members):
            return
        before = self.table.rows("acc", members).copy()
        self.evaluate("accumulate", members)
        shared = slice(CERTIFICATE.stop, CERTIFICATE.stop + metrics.shared)
        before[shared] = self.table.rows("acc", members)[shared]
        self.table.set("acc", before, members)

    def between(self, a: LaneTable, b: LaneTable, s: np.ndarray, span: np.ndarray) -> LaneTable:
        """Lanes between two of the same members, at fractions s (B,) of spans of time (B,) [s]; the rest is b's."""
        out = b.copy()
        out.set_state(interpolated(self.setup.plan, a.state(), b.state(), s, span))
        return out

    def groups(self, members: np.ndarray) -> Iterator[tuple[Recording, Partition, np.ndarray]]:
        """Members by what is recorded of them and by combination of partitions."""
        for recording, partition, places in self._grouped(members):
            yield recording, partition, members if places is None else members[places]

    def _grouped(self, members: np.ndarray) -> Iterator[tuple[Recording, Partition, np.ndarray | None]]:
        """As `groups`, with places among the members; None for all of them."""
        number, bound = self.recorded[members], len(self.recordings)
        for known, choice in zip(self.known, self.choice, strict=True):
            if len(known) > 1:
                number, bound = number * len(known) + choice[members], bound * len(known)
            if bound > COUNTED:
                distinct, number = np.unique(number, return_inverse=True)
                bound = len(distinct)
        combinations = np.flatnonzero(np.bincount(number))
        for combination in combinations:
            places = None if len(combinations) == 1 else np.flatnonzero(number == combination)
            first = members[0] if places is None else members[places[0]]
            blocks = tuple(known[c] for known, c in zip(self.known, self.choice[:, first], strict=True))
            yield self.recordings[self.recorded[first]], Partition(blocks), places

    def in_portions(self, call: Callable[[slice], T], members: np.ndarray | None = None) -> list[T]:
        """What `call` returns of each portion of all members, or of places in a list of some, of several at once; of
        few whose table a device has, of all of them."""
        count = self.table.lanes if members is None else len(members)
        if self.table.resident is not None and 2 * count < self.table.lanes:
            return in_portions(call, count, max(count, 1))
        with self.table.reading_all():
            return in_portions(call, count)

    def by_block(self, members: np.ndarray) -> Iterator[tuple[int, Block, np.ndarray]]:
        """Every substructure and a partition of it, with those of the members (indices into them) that have it."""
        for s, known in enumerate(self.known):
            for choice in np.unique(self.choice[s, members]):
                yield s, known[choice], np.flatnonzero(self.choice[s, members] == choice)

    def decided(self, members: np.ndarray, clock: np.ndarray, s: int, choice: np.ndarray) -> None:
        """Notes a decision of each of some members for the schedule."""
        self.decisions.append(np.stack([members, clock, np.full(len(members), s), choice]).astype(float))

    def schedule(self) -> Schedule:
        """What was decided so far."""
        s, whole = self.settings, self.settings.tolerance is None
        member, clock, substructure, choice = sorted_decisions(self.decisions, whole=whole)
        end = np.where(self.stopped < 0, np.rint(self.clock_of()), np.ceil(self.clock_of()))
        end = end.astype(int) if whole else self.clock_of().astype(float)
        taken, ends = chosen_steps(self.chosen, len(self.status))
        return Schedule(
            s.h, s.steps, s.begin, tuple(map(tuple, self.known)), PATTERNS, self.first_choice, member,
            clock - s.before, substructure, choice, end - s.before, self.status.copy(), self.rejected.copy(),
            taken, ends, s.singular,
        )  # fmt: skip

    def choose(self, s: int, members: np.ndarray, blocks: MemberBlocks) -> None:
        """Gives members their partitions of substructure s."""
        known, number = self.known[s], np.zeros(len(blocks.blocks), int)
        for k in blocks.occurring():
            if blocks.blocks[k] not in known:
                known.append(blocks.blocks[k])
            number[k] = known.index(blocks.blocks[k])
        self.choice[s, members] = number[blocks.which]

    def limit(self, s: int, members: np.ndarray) -> None:
        """Sets the limits of the monitors of substructure s from where they stand."""
        table, settings, first = self.table, self.settings, MONITORS_PER_BLOCK * s
        entries, condition = table.rows("mon", members, slice(first, first + 2))
        with np.errstate(all="ignore"):
            ratio = 1.0 / np.sqrt(condition.astype(float))
            entries = np.maximum(entries, 1.0)
            self.ratio[s, members] = ratio
            on, move = settings.repartition, settings.move_steps or settings.stop_at_poses
            table.set("limit", settings.multiplier * entries if on else np.inf, members, first)
            table.set("limit", (PIVOT_TRIGGER * ratio) ** -2.0 if on else np.inf, members, first + 1)
            window = APPROACH if settings.stop_at_poses and settings.tolerance is None else WINDOW
            table.set("limit", (window * ratio) ** -2.0 if move else np.inf, members, first + 2)
        table.set("armed", 1.0, members, slice(first, first + MONITORS_PER_BLOCK))

    def adopt(self, s: int, members: np.ndarray, blocks: MemberBlocks, jacobians: np.ndarray | None = None) -> None:
        """Gives some members other partitions of substructure s, and logs it."""
        time, old = self.settings.t0 + self.clock_of(members) * self.settings.h, self.choice[s, members]
        self.choose(s, members, blocks)
        self.log.append(Repartitions(time, np.asarray(members), s, old, self.choice[s, members], jacobians))
        self.decided(members, self.clock_of(members), s, self.choice[s, members])
        self.repartitions[members] += 1
        self.evaluate("accelerate", members)
        self.limit(s, members)
        if self.tape is not None:
            self.tape.note(self, members)

    def near_pose(self, members: np.ndarray, after: LaneTable, window: float = NEAR_WINDOW) -> np.ndarray:
        """(n,) the first substructure that came near a singular pose in the step that has led lanes here, -1 for none.

        It does not ask for the limits of the lanes, which a run along a schedule has not.
        """
        if not self.setup.blocks:
            return np.full(len(members), -1)
        conditions = after.rows("mon", within=self.setup.pose_monitors)
        with np.errstate(all="ignore"):
            near = ~(conditions <= (window * self.ratio[:, members]) ** -2.0)
        return np.where(near.any(0), near.argmax(0), -1)

    def interrupt(self) -> None:
        """Marks the members that have not come to their end."""
        self.status[(self.status <= 0) & (self.clock_of() < np.minimum(self.settings.end, self.ends))] = int(
            Outcome.interrupted
        )

    def evaluate(self, phase: str, members: np.ndarray) -> None:
        """Runs one phase on some members in place; observing writes the tick of their clock."""
        s = self.settings
        for recording, partition, alike in self.groups(members):
            if phase == "observe" and not recording.out.shape[2]:
                continue
            lanes = self.table.batch(alike)
            seen = evaluated(self.kernel, recording.programs.of(partition), phase, lanes, s.t0, s.h)
            if phase == "observe":
                tick = (np.rint(self.clock_of(alike)).astype(int) - s.before) // s.every
                recording.out[recording.row(alike), tick] = np.asarray(seen).T
            else:
                self.table.put(alike, lanes, WRITES[phase])

    def advance(self, members: np.ndarray, until: float | np.ndarray) -> Trips:
        """Lets the kernel run some members up to a step, each to its own where there are several, or to its trip.

        Returns:
            those that tripped.
        """
        stops = np.broadcast_to(until, members.shape)
        if self.tape is None:
            self._advance(members, stops)
            return self.table.trips(members)
        running = members
        while len(running):
            self._advance(running, self.tape.stops(self.clock_of(running), stops))
            runs = np.ones(len(running), bool)
            runs[self.table.trips(running).places] = False
            self.tape.note(self, running[runs])
            further = runs & (self.clock_of(running) < stops)
            running, stops = running[further], stops[further]
        return self.table.trips(members)

    def _advance(self, members: np.ndarray, until: np.ndarray) -> None:
        stops = np.zeros(self.table.lanes)
        stops[members] = until
        groups: list[Group] = []
        batches: list[tuple[np.ndarray, LaneTable]] = []
        for recording, partition, alike in self.groups(members):
            lanes, rows = self.table.batch(alike), recording.row(alike)
            rows[self.clock_of(alike) < self.settings.before] = -1  # before the first instant of a run that goes on
            program, out = recording.programs.of(partition), recording.out
            groups.append(Group(program, lanes.shown, stops[alike], out, rows, lanes.resident))
            batches.append((alike, lanes))
        try:
            self._run(groups)
        finally:  # an interrupted lane stands at the step that it has reached
            with shielded():
                for alike, lanes in batches:
                    self.table.put(alike, lanes)

    def step(self, members: np.ndarray, lanes: LaneTable) -> Trips:
        """One step of every member in a table of theirs, in place; nothing is recorded.

        Returns:
            places in that table of those that tripped.
        """
        groups: list[Group] = []
        batches: list[tuple[np.ndarray, LaneTable]] = []
        for recording, partition, places in self._grouped(members):
            where = np.arange(len(members)) if places is None else places
            batch = lanes.batch(where)
            nowhere = np.full(len(where), -1)
            # A step moves a clock past whatever comes first; next to 0 stand numbers that XLA takes for 0.
            beyond = np.maximum(np.nextafter(batch.row("clock"), np.inf), np.finfo(batch.dtype).tiny)
            program = recording.programs.of(partition)
            groups.append(Group(program, batch.shown, beyond, None, nowhere, batch.resident))
            batches.append((where, batch))
        self._run(groups)
        for where, batch in batches:
            lanes.put(where, batch)
        return lanes.trips()

    def try_steps(
        self, members: np.ndarray, before: LaneTable, parts: tuple[float, ...], steps: float | np.ndarray
    ) -> tuple[LaneTable, np.ndarray]:
        """Covers some steps of some members in parts, in a copy of their numbers; no guard freezes a lane.

        Args:
            before: numbers of the members. parts: of the steps, which add up to 1. steps: of all, or (n,) of each.

        Returns:
            the lanes after it, and the largest (squared pivot condition / window) on the way; inf where it was lost.
        """
        window = self.setup.pose_monitors
        bound, table = before.rows("limit", within=window), before.copy()
        disarm(table)
        worst, done = np.zeros(len(members)), 0.0
        for part in parts:
            table.set("clock", before.row("clock") + steps * done)
            table.set("fraction", steps * part)
            trips = self.step(members, table)
            with np.errstate(all="ignore"):
                worst = np.maximum(worst, (table.rows("mon", within=window) / bound).max(0, initial=0.0))
            worst[trips.places] = np.inf
            done += part
        table.set("trip", 0.0)
        return table, np.where(np.isnan(worst), np.inf, worst)

    def _run(self, groups: Sequence[Group]) -> None:
        s = self.settings
        self.kernel.advance(groups, h=s.h, t0=s.t0, every=s.every, origin=s.before)
