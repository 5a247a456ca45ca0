"""The one call upwards: `view` of a model, a result or a stored study loads the viewer when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shiftjax.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence


def view(what: Any, members: int | str | Sequence[int] = "", *, height: int = 480) -> Any:
    """A `View` of a result, of a model's start, or of the store that a path names.

    Raises:
        ModelError: no packages of the viewer; as `shiftjax.viewer.views`.
    """
    try:
        views = import_module("shiftjax.viewer.views")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("shiftjax"):
            raise
        todo = "Install them with pip install 'shiftjax[viewer]'."
        raise ModelError("view", f"no Python package {error.name!r}", "the viewer's packages", todo) from None
    return views.view(what, members, height)


def view_start(model: Any, *, height: int = 480) -> Any:
    """A `View` of a model as its loops close, without a step."""
    found = import_module("shiftjax.run.assemble").assemble(model, keep="all")
    return view(found, height=height)
