"""What must not change while a level is minimised: loops, limits, and all more important levels. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.kinematics.positioning.solving.edges import Edges, Regions, edge_rows, edges_at
from shiftjax.kinematics.positioning.solving.levels import Answering, Level, Local
from shiftjax.kinematics.positioning.solving.lone_loops import CLOSED, LoneLoops
from shiftjax.kinematics.positioning.solving.still_rows import StillRows
from shiftjax.run.closing.closer import STEP_ANGLE, STEP_LENGTH
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.topology.plan import Plan

RESTORED = 8  # iterations that restore what curvature spoils
POLISHED = 3  # iterations that close loops alone after that
ROUNDING = 1e-15  # residual of loops that needs none, dimensionless
UNCHANGED = 1e-11  # by which a more important level may be missed by more, and limits be passed
NEAR = 1e-10  # m or rad from a limit, where a coordinate is at it
SHORT = 1e-13  # a step that changes nothing
WIDE_ANGLE, WIDE_LENGTH = 0.7, 0.5  # the largest change of a step of open chains, which have no branch to leave


@dataclass
class Limits:
    """Coordinates that stay between two values.

    Attributes:
        q, v: (L,) which coordinates, and their speeds. low, high: (L, B) [m or rad], infinite where there is none.
    """

    q: np.ndarray
    v: np.ndarray
    low: np.ndarray
    high: np.ndarray


class LimitRows:
    """Limits as a level of its own: by how much coordinates are beyond them. Loops come first, all goals after."""

    curved, fixes = False, False

    def __init__(self, limits: Limits, unit: np.ndarray, labels: Sequence[str]) -> None:
        self.limits, self.unit, self.labels, self.speeds = limits, unit[limits.v], tuple(labels), len(unit)

    def in_si(self, here: Local) -> np.ndarray:
        """(B, L) by how much coordinates are beyond their limits [m or rad]."""
        return here.missed * self.unit

    def at(self, answers: Answering, x: np.ndarray, members: np.ndarray) -> Local:
        """As of `Level`."""
        limits, place = self.limits, x[self.limits.q]
        beyond = ((place - np.clip(place, limits.low[:, members], limits.high[:, members])).T) / self.unit
        J = np.zeros((*beyond.shape, self.speeds))
        J[:, range(beyond.shape[1]), limits.v] = (beyond != 0.0) / self.unit
        return Local(np.linalg.norm(beyond, axis=1), beyond, J)


@dataclass
class Goals:
    """Mechanisms of one plan, and what is wanted of them.

    Attributes:
        x: (n, B) of `Ground.parts`; rows of coordinates are those of poses on their way.
        levels: the most important first; limits are the first one where there are any.
        lone: the loops of a mechanism that is alone. opened: whether loops are a level, and may open.
        every_unit: (nv,) what makes speeds dimensionless. unit: of those that may be taken.
    """

    plan: Plan
    lane: StartLane
    answers: Answering
    x: np.ndarray
    levels: Sequence[Level]
    limits: Limits
    lone: LoneLoops | None = None
    opened: bool = False

    def __post_init__(self) -> None:
        self.unit = self.every_unit = np.asarray(self.lane.units)
        closed = any(block.rows for block in self.plan.substructures)
        self.loops = closed and not self.opened
        self.plain = not any(one.vector or one.quaternion for one in self.plan.coordinates)
        self.cap = self.caps(closed=closed)

    def caps(self, *, closed: bool) -> np.ndarray:
        """(nv,) the largest change of each speed in a step, dimensionless, of closed or open chains."""
        return np.where(self.unit == 1.0, *((STEP_ANGLE, STEP_LENGTH) if closed else (WIDE_ANGLE, WIDE_LENGTH)))

    @property
    def nv(self) -> int:
        """How many speeds may be taken."""
        return self.plan.nv

    def local(self, level: int, q: np.ndarray, members: np.ndarray) -> Local:
        """A level at coordinates (nq, B) of some members, slopes by dimensionless speeds."""
        x = self.x[:, members]
        x[: self.plan.nq] = q
        at = self.levels[level].at(self.answers, x, members)
        if self.levels[level].curved:
            return Local(at.value, at.missed * self.unit, at.J * self.unit * self.unit[:, None])
        return Local(at.value, at.missed, at.J * self.unit)

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) after a dimensionless change (B, nv)."""
        if self.plain:
            return q + change.T * self.unit[:, None]
        return host.retract(self.plan, q, change.T * self.unit[:, None])

    def closure(self, q: np.ndarray, members: np.ndarray) -> StillRows:
        """All loops and drivers, dimensionless."""
        B = q.shape[1]
        if self.lone is not None or not self.loops:
            nothing = np.zeros((B, 0)), np.zeros((B, 0, self.plan.nv))
            return StillRows(*nothing, self.lone and self.lone.at(q[:, 0]))
        lane = self.lane.of(members)
        phi, J = [np.zeros((B, 0))], [np.zeros((B, 0, self.plan.nv))]
        for s, block in enumerate(self.plan.substructures):
            values, slopes = host.closure(lane, q, s)
            wide = np.zeros((B, slopes.shape[1], self.plan.nv))
            wide[:, :, list(block.columns)] = slopes
            phi.append(values)
            J.append(wide)
        return StillRows(np.concatenate(phi, axis=1), np.concatenate(J, axis=1))

    def edges(
        self,
        regions: Mapping[int, Regions],
        rows: Sequence[tuple[int, np.ndarray]],
        q: np.ndarray,
        members: np.ndarray,
    ) -> Edges:
        """Those of regions at coordinates (nq, B) of some members."""
        x = self.x[:, members]
        x[: self.plan.nq] = q
        return edges_at(regions, rows, self.answers, x, members, self.every_unit)


