"""Studies on top of `simulate`: sampling of designs, whole studies in stores, reports, pictures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {  # names that load on first use
    "Definition": "study.definition",
    "Optimum": "optimization.optimum",
    "Sensitivity": "sensitivities.slopes",
    "Study": "stored_study",
    "optimize": "optimization.optimize",
    "fisher": "fisher_information",
    "sensitivity": "sensitivities.slopes",
    "sweep": "execution.sweep",
}

if TYPE_CHECKING:
    from shiftjax.ensembles.execution.sweep import sweep as sweep
    from shiftjax.ensembles.fisher_information import fisher as fisher
    from shiftjax.ensembles.optimization.optimize import optimize as optimize
    from shiftjax.ensembles.optimization.optimum import Optimum as Optimum
    from shiftjax.ensembles.sensitivities.slopes import Sensitivity as Sensitivity
    from shiftjax.ensembles.sensitivities.slopes import sensitivity as sensitivity
    from shiftjax.ensembles.stored_study import Study as Study
    from shiftjax.ensembles.study.definition import Definition as Definition

__all__ = ["Definition", "Optimum", "Sensitivity", "Study", "fisher", "optimize", "sensitivity", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shiftjax.ensembles' has no attribute {name!r}")
    return getattr(import_module(f"shiftjax.ensembles.{_HOME[name]}"), name)
