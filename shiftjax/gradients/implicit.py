"""Slopes of what solves equations: y(x, p) with F(x, p) = 0, forward and backward, without a tape. Host code.

dy = y_p dp - y_x F_x^-1 F_p dp (Krantz, Parks, The Implicit Function Theorem, section 3.3). Equations that follow from
others, as of loops that are overconstrained, count once; unknowns that nothing holds, as the spin of a rod between
balls, are left where they are. An answer that depends on such an unknown has no slope, and nor has one whose numbers
take a pose away. An answer is a pose, the end of a travel, an equilibrium: whatever `Equations` say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from shiftjax.gradients.doubts import Cause, Doubts, doubts_of, warn
from shiftjax.gradients.start.least_norm import apply, transposed
from shiftjax.run.closing.equations import Equations
from shiftjax.topology.partition import RANK

NEAR = 1e-6  # of the largest singular value of F_x: slopes through a smaller one are to be doubted
OPEN = 1e-7  # of a change of F: what no change of the unknowns takes back
BLIND = 1e-7  # of the slopes of an answer: what depends on unknowns that nothing holds
NEAR_SINGULAR = "it is next to a pose at which what it follows from is singular, and its slope is uncertain"


@dataclass
class Solutions:
    """Answers of some members at solutions of equations.

    Args:
        equations: of the answers. x: (count, K) inputs at the solutions. parameters: columns of the numbers of members
            (B, P) that the parameters of the equations are; -1 of one that stays as it is. members: (K,) whose they
            are. outputs: columns of the answers (B, M) that those of the equations are, (answers,) or (K, answers).
            solved: (K,) False of those that are no solutions, which have no slopes. least: whether unknowns that
            nothing holds go with the least change, so that answers that depend on them have slopes, too.

    Attributes:
        near: (K,) whether slopes are to be doubted. blind: (K, answers) answers that have none. loose: (K,) whether an
            answer depends on unknowns that nothing holds.
    """

    equations: Equations
    x: np.ndarray
    parameters: Sequence[int]
    members: np.ndarray
    outputs: Sequence[int] | np.ndarray
    solved: np.ndarray | None = None
    least: bool = False
    near: np.ndarray = field(init=False)
    blind: np.ndarray = field(init=False)
    loose: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        F_x, self._y_x = self.equations.slopes(self.x)
        good = np.asarray(np.isfinite(F_x).all((1, 2)) & np.isfinite(self._y_x).all((1, 2)))
        if self.solved is not None:
            good &= self.solved
        F_x, self._y_x = np.where(good[:, None, None], F_x, 0.0), np.where(good[:, None, None], self._y_x, 0.0)
        U, s, Vt = np.linalg.svd(np.ascontiguousarray(F_x), full_matrices=False)
        counts = s > RANK * s.max(1, initial=0.0, keepdims=True)
        inverse = np.where(counts, 1.0 / np.where(counts, s, 1.0), 0.0)
        self._inverse = Vt.transpose(0, 2, 1) @ (inverse[:, :, None] * U.transpose(0, 2, 1))  # (K, U, E)
        self._F_x = F_x
        smallest = np.where(counts, s, np.inf).min(1, initial=np.inf)
        self.near = good & (smallest < NEAR * s.max(1, initial=0.0))
        along = self._y_x - (self._y_x @ self._inverse) @ F_x
        size = np.abs(self._y_x).max(2, initial=0.0)
        free = np.abs(along).max(2, initial=0.0) > BLIND * size
        self.loose = good & free.any(1)
        self.blind = (free & (not self.least)) | ~good[:, None]

    def tangent(self, dx: np.ndarray) -> np.ndarray:
        """(K, answers) changes from those of the numbers of all members (B, P); NaN where there is none."""
        columns = np.asarray(self.parameters)
        change = np.where(columns >= 0, dx[self.members][:, columns], 0.0)
        F, y = self.equations.tangent(self.x, change.T)
        step = apply(self._inverse, F)
        missing = np.abs(F - apply(self._F_x, step)).max(1, initial=0.0)
        lost = missing > OPEN * np.abs(F).max(1, initial=0.0)
        moved = (change != 0.0).any(1)
        none = moved[:, None] & (self.blind | lost[:, None])
        return np.where(none, np.nan, y - apply(self._y_x, step))

    def adjoint(self, bars: np.ndarray) -> np.ndarray:
        """(K, P') cotangents of the parameters that are columns from those (K, answers); NaN where there are none."""
        felt = bars != 0.0
        none = (self.blind & felt).any(1)
        bars = np.where(self.blind, 0.0, bars)
        back = -transposed(self._inverse, transposed(self._y_x, bars))
        out = self.equations.adjoint(self.x, np.concatenate([back, bars], axis=1).T).T
        none |= felt.any(1) & self._opened.any(1)
        out = np.where(none[:, None], np.nan, np.where(felt.any(1)[:, None], out, 0.0))
        return out[:, np.asarray(self.parameters) >= 0]

    @property
    def columns(self) -> np.ndarray:
        """Of the numbers of members that are parameters."""
        return np.asarray(self.parameters)[np.asarray(self.parameters) >= 0]

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the answers (B, M) that those of the equations are."""
        outputs = np.broadcast_to(np.asarray(self.outputs), (len(self.members), self.equations.answers))
        return self.members[:, None], outputs

    @cached_property
    def _opened(self) -> np.ndarray:
        """(K, P') parameters with which equations open that no change of the unknowns closes again."""
        E = self.equations.rows
        out = np.zeros((len(self.members), len(self.equations.layout.parameters)), bool)
        left = np.eye(E) - self._F_x @ self._inverse  # (K, E, E) onto the equations that nothing moves
        if not (np.abs(left) > OPEN).any():
            return out
        none = np.zeros((self.equations.answers, len(self.members)))
        size = np.zeros(out.shape)
        for k in range(E):
            size = np.maximum(size, np.abs(self._pulled(np.eye(E)[k][:, None], none)))
        most = OPEN * np.maximum(size.max(1, keepdims=True), 1e-300)
        for k in range(E):
            out |= np.abs(self._pulled(left[:, k].T, none)) > most
        return out

    def _pulled(self, rows: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """(K, P') cotangents of the parameters from those of the equations (E, K)."""
        rows = np.broadcast_to(rows, (self.equations.rows, len(self.members)))
        return self.equations.adjoint(self.x, np.concatenate([rows, answers])).T


class SlopedPart(Protocol):
    """Answers of some members whose slopes are known; `Solutions` are such. Attributes and methods are those of it."""

    outputs: Sequence[int] | np.ndarray
    members: np.ndarray
    near: np.ndarray

    @property
    def columns(self) -> np.ndarray: ...
    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]: ...
    def tangent(self, dx: np.ndarray) -> np.ndarray: ...
    def adjoint(self, bars: np.ndarray) -> np.ndarray: ...


@dataclass
class Answered:
    """What members answered.

    Attributes:
        y: (B, M) answers. parts: of which slopes are known; what is in none has the slope 0. messages: (B,) what runs
            say of members without an answer. causes: why slopes of members are to be doubted, beside those of parts.
        nowhere: (B,) members that have no answer, and no slopes.
    """

    y: np.ndarray
    parts: Sequence[SlopedPart]
    messages: Sequence[str] = ()
    causes: Sequence[Cause] = ()
    nowhere: np.ndarray | None = None


class Implicit:
    """`gradients.transforms.Differentiable` of numbers (B, P) to answers (B, M) that solve equations.

    Args:
        outputs: M. answer: the answers of numbers (B, P), row by row; what was asked last is remembered.
        warns: whether slopes that are doubtful, or not there, are said in a `GradientWarning`.

    Attributes:
        doubts: of the last derivative.
    """

    directions = True

    def __init__(self, outputs: int, answer: Callable[[np.ndarray], Answered], *, warns: bool = True) -> None:
        self.outputs, self.warns = outputs, warns
        self.doubts: Doubts | None = None
        self._answer = answer
        self._last: tuple[np.ndarray, Answered] | None = None

    def run(self, x: np.ndarray) -> np.ndarray:
        """(B, M) of (B, P)."""
        return self._at(x).y

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """(D, B, M) of (B, P) and D directions (D, B, P)."""
        answered = self._at(x)
        out = np.zeros((*dx.shape[:2], self.outputs))
        for part in answered.parts:
            for k, direction in enumerate(dx):
                np.add.at(out[k], part.places, part.tangent(direction))
        if answered.nowhere is not None:
            out[(dx != 0.0).any(2) & answered.nowhere] = np.nan
        self._doubt(answered, np.asarray(np.isnan(out).any((0, 2))))
        return out

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        """(D, B, P) of (B, P) and D cotangents (D, B, M)."""
        answered = self._at(x)
        out = np.zeros((len(y_bar), *x.shape))
        for part in answered.parts:
            for k, bar in enumerate(y_bar):
                np.add.at(out[k], np.ix_(part.members, part.columns), part.adjoint(bar[part.places]))
        if answered.nowhere is not None:
            out[(y_bar != 0.0).any(2) & answered.nowhere] = np.nan
        self._doubt(answered, np.asarray(np.isnan(out).any((0, 2))))
        return out

    def _at(self, x: np.ndarray) -> Answered:
        if self._last is None or not np.array_equal(self._last[0], x):
            self._last = x.copy(), self._answer(x)
        return self._last[1]

    def _doubt(self, answered: Answered, lost: np.ndarray) -> None:
        B = len(lost)
        near, none = np.zeros(B, bool), np.zeros(B, int)
        for part in answered.parts:
            near[part.members[part.near]] = True
        texts = list(answered.messages) or [""] * B
        nowhere, causes = [""] * B, [Cause(near, NEAR_SINGULAR), *answered.causes]
        self.doubts = doubts_of(lost, texts, none, none, nowhere, np.ones(B), "f64", causes)
        if self.warns:
            warn(self.doubts)
