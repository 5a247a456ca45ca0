"""What the shift of the instant adds to a derivative where a force jumps. Host code.

Problem: a step goes over the instant at which the argument g of a force passes a knot, where the force jumps by J. Its
derivative is that of the smooth pieces; but a change that brings the instant forward by dg / |g'| lets the force of the
other side act for so much longer, which no smaller step makes up for.
The result must: converge to the derivative of the motion with the step, and be the same in forward and reverse mode.
Used: the saltation matrix (Aizerman, Gantmacher, Quarterly Journal of Mechanics and Applied Mathematics 11, 1958;
Leine, Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, section 7.3), dv = M^-1 J dg / |g'|, added
at the beginning of the step of the passage: the instant is off by less than a step, the derivative by its order.
Left out, and counted: passages within steps off singular poses, those after which g' points back to the knot (a body
that sticks goes to and fro), and all of members with more than `MOST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.forces import FORCES
from shiftjax.gradients.complex_step import complex_step
from shiftjax.measures.run_metrics import Metrics
from shiftjax.run.closing.host_evaluation import motion_of, per_member
from shiftjax.run.programs.setup import Setup

JUMP = 1e-6  # of the larger force of both sides: below it are kinks whose numbers were written with six digits
MOST = 64  # passages of a member that are followed, each a leg of its own


class Knot(NamedTuple):
    """One at which a force may jump.

    Attributes:
        force, knot: index of the force, and which of its knots. counter: metric that counts its passages.
        constants: rows of p of numbers of which one is a part of the force on either side; none where it has no such.
    """

    force: int
    knot: int
    constants: tuple[int, ...]
    counter: str


@dataclass(frozen=True)
class States:
    """K lanes of which each has a state: coordinates, speeds and what the programs read.

    Attributes:
        q: (nq, K). v, a: (nv, K) speeds and accelerations. p: (np, K). t: (K,) [s].
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    p: np.ndarray
    t: np.ndarray

    @property
    def argument(self) -> np.ndarray:
        """(nq + nv + np + 1, K) all that a switch depends on."""
        return np.concatenate([self.q, self.v, self.p, self.t[None]]).astype(float)

    def of(self, which: np.ndarray) -> States:
        """Some of them."""
        return States(*(part[..., which] for part in (self.q, self.v, self.a, self.p, self.t)))


