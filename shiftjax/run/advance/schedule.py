"""The schedule of a run: which partition every member had when, and which steps were moved off singular poses.

With it a run can be repeated without its search: no monitor trips, and every number is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.record import record
from shiftjax.topology.partition import Block, MemberBlocks
from shiftjax.topology.plan import Plan

PLAIN = (1.0,)  # the plain step, whatever its pivots: where the span ends before another pattern fits
PATTERNS: tuple[tuple[float, ...], ...] = (
    (0.37, 0.63),
    (0.63, 0.37),
    (0.42, 0.58),
    (0.31, 0.69),
    (0.3, 0.37, 0.33),
    (0.37, 0.3, 0.33),
    (0.27, 0.23, 0.23, 0.27),
    PLAIN,
)  # parts of as many steps as there are parts
ROOM = 32  # steps whose sizes are chosen that a lane takes between two looks of the host
STEPS = -1  # in place of a substructure: the decision is a pattern of steps


@record
class Schedule:
    """The partitions and moved steps of a run, with which `simulate` repeats it.

    Of B members and S substructures, with D decisions. Where a tolerance chose the sizes of steps, `taken` and `ends`
    say which, and all clocks are those of instants between the whole steps.

    Attributes:
        step: seconds. steps: of the span. t0: when it begins [s]; all clocks count from there.
        blocks: for every substructure the partitions that occur.
        patterns: the `PATTERNS` of that time.
        start: (S, B) index into `blocks[s]` of the partition at the start.
        member, clock: (D,) whose decision and at which step, sorted by step; at one step a member may have several.
        substructure: (D,) of which the partition changes, or `STEPS`.
        choice: (D,) index into `blocks[substructure]` or `patterns`.
        taken: (B,) steps of each member whose sizes were chosen, none where all are `step`. ends: their clocks at the
            end, member by member.
        end: (B,) step at which each member ended. status: (B,) with which `Outcome`. rejected: (B,) attempted steps.
        singular: whether members were to "pass" singular poses, or to "stop" there.
    """

    step: float
    steps: int
    t0: float
    blocks: tuple[tuple[Block, ...], ...]
    patterns: tuple[tuple[float, ...], ...]
    start: np.ndarray
    member: np.ndarray
    clock: np.ndarray
    substructure: np.ndarray
    choice: np.ndarray
    end: np.ndarray
    status: np.ndarray
    rejected: np.ndarray
    taken: np.ndarray
    ends: np.ndarray
    singular: str

    def rounds(self) -> list[np.ndarray]:
        """Indices of every member's first decision, of every member's second one, and so on."""
        order = np.argsort(self.member, kind="stable")
        deciders = self.member[order]
        number = np.arange(len(deciders)) - np.searchsorted(deciders, deciders)  # of a decision among its member's own
        return [np.sort(order[number == k]) for k in range(int(number.max(initial=-1)) + 1)]

    def partitions(self) -> list[MemberBlocks]:
        """For every substructure the partition of every member at the start."""
        return [MemberBlocks(tuple(blocks), start) for blocks, start in zip(self.blocks, self.start, strict=True)]

    def check(self, plan: Plan, members: int, wanted: tuple[float, int, float], singular: str) -> None:
        """Refuses a schedule of another mechanism, of other members or of other steps.

        Args:
            wanted: step [s], steps, start time [s]. singular: what members do at singular poses.

        Raises:
            ModelError: what differs.
        """
        stated = (len(self.end), self.step, self.steps, self.t0)
        for name, value, here in zip(
            ("members", "step", "steps", "start time"), stated, (members, *wanted), strict=True
        ):
            if value != here:
                raise ModelError("schedule", f"{name} {value:g}", f"{here:g}", "Replay with the arguments of its run.")
        if self.singular != singular:
            raise ModelError(
                "schedule", f"singular {self.singular!r}", repr(singular), "Replay with the arguments of its run."
            )
        columns = [{tuple(sorted(block.columns))} for block in plan.substructures]
        scheduled = [{tuple(sorted((*b.dependent, *b.independent))) for b in blocks} for blocks in self.blocks]
        if len(columns) != len(scheduled) or any(map(set.__sub__, scheduled, columns)):
            raise ModelError("schedule", "one of another mechanism", "of the same joints", "Replay its own model.")
        if self.patterns != PATTERNS:
            raise ModelError("schedule", "other patterns of steps", "those of this version", "Run without it.")


def sorted_decisions(noted: Sequence[np.ndarray], *, whole: bool) -> tuple[np.ndarray, ...]:
    """Member, clock, substructure and choice (D,) of decisions (4, n) as they were noted, by their clocks.

    Args:
        whole: whether clocks are numbers of steps.
    """
    decisions = np.concatenate([np.zeros((4, 0)), *noted], axis=1)
    clock, member = np.rint(decisions[1]).astype(int) if whole else decisions[1], decisions[0].astype(int)
    if whole:  # one sort in place of two
        order = np.argsort(clock * (1 + member.max(initial=0)) + member, kind="stable")
    else:
        order = np.lexsort((member, clock))
    return member[order], clock[order], *decisions[[2, 3]][:, order].astype(int)


def chosen_steps(noted: Sequence[np.ndarray], members: int) -> tuple[np.ndarray, np.ndarray]:
    """How many steps each member took whose sizes were chosen (B,), and the clocks at their ends, member by member, of
    members and clocks (2, n) as they were noted."""
    member, clock = np.concatenate([np.zeros((2, 0)), *noted], axis=1)
    return np.bincount(member.astype(int), minlength=members), clock[np.argsort(member, kind="stable")]
