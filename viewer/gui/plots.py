"""The channels of an item, and their curves. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import split
from shiftjax.record import record
from shiftjax.viewer.study_like import StudyLike

MOST = 6  # plots at once


@record
class Curves:
    """A channel of one member, ready to be drawn."""

    title: str
    unit: str
    labels: tuple[str, ...]
    values: np.ndarray  # (k, n), contiguous


def channels_of(study: StudyLike, path: str | None) -> list[str]:
    """The recorded channels of an item and of its children; the first few of all without a pick."""
    if path is None:
        return list(study.channels)[:MOST]
    own = [channel for channel in study.channels if _belongs(owner_of(study, channel), path)]
    return own[:MOST]


def curves(study: StudyLike, channel: str, member: int) -> Curves:
    """The numbers of a channel, a curve each."""
    values = np.asarray(study.channel(channel, member), float)
    rows = np.ascontiguousarray(values.reshape(len(values), -1).T)
    labels = tuple(f"[{k}]" for k in range(len(rows))) if len(rows) > 1 else ("value",)
    return Curves(channel, study.channels[channel], labels, rows)


def owner_of(study: StudyLike, channel: str) -> str:
    """The full path of the owner of a channel; leading assemblies may be missing in its name."""
    try:
        return split(study.model.resolve(channel))[0]
    except ModelError:
        return split(channel)[0]


def _belongs(owner: str, path: str) -> bool:
    return owner == path or owner.startswith(path + ":")
