"""What the shift of the instant adds to a derivative where a force jumps or bends. Host code.

Problem: a step goes over the instant at which the argument g of a force passes a knot, where the force jumps by J. Its
derivative is that of the smooth pieces; but a change that brings the instant forward by dg / |g'| lets the force of the
other side act for so much longer, which no smaller step makes up for.
The result must: converge to the derivative of the motion with the step, and be the same in forward and reverse mode.
Used: the saltation matrix (Aizerman, Gantmacher, Quarterly Journal of Mechanics and Applied Mathematics 11, 1958;
Leine, Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, section 7.3), dv = M^-1 J dg / |g'|, added
at the beginning of the step of the passage: the instant is off by less than a step, the derivative by its order. A
force that bends by k without a jump has the impulse that the step's stages miss (`kinks`), as if it jumped by h w k g'.
Left out, and counted: passages within steps off singular poses, those after which g' points back to the knot (a body
that sticks goes to and fro), and all of members with more than `MOST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.forces import FORCES
from shiftjax.gradients.complex_step import complex_step
from shiftjax.gradients.jumps.kinks import passing
from shiftjax.measures.run_metrics import Metrics
from shiftjax.run.closing.host_evaluation import motion_of, per_member
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.programs.setup import Setup
from shiftjax.run.programs.stages import stages

JUMP = 1e-6  # of the larger force of both sides: below it are kinks whose numbers were written with six digits
MOST = 64  # passages of a member that are followed, each a leg of its own


class Knot(NamedTuple):
    """One at which a force may jump, or bend.

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


class KnotForce(NamedTuple):
    """K arguments of a switch, and the force at its knot on both sides with its slopes there, as in a `Switch`."""

    beyond: np.ndarray
    before: np.ndarray
    after: np.ndarray
    slope_before: np.ndarray
    slope_after: np.ndarray

    @property
    def jumps(self) -> np.ndarray:
        """(K,) whether the force jumps."""
        return differ(self.before, self.after)

    @property
    def bends(self) -> np.ndarray:
        """(K,) whether its slope does."""
        return differ(self.slope_before, self.slope_after)


@dataclass(frozen=True)
class Approach:
    """K lanes in a step in which they pass a knot.

    Attributes:
        states: at its beginning. slopes: (nq + nv + np, K) of the argument g. steady: (K,) what of g' accelerations do
            not change. rate: (K,) g'. jump: by how much the force is larger beyond the knot than here, as far as it
            jumps, and what makes up for the stages of a step, together. p: (np, K) numbers with which the force is
            what it is beyond the knot, as integrals see it. jumps: (K,) whether it jumps.
    """

    states: States
    argument: np.ndarray
    slopes: np.ndarray
    steady: np.ndarray
    rate: np.ndarray
    jump: np.ndarray
    p: np.ndarray
    jumps: np.ndarray


class Passing(NamedTuple):
    """What K lanes pass in a step.

    Attributes:
        jump: (K,) by how much a force is larger from then on. lead: (nq + nv + np, K) of the state before it, by how
            much earlier it is. change: (k, K) by how much faster accumulators of integrals grow from then on.
        crossed: (terms, K) which terms of metrics are the instant itself.
    """

    jump: np.ndarray
    lead: np.ndarray
    change: np.ndarray
    crossed: np.ndarray


