"""Names of columns as users write them: with leading assemblies left out, with or without backticks."""

from __future__ import annotations

from collections.abc import Iterable

from shiftjax.errors import ModelError, nearest
from shiftjax.mechanism.paths import listed, shortened


def resolved(name: str, known: Iterable[str], where: str) -> str:
    """The known name that a user means: exact, then without backticks, then with leading assemblies left out.

    Raises:
        ModelError: none or several; the nearest is suggested.
    """
    names = list(known)
    fits = meant(name, names)
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise ModelError(where, f"{short(name)}, which could be several", listed(fits), "Write more of the path.")
    todo = nearest(name.replace("`", "")[:80], names) or "Choose one of them." if names else "Record it when running."
    raise ModelError(where, short(name), listed(names, 12) or "nothing, there is none", todo)


def meant(name: str, names: list[str]) -> list[str]:
    """Those of some names that a user may mean."""
    if name in names:
        return [name]
    bare = name.replace("`", "")
    fits = [n for n in names if n.replace("`", "") == bare]
    return fits or [n for n in names if shortened(n.replace("`", ""), bare, 1)]


def short(text: str) -> str:
    """A text in an error, cut where it is long."""
    return repr(text if len(text) <= 80 else text[:77] + "...")
