"""Where the members of a run begin, and what of it was stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

# Of six values at -3, -2, -1, 1, 2 and 3 times a distance, what their polynomial of the fifth degree has at 0.
MIDDLE = (0.05, -0.3, 0.75, 0.75, -0.3, 0.05)
NODES = (-3, -2, -1, 1, 2, 3)


@dataclass(frozen=True)
class Statements:
    """What is stated of a start: coordinates as places in the plan, the most binding first.

    Attributes:
        positions: those whose place is stated; speeds: whose speed is.
        named_positions, named_speeds: those of them that were named for this run, not by the file alone.
        led: those whose drivers say where they stand and how they move.
        alone: whether the file alone speaks. Else what it states of those that follow others says where they are near.
    """

    positions: tuple[int, ...]
    speeds: tuple[int, ...]
    named_positions: frozenset[int] = frozenset()
    named_speeds: frozenset[int] = frozenset()
    led: frozenset[int] = frozenset()
    alone: bool = True


@dataclass
class Start:
    """Assembled starts of B members.

    Attributes:
        q: (nq, B) coordinates; v: (nv, B) speeds; states: (ns, B) of forces.
        closed: (B,) whether the loops are; gap: (B,) by which they are not [m or rad].
        worst: (B,) index of the constraint that stays open most.
        change: (B,) largest change of a stated displacement [rad or m]; moved: (B,) its coordinate, -1 for none.
        speed_change, speed_moved: the same of stated speeds [per second].
        binding: (B,) whether that is more than roundings of coordinates that follow others.
        branch: (B,) signs of the Jacobians by which assembly branches differ, one a block, "" where there are none.
        unsure: (B,) whether the way from the file's pose may have changed the branch.
        holds: (S, B) how many of `held_positions` a member keeps where they were stated, of every substructure.
        held_positions: of every substructure the coordinates that keep their stated place, the most binding first.
        held_speeds: of every substructure the local columns of speeds that stay as stated.
        at_pose: (B,) substructure that is on a singular pose, -1 for none; None where no member is on one.
        ways: (poses, nq + nv + 1, B) coordinates and speeds beside the start, along the branch of those members, and
            their seconds after the start, 0 where nothing is led in time; not numbers where there are none.
        remarks: notes of a start that is not where an earlier run has ended. brought: (B,) members whose start is not;
            None where no run goes on.
        lacking: member -> why it does not begin: a branch that it does not have.
    """

    q: np.ndarray
    v: np.ndarray
    states: np.ndarray
    closed: np.ndarray
    gap: np.ndarray
    worst: np.ndarray
    change: np.ndarray
    moved: np.ndarray
    speed_change: np.ndarray
    speed_moved: np.ndarray
    binding: np.ndarray
    branch: np.ndarray
    unsure: np.ndarray
    holds: np.ndarray
    held_positions: tuple[tuple[int, ...], ...]
    held_speeds: tuple[tuple[int, ...], ...]
    at_pose: np.ndarray | None = None
    ways: np.ndarray | None = None
    remarks: tuple[str, ...] = ()
    brought: np.ndarray | None = None
    lacking: Mapping[int, str] = field(default_factory=dict)

    @property
    def changed(self) -> np.ndarray:
        """(B,) whether something stated could not be kept, of those whose loops are closed."""
        return self.closed & (self.binding | (self.speed_moved >= 0))

    @property
    def beside(self) -> np.ndarray:
        """(nq, B) coordinates, of members on a singular pose those of the farthest pose beside it."""
        if self.ways is None:
            return self.q
        there = self.ways[-1, : len(self.q)]
        return np.where(np.isfinite(there), there, self.q)

    def without_way(self, member: int) -> bool:
        """Whether a member begins on a singular pose, and no branch is known along which it goes."""
        if self.at_pose is None or self.ways is None or self.at_pose[member] < 0:
            return False
        return not np.isfinite(self.ways[:, :, member]).all()

    def some(self, members: np.ndarray) -> Start:
        """The starts of some of the members."""
        arrays = {name: getattr(self, name)[..., members] for name in self._arrays()}
        if self.at_pose is not None and self.ways is not None:
            arrays |= {"at_pose": self.at_pose[members], "ways": self.ways[..., members]}
        if self.brought is not None:
            arrays["brought"] = self.brought[members]
        place = {int(k): i for i, k in enumerate(np.arange(len(self.gap))[members])}
        lacking = {place[k]: text for k, text in self.lacking.items() if k in place}
        return replace(self, lacking=lacking, **arrays)

    @classmethod
    def joined(cls, parts: Sequence[Start]) -> Start:
        """The starts of several groups of members as one; all hold the same joints."""
        joined = {name: np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in cls._arrays()}
        return replace(parts[0], **joined)

    @classmethod
    def _arrays(cls) -> list[str]:
        """The attributes with an axis of members."""
        others = ("held_positions", "held_speeds", "at_pose", "ways", "remarks", "brought", "lacking")
        return [item.name for item in fields(cls) if item.name not in others]

    @classmethod
    def standing(cls, q: np.ndarray, v: np.ndarray, states: np.ndarray, closed: np.ndarray, gap: np.ndarray) -> Start:
        """A start of which nothing is stated: it goes on from there."""
        zero, none = np.zeros(len(gap)), np.full(len(gap), -1)
        nothing, sure = np.full(len(gap), "", dtype=object), np.zeros(len(gap), bool)
        worst = np.zeros(len(gap), int)
        holds = np.zeros((0, len(gap)), int)
        return cls(q, v, states, closed, gap, worst, zero, none, zero, none, sure, nothing, sure, holds, (), ())
