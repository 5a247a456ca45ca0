"""Where the members of a configuration stand: as stated, with loops closed, or as arrays say. Host code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import shiftjax.run.closing.host_evaluation as host
from shiftjax.errors import ModelError, need_mapping, shown
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, split
from shiftjax.numerics.real_arrays import real_array
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.arguments import check_arguments
from shiftjax.run.beginning import start_from, unsound
from shiftjax.run.inertias import odd_inertias
from shiftjax.run.options import options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.driven.drives import driven
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.refusals import refuse_massless_motion

OPEN = 1e-6  # in parts of the model's length, by which arrays of coordinates may leave loops open without a warning
STARTS = {"q": "initial_displacement", "v": "initial_velocity"}


@dataclass(frozen=True)
class StatedState:
    """B members, or one without an axis of members where `members` is None.

    Attributes:
        q: (nq, B), v: (nv, B), states: (ns, B), t: (B,) [s]. numbers: (k, B) of the plan's that lane code reads.
        status: (B,) `Outcome`. gap: (B,) [m or rad]. messages: B texts, "" where all is good.
    """

    prepared: Prepared
    members: int | None
    q: np.ndarray
    v: np.ndarray
    states: np.ndarray
    t: np.ndarray
    numbers: np.ndarray
    status: np.ndarray
    gap: np.ndarray
    messages: tuple[str, ...]

    def need_masses(self) -> None:
        """Raises where a motion of the file's start moves no mass; impossible masses are told member by member."""
        if not odd_inertias(self.prepared):
            refuse_massless_motion(self.prepared, self.prepared.file_start)

    def accelerations(self, given: Mapping[str, Any], independent: Sequence[int]) -> np.ndarray:
        """(n, B) of the independent speeds.

        Raises:
            ModelError: of others, or not of all.
        """
        plan, model, values = self.prepared.plan, self.prepared.model, dict[int, Any]()
        for path, value in given.items():
            one = plain_coordinate(model, path, "a")
            values[next(c.v for c in plan.coordinates if c.path == one)] = number_or_members(f"a {path}", value)
        if set(values) != set(independent):
            names = plan.speed_names()
            fault, allowed = listed(names[k] for k in sorted(values)), listed((names[k] for k in independent), 20)
            raise ModelError("a", fault or "nothing", f"all independent ones: {allowed}", "Name all of these.")
        return np.array([np.broadcast_to(values[k], self.q.shape[1]) for k in independent]).reshape(-1, self.q.shape[1])


def stated_state(
    model: Model,
    *,
    q: Any,
    v: Any,
    vary: Any,
    time: Any,
    start: Result | None,
    drive: Any = None,
    massless: bool = False,
    **options: Any,
) -> StatedState:
    """The state that the arguments of `configuration` describe.

    Args:
        massless: whether motions that move no mass may be, as where nothing is asked that depends on masses.

    Raises:
        ModelError: as `configuration` does.
    """
    arrays = not (q is None or isinstance(q, Mapping))
    if start is not None and (q is not None or v is not None):
        raise ModelError("start", "with q or v", "one of them", "Leave one of them out.")
    if not arrays and not (v is None or isinstance(v, Mapping)):
        raise ModelError("v", "an array, without one of q", "both as arrays, or as mappings", "Give q, too.")
    varied = _varied(model, vary, {} if arrays else {"q": q or {}, "v": v or {}})
    whole = {name: real_array(x) for name, x in (("q", q), ("v", v)) if arrays and x is not None}
    seconds = np.zeros(()) if time is None else number_or_members("time", time)
    speeds = {} if drive is None else driven(model, drive)[1]
    members = _members({**varied, **speeds}, whole, seconds, start)
    full = {path: np.broadcast_to(x, (members or 1,)) for path, x in varied.items()}
    given = options_of(vary=full or None, start=start, drive=drive, **options)
    check_arguments(**given.flat())
    given = replace(given, design=given.design.worked_out(model))
    prepared = prepare(model, given.design.vary or {}, given)
    if prepared.members != (members or 1):  # nothing varies: as many of the one design
        prepared = replace(prepared, values=np.repeat(prepared.values, members or 1, axis=1))
    t = np.array(np.broadcast_to(seconds, (members or 1,)), float)
    if time is not None:
        statements = replace(prepared.statements, alone=False)  # the file's start is of another instant
        prepared = replace(prepared, instants=t, statements=statements)
    instants = t[np.isfinite(t)] if np.isfinite(t).any() else np.zeros(1)
    faulty = unsound(prepared, float(instants.min()), float(instants.max()), strict=False)
    if arrays:
        return _sound(_as_given(prepared, members, whole, t, faulty))
    began = start_from(prepared, start, faulty, massless=massless)
    status = np.where(began.unsure, int(Outcome.branch_unsure), 0)
    status = np.where(began.changed, np.minimum(status, int(Outcome.start_changed)), status)
    status = np.where(began.closed, status, int(Outcome.not_assembled))
    status[[*faulty]] = int(Outcome.unphysical)
    texts = [REMEDY[Outcome(k)] for k in status]
    for k in np.flatnonzero(status == int(Outcome.not_assembled)):
        texts[k] = f"its loops stay open by {began.gap[k]:.3g} m or rad: {texts[k]}"
    return _sound(StatedState(
        prepared, members, began.q, began.v, began.states, t, prepared.parameters(), status, began.gap,
        _with_faults(texts, faulty),
    ))  # fmt: skip


