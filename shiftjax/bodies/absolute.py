"""`absolute`: a model in coordinates of its bodies in place of those of its joints. Host code on NumPy.

Every body moves freely, and every joint and constraint is rows Phi(x, t) = 0 of the poses x of the bodies that it is
between, with their Jacobian: the form of Haug, Computer-Aided Kinematics and Dynamics of Mechanical Systems, chapters 3
and 9. There is no tree and no cut: what `dynamics` and `run` make of the same model is another way to the same motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shiftjax.bodies.assembled_rows import AssembledRows, RowsOfStates, stacked
from shiftjax.bodies.plane import PLANES, Plane, seven
from shiftjax.constraints import CoordinateFunction
from shiftjax.dynamics.kinematics import Parameters, quaternion_places
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError, need, need_number, one_of, wrong
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.numerics.real_arrays import real_array
from shiftjax.plan_elements import PlacedFrame
from shiftjax.poses import matrices
from shiftjax.rotations import quaternion_of_vector, quaternion_product
from shiftjax.run.arguments import check_arguments
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.run.start.prepare import prepare
from shiftjax.topology.partition import RANK, ROUNDED_RANK

CLOSED = 1e-12  # of the model's length, or rad: the residual of a closed state
ITERATIONS = 30  # of Newton's method, which takes 4 to 6 from a state nearby
IN_SPACE = ("x", "y", "z", "rotation x", "rotation y", "rotation z")


@dataclass(frozen=True, eq=False)
class BodyCoordinates:
    """A model in coordinates of its bodies, as `absolute` gives it.

    States x are arrays (..., nb, 7): of each body the position of its origin in the world [m] and a quaternion of any
    length, w first, body to world, as the poses of a `Result`. In a plane they are (..., nb, 3): x, y [m], theta [rad].
    With `vary` the first axis is that of members; other leading axes are anything.

    Attributes:
        bodies: their paths, in the order of states. start: (nb, 7) or (nb, 3) where the file's start has them.
        rows: what each row of Phi says: the path of a joint or constraint, then what it bars. row_units: "m" or "rad".
        columns: of each column of the Jacobian the body and its component.
        plane: the name of the plane, "" in space.
    """

    bodies: tuple[str, ...]
    start: np.ndarray
    rows: tuple[str, ...]
    row_units: tuple[str, ...]
    columns: tuple[str, ...]
    plane: str
    _lane: Lane = field(repr=False)
    _members: int = field(repr=False)  # 0 without `vary`
    _assembled: AssembledRows = field(repr=False)
    _flat: Plane | None = field(repr=False)
    _q: np.ndarray = field(repr=False)  # (nq,) of the start

    def phi(self, x: Any, t: Any = 0.0, *, near: Any = None) -> np.ndarray:
        """(..., m) residuals [m or rad]: all zero where every joint is whole and every constraint met.

        Args:
            x: (..., nb, 7) or (..., nb, 3) states. t: time [s], one or (...).
            near: (..., nq) coordinates of joints, as of `coordinates`, within half a turn of which angles are taken:
                gears and drivers count turns, poses in space do not. Where left out, those of the start; in a plane
                those of the start and the turns of theta.

        Raises:
            ModelError: arrays of another shape.
        """
        return self._at(x, t, near).phi

    def jacobian(self, x: Any, t: Any = 0.0, *, near: Any = None, quaternions: bool = False) -> np.ndarray:
        """(..., m, 6 nb) derivatives of Phi, one row a constraint, one column a component of each body.

        The columns of a body are those of its velocity [m/s] and its angular velocity [rad/s] along the world's axes;
        in a plane, (..., m, 3 nb), of x, y and theta.

        Args:
            x, t, near: as of `phi`.
            quaternions: True gives, for angular velocities, columns of the four numbers of the quaternion, (..., m,
                7 nb): of Phi at the unit quaternion along them.

        Raises:
            ModelError: arrays of another shape; quaternions in a plane.
        """
        need("quaternions", quaternions, bool, "True or False")
        J = self._at(x, t, near).jacobian
        if not quaternions:
            return J
        if self.plane:
            raise ModelError("quaternions", "a state in a plane", "states in space", "Leave it out.")
        parts = J.reshape(*J.shape[:-1], len(self.bodies), 6)
        turning = angular_velocities(np.asarray(x, float)[..., 3:])
        by_numbers = np.einsum("...mbi,...bij->...mbj", parts[..., 3:], turning)
        return np.concatenate([parts[..., :3], by_numbers], axis=-1).reshape(*J.shape[:-1], -1)

    def coordinates(self, x: Any, t: Any = 0.0, *, near: Any = None) -> np.ndarray:
        """(..., nq) coordinates of all joints nearest to states, in the order of `Result.final["q"]`."""
        return self._at(x, t, near).q

    def placed(self, q: Any) -> np.ndarray:
        """(..., nb, 7) or (..., nb, 3) states to which the spanning tree leads from coordinates (..., nq) of joints.

        Loops that these do not close stay open at the joints where they are cut. Quaternions may have any length. In a
        plane theta is from -pi to pi.
        """
        flat, lead = self._shaped("q", q, (self._assembled.plan.nq,))
        flat = flat.copy()
        for first, _ in quaternion_places(self._assembled.plan):
            flat[:, first : first + 4] /= np.linalg.norm(flat[:, first : first + 4], axis=1, keepdims=True)
        motion = self._lane_at(0.0, lead).motion(list(flat.T), None)
        node = {place: k for k, place in self._assembled.places.items() if not self._assembled.plan.nodes[k].virtual}
        poses = [motion.pose(PlacedFrame(node[place], None)) for place in range(len(self.bodies))]
        R, p = (np.stack([stacked(pose[k], len(flat)) for pose in poses], axis=1) for k in (0, 1))
        x = seven(R, p) if self._flat is None else self._flat.states(R, p)
        return x.reshape(*lead, *x.shape[1:])

    def of(self, result: Result) -> np.ndarray:
        """(K, n, nb, 7) or (K, n, nb, 3) states of a result at its instants, of the members whose poses it has.

        Of a result without members they are (n, nb, 7) or (n, nb, 3).

        Raises:
            ModelError: a result without poses of these bodies.
        """
        need("result", result, Result, "a result, as `simulate` gives")
        if lacking := [path for path in self.bodies if path not in result.poses]:
            raise ModelError("result", f"no poses of {lacking[0]}", "poses of all bodies", 'Run it with keep="all".')
        x = np.stack([np.asarray(result.poses[path], float) for path in self.bodies], axis=-2)
        if self._flat is None:
            return x
        M = matrices(x.reshape(-1, len(self.bodies), 7))
        return self._flat.states(M[..., :3, :3], M[..., :3, 3]).reshape(*x.shape[:-1], 3)

    def rank(self, x: Any, t: Any = 0.0, *, near: Any = None, tolerance: float | None = None) -> np.ndarray:
        """(...) rank of the Jacobian; columns less rank are the freedoms of the mechanism at that state.

        It is 0 where a state is no number.

        Args:
            x, t, near: as of `phi`.
            tolerance: of the largest singular value, metres measured in the model's length: what is taken for 0; where
                left out 1e-8, or 1e-5 where only the rounding of the file's numbers keeps rows from being redundant.
        """
        if tolerance is not None:
            need_number("tolerance", tolerance, "a number of at least 0", least=0.0)
        J = self._scaled(self._at(x, t, near).jacobian)
        J = np.where(np.isfinite(J).all((-2, -1), keepdims=True), J, 0.0)
        sizes = np.linalg.svd(J, compute_uv=False)
        least = self._tolerance if tolerance is None else tolerance
        return (sizes > least * sizes[..., :1]).sum(-1)

    def moved(self, x: Any, change: Any) -> np.ndarray:
        """(..., nb, 7) or (..., nb, 3) states after changes (..., 6 nb) or (..., 3 nb): ways [m], turns about the
        world's axes by rotation vectors [rad], or theta. Leading axes of both broadcast.

        Raises:
            ModelError: arrays of other shapes.
        """
        flat, lead = self._states(x)
        step = array_of("change", change)
        if step.shape[-1:] != (len(self.columns),):
            allowed = f"(..., {len(self.columns)})"
            raise ModelError("change", f"shape {step.shape}", allowed, "Give one for each column.")
        try:
            whole = np.broadcast_shapes(lead, step.shape[:-1])
        except ValueError:
            allowed, todo = f"leading axes as {lead}", "Give one a state, or one for all."
            raise ModelError("change", f"shape {step.shape}", allowed, todo) from None
        flat = np.broadcast_to(flat.reshape(*lead, *self.start.shape), (*whole, *self.start.shape))
        step = np.broadcast_to(step, (*whole, len(self.columns))).reshape(*flat.shape[:-1], -1)
        if self._flat is not None:
            return flat + step
        turn, e = (list(np.moveaxis(part[..., 3:], -1, 0)) for part in (step, flat))
        turned = np.stack(quaternion_product(quaternion_of_vector(turn), e), axis=-1)
        return np.concatenate([flat[..., :3] + step[..., :3], turned], axis=-1)

    def closed(self, x: Any, t: Any = 0.0, *, near: Any = None, to: float = CLOSED) -> np.ndarray:
        """States near given ones at which Phi vanishes, by Newton's method; each step is the least change of bodies.

        Args:
            x, t, near: as of `phi`; coordinates are followed from step to step.
            to: the largest residual that is left, rad, or in the model's length.

        Raises:
            ModelError: it comes to none; says the residuals of its steps, and the row that is left. `x` is as before.
        """
        need_number("to", to, "a number of at least 0", least=0.0)
        log: list[float] = []
        while True:
            assembly = self._at(x, t, near)
            left = assembly.phi / self._scales(self.row_units)
            log.append(float(np.abs(left).max(initial=0.0)))
            if log[-1] <= to:
                return np.array(np.broadcast_to(array_of("x", x), (*left.shape[:-1], *self.start.shape)))
            if len(log) > ITERATIONS or not np.isfinite(log[-1]):
                break
            back = np.linalg.pinv(self._scaled(assembly.jacobian), rcond=self._tolerance)
            x = self.moved(x, -(back @ left[..., None])[..., 0] * self._column_scales)
            near = assembly.q
        row = self.rows[int(np.abs(np.nan_to_num(left, nan=np.inf)).reshape(-1, len(self.rows)).max(0).argmax())]
        first = ", ".join(f"{size:.1e}" for size in log[:3])
        fault = f"residuals {first} ... {log[-1]:.1e} after {len(log) - 1} steps"
        todo = "Begin nearer to where they are met, or drive it elsewhere."
        raise ModelError(f"closed, {row}", fault, f"one of at most {to:g} in the end", todo)

    # -- shapes and scales ---------------------------------------------------------------------------------------------

    def _at(self, x: Any, t: Any, near: Any) -> RowsOfStates:
        """All rows, in the shape of the states."""
        flat, lead = self._states(x)
        if self._flat is None:
            M = matrices(flat)
            R, p = M[..., :3, :3], M[..., :3, 3]
        else:
            R, p = self._flat.poses(flat)
        rows = self._assembled.at(self._lane_at(t, lead), R, p, self._around(flat, lead, near))
        J = rows.jacobian if self._flat is None else self._flat.columns(rows.jacobian)
        return RowsOfStates(*(part.reshape(*lead, *part.shape[1:]) for part in (rows.phi, J, rows.q)))

    def _around(self, flat: np.ndarray, lead: tuple[int, ...], near: Any) -> np.ndarray:
        """(N, nq) coordinates within half a turn of which angles are taken."""
        if near is None:
            q = np.broadcast_to(self._q, (len(flat), len(self._q)))
            return q if self._flat is None else self._assembled.counted(q, flat[..., 2] - self.start[:, 2])
        q = array_of("near", near)
        if q.shape[-1:] != self._q.shape:
            todo = "Give one for each coordinate, as `coordinates` does."
            raise ModelError("near", f"shape {q.shape}", f"(..., {len(self._q)})", todo)
        return spread("near", q, (*lead, len(self._q))).reshape(len(flat), len(self._q))

    def _states(self, x: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """(N, nb, ...) states with unit quaternions, and their leading axes."""
        flat, lead = self._shaped("x", x, self.start.shape)
        if self._flat is None:
            flat = np.concatenate(
                [flat[..., :3], flat[..., 3:] / np.linalg.norm(flat[..., 3:], axis=-1, keepdims=True)], -1
            )
        return flat, lead

    def _shaped(self, where: str, values: Any, last: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
        """(N, ...) of an array with any leading axes, and these.

        Raises:
            ModelError: other last axes, or a first one that is not of members.
        """
        array = array_of(where, values)
        lead = array.shape[: max(array.ndim - len(last), 0)]
        wanted = f"(..., {', '.join(map(str, last))})"
        if array.shape[len(lead) :] != last:
            raise ModelError(where, f"shape {array.shape}", wanted, "Give one for each body or coordinate.")
        if self._members and not lead:
            array, lead = np.broadcast_to(array, (self._members, *last)), (self._members,)
        if self._members and lead[0] != self._members:
            todo = "Put members first."
            raise ModelError(where, f"{lead[0]} members", f"the {self._members} of `vary`", todo)
        return array.reshape(int(np.prod(lead)), *last), lead

    def _lane_at(self, t: Any, lead: tuple[int, ...]) -> Lane:
        """The lane of N states: numbers of members, repeated, and their times."""
        count = int(np.prod(lead))
        repeats = count // max(self._members, 1)
        numbers = [np.repeat(x, repeats) if isinstance(x, np.ndarray) else x for x in self._lane.params.numbers]
        instants = array_of("t", t)
        times = float(instants) if instants.ndim == 0 else spread("t", instants, lead).reshape(-1)
        return replace(self._lane, params=Parameters(numbers, self._lane.params.matrices), t=times)

    def _scales(self, units: tuple[str, ...]) -> np.ndarray:
        return np.array([self._lane.length if unit == "m" else 1.0 for unit in units])

    @property
    def _column_scales(self) -> np.ndarray:
        """(n,) the model's length for ways, 1 for turns."""
        ways = 2 if self.plane else 3
        return np.tile([*[self._lane.length] * ways, *[1.0] * (3 if ways == 3 else 1)], len(self.bodies))

    def _scaled(self, J: np.ndarray) -> np.ndarray:
        """The same Jacobian, dimensionless."""
        return J * self._column_scales / self._scales(self.row_units)[:, None]

    @property
    def _tolerance(self) -> float:
        return ROUNDED_RANK if any(block.rounded for block in self._assembled.plan.substructures) else RANK


