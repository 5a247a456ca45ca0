"""A stage led along as what drives it goes from a pose to another one, a little at a time. Host code.

Many members go together, each by steps of its own. One mechanism alone, as it is posed by hand, goes by the same steps
without arrays of members: a tower of many stages took most of its time for these.
"""

from __future__ import annotations

import numpy as np

from shiftjax.kinematics.positioning.solving.lone_loops import CLOSED, LoneLoops
from shiftjax.kinematics.positioning.solving.manifold import POLISHED, RESTORED, SHORT, Manifold, improving
from shiftjax.kinematics.positioning.stages import StageGoals
from shiftjax.topology.plan import Plan

SMALLEST = 1.0 / 64.0  # of a piece of the way: where loops do not close after less, they are as near as they come
JUMP = 2.0  # times a step: loops that move a coordinate by more have left their branch


def followed(
    goals: StageGoals, begun: np.ndarray, at: np.ndarray, members: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The own coordinates of a stage led along as those of earlier stages go from where they were (nq, B) to where they
    are; (B,) whether its loops close there."""
    B, every = at.shape[1], np.arange(at.shape[1])
    if not goals.loops:
        return at, np.ones(B, bool)
    if goals.lone is not None:
        there, shut = _followed_alone(goals, goals.lone, begun[:, 0], at[:, 0])
        return there[:, None], np.array([shut])
    stage = goals.columns
    gap = goals.closure(at, members).worst
    closed = gap <= CLOSED
    before = begun.copy()
    before[stage.q] = at[stage.q]
    going = every[~closed]
    if not len(going):
        return at, closed
    from_closed = goals.closure(before[:, going], members[going]).worst <= CLOSED
    here, out, cap = before[:, going], at.copy(), goals.longest_steps
    share = (np.abs(at - before)[stage.earlier] / cap[stage.earlier, None]).max(0, initial=0.0)[going]
    piece = 1.0 / np.ceil(np.maximum(share, 1.0))
    piece, step = np.where(from_closed, piece, 1.0), np.where(from_closed, piece, 1.0)
    done, stuck = np.zeros(len(going)), np.zeros(len(going), bool)
    while (moving := np.flatnonzero((done < 1.0) & ~stuck)).size:
        some, way = going[moving], np.minimum(done[moving] + step[moving], 1.0)
        trial = np.where(way == 1.0, at[:, some], _between(goals.plan, before[:, some], at[:, some], way))
        trial[stage.q] = here[stage.q][:, moving]
        there, good = Manifold.of_loops(goals, members[some]).restored(trial, nothing_held(goals, some))
        jump = (np.abs(there - trial)[stage.q] / cap[stage.q, None]).max(0, initial=0.0)
        good &= (jump <= JUMP) | ~from_closed[moving]
        here[:, moving[good]], done[moving[good]] = there[:, good], way[good]
        step[moving[~good]] *= 0.5
        stuck[moving] |= (step[moving] < SMALLEST * piece[moving]) | (~good & ~from_closed[moving])
    out[stage.q[:, None], going] = here[stage.q]
    closed[going] = ~stuck
    return out, closed


def _followed_alone(goals: StageGoals, loops: LoneLoops, begun: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, bool]:
    """The same of one mechanism, at coordinates (nq,), to the same bits."""
    if loops.at(at).gap <= CLOSED:
        return at, True
    stage, before, cap = goals.columns, begun.copy(), goals.longest_steps
    before[stage.q] = at[stage.q]
    from_closed = loops.at(before).gap <= CLOSED
    share = float((np.abs(at - before)[stage.earlier] / cap[stage.earlier]).max(initial=1.0))
    piece = 1.0 / np.ceil(share) if from_closed else 1.0
    here, done, step = before[stage.q], 0.0, piece
    while done < 1.0:
        way = min(done + step, 1.0)
        part = at[:, None] if way == 1.0 else _between(goals.plan, before[:, None], at[:, None], np.array([way]))
        trial = part[:, 0].copy()
        trial[stage.q] = here
        there, good = _closed_again(goals, loops, trial)
        jump = float((np.abs(there - trial)[stage.q] / cap[stage.q]).max(initial=0.0))
        if good and (jump <= JUMP or not from_closed):
            here, done = there[stage.q], way
        elif not from_closed or (step := 0.5 * step) < SMALLEST * piece:
            break
    out = at.copy()
    out[stage.q] = here
    return out, done == 1.0


def _closed_again(goals: StageGoals, loops: LoneLoops, q: np.ndarray) -> tuple[np.ndarray, bool]:
    """Coordinates (nq,) at which loops close, as of `Manifold.restored` of loops alone, and whether they do."""
    before = np.float64(np.inf)
    for _ in range(RESTORED):
        here = loops.at(q)
        gap = np.float64(here.gap)
        if not improving(gap, before):
            return q, bool(gap <= CLOSED)
        before, change = gap, here.space.closing
        change = change / max(float((np.abs(change) / goals.cap).max(initial=0.0)), 1.0)
        q = goals.moved(q[:, None], change[None])[:, 0]
        if not float(np.abs(change).max(initial=0.0)) > SHORT:
            break
    before = np.float64(np.inf)
    for _ in range(POLISHED):
        here = loops.at(q)
        gap = np.float64(here.gap)
        if not improving(gap, before):
            break
        q, before = goals.moved(q[:, None], here.space.closing[None])[:, 0], gap
    return q, bool(loops.at(q).gap <= CLOSED and np.isfinite(q).all())


def nothing_held(goals: StageGoals, members: np.ndarray) -> np.ndarray:
    """(B, L) that no limit holds."""
    return np.zeros((len(members), len(goals.limits.q)), bool)


def _between(plan: Plan, first: np.ndarray, last: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Coordinates (nq, B) at shares (B,) of the way between two poses."""
    out = first + share * (last - first)
    for one in plan.coordinates:
        if one.quaternion:
            a, b = first[one.places], last[one.places]
            turn = a + share * (np.where((a * b).sum(0) < 0.0, -b, b) - a)
            out[one.places] = turn / np.linalg.norm(turn, axis=0)
    return out
