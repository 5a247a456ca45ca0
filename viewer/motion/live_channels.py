"""The channels that a running simulation records for its plots: what was asked for, and what the window can pick."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.joints import KINDS
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.viewer.motion.curves import OF_ALL, OF_FRAMES, OF_JOINTS

__all__ = ["followed"]

OF_POINTS = ("position",)  # of frames beside those of bodies


def followed(model: Model, asked: Sequence[str] = ()) -> list[str]:
    """Channels of everything that can be picked; those asked for come first, then coordinates of joints.

    Speeds are those of the run, where a stored run without them has only derivatives of its poses. Frames have their
    positions alone: a model has many, and every instant is kept.
    """
    joints = [path for path, joint in model.joints() if KINDS[joint.type].coordinates]
    coordinates = [f"{path}.{name}" for name in OF_JOINTS for path in joints]
    bodies = [f"{path}.{name}" for path, _ in model.bodies() for name in OF_FRAMES]
    frames = [f"{child(path, frame.name)}.{name}" for path, body in model.bodies() for frame in body.frames
              for name in OF_POINTS]  # fmt: skip
    every = (*coordinates, *OF_ALL, *bodies, *frames)
    have = tuple(f":{path}" for path in asked)  # leading assemblies may be left out
    return [*dict.fromkeys(asked), *(name for name in every if not f":{name}".endswith(have))]
