"""Which members of a study have their trajectories kept: the words of `[keep]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from shiftjax.ensembles.study.rankings import ENDS, JUDGED, ranking
from shiftjax.errors import HUGE, ModelError, nearest, need, need_count, one_of, shown
from shiftjax.measures.aims import GOOD, LARGE_IS_GOOD, TAKEN_FOR_GOOD, sense_of
from shiftjax.record import record
from shiftjax.run.results.plain_values import members_to_keep

USUAL = 64  # members, as of `shiftjax sweep`
MEMBERS = (
    '"all", "none", "every 10", how many spread evenly, "worst:5 by NAME" (best:, largest:, smallest:), or a list of '
    "members"
)
EXTREME = '{ metric = "NAME", count = 5 }'
MOST = 10**9  # members
NOTHING: Mapping[str, str] = MappingProxyType({})
_EVERY = re.compile(r"every ([1-9][0-9]{0,8})")


@record
class Extreme:
    """The first members by a metric.

    Attributes:
        end: one of `rankings.ENDS`.
        metric: a metric of the study, or a number of the certificate.
        count: how many.
        good: whether "small" or "large" values of it are good; "" where nothing says so, and small is taken.
    """

    end: str
    metric: str
    count: int
    good: str = ""

    def text(self) -> str:
        """Which members, in words."""
        if self.end not in JUDGED:
            return f"the {self.count} {self.end} of {self.metric}"
        sense = f"{self.good} is" if self.good else f"{TAKEN_FOR_GOOD} is taken as"
        return f"the {self.count} {self.end} of {self.metric} ({sense} good)"


@record
class Keep:
    """Which members have their trajectories kept.

    Attributes:
        members: "all", "none", how many spread evenly, or member numbers.
        every: n, where every n-th member is kept, from member 0; 0 where `members` holds.
        extremes: the first ones by metrics, beside them.
    """

    members: str | int | tuple[int, ...] = USUAL
    every: int = 0
    extremes: tuple[Extreme, ...] = ()

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
        return stated[:0] if self.extremes else stated

    def text(self) -> str:
        """What is kept, in words."""
        members = f"every {self.every}th member" if self.every > 1 else "all members"
        if not self.every:
            listed = self.members if isinstance(self.members, tuple) else ()
            usual = {"all": "all members", "none": "no members", "()": "no members"}.get(str(self.members))
            usual = usual or f"{self.members} members, spread evenly"
            members = f"members {', '.join(map(str, listed))}" if listed else usual
        return "; ".join([members, *(extreme.text() for extreme in self.extremes)])


def keep_words(words: Any, where: str = "keep") -> dict[str, Any]:
    """The words of `[keep]` in their one form, a table; a text, number or list means its `members`.

    Raises:
        ModelError: words that are none.
    """
    if not isinstance(words, Mapping):
        words = extreme_words(words) or {"members": words}
    known = ("members", *ENDS)
    for key in words:
        if key not in known:
            todo = nearest(str(key), known) or "Leave it out."
            raise ModelError(f"{where}.{key}", "an unknown key", ", ".join(known), todo)
    table = dict(words)
    if "members" in table:
        _members(table["members"], f"{where}.members")
    for key in ENDS:
        if key in table:
            entries = table[key] if isinstance(table[key], list | tuple) else [table[key]]
            table[key] = [_extreme(entry, f"{where}.{key}", key) for entry in entries]
    return table


def extreme_words(text: Any) -> dict[str, Any] | None:
    """The table that "worst:5 by METRIC", or "best:", "largest:" or "smallest:" alike, means; None of anything else."""
    words = ranking(text) if isinstance(text, str) else None
    if words is None or not words.column or words.among or not 0 < (words.count or 0) < MOST:
        return None
    good = {"good": "large"} if words.end in JUDGED and words.column in LARGE_IS_GOOD else {}
    return {words.end: [{"metric": words.column, "count": words.count, **good}]}


def keep(words: Mapping[str, Any], senses: Mapping[str, str] = NOTHING) -> Keep:
    """What checked words mean; `members` left out is 64, or none where members are ranked.

    Args:
        senses: metric -> which of its values are good, where the words do not say it themselves.
    """
    ends = [end for end in ENDS if end in words]
    members = words.get("members", "none" if ends else USUAL)
    members = tuple(members) if isinstance(members, list) else members
    every = _EVERY.fullmatch(members) if isinstance(members, str) else None
    entries = [{"end": end, **entry} for end in ends for entry in words[end]]
    implied = (sense_of(entry["metric"], senses.get(entry["metric"], "")) for entry in entries)
    extremes = tuple(Extreme(**{"good": good, **entry}) for good, entry in zip(implied, entries, strict=True))
    return Keep("none" if every else members, int(every[1]) if every else 0, extremes)


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
            raise ModelError(where, shown(given), MEMBERS, nearest(given, ("all", "none")) or "Choose one of them.")
    elif isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < HUGE:
        raise ModelError(where, shown(given), MEMBERS, "Choose one of them.")


def _extreme(entry: Any, where: str, end: str) -> dict[str, Any]:
    need(where, entry, Mapping, f"a table, {EXTREME}")
    known = ("metric", "count", "good") if end in JUDGED else ("metric", "count")
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
