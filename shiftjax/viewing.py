"""`view` of models, results and stored studies: a call that the top of the house answers.

The viewer stands above what it shows, so that nothing here imports it: the front door of the package says in
`answer_with` which function makes views, and `view` asks it when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_answers: list[Callable[[Any, int | str | Sequence[int], int, int, bool], Any]] = []


def answer_with(make_view: Callable[[Any, int | str | Sequence[int], int, int, bool], Any]) -> None:
    """Says what makes views from now on: a function of the arguments of `view` that loads the viewer when called."""
    _answers[:] = [make_view]


def view(
    what: Any, members: int | str | Sequence[int] = "", *, height: int = 480, rows: int = 0, server: bool = False
) -> Any:
    """A `View` of a result, of the store that a path names, or of a model as its loops close, without a step.

    Args:
        rows: of a store: members whose numbers are in the page at most.
        server: of a store: a `ServedView`, whose page asks a server of this process for all members.

    Raises:
        ModelError: no packages of the viewer; loops that cannot be closed; as `shiftjax.viewer.views`.
    """
    return _answers[0](what, members, height, rows, server)
