"""What presses in friction that grows with its load, which changes with that friction, and how it is solved for.

With u_i what presses in seat i, and vectors p, P of reactions without friction and for a unit of each u,

    u_i = given_i + sum_k weight_ik |p_ik + sum_j u_j P_ikj|.

The right-hand side is convex. Newton's method rises from below to the smallest solution, the one that goes over into
that without friction as friction vanishes; what is left is squared by each iteration, but where the gain, the sum of
weight |P|, is near 1, the first ones only double u.

One seat has a start below its solution which is not 0: turned into the plane of p and P, its parts are
(a_k + u g_k, b_k), and by the triangle inequality their lengths sum up to |(sum a + u sum g, sum b)| at least. The
smallest u with u = given + that length is the root of a quadratic; it is the solution itself where the parts have one
direction, as a single part has, and where there is no root there is no solution. Such a lane is jammed (Painleve's
paradox: friction presses a body on its guide as much as it holds it back): u is then not a number.
Lane code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    dot,
    is_zero,
    larger,
    largest,
    minus,
    norm_squared,
    plus,
    ratio,
    scale,
    select,
    sqrt,
    total,
    zeros,
)

# Of 4 000 random seats of gains of 0.9, 0.99, 0.999 what is left is at most 1e-12 of the loads: of one seat with one
# part after 1 iteration, which makes up for the rounding of the quadratic, of more parts after 7; of two or three seats
# after 10 (6: 4e-1 at 0.999, some of which were taken for jammed). Dry bearings have gains of 0.1 and less.
OF_ONE_PART, OF_ONE_SEAT, OF_SEVERAL = 1, 7, 10
CONVERGED = 1e-4  # of a load: what the last iteration may change, since the next would change about its square
ROUNDED = 1e-9  # of all loads: what rounding changes in one, which may be 0
NOTHING = 1e-24  # N^2, (N m)^2: beside a load squared, which may be 0 and then has no direction


@dataclass
class BorneLoad:
    """What presses in one force: a number, and parts of a weight, a vector, and its change for a unit of each load."""

    given: Scalar
    parts: Sequence[tuple[Scalar, Vec, Sequence[Vec]]]

    def at(self, u: Vec) -> tuple[Scalar, Vec]:
        """What presses for these loads, and its slopes by all of them."""
        load, slopes = self.given, zeros(len(u))
        for weight, first, changes in self.parts:
            vector = first
            for amount, change in zip(u, changes, strict=True):
                vector = plus(vector, scale(amount, change))
            square = norm_squared(vector)
            if not is_zero(square):
                length = sqrt(square + NOTHING)
                load += weight * length
                along = ratio(weight, length)
                slopes = [slope + along * dot(vector, change) for slope, change in zip(slopes, changes, strict=True)]
        return load, slopes

    def least(self) -> Scalar:
        """A bound below the smallest solution where this load is the only one; not a number where there is none."""
        gain, along, across = self._merged()
        slack, product, square = 1.0 - gain * gain, gain * along, along * along + across
        rest = product * product + slack * square + NOTHING
        there, rising = rest > 0.0, product > 0.0
        root = sqrt(select(there, rest, 1.0))
        under = select(there, select(rising, slack, root - product), -1.0)  # of two forms the one that cancels nothing
        good = under > 0.0
        return self.given + select(
            good, ratio(select(rising, product + root, square), select(good, under, 1.0)), math.nan
        )

    def _merged(self) -> tuple[Scalar, Scalar, Scalar]:
        """sum g, sum a and the square of sum b at what is given."""
        gain, along, across, turned = 0.0, 0.0, 0.0, []
        for weight, first, (change,) in self.parts:
            vector = plus(first, scale(self.given, change))
            size = sqrt(norm_squared(change) + NOTHING)
            part = ratio(weight * dot(vector, change), size)
            gain, along = gain + weight * size, along + part
            turned.append(weight * weight * norm_squared(vector) - part * part)
        if len(turned) == 1:
            return gain, along, turned[0]
        across = total(sqrt(larger(square, 0.0) + NOTHING) for square in turned)
        return gain, along, across * across


def solved(seats: Sequence[BorneLoad]) -> Vec:
    """The loads, one a seat; not a number where there are none."""
    count, change = range(len(seats)), list[Scalar]()
    alone = len(seats) == 1
    u = [seats[0].least()] if alone else zeros(len(seats))
    for _ in range(OF_SEVERAL if not alone else OF_ONE_PART if len(seats[0].parts) == 1 else OF_ONE_SEAT):
        loads, slopes = zip(*(seat.at(u) for seat in seats), strict=True)
        matrix = [[(1.0 if i == j else 0.0) - slopes[i][j] for j in count] for i in count]
        change = _eliminated(matrix, minus(loads, u))
        u = plus(u, change)
    # Each by its own size, and none below 0: a light joint that jams is not hidden by a heavy one beside it.
    least = ROUNDED * total(abs(x) for x in u) + sqrt(NOTHING)
    missed = largest(
        [missing for x, dx in zip(u, change, strict=True) for missing in (abs(dx) - CONVERGED * abs(x), -x)]
    )
    return [select(missed <= least, x, math.nan) for x in u]


def _eliminated(A: Mat, b: Vec) -> Vec:
    """x of A x = b, without a choice of pivots: of loads they are 1, less by the gains."""
    A, b, count = [list(row) for row in A], list(b), range(len(b))
    inverses = [0.0] * len(b)
    for k in count:
        inverses[k] = ratio(1.0, A[k][k])
        for i in range(k + 1, len(b)):
            factor = A[i][k] * inverses[k]
            A[i] = minus(A[i], scale(factor, A[k]))
            b[i] = b[i] - factor * b[k]
    for i in reversed(count):
        b[i] = (b[i] - dot(A[i][i + 1 :], b[i + 1 :])) * inverses[i]
    return b
