"""Members of a study that do not move in time: led along a path, asked how far their joints can go or what they reach,
or put where goals want them. Host only.

What does each kind is loaded when a study of it is run, as a command of the command line is: a table of names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from shiftjax.mechanism.model import Model
from shiftjax.run.results.result import Result

# Kind of a study -> the module and the function that does it.
POSED = {
    "follow": ("shiftjax.kinematics.paths.follow", "follow"),
    "travel": ("shiftjax.kinematics.ranges.travels", "travels"),
    "ik": ("shiftjax.kinematics.positioning.results.positions", "positions"),
    "workspace": ("shiftjax.kinematics.workspaces.spaces", "spaces"),
}
# Keywords that mean something there.
TAKEN = (
    "channels", "metrics", "branch", "backend", "precision", "strict_start", "derive", "drive", "tie", "keep", "vary",
    "threads", "announce", "progress", "goals", "limits", "tries", "workspace",
)  # fmt: skip


def of_kind(kind: str, name: str = "") -> Callable[..., Any]:
    """What does a kind of `POSED`, or something else that its module has by a name."""
    home, function = POSED[kind]
    return getattr(import_module(home), name or function)


def posed(kind: str, model: Model, given: Mapping[str, Any]) -> Result:
    """The result of members of a kind of `POSED`; keywords of motions among those given are left out."""
    return of_kind(kind)(model, **{name: given[name] for name in TAKEN if name in given})