def _sound(state: StatedState) -> StatedState:
    """The same with members `non_finite` of which a number, a place or a speed is none, as a run judges them."""
    prepared, status, texts = state.prepared, state.status.copy(), list(state.messages)
    stands = np.isfinite(state.q).all(0) & np.isfinite(state.v).all(0) & np.isfinite(state.t)
    odd = ~np.isfinite(prepared.values)
    for k in np.flatnonzero(odd.any(0) | (~stands & (status <= 0))):
        names = [path for path, one in zip(prepared.vary, odd[:, k], strict=True) if one]
        status[k] = int(Outcome.non_finite)
        texts[k] = f"{listed(names) or 'its place, speed or time'} is not finite: correct it, or leave this member out"
    return replace(state, status=status, messages=tuple(texts))


def _with_faults(texts: Sequence[str], faulty: Mapping[int, str]) -> tuple[str, ...]:
    """Of members whose numbers nothing can have what is impossible about them."""
    return tuple(faulty.get(k, text) for k, text in enumerate(texts))


def _varied(model: Model, vary: Any, stated: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Number path -> () or (B,) of what varies and of places and speeds that are stated."""
    out = dict[str, np.ndarray]()
    if vary is not None:
        need_mapping("vary", vary)
        out |= {path: number_or_members(f"vary {path}", x) for path, x in vary.items()}
    for name, values in stated.items():
        for path, x in values.items():
            joint, coordinate = split(plain_coordinate(model, path, name))
            out[f"{joint}.{STARTS[name]}{coordinate}"] = number_or_members(f"{name} {path}", x)
    return out


def number_or_members(where: str, given: Any) -> np.ndarray:
    """() or (B,)

    Raises:
        ModelError: another shape; no numbers.
    """
    array = real_array(given)
    if array is None or array.ndim > 1 or not array.size:
        raise ModelError(where, shown(given), "a number, or one for each member", "Give (B,) of them.")
    return array


def _members(
    varied: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray | None], seconds: np.ndarray, start: Result | None
) -> int | None:
    """How many members there are, None for one without an axis of members.

    Raises:
        ModelError: arrays of several lengths.
    """
    sizes = {path: len(x) for path, x in varied.items() if x.ndim}
    for name, array in arrays.items():
        if array is None or array.ndim not in (1, 2):
            raise ModelError(name, "no array of numbers", "(n,), or (B, n) of members", "Give such an array.")
        if array.ndim == 2:
            sizes[name] = len(array)
    if seconds.ndim:
        sizes["time"] = len(seconds)
    if start is not None and np.ndim(start.status):
        sizes["start"] = len(start.status)
    if len(set(sizes.values())) > 1:
        raise ModelError("members", f"lengths {sizes}", "one length for all", "Give each as many values as members.")
    return next(iter(sizes.values()), None)


def _as_given(
    prepared: Prepared,
    members: int | None,
    arrays: Mapping[str, np.ndarray | None],
    t: np.ndarray,
    faulty: Mapping[int, str],
) -> StatedState:
    """The state of arrays, loops as open as they say."""
    plan, count, out = prepared.plan, members or 1, dict[str, np.ndarray]()
    for name, size in (("q", plan.nq), ("v", plan.nv)):
        array = arrays.get(name)
        array = np.zeros(size) if array is None else array
        if array.shape[-1] != size:
            raise ModelError(name, f"{array.shape[-1]} values", f"{size}, of all joints", "See `at.speed_names`.")
        out[name] = np.array(np.broadcast_to(array, (count, size)).T)
    lane, gap = prepared.lane_of(np.arange(count), 1.0), np.zeros(count)
    for s in range(len(plan.substructures)):
        gap = np.maximum(gap, np.abs(host.true_gap(lane, out["q"], s)).max(1, initial=0.0))
    status = np.where(gap > OPEN * lane.length, int(Outcome.start_changed), 0)
    status[[*faulty]] = int(Outcome.unphysical)
    texts = [
        "" if k == 0 else f"its loops are open by {x:.3g} m or rad, as they were given"
        for k, x in zip(status, gap, strict=True)
    ]
    states = host.per_member(lane.states(), count)
    return StatedState(
        prepared, members, out["q"], out["v"], states, t, prepared.parameters(), status, gap,
        _with_faults(texts, faulty),
    )  # fmt: skip
