"""Which members of a study have their trajectories kept: the words of `[keep]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from shiftjax.ensembles.study.rankings import JUDGED, ranking
from shiftjax.errors import ModelError, nearest, need, need_count, one_of
from shiftjax.measures.aims import GOOD, LARGE_IS_GOOD, TAKEN_FOR_GOOD, sense_of
from shiftjax.record import record
from shiftjax.run.results.plain_values import members_to_keep

USUAL = 64  # members, as of `shiftjax sweep`
MEMBERS = '"all", "none", "every 10", how many spread evenly, "worst:5 by NAME", or a list of members'
EXTREME = '{ metric = "NAME", count = 5 }'
MOST = 10**9  # members
NOTHING: Mapping[str, str] = MappingProxyType({})
_EVERY = re.compile(r"every ([1-9][0-9]{0,8})")


@record
class Extreme:
    """The members with the best or worst values of a metric.

    Attributes:
        metric: a metric of the study, or a number of the certificate.
        count: how many.
        good: whether "small" or "large" values of it are good; "" where nothing says so, and small is taken.
    """

    metric: str
    count: int
    good: str = ""


@record
class Keep:
    """Which members have their trajectories kept.

    Attributes:
        members: "all", "none", how many spread evenly, or member numbers.
        every: n, where every n-th member is kept, from member 0; 0 where `members` holds.
        worst, best: of metrics, beside them.
    """

    members: str | int | tuple[int, ...] = USUAL
    every: int = 0
    worst: tuple[Extreme, ...] = ()
    best: tuple[Extreme, ...] = ()

    def stated(self, total: int) -> np.ndarray:
        """(K,) the members, of so many, that are kept whatever their metrics are; rising.

        Raises:
            ModelError: a member that there is not.
        """
        if self.every:
            return np.arange(0, total, self.every)
        if isinstance(self.members, tuple):
            beyond = [member for member in self.members if member >= total]
            if beyond:
                raise ModelError("keep.members", f"member {beyond[0]}", f"members 0 to {total - 1}", "Leave it out.")
            return np.unique(np.array(self.members, np.int64))
        return members_to_keep(self.members, total)

    def at_once(self, total: int) -> np.ndarray:
        """Those of the stated members that are written with their shards: none where all trajectories wait for the
        extremes.

        Raises:
            ModelError: a member that there is not.
        """
        stated = self.stated(total)
        return stated[:0] if self.worst or self.best else stated

    def text(self) -> str:
        """What is kept, in words."""
        members = f"every {self.every}th member" if self.every > 1 else "all members"
        if not self.every:
            listed = self.members if isinstance(self.members, tuple) else ()
            usual = {"all": "all members", "none": "no members", "()": "no members"}.get(str(self.members))
            usual = usual or f"{self.members} members, spread evenly"
            members = f"members {', '.join(map(str, listed))}" if listed else usual
        more = [(word, extreme) for word in ("worst", "best") for extreme in getattr(self, word)]
        return "; ".join(
            [members, *(f"the {e.count} {word} of {e.metric} ({_sense(e.good)} good)" for word, e in more)]
        )


def _sense(good: str) -> str:
    return f"{good} is" if good else f"{TAKEN_FOR_GOOD} is taken as"


def keep_words(words: Any, where: str = "keep") -> dict[str, Any]:
    """The words of `[keep]` in their one form, a table; a text, number or list means its `members`.

    Raises:
        ModelError: words that are none.
    """
    if not isinstance(words, Mapping):
        words = extreme_words(words) or {"members": words}
    known = ("members", "worst", "best")
    for key in words:
        if key not in known:
            todo = nearest(str(key), known) or "Leave it out."
            raise ModelError(f"{where}.{key}", "an unknown key", ", ".join(known), todo)
    table = dict(words)
    if "members" in table:
        _members(table["members"], f"{where}.members")
    for key in ("worst", "best"):
        if key in table:
            entries = table[key] if isinstance(table[key], list | tuple) else [table[key]]
            table[key] = [_extreme(entry, f"{where}.{key}") for entry in entries]
    return table


def extreme_words(text: Any) -> dict[str, Any] | None:
    """The table that "worst:5 by METRIC" or "best:5 by METRIC" means; None of anything else."""
    words = ranking(text) if isinstance(text, str) else None
    if words is None or words.end not in JUDGED or not words.column or words.among or not 0 < (words.count or 0) < MOST:
        return None
    good = {"good": "large"} if words.column in LARGE_IS_GOOD else {}
    return {words.end: [{"metric": words.column, "count": words.count, **good}]}


def keep(words: Mapping[str, Any], senses: Mapping[str, str] = NOTHING) -> Keep:
    """What checked words mean; `members` left out is 64, or none where worst or best are given.

    Args:
        senses: metric -> which of its values are good, where the words do not say it themselves.
    """
    members = words.get("members", "none" if "worst" in words or "best" in words else USUAL)
    members = tuple(members) if isinstance(members, list) else members
    every = _EVERY.fullmatch(members) if isinstance(members, str) else None

    def extremes(entries: Sequence[Mapping[str, Any]]) -> tuple[Extreme, ...]:
        implied = (sense_of(entry["metric"], senses.get(entry["metric"], "")) for entry in entries)
        return tuple(Extreme(**{"good": good, **entry}) for good, entry in zip(implied, entries, strict=True))

    count = int(every[1]) if every else 0
    return Keep("none" if every else members, count, *(extremes(words.get(key, ())) for key in JUDGED))


def stated_senses(words: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Where, metric and sense of what checked words say of it."""
    for key in JUDGED:
        for entry in words.get(key, ()):
            if "good" in entry:
                yield f"keep.{key}.good", entry["metric"], entry["good"]


def _members(given: Any, where: str) -> None:
    if isinstance(given, list | tuple):
        for k, member in enumerate(given):
            need_count(f"{where}[{k}]", member, 0)
    elif isinstance(given, str):
        if given not in ("all", "none") and not _EVERY.fullmatch(given):
            raise ModelError(where, repr(given)[:80], MEMBERS, nearest(given, ("all", "none")) or "Choose one of them.")
    elif isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise ModelError(where, repr(given)[:80], MEMBERS, "Choose one of them.")


def _extreme(entry: Any, where: str) -> dict[str, Any]:
    need(where, entry, Mapping, f"a table, {EXTREME}")
    known = ("metric", "count", "good")
    for key in entry:
        if key not in known:
            todo = nearest(str(key), known) or "Leave it out."
            raise ModelError(f"{where}.{key}", "an unknown key", ", ".join(known), todo)
    for key in known[:2]:
        if key not in entry:
            raise ModelError(where, f"no {key}", EXTREME, "Add it.")
    need(f"{where}.metric", entry["metric"], str, "the name of a metric")
    need_count(f"{where}.count", entry["count"], 1)
    if "good" in entry:
        one_of(f"{where}.good", entry["good"], GOOD)
    return dict(entry)
