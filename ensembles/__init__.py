"""Studies on top of `simulate`: sampling of designs, whole studies in stores, reports, pictures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {"Definition": "definition", "Study": "study", "sweep": "execution"}  # names that load on first use

if TYPE_CHECKING:
    from shiftjax.ensembles.definition import Definition as Definition
    from shiftjax.ensembles.execution import sweep as sweep
    from shiftjax.ensembles.study import Study as Study

__all__ = ["Definition", "Study", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shiftjax.ensembles' has no attribute {name!r}")
    return getattr(import_module(f"shiftjax.ensembles.{_HOME[name]}"), name)
