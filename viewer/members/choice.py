"""The language in which members of a study are chosen: numbers, ranges, words, rankings and queries. NumPy only.

    17   3,7,9   10:20   ::10           members by number; a range ends before its last number
    all   kept   failed                 words
    worst:5   best:5   worst:5:gap      a ranking by what is good, as the study says it of a metric (small where it
                                        says nothing, with a note), of `energy_error` where no name is given; of figures
                                        of the certificate failed members are the worst, of others they come last
    largest:5:swing   smallest:5:swing  a ranking by the numbers themselves, those that failed last
    worst:5 of kept                     the same among the members that another choice means
    pareto(swing, -torque)              the members that no other one beats in all of these: a metric alone is good as
                                        the study says it, with a sign or in arithmetic small is good; a query, too
    pareto(swing, gap) of kept          the same among the members of a query
    energy_error < 1e-9 and (four_bar:coupler.mass >= 1 or status == 'stuck')
                                        a query over all quantities; `not`, chains such as 0.9 < x < 1.1, and the
                                        words above
    coupler.mass + rocker.mass > 900 g  arithmetic, and units, which must be those of the quantity

Names are paths of the study; leading assemblies may be left out where the rest is unique, and names with spaces or
operators are written in backticks. No part of the text is evaluated as Python.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

import numpy as np

from shiftjax.ensembles.study.rankings import JUDGED, Ranking, assumed, ranking, rising
from shiftjax.errors import ModelError, nearest
from shiftjax.measures.aims import sense_of
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.record import record
from shiftjax.viewer.members.column_names import resolved, short
from shiftjax.viewer.members.query import FRONT, Query

EXAMPLES = "17 | 3,7,9 | 10:20 | all | kept | failed | worst:5 | best:5:NAME of kept | largest:5:NAME | a query"
EXAMPLES += ' such as "gap < 1e-9" or "pareto(NAME, -NAME)"'
RANKED_BY = "energy_error"
MAX_CHARACTERS = 100_000  # characters of a choice
MEMBERS = re.compile(r"[0-9:,\s]+")
RANGE = re.compile(r"([0-9]{0,15}):([0-9]{0,15})(?::([0-9]{0,15}))?")
KEYWORDS = ("all", "kept", "failed")
NO_SETS: Mapping[str, np.ndarray] = {}


@record
class Choices:
    """The members and quantities of a study."""

    members: int
    kept: np.ndarray  # (K,) members with trajectories
    columns: Mapping[str, np.ndarray]  # name -> (members,); holds "status"
    # name -> which values are good, "small" or "large", where the study says so
    senses: Mapping[str, str] = field(default_factory=dict)
    units: Callable[[str], str] = lambda _: ""  # of each column, "" where not known

    def choose(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> np.ndarray:
        """(k,) member numbers: in the order given or ranked, otherwise ascending; without duplicates.

        Args:
            sets: names that mean members (members,) bool beside the words of the language.

        Raises:
            ModelError: no such form, name or member.
        """
        wanted = text.strip()
        if not wanted or len(wanted) > MAX_CHARACTERS:
            problem = "nothing" if not wanted else f"{len(wanted)} characters"
            raise ModelError(
                "choice of members", problem, EXAMPLES, f"Write one of them in at most {MAX_CHARACTERS} characters."
            )
        if MEMBERS.fullmatch(wanted):
            return self._numbered(wanted)
        words = ranking(wanted)
        if words:
            return self._ranked(wanted, words, sets)
        if wanted == "kept":
            return np.array(self.kept, np.int64)
        if (
            wanted not in KEYWORDS
            and wanted not in sets
            and len(wanted.split()) == 1
            and not any(sign in wanted for sign in "<>=!()")
        ):
            forms = [*KEYWORDS, *sets, "worst:5", "best:5", "largest:5", "smallest:5"]
            hint = nearest(wanted[:80], forms) or "A query compares, as in `gap < 1e-9`."
            raise ModelError("choice of members", short(wanted), EXAMPLES, hint)
        mask = self._query(wanted, sets).evaluate()
        return np.flatnonzero(np.broadcast_to(mask, (self.members,)))

    def _query(self, text: str, sets: Mapping[str, np.ndarray]) -> Query:
        words = {name: functools.partial(np.asarray, mask) for name, mask in sets.items()}
        words |= {word: functools.partial(self.word, word) for word in KEYWORDS}
        return Query(text, self.columns, self.units, words, self.sense)

    def column(self, name: str, where: str) -> np.ndarray:
        """(members,) of a quantity as the user names it."""
        return self.columns[resolved(name, self.columns, where)]

    def word(self, word: str) -> np.ndarray:
        """(members,) bool, the members that one of `KEYWORDS` means."""
        if word == "failed":
            return self.columns["status"] > 0
        mask = np.full(self.members, word == "all")
        mask[self.kept] = True
        return mask

    def _numbered(self, text: str) -> np.ndarray:
        numbers: dict[int, None] = {}  # an ordered set
        for item in text.split(","):
            numbers.update(dict.fromkeys(self._item(item.strip(), text)))
        return np.fromiter(numbers, np.int64, len(numbers))

    def _item(self, item: str, text: str) -> Iterable[int]:
        """The members of a number or a range."""
        if re.fullmatch("[0-9]{1,15}", item):
            return (self.member(int(item)),)
        match = RANGE.fullmatch(item)
        if match is None:
            raise ModelError(f"choice of members {short(text)}", short(item), EXAMPLES, "Separate numbers by commas.")
        first, last, step = (int(number) if number else None for number in match.groups())
        chosen = range(first or 0, self.members if last is None else last, 1 if step is None else max(step, 1))
        if step == 0 or not chosen:
            todo = "A range ends before its last number, which is the larger one."
            raise ModelError("choice of members", short(item), "a range with members in it", todo)
        self.member(chosen[-1])
        return chosen

    def member(self, number: int) -> int:
        """The number, refused where there is no such member."""
        if not 0 <= number < self.members:
            raise ModelError("member", str(number), f"0 to {self.members - 1}", "Members are numbered from 0.")
        return int(number)

    def assumed(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> str:
        """What a choice assumes of what is good, a sentence; "" where it assumes nothing."""
        words = ranking(text.strip())
        if words is not None:
            known = resolved(words.column or RANKED_BY, self.columns, "choice of members")
            return assumed(words.end, known, self.sense(known))
        unjudged = self._query(text, sets).unjudged() if f"{FRONT}(" in text.replace(" ", "") else []
        return assumed("best", " and ".join(unjudged), "") if unjudged else ""

    def sense(self, known: str) -> str:
        """Which values of a column are good, "small" or "large"; "" where the study says nothing of it."""
        return sense_of(known, self.senses.get(known, ""))

    def _ranked(self, text: str, words: Ranking, sets: Mapping[str, np.ndarray]) -> np.ndarray:
        """Of the certificate, failed members are the worst, then those with NaN; of what was measured or varied, and of
        the largest and smallest, those without a number come last, the best and the worst alike. Ties by number."""
        where = f"choice of members {short(text)}"
        if words.count == 0:
            raise ModelError(where, "0", "a number from 1", "Say how many.")
        if words.among and ranking(words.among):
            raise ModelError(where, "a ranking of a ranking", "one ranking", "Rank the members of a query or a range.")
        known = resolved(words.column or RANKED_BY, self.columns, where)
        ids = np.sort(self.choose(words.among, sets)) if words.among else np.arange(self.members)
        values = self.columns[known][ids].astype(float)
        key = values if rising(words.end, self.sense(known)) else -values
        worst, failed = words.end == "worst", self.columns["status"][ids] > 0
        key = np.where(np.isnan(values), -np.inf if worst else np.inf, key)
        front = failed if worst else ~failed
        if known not in CERTIFICATE or words.end not in JUDGED:
            front = ~failed & ~np.isnan(values)
        count = words.count or 1
        foremost = _least(key, np.flatnonzero(front), count)
        return ids[np.concatenate([foremost, _least(key, np.flatnonzero(~front), count - len(foremost))])]


def _least(key: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """(<= count,) positions with the smallest keys, ascending; ties by position.

    Only what is not above the last one is sorted: 1e6 keys take 40 ms instead of 200.
    """
    if 0 < count < len(among):
        among = among[key[among] <= np.partition(key[among], count - 1)[count - 1]]
    return among[np.argsort(key[among], kind="stable")][:count]
