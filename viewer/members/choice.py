"""The language in which members of a study are chosen: numbers, ranges, words, rankings and queries. NumPy only.

    17   3,7,9   10:20   ::10           members by number; a range ends before its last number
    all   kept   failed                 words
    worst:5   best:5   worst:5:gap      a ranking by what is good, as the study says it of a metric (small where it
                                        says nothing, with a note), of `energy_error` where no name is given; of figures
                                        of the certificate failed members are the worst, of others they come last
    largest:5:swing   smallest:5:swing  a ranking by the numbers themselves, those that failed last
    worst:5 of kept                     the same among the members that another choice means
    energy_error < 1e-9 and (four_bar:coupler.mass >= 1 or status == stuck)
                                        a query over all quantities; `not`, chains such as 0.9 < x < 1.1, and the
                                        words above

Names are paths of the study; leading assemblies may be left out where the rest is unique, and names with spaces or
operators are written in backticks. No part of the text is evaluated as Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

import numpy as np

from shiftjax.ensembles.study.rankings import JUDGED, Ranking, assumed, ranking, rising
from shiftjax.errors import ModelError, nearest
from shiftjax.measures.aims import sense_of
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.mechanism.paths import listed, shortened
from shiftjax.outcome import Outcome
from shiftjax.record import record

EXAMPLES = "17 | 3,7,9 | 10:20 | all | kept | failed | worst:5 | best:5:NAME of kept | largest:5:NAME | a query"
EXAMPLES += ' such as "gap < 1e-9"'
RANKED_BY = "energy_error"
MAX_CHARACTERS = 100_000  # characters of a choice
MAX_DEPTH = 50  # of nested brackets
MEMBERS = re.compile(r"[0-9:,\s]+")
RANGE = re.compile(r"([0-9]{0,15}):([0-9]{0,15})(?::([0-9]{0,15}))?")
TOKEN = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[\s<>=!()]|$))"
    r"|(?P<sign><=|>=|==|!=|[<>()])"
    r"|(?P<name>(?:`[^`]*`|[^\s`<>=!()])+)"
)
COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
OPERATORS = ("and", "or", "not")
KEYWORDS = ("all", "kept", "failed")


@record
class Choices:
    """The members and quantities of a study."""

    members: int
    kept: np.ndarray  # (K,) members with trajectories
    columns: Mapping[str, np.ndarray]  # name -> (members,); holds "status"
    # name -> which values are good, "small" or "large", where the study says so
    senses: Mapping[str, str] = field(default_factory=dict)

    def choose(self, text: str) -> np.ndarray:
        """(k,) member numbers: in the order given or ranked, otherwise ascending; without duplicates.

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
            return self._ranked(wanted, words)
        if wanted == "kept":
            return np.array(self.kept, np.int64)
        if wanted not in KEYWORDS and len(wanted.split()) == 1 and not any(sign in wanted for sign in "<>=!()"):
            hint = (
                nearest(wanted[:80], [*KEYWORDS, "worst:5", "best:5", "largest:5", "smallest:5"])
                or "A query compares, as in `gap < 1e-9`."
            )
            raise ModelError("choice of members", _short(wanted), EXAMPLES, hint)
        return np.flatnonzero(_Query(wanted, self).evaluate())

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
            raise ModelError(f"choice of members {_short(text)}", _short(item), EXAMPLES, "Separate numbers by commas.")
        first, last, step = (int(number) if number else None for number in match.groups())
        chosen = range(first or 0, self.members if last is None else last, 1 if step is None else max(step, 1))
        if step == 0 or not chosen:
            todo = "A range ends before its last number, which is the larger one."
            raise ModelError("choice of members", _short(item), "a range with members in it", todo)
        self.member(chosen[-1])
        return chosen

    def member(self, number: int) -> int:
        """The number, refused where there is no such member."""
        if not 0 <= number < self.members:
            raise ModelError("member", str(number), f"0 to {self.members - 1}", "Members are numbered from 0.")
        return int(number)

    def assumed(self, text: str) -> str:
        """What a choice assumes of what is good, a sentence; "" where it assumes nothing."""
        words = ranking(text.strip())
        if words is None:
            return ""
        known = resolved(words.column or RANKED_BY, self.columns, "choice of members")
        return assumed(words.end, known, self._sense(known))

    def _sense(self, known: str) -> str:
        return sense_of(known, self.senses.get(known, ""))

    def _ranked(self, text: str, words: Ranking) -> np.ndarray:
        """Of the certificate, failed members are the worst, then those with NaN; of what was measured or varied, and of
        the largest and smallest, those without a number come last, the best and the worst alike. Ties by number."""
        where = f"choice of members {_short(text)}"
        if words.count == 0:
            raise ModelError(where, "0", "a number from 1", "Say how many.")
        if words.among and ranking(words.among):
            raise ModelError(where, "a ranking of a ranking", "one ranking", "Rank the members of a query or a range.")
        known = resolved(words.column or RANKED_BY, self.columns, where)
        ids = np.sort(self.choose(words.among)) if words.among else np.arange(self.members)
        values = self.columns[known][ids].astype(float)
        key = values if rising(words.end, self._sense(known)) else -values
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


