"""Where linkages lock: the angles at which the bars of a dyad lie on one line, to the last bits.

Between two neighbouring poses one of which closes and the other not there is a lock. Between poses that both close
there may be two: where the margin is small and smallest in a pose, its least value around that pose is sought.
"""

from __future__ import annotations

import numpy as np

from shiftjax.families.family import Family, Turn, split
from shiftjax.record import record

PARTS = 32  # of an angle, at which margins are looked at in one call
ROUNDS = 12  # after which 2 pi is divided beyond the last bit
DIVES = 6  # after which two poses are a millionth of a degree apart
SMALL = 0.1  # margin of a pose around which less is sought
ROUNDED = 1e-12  # of margins that are the same in all poses, as those of two bars of one rigid triangle


@record
class Locks:
    """Where dyads stop closing, one entry a lock, by members and poses.

    Attributes:
        member: (L,) linkages. angle: (L,) of the motor's bar [rad], at which the dyad's bars lie on one line.
        node: (L,) the node that has no place beyond. ends: (L,) True where the linkage closes before this angle and not
            behind it, False where it begins to close there.
    """

    member: np.ndarray
    angle: np.ndarray
    node: np.ndarray
    ends: np.ndarray


@record
class _Brackets:
    """Pairs of angles one of which closes and the other not."""

    member: np.ndarray  # (L,)
    low: np.ndarray  # (L,) rad
    high: np.ndarray  # (L,)


def locks_of(family: Family, points: np.ndarray, angles: np.ndarray, margin: np.ndarray) -> Locks:
    """All that poses tell.

    Args:
        points: (B, N, 2). angles: (T,) or (B, T) [rad]. margin: (B, T), NaN where a linkage is not solved.
    """
    angles, closed = np.broadcast_to(angles, margin.shape), margin > 0.0
    member, pose = np.nonzero((closed[:, 1:] != closed[:, :-1]) & ~np.isnan(margin[:, :1]))
    brackets = _Brackets(member, angles[member, pose], angles[member, pose + 1])
    for dip in _dips(family, points, angles, margin):
        brackets = _Brackets(*(np.concatenate([getattr(part, name) for part in (brackets, dip)]) for name in FIELDS))
    order = np.lexsort((np.minimum(brackets.low, brackets.high), brackets.member))
    return _narrowed(family, points, _Brackets(*(getattr(brackets, name)[order] for name in FIELDS)))


FIELDS = ("member", "low", "high")


def _margins(family: Family, points: np.ndarray, member: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """(L, P) of members (L,) at angles (L, P)."""
    turn = Turn.of(grid)
    return split(family.members(member).follow(points[member], turn, 0, np.zeros((1, 1), np.int64)), turn, 0)[1]


def _grid(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(L, P) angles from one to the other; both are among them."""
    grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, PARTS + 1)
    grid[:, -1] = high
    return grid


def _narrowed(family: Family, points: np.ndarray, brackets: _Brackets) -> Locks:
    """The first lock within each pair of angles."""
    member, low, high = brackets.member, brackets.low, brackets.high
    every = np.arange(len(member))
    ends = _margins(family, points, member, low[:, None])[:, 0] > 0.0
    for _ in range(ROUNDS):
        grid = _grid(low, high)
        changed = (_margins(family, points, member, grid) > 0.0) != ends[:, None]
        changed[:, 0], changed[:, -1] = False, True
        first = changed.argmax(1)
        low, high = grid[every, first - 1], grid[every, first]
    node = _unplaced(family.members(member), points[member], np.where(ends, high, low))
    return Locks(member, 0.5 * (low + high), node, ends)


def _dips(family: Family, points: np.ndarray, angles: np.ndarray, margin: np.ndarray) -> list[_Brackets]:
    """Pairs of angles around locks between poses that close."""
    padded = np.pad(margin, ((0, 0), (1, 1)), constant_values=np.inf)
    before, after = padded[:, :-2], padded[:, 2:]
    least = (margin > 0.0) & (margin < SMALL) & (margin < before) & (margin <= after)
    member, pose = np.nonzero(least & (after > 0.0) & (before + after - 2.0 * margin > ROUNDED))
    low = angles[member, np.maximum(pose - 1, 0)]
    high = angles[member, np.minimum(pose + 1, margin.shape[1] - 1)]
    dips = []
    for _ in range(DIVES):
        grid = _grid(low, high)
        values = _margins(family, points, member, grid)
        closed = values > 0.0
        which, part = np.nonzero(closed[:, 1:] != closed[:, :-1])
        dips.append(_Brackets(member[which], grid[which, part], grid[which, part + 1]))
        deepest = values.argmin(1)
        left = np.flatnonzero(closed.all(1))
        low, high = grid[left, np.maximum(deepest[left] - 1, 0)], grid[left, np.minimum(deepest[left] + 1, PARTS)]
        member = member[left]
    return dips


def _unplaced(family: Family, points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """(L,) the first node in each linkage's order that has no place at an angle."""
    turn = Turn.of(angles[:, None])
    (places,), _ = split(family.follow(points, turn, 0), turn, 0)
    missing, nodes = np.isnan(places[:, :, 0, 0]), family.order.dyads[..., 0]
    hit = np.take_along_axis(missing, nodes, 1) & family.order.live
    return nodes[np.arange(len(nodes)), hit.argmax(1)]
