"""What a choice of members may say next: names that complete it, and examples that mean something in this study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.outcome import Outcome
from shiftjax.viewer.members.choice import KEYWORDS, RANKED_BY
from shiftjax.viewer.members.member_table import MEMBER, STATUS, MemberTable
from shiftjax.viewer.members.query import FRONT

MOST = 9  # names, and examples
WORD = re.compile(
    r"(?:(?P<ranking>(?:worst|best|largest|smallest):[0-9]+:)|(?<=[(,\s])[+-]|(?<![^\s`<>=!()]))(?P<word>`[^`]*|[^\s`<>=!()]*)$"
)
PLAIN = re.compile(r"[^\s`<>=!()]+")
UPPER, LOWER = 0.9, 0.1  # shares of the members below the limits of the examples


def completions(text: str, names: Iterable[str]) -> list[tuple[str, str]]:
    """Names that the last word of a choice may become, and the whole text with each; nothing for an empty word."""
    match = WORD.search(text)
    word = match["word"].lstrip("`").lower() if match is not None else ""
    if match is None or not (word or match["ranking"]):
        return []
    start = match.start("word")
    known = [name for name in (*names, *(() if match["ranking"] else KEYWORDS)) if word in name.lower()]
    known.sort(key=lambda name: (not name.lower().startswith(word), not _begins(name.lower(), word), len(name)))
    whole = [(name, text[:start] + quoted(name)) for name in known[:MOST]]
    return [] if [name for name, _ in whole] == [text[start:].strip("`")] else whole


def _begins(name: str, word: str) -> bool:
    """Whether a part of a path begins with a word."""
    return any(part.startswith(word) for part in re.split(r"[:.\[]", name))


def quoted(name: str) -> str:
    """A name as a choice writes it, in backticks where it has spaces or operators."""
    return name if PLAIN.fullmatch(name) else f"`{name}`"


def examples(table: MemberTable) -> list[tuple[str, int]]:
    """Choices made of the columns of a study, each with how many members it means; none that means nobody or fails."""
    counted = []
    for text in _candidates(table):
        try:
            count = len(table.choose(text))
        except ModelError:
            continue
        if count:
            counted.append((text, count))
    return counted[:MOST]


def _candidates(table: MemberTable) -> Iterator[str]:
    """The best are first."""
    study = table.study
    metrics = [name for name in study.metrics if _varies(table, name)]
    design = [name for name in study.design if _varies(table, name)]
    yield from ("kept", "failed")
    if RANKED_BY in study.metrics:
        yield "worst:5"
    for name in metrics[:1]:
        yield f"worst:5:{quoted(name)}"
        yield f"best:5:{quoted(name)} of kept"
        yield f"largest:5:{quoted(name)}"
        yield f"{quoted(name)} > {_quantile(table, name, UPPER)}"
    if len(metrics) > 1 and metrics[1] not in CERTIFICATE:
        yield f"{FRONT}({quoted(metrics[0])}, {quoted(metrics[1])})"
    for name in design[:1]:
        yield f"{quoted(name)} < {_quantile(table, name, LOWER)}"
    if metrics and design:
        one, other = metrics[0], design[-1]
        yield f"{quoted(one)} < {_quantile(table, one, 0.5)} and {quoted(other)} > {_quantile(table, other, 0.5)}"
    for ended in _failures(table)[:1]:
        yield f"{STATUS} == '{ended}'"
    yield f"{STATUS} != 'ok'"
    yield f"{MEMBER} < 10"


def _failures(table: MemberTable) -> list[str]:
    """How members ended early, the most frequent first."""
    statuses, counts = np.unique(table.column(STATUS), return_counts=True)
    return [Outcome(int(status)).name for status in statuses[np.argsort(-counts)] if status > 0]


def _varies(table: MemberTable, name: str) -> bool:
    low, high = table.span(name)
    return high > low


def _quantile(table: MemberTable, name: str, share: float) -> str:
    """A number below which so many members are, to three digits."""
    values = table.column(name).astype(float)
    finite = values[np.isfinite(values)]
    place = int(share * (len(finite) - 1))
    return f"{np.partition(finite, place)[place]:.3g}"
