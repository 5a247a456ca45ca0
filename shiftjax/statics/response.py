"""`frequency_response`: how coordinates answer to forces that oscillate, about an equilibrium. Host code.

With y ~ e^(i w t), s = i w: s^2 M y = W_y y + s W_v y + W_z z + T^T f and s z = R_y y + s R_v y + R_z z, the linear
equations of first order of `modes`, internal states z of forces included (Ewins, Modal Testing, section 2.4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, refuse_text, shown
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.derive import Formula
from shiftjax.run.options import options_of
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.run.start.prepared import Prepared, coordinates_named
from shiftjax.statics.differentiable import TracedRest, any_traced
from shiftjax.statics.independent import independent_speeds
from shiftjax.statics.search import Search
from shiftjax.statics.slopes import matrices


@record
class FrequencyResponse:
    """Responses of B designs, or of one without a member axis, at F frequencies.

    Attributes:
        frequencies: (F,) [Hz]. response: (B, F, places, loads) complex: the amplitude of a coordinate by that of the
            force along another one [rad or m, per N m or N]; its angle is the phase. places, loads: their paths.
        status: (B,) `Outcome`; NaN where there is no equilibrium.
        notes: of members and frequencies at which nothing holds a motion, so that the response is infinite: NaN there.
    """

    frequencies: np.ndarray
    response: Any
    places: tuple[str, ...]
    loads: tuple[str, ...]
    status: Any
    notes: tuple[str, ...] = ()


def frequency_response(
    model: Model | str,
    frequencies: Any,
    loads: Sequence[str],
    places: Sequence[str] | None = None,
    *,
    unstable: bool = False,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
) -> FrequencyResponse:
    """How coordinates answer to forces along coordinates that oscillate a little, about an equilibrium.

    Args:
        model: a Model, a library name or a path. frequencies: (F,) [Hz].
        loads: coordinates along which a force or torque acts. places: coordinates that answer, those of `loads` where
            left out. Both may be any of single joints, in loops, too.
        unstable, vary, assign, derive, drive, tie: as those of `equilibrium`; JAX may trace numbers of `vary`.

    Raises:
        ModelError: as of `equilibrium`; frequencies that are no numbers; coordinates that are not there, or
            there twice.
    """
    hertz = real_array(frequencies)
    if hertz is None or hertz.ndim != 1 or not np.isfinite(hertz).all():
        raise ModelError("frequencies", shown(frequencies), "frequencies [Hz], (F,)", "Give np.linspace(0.1, 10, 100).")
    refuse_text("loads", loads)
    refuse_text("places", () if places is None else places)
    model = model if isinstance(model, Model) else load(model)
    given = options_of(vary=vary, assign=assign, derive=derive, drive=drive, tie=tie)
    traced = any_traced(given)
    if traced:
        rest = TracedRest.of(model, given, unstable=unstable)
        prepared, parts, status, batched = rest.host.file.prepared, rest.y, rest.status, True
    else:
        search = Search(unstable=unstable)
        result = search.result(model, given)
        prepared, status, batched = search.prepared, result.status, result.batched
        parts = _parts(search, np.atleast_1d(status) <= 0)
    acting = _speeds(prepared, "loads", loads)
    answering = acting if places is None else _speeds(prepared, "places", places)
    response = _response(parts, prepared, hertz, acting, answering, jnp if traced else np)
    names = prepared.plan.speed_names()
    return FrequencyResponse(
        hertz, response if batched else response[0], tuple(names[k] for k in answering),
        tuple(names[k] for k in acting), status, () if traced else _notes(response, parts, hertz),
    )  # fmt: skip


def _speeds(prepared: Prepared, where: str, paths: Sequence[str]) -> list[int]:
    places = [k for path in paths for k in coordinates_named(prepared.plan, prepared.model, [path], where)]
    if len(set(places)) < len(places):
        twice = listed(sorted({prepared.plan.coordinates[k].path for k in places if places.count(k) > 1}))
        raise ModelError(where, f"{twice} twice", "each coordinate once", "Leave one of them out.")
    return [speed for place in places for speed in prepared.plan.coordinates[place].speeds]


def _notes(response: np.ndarray, parts: Mapping[str, np.ndarray], hertz: np.ndarray) -> tuple[str, ...]:
    """Where members at an equilibrium have no finite response (B, F, places, loads)."""
    good = np.asarray(np.isfinite(parts["M"]).all((1, 2)) & np.isfinite(parts["first_order"]).all((1, 2)))
    lost = good[:, None] & ~np.isfinite(response).all((2, 3))
    where = ((member, ", ".join(f"{x:.6g}" for x in hertz[lost[member]])) for member in np.flatnonzero(lost.any(1)))
    return tuple(f"member {member}: nothing holds a motion at {text} Hz, the response is NaN" for member, text in where)


def _solved(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(B, F, n, loads) of linear equations; NaN where they are singular."""
    try:
        return np.linalg.solve(left, right)
    except np.linalg.LinAlgError:  # of one of them, whichever
        out = np.full(right.shape, np.nan, complex)
        for place in np.ndindex(left.shape[:2]):
            with contextlib.suppress(np.linalg.LinAlgError):
                out[place] = np.linalg.solve(left[place], right[place])
        return out


