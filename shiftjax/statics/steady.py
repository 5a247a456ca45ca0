"""`steady_motion`: where a mechanism stays while drivers move it, and small motions about that. Host code.

A driver turns at its constant speed and the independent coordinates stand, as the arms of a governor: their
accelerations a(q, v) vanish, and the slopes of these along closed poses, `access.derivatives`, are those of y'' = a_q y
+ a_v y'. Where they change along the motion, as in a crank mechanism, it is periodic and has no frequencies of its own
(Floquet); that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.access.configuration import Configuration, configuration
from shiftjax.access.stated_state import number_or_members
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need_mapping, refuse_text
from shiftjax.formats.files import load
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design, traced_drives
from shiftjax.gradients.transforms import differentiable
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.run.derive import Formula
from shiftjax.run.options import DesignOptions
from shiftjax.run.start.driven.drives import Drivable, driven
from shiftjax.statics.steady_slopes import HostSteady, SteadyState, traced_eigenvalues

ITERATIONS = 60
FARTHEST = 0.2  # rad or m, of one change
STILL = 1e-13  # a smaller change ends the search
CHANGING = 1e-7  # of the size of slopes, by which they differ later: less is rounding
LATER = 0.618  # rad, or parts of the model's length, of the fastest coordinate of each member
SLOWEST = 1e-9  # rad/s: what is slower stands
NEUTRAL = 1e-9  # of the largest eigenvalue, or of the speed at which drivers turn
PERIODIC = "a motion along which the small motions change: it is periodic, not steady"


@record
class SteadyMotion:
    """Steady motions of B designs, or of one without a member axis; n independent coordinates, which stand.

    Attributes:
        independent: their paths. q: coordinate -> (B,) its place [rad or m]; v: (B,) its speed.
        M, C, K: (B, n, n) of M y'' + C y' + K y = 0 about it, C with the gyroscopic terms and K with the centrifugal
            ones.
        eigenvalues: (B, 2 n) of e^(s t), slowest first [1/s]. frequencies: (B, n) of the oscillating pairs among them,
            ascending [Hz], NaN for those that do not oscillate.
        stability: (B,) "stable", "unstable" or "neutral", by the eigenvalues; "" where no steady motion was reached.
        channels: path -> (B, ...) what was asked to be recorded, as loads of drivers. status: (B,) `Outcome`.
        messages: B texts, "" where all is good; that of a member whose motion is periodic says so.
        state: the configuration there, of which all else can be asked.
    """

    independent: tuple[str, ...]
    q: dict[str, np.ndarray]
    v: dict[str, np.ndarray]
    M: np.ndarray
    C: np.ndarray
    K: np.ndarray
    eigenvalues: Any  # of NumPy, or of JAX where it traces numbers
    frequencies: Any
    stability: np.ndarray
    channels: dict[str, np.ndarray]
    status: np.ndarray
    messages: tuple[str, ...]
    state: Configuration


def steady_motion(
    model: Model | str,
    drive: Mapping[str, Drivable] | None = None,
    *,
    q: Mapping[str, Any] | None = None,
    independent: Sequence[str] = (),
    channels: Sequence[str] = (),
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
) -> SteadyMotion:
    """Where a mechanism stays while drivers move it at constant speeds, and the small motions about that.

    Args:
        model: a Model, a library name or a path. drive: joint -> a `ConstantSpeed`; drivers of the file move, too.
        q: coordinate -> where the search begins, one value or (B,); where the model has it, where left out. Newton's
            method takes the steady motion near it, whether that is stable or not.
        independent: coordinates on which M, C and K are given; chosen where left out.
        channels: paths to record there, as "shaft.drive_load".
        vary, assign, derive, tie: as those of `equilibrium`.

    Returns:
        Where JAX traces numbers of `vary`, or a speed (B,) in the place of a `ConstantSpeed`, arrays of JAX with first
        derivatives in both modes, of frequencies that differ; `stability` and messages, which are texts, are empty, and
        `state` is that of the model's own numbers.

    Raises:
        ModelError: anything the model or the arguments make impossible; balls among the independent coordinates;
            forces with internal states; drivers that leave no coordinate to stand; a motion along which the matrices
            change, in all members.
    """
    refuse_text("channels", channels)
    model = model if isinstance(model, Model) else load(model)
    given = {"assign": assign, "tie": tie, "independent": independent}
    if any(is_traced(x) for group in (vary, drive, q) if isinstance(group, Mapping) for x in group.values()):
        return _traced(model, {} if drive is None else drive, q, channels, vary, derive, given)
    vary, begin = _arrays("vary", vary), _arrays("q", q)
    model, columns, laws = driven(model, {} if drive is None else drive)
    at, stated, names = _sought(model, {**vary, **columns}, begin, {**given, "drive": laws, "derive": derive})
    return _about(at, stated, names, channels)


def _sought(
    model: Model, numbers: Mapping[str, np.ndarray], begin: Mapping[str, np.ndarray], given: Mapping[str, Any]
) -> tuple[Configuration, Configuration, tuple[str, ...]]:
    """Where members with numbers come to rest, from where they are stated, and their independent coordinates.

    Args:
        begin: coordinate -> where the search begins. given: all else of `configuration`.
    """
    many = max((len(x) for x in (*numbers.values(), *begin.values()) if x.ndim), default=1)
    numbers = {path: x[0] if x.shape == (1,) and many > 1 else x for path, x in numbers.items()}
    at = configuration(
        model, begin, vary={path: np.broadcast_to(x, many) if x.ndim == 0 and many > 1 else x
                            for path, x in numbers.items()}, **given,
    )  # fmt: skip
    stated, names = at, _plain(at)
    rest = dict.fromkeys(names, 0.0)
    at = at.changed(q={name: _of(at, name) for name in names}, v=rest)
    moving = np.ones(np.shape(at.status) or (1,), bool)
    for _ in range(ITERATIONS):
        a, slope = _accelerations(at, names), _slopes(at, names, "q")
        change = -_solved(slope, a)
        change *= np.minimum(1.0, FARTHEST / np.maximum(np.abs(change).max(-1, keepdims=True, initial=0.0), 1e-300))
        size = np.atleast_1d(np.abs(change).max(-1, initial=0.0))
        moving &= ~(size <= STILL)
        change = np.where(moving.reshape(np.shape(at.status))[..., None], np.nan_to_num(change), 0.0)
        if not moving.any() or not np.isfinite(size).any():
            break
        at = at.changed(q={name: _of(at, name) + change[..., k] for k, name in enumerate(names)}, v=rest)
        if (size[moving] <= 1e-9).all():  # quadratic: the next one would be rounding
            moving &= size > 1e-9
    return at, stated, names


def _traced(
    model: Model, drive: Mapping[str, Any], q: Any, channels: Sequence[str], vary: Any, derive: Any,
    given: Mapping[str, Any],
) -> SteadyMotion:  # fmt: skip
    """Steady motions of designs and speeds that JAX traces."""
    if any(is_traced(x) for x in (q or {}).values()):
        raise ModelError("q", "a number that JAX traces", "known numbers, where the search begins", "Take its value.")
    with jax.ensure_compile_time_eval():
        model, columns, laws = traced_drives(model, drive)
    design, rest = traced_design(model, DesignOptions({**(vary or {}), **columns}, given["assign"], derive))
    given = {**given, "assign": rest.assign, "drive": laws}
    with jax.ensure_compile_time_eval():
        begin, known = _arrays("q", q), model.replace(dict(rest.assign or {})).numbers()
        place = {name: np.asarray(x.flat[0]) for name, x in begin.items()}
        drawn, _, names = _sought(model, {path: np.asarray(known[path]) for path in design}, place, given)
        rows = tuple(_rows(drawn, names))

        def search(numbers: Mapping[str, np.ndarray]) -> SteadyState:
            at, stated, _ = _sought(model, numbers, begin, {**given, "independent": names})
            return SteadyState(at, rows, np.atleast_1d(_about(at, stated, names, ()).status))

        host = HostSteady(search, tuple(design), channels, SteadyState(drawn, rows, np.zeros(1, int)))
    y = differentiable(host)(jnp.stack([*design.values()], axis=1))
    parts, stopped = host.parts(y), jax.lax.stop_gradient
    q, v = ({path: parts[f"{what} {path}"] for path in host.coordinates} for what in "qv")
    eigenvalues = traced_eigenvalues(parts["by_place"], parts["by_speed"])
    limit = NEUTRAL * jnp.abs(stopped(eigenvalues)).max(1, initial=0.0, keepdims=True)
    swinging = jnp.where(eigenvalues.imag > 1e3 * limit, eigenvalues.imag / (2.0 * np.pi), jnp.nan)
    M = parts["M"]
    return SteadyMotion(
        independent=tuple(names), q=q, v=v, M=M, C=-M @ parts["by_speed"], K=-M @ parts["by_place"],
        eigenvalues=eigenvalues, frequencies=jnp.sort(swinging, axis=1)[:, : len(names)],
        stability=np.zeros(0, "<U8"), channels={path: parts[f"channel {path}"] for path in channels},
        status=stopped(y[:, -1]).astype(int), messages=(), state=drawn,
    )  # fmt: skip


def _arrays(where: str, given: Any) -> dict[str, np.ndarray]:
    """Path -> () or (B,)."""
    need_mapping(where, {} if given is None else given)
    return {path: number_or_members(f"{where} {path}", value) for path, value in (given or {}).items()}


def _plain(at: Configuration) -> tuple[str, ...]:
    """The independent coordinates.

    Raises:
        ModelError: balls among them; forces with internal states.
    """
    known = {one.path for one in at.plan.coordinates if one.plain}
    if other := [name for name in at.independent_names if name not in known]:
        allowed = "independent coordinates of one number each"
        raise ModelError("independent", listed(other), allowed, "Name others by `independent`.")
    if states := [force.path for force in at.plan.forces if force.states]:
        raise ModelError("forces", f"{listed(states)} with internal states", "forces without", "Take them out.")
    return at.independent_names


def _of(at: Configuration, name: str) -> np.ndarray:
    one = next(one for one in at.plan.coordinates if one.path == name)
    return np.asarray(at.q)[..., one.q]


def _rows(at: Configuration, names: Sequence[str]) -> list[int]:
    return [at.speed_names.index(name) for name in names]


def _accelerations(at: Configuration, names: Sequence[str]) -> np.ndarray:
    return np.asarray(at.accelerations())[..., _rows(at, names)]


def _slopes(at: Configuration, names: Sequence[str], wrt: str) -> np.ndarray:
    """(..., n, n) of the accelerations of independent coordinates by their places or speeds."""
    return np.asarray(at.derivative("accelerations", wrt=wrt, closed=True))[..., _rows(at, names), :]


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    finite = np.asarray(np.isfinite(matrix).all((-1, -2)) & np.isfinite(right).all(-1))
    inverse = np.linalg.pinv(np.where(finite[..., None, None], matrix, 0.0), rcond=1e-13)
    return np.where(finite[..., None], (inverse @ np.where(finite[..., None], right, 0.0)[..., None])[..., 0], np.nan)


def _about(at: Configuration, stated: Configuration, names: Sequence[str], channels: Sequence[str]) -> SteadyMotion:
    """The small motions about a state that a search has come to from the stated one."""
    by_place, by_speed = (_slopes(at, names, wrt) for wrt in "qv")
    a, n = _accelerations(at, names), len(names)
    size = np.abs(by_place).max((-1, -2), initial=0.0)
    still = np.abs(a).max(-1, initial=0.0) <= 1e-9 * np.maximum(size, 1.0)
    pace = _pace(at)
    periodic = _periodic(at, names, pace, still, a, by_place)
    M = np.asarray(at.mass_matrix(constrained=True))
    A = np.zeros((*M.shape[:-2], 2 * n, 2 * n))
    A[..., :n, n:], A[..., n:, :n], A[..., n:, n:] = np.eye(n), by_place, by_speed
    status = np.where((np.asarray(at.status) > 0) | still, at.status, int(Outcome.no_equilibrium))
    status = np.where(periodic, int(Outcome.no_equilibrium), status)
    status = np.where(np.asarray(stated.status) > 0, stated.status, status)  # of these nothing was searched
    good = (status <= 0) & np.isfinite(A).all((-1, -2))
    eigenvalues = np.linalg.eigvals(np.where(good[..., None, None], A, 0.0)).astype(complex)
    order = np.lexsort((np.real(eigenvalues), np.imag(eigenvalues), np.abs(eigenvalues).round(9)), axis=-1)
    eigenvalues = np.where(good[..., None], np.take_along_axis(eigenvalues, order, -1), np.nan)
    limit = NEUTRAL * np.maximum(np.abs(eigenvalues).max(-1, initial=0.0), pace)
    grows = np.real(eigenvalues).max(-1, initial=-np.inf)
    small = np.abs(eigenvalues).min(-1, initial=np.inf) <= 1e3 * limit
    words = np.where(grows > 1e3 * limit, "unstable", np.where(small, "neutral", "stable"))
    swinging = np.where(np.imag(eigenvalues) > 1e3 * limit[..., None], np.imag(eigenvalues) / (2.0 * np.pi), np.nan)
    plain = [one for one in at.plan.coordinates if one.plain]
    return SteadyMotion(
        independent=tuple(names),
        q={one.path: np.asarray(at.q)[..., one.q] for one in plain},
        v={one.path: np.asarray(at.v)[..., one.v] for one in plain},
        M=M, C=-M @ by_speed, K=-M @ by_place, eigenvalues=eigenvalues,
        frequencies=np.sort(swinging, axis=-1)[..., :n],
        stability=np.where(good, words, ""),
        channels={path: np.asarray(at.channel(path)) for path in channels}, status=status,
        messages=_messages(at, stated, status, periodic), state=at,
    )  # fmt: skip


def _messages(at: Configuration, stated: Configuration, status: np.ndarray, periodic: np.ndarray) -> tuple[str, ...]:
    """Of members: what is wrong with the stated state, that their motion is periodic, or what the search says."""
    lost, changing = np.atleast_1d(stated.status) > 0, np.atleast_1d(periodic)
    same = np.atleast_1d(at.status) == np.atleast_1d(status)
    return tuple(
        stated.messages[k] if lost[k] else PERIODIC if changing[k] else at.messages[k] if same[k] else REMEDY[outcome]
        for k, outcome in enumerate(Outcome(x) for x in np.atleast_1d(status))
    )


def _pace(at: Configuration) -> np.ndarray:
    """(...) the largest speed of each member [rad/s, or parts of the model's length per second]; 0 where all stands."""
    units = np.ones(at.plan.nv)
    for one in at.plan.coordinates:
        if one.plain and one.unit == "m":
            units[one.v] = at.length
    speed = np.nan_to_num(np.abs(np.asarray(at.v)) / units).max(-1, initial=0.0)
    return np.where(speed > SLOWEST, speed, 0.0)


def _periodic(
    at: Configuration, names: Sequence[str], pace: np.ndarray, still: np.ndarray, a: np.ndarray, by_place: np.ndarray
) -> np.ndarray:
    """(...) of which members the same independent places are no equilibrium, or another one, some time later.

    Raises:
        ModelError: all of those that came to rest; no independent coordinate, while drivers move.
    """
    if not names:
        if (pace > 0.0).any():
            fault = "motions of all that moves, so that nothing is left to swing"
            raise ModelError("drive", fault, "a model with coordinates that no driver moves", "Run it by `simulate`.")
        return np.zeros(np.shape(still), bool)
    time = LATER / np.where(pace > 0.0, pace, 1.0)
    later = at.changed(q={name: _of(at, name) for name in names}, v=dict.fromkeys(names, 0.0), time=time)
    size = np.maximum(np.abs(by_place).max((-1, -2), initial=0.0), 1.0)
    apart = np.abs(_accelerations(later, names) - a).max(-1, initial=0.0)
    bent = np.abs(_slopes(later, names, "q") - by_place).max((-1, -2), initial=0.0)
    changing = still & (np.maximum(apart, bent) > CHANGING * size)
    if changing.any() and changing[still].all():
        allowed = "drivers about axes of symmetry, as a shaft that turns a governor"
        raise ModelError("drive", PERIODIC, allowed, "Run it by `simulate`, or linearise a pose by `modes`.")
    return changing
