"""How far off a finished run may be, from what its energy says, and the step that would do.

Host code. An error dE of the energy at a kinetic energy T changes the speed by dE / 2T of itself, and so the time that
every bit of the way takes. Over a whole way s the lag that has come together is turned into angles by what is still to
go, and all angles are off by about

    dE (1 / duration) (integral over s of the integral until then of dt / T)

For a steady motion that is dE (mean of |v|) (integral of dt / 2T); what has come to rest is late, but not elsewhere.
Where a motion turns, T is not what counts (`sampling`). The integrals are taken from a few samples of a run. Measured
on 1 000 one-degree-of-freedom loops (`benchmarks/study_accuracy.py --accuracy local`): angles against a run of a
sixteenth of the step were off by 0.73 of the estimate, `FACTOR` in it, at most. It says nothing of motions in which
errors grow by themselves or are forgotten: there members that ran again at half the step, `Ensemble.repeats`, stand in
for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shiftjax.kernels.lane_table import ALL
from shiftjax.outcome import Outcome
from shiftjax.plan_elements import ForceElement
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.sampling import shares_until_now
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.run.programs.setup import ACCUMULATORS

FACTOR = 2.0  # of the estimate, so that few members are more off than it says
ROUNDING = 16.0  # units in the last place of an energy, which a sum over bodies may be off by
# Roundings: beside the energy of a motion that has as many, one is 1e-3, the limit of an energy error. What has less is
# not judged by rounding (pendulums of 1e-7 to 1 rad, in f64 and f32, were `inaccurate` below 22 of them without this).
# With more of them true errors go unseen: 1e6 are 1.9 times the whole energy in f32, whose runs then had no error.
MOVING = 1e3
TENFOLD = 10.0  # too large, where by how much is not known
LOST = 0.5  # an energy error from which nothing follows for a smaller step
REACHED = 0.7  # of the step at which errors of the method's order would just meet their limit


def angle_errors(lanes: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """By how much the coordinates of every member may be off [rad, or parts of the model's length].

    Returns:
        (B,) by the error of the energy, and the rounding of large angles, or by repeats at half the step where there
        are some; (B,) by what is lost at singular poses.
    """
    estimated, lost = estimated_errors(lanes)
    return estimated if lanes.repeats is None else lanes.repeats.applied(estimated, lanes.settings.angle_limit), lost


def estimated_errors(lanes: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """As `angle_errors`, without repeats."""
    angle, lost, _ = _estimates(lanes)
    return angle, lost


def energy_errors(lanes: Ensemble) -> np.ndarray:
    """(B,) error of the energy balance over the largest kinetic energy or change of potential, whichever is more."""
    return _estimates(lanes)[2]


def keep_estimates(lanes: Ensemble) -> None:
    """Estimates the errors of lanes that have come to their end, once for all who ask."""
    lanes.estimates = _estimates(lanes)


def _estimates(lanes: Ensemble) -> np.ndarray:
    """(3, B): as of `estimated_errors`, and `energy_errors`."""
    if lanes.estimates is not None:
        return lanes.estimates
    out, free = np.zeros((3, len(lanes.status))), moves_freely(lanes)

    def estimate(some: slice) -> None:
        acc = accumulated(lanes, some)
        balance, scale = balance_errors(acc, lanes.table.dtype), np.maximum(acc["kinetic"], acc["potential"])
        with np.errstate(all="ignore"):
            out[2, some] = np.where(scale > 0, balance / scale, 0.0)
        if free:
            out[:2, some] = _estimated(lanes, some, balance)

    lanes.in_portions(estimate)
    return out


def _estimated(lanes: Ensemble, members: slice, balance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What energy, balanced but for so much [J], and samples say of coordinates; what is lost at singular poses."""
    s, clock = lanes.samples, lanes.clock_of(members).astype(float)
    shares = shares_until_now(lanes, members, clock - s.at[members])
    path, lag = shares["path"] + s.path[members], shares["lag"] + s.lag[members]
    seconds = np.maximum(clock, 1.0) * lanes.settings.h
    rounding = np.finfo(lanes.table.dtype).eps * lanes.table.reduce("largest", "q", members).astype(float)
    with np.errstate(all="ignore"):
        by_energy = FACTOR * balance * lag / seconds
    drift = s.drift[members] + (clock - s.at[members]) * np.nan_to_num(s.rate[members])
    return np.maximum(by_energy, drift) + rounding, s.doubt[members] * path


def judge(lanes: Ensemble) -> None:
    """Warns members that have finished and whose errors are above their limits: `inaccurate`, or `near_singular`."""
    settings, (angle, lost), energy = lanes.settings, angle_errors(lanes), energy_errors(lanes)
    poor, singular = np.zeros((2, len(angle)), bool)

    def compare(some: slice) -> None:
        finished = lanes.status[some] <= 0
        parts = [value / limit for value, limit, _ in _judged(lanes, angle, energy, some).values()]
        poor[some] = finished & ~(np.max(parts, axis=0) <= 1.0)
        above = (energy[some] > settings.energy_limit) | (angle[some] > settings.angle_limit)
        singular[some] = finished & (_lost(lanes, energy, some) & above | ~(lost[some] <= settings.angle_limit))

    lanes.in_portions(compare)
    lanes.warn(np.flatnonzero(poor), Outcome.inaccurate)
    lanes.warn(np.flatnonzero(singular), Outcome.near_singular)


def _lost(lanes: Ensemble, energy: np.ndarray, members: slice) -> np.ndarray:
    """(n,) whether the energy error is that of singular poses: a speed off by d changes its square by 2 d."""
    return 2 * lanes.samples.doubt[members] > energy[members]


def judged_errors(lanes: Ensemble) -> dict[str, tuple[np.ndarray, float, str]]:
    """What is judged of every member: name -> value (B,), its limit, its unit.

    A smaller step does not help where a singular pose is the cause: energy and angles do not count then.
    """
    return _judged(lanes, angle_errors(lanes)[0], energy_errors(lanes), ALL)


def _judged(
    lanes: Ensemble, angle: np.ndarray, energy: np.ndarray, members: slice
) -> dict[str, tuple[np.ndarray, float, str]]:
    """The same of some members; of all are the first of `angle_errors`, and `energy_errors`."""
    settings, regular = lanes.settings, ~_lost(lanes, energy, members)
    return {
        "energy error": (np.where(regular, energy[members], 0.0), settings.energy_limit, ""),
        "gap": (accumulated(lanes, members)["gap"], settings.gap_limit * lanes.setup.length, " m"),
        "coordinates off by": (np.where(regular, angle[members], 0.0), settings.angle_limit, " rad"),
    }


def balance_errors(acc: Mapping[str, np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Largest error of the energy balance [J]; 0 at rest, where all that changes is the rounding of the energies."""
    with np.errstate(over="ignore"):  # two energies of 1e308 J, of members that are far out
        rounding = ROUNDING * np.finfo(dtype).eps * (np.abs(acc["start_energy"]) + np.abs(acc["start_potential"]))
    at_rest = np.maximum(acc["kinetic"], acc["potential"]) <= MOVING * rounding
    return np.where(at_rest & (acc["energy_error"] <= rounding), 0.0, acc["energy_error"])


def accumulated(lanes: Ensemble, members: slice = ALL) -> dict[str, np.ndarray]:
    """The accumulators of the certificate, (n,) each, by name; for reading."""
    return dict(zip(ACCUMULATORS, lanes.certificate_of(members).astype(float, copy=False), strict=True))


def inaccuracies(lanes: Ensemble, members: Sequence[int]) -> dict[int, str]:
    """Member -> which of its errors are above their limits, and what would bring them below; "" where none is."""
    judged, energy = judged_errors(lanes), energy_errors(lanes)
    return {
        k: _sentence(
            lanes,
            {name: (float(value[k]), limit, unit) for name, (value, limit, unit) in judged.items()},
            float(energy[k]),
        )
        for k in members
    }


def _sentence(lanes: Ensemble, errors: Mapping[str, tuple[float, float, str]], energy: float) -> str:
    above = {name: triple for name, triple in errors.items() if not triple[0] <= triple[1]}
    if not above:
        return ""
    sentences = [
        f"{name} {'more than 3' if unit == ' rad' and not value <= 3.0 else f'{value:.2g}'}{unit} "
        f"(limit {limit:.3g}{unit})"
        for name, (value, limit, unit) in above.items()
    ]
    remedies = list[str]()
    if "gap" in above and any(block.rounded for block in lanes.setup.plan.substructures):
        del above["gap"]
        remedies.append(
            "loops miss by the digits of the file, with any step: write more digits, or take a larger gap_limit"
        )
    if above:
        excess = max(value / limit for value, limit, _ in above.values())
        remedies.append(_remedy(lanes, excess, energy))
    return f"{', '.join(sentences)}: {'; '.join(remedies)}"


def _remedy(lanes: Ensemble, excess: float, energy: float) -> str:
    """A step that would do; a method of any order has the second across a bend of a force, the first across a jump."""
    if lanes.setup.precision == "f32":
        return "compute in f64: in f32 rounding grows with the angle and with every step"
    knots, jumps = _knots_and_jumps(lanes)
    if lanes.settings.tolerance is not None:
        # Its error goes with the tolerance; of a repeat that ended early nothing is known.
        tolerance = smaller_step(lanes.settings.tolerance, excess if np.isfinite(excess) else TENFOLD, 1)
        return f"take a tolerance of about {tolerance:g}"
    order = method_order(lanes)
    if energy < LOST and np.isfinite(excess):
        remedies = [f"take steps of about {1e3 * smaller_step(lanes.settings.h, excess, order):g} ms"]
    else:
        remedies = [
            f"too far off to say which step would do: begin with a tenth, {1e2 * lanes.settings.h:g} ms; a stiff "
            "spring or damper may make this one unstable"
        ]
    if jumps:
        remedies.append(
            f"where the force of {jumps[0].path} jumps at a knot, a body that should stick creeps with any step: "
            "give the force a steep slope there instead"
        )
    elif knots:
        remedies.append(
            f"the force of {knots[0].path} bends at its knots, which costs accuracy: a softer one needs less"
        )
    return "; ".join(remedies)


def method_order(lanes: Ensemble) -> int:
    """The order of a run's method: the second across a bend of a force, the first across a jump."""
    order, (knots, jumps) = order_of(METHODS[lanes.setup.method]), _knots_and_jumps(lanes)
    return min(order, 1 if jumps else 2 if knots else order)


def _knots_and_jumps(lanes: Ensemble) -> tuple[list[ForceElement], list[ForceElement]]:
    """The forces that bend at knots, and those of them that jump there."""
    knots = [force for force in lanes.setup.plan.forces if dict(force.numbers).get("knot_points")]
    return knots, [force for force in knots if force.dissipates]


def moves_freely(lanes: Ensemble) -> bool:
    """Whether anything is left to forces: a mechanism whose motion is prescribed follows it whatever its energy."""
    tied = {c for block in lanes.setup.plan.substructures for c in block.columns}
    return len(tied) < lanes.setup.plan.nv or any(block.independent for known in lanes.known for block in known)


def smaller_step(step: float, excess: float, order: int) -> float:
    """The step [s] that brings an error `excess` times its limit below it, one digit and a half, rounded down."""
    wanted = REACHED * step * excess ** (-1.0 / order)
    size = 10.0 ** np.floor(np.log10(wanted))
    return float(max(digit for digit in (1.0, 1.25, 2.0, 2.5, 5.0) if digit * size <= wanted * (1 + 1e-9)) * size)
