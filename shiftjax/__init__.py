"""Ensembles of mechanisms with exact loops. Every name is loaded on first use, so that `import shiftjax` is quick."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shiftjax.version import VERSION as __version__

if TYPE_CHECKING:
    from shiftjax.builder import ModelBuilder as ModelBuilder
    from shiftjax.errors import ModelError as ModelError
    from shiftjax.formats import load as load
    from shiftjax.formats import save as save
    from shiftjax.live import Live as Live
    from shiftjax.model import Model as Model
    from shiftjax.report import info as info
    from shiftjax.result import Result as Result
    from shiftjax.simulation import simulate as simulate
    from shiftjax.solids import solid as solid
    from shiftjax.solids import solid_of_mesh as solid_of_mesh
    from shiftjax.stepping import compile as compile

_HOME = {
    "Live": "shiftjax.live",
    "Model": "shiftjax.model",
    "ModelBuilder": "shiftjax.builder",
    "ModelError": "shiftjax.errors",
    "Result": "shiftjax.result",
    "compile": "shiftjax.stepping",
    "info": "shiftjax.report",
    "load": "shiftjax.formats",
    "save": "shiftjax.formats",
    "simulate": "shiftjax.simulation",
    "solid": "shiftjax.solids",
    "solid_of_mesh": "shiftjax.solids",
}

__all__ = [
    "Live",
    "Model",
    "ModelBuilder",
    "ModelError",
    "Result",
    "__version__",
    "compile",
    "info",
    "load",
    "save",
    "simulate",
    "solid",
    "solid_of_mesh",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shiftjax' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
