"""A pin in a slot: sliding by `slide` [m] along an axis, then turning by `angle` [rad] about another one."""

from __future__ import annotations

from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Rotation, Translation

KINDS["slot"] = JointKind((Translation("x"), Rotation("y")), "cross", ("slide", "angle"))
