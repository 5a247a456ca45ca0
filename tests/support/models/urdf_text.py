"""URDF texts for tests: of a tree of ours, and parts of them by hand. Written from the format's documentation."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.formats.builder import Numbers
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import parts
from shiftjax.mechanism.records import FIXED, Body, Frame, Joint


def rpy_matrix(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """(3, 3) of fixed axes x, y, z in turn, as one product of cosines and sines (Craig, equation 2.64)."""
    (cr, cp, cy), (sr, sp, sy) = ([f(x) for x in (roll, pitch, yaw)] for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_of(R: np.ndarray) -> tuple[float, float, float]:
    """Its inverse, away from a pitch of a quarter turn."""
    return math.atan2(R[2, 1], R[2, 2]), math.asin(-R[2, 0]), math.atan2(R[1, 0], R[0, 0])


def words(numbers: Numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def robot(*elements: str, name: str = "robot") -> str:
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n' + "\n".join(elements) + "\n</robot>\n"


def link(name: str, mass: float | None = None, at: Numbers = (0, 0, 0), inertia: Numbers = (0,) * 6,
         rpy: Numbers = (0, 0, 0), inside: str = "") -> str:  # fmt: skip
    """`inertia` is xx, yy, zz, xy, yz, xz."""
    if mass is None:
        return f'<link name="{name}">{inside}</link>'
    entries = " ".join(
        f'{key}="{float(x)!r}"' for key, x in zip(("ixx", "iyy", "izz", "ixy", "iyz", "ixz"), inertia, strict=True)
    )
    inertial = f'<origin xyz="{words(at)}" rpy="{words(rpy)}"/><mass value="{mass!r}"/><inertia {entries}/>'
    return f'<link name="{name}"><inertial>{inertial}</inertial>{inside}</link>'


def joint(name: str, parent: str, child: str, type: str = "continuous", xyz: Numbers = (0, 0, 0),
          rpy: Numbers = (0, 0, 0), axis: Numbers | None = None, inside: str = "") -> str:  # fmt: skip
    place = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{words(xyz)}" rpy="{words(rpy)}"/>'
    along = "" if axis is None else f'<axis xyz="{words(axis)}"/>'
    return f'<joint name="{name}" type="{type}">{place}{along}{inside}</joint>'


def of_tree(model: Model) -> str:
    """The URDF of a model whose joints, revolute, prismatic or rigid, stand at the origins of their children.

    Its ground is a link `world`.
    """
    frames: dict[str, dict[str, Frame]] = {FIXED: {frame.name: frame for frame in model.frames}}
    elements = [link("world")]
    for path, body in model.bodies():
        frames[path] = {frame.name: frame for frame in body.frames}
        elements.append(_link(body))
    elements += [_joint(item, frames) for _, item in model.joints()]
    return robot(*elements, name=model.assemblies[0].name)


def _link(body: Body) -> str:
    I = body.inertia  # noqa: E741
    return link(body.name, body.mass, body.center_of_mass, (I.Ixx, I.Iyy, I.Izz, I.Ixy, I.Iyz, I.Izx))


def _joint(item: Joint, frames: dict[str, dict[str, Frame]]) -> str:
    parent, child = (parts(ref.body)[-1] if ref.body != FIXED else "world" for ref in (item.parent, item.child))
    place = frames[item.parent.body].get(item.parent.frame, Frame("origin"))
    type = {"revolute": "continuous", "prismatic": "prismatic", "rigid": "fixed"}[item.type]
    return joint(item.name, parent, child, type, place.T, rpy_of(np.array(place.R)), item.axis)
