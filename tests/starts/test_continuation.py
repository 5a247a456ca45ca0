"""Continuation: curves are followed to the ends of their ways or of themselves, and members do not see each other."""

from __future__ import annotations

import numpy as np

from shiftjax.run.closing.continuation import followed

FINEST = 1e-10
WIDEST = 0.3


class Arcs:
    """The upper half of the unit circle x^2 + y^2 = 1 over x, from 0 to a target: it ends at x = 1."""

    def __init__(self, target: np.ndarray) -> None:
        self.target, self.x, self.tries = target, np.zeros(len(target)), 0

    def advanced(self, members: np.ndarray, stride: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.tries += len(members)
        x = np.minimum(self.x[members] + stride, self.target[members])
        taken = x <= 1.0
        self.x[members[taken]] = x[taken]
        left = self.x[members] < self.target[members]
        return taken, np.where(left, np.minimum(2.0 * stride, WIDEST), 0.0)


def test_curves_end_at_their_targets_or_where_they_fold() -> None:
    target = np.array([0.0, 0.7, 1.0, 5.0])
    arcs = Arcs(target)
    ended = followed(arcs, np.where(target > 0, WIDEST, 0.0), FINEST)
    assert ended.all() and (arcs.x[:3] == target[:3]).all()
    assert 1.0 - 2.0 * FINEST < arcs.x[3] <= 1.0


def test_members_do_not_see_each_other() -> None:
    target = np.linspace(0.1, 2.0, 7)
    together = Arcs(target)
    followed(together, np.full(7, WIDEST), FINEST)
    alone = [Arcs(target[[k]]) for k in range(7)]
    for arc in alone:
        followed(arc, np.full(1, WIDEST), FINEST)
    np.testing.assert_array_equal(together.x, [arc.x[0] for arc in alone])
    assert together.tries == sum(arc.tries for arc in alone)


def test_a_way_that_takes_too_many_tries_is_told() -> None:
    arcs = Arcs(np.array([0.2, 0.9]))
    ended = followed(arcs, np.full(2, WIDEST), FINEST, tries=2)
    assert ended.tolist() == [True, False] and arcs.x[1] == 2 * WIDEST
