"""Options JOINT=VALUE: places of joints, in any units."""

from __future__ import annotations

from collections.abc import Iterable

from shiftjax.cli import common
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.quantities import in_si


def joint_values(model: Model, texts: Iterable[str], option: str) -> dict[str, float]:
    """Joint -> its place [rad or m], of an option that may be repeated.

    Raises:
        ModelError: no such joint, a value of another unit, a joint twice.
    """
    units = units_of(model)
    return {
        joint: in_si(words, units[plain_coordinate(model, joint, option)], f"{option} {joint}")
        for joint, words in common.entries(texts, option).items()
    }
