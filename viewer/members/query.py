"""Queries over columns of members: comparisons of numbers, with arithmetic and units, and of statuses. NumPy only.

    disjunction := conjunction ("or" conjunction)*;   conjunction := negation ("and" negation)*
    negation := "not" negation | comparison
    comparison := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)*
    sum := product (("+" | "-") product)*;   product := signed (("*" | "/") signed)*
    signed := ("+" | "-") signed | keyword | number [unit] | name | status | "(" disjunction ")" | front
    front := "pareto" "(" sum ("," sum)* ")" ["of" disjunction]

A status is one of `Outcome`, in quotes or bare where no column has its name. A name may hold operators where a column
has it, or in backticks. A front is made of the members that did not fail and have all its numbers; a column alone,
without a sign, is good as the study says, everything else where it is small. No part of the text is evaluated as
Python.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.outcome import Outcome
from shiftjax.quantities import WORDS, unit_in_si
from shiftjax.record import record
from shiftjax.viewer.members.column_names import meant, resolved, short
from shiftjax.viewer.members.pareto import nondominated

MAX_DEPTH = 50  # of nested brackets
MOST_OPERATORS = 8  # in the name of a column that is followed by another one
STATUS = "status"
OPERATORS = ("and", "or", "not")
FRONT, AMONG = "pareto", "of"
_UNIT = "|".join(sorted((re.escape(word) for word in WORDS if word.isalpha()), key=len, reverse=True))
_NUMBER = re.compile(rf"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[\s<>=!()+*/,-]|$|(?:{_UNIT})(?![\w.:\[]))")
_SIGN = re.compile(r"<=|>=|==|!=|[<>(),]")
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORD = re.compile(r"(?:`[^`]*`|[^\s`<>=!()])+")
_OPERATOR = re.compile(r"[+*/,-]")
_PIECE = re.compile(r"(?:`[^`]*`|\[[0-9,]*\]|[^\s`<>=!()+*/,-])+")  # of a word, up to an operator
COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
ARITHMETIC: dict[str, Callable[..., np.ndarray]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.divide,
}
Powers = Mapping[str, int]  # of m, kg and s


@record
class Value:
    """What a part of a query means for all members.

    Attributes:
        array: (members,) or ().
        kind: "mask", "number", "status" for numbers of how members ended, "outcome" for a named one.
        powers: the unit of a number; None where any fits.
    """

    array: np.ndarray
    kind: str = "number"
    powers: Powers | None = None


class Query:
    """One query, parsed by recursive descent and evaluated at once."""

    def __init__(self, text: str, columns: Mapping[str, np.ndarray], units: Callable[[str], str],
                 words: Mapping[str, Callable[[], np.ndarray]], sense: Callable[[str], str]) -> None:  # fmt: skip
        """Reads the words of a query.

        Args:
            columns: of numbers; units: of each, "" for any; words: that mean members (members,) bool.
            sense: which values of a column are good, "small", "large", or "" where nothing says so.
        """
        self.text, self.columns, self.units, self.words, self.sense = text, columns, units, words, sense
        self._names = list(columns)
        self.tokens = list(self._tokens())
        self.at = self.depth = 0

    def evaluate(self) -> np.ndarray:
        """(members,) bool, or () where all are alike.

        Raises:
            ModelError: no query.
        """
        with np.errstate(all="ignore"):
            mask = self._mask(self._disjunction())
        if self.word:
            raise self._error(self.word, "`and`, `or` or the end")
        return mask

    def unjudged(self) -> list[str]:
        """Columns of fronts whose small values are taken as good, since nothing says which are."""
        depth, names = 0, []  # of brackets within a front
        for (_, before), (kind, word), (_, behind) in zip(self.tokens, self.tokens[1:], self.tokens[2:], strict=False):
            depth += (word == "(" and (depth > 0 or before == FRONT)) - (word == ")" and depth > 0)
            if depth == 1 and kind == "name" and before in ("(", ",") and behind in (",", ")"):
                name = resolved(word, self.columns, self.where)
                names += [] if self.sense(name) else [name]
        return list(dict.fromkeys(names))

    # -- words -------------------------------------------------------------------------------------------------------

    def _tokens(self) -> Iterator[tuple[str, str]]:
        """Kind and text of every token: number, unit, sign, text, link, name."""
        at, last = 0, ""
        while at < len(self.text):
            if self.text[at].isspace():
                at += 1
                continue
            last, word = self._token(at, last)
            at += len(word)
            yield last, word

    def _token(self, at: int, last: str) -> tuple[str, str]:
        """The token at a place, after one of the kind `last`."""
        sign, quoted, word = (rule.match(self.text, at) for rule in (_SIGN, _TEXT, _WORD))
        if sign is not None:
            return "sign", sign[0]
        if quoted is not None:
            return "text", quoted[0]
        if word is None:
            raise self._error(self.text[at], "names, numbers, + - * /, < <= > >= == != ( ) and or not")
        if self._known(word[0]):
            return ("link" if word[0] in OPERATORS else "name"), word[0]
        number, piece = _NUMBER.match(self.text, at), _PIECE.match(self.text, at)
        if number is not None:
            return "number", number[0]
        if last in ("number", "unit"):
            for part in (word[0], piece[0] if piece is not None else ""):
                if part and _unit(part) is not None:
                    return "unit", part
        if piece is None:
            return "sign", self.text[at]
        ends = [match.start() for match in itertools.islice(_OPERATOR.finditer(word[0]), MOST_OPERATORS)]
        longest = (word[0][:end] for end in reversed(ends) if end and self._known(word[0][:end]))
        return "name", next(longest, piece[0])

    def _known(self, word: str) -> bool:
        return (
            word in (*OPERATORS, FRONT, AMONG)
            or word in self.words
            or word in Outcome.__members__
            or bool(meant(word, self._names))
        )

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def word(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    @property
    def where(self) -> str:
        return f"choice of members {short(self.text)}"

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def _error(self, word: str, allowed: str) -> ModelError:
        todo = "Equal is ==." if word == "=" else "Write names with spaces or operators in backticks."
        return ModelError(self.where, short(word) if word else "its end", allowed, todo)

    # -- members -----------------------------------------------------------------------------------------------------

    def _mask(self, value: Value) -> np.ndarray:
        if value.kind != "mask":
            raise self._error(self.word, "a comparison: < <= > >= == !=")
        return value.array

    def _disjunction(self) -> Value:
        value = self._conjunction()
        while self.word == "or":
            left = self._mask(value)
            self.at += 1
            value = Value(left | self._mask(self._conjunction()), "mask")
        return value

    def _conjunction(self) -> Value:
        value = self._negation()
        while self.word == "and":
            left = self._mask(value)
            self.at += 1
            value = Value(left & self._mask(self._negation()), "mask")
        return value

    def _negation(self) -> Value:
        if self.word != "not":
            return self._comparison()
        self._deeper()
        value = Value(~self._mask(self._negation()), "mask")
        self.depth -= 1
        return value

    def _deeper(self) -> None:
        """Takes an opening bracket or a `not`."""
        opening = self._take()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(opening, f"at most {MAX_DEPTH} nested brackets and nots")

    def _comparison(self) -> Value:
        left, mask = self._sum(), None
        while self.word in COMPARISONS:
            sign = self._take()
            right = self._sum()
            self._comparable(left, right, sign)
            link = COMPARISONS[sign](left.array, right.array)
            mask = link if mask is None else mask & link
            left = right
        return left if mask is None else Value(mask, "mask")

    def _comparable(self, left: Value, right: Value, sign: str) -> None:
        """Refuses to compare members with numbers, named statuses with anything else, and different units."""
        kinds = {left.kind, right.kind}
        if "mask" in kinds:
            raise self._error(sign, "numbers at both sides of a comparison")
        if "outcome" in kinds and kinds == {"outcome", "number"} and max(left.array.ndim, right.array.ndim):
            raise ModelError(self.where, "the name of a status beside another number", f"`{STATUS} == NAME`",
                             f"Compare it with {STATUS}.")  # fmt: skip
        self._alike(left, right, sign)

    # -- numbers -----------------------------------------------------------------------------------------------------

    def _alike(self, left: Value, right: Value, sign: str) -> Powers | None:
        """The unit of two numbers that are added or compared."""
        if left.powers is not None and right.powers is not None and left.powers != right.powers:
            raise ModelError(self.where, f"{_said(left.powers)} {sign} {_said(right.powers)}",
                             f"one unit at both sides of {sign}", "Correct the unit, or the name.")  # fmt: skip
        return left.powers if left.powers is not None else right.powers

    def _sum(self) -> Value:
        value = self._product()
        while self.kind == "sign" and self.word in ("+", "-"):
            sign, left = self._take(), self._number(value)
            right = self._number(self._product())
            value = Value(ARITHMETIC[sign](left.array, right.array), powers=self._alike(left, right, sign))
        return value

    def _product(self) -> Value:
        value = self._signed()
        while self.kind == "sign" and self.word in ("*", "/"):
            sign, left = self._take(), self._number(value)
            right = self._number(self._signed())
            powers = _times(left.powers or {}, right.powers or {}, 1 if sign == "*" else -1)
            plain = left.powers is None and right.powers is None
            value = Value(ARITHMETIC[sign](left.array, right.array), powers=None if plain else powers)
        return value

    def _number(self, value: Value) -> Value:
        if value.kind not in ("number", STATUS):
            raise self._error(self.word, "numbers beside + - * /")
        return value

    def _signed(self) -> Value:
        negative = False
        signs = 0
        while self.kind == "sign" and self.word in ("+", "-"):
            negative ^= self._take() == "-"
            signs += 1
        value = self._atom()
        if not signs:
            return value
        value = self._number(value)
        return Value(-value.array if negative else value.array, powers=value.powers)

    def _atom(self) -> Value:
        kind, word = self.kind, self.word
        if word == "(":
            self._deeper()
            value = self._disjunction()
            if self.word != ")":
                raise self._error(self.word, "a closing bracket")
            self.at += 1
            self.depth -= 1
            return value
        if word == FRONT and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][1] == "(":
            return self._front()
        if kind not in ("number", "name", "text"):
            raise self._error(word, "a name or a number")
        self.at += 1
        if kind == "number":
            return self._quantity(float(word))
        if kind == "text":
            return Value(np.array(self._outcome(word[1:-1])), "outcome")
        if word in self.words:
            return Value(self.words[word](), "mask")
        if word not in self.columns and word in Outcome.__members__:
            return Value(np.array(int(Outcome[word])), "outcome")
        name = resolved(word, self.columns, self.where)
        column = np.asarray(self.columns[name])
        if name == STATUS:
            return Value(column, STATUS)
        unit = _unit(self.units(name))
        return Value(column if column.dtype.kind == "f" else column.astype(float), powers=unit[1] if unit else None)

    def _front(self) -> Value:
        """The members that no other one beats."""
        self.at += 1
        columns: list[np.ndarray] = []
        while not columns or self.word == ",":
            self._deeper()
            columns.append(self._objective())
            self.depth -= 1
        if self.word != ")":
            raise self._error(self.word, "a comma, or a closing bracket")
        self.at += 1
        among = self.columns[STATUS] <= 0
        if self.word == AMONG:
            self._deeper()
            among = among & self._mask(self._disjunction())
            self.depth -= 1
        rows = np.flatnonzero(among)
        mask = np.zeros(len(among), bool)
        mask[rows] = nondominated(np.stack([np.broadcast_to(one, among.shape)[rows] for one in columns], axis=1))
        return Value(mask, "mask")

    def _objective(self) -> np.ndarray:
        """An objective of a front, (members,) or () numbers of which small ones are good."""
        start, kind, name = self.at, self.kind, self.word
        value = self._number(self._sum())
        alone = kind == "name" and self.at == start + 1
        large = alone and self.sense(resolved(name, self.columns, self.where)) == "large"
        return -value.array.astype(float) if large else value.array.astype(float)

    def _quantity(self, number: float) -> Value:
        """A number with the units behind it."""
        powers: Powers | None = None
        while self.kind == "unit":
            factor, of_unit = _unit(self._take()) or (1.0, {})
            number *= factor
            powers = _times(powers or {}, of_unit, 1)
        return Value(np.array(number), powers=powers)

    def _outcome(self, name: str) -> int:
        """The number of a named status."""
        if name not in Outcome.__members__:
            allowed = ", ".join(Outcome.__members__)
            todo = nearest(name[:80], list(Outcome.__members__)) or "Statuses are in quotes, names of columns are not."
            raise ModelError(self.where, short(name), allowed, todo)
        return int(Outcome[name])


def is_unit(text: str) -> bool:
    """Whether a word behind a number is a unit."""
    return _unit(text) is not None


def _unit(text: str) -> tuple[float, Powers] | None:
    """Factor to SI and powers of a unit, without angles, which are numbers; None of what is no unit."""
    if not text:
        return None
    try:
        factor, powers = unit_in_si(text, "")
    except (ModelError, ArithmeticError):
        return None
    return factor, {base: power for base, power in powers.items() if base != "rad"}


def _times(left: Powers, right: Powers, sign: int) -> Powers:
    """Of a product, or of a quotient where `sign` is -1."""
    sums = {base: left.get(base, 0) + sign * right.get(base, 0) for base in (*left, *right)}
    return {base: power for base, power in sums.items() if power}


def _said(powers: Powers) -> str:
    """A unit in words."""
    return " ".join(base if power == 1 else f"{base}^{power}" for base, power in sorted(powers.items())) or "1"
