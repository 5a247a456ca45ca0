"""Which channels belong to a thing, and their curves. NumPy only."""

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
    """The recorded channels of a thing and of what it holds; the first few of all for nothing picked."""
    if path is None:
        return list(study.channels)[:MOST]
    own = [channel for channel in study.channels if _belongs(thing_of(study, channel), path)]
    return own[:MOST]


def curves(study: StudyLike, channel: str, member: int) -> Curves:
    """The numbers of a channel, a curve each."""
    values = np.asarray(study.channel(channel, member), float)
    rows = np.ascontiguousarray(values.reshape(len(values), -1).T)
    labels = tuple(f"[{k}]" for k in range(len(rows))) if len(rows) > 1 else ("value",)
    return Curves(channel, study.channels[channel], labels, rows)


def thing_of(study: StudyLike, channel: str) -> str:
    """The full path of what a channel is of; the user may have left leading assemblies out."""
    try:
        return split(study.model.resolve(channel))[0]
    except ModelError:
        return split(channel)[0]


def _belongs(thing: str, path: str) -> bool:
    return thing == path or thing.startswith(path + ":")