@dataclass
class Manifold:
    """The poses at which loops close, limits hold and more important levels are as good as they can be.

    Attributes:
        members: (B,) of which all else is. low, high: (L, B) limits of coordinates.
        best: of each more important level, (B,) its value and (B, m) what it misses.
    """

    goals: Goals
    members: np.ndarray
    low: np.ndarray
    high: np.ndarray
    best: Sequence[tuple[np.ndarray, np.ndarray]] = ()

    @classmethod
    def of_loops(cls, goals: Goals, members: np.ndarray) -> Manifold:
        """Of loops alone."""
        free = np.full((len(goals.limits.q), len(members)), np.inf)
        return cls(goals, members, -free, free)

    def below(self, best: Local, q: np.ndarray) -> Manifold:
        """That of the next level, of members that stand at (nq, B), where this one is at best.

        Limits hold from the first level that is not theirs on, as far as loops let them.
        """
        limits, at = self.goals.limits, q[self.goals.limits.q]
        low, high = limits.low[:, self.members], limits.high[:, self.members]
        low, high = np.minimum(low, at), np.maximum(high, at)
        return replace(self, low=low, high=high, best=[*self.best, (best.value, best.missed)])

    @cached_property
    def edge_rows(self) -> list[tuple[int, np.ndarray]]:
        """Rows of more important levels that have a region."""
        return edge_rows(self._regions)

    @property
    def _regions(self) -> dict[int, Regions]:
        return {k: one for k, one in enumerate(self.goals.levels[: len(self.best)]) if isinstance(one, Regions)}

    @property
    def ends(self) -> int:
        """How many ends of ways and of regions may hold."""
        return len(self.goals.limits.q) + sum(len(rows) for _, rows in self.edge_rows)

    def edges(self, q: np.ndarray) -> Edges | None:
        """Of regions of more important levels at coordinates (nq, B); None where there are none."""
        if not self.edge_rows:
            return None
        return self.goals.edges(self._regions, self.edge_rows, q, self.members)

    @property
    def whole(self) -> bool:
        """Whether limits are all there is."""
        return not (self.goals.loops or [one for one in self.goals.levels[: len(self.best)] if one.fixes])

    def of(self, some: np.ndarray) -> Manifold:
        """Those of some members."""
        low, high = self.low[:, some], self.high[:, some]
        return replace(
            self,
            members=self.members[some],
            low=low,
            high=high,
            best=[(value[some], e[some]) for value, e in self.best],
        )

    def clipped(self, q: np.ndarray) -> np.ndarray:
        """Coordinates (nq, B) within their limits."""
        out, places = q.copy(), self.goals.limits.q
        out[places] = np.clip(out[places], self.low, self.high)
        return out

    def fixed(self, q: np.ndarray, bound: np.ndarray) -> StillRows:
        """What must not change.

        Args:
            bound: (B, ends) limits that hold, then edges of regions.
        """
        goals = self.goals
        out = goals.closure(q, self.members)
        beyond = (q - self.clipped(q))[goals.limits.q].T
        if bound.any() or beyond.any():
            still = bound[:, : beyond.shape[1]] | (beyond != 0.0)
            line = np.zeros((*still.shape, goals.nv))
            line[:, range(still.shape[1]), goals.limits.v] = still
            out = out.also(beyond / goals.unit[goals.limits.v], line)
        edges = self.edges(q)
        for k, (_, at_best) in enumerate(self.best):
            local = goals.local(k, q, self.members)
            if goals.levels[k].curved:  # what is downhill within what is still more important
                Pt = out.free().transpose(0, 2, 1)
                out = out.also((Pt @ local.missed[:, :, None])[:, :, 0], Pt @ local.J)
            else:
                missed, J = local.missed - at_best, local.J
                if edges and k in edges.rows:  # a row that is beyond by a rounding is held where a step leads out
                    missed, J = edges.without(k, missed, J)
                out = out.also(missed, J)
        if edges and (at_edge := bound[:, beyond.shape[1] :] & edges.inside).any():
            out = out.also(np.where(at_edge, edges.off, 0.0), edges.J * at_edge[:, :, None])
        return out

    def restored(self, q: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (nq, B) back on the manifold, by the least change; (B,) whether loops are closed."""
        if self.whole:
            at = self.clipped(q)
            return at, np.asarray(np.isfinite(at).all(0))
        goals, q, running = self.goals, q.copy(), np.arange(q.shape[1])
        before, bound = np.full(q.shape[1], np.inf), self._with_crossed(q, bound)
        for _ in range(RESTORED):
            still = self.of(running).fixed(q[:, running], bound[running])
            going = improving(still.worst, before[running])
            if not going.any():
                if still.loops is not None and not still.rows.shape[1]:
                    return q, still.worst <= CLOSED
                break
            change = still.restoring()[going]
            change /= np.maximum((np.abs(change) / goals.cap).max(1, initial=0.0), 1.0)[:, None]
            before[running], running = still.worst, running[going]
            q[:, running] = goals.moved(q[:, running], change)
            running = running[np.abs(change).max(1, initial=0.0) > SHORT]
            if not len(running):
                break
        return self._closed(q)

    def _with_crossed(self, q: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Ends that hold (B, ends), with those edges that a step to (nq, B) crossed: it comes back onto them, not to
        inside by what they curve, from where the next step would cross them again."""
        edges = self.edges(q)
        if edges is None or edges.inside.all():
            return bound
        out = bound.copy()
        out[:, bound.shape[1] - edges.inside.shape[1] :] |= ~edges.inside
        return out

    def _closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Loops alone once more, to rounding: rows that cannot be met with them keep theirs from it. As `restored`."""
        left, before = np.zeros(q.shape[1]), np.full(q.shape[1], np.inf)
        for k in range(POLISHED + 1):
            loops = self.goals.closure(q, self.members)
            left = loops.worst
            going = improving(left, before)
            if k == POLISHED or not going.any():
                break
            q, before = np.where(going, self.goals.moved(q, loops.restoring()), q), left
        return q, np.asarray((left <= CLOSED) & np.isfinite(q).all(0))

    def unchanged(self, q: np.ndarray) -> np.ndarray:
        """(B,) whether limits hold and no more important level is worse than at best."""
        if self.whole:
            return np.ones(q.shape[1], bool)
        beyond = np.abs((q - self.clipped(q))[self.goals.limits.q]).max(0, initial=0.0)
        good = beyond <= UNCHANGED * max(self.goals.lane.length, 1.0)
        for k, (value, _) in enumerate(self.best):
            good &= self.goals.local(k, q, self.members).value <= value + UNCHANGED
        return good

    def ahead(self, q: np.ndarray, change: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """(B,) the share of a change (B, nv) up to the first limit on its way."""
        limits = self.goals.limits
        if self.whole or not len(limits.q):  # clipping does, where it spoils nothing else
            return np.ones(q.shape[1])
        part, at, bound = change[:, limits.v], q[limits.q].T, bound[:, : len(limits.q)]
        room = np.where(part > 0.0, self.high.T - at, at - self.low.T) / self.goals.unit[limits.v]
        with np.errstate(all="ignore"):
            share = np.where(~bound & (part != 0.0), np.maximum(room, 0.0) / np.abs(part), np.inf)
        return np.minimum(share.min(1, initial=np.inf), 1.0)

    def free(self, q: np.ndarray, bound: np.ndarray) -> np.ndarray | None:
        """(B, nv, k) what is free, as of `StillRows.free`; None where all is."""
        if not self.whole:
            return self.fixed(q, bound).free()
        if not bound.any():
            return None
        free = np.ones((len(bound), self.goals.nv))
        free[:, self.goals.limits.v] = ~bound
        return free[:, :, None] * np.eye(self.goals.nv)


def improving(now: Any, before: Any) -> Any:
    """(B,) whether what rows miss (B,) can become less, or of one number of NumPy's: not where the last change did not
    halve what is small already, which is the rounding of coordinates of many lengths."""
    return (now > ROUNDING) & ~((now < CLOSED) & (now > 0.5 * before))
