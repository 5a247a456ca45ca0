"""The motion of planar linkages under forces: one equation each, whatever their topology.

Of a linkage of one freedom the kinetic energy is J(s) s'^2 / 2, s the angle of the motor's bar, and

    J s'' + J' s'^2 / 2 = torque + Q

(Eksergian 1930; Paul, Kinematics and Dynamics of Planar Machinery, 1979, section 12.5). J = sum of M_ij v_i.v_j over
nodes, v the derivatives of their places by s and M their masses; J' = 2 sum of M_ij v_i.a_j; a thin uniform bar of mass
m adds m / 3 to its two nodes and m / 6 between them. Nothing is compiled for a topology here, either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need_number, refuse_traced, shown
from shiftjax.families.family import Family, Turn, split
from shiftjax.families.reading import Given, given_linkages
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record

Torque = Callable[[float, np.ndarray, np.ndarray], Any]  # of time, angle (B,) and speed (B,)


@record
class FamilyRun:
    """The outcome of `families.dynamics`: B linkages at n instants.

    Attributes:
        times: (n,) [s]. angle: (B, n) of the motor's bar from the x axis [rad]. speed: (B, n) [rad/s].
        energy: (B, n) kinetic and potential [J]. inertia: (B, n) J(s), as the motor feels it [kg m^2].
        ended: (B,) time from which a linkage stands still in these numbers, since it came to where it locks [s];
            infinite where it runs to the end, 0 where it cannot run. status: (B,) of `Solvability`.
    """

    times: np.ndarray
    angle: np.ndarray
    speed: np.ndarray
    energy: np.ndarray
    inertia: np.ndarray
    ended: np.ndarray
    status: np.ndarray


@record
class _Masses:
    """What moves: M (B, N, N) [kg], and the weight of every node (B, N, 2) [N]."""

    matrix: np.ndarray
    weights: np.ndarray


def dynamics(
    adjacency: Any,
    x0: Any,
    node_types: Any,
    *,
    span: float,
    step: float,
    motor: Any = (0, 1),
    node_masses: Any = 0.0,
    bar_masses: Any = 0.0,
    gravity: tuple[float, float] = (0.0, 0.0),
    torque: float | np.ndarray | Torque = 0.0,
    angle: Any = None,
    speed: Any = 0.0,
) -> FamilyRun:
    """Runs many planar linkages of one freedom under gravity and a torque at their motors, by RK4.

    A linkage that comes to a lock stays where it was before: its motor's bar turns back there while the dyad passes to
    its other branch, which the angle alone does not tell.

    Args:
        adjacency, x0, node_types, motor: as those of `simulate`, x0 in m.
        span, step: [s]; the last instant is the last whole step.
        node_masses: (B, N), (N,) or one number, point masses [kg]. bar_masses: (B, N, N), symmetric, (N, N) or one
            number, of thin uniform bars, where there are bars [kg].
        gravity: (x, y) [m/s^2].
        torque: on the motor's bar [N m]: one number, (B,), or a function of time, angle (B,) and speed (B,).
        angle, speed: (B,) or one number, at the start [rad, rad/s]; the angle is the drawn one where left out.

    Raises:
        ModelError: arrays that are no linkages, masses that are negative or none.
    """
    need_number("span", span, "a positive number of seconds", above=0.0)
    need_number("step", step, "a positive number of seconds, at most the span", above=0.0)
    if step > span:
        raise ModelError("step", shown(step), f"at most the span, {span} s", "Take a smaller one.")
    refuse_traced("x0", x0, "`dynamics` has no derivatives: those of `simulate` lead to J(s).")
    given = given_linkages(adjacency, x0, node_types, motor, traced=False)
    family = Family.of(given)
    members = len(given.points)
    masses = _masses(given, node_masses, bar_masses, gravity)
    arm = family.arms(given.points)[1]
    start = np.arctan2(arm[:, 1], arm[:, 0]) if angle is None else _column("angle", angle, members)
    law = torque if callable(torque) else _constant(_column("torque", torque, members))
    state = np.stack([start, _column("speed", speed, members)])
    return _run(family, given.points, masses, law, state, step, int(np.floor(span / step * (1.0 + 1e-12))))


def _run(
    family: Family, points: np.ndarray, masses: _Masses, torque: Torque, state: np.ndarray, step: float, count: int
) -> FamilyRun:
    """All steps; state: (2, B) angle and speed."""
    times = step * np.arange(count + 1)
    states, figures = np.zeros((count + 1, *state.shape)), np.zeros((count + 1, 2, len(points)))

    def at(now: np.ndarray) -> np.ndarray:
        return _equation(family, points, masses, now[0])

    def rates(time: float, now: np.ndarray, terms: np.ndarray) -> np.ndarray:
        J, slope, force, _ = terms
        drive = np.broadcast_to(np.asarray(torque(time, *now), float), J.shape)
        return np.stack([now[1], (drive + force - 0.5 * slope * now[1] ** 2) / J])

    terms = at(state)
    ended = np.where(np.isfinite(terms[0]), np.inf, 0.0)
    for k, time in enumerate(times):
        J, _, _, potential = terms
        states[k], figures[k] = state, (0.5 * J * state[1] ** 2 + potential, J)
        if k == count:
            break
        one = rates(time, state, terms)
        second = state + 0.5 * step * one
        two = rates(time + 0.5 * step, second, at(second))
        third = state + 0.5 * step * two
        three = rates(time + 0.5 * step, third, at(third))
        fourth = state + step * three
        four = rates(time + step, fourth, at(fourth))
        new = state + step / 6.0 * (one + 2.0 * (two + three) + four)
        ahead = at(new)
        good = np.isfinite(new).all(0) & np.isfinite(ahead[0]) & np.isinf(ended)
        ended = np.where(good, ended, np.minimum(ended, time))
        state, terms = np.where(good, new, state), np.where(good, ahead, terms)
    return FamilyRun(
        times, states[:, 0].T, states[:, 1].T, figures[:, 0].T, figures[:, 1].T, ended, family.order.status
    )


def _equation(family: Family, points: np.ndarray, masses: _Masses, angle: np.ndarray) -> np.ndarray:
    """(4, B) J, J', the force of gravity along the angle and its potential; J is no number where none can run."""
    turn = Turn.of(angle[:, None])
    (x, v, a), margin = split(family.follow(points, turn, 2), turn, 2)
    x, v, a = (part[..., 0] for part in (x, v, a))
    carried = masses.matrix @ v
    J = (carried * v).sum((1, 2))
    J = np.where((margin[:, 0] > 0.0) & (J > 0.0), J, np.nan)
    weights = masses.weights
    return np.stack([J, 2.0 * (carried * a).sum((1, 2)), (weights * v).sum((1, 2)), -(weights * x).sum((1, 2))])