def absolute(
    model: Model | str,
    *,
    plane: str | None = None,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
) -> BodyCoordinates:
    """A model in coordinates of its bodies: residuals and Jacobian of all joints and constraints.

    Args:
        model: a Model, a library name or a path.
        plane: "xy", "xz" or another pair of the world's axes, where everything moves in it: of each body x, y along the
            first and second one, and theta from the first to the second. Joints have the rows that are left in the
            plane, a revolute the two of a point on a point. In space where left out.
        vary, assign, drive, tie: as those of `simulate`.

    Returns:
        a `BodyCoordinates`.

    Raises:
        ModelError: anything the model or the arguments make impossible; a joint that moves out of the plane.
    """
    given = options_of(vary=vary, assign=assign, drive=drive, tie=tie)
    check_arguments(**given.flat())
    if plane is not None:
        one_of("plane", plane, PLANES)
    model = model if isinstance(model, Model) else load(model)
    prepared = prepare(model, vary or {}, given, refuse=False)
    plan, q = prepared.plan, prepared.file_start.q[:, 0]
    bodies = tuple(path for path, _ in prepared.model.bodies() if path in {node.path for node in plan.nodes})
    joints = [path for path, _ in prepared.model.joints() if path in {joint.path for joint in plan.joints}]
    members = prepared.members if prepared.vary else 0
    lane = prepared.lane_of(np.arange(prepared.members), 1.0)
    file = prepared.file_lane()
    chain = file.motion([*map(float, q)], None)
    node = {one.path: k for k, one in enumerate(plan.nodes) if not one.virtual}
    poses = [chain.pose(PlacedFrame(node[path], None)) for path in bodies]
    R, p = np.array([pose[0] for pose in poses], float), np.array([pose[1] for pose in poses], float)
    flat, start = (None, seven(R, p)) if plane is None else Plane.of(plane, R, p)
    rows = AssembledRows(plan, bodies, joints, file, flat)
    if flat is not None:
        rows.settle_in_plane(rows.motion(file, R[None], p[None], q[None]), q)
    components = IN_SPACE if plane is None else (plane[0], plane[1], "theta")
    return BodyCoordinates(
        bodies, start, tuple(rows.names), tuple(rows.units),
        tuple(f"{path} {component}" for path in bodies for component in components),
        plane or "", lane, members, rows, flat, q,
    )  # fmt: skip


def array_of(where: str, values: Any) -> np.ndarray:
    """An array of real numbers.

    Raises:
        ModelError: anything else.
    """
    if (array := real_array(values)) is None:
        raise wrong(where, values, "an array of real numbers")
    return array


def spread(where: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array, its leading axes as those of others.

    Raises:
        ModelError: they are of other lengths.
    """
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ModelError(
            where, f"shape {array.shape}", f"{shape}, or fewer leading axes", "Give one a state."
        ) from None


def angular_velocities(e: np.ndarray) -> np.ndarray:
    """(..., 3, 4) angular velocity in the world for rates of the numbers of quaternions (..., 4), of any length.

    w = 2 e' e* / |e|^2 (Shabana, Computational Dynamics, section on Euler parameters); along e itself nothing turns.
    """
    w, u = e[..., :1, None], e[..., 1:]
    x, y, z = np.moveaxis(u, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([np.stack(row, -1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))], -2)
    return 2.0 * np.concatenate([-u[..., None], w * np.eye(3) + cross], axis=-1) / (e * e).sum(-1)[..., None, None]
