"""Euler joints: three turns, each about an axis of the frame that the turns before it have turned, in any order.

They have coordinates where a ball joint has a quaternion: each turn can be driven, sprung and plotted. Where the
first and the last axis meet in one line (gimbal lock: the second angle of zyx at a quarter turn, of zxz at zero) two of
them turn about the same line, and a ball joint is the better choice.
"""

from __future__ import annotations

from itertools import product

from shiftjax.joints.kind import JointKind
from shiftjax.joints.primitives import Rotation

TURNS = ("first", "second", "third")
EULER = {
    f"euler_{''.join(axes)}": JointKind(
        tuple(Rotation(axis) for axis in axes),
        "ball",
        TURNS,
        doc=f"turns about {', then '.join(axes)}, each turned by those before",
    )
    for axes in product("xyz", repeat=3)
    if axes[0] != axes[1] != axes[2]
}
