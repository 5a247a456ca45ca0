"""Studies on top of `simulate`: sampling of designs, whole studies in stores, reports, pictures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {  # names that load on first use
    "Definition": "definition",
    "Optimum": "optimization.optimum",
    "Sensitivity": "slopes",
    "Study": "study",
    "optimize": "optimization.optimize",
    "fisher": "information",
    "sensitivity": "slopes",
    "sweep": "execution",
}

if TYPE_CHECKING:
    from shiftjax.ensembles.definition import Definition as Definition
    from shiftjax.ensembles.execution import sweep as sweep
    from shiftjax.ensembles.information import fisher as fisher
    from shiftjax.ensembles.optimization.optimize import optimize as optimize
    from shiftjax.ensembles.optimization.optimum import Optimum as Optimum
    from shiftjax.ensembles.slopes import Sensitivity as Sensitivity
    from shiftjax.ensembles.slopes import sensitivity as sensitivity
    from shiftjax.ensembles.study import Study as Study

__all__ = ["Definition", "Optimum", "Sensitivity", "Study", "fisher", "optimize", "sensitivity", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shiftjax.ensembles' has no attribute {name!r}")
    return getattr(import_module(f"shiftjax.ensembles.{_HOME[name]}"), name)