class Passages:
    """The jumps and kinks of a run of one model that its derivatives follow.

    Args:
        measured: metrics of the run, which count passages. last: (k, B) their accumulators at the end. clock: when it
            begins and its step [s]. follows: (knots, B) which of the knots are followed. missed: (B,) members that have
            kinks which are not.

    Attributes:
        uncertain: (terms, B) of metrics whose slopes lack what a jump of their expressions adds.
        missed: (B,) members with a kink that was not followed.
    """

    def __init__(
        self,
        setup: Setup,
        knots: Sequence[Knot],
        measured: Metrics,
        last: np.ndarray,
        clock: tuple[float, float],
        follows: np.ndarray,
        missed: np.ndarray,
    ) -> None:
        self.setup, self.measured, self._last = setup, measured, last
        self.begin, self.step = clock
        known = [k for k, knot in enumerate(knots) if knot.constants]
        self.uncertain = np.zeros((len(self.measured.terms), follows.shape[1]), bool)
        self.missed = missed.copy()
        self.knots, self.followed = tuple(knots[k] for k in known), follows[known]

    def __bool__(self) -> bool:
        return bool(self.followed.any())

    @property
    def follows(self) -> np.ndarray:
        """(B,) members of which passages are followed."""
        return np.asarray(self.followed.any(0))

    def new(self, before: np.ndarray, after: np.ndarray, members: np.ndarray) -> np.ndarray:
        """(knots, K) which are passed, and followed, between two counts of members (K,)."""
        return (before != after) & self.followed[:, members]

    def counts(self, accumulators: np.ndarray) -> np.ndarray:
        """(knots, K) passages so far, from the accumulators (k, K) of the metrics."""
        with np.errstate(all="ignore"):
            terms = self.measured.values_of_terms(accumulators.astype(float), self.begin)
            metrics = self.measured.of_terms(terms)
        counts = [np.broadcast_to(np.asarray(metrics[knot.counter]), terms[0].shape) for knot in self.knots]
        return np.nan_to_num(np.stack(counts))  # of lanes that have none, none

    def approach(self, which: int, states: States) -> Approach:
        """Of lanes at the beginning of a step in which they pass a knot, `which` of `knots`."""
        z, knot, plan = states.argument, self.knots[which], self.setup.plan
        side = self._force(knot, z)
        slopes = np.zeros(z.shape)
        for k in self._read[which]:
            direction = np.zeros_like(z)
            direction[k] = 1.0
            slopes[k] = complex_step(lambda x: self._force(knot, x).beyond[None], z, direction)[0]
        steady = (slopes[: plan.nq] * self._drift(states.q, states.v)).sum(0) + slopes[-1]
        rate = steady + (slopes[plan.nq :][: plan.nv] * states.a).sum(0)
        forward = np.where(side.beyond < 0.0, 1.0, -1.0)
        jump = forward * np.where(side.jumps, side.after - side.before, 0.0)
        bend = forward * np.where(side.bends, (side.slope_after - side.slope_before) * rate, 0.0) * self.step
        at, reached = self._within(knot, states, side.beyond, rate)
        p = states.p.copy()
        p[list(knot.constants)] += jump + (0.5 - at) * bend
        return Approach(
            states, side.beyond, slopes[:-1], steady, rate, jump + (1.0 - at - reached) * bend, p, side.jumps
        )

    def _drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(nq, K) rates of coordinates at speeds."""
        return per_member(coordinate_rates(self.setup.plan, list(q), list(v)), q.shape[1])

    def _within(self, knot: Knot, states: States, begin: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K,) the share of the step at which lanes pass a knot, and the weights of its stages beyond."""
        h, drift, bend = self.step, self._drift(states.q, states.v), self._drift(states.q, states.a)

        def g(at: np.ndarray | float, moved: np.ndarray | float, bent: Any, gained: np.ndarray | float) -> np.ndarray:
            q = states.q + h * moved * drift + h * h * bent * bend
            v = states.v + h * gained * states.a
            return self._force(knot, np.concatenate([q, v, states.p, (states.t + at * h)[None]]).astype(float)).beyond

        share = passing(lambda s: g(s, s, 0.5 * s * s, s), begin, h * rate)
        reached = np.zeros_like(begin)
        for stage in stages(METHODS[self.setup.method])[1:]:
            over = begin * g(stage.at, stage.drift, stage.bend, stage.gain) < 0.0
            reached += np.where(over, stage.weight, 0.0)
        return share, reached

    def lead(self, approach: Approach, members: np.ndarray, beyond: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How much earlier a passage is by changes of the state before it.

        Args:
            members: (K,) of all. beyond: (nv, K) accelerations with the numbers `approach.p`.

        Returns:
            (nq + nv + np, K) the slopes of g by coordinates, speeds and numbers, over g', 0 where it is not followed;
            (K,) whether it is.
        """
        plan = self.setup.plan
        rate_beyond = approach.steady + (approach.slopes[plan.nq :][: plan.nv] * beyond).sum(0)
        with np.errstate(all="ignore"):
            good = (approach.argument * approach.rate < 0.0) & (approach.rate * rate_beyond > 0.0)  # else it sticks
            lead = approach.slopes / approach.rate
        self.missed[members] |= ~(good | approach.jumps)
        return np.where(good, lead, 0.0), good

    def beyond(
        self, approach: Approach, lead: np.ndarray, members: np.ndarray, here: np.ndarray, beyond: np.ndarray
    ) -> Passing:
        """What a passage does to metrics, as far as it is followed; notes those whose slopes lack it.

        Args:
            lead: of `lead`. members: (K,) of all. here, beyond: (k, K) accumulators with the expressions on both sides.
        """
        here, beyond = here.astype(float), beyond.astype(float)
        jumping = self.measured.jumping(here, beyond) & approach.jumps
        crossed = np.zeros_like(jumping)
        for k, term in enumerate(self.measured.terms.values()):
            if jumping[k].any() and term.unit == "s":  # an instant that another step has is none of the jump's
                at = (self._instants[k][members] - approach.states.t) / self.step
                jumping[k] &= (at > -1.0) & (at < 2.0)
                crossed[k] = jumping[k] & lead.any(0) & self.measured.crossed(k, here, beyond, at)
        self.uncertain[:, members] |= jumping & ~crossed
        return Passing(approach.jump, lead, self.measured.change_of_integrals(here, beyond), crossed)

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
            return [np.flatnonzero(np.isnan(self._force(knot, z).beyond)).tolist() for knot in self.knots]

    def _force(self, knot: Knot, z: np.ndarray) -> KnotForce:
        """Of K arguments; complex numbers are, too."""
        plan = self.setup.plan
        q, v, p = np.split(z[:-1], [plan.nq, plan.nq + plan.nv])
        motion, values = motion_of(self.setup.lane(list(p), z[-1]), q, v)
        element = plan.forces[knot.force]
        switch = FORCES[element.kind].switches(element, motion)[knot.knot]
        return KnotForce(*(np.broadcast_to(np.asarray(value), z.shape[1:]) for value in values.numbers([*switch])))


def few(passages: np.ndarray) -> np.ndarray:
    """(B,) whether so many passages of members are followed."""
    return passages <= MOST


def differ(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(B,) whether a force jumps that is so on both sides, or bends with such slopes."""
    return np.abs(after - before) > JUMP * np.maximum(np.abs(before), np.abs(after))
