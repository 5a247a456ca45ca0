"""A result in a few lines, for a prompt or a notebook. Host only, no jax."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.outcome import Outcome
from shiftjax.run.results.plain_values import is_known, worst

HOW = ("method", "backend", "precision")
LISTED = 6  # varied numbers, forces and channels that are named


def how_run(used: Mapping[str, Any]) -> list[str]:
    """Span, step or tolerance, method, backend and precision of a run, as far as its settings say them."""
    if "parameter" in used:  # a path of poses has neither
        along = "" if used["parameter"] == "pose" else f" by {used['parameter']}"
        return [f"{used['poses']} poses{along}", *(str(used[key]) for key in HOW if used.get(key))]
    if "goals" in used:
        return [f"poses for goals {', '.join(used['goals'])}", *(str(used[key]) for key in HOW if used.get(key))]
    if "travels" in used:
        return [f"travels of {', '.join(used['travels'])}", *(str(used[key]) for key in HOW if used.get(key))]
    if "workspace" in used:
        return [f"workspaces of {', '.join(used['workspace'])}", *(str(used[key]) for key in HOW if used.get(key))]
    words = [f"{used['span']:g} s"] if "span" in used else []
    if used.get("tolerance") is not None:  # steps are as large as it allows
        words.append(f"tolerance {used['tolerance']:g}")
    elif "step" in used:
        words.append(f"{used['step'] * 1e3:g} ms")
    return words + [str(used[key]) for key in HOW if used.get(key)]


def summary(result: Any) -> list[str]:
    """What was run, how it ended, how exact it is, what was recorded.

    Args:
        result: a `Result`.
    """
    used, name = result.settings, result.model.name or "model"
    if not is_known(result.status):
        ended = "traced by JAX"
    elif not result.batched:
        ended = result.outcomes()[0][0].name
    else:
        ended = ", ".join(f"{len(members)} {outcome.name}" for outcome, members in result.outcomes())
    if used.get("span") == 0 and not {"travels", "goals", "workspace"} & used.keys():
        how = ["assembled only", *(str(used[key]) for key in ("backend", "precision") if used.get(key))]
    else:
        how = how_run(used)
    lines = [f"Result of {name}: " + (f"{result.members} members, {ended}" if result.batched else ended)]
    lines.append(f"  run: {', '.join(how)}; {len(result.time)} instants recorded")
    lines += [f"  varied: {line}" for line in _some(_varied(result))]
    if is_known(result.status):
        lines.append("  certificate: " + ", ".join(_certificate(result)))
    lines += [f"  metric: {line}" for line in _some(_metrics(result))]
    lines += [f"  event: {line}" for line in _some(_events(result))]
    lines += [f"  channel: {line}" for line in _some(_channels(result))]
    if result.poses:
        lines.append(f"  poses: {len(result.poses)} bodies of {len(np.atleast_1d(result.kept))} members")
    return lines


def answer_summary(answer: Any) -> list[str]:
    """How many instants were asked, how they ended, which forces they take, what was recorded.

    Args:
        answer: an `InverseDynamics`.
    """
    of = f" of {answer.status.shape[0]} members" if np.ndim(answer.status) == 2 else ""
    ended = "traced by JAX"
    if is_known(answer.status):
        kinds, counts = np.unique(answer.status, return_counts=True)
        ended = ", ".join(f"{n} {Outcome(int(kind)).name}" for kind, n in zip(kinds, counts, strict=True))
    lines = [f"Inverse dynamics of {answer.model.name or 'model'}: {len(answer.times)} instants{of}, {ended}"]
    lines += [f"  force: {line}" for line in _some(_forces(answer))]
    lines += [f"  channel: {line}" for line in _some(_channels(answer))]
    return lines + [f"  note: {note}" for note in answer.notes]


def rest_summary(stand: Any) -> list[str]:
    """How members ended, whether they are stable, where they stand, what was recorded.

    Args:
        stand: an `Equilibrium`.
    """
    result, words = stand.result, np.unique(np.atleast_1d(stand.stability))
    counts = [f"{(np.atleast_1d(stand.stability) == word).sum()} {word}" for word in words if word]
    of = f"{result.members} members, " if result.batched else ""
    ended = ", ".join(f"{len(members)} {outcome.name}" for outcome, members in result.outcomes())
    lines = [f"Equilibrium of {result.model.name or 'model'}: {of}{ended}; {', '.join(counts) or 'none'}"]
    lines += [f"  {line}" for line in _some(f"{path} {_size(q)} {stand.units[path]}" for path, q in stand.q.items())]
    return lines + [f"  channel: {line}" for line in _some(_channels(stand))]


def load_summary(path: Any) -> list[str]:
    """How many curves there are, where they end, where members snap or buckle, and which events happen.

    Args:
        path: a `LoadPath`.
    """
    members, curves = len(np.unique(path.member)), len(path.member)
    poses = int(np.isfinite(path.factor).sum())
    lines = [f"Load path of {path.result.model.name or 'model'}: {curves} curves of {members} members, {poses} poses"]
    lines += [f"  curve {k}: {line}" for k, line in enumerate(_some(iter(path.ends)))]
    lines += _some(f"  {pose.kind} of curve {pose.curve}: load factor {pose.factor:.9g}" for pose in path.critical)
    return lines + _some(f"  {one.name} of curve {one.curve}: load factor {one.factor:.9g}" for one in path.events)


def modes_summary(swing: Any) -> list[str]:
    """Frequency and damping of each mode.

    Args:
        swing: a `Modes`.
    """
    frequencies, ratios = np.atleast_2d(swing.frequencies), np.atleast_2d(swing.damping_ratios)
    rows = (f"{_size(f)} Hz, damping {_size(ratio)}" for f, ratio in zip(frequencies.T, ratios.T, strict=True))
    return [
        f"Modes of {len(frequencies)} members" if np.ndim(swing.status) else "Modes",
        *(f"  {x}" for x in _some(rows)),
    ]


def _some(lines: Iterator[str]) -> list[str]:
    every = list(lines)
    return every if len(every) <= LISTED else [*every[:LISTED], f"... {len(every) - LISTED} more"]


def _varied(result: Any) -> Iterator[str]:
    for path, values in result.design.items():
        sizes = f"from {values.min():.6g} to {values.max():.6g}" if is_known(values) else f"{values.shape}, traced"
        yield f"{path} {sizes} {result.units.get(path, '')}"


def _certificate(result: Any) -> Iterator[str]:
    for name in ("gap", "energy_error", "pivot_ratio"):
        if name in result.certificate:
            value, member = worst(name, np.atleast_1d(np.asarray(result.certificate[name], float)))
            unit = "" if CERTIFICATE.get(name, "1") == "1" else f" {CERTIFICATE[name]}"
            yield f"{name} {value:.2g}{unit}" + (f" (member {member})" if result.batched else "")


def _metrics(result: Any) -> Iterator[str]:
    for name, values in result.metrics.items():
        unit = result.metric_units.get(name, "1")
        yield f"{name} {_size(values)}" + (f" {unit}" if unit != "1" else "")


def _events(result: Any) -> Iterator[str]:
    if result.events is None or not is_known(result.status):
        return
    counts, stopped = np.atleast_2d(result.events.count).sum(0), np.atleast_1d(result.events.stopped)
    for k, name in enumerate(result.events.names):
        ended = int((stopped == k).sum())
        stop = f", ended {ended} members" if result.batched else ", ended the run"
        yield f"{name} {counts[k]:g} times" + (stop if ended else "")


def _size(values: Any) -> str:
    """One number as it is, of many the range; the shape of what is not known."""
    if not (is_known(values) and np.isfinite(values).any()):
        return "NaN" if is_known(values) else f"{np.shape(values)}"
    if np.size(values) == 1:
        return f"{float(np.ravel(values)[0]):.6g}"
    return f"from {np.nanmin(values):.6g} to {np.nanmax(values):.6g}"


def _forces(answer: Any) -> Iterator[str]:
    for path, values in answer.forces.items():
        yield f"{path} {_size(values)} {answer.units.get(path, '')}"


def _channels(result: Any) -> Iterator[str]:
    for path, values in result.channels.items():
        yield f"{path} {values.shape} {result.units.get(path, '1')}"
