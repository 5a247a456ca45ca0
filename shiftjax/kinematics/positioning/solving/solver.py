"""From a pose to one at which goals are met, level by level, of many members at once. Host code.

Problem: minimise |e_1|, then |e_2| among the poses at which |e_1| is as small as it can be, and so on, on the poses at
which loops close and between limits of coordinates. Each level is a nonlinear least-squares problem on the manifold
that those before leave: a step is the damped one within the null space of all of them (`projection`), what curvature
spoils is restored, and the step is taken only where its level becomes better and no other one worse than it was. So a
lower level costs a higher one nothing, at singular poses, too, where it can only wait. A coordinate at a limit is a row
of the null space where the step would lead it out. A member that stands is computed no more, so that its pose does
not depend on the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.kinematics.positioning.solving.damping import EASY, FIRST, MET, MOST, STATIONARY, Positioned, following
from shiftjax.kinematics.positioning.solving.edges import Edges
from shiftjax.kinematics.positioning.solving.levels import Local
from shiftjax.kinematics.positioning.solving.manifold import NEAR, SHORT, Goals, Manifold
from shiftjax.kinematics.positioning.solving.projection import as_least_squares, damped_step

ITERATIONS = 200  # of a level
SADDLE = 1e-7  # missed by more than that where nothing has a slope, a pose may be a saddle
PUSH = 0.02  # by which it is left
BACK = 0.01  # of the way that a push has led: who is nearer has come back
ROUNDING = 1e-14  # of an energy: a short step of Newton's that changes it by less is taken
CALM = 1e-4  # such a step


def solved(goals: Goals, q: np.ndarray, members: np.ndarray, iterations: int = ITERATIONS) -> Positioned:
    """From closed coordinates (nq, B) of some members through all levels.

    Args:
        iterations: of a level, at most.
    """
    out = Positioned.at(q, len(goals.levels))
    manifold = Manifold.of_loops(goals, members)
    for _ in goals.levels:
        best = _minimised(manifold, out, iterations)
        manifold = manifold.below(best, out.q)
    for level in range(len(goals.levels)):
        out.value[level] = goals.local(level, out.q, members).value
    return out


def _minimised(manifold: Manifold, at: Positioned, iterations: int) -> Local:
    """Moves members to where the next level is best.

    Where it is not met and has no slope the pose may be a saddle, as of an arm that is stretched towards its goal: such
    members are pushed off it, all in the same direction, and stay where they come to if that is better.
    """
    best = _descent(manifold, at, iterations)
    level, n = len(manifold.best), manifold.goals.nv
    missing = np.arange(len(best.value)) if manifold.goals.levels[level].curved else np.flatnonzero(best.value > SADDLE)
    if len(missing):
        some = manifold.of(missing)
        change = np.broadcast_to(PUSH * np.sin(1.0 + np.arange(n)), (len(missing), n))
        nothing = np.zeros((len(missing), some.ends), bool)
        q, good = some.restored(manifold.goals.moved(at.q[:, missing], change), nothing)
        pushed = Positioned.at(q, level + 1)
        there = _descent(some, pushed, iterations, _Home(at.q[:, missing], best.value[missing] - SADDLE))
        at.iterations[missing] += pushed.iterations
        good &= (there.value < best.value[missing] - SADDLE) & some.unchanged(pushed.q)
        at.q[:, missing[good]] = pushed.q[:, good]
        at.unfinished[level, missing[good]] = pushed.unfinished[level, good]
        best.put(missing[good], there.some(good))
    return best


@dataclass
class _Home:
    """Where members were pushed from (nq, B), and what of the level (B,) would be less there than it was."""

    q: np.ndarray
    value: np.ndarray

    def far(self, q: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(B,) how far coordinates of some members are from it."""
        return np.asarray(np.abs(q - self.q[:, members]).max(0, initial=0.0))


def _descent(manifold: Manifold, at: Positioned, iterations: int, home: _Home | None = None) -> Local:
    """Goes downhill from where members stand, and gives the level there.

    Args:
        home: where they were pushed from: those that come back there, no better than before, need not arrive.
    """
    goals, level, B = manifold.goals, len(manifold.best), at.q.shape[1]
    curved = goals.levels[level].curved
    here = goals.local(level, at.q, manifold.members)
    damping, running = np.full(B, FIRST), np.arange(B)
    begun = home.far(at.q, running) if home else np.zeros(B)
    for _ in range(iterations):
        within, q, now = manifold.of(running), at.q[:, running], here.some(running)
        size = np.linalg.norm(now.missed, axis=1)
        change, bound, slope = _step(within, q, now, damping[running] * size**2)
        going = (slope > STATIONARY * (1.0 if curved else size)) & np.isfinite(change).all(1)
        if home:
            going &= (home.far(q, running) > BACK * begun[running]) | (now.value < home.value[running])
        going &= (size > MET) & (np.abs(change).max(1, initial=0.0) > SHORT) & (damping[running] < MOST)
        if not going.any():
            return here
        running, within, q, now, change = running[going], within.of(going), q[:, going], now.some(going), change[going]
        at.iterations[running] += 1
        trial, good = within.restored(goals.moved(q, change), bound[going])
        there = goals.local(level, trial, within.members)
        better = there.value < now.value
        if curved:
            even = there.value <= now.value + ROUNDING * (1.0 + np.abs(now.value))
            better |= even & (np.abs(change).max(1, initial=0.0) < CALM)
        good &= better & within.unchanged(trial)
        at.q[:, running[good]] = trial[:, good]
        here.put(running[good], there.some(good))
        easily = good & (curved | (there.value < EASY * now.value))
        damping[running] = following(damping[running], good, easily)
    at.unfinished[level, running] = True
    return here


