"""`view` of models, results and stored studies: a call that the top of the house answers.

The viewer stands above what it shows, so that nothing here imports it: the front door of the package says in
`answer_with` who makes views, and these functions ask it when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class ViewMaker(Protocol):
    """What makes views; loads the viewer at its first call."""

    def view(self, what: Any, members: int | str | Sequence[int], height: int) -> Any:
        """A `View` of a result, or of the store that a path names."""
        ...

    def view_start(self, model: Any, height: int) -> Any:
        """A `View` of a model as its loops close."""
        ...


_makers: list[ViewMaker] = []


def answer_with(maker: ViewMaker) -> None:
    """Says who makes views from now on."""
    _makers[:] = [maker]


def view(what: Any, members: int | str | Sequence[int] = "", *, height: int = 480) -> Any:
    """A `View` of a result, or of the store that a path names.

    Raises:
        ModelError: no packages of the viewer; as `shiftjax.viewer.views`.
    """
    return _makers[0].view(what, members, height)


def view_start(model: Any, *, height: int = 480) -> Any:
    """A `View` of a model as its loops close, without a step.

    Raises:
        ModelError: as `view`.
    """
    return _makers[0].view_start(model, height)
