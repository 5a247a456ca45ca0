"""Which members can be drawn: those with stored poses, those that are simulated again first, and why others cannot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.viewer.members.study_like import Drawable
from shiftjax.viewer.study.lacking_members import LackingMembers, listed
from shiftjax.viewer.study.stored_trajectories import StoredTrajectories


def drawable_of(
    wanted: np.ndarray,
    status: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    stored: StoredTrajectories,
    lacking: LackingMembers,
) -> Drawable:
    """Splits members into those that can be drawn and those that cannot, with the reason.

    Args:
        wanted: (k,) numbers of members. status, metrics: (members,) of all members.
        lacking: what is known of members without stored poses.
    """
    drawn = np.isin(wanted, lacking.kept)
    candidates = np.flatnonzero(drawn)[status[wanted[drawn]] > 0]  # only a failed member can lack its start
    if len(candidates):
        drawn[candidates] = stored.started(wanted[candidates])
    rest = wanted[~drawn]
    unstarted = never_started(rest, status, metrics)
    again = lacking.to_simulate(rest[~unstarted], any_stored=bool(drawn.any()))
    never = rest[np.isin(rest, lacking.kept) | unstarted]
    can = drawn | np.isin(wanted, [*lacking.simulated, *again])
    without = wanted[~can & ~np.isin(wanted, never)]
    sentences = []
    if len(again):
        sentences.append(f"No trajectory was kept of {len(again)} of them ({listed(again)}): simulated again.")
    if len(without):
        sentences.append(
            f"No trajectory was kept of {len(without)} of them ({listed(without)}). {lacking.reason(without)}"
        )
    if len(never):
        sentences.append(f"{len(never)} never started ({listed(never)}).")
    return Drawable(wanted[can], wanted[~can], " ".join(sentences), again)


def never_started(members: np.ndarray, status: np.ndarray, metrics: Mapping[str, np.ndarray]) -> np.ndarray:
    """(k,) whether members have not made a step nor begun one, as their figures say."""
    needed = ("velocity_gap", "steps")
    if not len(members) or not {*needed} <= {*metrics}:
        return np.zeros(len(members), bool)
    gap, steps = (np.asarray(metrics[name], float)[members] for name in needed)
    return (status[members] > 0) & np.isnan(gap) & ~(steps > 0)