def resolved(name: str, known: Iterable[str], where: str) -> str:
    """The known name that a user means: exact, then without backticks, then with leading assemblies left out.

    Raises:
        ModelError: none or several; the nearest is suggested.
    """
    names = list(known)
    if name in names:
        return name
    bare = name.replace("`", "")
    fits = [n for n in names if n.replace("`", "") == bare]
    fits = fits or [n for n in names if shortened(n.replace("`", ""), bare, 1)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise ModelError(where, f"{_short(name)}, which could be several", listed(fits), "Write more of the path.")
    raise ModelError(where, _short(name), listed(names, 12) or "nothing, there is none", _likely(bare[:80], names))


def _likely(name: str, names: list[str]) -> str:
    return nearest(name, names) or "Choose one of them." if names else "Record it when running."


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


class _Query:
    """One query, parsed by recursive descent and evaluated at once.

    disjunction := conjunction ("or" conjunction)*;   conjunction := primary ("and" primary)*
    primary := keyword | "not" primary | "(" disjunction ")" | operand (comparison operand)+
    """

    def __init__(self, text: str, choices: Choices) -> None:
        self.text, self.choices = text, choices
        self.tokens = list(self._tokens())
        self.at = self.depth = 0

    def _tokens(self) -> Iterable[tuple[str, str]]:
        """Kind and text of every token."""
        at = 0
        while at < len(self.text):
            match = TOKEN.match(self.text, at)
            if match is not None:
                kind, word = str(match.lastgroup), match[0]
                yield ("link" if kind == "name" and word in OPERATORS else kind), word
                at = match.end()
            elif self.text[at].isspace():
                at += 1
            else:
                raise self.error(self.text[at], "names, numbers and < <= > >= == != ( ) and or not")

    def error(self, word: str, allowed: str) -> ModelError:
        todo = "Equal is ==." if word == "=" else "Write names with spaces or operators in backticks."
        return ModelError(f"choice of members {_short(self.text)}", _short(word) if word else "its end", allowed, todo)

    def evaluate(self) -> np.ndarray:
        """(members,) bool"""
        with np.errstate(invalid="ignore"):
            mask = self._disjunction()
        if self.word:
            raise self.error(self.word, "`and`, `or` or the end")
        return np.broadcast_to(mask, (self.choices.members,))

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def word(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _disjunction(self) -> np.ndarray:
        mask = self._conjunction()
        while self.word == "or":
            self.at += 1
            mask = mask | self._conjunction()
        return mask

    def _conjunction(self) -> np.ndarray:
        mask = self._primary()
        while self.word == "and":
            self.at += 1
            mask = mask & self._primary()
        return mask

    def _primary(self) -> np.ndarray:
        opening = self.word
        if opening in KEYWORDS:
            self.at += 1
            return self.choices.word(opening)
        if opening not in ("not", "("):
            return self._comparison()
        self.at, self.depth = self.at + 1, self.depth + 1
        if self.depth > MAX_DEPTH:
            raise self.error(opening, f"at most {MAX_DEPTH} nested brackets and nots")
        if opening == "not":
            mask = ~self._primary()
        else:
            mask = self._disjunction()
            if self.word != ")":
                raise self.error(self.word, "a closing bracket")
            self.at += 1
        self.depth -= 1
        return mask

    def _comparison(self) -> np.ndarray:
        left, mask = self._operand(), None
        while self.word in COMPARISONS:
            compare = COMPARISONS[self.word]
            self.at += 1
            right = self._operand()
            link = compare(left, right)
            mask = link if mask is None else mask & link
            left = right
        if mask is None:
            raise self.error(self.word, "a comparison: < <= > >= == !=")
        return mask

    def _operand(self) -> np.ndarray:
        """A quantity (members,) or a number ()."""
        kind, word = self.kind, self.word
        if kind not in ("number", "name"):
            raise self.error(word, "a name or a number")
        self.at += 1
        if kind == "number":
            return np.array(float(word))
        if word not in self.choices.columns and word in Outcome.__members__:
            return np.array(int(Outcome[word]))
        return self.choices.column(word, f"choice of members {_short(self.text)}")