def _parts(search: Search, good: np.ndarray) -> dict[str, np.ndarray]:
    """Motions, M and the equations of first order of all members; NaN where there is no equilibrium."""
    plan, k = search.prepared.plan, search.squared.shape[1]
    units, speeds = np.asarray(search.prepared.file_lane().units), independent_speeds(search, ())
    B, n = len(good), 2 * k + plan.ns
    out = {"motions": np.full((B, plan.nv, k), np.nan), "M": np.full((B, k, k), np.nan),
           "first_order": np.full((B, k + plan.ns, n), np.nan)}  # fmt: skip
    for group, linear in search.linear:
        rows = np.flatnonzero(good[group])
        if len(rows) and linear.K.shape[1] == k:
            one = matrices(linear.some(rows), units, speeds)
            for name, values in out.items():
                values[group[rows]] = getattr(one, name)
    return out


def _response(
    parts: Mapping[str, Any], prepared: Prepared, hertz: np.ndarray, acting: list[int], answering: list[int], xp: Any
) -> Any:
    """(B, F, places, loads) of NumPy, or of JAX as xp."""
    motions = parts["motions"] * np.asarray(prepared.file_lane().units)[None, :, None]
    whole, M, motions = (x.astype(complex) for x in (parts["first_order"], parts["M"], motions))
    k = M.shape[1]
    s = (2j * np.pi * hertz)[None, :, None, None]
    B, F, ns = len(M), len(hertz), whole.shape[2] - 2 * k
    inner = xp.broadcast_to(whole[:, None, :, 2 * k :], (B, F, k + ns, ns))
    left = xp.concatenate([whole[:, None, :, :k] + s * whole[:, None, :, k : 2 * k], inner], axis=3)
    inertia = xp.concatenate([s * s * M[:, None], xp.zeros((B, F, k, ns), complex)], axis=3)
    rates = np.zeros((ns, k + ns), complex)
    rates[:, k:] = np.eye(ns)
    rates = s * xp.broadcast_to(rates[None, None], (B, F, ns, k + ns))
    forces = xp.swapaxes(motions[:, acting], 1, 2)  # (B, k, loads)
    forces = xp.concatenate([forces, xp.zeros((B, ns, len(acting)), complex)], axis=1)
    forces = xp.broadcast_to(forces[:, None], (B, F, k + ns, len(acting)))
    solve = _solved if xp is np else xp.linalg.solve
    y = solve(xp.concatenate([inertia, rates], axis=2) - left, forces)[:, :, :k]
    return motions[:, None][:, :, answering] @ y
