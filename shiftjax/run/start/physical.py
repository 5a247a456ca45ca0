"""Members whose numbers no mechanism can have: they are not run, and their cause is named. Host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.fields import numbers_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import Steps, split, steps, text_of
from shiftjax.mechanism.physical import Fault, faults


def impossible(model: Model, paths: Sequence[str], values: np.ndarray) -> dict[int, str]:
    """Member -> what is impossible about it, of every element in which something is.

    Args:
        model: with the numbers that all members share. paths: full ones of the numbers varied; values: (count, B).
    """
    return _causes(model, paths, values, certain=True)


def impossible_inertias(model: Model, paths: Sequence[str], values: np.ndarray) -> dict[int, str]:
    """Member -> which of its bodies have moments that no body has; arguments as of `impossible`."""
    return _causes(model, paths, values, certain=False)


def _causes(model: Model, paths: Sequence[str], values: np.ndarray, *, certain: bool) -> dict[int, str]:
    causes: dict[int, list[str]] = {}
    for where, fault, members in _faults_of(model, paths, values):
        for k in members if fault.certain == certain else ():
            column = int(k) if len(fault.bad) > 1 else 0
            causes.setdefault(int(k), []).append(f"{where}: found {fault.found(column)}; allowed: {fault.allowed}")
    return {k: "; ".join(texts) for k, texts in sorted(causes.items())}


def refuse_impossible(model: Model, paths: Sequence[str], values: np.ndarray, *, strict: bool) -> None:
    """Raises where something is impossible about the only member; arguments as of `impossible`.

    Args:
        strict: whether inertias that no body has are refused, too.
    """
    for where, fault, _ in _faults_of(model, paths, values):
        if not (strict or fault.certain):
            continue
        raise ModelError(where, fault.found(0), fault.allowed, fault.todo)


def _faults_of(model: Model, paths: Sequence[str], values: np.ndarray) -> Iterator[tuple[str, Fault, np.ndarray]]:
    """Where, what and in which members something is impossible."""
    varied: dict[str, dict[Steps, np.ndarray]] = {}
    for path, column in zip(paths, values, strict=True):
        target, field = split(path)
        varied.setdefault(target, {})[steps(field)] = column
    everyone = np.arange(values.shape[1])
    for path, item in model.elements():
        changed: Mapping[Steps, np.ndarray] = varied.get(path, {})
        for fault in faults(item, numbers_of(item), changed):
            if fault.bad.any():
                where = next((place for place in fault.steps if place in changed), next(iter(fault.steps), ()))
                yield path + text_of(where), fault, np.flatnonzero(fault.bad) if changed else everyone
