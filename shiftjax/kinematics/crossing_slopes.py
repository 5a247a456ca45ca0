"""How poses at which curves meet go with numbers of a design, or that a number takes them away. Host code.

Where curves of poses meet, the closures F(q, u, p) = 0 of coordinates and the parameter u have a unit vector w with w
(F_q, F_u) = 0. That is one equation more than there are unknowns q, u and w: a change of numbers with w F_p = 0 moves
the pose, any other takes the curves apart, as a parallelogram whose coupler is a little too long no longer lies flat
(Golubitsky, Schaeffer, Singularities and Groups in Bifurcation Theory I, chapter III). An end of a travel, where a path
turns round, moves with every number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.algebra import Vec
from shiftjax.constraints import CoordinateFunction, scales
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError, refuse_text, shown
from shiftjax.gradients.derived import derived
from shiftjax.kinematics.ranges.travel import travel
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.closing.equations import Equations
from shiftjax.run.derive import full_path
from shiftjax.run.options import options_of
from shiftjax.run.start.prepare import prepare

SOLVER = 1e-9  # of the largest singular value
OPEN = 1e-6  # of the change of equations by numbers: what no change of the pose takes back
BLIND = 1e-6  # part of a unit change of the parameter along which nothing holds it
NEAR = 1e-3  # of the way between two poses, to which a crossing is known

Directions = Mapping[str, Mapping[str, float]]  # name -> number -> by how much it goes


@record
class MeetingPlace:
    """A pose at which curves meet, on the line between two poses of a path.

    Attributes:
        index: of its substructure. rows: of it that are independent at a regular pose. q: (nq,). lines: driven
            coordinate -> its place, and how it goes with the parameter.
    """

    index: int
    rows: tuple[int, ...]
    q: np.ndarray
    lines: Mapping[str, tuple[float, float]]


class DesignDirections:
    """Directions in which numbers of a design go, with all that follows from them.

    Args:
        model: of the path. given: paths of numbers, each by itself, or name -> number -> its share.

    Raises:
        ModelError: what is neither, or no number of the model.
    """

    def __init__(self, model: Model, given: Sequence[str] | Mapping[str, Mapping[str, float]]) -> None:
        if not isinstance(given, Mapping):
            refuse_text("slopes", given)
        known, self.model = model.numbers(), model
        stated = given if isinstance(given, Mapping) else {path: {path: 1.0} for path in given}
        self.directions: dict[str, dict[str, float]] = {}
        for name, shares in stated.items():
            if not isinstance(shares, Mapping) or not shares:
                allowed = "number path -> how fast it goes"
                raise ModelError(f"slopes {name}", shown(shares), allowed, "Write {'a:crank:tip.T[0]': 1.0}.")
            self.directions[name] = {full_path(model, path, known): float(x) for path, x in shares.items()}
        self.paths = tuple(dict.fromkeys(path for shares in self.directions.values() for path in shares))
        self.values = np.array([known[path] for path in self.paths])

    def columns(self) -> tuple[dict[str, np.ndarray], dict[str, dict[str, float]]]:
        """Full path -> (1,) of all numbers that go, and direction -> path -> its rate."""
        if not self.model.expressions:
            return {path: np.array([x]) for path, x in zip(self.paths, self.values, strict=True)}, self.directions

        def every(x: Any) -> dict[str, Any]:
            return derived(self.model, {path: x[k : k + 1] for k, path in enumerate(self.paths)}, None, {})[0]

        rates: dict[str, dict[str, float]] = {}
        with jax.enable_x64(True):
            at = jnp.asarray(self.values)
            numbers = every(at)
            for name, shares in self.directions.items():
                way = jnp.asarray([shares.get(path, 0.0) for path in self.paths])
                rates[name] = {path: float(x[0]) for path, x in jax.jvp(every, (at,), (way,))[1].items()}
            return {path: np.asarray(x) for path, x in numbers.items()}, rates

    def of_place(
        self, place: MeetingPlace, tie: Mapping[str, CoordinateFunction | str] | None
    ) -> tuple[dict[str, float], tuple[str, ...]]:
        """Direction -> slope of the parameter, NaN where there is none; names of those that take the pose away."""
        columns, rates = self.columns()
        prepared = prepare(self.model, columns, options_of(tie=tie))
        plan, block = prepared.plan, prepared.plan.substructures[place.index]
        groups = [plan.constraints[k] for k in block.groups]
        led = [group for group in groups for _ in range(group.rows)]
        others = [k for k in range(len(led)) if k not in place.rows]

        def function(lane: Lane, q: Vec, unknowns: Vec) -> tuple[Vec, Vec]:
            rows = lane.rows(lane.motion(q, None), place.index)
            gaps = [phi / unit for phi, unit in zip(rows.phi, scales(rows.unit, lane.length), strict=True)]
            for k, group in enumerate(led):
                if group.prescribes:
                    one = plan.coordinates[group.coordinates[0]]
                    begin, rate = place.lines[one.path]
                    gaps[k] = (q[one.q] - (begin + unknowns[0] * rate)) / lane.units[one.v]
            return [gaps[k] for k in place.rows], [*(gaps[k] for k in others), unknowns[0]]

        base = Equations.of(prepared.setup, prepared.own_numbers, prepared.places, block.columns, function, others=1)
        system = base.singular([]).holding(range(len(others))).answering([len(others)])
        q, p = place.q[:, None], prepared.values
        J = base.slopes(base.inputs(q, p, np.zeros((1, 1))))[0][0]
        w = np.linalg.svd(J)[0][:, -1:]
        q, unknowns, _ = system.solved(q, p, np.concatenate([np.zeros((1, 1)), w]))
        x = system.inputs(q, p, unknowns)
        A, at = system.slopes(x)[0][0], len(block.columns)
        inverse = np.linalg.pinv(A, rcond=SOLVER)
        blind = np.abs(np.eye(A.shape[1]) - inverse @ A)[at].max() > BLIND or abs(unknowns[0, 0]) > NEAR
        slopes, removing = dict[str, float](), list[str]()
        for name, way in rates.items():
            change = np.array([[way.get(path, 0.0)] for path in prepared.vary])
            F = system.tangent(x, change)[0][0]
            step = -inverse @ F
            lost = np.abs(F + A @ step).max() > OPEN * np.abs(F).max()
            slopes[name] = float("nan") if lost or blind else float(step[at])
            if lost:
                removing.append(name)
        return slopes, tuple(removing)

    def of_end(
        self, coordinate: str, *, high: bool, model: Model, assign: Mapping[str, Any] | None, tie: Any
    ) -> dict[str, float]:
        """Direction -> slope of an end of a travel of one driver, of the model as it was given, with what is set."""
        resolved = model.resolve
        rest = {path: x for path, x in (assign or {}).items() if resolved(path) not in self.paths}

        def end(x: Any) -> Any:
            vary = {path: x[k : k + 1] for k, path in enumerate(self.paths)}
            reach = travel(model, coordinate, vary=vary, assign=rest or None, tie=tie, together=True)
            return (reach.high if high else reach.low)[0]

        ways = np.array([[shares.get(path, 0.0) for path in self.paths] for shares in self.directions.values()])
        with jax.enable_x64(True):
            at = jnp.asarray(self.values)
            slopes = jax.vmap(lambda way: jax.jvp(end, (at,), (way,))[1])(jnp.asarray(ways))
        return dict(zip(self.directions, map(float, slopes), strict=True))