def _masses(given: Given, node_masses: Any, bar_masses: Any, gravity: Any) -> _Masses:
    """Of points and of bars; fixed nodes do not move."""
    members, nodes = given.fixed.shape
    points = _filled("node_masses", node_masses, (members, nodes))
    bars = _filled("bar_masses", bar_masses, (members, nodes, nodes)) * given.adjacency
    if not np.array_equal(bars, bars.swapaxes(1, 2)):
        raise ModelError("bar_masses", "a mass of one direction of a bar", "symmetric matrices", "Correct it.")
    direction = real_array(gravity)
    if direction is None or direction.shape != (2,) or not np.isfinite(direction).all():
        raise ModelError("gravity", shown(gravity), "(x, y) [m/s^2]", "Correct it.")
    matrix = bars / 6.0
    diagonal = np.arange(nodes)
    matrix[:, diagonal, diagonal] = points + bars.sum(2) / 3.0
    weights = (points + bars.sum(2) / 2.0)[..., None] * direction
    return _Masses(matrix, np.where(given.present[..., None], weights, 0.0))


def _filled(where: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Masses of all members."""
    array = real_array(value)
    if array is None or not (np.isfinite(array) & (array >= 0.0)).all():
        raise ModelError(where, shown(value), "masses of 0 and more [kg]", "Correct it.")
    if array.shape not in ((), shape[1:], shape):
        raise ModelError(where, f"shape {array.shape}", f"shape {shape}, {shape[1:]} or one number", "Correct it.")
    return np.broadcast_to(array, shape)


def _column(where: str, value: Any, members: int) -> np.ndarray:
    """(B,) numbers."""
    array = real_array(value)
    if array is None or array.shape not in ((), (members,)) or not np.isfinite(array).all():
        raise ModelError(where, shown(value), f"one number, or {members} of them", "Correct it.")
    return np.broadcast_to(array, (members,)).copy()


def _constant(values: np.ndarray) -> Torque:
    return lambda time, angle, speed: values
