"""What is recorded of mechanisms that are put to poses: a `Result` by the number of the pose. Host code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.run.assemble import assembled
from shiftjax.run.options import Options
from shiftjax.run.results.plain_values import worst
from shiftjax.run.results.result import Result, members_to_keep
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start


def posed(
    model: Model, given: Options, vary: Mapping[str, np.ndarray], q: np.ndarray, states: np.ndarray, past: np.ndarray
) -> tuple[Result, np.ndarray, tuple[str, ...]]:
    """The result of mechanisms at rest at closed poses.

    Args:
        vary: number path -> (C, n) its values at the poses. q: (C, n, nq); states: (C, n, ns) of forces. past: (C, n)
            poses that do not count; they are NaN.

    Returns:
        a result of C members whose time is the number of the pose, of status 0; (C, n) statuses of all poses, and C n
        messages.
    """
    C, n = past.shape
    flat_q, flat_states = (x.reshape(C * n, -1).T for x in (q, states))

    def moved(prepared: Prepared, began: Start) -> Start:
        calm, none = np.zeros(C * n, bool), np.full(C * n, -1)
        return replace(
            began, q=flat_q, v=np.zeros((prepared.plan.nv, C * n)), states=flat_states, binding=calm, speed_moved=none,
            closed=~calm, at_pose=None, ways=None,
        )  # fmt: skip

    shown = members_to_keep(given.recording.keep, C)
    keep = [int(k) * n + pose for k in shown for pose in range(n)]
    flat = {path: np.asarray(x, float).ravel() for path, x in vary.items()}
    instants = None if flat else np.zeros(C * n)  # which makes members where nothing varies
    whole = assembled(model, given.changed(vary=flat or None, keep=keep), instants, moved)
    channels = {path: x.reshape(C, n, *x.shape[2:]) for path, x in whole.channels.items()}
    result = replace(
        whole, time=np.arange(n, dtype=float), status=np.zeros(C, int), messages=("",) * C, kept=shown,
        channels={path: np.where(_like(past, x), np.nan, x) for path, x in channels.items()},
        poses={body: x.reshape(len(shown), n, *x.shape[2:]) for body, x in whole.poses.items()},
        certificate={name: np.array([worst(name, x)[0] for x in np.where(past, np.nan, values.reshape(C, n))])
                     for name, values in whole.certificate.items()},
        design={path: x.reshape(C, n)[:, 0] for path, x in whole.design.items()},
        branch=None, final=None, schedule=None,
        settings={**whole.settings, "poses": n, "parameter": "pose", "parameter_unit": "1"},
    )  # fmt: skip
    return result, whole.status.reshape(C, n), whole.messages


def alone(result: Result) -> Result:
    """The result of one member without an axis of members."""
    return replace(
        result, channels={path: x[0] for path, x in result.channels.items()}, status=result.status[0],
        certificate={name: x[0] for name, x in result.certificate.items()}, design={},
        poses={body: x[0] for body, x in result.poses.items()},
    )  # fmt: skip


def _like(flags: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Flags (C, n) beside values (C, n, ...)."""
    return flags.reshape(*flags.shape, *(1,) * (values.ndim - 2))