def _step(
    manifold: Manifold, q: np.ndarray, here: Local, damping: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The step (B, nv) of the next level, which ends hold (B, ends), and the slope (B,) of what is missed.

    A limit holds where the step would lead a coordinate that is there beyond it, and the edge of a region where it
    would lead a row of a more important level out; ends are added until none does. Edges are taken one by one, and
    one that others keep from being pressed is let go, once.
    """
    goals, limits, edges = manifold.goals, manifold.goals.limits, manifold.edges(q)
    B, n, curved = q.shape[1], goals.nv, goals.levels[len(manifold.best)].curved
    bound = np.zeros((B, manifold.ends), bool)
    low, high = (q[limits.q] <= manifold.low + NEAR).T, (q[limits.q] >= manifold.high - NEAR).T
    change, slope, again = np.zeros((B, n)), np.zeros(B), np.arange(B)
    let_go: np.ndarray = np.zeros_like(bound)
    for _ in range(manifold.ends + 1 if edges is None else 2 * manifold.ends + 1):
        some = here.some(again)
        P = manifold.of(again).free(q[:, again], bound[again])
        if curved:
            e, A = as_least_squares(P, some.missed, some.J)
        else:
            e, A = some.missed, some.J if P is None else some.J @ P
        step = damped_step(A, e, damping[again])
        change[again] = step if P is None else (P @ step[:, :, None])[:, :, 0]
        slope[again] = np.linalg.norm((A.transpose(0, 2, 1) @ e[:, :, None])[:, :, 0], axis=1)
        part = change[:, limits.v]
        leaving: np.ndarray = np.asarray((low & (part < 0.0)) | (high & (part > 0.0)))
        if edges:
            beyond = leaving & ~bound[:, : len(limits.q)]
            leaving = np.concatenate([beyond, edges.leaving(change, bound)], axis=1)
            idle = _idle(manifold, q, here, edges, bound) & ~let_go & ~leaving.any(1, keepdims=True)
            bound, let_go, leaving = bound & ~idle, let_go | idle, leaving | idle
            bound |= leaving & ~idle
        else:
            leaving &= ~bound
            bound |= leaving
        again = np.flatnonzero(leaving.any(1))
        if not len(again):
            break
    change /= np.maximum((np.abs(change) / goals.cap).max(1, initial=0.0), 1.0)[:, None]
    change *= manifold.ahead(q, change, bound)[:, None]
    return change, bound, slope


def _idle(manifold: Manifold, q: np.ndarray, here: Local, edges: Edges, bound: np.ndarray) -> np.ndarray:
    """(B, ends) the edge that holds though the level presses it least, as its multiplier says, where one does."""
    first = len(manifold.goals.limits.q)
    out, some = np.zeros_like(bound), np.flatnonzero(bound[:, first:].any(1))
    if not len(some):
        return out
    others = bound[some].copy()
    others[:, first:] = False
    J, at_edge = here.J[some], bound[some, first:]
    curved, missed = manifold.goals.levels[len(manifold.best)].curved, here.missed[some]
    slope: np.ndarray = missed if curved else (J.transpose(0, 2, 1) @ missed[:, :, None])[:, :, 0]
    P = manifold.of(some).free(q[:, some], others)
    rows = edges.J[some] * at_edge[:, :, None]
    if P is not None:
        rows, slope = rows @ P, (P.transpose(0, 2, 1) @ slope[:, :, None])[:, :, 0]
    borne = (np.linalg.pinv(rows.transpose(0, 2, 1)) @ slope[:, :, None])[:, :, 0]
    outwards = np.where(edges.high[some], -1.0, 1.0) * borne  # above 0 where the level presses outwards
    idle = at_edge & (outwards < -ROUNDING * np.abs(slope).max(1, initial=0.0)[:, None])
    worst = np.argmin(np.where(idle, outwards, 0.0), axis=1)
    out[some[idle.any(1)], first + worst[idle.any(1)]] = True
    return out
