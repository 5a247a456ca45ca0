"""The error that invalid user input raises."""

from __future__ import annotations

import difflib
import math
import os
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from numbers import Integral, Real
from operator import index

HUGE = 1 << 256  # seeds have up to 128 bits; what has 4300 digits cannot even be written


class ModelError(ValueError):
    """Invalid input: states where, what was found, what is allowed, what to do.

    Attributes:
        where: path of the offending element (JSON path, element name or option).
        found: what was found there.
        allowed: what is allowed there.
        todo: what the user can do about it.
    """

    def __init__(self, where: str, found: str, allowed: str, todo: str) -> None:
        self.where, self.found, self.allowed, self.todo = where, found, allowed, todo
        super().__init__(printable(f"{where}: found {found}; allowed: {allowed}. {todo}"))

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, str, str, str]]:
        """Whole on its way between processes, from a worker to who asked."""
        return type(self), (self.where, self.found, self.allowed, self.todo)


def installing(extra: str) -> str:
    """What brings the packages of an extra: no package index has this one, so it is installed from a checkout."""
    return f"In the checkout: pip install -e '.[{extra}]'"


def need_matplotlib(where: str) -> None:
    """Raises where matplotlib, of the extra `plot`, is not installed."""
    if find_spec("matplotlib") is None:
        raise ModelError(where, "no matplotlib", "matplotlib installed", installing("plot"))


class GradientWarning(UserWarning):
    """A gradient that is less than it seems, and why."""


def printable(text: str) -> str:
    """A text whose characters can do nothing to a terminal: those that steer it, or the order of a line, are escaped.

    Names of files and of model files come into messages as they are; a newline or an escape code among them could
    write what looks like a message of the program.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def one_of(where: str, word: object, known: Iterable[str]) -> None:
    """Raises unless the word is one of the known ones."""
    names = list(known)
    if not isinstance(word, str) or word not in names:
        hint = nearest(word, names) if isinstance(word, str) else ""
        raise ModelError(where, shown(word), ", ".join(names), hint or "Choose one of them.")


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence naming the known word nearest to `word`, or the empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]!r}?" if close else ""


def refuse_text(where: str, paths: object) -> None:
    """Raises unless `paths` is a list of texts; one text in place of the list would be read letter by letter."""
    if isinstance(paths, str):
        raise ModelError(where, repr(paths), "a list of paths", f"Write [{paths!r}].")
    if isinstance(paths, Mapping) or not isinstance(paths, Iterable):
        raise wrong(where, paths, "a list of paths")
    try:
        # An iterator is empty when it is read again.
        known = not isinstance(paths, Iterator) and all(isinstance(path, str) for path in paths)
    except TypeError:  # an array without dimensions
        known = False
    if not known:
        raise wrong(where, paths, "a list of paths")


def need(where: str, value: object, kind: type | tuple[type, ...], allowed: str) -> None:
    """Raises unless the value is of a type, said in words by `allowed`; true and false are no numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong(where, value, allowed)


def need_function(where: str, value: object, allowed: str) -> None:
    """Raises unless the value can be called."""
    if not callable(value):
        raise wrong(where, value, allowed)


def need_path(where: str, value: object) -> None:
    """Raises unless the value is the path of a file."""
    try:
        name = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
        known = isinstance(value, str | os.PathLike) and isinstance(name, str) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:  # half of a surrogate pair, which no file system has
        known = False
    if not known:
        raise wrong(where, value, "the path of a file")


def need_mapping(where: str, value: object) -> None:
    """Raises unless the value is a mapping from texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(where, value, "a mapping from paths, or names, as {path: value}")


def need_number(where: str, value: object, allowed: str, *, least: float = -math.inf, above: float = -math.inf) -> None:
    """Raises unless the value is a finite number, from `least` and above `above`."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except (OverflowError, TypeError):  # an integer beyond all floats; seconds of NumPy, which call themselves integers
        number = math.inf
    if not (math.isfinite(number) and number >= least and number > above):
        raise wrong(where, value, allowed)


def need_count(where: str, value: object, least: int) -> None:
    """Raises unless the value is a whole number from `least`."""
    try:
        counts = isinstance(value, Integral) and not isinstance(value, bool) and least <= index(value) < HUGE
    except TypeError:  # as in `need_number`
        counts = False
    if not counts:
        raise wrong(where, value, f"a whole number from {least}")


def refuse_traced(where: str, value: object, todo: str) -> None:
    """Raises where JAX traces a number that must be known. JAX is asked only where it is there."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, jax.core.Tracer):
        raise ModelError(where, "a number that JAX traces", "known numbers", todo)


def wrong(where: str, value: object, allowed: str) -> ModelError:
    """The error of a value of another kind."""
    return ModelError(where, " ".join(shown(value, reprlib.repr).split()), allowed, "Correct it.")


def shown(value: object, text_of: Callable[[object], str] = repr) -> str:
    """The beginning of a value as text."""
    try:
        return text_of(value)[:80]
    except ValueError:  # an integer of more digits than Python prints, or a list with one in it
        return "a huge number" if isinstance(value, int) else f"a {type(value).__name__} with a huge number"
