"""Both assemblies of a dyad, in closed form: three motions of one planar loop, turns or shifts. Host code.

Problem: E1(x1) E2(x2) E3(x3) M = I in the plane. Points are pairs z = x + i y and z' = x - i y, which for complex
members are no conjugates; a turn by x multiplies z by r = exp(i x) and z' by 1/r. Two circles, or a circle and a line,
meet in two points: the roots of a square polynomial; two lines in one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftjax.run.assemblies.skeleton import LOOP, PLANAR, SHIFT, TURN, ScrewNumbers, Skeleton

Pair = np.ndarray  # (2, P): z and z'


def is_dyad(skeleton: Skeleton) -> bool:
    """Whether a skeleton is a ring of three motions in the plane, at least one of which turns."""
    ring = skeleton.space == PLANAR and [closure.kind for closure in skeleton.closures] == [LOOP]
    return ring and sorted(skeleton.closures[0].branches[0]) == [0, 1, 2] and TURN in skeleton.motions


@np.errstate(all="ignore")  # of flat dyads, whose roots are infinite or no numbers
def roots_of_dyads(skeleton: Skeleton, numbers: ScrewNumbers) -> np.ndarray:
    """(P, roots, 3) values at which dyads close: two roots, of one turn and two shifts one. Axes of turns are +z."""
    order = list(skeleton.closures[0].branches[0])
    kinds = [skeleton.motions[k] for k in order]
    R, p = numbers.end_R[:, 0], _pair(numbers.end_p[:, 0])
    turn = R[:, 0, 0] + 1j * R[:, 1, 0]
    H = _Move(1.0 / turn, _turned(1.0 / turn, -p))  # M^-1, what the three motions are to do
    c, d = [_pair(numbers.center[:, k]) for k in order], [_pair(numbers.axis[:, k]) for k in order]
    if kinds.count(SHIFT) == 2:
        roots = _one_turn(kinds.index(TURN), c, d, H)
    elif kinds.count(SHIFT) == 0:
        roots = _three_turns(c, H)
    elif kinds[1] == SHIFT:
        roots = _shift_between(c, d[1], H)
    elif kinds[2] == SHIFT:
        roots = _shift_last(c[0], c[1], d[2], H)
    else:  # E3(-x3) E2(-x2) E1(-x1) = H^-1
        roots = [[-x for x in root[::-1]] for root in _shift_last(c[2], c[1], d[0], H.inverse())]
    out = np.empty((numbers.members, len(roots), 3), complex)
    for k, root in enumerate(roots):
        for place, x in zip(order, root, strict=True):
            out[:, k, place] = x
    return out


@dataclass
class _Move:
    """A motion of the plane: turned by `r`, then shifted."""

    r: np.ndarray
    p: Pair

    def of(self, z: Pair) -> Pair:
        return _turned(self.r, z) + self.p

    def inverse(self) -> _Move:
        return _Move(1.0 / self.r, _turned(1.0 / self.r, -self.p))


def _pair(vector: np.ndarray) -> Pair:
    return np.array([vector[:, 0] + 1j * vector[:, 1], vector[:, 0] - 1j * vector[:, 1]])


def _turned(r: np.ndarray, z: Pair) -> Pair:
    return np.array([r * z[0], z[1] / r])


def _angle(r: np.ndarray) -> np.ndarray:
    return -1j * np.log(r)


def _square_roots(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[np.ndarray]:
    """Both x of a x^2 + b x + c = 0, none of which subtracts what is nearly equal."""
    root = np.sqrt(b * b - 4.0 * a * c)
    root = np.where(np.real(np.conj(b) * root) < 0.0, -root, root)
    half = -0.5 * (b + root)
    return [half / a, np.where(half == 0.0, 0.0, c / half)]


def _three_turns(c: list[Pair], H: _Move) -> list[list[np.ndarray]]:
    """r1 (a + r2 b) = g, where a, b join the centers and g leads from the first to where the third is taken."""
    a, b, g = c[1] - c[0], c[2] - c[1], H.of(c[2]) - c[0]
    out = []
    for r2 in _square_roots(a[1] * b[0], a[0] * a[1] + b[0] * b[1] - g[0] * g[1], a[0] * b[1]):
        arm = a + _turned(r2, b)
        r1 = np.where(np.abs(arm[0]) > np.abs(arm[1]), g[0] / arm[0], arm[1] / g[1])
        out.append([_angle(r1), _angle(r2), _angle(H.r / r1 / r2)])
    return out


def _shift_last(c1: Pair, c2: Pair, d: Pair, H: _Move) -> list[list[np.ndarray]]:
    """r1 a = g - h D x3: a circle about the first center meets the line of the shift, turned as a whole by h."""
    a, g, D = c2 - c1, H.of(c2) - c1, _turned(H.r, d)
    out = []
    for x in _square_roots(D[0] * D[1], -(g[0] * D[1] + g[1] * D[0]), g[0] * g[1] - a[0] * a[1]):
        r1 = (g[0] - x * D[0]) / a[0]
        out.append([_angle(r1), _angle(H.r / r1), x])
    return out


def _shift_between(c: list[Pair], d: Pair, H: _Move) -> list[list[np.ndarray]]:
    """r1 (a + d x2) = g."""
    a, g = c[2] - c[0], H.of(c[2]) - c[0]
    out = []
    for x in _square_roots(d[0] * d[1], a[0] * d[1] + a[1] * d[0], a[0] * a[1] - g[0] * g[1]):
        r1 = g[0] / (a[0] + d[0] * x)
        out.append([_angle(r1), x, _angle(H.r / r1)])
    return out


def _one_turn(place: int, c: list[Pair], d: list[Pair], H: _Move) -> list[list[np.ndarray]]:
    """The turn is that of the whole; both shifts follow from a linear system."""
    r, center = H.r, c[place]
    turned = [_turned(r, d[k]) if k > place else d[k] for k in range(3) if k != place]
    right = H.p - (center - _turned(r, center))
    (u, v) = turned
    det = u[0] * v[1] - u[1] * v[0]
    shifts = [(right[0] * v[1] - right[1] * v[0]) / det, (u[0] * right[1] - u[1] * right[0]) / det]
    shifts.insert(place, _angle(r))
    return [shifts]
