"""Places along a path at which a signal is level or passes a value, with slopes by numbers. Host code.

A pose and the parameter u are unknown together: closures with drivers on their lines F(q, u) = 0, and either the signal
vanishes, s(q, u) = 0, or it is level along the path, which is to say that its gradient by all unknowns is one of the
closures, grad s = sum lambda grad F (Lagrange). Both are smooth systems, whose slopes are those of implicit functions:
du = -ds / s' where s vanishes, du = -ds' / s'' where it is level. At an end of the path an extreme that is not level
stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.algebra import Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.gradients.doubts import Cause
from shiftjax.gradients.implicit import Solutions
from shiftjax.kinematics.paths.placed_terms import LEVEL, PlacedInstant
from shiftjax.run.closing.equations import Equations, least_change
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import Partition

AT_END = 1e-7  # of the length of a path: a place nearer to its end may be there, as exact as places of curves are
NEAR = 0.5  # of the way between two poses: farther from where curves between poses have it another place is found
SETTLED = 1e-7  # of the length of a path: a last step of Newton's that is larger has found nothing
FLAT = 1e-5  # of the signal's range, by which it bends along the path or changes along it: less is none
SOLVER = 1e-13  # of the largest singular value, where a bend is measured
ABSENT = "{text} has no value: what it tells does not happen along the path"
KINK = "no smooth curve has {text} at its place, as at a kink or a jump, or two places that meet"
AT_AN_END = "{text} is at an end of the path, and a little farther on it may be elsewhere"
LEVEL_END = "the signal of {text} is level at the very end of the path, where its place stays for other designs"
BENDS = "the signal of {text} hardly bends at its place, whose slope is uncertain"
TOUCHES = "the signal of {text} hardly changes where it passes, so that the slope of that place is uncertain"

Observe = Callable[[Partition], Callable[[Lane, Vec], Vec]]


@dataclass
class PathInstants:
    """Places of one term of members, K of them.

    Args:
        placed: the term. prepared: with drivers. numbers: (P, K) of all that vary, drivers on lines through the places.
        member: (K,) whose. q: (nq, K) closed poses there. place: (K,). absent: (K,) those that have no place, which
            stand where the path begins. columns: of the numbers of members, of those
            that vary. output: the column of the answer. ends: of the parameter. step: between two poses. scale: range
            of the signal along the path. members: of the answers.

    Attributes:
        parts: answers with their slopes. causes: why these are to be doubted. lost: (K,) texts of places that have
            none.
    """

    placed: PlacedInstant
    prepared: Prepared
    numbers: np.ndarray
    member: np.ndarray
    q: np.ndarray
    place: np.ndarray
    absent: np.ndarray
    columns: Sequence[int]
    output: int
    ends: tuple[float, float]
    step: float
    scale: float
    members: int

    def __post_init__(self) -> None:
        self.parts: list[Solutions] = []
        self.causes: list[Cause] = []
        self.lost = [""] * len(self.member)
        self.length = abs(self.ends[1] - self.ends[0])
        gap = np.min([np.abs(self.place - end) for end in self.ends], axis=0)
        self.at_end = gap <= AT_END * self.length

    def take(self, some: np.ndarray, rows: Callable[[Lane, Vec], Vec], observe: Callable[[Lane, Vec], Vec]) -> None:
        """Solves for the places of some of them (K',), whose poses share a partition that observes the signal."""
        condition = self.placed.condition
        scale = 1.0 / self.scale

        def function(lane: Lane, q: Vec, others: Vec) -> tuple[Vec, Vec]:
            there = replace(lane, t=others[0])
            (signal, *_) = observe(there, q)
            answer = signal if condition == LEVEL or not callable(condition) else condition(signal)
            return rows(there, q), [answer * scale, others[0]]

        prepared, plan = self.prepared, self.prepared.plan
        base = Equations.of(
            prepared.setup, prepared.own_numbers, prepared.places, range(plan.nv), function, others=1
        )  # fmt: skip
        level, absent = self.placed.level, some[self.absent[some]]
        if len(absent):
            x = base.inputs(self.q[:, absent], self.numbers[:, absent])
            nowhere = np.zeros(len(absent), bool)
            self.parts.append(
                Solutions(base.answering([1]), x, self.columns, self.member[absent], [self.output], nowhere)
            )
            self._lose(absent, ABSENT)
        some = some[~self.absent[some]]
        rate, multipliers = self._rates(base, some)
        if level:
            bent = np.abs(rate) * self.length > FLAT
            self._doubt(some[self.at_end[some] & ~bent], LEVEL_END)
            inside = ~(self.at_end[some] & bent)
            some, rate, multipliers = some[inside], rate[inside], multipliers[inside]
        else:
            self._doubt(some[self.at_end[some]], AT_AN_END)
        if not len(some):
            return
        system = (base.stationary(0) if level else base.holding([0])).answering([1])
        others = np.zeros((1 + level * base.rows, len(some)))
        if level:
            others[1:] = multipliers.T
        q, others, _ = system.solved(self.q[:, some], self.numbers[:, some], others)
        x = system.inputs(q, self.numbers[:, some], others)
        F_x = system.slopes(x)[0]
        tau = plan.nv  # the place among the unknowns
        left = np.abs(least_change(F_x, system.values(x)[0])[:, tau])
        solved = (np.abs(others[0]) <= NEAR * abs(self.step)) & (left <= SETTLED * self.length)
        flat = self._flat(F_x, tau, rate, level=level)
        part = Solutions(system, x, self.columns, self.member[some], [self.output], solved)
        self._doubt(some[flat & solved & ~part.blind[:, 0]], BENDS if level else TOUCHES)
        none = ~solved | part.blind[:, 0]
        self._lose(some[none & ~flat], KINK)
        self._lose(some[none & flat], BENDS if level else TOUCHES)
        self.parts.append(part)

    def _rates(self, base: Equations, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K',) slopes of the signal along the path, in parts of its range; (K', E) multipliers of closures."""
        x = base.inputs(self.q[:, some], self.numbers[:, some], np.zeros((1, len(some))))
        J, slopes = base.slopes(x)
        gradient = slopes[:, 0]
        speeds = -least_change(J[:, :, :-1], J[:, :, -1])
        rate = gradient[:, -1] + (gradient[:, :-1] * speeds).sum(1)
        return rate, least_change(J.transpose(0, 2, 1), gradient)

    def _flat(self, F_x: np.ndarray, tau: int, rate: np.ndarray, *, level: bool) -> np.ndarray:
        """(K',) whether the signal hardly bends, or changes, along the path: 1 / s'' is how far the place moves where a
        level signal gets a slope."""
        if not level:
            return np.asarray(np.abs(rate) * self.length <= FLAT)
        F_x = np.where(np.isfinite(F_x).all((1, 2), keepdims=True), F_x, 0.0)
        moved = np.linalg.pinv(F_x, rcond=SOLVER)[:, tau, tau]
        return np.asarray(np.abs(moved) * FLAT >= self.length**2)

    def _lose(self, which: np.ndarray, text: str) -> None:
        for k in which:
            self.lost[k] = text.format(text=self.placed.text)

    def _doubt(self, which: np.ndarray, text: str) -> None:
        if len(which):
            members = np.zeros(self.members, bool)
            members[self.member[which]] = True
            self.causes.append(Cause(members, text.format(text=self.placed.text)))
