"""`mode_motion`: one mode as a motion that can be looked at, loops closed all along. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need_count, shown
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.derive import Formula
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import Drivable
from shiftjax.statics.posed import alone, posed
from shiftjax.statics.search import Search
from shiftjax.statics.small_motions import natural_motions


def mode_motion(
    model: Model | str,
    mode: int = 1,
    *,
    amplitude: float = 0.2,
    poses: int = 49,
    unstable: bool = False,
    channels: Sequence[str] = (),
    keep: int | str | Sequence[int] = "all",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
) -> Result:
    """One mode of small motions over a period, large enough to be seen.

    `mode_motion(model, 2).view()` plays it.

    Args:
        model: a Model, a library name or a path. mode: from 1 on, by rising frequency, as of `modes`.
        amplitude: of the coordinate that moves most, rad or parts of the model's length. poses: of a period.
        channels: paths to record at the poses. keep: the members that have the poses of all bodies recorded.
        unstable, vary, assign, derive, drive, tie: as those of `modes`.

    Returns:
        a Result whose parameter is the phase [rad]: at each the mechanism is at rest, at the pose of the equilibrium
        moved by amplitude x sin(phase) x shape, with the loops closed from there. A pose that cannot be closed is NaN,
        and its member `not_assembled`.

    Raises:
        ModelError: anything the model or the arguments make impossible; no mode of that number.
    """
    need_count("poses", poses, 2)
    if not (isinstance(amplitude, int | float) and np.isfinite(amplitude)):
        raise ModelError("amplitude", shown(amplitude), "a number", "Give rad, or parts of the model's length.")
    model = model if isinstance(model, Model) else load(model)
    given = options_of(channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, drive=drive, tie=tie)
    search = Search(unstable=unstable)
    begun = search.result(model, given.changed(channels=(), keep="none"))
    k, good = search.squared.shape[1], np.atleast_1d(begun.status) <= 0
    if mode not in range(1, k + 1) or isinstance(mode, bool):
        raise ModelError("mode", shown(mode), f"1 to {k}, by rising frequency", "Choose one of them.")
    phase = np.linspace(0.0, 2.0 * np.pi, poses)
    q, past = _swung(search, good, mode, amplitude * np.sin(phase))
    states = np.repeat(search.states.T[:, None], poses, axis=1)
    rows = {path: np.repeat(np.asarray(x, float)[:, None], poses, axis=1) for path, x in (vary or {}).items()}
    result, each, _ = posed(model, given, rows, q, states, past)
    status, texts = np.atleast_1d(begun.status).copy(), list(begun.messages)
    for member in np.flatnonzero(good & (past.any(1) | (each > 0).any(1))):
        where = np.rad2deg(phase[int((past | (each > 0))[member].argmax())])
        status[member] = Outcome.not_assembled
        texts[member] = f"its loops do not close at the phase {where:.4g} degrees: take a smaller amplitude"
    played = replace(
        result, time=phase, status=status, messages=tuple(texts), notes=begun.notes,
        settings={**result.settings, "parameter": "phase", "parameter_unit": "rad", "mode": mode,
                  "amplitude": amplitude},
    )  # fmt: skip
    return played if begun.batched else alone(played)


def _swung(search: Search, good: np.ndarray, mode: int, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B, n, nq) poses of a mode at amplitudes (n,), and (B, n) those that do not close."""
    prepared = search.prepared
    q = np.repeat(search.q.T[:, None], len(sizes), axis=1)
    past = np.repeat(~good[:, None], len(sizes), axis=1)
    units = np.asarray(prepared.file_lane().units)
    for group, linear in search.linear:
        rows = np.flatnonzero(good[group])
        if not len(rows) or linear.K.shape[1] < mode:
            past[group[rows]] = True
            continue
        members = group[rows]
        shapes = natural_motions(linear.some(rows), units)[2][:, :, mode - 1] / units
        rest = search.rest(members)
        for pose, size in enumerate(sizes):
            q[members, pose], closed = (x.T for x in rest.closed(rest.moved(search.q[:, members], size * shapes)))
            past[members, pose] = ~closed
    return q, past
