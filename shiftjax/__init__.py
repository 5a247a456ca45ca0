"""Ensembles of mechanisms with exact loops. Every name is loaded on first use, so that `import shiftjax` is quick."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shiftjax.version import VERSION as __version__

if TYPE_CHECKING:
    from shiftjax.errors import ModelError as ModelError
    from shiftjax.formats import load as load
    from shiftjax.formats import save as save
    from shiftjax.formats.builder import ModelBuilder as ModelBuilder
    from shiftjax.formats.solids import solid as solid
    from shiftjax.formats.solids import solid_of_mesh as solid_of_mesh
    from shiftjax.mechanism.model import Model as Model
    from shiftjax.run.live import Live as Live
    from shiftjax.run.report import info as info
    from shiftjax.run.result import Result as Result
    from shiftjax.run.simulate import simulate as simulate
    from shiftjax.run.step_function import compile as compile

_HOME = {
    "Live": "shiftjax.run.live",
    "Model": "shiftjax.mechanism.model",
    "ModelBuilder": "shiftjax.formats.builder",
    "ModelError": "shiftjax.errors",
    "Result": "shiftjax.run.result",
    "compile": "shiftjax.run.step_function",
    "info": "shiftjax.run.report",
    "load": "shiftjax.formats",
    "save": "shiftjax.formats",
    "simulate": "shiftjax.run.simulate",
    "solid": "shiftjax.formats.solids",
    "solid_of_mesh": "shiftjax.formats.solids",
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
