"""Forces of kinds from outside the package that change with the time faster than the steps. Host code.

What such a kind does with `motion.t` is known by applying it: its generalized force, tau of the tree's equations with
it less that without, is sampled over the run at the coordinates and speeds of the file's start. It says nothing of a
force that is 0 there at all times, and acts elsewhere. The impulse that the stages of the steps see is compared with
the integral: by how much it is off at worst on the way, and by how much in all steps together, whose errors cancel
where a force swings as fast as the steps do. Both are in parts of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.dynamics.lane import Lane
from shiftjax.dynamics.tree import tree_terms
from shiftjax.forces import FORCES
from shiftjax.lanes.member_values import MemberValues
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.inputs.between_stages import (
    ALLOWED,
    ErrorsOnTheWay,
    Integral,
    Signal,
    by_parts,
    by_stages,
    in_equal_steps,
    parts_of,
    seen_in_steps,
)
from shiftjax.run.closing.host_functions import evaluate
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.plan import numbers_read

INSTANTS = 32768  # of a run, at most where that makes more than the fewest parts of a step
MISSED = 0.1  # of the limit of energies: part of an impulse
SWINGS = 1e-3  # the same of all steps together: of a sine, where its frequency times the step is about 1.3


class TimedForce:
    """A force whose kind is not the package's, as a function of time alone.

    Attributes:
        acts: places among the speeds of the generalized forces that depend on the time.
    """

    def __init__(self, prepared: Prepared, index: int) -> None:
        self.prepared, self.index, self.element = prepared, index, prepared.plan.forces[index]
        self.places = sorted(numbers_read([self.element]))
        values, numbers = MemberValues(), prepared.file_lane().params.numbers
        (t,) = values.lane_values([np.zeros(1)])
        every = self._force([*(numbers[place] for place in self.places), t])
        self.acts = [k for k, value in enumerate(values.numbers(every)) if isinstance(value, np.ndarray)]

    def of(self, numbers: np.ndarray) -> Signal:
        """Time -> (k, n) generalized forces, an angle's in N m, a length's times the model's in N m, too.

        Args:
            numbers: those of `places`.
        """
        units, start = self.prepared.file_lane().units, self.prepared.file_start
        where = tuple(float(x) for rows in (start.q, start.v, start.states) for x in rows[:, 0])

        def at(t: np.ndarray) -> np.ndarray:
            out = np.zeros((len(self.acts), len(t)))
            owners, what = (self.prepared.plan, self.prepared.setup), ("timed force", self.index, where)

            def function(values: Vec) -> dict[int, Scalar]:
                force = self._force(values)
                return {row: units[k] * force[k] for row, k in enumerate(self.acts)}

            columns = [np.full(len(t), number) for number in numbers]
            with np.errstate(all="ignore"):
                evaluate([*columns, t], what, owners, function, lambda row: out[row])
            return np.nan_to_num(out)

        return at

    def _force(self, values: Vec) -> Vec:
        """(nv,) the generalized force for numbers of `places` and a time."""
        lane, start = self.prepared.file_lane(), self.prepared.file_start
        numbers = list(lane.params.numbers)
        for place, value in zip(self.places, values, strict=False):
            numbers[place] = value
        valued = replace(lane, params=Parameters(numbers, lane.params.matrices), t=values[-1])
        q, v, states = (rows[:, 0].tolist() for rows in (start.q, start.v, start.states))

        def tau(lane: Lane) -> Vec:
            return tree_terms(lane.motion(q, v), lane.gravity(), states).force

        alone, none = (replace(valued, plan=replace(lane.plan, forces=some)) for some in ((self.element,), ()))
        return [a - b for a, b in zip(tau(alone), tau(none), strict=True)]


def fast_forces(prepared: Prepared, lanes: Ensemble) -> Iterator[tuple[str, int, str]]:
    """Path of a force, member and what is said of what it does between the stages of the steps."""
    members = np.flatnonzero(lanes.status <= 0)
    for index, element in enumerate(prepared.plan.forces):
        if FORCES.ships(FORCES[element.kind]) or not len(members):
            continue
        force = TimedForce(prepared, index)
        if not force.acts:
            continue
        lane = prepared.lane_of(members, 1.0)
        numbers = [np.broadcast_to(lane.params.numbers[place], len(members)) for place in force.places]
        distinct, which = np.unique(np.array(numbers).reshape(-1, len(members)), axis=1, return_inverse=True)
        for k, column in enumerate(distinct.T):
            alike = members[np.ravel(which) == k]
            for member, sentence in _of_force(force.of(column), len(force.acts), lanes, alike):
                yield element.path, member, sentence


def _of_force(signal: Signal, rows: int, lanes: Ensemble, members: np.ndarray) -> Iterator[tuple[int, str]]:
    settings, limits = lanes.settings, np.array([MISSED * lanes.settings.energy_limit, SWINGS])
    if settings.tolerance is None:
        off = np.repeat(_missed(signal, rows, settings.t0, settings.h, settings.end)[:, None], len(members), axis=1)
        remedy = "take smaller steps, or a smoother force"
    else:
        off = _missed_in_long_steps(signal, lanes, members)
        limits = np.maximum(limits, ALLOWED * settings.tolerance)
        remedy = "write it as a table, whose knots end steps, or take steps of a fixed size"
    for k in np.flatnonzero((off > limits[:, None]).any(0)):
        worst = int(np.argmax(off[:, k] / limits))
        yield (
            int(members[k]),
            f"changes within steps: the impulse that they see of it is off by {off[worst, k]:.2g} of the whole "
            f"{('on the way', 'in all steps together')[worst]} (limit {limits[worst]:g}): {remedy}",
        )


def _missed(signal: Signal, rows: int, begin: float, h: float, steps: int) -> np.ndarray:
    """(2,) by how much of the whole the impulse that steps of one size see is off, on the way and in all of them.

    Args:
        rows: of the signal.
    """
    errors, swings, whole = ErrorsOnTheWay(rows), np.zeros(rows), np.zeros(rows)
    for f in in_equal_steps(signal, begin, h, np.arange(steps), parts_of(steps, INSTANTS)):
        error = by_stages(f, h) - by_parts(f, h)
        errors.add(error)
        swings += np.abs(error).sum(1)
        whole += by_parts(np.abs(f), h).sum(1)
    return _parts(np.stack([errors.worst, swings]), whole)


def _missed_in_long_steps(signal: Signal, lanes: Ensemble, members: np.ndarray) -> np.ndarray:
    """(2, K) as `_missed`, of steps that a tolerance chose."""
    which = np.zeros(len(lanes.status), bool)
    which[members] = True
    integral = Integral(signal, lanes, INSTANTS // 2)
    rows = len(integral.amounts)
    end, worst, swings = (np.zeros((rows, len(which))) for _ in range(3))
    for seen in seen_in_steps(signal, integral, lanes, which):
        error = seen.integrals - seen.exact
        before = np.cumsum(error, axis=1) - error
        first = np.searchsorted(seen.members, seen.members)  # of the same member
        way = end[:, seen.members] + before - before[:, first] + error
        for row in range(rows):
            np.maximum.at(worst[row], seen.members, np.abs(way[row]))
            np.add.at(swings[row], seen.members, np.abs(error[row]))
            np.add.at(end[row], seen.members, error[row])
    return _parts(np.stack([worst, swings])[..., members], integral.amounts)


def _parts(wrong: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """(2, ...) of the largest generalized force, from (2, k, ...) impulses."""
    most = float(whole.max(initial=0.0))
    return wrong.max(1) / most if most > 0.0 else np.zeros_like(wrong[:, 0])
