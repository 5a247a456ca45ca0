"""Runs members of a finished run again at half the step, from the start that it had. Host code above the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import speed_units
from shiftjax.run.advance.accuracy import angle_errors, method_order, moves_freely
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.first_lanes import begin
from shiftjax.run.advance.repeats import Repeats, sample_size, sampled
from shiftjax.run.advance.sampling import differences
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import Block

HARMONIC = np.pi / 2  # largest speed of a harmonic motion over its mean
FINER = 32.0  # a tolerance over this: half the step of a method of order five


def repeats_of(
    prepared: Prepared,
    lanes: Ensemble,
    began: Start,
    blocks: Sequence[Sequence[Block]],
    accuracy: str,
    advance: Callable[[Prepared, Ensemble], None],
    progress: Callable[[float], None],
) -> Repeats | None:
    """The errors of some members of a finished run, by running them again; None where nothing could be compared.

    Args:
        blocks: of every substructure the first partition of every member.
        accuracy: "all" or "sampled". advance: runs lanes to the end of their span. progress: called
            with the fraction done of that.
    """
    candidates = np.flatnonzero((lanes.status <= 0) & np.isinf(lanes.ends))
    if not len(candidates) or not moves_freely(lanes):
        return None
    members = candidates if accuracy == "all" else sampled(candidates, angle_errors(lanes)[0])
    some = prepared.some(members)
    again = _at_half_steps(some, lanes, began.some(members), [[of[int(k)] for k in members] for of in blocks], progress)
    advance(some, again)
    apart = _apart(lanes, members, again)
    return Repeats(members, np.where(again.status <= 0, apart * _whole(lanes), np.inf), len(candidates))


def _apart(lanes: Ensemble, members: np.ndarray, again: Ensemble) -> np.ndarray:
    """(K,) by how much coordinates of members and of their repeats differ [rad, or parts of the model's length].

    At the end; or on the way, where they went as fast as a harmonic motion of their mean speed does at most, by the
    time by which one lags behind the other. At a turning point angles are the same, and speeds are not: the lag is that
    which explains the differences of both best, (dq, w dv) ~ lag (v, w a), w being the time in which a radian passes.
    """
    unit = np.asarray(scales(speed_units(lanes.setup.plan), lanes.setup.length))[:, None]
    speeds = slice(lanes.setup.plan.nv)
    v, a = (lanes.table.rows(name, members, speeds).astype(float) / unit for name in ("x", "dx"))
    other = again.table.rows("x", within=speeds).astype(float) / unit
    apart = differences(lanes.setup, lanes.table.rows("q", members), again.table.rows("q"))
    with np.errstate(all="ignore"):
        mean = lanes.samples.path[members] / (lanes.samples.at[members] * lanes.settings.h)
        lag = np.sqrt((apart**2 + ((other - v) ** 2).sum(0) / mean**2) / ((v**2).sum(0) + (a**2).sum(0) / mean**2))
        return np.fmax(apart, HARMONIC * mean * lag)


def first_share(members: int, accuracy: str) -> float:
    """The part of the steps of a run that are not those of its repeats."""
    again = {"local": 0, "sampled": sample_size(members), "all": members}[accuracy]
    return members / (members + 2.0 * again)


def _at_half_steps(
    some: Prepared,
    lanes: Ensemble,
    began: Start,
    blocks: Sequence[Sequence[Block]],
    progress: Callable[[float], None],
) -> Ensemble:
    """Lanes at the start of a run, with half its step or a finer tolerance; recorded are its two ends only."""
    s = lanes.settings
    halves = 1 if s.tolerance is not None else 2
    settings = replace(
        s, h=s.h / halves, steps=halves * s.steps, every=halves * s.steps, t0=s.begin, before=0, log_jacobian=False,
        tolerance=None if s.tolerance is None else s.tolerance / FINER, progress=progress,
    )  # fmt: skip
    members = np.arange(some.members)
    recorded = [(lanes.recordings[0].programs, members)]  # compiled already
    return begin(lanes.kernel, settings, began, some.parameters(), np.ones(len(members), bool), blocks, recorded)


def _whole(lanes: Ensemble) -> float:
    """The error of a run over its difference to one of half the step."""
    if lanes.settings.tolerance is not None:
        return FINER / (FINER - 1.0)
    return 1.0 / (1.0 - 2.0 ** -method_order(lanes))
