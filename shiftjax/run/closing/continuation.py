"""Continuation: closed poses followed along a parameter, a curve a member, of many members at once.

Problem: from a closed pose to the poses that a parameter leads to, as far as it is to go or as there are any.
A stride predicts a pose and closes it (`closer`). Where that fails, or leads to another curve, a stride half as long is
tried, down to a finest one: there the member stands. Who follows curves says how a pose is predicted, which pose is
believed, and how long the next stride may be.

Host code. Predictor and corrector: Allgower, Georg, Numerical Continuation Methods, chapter 2.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

STRIDES = 100_000  # tries of a member: more than any way takes that has an end


class Curves(Protocol):
    """Curves of closed poses, one a member, each followed so far."""

    def advanced(self, members: np.ndarray, stride: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tries a stride (K,) of some members (K,), and takes the poses that are on their curves.

        Returns:
            whether each was taken (K,), and the longest stride that may come next then (K,), 0 at the end of the way.
        """
        ...


def followed(curves: Curves, stride: np.ndarray, finest: np.ndarray | float, tries: int = STRIDES) -> np.ndarray:
    """Follows curves to the ends of their ways, or as far as there are strides that are not too fine.

    Args:
        stride: (B,) the first one of every member, of none where it is 0. finest: (B,) shorter ones are not tried.

    Returns:
        (B,) whether a member has come to an end; False where so many tries did not suffice.
    """
    stride = stride.copy()
    for _ in range(tries):
        members = np.flatnonzero(stride > 0.0)
        if not len(members):
            break
        taken, following = curves.advanced(members, stride[members])
        stride[members] = np.where(taken, following, 0.5 * stride[members])
        stride[stride < finest] = 0.0
    return stride == 0.0


def between(before: float | np.ndarray, after: np.ndarray, fraction: float | np.ndarray) -> np.ndarray:
    """Exact at the end of the way, and no number on the way to an infinite one."""
    if type(fraction) is float and fraction == 1.0:
        return after
    with np.errstate(all="ignore"):  # the way to an infinite number, or from -1e308 to 1e308
        return np.where(np.equal(fraction, 1.0), after, before + fraction * (after - before))
