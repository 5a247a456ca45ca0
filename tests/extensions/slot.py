"""A pin in a slot: sliding along an axis, then turning about another one.

By `slide` [m] and by `angle` [rad].
"""

from __future__ import annotations

from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Rotation, Translation

KINDS["slot"] = JointKind(
    (Translation("x"), Rotation("y")), "cross", ("slide", "angle")
)
