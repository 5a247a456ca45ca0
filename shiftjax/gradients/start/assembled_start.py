"""The derivative of assembled starts with respect to the varied numbers: those of programs, those of starts alone.

Problem: q, v and the forces' states of `assembly.start_of` as functions of `Prepared.values`. Joints outside loops
stand where they are stated; in loops held joints do and the others follow by the implicit function theorem, quaternions
in their tangent space; speeds follow by differentiated least squares.
Refused: numbers for whose neighbours the loops do not close; numbers for whose neighbours they do not move, as of an
axis that leaves its plane: redundant rows of J are so no more, and close what moved; and freedoms that nothing holds
where a number moves the loop: there the pose depends on the way that led to it. Only links that spin unfelt may:
their spin follows by the least move, which is right for all that does not see it.

Host code, all members at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.gradients.start.coordinates import changes_of_coordinates, displacements
from shiftjax.gradients.start.loop_start import LoopStart
from shiftjax.gradients.start.spins import unfelt
from shiftjax.gradients.start.start_functions import start_functions_of
from shiftjax.run.closing.holding import columns_of
from shiftjax.run.closing.host_evaluation import per_member
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start

BLOCK = 8 << 20  # bytes of Jacobians of the members that are done together
STILL = 1e-12  # a dimensionless closure that changes less, for a number that changes by 1 or by the model's length
MOVED = 1e-6  # part of a freedom's largest motion: a joint that moves less does not hold it
LOCKS = 1e-6  # part of a change of J that takes mobility
OPEN = 1e-6  # part of a change of closures that no joint takes back: 0.2 for a Bricard, 2e-15 elsewhere


class _Group:
    """Members that hold the same joints, with what is known of their loops."""

    def __init__(self, prepared: Prepared, start: Start, members: np.ndarray) -> None:
        plan, counts = prepared.plan, start.holds[:, members[0]]
        self.members, self.q = members, start.q[:, members]
        self.values = prepared.values[:, members]
        lane = prepared.lane_of(members, 1.0)
        given = per_member(lane.speeds(), len(members))
        self.loops = [
            LoopStart(
                lane, self.q, given, s,
                columns_of(plan, s, start.held_positions[s][: counts[s]]), start.held_speeds[s],
            )
            for s in range(len(plan.substructures))
        ]  # fmt: skip


class StartDerivative:
    """The derivative of the assembled starts of B members.

    Args:
        prepared, start: a model, and its `start_of`.
        wanted: paths of the numbers that must have a derivative; all where left out.

    Attributes:
        undefined: (count, B) numbers on which a member's start does not depend smoothly: of members that are not closed
            or that could not keep what is stated. Their cotangents are NaN, and so are tangents along them.

    Raises:
        ModelError: a number with respect to which no member has a derivative.
    """

    def __init__(self, prepared: Prepared, start: Start, wanted: Collection[str] | None = None) -> None:
        self.prepared, self.start, self._plan = prepared, start, prepared.plan
        self._functions = start_functions_of(prepared)
        good = start.closed & np.isfinite(start.q).all(0) & np.isfinite(start.v).all(0)
        good &= np.isfinite(prepared.values).all(0)
        self._cuts = _cut(start, np.flatnonzero(good), _size(prepared))
        self._last: tuple[int, _Group] | None = None
        tied = {k for block in self._plan.substructures for k in block.joints}
        apart = [joint for k, joint in enumerate(self._plan.joints) if k not in tied]
        self._apart_q = [joint.q + k for joint in apart for k in range(joint.nq)]
        self._apart_v = [speed for joint in apart for speed in joint.speeds]
        self.undefined = np.ones(prepared.values.shape, bool)
        self._judge(prepared.vary if wanted is None else wanted)

    def tangent(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of coordinates (nq, B), speeds (nv, B) and states (ns, B) along one (count, B) of `values`."""
        plan, members = self._plan, self.prepared.members
        out = [np.full((n, members), np.nan) for n in (plan.nq, plan.nv, plan.ns)]
        for group in self._groups():
            for whole, part in zip(out, self._tangent_of(group, change[:, group.members]), strict=True):
                whole[:, group.members] = part
        lost = (self.undefined & (change != 0.0)).any(0)
        for whole in out:
            whole[:, lost] = np.nan
        return out[0], out[1], out[2]

    def adjoint(self, q_bar: np.ndarray, v_bar: np.ndarray, states_bar: np.ndarray) -> np.ndarray:
        """(count, B) cotangents of `values` from those of coordinates (nq, B), speeds (nv, B), states (ns, B)."""
        out = np.full(self.prepared.values.shape, np.nan)
        for group in self._groups():
            members = group.members
            out[:, members] = self._adjoint_of(group, q_bar[:, members], v_bar[:, members], states_bar[:, members])
        out[self.undefined] = np.nan
        return out

    # -- members that hold the same joints -----------------------------------------------------------------------------

    def _groups(self) -> Iterator[_Group]:
        for k, members in enumerate(self._cuts):
            if self._last is None or self._last[0] != k:
                self._last = k, _Group(self.prepared, self.start, members)
            yield self._last[1]

    def _tangent_of(self, group: _Group, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        plan, functions, q = self._plan, self._functions, group.q
        at = np.concatenate([q, group.values])
        stated_q, stated_v, states = self._stated(group, change)
        stated_moves, moved = displacements(plan, q, stated_q), np.zeros_like(stated_v)
        for loop, phi in zip(group.loops, functions.phi, strict=True):
            moves = _inside(stated_moves, loop)[:, loop.held]
            moved[loop.columns] = _outside(loop.pose_tangent(phi.tangent(at, change).T, moves), loop)
        dq, dv = changes_of_coordinates(plan, q, moved), stated_v.copy()
        dq[self._apart_q] = stated_q[self._apart_q]
        for loop, rows in zip(group.loops, functions.rows, strict=True):
            moved_rows = rows.tangent(at, np.concatenate([dq, change])).T
            entries = loop.J[0].size
            J, nu = moved_rows[:, :entries].reshape(loop.J.shape), moved_rows[:, entries:]
            speeds = _inside(stated_v, loop)[:, loop.stated]
            dv[loop.columns] = _outside(loop.speed_tangent(J, nu, speeds), loop)
        return dq, dv, states

    def _adjoint_of(self, group: _Group, q_bar: np.ndarray, v_bar: np.ndarray, states_bar: np.ndarray) -> np.ndarray:
        plan, functions, q = self._plan, self._functions, group.q
        at, q_bar, out = np.concatenate([q, group.values]), q_bar.copy(), np.zeros_like(group.values)
        stated_v = np.zeros_like(v_bar)
        stated_v[self._apart_v] = v_bar[self._apart_v]
        for loop, rows in zip(group.loops, functions.rows, strict=True):
            J_bar, nu_bar, speeds_bar = loop.speed_adjoint((v_bar[loop.columns] * loop.unit[:, None]).T)
            both = rows.adjoint(at, np.concatenate([J_bar.reshape(len(J_bar), -1), nu_bar], axis=1).T)
            q_bar, out = q_bar + both[: plan.nq], out + both[plan.nq :]
            stated_v[np.array(loop.columns)[loop.stated]] = speeds_bar.T / loop.unit[loop.stated, None]
        moved_bar, stated_moves = displacements(plan, q, q_bar, transposed=True), np.zeros_like(v_bar)
        for loop, phi in zip(group.loops, functions.phi, strict=True):
            phi_bar, moves_bar = loop.pose_adjoint((moved_bar[loop.columns] * loop.unit[:, None]).T)
            out += phi.adjoint(at, phi_bar.T)
            stated_moves[np.array(loop.columns)[loop.held]] = moves_bar.T / loop.unit[loop.held, None]
        stated_q = changes_of_coordinates(plan, q, stated_moves, transposed=True)
        stated_q[self._apart_q] = q_bar[self._apart_q]
        return out + functions.stated.adjoint(group.values, np.concatenate([stated_q, stated_v, states_bar]))

    def _stated(self, group: _Group, change: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of stated coordinates, speeds and states."""
        nq, nv = self._plan.nq, self._plan.nv
        changes = self._functions.stated.tangent(group.values, change)
        return changes[:nq], changes[nq : nq + nv], changes[nq + nv :]

    # -- what has no derivative ----------------------------------------------------------------------------------------

    def _judge(self, needed: Collection[str]) -> None:
        """Fills `undefined`; raises for a number that has a derivative in no member that stands as stated."""
        shape = self.prepared.values.shape
        rigid, loose, locked = (np.zeros(shape, bool) for _ in range(3))
        counts = np.array([len(joints) for joints in self.start.held_positions]).reshape(-1, 1)
        stands = np.zeros(shape[1], bool)
        for group in self._groups():
            members = group.members
            stands[members] = (self.start.holds[:, members] == counts).all(0)
            free = [self._loose(group, loop) for loop in group.loops]
            moving = [self._moving(group, s) for s in range(len(group.loops))]
            for k in range(shape[0]):
                self.undefined[k, members], rigid[k, members], loose[k, members] = self._judged(group, k, free)
                locked[k, members] = ~self.undefined[k, members] & self._locks(group, k, moving)
        self.undefined |= locked
        for k, path in ((k, path) for k, path in enumerate(self.prepared.vary) if path in needed):
            if stands.any() and rigid[k, stands].all():
                raise _rigid(path)
            if stands.any() and loose[k, stands].all():
                raise _loose(path, self._loosest())
            if stands.any() and locked[k, stands].all():
                raise _locked(path)

    def _loose(self, group: _Group, loop: LoopStart) -> np.ndarray:
        """(B,) whether a loop has freedoms that nothing holds and something feels."""
        if not loop.idle.any():
            return np.zeros(len(group.members), bool)
        return (loop.idle > 0) & ~unfelt(self.prepared.lane_of(group.members, 1.0), group.q, loop)

    def _judged(self, group: _Group, k: int, free: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """(B,) for a number: whether there is no derivative, whether no neighbour closes, whether it moves a freedom.

        Args:
            free: of every loop `_loose`.
        """
        change = np.zeros_like(group.values)
        change[k] = 1.0
        bad, rigid, loose = np.zeros((3, len(group.members)), bool)
        at = np.concatenate([group.q, group.values])
        stated = displacements(self._plan, group.q, self._stated(group, change)[0])
        still = STILL / max(1.0, self.prepared.setup.length)
        for loop, phi, idle in zip(group.loops, self._functions.phi, free, strict=True):
            opened = phi.tangent(at, change).T
            push = loop.push(opened, _inside(stated, loop)[:, loop.held])
            moves = np.abs(push).max(1, initial=0.0) > still
            if not moves.any():
                continue
            loose |= moves & idle
            bad |= moves & (loop.unreachable(push) > OPEN)
            alone = (np.abs(opened).max(1, initial=0.0) > still) & (loop.unreachable(opened) > OPEN)
            rigid |= alone & (loop.unclosable(opened) > OPEN) if alone.any() else alone
        return bad | rigid | loose, rigid, loose

    def _moving(self, group: _Group, s: int) -> np.ndarray:
        """(B,) whether a loop moves only since rows of it are redundant, here and beside this pose."""
        loop = group.loops[s]
        redundant = loop.redundant
        if not redundant.any():
            return redundant
        motion = np.zeros((self._plan.nv, len(group.members)))
        motion[loop.columns] = _outside(loop.motion(), loop)
        along = self._change_of_rows(group, s, np.zeros_like(group.values), motion)
        return redundant & (loop.locking(along) < LOCKS)  # else the pose is singular, and those beside it are not

    def _locks(self, group: _Group, k: int, moving: Sequence[np.ndarray]) -> np.ndarray:
        """(B,) whether a change of a number takes a loop's mobility.

        Args:
            moving: of every loop `_moving`.
        """
        out = np.zeros(len(group.members), bool)
        change = np.zeros_like(group.values)
        change[k] = 1.0
        if not any(moves.any() for moves in moving) or not self._reaches(group, change):
            return out
        for s, (loop, moves) in enumerate(zip(group.loops, moving, strict=True)):
            if moves.any():
                moved = displacements(self._plan, group.q, self._tangent_of(group, change)[0])
                out |= moves & (loop.locking(self._change_of_rows(group, s, change, moved)) > LOCKS)
        return out

    def _reaches(self, group: _Group, change: np.ndarray) -> bool:
        """Whether a loop or what is stated depends on a number at all."""
        still = np.concatenate([np.zeros_like(group.q), change])
        at = np.concatenate([group.q, group.values])
        rows = (function.tangent(at, still).any() for function in self._functions.rows)
        return any(rows) or any(part.any() for part in self._stated(group, change))

    def _change_of_rows(self, group: _Group, s: int, change: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """(B, m, n) that of J of a loop along a change of `values` and displacements (nv, B)."""
        J = group.loops[s].J
        both = np.concatenate([changes_of_coordinates(self._plan, group.q, moved), change])
        rows = self._functions.rows[s].tangent(np.concatenate([group.q, group.values]), both).T
        return rows[:, : J[0].size].reshape(J.shape)

    def _loosest(self) -> str:
        """A joint of one coordinate that nothing holds, "" where there is none."""
        paths = {one.v: one.path for one in self._plan.coordinates if one.plain}
        for loop in next(self._groups()).loops:
            moved = dict(zip(loop.columns, np.abs(loop.idle_motion()[0]), strict=True))
            loose = [speed for speed in moved if speed in paths and moved[speed] > MOVED]
            if loop.idle[0] and loose:
                return paths[max(loose, key=moved.__getitem__)]
        return ""


def _inside(moved: np.ndarray, loop: LoopStart) -> np.ndarray:
    """(B, n) dimensionless from (nv, B)."""
    return (moved[loop.columns] / loop.unit[:, None]).T


def _outside(moved: np.ndarray, loop: LoopStart) -> np.ndarray:
    """(n, B) from dimensionless (B, n)."""
    return moved.T * loop.unit[:, None]


def _size(prepared: Prepared) -> int:
    """How many members are done together."""
    entries = max((block.rows * len(block.columns) for block in prepared.plan.substructures), default=1)
    return max(BLOCK // (8 * entries), 1)


def _cut(start: Start, members: np.ndarray, size: int) -> list[np.ndarray]:
    """Members in groups that keep as many of the joints to be held."""
    if not len(members):
        return []
    _, kind = np.unique(start.holds[:, members], axis=1, return_inverse=True)
    kinds = [members[np.ravel(kind) == k] for k in range(int(kind.max()) + 1)]
    return [part for alike in kinds for part in np.array_split(alike, -(-len(alike) // size))]


def _rigid(path: str) -> ModelError:
    fault = "a derivative by a number for whose neighbours the loops do not close"
    todo = "Vary other numbers: the mechanism is over-constrained, and moves at single values of this one only."
    return ModelError(path, fault, "numbers that leave the loops closed", todo)


def _locked(path: str) -> ModelError:
    fault = "a derivative by a number for whose neighbours a loop does not move"
    todo = "Vary other numbers: the loop moves since its axes are parallel or meet, at single values of this one only."
    return ModelError(path, fault, "numbers that leave the loops their mobility", todo)


def _loose(path: str, joint: str) -> ModelError:
    fault = (
        "a derivative by a number that moves a loop of which a freedom is not held: the start depends on the way to it"
    )
    todo = f"Use hold=[{joint!r}], or give initial_displacement of it in the file."
    if not joint:
        todo = (
            "A link spins between balls: make it symmetric about its line, or give it two revolute joints for a ball."
        )
    return ModelError(path, fault, "starts in which stated joints hold all freedoms", todo)
