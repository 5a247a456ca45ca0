"""A result in a few lines, for a prompt or a notebook. Host only, no jax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.run.results.plain_values import is_known, worst

LISTED = 6  # varied numbers and channels that are named


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
        ended = ", ".join(f"{len(found)} {outcome.name}" for outcome, found in result.outcomes())
    if used.get("span") == 0:
        how = ["assembled only", *(str(used[key]) for key in ("backend", "precision") if used.get(key))]
    else:
        how = [f"{used[key]:g} s" for key in ("span",) if key in used]
        how += [f"{used[key] * 1e3:g} ms" for key in ("step",) if key in used]
        how += [str(used[key]) for key in ("method", "backend", "precision") if used.get(key)]
    lines = [f"Result of {name}: " + (f"{result.members} members, {ended}" if result.batched else ended)]
    lines.append(f"  run: {', '.join(how)}; {len(result.time)} instants recorded")
    lines += [f"  varied: {line}" for line in _some(_varied(result))]
    if is_known(result.status):
        lines.append("  certificate: " + ", ".join(_figures(result)))
    lines += [f"  channel: {line}" for line in _some(_channels(result))]
    if result.poses:
        lines.append(f"  poses: {len(result.poses)} bodies of {len(np.atleast_1d(result.kept))} members")
    return lines


def _some(lines: Iterator[str]) -> list[str]:
    every = list(lines)
    return every if len(every) <= LISTED else [*every[:LISTED], f"... {len(every) - LISTED} more"]


def _varied(result: Any) -> Iterator[str]:
    for path, values in result.design.items():
        sizes = f"from {values.min():.6g} to {values.max():.6g}" if is_known(values) else f"{values.shape}, traced"
        yield f"{path} {sizes} {result.units.get(path, '')}"


def _figures(result: Any) -> Iterator[str]:
    for name in ("gap", "energy_error", "pivot_ratio"):
        if name in result.certificate:
            figure, member = worst(name, np.atleast_1d(np.asarray(result.certificate[name], float)))
            unit = "" if CERTIFICATE.get(name, "1") == "1" else f" {CERTIFICATE[name]}"
            yield f"{name} {figure:.2g}{unit}" + (f" (member {member})" if result.batched else "")


def _channels(result: Any) -> Iterator[str]:
    for path, values in result.channels.items():
        yield f"{path} {values.shape} {result.units.get(path, '1')}"
