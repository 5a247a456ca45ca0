"""Members that are to stop at singular poses: whether a step passes one, and where.

Problem: say of a step whether the loops lose rank within it. A singular value of the Jacobian is never negative, so
that a step may pass its zero unseen; with the singular vectors of the step's begin its sign can be told from the other
end: u^T J w has changed it. What has changed sign is looked at along the step, between both its ends: where no singular
value of the whole Jacobian vanishes, only a partition's rows or turning vectors were the cause.
Not seen: a singular value that touches zero between two steps and returns, unless a step comes into the window.
"""

from __future__ import annotations

import numpy as np

from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.pivoting.search import Jacobian
from shiftjax.mechanism.paths import listed
from shiftjax.outcome import Outcome, WithRemedy
from shiftjax.run.advance.ensemble import APPROACH, WINDOW, Ensemble
from shiftjax.run.advance.schedule import PLAIN
from shiftjax.run.programs.jacobian import jacobian_of

TURN = 0.3  # rad of a coordinate, or parts of the model's length, in a step whose size a tolerance chooses
# Pivots at which fixed steps are looked at, for every rad of one. A pose in it lies within half a step of a stage; the
# rest, a factor of 4, is for pivots that change faster than coordinates, and for speeds that grow until the next look.
COVER = 2.0
AHEAD = (1.37, 0.81, 2.0, 4.0, 8.0, 16.0)  # of a step that came too near, steps that show where the pose is
TURNS = 40  # of a search by thirds: 1e-7 of the step
BEYOND = 1.25  # of a lost step, that a pose lies within it: a longer step finds the place less well
LOST = 1e-2  # of a ratio of singular values at the ends of a step, within which it vanishes
REACH = 0.5  # of a step, about where a sign changes, in which the smallest singular value is sought


def stop_where_passed(lanes: Ensemble, members: np.ndarray, before: LaneTable, after: LaneTable) -> np.ndarray:
    """Ends those of some members whose step passes a singular pose or came into its window, where they stand.

    Args:
        before, after: their numbers at both ends of the step. Of one that has tripped nothing is said.

    Returns:
        (n,) whether it did.
    """
    share, which = passed_poses(lanes, members, before, after)
    landed = np.where(np.isfinite(share) | (after.row("trip") != 0.0), -1, lanes.near_pose(members, after, WINDOW))
    which, share = np.where(landed >= 0, landed, which), np.where(landed >= 0, 1.0, share)
    stopped = which >= 0
    clock = before.row("clock")[stopped]
    clock += share[stopped] * (after.row("clock")[stopped] - clock)
    end_at_poses(lanes, members[stopped], clock, which[stopped])
    return stopped


def tried_step(lanes: Ensemble, members: np.ndarray, before: LaneTable, size: np.ndarray) -> LaneTable:
    """Lanes of some members after a step of sizes (n,), in steps; of those that are lost in it the row `trip` says so.

    One that ends in a singular pose to the last bit is not lost: its numbers are finite, their condition infinite.
    """
    after, reached = lanes.try_steps(members, before, PLAIN, size)
    window = lanes.setup.pose_monitors
    in_pose = np.isposinf(after.rows("mon", within=window)).any(0)
    after.set("trip", ~np.isfinite(reached) & ~in_pose)
    after.set("clock", before.row("clock") + size)
    return after


def stop_ahead(lanes: Ensemble, members: np.ndarray) -> None:
    """Ends members whose next step, of a size that a tolerance chose, came into the window of a singular pose, or was
    lost; of those some as `non_finite`, where no finite numbers show that a pose is in that step.
    """
    before = lanes.table.take(members)
    clock, which = before.row("clock").copy(), in_window(lanes, before)
    left, came = np.arange(len(members)), which >= 0
    for factor in AHEAD:
        begin, size = before.take(left), factor * before.row("fraction")[left]
        after = tried_step(lanes, members[left], begin, size)
        share, block = passed_poses(lanes, members[left], begin, after)
        passed = np.isfinite(share) & (came[left] | (share * factor <= BEYOND))
        clock[left[passed]] += share[passed] * size[passed]
        which[left[passed]] = block[passed]
        left = left[~passed]
    lanes.status[members[which < 0]] = int(Outcome.non_finite)
    end_at_poses(lanes, members[which >= 0], clock[which >= 0], which[which >= 0])


def in_window(lanes: Ensemble, table: LaneTable) -> np.ndarray:
    """(n,) the first substructure whose monitor of poses has frozen lanes in their step, -1 for none, or a lost one."""
    window = lanes.setup.pose_monitors
    conditions = table.rows("mon", within=window)
    inside = (conditions > table.rows("limit", within=window)) & np.isfinite(conditions)
    return np.where(inside.any(0), inside.argmax(0), -1)


def turn_little(lanes: Ensemble, members: np.ndarray) -> None:
    """Makes the next steps of some members, whose sizes a tolerance chooses, so small that none passes two poses."""
    with np.errstate(divide="ignore"):
        size = TURN / turn_of(lanes, members)
    lanes.table.set("fraction", np.minimum(lanes.table.row("fraction", members), size), members)


def look_farther(lanes: Ensemble, members: np.ndarray) -> None:
    """Widens the windows in which fixed steps of some members are looked at, so that none of their next steps, as fast
    as the members move now, has its stages on both sides of one.
    """
    if not lanes.setup.blocks:
        return
    window = lanes.setup.pose_monitors
    with np.errstate(all="ignore"):
        ratio = np.maximum(APPROACH * lanes.ratio[:, members], COVER * turn_of(lanes, members))
        lanes.table.set("limit", ratio**-2.0, members, window)


