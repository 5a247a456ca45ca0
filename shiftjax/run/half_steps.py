"""Runs members of a finished run again at half the step, from the start that it had. Host code above the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.kernels.contract import Kernel
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import coordinates_of
from shiftjax.run.advance.accuracy import energy_errors, estimated_errors, method_order, moves_freely
from shiftjax.run.advance.ensemble import Ensemble, Programs
from shiftjax.run.advance.first_lanes import begin
from shiftjax.run.advance.repeats import RepeatedEnds, Repeats, doubtful, sample_size, sampled
from shiftjax.run.advance.sampling import differences
from shiftjax.run.options import NumericsOptions
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.run.programs.lane_program import Programs as LanePrograms
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import MemberBlocks

HARMONIC = np.pi / 2  # largest speed of a harmonic motion over its mean
FINER = 32.0  # a tolerance over this: half the step of a method of order five
QUARTERS = 4  # of a step across bends and jumps of forces: there errors of two steps are hardly related
NEAR = 10.0  # times an error at the end: what one on the way may be, as where a crank hardly passes its highest point
INSTANTS = 64  # of a run, at which a member that is doubted is compared with its repeat
SAFETY = 1.5  # of a measured error: it is that of two runs, at instants or by a lag
AT_BENDS = 2.0  # the same where forces bend: of 58 arms that hit stops too hard one was missed with 1.5
REST = 1e-3  # of the mean speed of a run: what ends slower has come to rest, and is compared with its repeat on the way
AT_ONCE = 16_384  # members that run again together, so that their numbers need little memory


def repeats_of(
    prepared: Prepared,
    lanes: Ensemble,
    began: Start,
    blocks: Sequence[MemberBlocks],
    asked: NumericsOptions,
    before: tuple[RepeatedEnds | None, np.ndarray | float],
    kernel: Callable[[], Kernel],
    advance: Callable[[Prepared, Ensemble], None],
    progress: Callable[[float], None],
) -> Repeats | None:
    """The errors of some members of a finished run, by running them again; None where nothing could be compared.

    Which they are: all; or a sample, which shows how errors grow, and those whose estimate, grown as much, may be above
    its limit. So no member is called inaccurate for its coordinates that has not run again. Of a run that goes on from
    another the repeats go on from the repeats of that one, so that errors count from its start.

    Args:
        blocks: of every substructure the first partition of every member.
        asked: its accuracy, "all" or "sampled", and the growth of errors that a larger sample has shown, if any.
        before: of the run that this one goes on from: where its repeats ended, and its errors (B,).
        kernel: makes one of double precision. advance: runs lanes to the end of their span.
        progress: called with the fraction done of that.
    """
    candidates = np.flatnonzero((lanes.status <= 0) & np.isinf(lanes.ends))
    if not len(candidates) or not moves_freely(lanes):
        return None
    estimates, limit, growth = estimated_errors(lanes)[0], lanes.settings.angle_limit, asked.error_growth
    every = asked.accuracy == "all"
    again = _Again(prepared, lanes, began, blocks, before, kernel, advance, progress)
    # Whose energy is off by more than its limit is inaccurate whatever a repeat says.
    open_to_doubt = every | (energy_errors(lanes) <= lanes.settings.energy_limit)
    doubted = open_to_doubt & doubtful(estimates, limit)
    again.run_on_the_way(candidates[doubted[candidates]])
    rest = quiet = candidates[(open_to_doubt & ~doubted)[candidates]]
    if growth is not None:
        rest = quiet[:0]
    elif not every:
        rest = quiet[again.known[quiet]]  # they know of all errors since the first start
        rest = rest if len(rest) else sampled(quiet, estimates)
    while True:
        again.run_to_the_end(rest)
        again.run_on_the_way(rest[again.near(rest, limit)])
        repeats = again.repeats(len(candidates), every=every, growth=growth)
        likely = doubtful(estimates, limit, repeats.growth(estimates))
        rest = np.setdiff1d(quiet[likely[quiet]], repeats.members, assume_unique=True)
        if not len(rest):
            return repeats


@dataclass
class _Again:
    """Runs members again, as those of `repeats_of`, and gathers what they show."""

    prepared: Prepared
    lanes: Ensemble
    began: Start
    blocks: Sequence[MemberBlocks]
    before: tuple[RepeatedEnds | None, np.ndarray | float]
    kernel: Callable[[], Kernel]
    advance: Callable[[Prepared, Ensemble], None]
    progress: Callable[[float], None]

    def __post_init__(self) -> None:
        count = len(self.lanes.status)
        self._errors, self._early = np.full(count, np.nan), np.zeros(count, bool)
        self._done, self._left = 0.0, 1.0  # of the progress
        self._kernel = self.lanes.kernel if self.lanes.setup.precision == "f64" else self.kernel()
        none = RepeatedEnds(*(np.full_like(rows, np.nan) for rows in (self.began.q, self.began.v, self.began.states)))
        (ends, errors), self._ended = self.before, none
        self.ends = none if ends is None else ends
        self._goes_on, self._errors_before, self.known = self.began, errors, np.zeros(count, bool)
        if ends is not None:
            known = self.known = ends.known
            q, v, states = self.began.q, self.began.v, self.began.states
            begun = [np.where(known, *rows) for rows in ((ends.q, q), (ends.v, v), (ends.states, states))]
            ways = None if known.any() else self.began.ways
            self._goes_on = replace(self.began, q=begun[0], v=begun[1], states=begun[2], ways=ways)
            self._errors_before = np.where(known, 0.0, errors)

    def repeats(self, candidates: int, *, every: bool, growth: float | None) -> Repeats:
        """What was seen so far."""
        members = np.flatnonzero(~np.isnan(self._errors))
        return Repeats(
            members, self._errors[members], self._early[members], candidates, every, growth, self._errors_before,
            self._ended,
        )  # fmt: skip

    def near(self, members: np.ndarray, limit: float) -> np.ndarray:
        """(n,) whether members are not off by more than a limit at their end, but may have been before."""
        return (self._errors[members] <= limit) & (NEAR * self._errors[members] > limit)

    def run_to_the_end(self, members: np.ndarray) -> None:
        """Runs some members again and compares them where they ended; on the way where a repeat did not come there."""
        programs = self._precise()
        for some in _portions(members):
            again = self._finished(some, programs, 1, 2)
            direct, lag = _apart(self.lanes, some, again)
            errors = self._whole(2) * np.fmax(SAFETY * direct, lag)
            ended = (again.status <= 0) & np.isfinite(errors)
            self._errors[some[ended]] = errors[ended]
            self._note_ends(some, again)
            self._left /= 2.0
            self.run_on_the_way(some[~ended])

    def run_on_the_way(self, members: np.ndarray) -> None:
        """Runs some members again, twice, and compares them at instants.

        What forgets its errors before its end, as by dampers, was off on the way.
        """
        if not len(members):
            return
        coordinates = coordinates_of(self.prepared.plan)
        programs = LanePrograms(self.lanes.setup, coordinates, self.lanes.recordings[0].programs.metrics)
        precise = programs if self.lanes.setup.precision == "f64" else self._precise(coordinates)
        bends = method_order(self.lanes) < order_of(METHODS[self.lanes.setup.method])
        parts, safety = (QUARTERS, AT_BENDS) if bends else (2, SAFETY)
        steps = self.lanes.settings.steps
        instants = next(n for n in range(min(INSTANTS, steps), 0, -1) if steps % n == 0)
        for some in _portions(members):
            once, again = self._finished(some, programs, instants, 1), self._finished(some, precise, instants, parts)
            first, second = (np.moveaxis(run.recordings[0].out, 2, 0) for run in (once, again))  # (nq, K, instants)
            apart = differences(self.lanes.setup, first.reshape(len(first), -1), second.reshape(len(second), -1))
            apart = apart.reshape(len(some), -1)
            errors = safety * self._whole(parts) * np.fmax.reduce(apart, axis=1)
            errors = np.fmax(self._errors[some], errors)
            self._errors[some] = np.where(np.isnan(errors), np.inf, errors)
            self._early[some] = again.status > 0
            self._note_ends(some, again)
            self._left /= 2.0

    def _tell(self, done: float) -> None:
        """Half of what is left is given to each portion, of which there may be more than are known."""
        self._done = max(self._done, 1.0 - self._left * (1.0 - done / 2.0))
        self.progress(self._done)

    def _precise(self, observed: Sequence[Channel] = ()) -> Programs:
        """Programs of repeats, in double precision, which shows what rounding does; compiled already if the run's are.

        In single precision both runs would round the numbers of a member and its start alike.
        """
        if self.lanes.setup.precision == "f64":
            return self.lanes.recordings[0].programs
        metrics = self.lanes.recordings[0].programs.metrics
        acting = metrics if metrics is not None and metrics.guarded else None  # events that change the motion
        return LanePrograms(replace(self.lanes.setup, precision="f64"), observed, acting)

    def _note_ends(self, members: np.ndarray, again: Ensemble) -> None:
        """Where repeats stand that came to their end."""
        plan, ended = self.lanes.setup.plan, np.flatnonzero(again.status <= 0)
        speeds, states = slice(plan.nv), slice(plan.nv, plan.nv + plan.ns)
        rows = [again.table.rows("q", ended), *(again.table.rows("x", ended, part) for part in (speeds, states))]
        self._ended = self._ended.changed(members[ended], *(row.astype(float) for row in rows))

    def _finished(self, members: np.ndarray, programs: Programs, instants: int, finer: int) -> Ensemble:
        """Members that ran again, with parts of the step of their run, recorded at equal intervals.

        With a tolerance, where the step is the unit of the clock only, it is that which is finer.
        """
        s, some = self.lanes.settings, self.prepared.some(members)
        tolerance = s.tolerance if s.tolerance is None or finer == 1 else s.tolerance / FINER
        parts = finer if s.tolerance is None else 1
        settings = replace(
            s, h=s.h / parts, steps=parts * s.steps, every=parts * s.steps // instants, t0=s.begin, before=0,
            log_jacobian=False, estimates=False, tolerance=tolerance,
            progress=self._tell,
        )  # fmt: skip
        blocks = [of.some(members) for of in self.blocks]
        began, kernel = (self.began, self.lanes.kernel) if finer == 1 else (self._goes_on, self._kernel)
        everyone, good = np.arange(len(members)), np.ones(len(members), bool)
        lanes = begin(
            kernel, settings, began.some(members), some.parameters(), good, blocks, [(programs, everyone)]
        )  # fmt: skip
        self.advance(some, lanes)
        return lanes

    def _whole(self, parts: int) -> float:
        """The error of a run over its difference to one of parts of its step."""
        if self.lanes.settings.tolerance is not None:
            return FINER / (FINER - 1.0)
        return 1.0 / (1.0 - float(parts) ** -method_order(self.lanes))


def _portions(members: np.ndarray) -> Iterator[np.ndarray]:
    """Members in portions of at most `AT_ONCE`."""
    for first in range(0, len(members), AT_ONCE):
        yield members[first : first + AT_ONCE]


def _apart(lanes: Ensemble, members: np.ndarray, again: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """By how much coordinates of members and of their repeats differ [rad, or parts of the model's length].

    At the end; and on the way, where they went as fast as a harmonic motion of their mean speed does at most, by the
    time by which one lags behind the other. At a turning point angles are the same, and speeds are not: the lag is that
    which explains the differences of both best, (dq, w dv) ~ lag (v, w a), w being the time in which a radian passes.
    What has come to rest has no lag: its differences and its speeds are both what dampers left of them.

    Returns:
        (K,) at the end, (K,) on the way, infinite where it came to rest.
    """
    unit = np.asarray(lanes.setup.units)[:, None]
    speeds = slice(lanes.setup.plan.nv)
    v, a = (lanes.table.rows(name, members, speeds).astype(float) / unit for name in ("x", "dx"))
    other = again.table.rows("x", within=speeds).astype(float) / unit
    apart = differences(lanes.setup, lanes.table.rows("q", members), again.table.rows("q"))
    with np.errstate(all="ignore"):
        mean = lanes.samples.path[members] / (lanes.samples.at[members] * lanes.settings.h)
        pace = (v**2).sum(0) + (a**2).sum(0) / mean**2
        lag = np.sqrt((apart**2 + ((other - v) ** 2).sum(0) / mean**2) / pace)
        return apart, np.where(pace < (REST * mean) ** 2, np.inf, HARMONIC * mean * lag)


def first_share(members: int, accuracy: str) -> float:
    """The part of the steps of a run that are not those of its repeats."""
    again = {"local": 0, "sampled": sample_size(members), "all": members}[accuracy]
    return members / (members + 2.0 * again)
