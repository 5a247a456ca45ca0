"""Going on from the end of a run, to the last bit as if there had been one run. Host code above the ensemble."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.kernels.contract import Kernel, placed
from shiftjax.outcome import Outcome
from shiftjax.run.advance.ending import Ending
from shiftjax.run.advance.ensemble import COUNTS, Ensemble, Programs
from shiftjax.run.advance.first_lanes import recordings_of
from shiftjax.run.advance.samples import Samples
from shiftjax.run.advance.settings import Settings
from shiftjax.run.programs.setup import Setup

JUDGED = (Outcome.inaccurate, Outcome.near_singular)  # warnings that are given at the end of every run anew


WENT_ON = "goes on from a run that was not certain: "


def program_of(setup: Setup, identity: str, settings: Settings) -> tuple[object, ...]:
    """What must be the same for lanes to go on: the code, the method, the step, and when coordinates change."""
    return (
        identity, setup.method, settings.h, settings.multiplier, settings.repartition, settings.move_steps,
        settings.stop_at_poses,
    )  # fmt: skip


def ending_of(lanes: Ensemble) -> Ending:
    """The lanes at the end of a run; those cut short by the end stand where they were before."""
    layout = lanes.setup.layout()  # without metrics: those of the next run may be others, and begin anew
    # The lanes go no further: a table without rows of metrics is the ending's. A copy of a million took 0.6 s.
    alike = lanes.table.layout.columns() == layout.columns() and not lanes.cut_short
    table = lanes.table if alike and lanes.table.resident is None else lanes.table.fitted(layout)
    choice, ratio = lanes.choice.copy(), lanes.ratio.copy()
    counts = {name: getattr(lanes, name).copy() for name in COUNTS}
    samples, watched = lanes.samples.of(), lanes.watched_of().copy()
    for before in lanes.cut_short:
        members = before.members
        table.put(members, before.lanes.fitted(layout))
        choice[:, members], ratio[:, members], samples[:, members] = before.choice, before.ratio, before.samples
        watched[:, members] = before.lanes.rows("acc", within=lanes.watched)
        for name, values in before.counts.items():
            counts[name][members] = values
    identity = lanes.recordings[0].programs.identity
    return Ending(
        program_of(lanes.setup, identity, lanes.settings), lanes.settings.t0, lanes.settings.end, table, choice,
        ratio, tuple(map(tuple, lanes.known)), counts, samples, watched,
    )  # fmt: skip


def go_on(
    kernel: Kernel, settings: Settings, ending: Ending, recorded: Sequence[tuple[Programs, np.ndarray]]
) -> Ensemble:
    """The lanes of an ending, whose clocks count on; the first tick is recorded of those that stand on it."""
    setup, members = recorded[0][0].setup, ending.table.lanes
    settings.t0, settings.before = ending.t0, ending.steps
    recordings, which = recordings_of(settings, setup, recorded, members)
    status, table = ending.counts["status"], placed(kernel, ending.table.fitted(recorded[0][0].layout))
    lanes = Ensemble(
        setup=setup, kernel=kernel, settings=settings, table=table, recordings=recordings, recorded=which,
        choice=ending.choice.copy(), known=[list(blocks) for blocks in ending.blocks],
        ratio=ending.ratio.copy(), status=status.copy(),
    )  # fmt: skip
    for name, values in ending.counts.items():
        setattr(lanes, name, values.copy())
    lanes.samples = Samples(*ending.samples.copy())
    table.set("acc", ending.watched, within=lanes.watched)
    for outcome in JUDGED:
        lanes.warnings &= ~(1 << -int(outcome))
    gravest = np.zeros(members, int)
    for outcome in sorted(o for o in Outcome if o < 0):
        gravest = np.where((gravest == 0) & (lanes.warnings & 1 << -int(outcome) != 0), int(outcome), gravest)
    lanes.status = np.where(status > 0, status, gravest)
    table.set("watched", 1.0)  # events may be others than those of the run before
    if lanes.layout.ne and (lanes.status <= 0).any():
        lanes.evaluate("events", np.flatnonzero(lanes.status <= 0))
    here = np.flatnonzero((lanes.status <= 0) & (lanes.clock_of() == settings.before))
    if len(here):
        lanes.begin_metrics(here, afresh=False)
        lanes.evaluate("observe", here)
    return lanes


def uncertain_before(
    lanes: Ensemble, status: np.ndarray, warnings: np.ndarray, messages: Sequence[str], *, repeated: bool
) -> dict[int, str]:
    """Warns members whose earlier run was `inaccurate` or `near_singular` where the certificate does not cover it.

    Lanes that go on carry all that an estimate rests on, and are judged by the whole, as one run of both spans is.
    Lanes that begin afresh (another step, a tolerance, a result from a store) know nothing of what went before, and
    repeats at half the step begin where the earlier run ended: there what was uncertain stays so, for good.

    Args:
        status, messages: (B,) of the earlier run. warnings: (B,) bits of its warnings, 0 where they are not known.
        repeated: whether the earlier run's errors, or those of this one, rest on repeats.

    Returns:
        member -> a sentence for its message.
    """
    out: dict[int, str] = {}
    for_good = np.array([WENT_ON in message for message in messages]) | (not lanes.settings.before or repeated)
    for outcome in JUDGED:
        went = (status == int(outcome)) | (status <= 0) & (warnings & 1 << -int(outcome) != 0)
        members = np.flatnonzero(went & for_good & (lanes.status <= 0))
        lanes.warn(members, outcome)
        out |= {k: WENT_ON + messages[k].rpartition(WENT_ON)[2] for k in members.tolist()}
    return out