class Passages:
    """The jumps of a run of one model that its derivatives follow.

    Args:
        measured: metrics of the run, which count passages. last: (k, B) their accumulators at the end. clock: when it
            began, and a step [s]. jumps: (B,) how many each member meets.

    Attributes:
        follows: (B,) members of which they are followed.
        uncertain: (terms, B) terms of metrics whose slopes lack what a jump of their expressions adds.
    """

    def __init__(
        self,
        setup: Setup,
        knots: Sequence[Knot],
        measured: Metrics,
        last: np.ndarray,
        clock: tuple[float, float],
        jumps: np.ndarray,
    ) -> None:
        self.setup, self.measured, self._last = setup, measured, last
        self.begin, self.step = clock
        self.uncertain = np.zeros((len(self.measured.terms), len(jumps)), bool)
        self.follows = (jumps > 0) & (jumps <= MOST)
        self.knots = tuple(knot for knot in knots if knot.constants)

    def __bool__(self) -> bool:
        return bool(self.knots) and bool(self.follows.any())

    def counts(self, accumulators: np.ndarray) -> np.ndarray:
        """(knots, K) passages so far, from the accumulators (k, K) of the metrics."""
        with np.errstate(all="ignore"):
            terms = self.measured.values_of_terms(accumulators.astype(float), self.begin)
            metrics = self.measured.of_terms(terms)
        counts = [np.broadcast_to(np.asarray(metrics[knot.counter]), terms[0].shape) for knot in self.knots]
        return np.nan_to_num(np.stack(counts))  # of lanes that have none, none

    def beyond(self, which: int, states: States) -> np.ndarray:
        """(np, K) the numbers with which the force is here what it is on the other side of a knot."""
        knot = self.knots[which]
        g, before, after = self._switch(knot, states.argument)
        p = states.p.copy()
        p[list(knot.constants)] += np.where(g < 0.0, after - before, before - after)
        return p

    def lead(self, which: int, states: States, beyond: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How much earlier a passage is by changes of the state before it, and the force that acts for so much longer.

        Args:
            which: of `knots`. beyond: (nv, K) accelerations with the numbers `beyond`.

        Returns:
            (nq + nv + np, K) the slopes of g by coordinates, speeds and numbers, over g', 0 where it is not followed;
            (K,) J, by how much the force is larger beyond the knot than here; (K,) whether it is followed.
        """
        z, knot, plan = states.argument, self.knots[which], self.setup.plan
        g, before, after = self._switch(knot, z)
        slopes = np.zeros(z.shape)
        for k in self._read[which]:
            direction = np.zeros_like(z)
            direction[k] = 1.0
            slopes[k] = complex_step(lambda x: self._switch(knot, x)[0][None], z, direction)[0]
        drift = per_member(coordinate_rates(plan, list(states.q), list(states.v)), z.shape[1])
        rest = (slopes[: plan.nq] * drift).sum(0) + slopes[-1]
        of_speeds = slopes[plan.nq :][: plan.nv]
        rate, rate_beyond = (rest + (of_speeds * a).sum(0) for a in (states.a, beyond))
        with np.errstate(all="ignore"):
            good = (g * rate < 0.0) & (rate * rate_beyond > 0.0)  # else it comes back: it sticks
            good &= differ(before, after)
            lead = slopes[:-1] / rate
        return np.where(good, lead, 0.0), np.where(g < 0.0, after - before, before - after), good

    def of_integrals(self, members: np.ndarray, here: np.ndarray, beyond: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(k, K) by how much faster integrals of metrics grow beyond a knot; notes other metrics of what jumps there.

        Args:
            members: (K,) of all. here, beyond: (k, K) accumulators with the expressions on both sides. t: (K,) [s].
        """
        here, beyond = here.astype(float), beyond.astype(float)
        jumping = self.measured.jumping(here, beyond)
        for k, term in enumerate(self.measured.terms.values()):
            if jumping[k].any() and term.unit == "s":  # an instant that another step has is none of the jump's
                off = self._instants[k][members] - t
                jumping[k] &= (off > -self.step) & (off < 2.0 * self.step)
        self.uncertain[:, members] |= jumping
        return self.measured.change_of_integrals(here, beyond)

    @cached_property
    def _instants(self) -> list[np.ndarray]:
        """(B,) values of all terms at the end."""
        with np.errstate(all="ignore"):
            return self.measured.values_of_terms(self._last.astype(float), self.begin)

    @cached_property
    def _read(self) -> list[list[int]]:
        """For every knot what its switch reads: one lane each has a number that is none, which spreads."""
        plan, count = self.setup.plan, len(self.setup.varied)
        size = plan.nq + plan.nv + count + 1
        z = np.full((size, size), 0.5)
        z[np.arange(size), np.arange(size)] = np.nan
        with np.errstate(all="ignore"):
            return [np.flatnonzero(np.isnan(self._switch(knot, z)[0])).tolist() for knot in self.knots]

    def _switch(self, knot: Knot, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(K,) its argument beyond the knot, and the force on both sides; complex numbers are, too."""
        plan = self.setup.plan
        q, v, p = np.split(z[:-1], [plan.nq, plan.nq + plan.nv])
        motion, values = motion_of(self.setup.lane(list(p), z[-1]), q, v)
        element = plan.forces[knot.force]
        switch = FORCES[element.kind].switches(element, motion)[knot.knot]

        beyond, before, after = (
            np.broadcast_to(np.asarray(value), z.shape[1:])
            for value in values.numbers([switch.beyond, switch.before, switch.after])
        )
        return beyond, before, after


def differ(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(B,) whether a force jumps that is so on both sides."""
    return np.abs(after - before) > JUMP * np.maximum(np.abs(before), np.abs(after))
