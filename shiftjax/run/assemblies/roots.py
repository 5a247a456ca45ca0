"""All roots of a skeleton, complex ones too: group by group, each for all roots of those before it. Host code."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shiftjax.run.assemblies.charts import distinct, features, generic, vector_of
from shiftjax.run.assemblies.dyads import is_dyad, roots_of_dyads
from shiftjax.run.assemblies.groups import MotionGroup, Standard, groups_of, standard
from shiftjax.run.assemblies.legs import is_leg, platform_of, roots_of_legs
from shiftjax.run.assemblies.root_counts import RootCount, count_of, root_count
from shiftjax.run.assemblies.skeleton import BALL, DISTANCE, Posed, ScrewNumbers, Skeleton, reduced
from shiftjax.run.assemblies.start_roots import start_roots
from shiftjax.run.assemblies.tracker import (
    AIMED,
    AT_INFINITY,
    REACHED,
    STALLED,
    MechanismWay,
    StandingMechanisms,
    followed,
    newton,
)

FINER = 1e-3  # first correction that steps of other ways aim at
OTHER_WAYS = 3  # by which roots are followed again where paths met or stalled
TOGETHER = 20_000  # paths, for the sake of memory
LARGEST = 12  # unknowns of a group that is followed
CLOSED = 1e-9  # residual of a root
SHARP = (
    1e-7  # last change by Newton's method, of a double root as large as its error: a tenth of what tells roots apart
)
FAR_OFF = 100.0  # largest cosine or length of a root that rounding lets be refined in all coordinates at once
DOUBLE = "poses that are nearly double were not told apart for certain"
# which groups, their roots, and why these are all
CLOSED_FORMS = (
    (is_dyad, roots_of_dyads, "both circles of every dyad"),
    (is_leg, roots_of_legs, "both poses of every leg"),
)


@dataclass
class Roots:
    """Of B members.

    Attributes:
        X: (A, values); member: (A,) of each. lost: (B,) paths that ended at no root; lacking: texts, why it is not
            proved that these are all. sources: by whom the numbers of roots are proved.
        by_signs: whether the signs of the groups' determinants tell all roots apart: of groups with two roots.
    """

    X: np.ndarray
    member: np.ndarray
    lost: np.ndarray
    lacking: tuple[str, ...]
    sources: tuple[str, ...]
    by_signs: bool


def too_large(skeleton: Skeleton, numbers: ScrewNumbers) -> str:
    """Why a skeleton is not followed to all its roots: a group of it with which monodromy does not come to an end."""
    if platform_of(skeleton, numbers):
        return ""
    for group in groups_of(skeleton):
        columns = sum(3 if skeleton.motions[k] == BALL else 1 for k in group.motions)
        kinds = {skeleton.closures[k].kind for k in group.closures}
        if columns > LARGEST and not kinds == {DISTANCE}:
            return f"a group of {columns} unknowns has more roots than are followed here"
    return ""


def all_roots(skeleton: Skeleton, numbers: ScrewNumbers) -> Roots:
    """Every pose at which the closures of each member hold."""
    B, platform = numbers.members, platform_of(skeleton, numbers)
    larger, screws = (platform.skeleton, platform.numbers) if platform else (skeleton, numbers)
    roots = Roots(np.tile(larger.still, (B, 1)), np.arange(B), np.zeros(B, int), (), (), by_signs=True)
    for group in platform.groups if platform else groups_of(skeleton):
        roots = _extended(larger, screws, roots, group)
        if not len(roots.X):
            break
    roots = replace(roots, X=roots.X[:, : skeleton.first_value[-1]])
    its = numbers.of(roots.member)
    every = np.arange(len(roots.X))
    X, (*_, last), _ = newton(StandingMechanisms(skeleton, its), roots.X, np.ones(len(every)), every, 3)
    good = last < 1e-6
    X = np.where(good[:, None], X, roots.X)  # of double roots Newton's method leads astray
    posed = Posed(skeleton, its, X)
    size = np.maximum(np.abs(features(skeleton, X)).max(1, initial=1.0), 1.0)  # large of complex ones far away
    scale = size**2
    closed = (np.abs(posed.residuals()).max(1, initial=0.0) < CLOSED * scale) & (posed.turn_left() < 1e-4 * scale)
    lost = roots.lost + np.bincount(roots.member[~closed], minlength=B)
    lacking = roots.lacking if closed.all() else (*roots.lacking, f"{(~closed).sum()} roots are not closed")
    if (last[closed & (size < FAR_OFF)] > SHARP).any():  # others are judged in their groups, which are better told
        lacking = tuple(dict.fromkeys((*lacking, DOUBLE)))
    return replace(roots, X=X[closed], member=roots.member[closed], lost=lost, lacking=lacking)


def _extended(skeleton: Skeleton, numbers: ScrewNumbers, roots: Roots, group: MotionGroup) -> Roots:
    """The roots of a group for each root of those before it."""
    part, its = reduced(skeleton, numbers.of(roots.member), roots.X, group.motions, group.closures)
    form = standard(part, its)
    closed_form = next((one for one in CLOSED_FORMS if one[0](form.skeleton)), None)
    two = closed_form is not None or root_count(form.skeleton).count == 2
    if closed_form is not None:
        _, roots_of, source = closed_form
        values, status, lacking = roots_of(form.skeleton, form.numbers), None, ""
    else:
        values, status, lacking, source = _by_paths(form)
    count = values.shape[1]
    X = np.repeat(roots.X, count, axis=0)
    places = [at for k in group.motions for at in range(skeleton.first_value[k], skeleton.first_value[k + 1])]
    X[:, places] = form.values(values.reshape(len(X), -1))
    member = np.repeat(roots.member, count)
    ends = np.isfinite(X).all(1) if status is None else (status.reshape(-1) == REACHED)
    lost = roots.lost + np.bincount(member[~ends], minlength=len(roots.lost))
    if status is None and not ends.all():
        lacking = "a dyad or leg whose roots are not distinct"
    return replace(
        roots, X=X[ends], member=member[ends], lost=lost,
        lacking=tuple(dict.fromkeys((*roots.lacking, lacking))) if lacking else roots.lacking,
        sources=tuple(dict.fromkeys((*roots.sources, source))) if source else roots.sources,
        by_signs=roots.by_signs and two,
    )  # fmt: skip


def _by_paths(form: Standard) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Ends (P, N, values) of paths from a generic mechanism's roots, their status (P, N), what lacks, the source."""
    skeleton = form.skeleton
    numbers, starts = start_roots(skeleton)
    known = count_of(skeleton, form.numbers)
    ends = vector_of(skeleton, form.numbers)
    random, mask = np.random.default_rng(len(starts)), generic(skeleton)

    def bends(sizes: np.ndarray) -> np.ndarray:
        """(P, K) of ways, of given sizes (P,), all to the same side."""
        return sizes[:, None] * mask * (random.normal(size=len(mask)) + 1j * random.normal(size=len(mask)))

    def again(X: np.ndarray, status: np.ndarray, ends: np.ndarray) -> None:
        """Follows members from the generic mechanism by other ways where paths met or stalled, in place."""
        for k in range(OTHER_WAYS):
            lost = (status == AT_INFINITY).any(1) & (k == 0)  # perhaps far away only: once more
            counts = _counts(skeleton, X, status)
            met = counts < (status == REACHED).sum(1)  # paths that met or stalled may have changed over to others
            unsure = ((status == STALLED).any(1) | met | lost) & (counts != known.count)
            if not unsure.any():
                return
            some = np.flatnonzero(unsure)
            more, of_them = _ends(skeleton, numbers, starts, ends[some], bends(np.ones(len(some))), FINER)
            for k, Y, its in zip(some, more, of_them, strict=True):
                X[k], status[k] = _united(skeleton, (X[k], status[k]), (Y, its))

    X, status = _ends(skeleton, numbers, starts, ends[:1], None, AIMED)
    again(X, status, ends[:1])
    if len(ends) > 1:
        if _counts(skeleton, X, status)[0] == len(starts):  # designs are nearer to each other than to a generic one
            far = np.abs(ends[1:] - ends[0]).max(1)
            others = _ends(skeleton, ends[0], X[0], ends[1:], bends(far), FINER)
        else:
            others = _ends(skeleton, numbers, starts, ends[1:], None, AIMED)
        again(*others, ends[1:])
        X, status = np.concatenate([X, others[0]]), np.concatenate([status, others[1]])
    lacking = _lacking(known, _counts(skeleton, X, status), status)
    at, which = np.nonzero(status == REACHED)
    its = StandingMechanisms(skeleton, form.numbers.of(at))
    _, (*_, last), _ = newton(its, X[at, which], np.ones(len(at)), np.arange(len(at)), 2)
    if not lacking and (last > SHARP).any():
        lacking = DOUBLE
    return X, status, lacking, f"{known.count} roots: {known.source}" if known.count else ""