def turn_of(lanes: Ensemble, members: np.ndarray) -> np.ndarray:
    """(n,) the most by which a coordinate moves in a step of h [rad, or parts of the model's length]."""
    plan = lanes.setup.plan
    unit = np.asarray(lanes.setup.units)[:, None]
    return np.abs(lanes.table.rows("x", members, slice(plan.nv)) / unit).max(0, initial=0.0) * lanes.settings.h


def end_at_poses(lanes: Ensemble, members: np.ndarray, clock: np.ndarray, which: np.ndarray, remedy: str = "") -> None:
    """Ends members at singular poses.

    Args:
        clock: (n,) when they would be there. which: (n,) substructure that loses rank. remedy: instead of that of the
            status.
    """
    plan, settings = lanes.setup.plan, lanes.settings
    causes = dict[int, str]()
    for member, at, s in zip(members.tolist(), clock.tolist(), which.tolist(), strict=True):
        loops = listed([plan.constraints[k].name for k in plan.substructures[s].groups])
        cause = f"at {settings.t0 + at * settings.h:.6g} s: a singular pose, where the loops of {loops} lose rank"
        causes[member] = WithRemedy(cause + remedy) if remedy else cause
    lanes.end(causes, Outcome.singular_pose)


def passed_poses(
    lanes: Ensemble, members: np.ndarray, before: LaneTable, after: LaneTable
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) shares of steps after which substructures lose rank, infinite where none does; (n,) the first of those."""
    share, which = np.full(len(members), np.inf), np.full(len(members), -1)
    for s, block, here in lanes.by_block(members):
        if rank := len(block.dependent):
            step = _Step(lanes, s, block.primary, before.take(here), after.take(here))
            at = step.lost(rank)
            first = at < share[here]
            share[here[first]], which[here[first]] = at[first], s
    return share, which


def rank_ratio(lanes: Ensemble, members: np.ndarray, table: LaneTable) -> np.ndarray:
    """(n,) the least over substructures of the smallest to the largest of as many singular values as a rank."""
    least = np.full(len(members), np.inf)
    for s, block, here in lanes.by_block(members):
        if rank := len(block.dependent):
            some = table.take(here)
            J = _Step(lanes, s, block.primary, some, some).jacobian(some)
            least[here] = np.minimum(least[here], _ratio(J, rank))
    return least


def substructure_jacobian(lanes: Ensemble, s: int) -> Jacobian:
    """Of substructure s, made when it is first asked for."""
    if s not in lanes.jacobians:
        lanes.jacobians[s] = jacobian_of(lanes.setup, s)
    return lanes.jacobians[s]


class _Step:
    """A substructure's Jacobian along steps of members of one partition.

    Args:
        primary: local rows of the partition.
    """

    def __init__(self, lanes: Ensemble, s: int, primary: tuple[int, ...], before: LaneTable, after: LaneTable) -> None:
        self.lanes, self.function, self.before, self.after = lanes, substructure_jacobian(lanes, s), before, after
        self.rows = np.flatnonzero(np.isin(self.function.rows, primary))

    def jacobian(self, table: LaneTable) -> np.ndarray:
        """(n, m, columns) where lanes stand; not numbers where one is none."""
        q, p = (table.rows(name).astype(float) for name in ("q", "p"))
        settings = self.lanes.settings
        J = self.function(q, p, settings.t0 + table.row("clock").astype(float) * settings.h)
        return np.where(np.isfinite(J).all((1, 2), keepdims=True), J, np.nan)

    def lost(self, rank: int) -> np.ndarray:
        """(n,) share of the step at which the rank is lost, infinite where it is not."""
        out = np.full(self.before.lanes, np.inf)
        first, last = (self.jacobian(table)[:, self.rows] for table in (self.before, self.after))
        finite = np.isfinite(first).all((1, 2)) & np.isfinite(last).all((1, 2))
        good = np.asarray(finite & (self.after.row("trip") == 0.0))
        u, _, w = np.linalg.svd(np.where(good[:, None, None], first, 0.0), full_matrices=False)
        start = np.einsum("bik,bij,bkj->bk", u, first, w)
        end = np.einsum("bik,bij,bkj->bk", u, last, w)
        turned = np.flatnonzero(good & (end <= 0.0).any(1))
        if not len(turned):
            return out
        pair = end[turned].argmin(1)
        at = start[turned, pair] / (start[turned, pair] - end[turned, pair])
        low, high = np.maximum(at - REACH, 0.0), np.minimum(at + REACH, 1.0)
        step = [table.take(turned) for table in (self.before, self.after)]
        for _ in range(TURNS):
            third = (high - low) / 3.0
            left, right = (_ratio(self.jacobian(self._between(step, x)), rank) for x in (low + third, high - third))
            low, high = np.where(left < right, low, low + third), np.where(left < right, high - third, high)
        at = 0.5 * (low + high)
        least, ends = (
            _ratio(self.jacobian(self._between(step, at)), rank),
            [_ratio(self.jacobian(t), rank) for t in step],
        )
        out[turned] = np.where(np.isfinite(least) & (least <= LOST * np.maximum(*ends)), at, np.inf)
        return out

    def _between(self, step: list[LaneTable], share: np.ndarray) -> LaneTable:
        a, b = step
        steps = b.row("clock") - a.row("clock")
        table = self.lanes.between(a, b, share, steps * self.lanes.settings.h)
        table.set("clock", a.row("clock") + share * steps)
        return table


def _ratio(J: np.ndarray, rank: int) -> np.ndarray:
    """(n,) smallest over largest singular value, of as many as a rank; infinite where there are none."""
    good = np.asarray(np.isfinite(J).all((1, 2)))
    size = np.linalg.svd(np.where(good[:, None, None], J, 0.0), compute_uv=False)
    return np.where(good, size[:, rank - 1] / np.maximum(size[:, 0], np.finfo(float).tiny), np.inf)