def _ends(
    skeleton: Skeleton, numbers: np.ndarray, starts: np.ndarray, ends: np.ndarray, bend: np.ndarray | None, aimed: float
) -> tuple[np.ndarray, np.ndarray]:
    """(P, N, values) and (P, N): all roots of one mechanism followed to P others, with bends (P, K) of the ways."""
    N, X, status = len(starts), [], []
    for some in np.array_split(np.arange(len(ends)), -(-len(ends) * N // TOGETHER)):
        bends = None if bend is None else np.repeat(bend[some], N, axis=0)
        to = np.repeat(ends[some], N, axis=0)
        way = MechanismWay(skeleton, np.repeat(numbers[None], len(to), axis=0), to, bends)
        Y, its = followed(way, np.tile(starts, (len(some), 1)), aimed)
        X.append(Y.reshape(len(some), N, -1))
        status.append(its.reshape(len(some), N))
    return np.concatenate(X), np.concatenate(status)


def _counts(skeleton: Skeleton, X: np.ndarray, status: np.ndarray) -> np.ndarray:
    """(P,) distinct roots."""
    ends = (Y[its == REACHED] for Y, its in zip(X, status, strict=True))
    return np.array([len(np.unique(distinct(skeleton, Y))) for Y in ends], int)


def _united(
    skeleton: Skeleton, first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct ends of both ways, then how the other paths of the second one ended."""
    roots = np.concatenate([Y[its == REACHED] for Y, its in (first, second)])
    roots = roots[np.unique(distinct(skeleton, roots))] if len(roots) else roots
    X, status = second[0].copy(), np.full(len(second[1]), STALLED)
    status[: len(roots)] = REACHED
    X[: len(roots)] = roots[: len(X)]
    infinite = min(int((second[1] == AT_INFINITY).sum()), len(X) - len(roots))
    if infinite > 0:
        status[-infinite:] = AT_INFINITY
    return X, status


def _lacking(known: RootCount, counts: np.ndarray, status: np.ndarray) -> str:
    """Why it is not proved that the ends are all roots; "" where it is."""
    if known.count is None:
        return f"{known.source}: {status.shape[1]} were come to"
    if (counts == known.count).all():
        return ""
    few, infinite = int(counts.min()), int((status == AT_INFINITY).sum())
    stalled = int((status != REACHED).sum()) - infinite
    return f"{few} of {known.count} roots; {infinite} paths went to infinity, {stalled} ended at no regular root"
