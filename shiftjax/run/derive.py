"""Numbers that follow from others, as `derive={"rod.mass": "7.8 * {rod:tip.T[0]}"}`. Host code, no jax.

An expression is one of `expressions.grammar` over number paths in braces, in SI where no unit is written. A derived
number may follow from other derived ones; circles are refused. What follows from no varied number is the same for all
members. Expressions of the model's file are among them, where numbers that they ask for vary or are derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, need_number, shown
from shiftjax.expressions.dialects import NUMBERS
from shiftjax.expressions.evaluation import evaluate_number
from shiftjax.expressions.expression import Expression
from shiftjax.expressions.grammar import parse
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.parameters import AGREES, ROUNDS, determined, followers, rule_of

Function = Callable[[Mapping[str, Any]], Any]  # of the numbers by path
Formula = str | Function  # as the user states it
Rule = Expression | Function  # the same, read


class Numbers(Mapping[str, Any]):
    """The numbers of all members by path: () where all members have the same, else (B,); derived ones on demand."""

    def __init__(self, model: Model, known: Mapping[str, Any], rules: Mapping[str, Rule], members: int) -> None:
        self._model, self._members = model, members
        self._known = dict(known)  # full path -> values
        self._rules = dict(rules)  # full path -> what is not evaluated yet
        self._asked: list[str] = []  # derived numbers that wait for others

    def __getitem__(self, path: str) -> Any:
        full = full_path(self._model, path, self._known)
        if full in self._asked:
            circle = " <- ".join([*self._asked[self._asked.index(full) :], full])
            raise ModelError(f"derive {full}", f"a circle: {circle}", "numbers that follow from others", "Break it.")
        if full in self._rules:
            self._asked.append(full)
            self._known[full] = self._evaluated(full, self._rules[full])
            del self._rules[full]
            self._asked.pop()
        return self._known[full]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _evaluated(self, full: str, rule: Rule) -> Any:
        where = f"derive {full}"
        with np.errstate(all="ignore"):  # what is not finite is an outcome of its member
            value = self._value(rule, where)
        try:
            values = self._array(value)
        except (TypeError, ValueError):
            raise ModelError(where, shown(value), "numbers", "Return a number or one a member.") from None
        if values.shape not in ((), (self._members,)):
            allowed = f"one number, or one a member, shape ({self._members},)"
            raise ModelError(where, f"shape {values.shape}", allowed, "Correct the function.")
        return values

    def _value(self, rule: Rule, where: str) -> Any:
        return evaluate_number(rule, self, where) if isinstance(rule, Expression) else rule(self)

    def _array(self, value: Any) -> Any:
        return np.asarray(value, float)


def with_derived(
    model: Model,
    vary: Mapping[str, Any] | None,
    assign: Mapping[str, float | str] | None,
    derive: Mapping[str, Formula] | None,
) -> tuple[dict[str, Any] | None, dict[str, float | str]]:
    """`vary` and `assign` of a run with the derived numbers among them.

    Raises:
        ModelError: no number of that path, one that is varied or assigned, too, an expression with something else in
            it, a circle.
    """
    assigned = dict(assign or {})
    if not derive and not (model.expressions and vary):
        return (None if vary is None else dict(vary)), assigned
    base = model.replace(assigned) if assigned else model
    numbers = base.numbers()
    columns = {full_path(model, path, numbers): _column(path, values) for path, values in (vary or {}).items()}
    sizes = {len(values) for values in columns.values()}
    if len(sizes) > 1:
        raise ModelError("vary", f"lengths {sorted(sizes)}", "one length for all", "Give every path as many values.")
    columns, restated = _free_of(model, columns)
    rules = rules_of(model, columns, assigned, derive or {})
    known = {**{path: np.float64(value) for path, value in numbers.items()}, **columns}
    values = Numbers(model, known, rules, sizes.pop() if sizes else 1)
    derived = {path: values[path] for path in rules}
    _refuse_other_values(model, restated, {**known, **derived})
    same = {path: float(value) for path, value in derived.items() if value.ndim == 0 and path not in model.expressions}
    derived = {path: value for path, value in derived.items() if path not in restated}
    return (None if vary is None else {**vary, **{p: v for p, v in derived.items() if v.ndim}}), {**assigned, **same}


def rules_of(
    model: Model, varied: Iterable[str], assigned: Iterable[str], derive: Mapping[str, Formula]
) -> dict[str, Rule]:
    """Full path -> what the number follows from, texts read.

    Args:
        varied: full paths of the varied numbers. assigned: paths of those that are set for all members.

    Raises:
        ModelError: no such number, one that is varied or set, too, something that is no expression or function.
    """
    numbers, varied = model.numbers(), tuple(varied)
    taken = {**dict.fromkeys(varied, "vary"), **dict.fromkeys((full_path(model, p, numbers) for p in assigned), "set")}
    rules: dict[str, Rule] = {}
    for path, formula in derive.items():
        full = full_path(model, path, numbers)
        if full in taken or full in rules:
            fault = f"the same number in {taken.get(full, 'derive')}, too"
            raise ModelError(f"derive {path}", fault, "each number once", "Leave one of them out.")
        if not (isinstance(formula, str) or callable(formula)):
            raise ModelError(f"derive {path}", shown(formula), "a text or a function", "Write '2 * {PATH}'.")
        refuse_determined(model, [full], "derive")
        rules[full] = parse(formula, f"derive {full}", NUMBERS) if isinstance(formula, str) else formula
    moved = [path for path in followers(model.expressions, {*varied, *rules}) if path in numbers]
    return {**rules, **{path: rule_of(model.expressions[path], path) for path in moved}}


def refuse_determined(model: Model, paths: Iterable[str], where: str) -> None:
    """Raises where one of some full paths is of a number that is an expression in the model's file."""
    for path in paths:
        if path in model.expressions:
            raise determined(f"{where} {path}", model.expressions[path])


def _free_of(model: Model, columns: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Varied numbers without and with an expression in the file: those that are given beside what they follow from."""
    restated = {path: column for path, column in columns.items() if path in model.expressions}
    return {path: column for path, column in columns.items() if path not in restated}, restated


def _refuse_other_values(model: Model, restated: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
    """Raises where varied numbers are not what follows from the others, as those of an earlier result are."""
    for path, column in restated.items():
        with np.errstate(all="ignore"):
            same = np.isclose(column, values[path], rtol=AGREES, atol=ROUNDS, equal_nan=True)
        if not same.all():
            raise determined(f"vary {path}", model.expressions[path])


def derived_columns(
    model: Model, vary: Mapping[str, Any], derive: Mapping[str, Formula] | None
) -> dict[str, np.ndarray]:
    """The varied and the derived numbers, one value a member, by their full paths.

    For programs that are compiled before the values are known: what is the same for all members now may follow from
    other values later, so that it is a column, too.

    Args:
        vary: number path -> (B,) values.

    Raises:
        ModelError: as of `with_derived`, and numbers for all that are not finite.
    """
    varied, same = with_derived(model, vary, None, derive)
    for path, value in same.items():
        need_number(path, value, "one finite number")
    columns = {model.resolve(path): np.asarray(values, float) for path, values in (varied or {}).items()}
    members = len(next(iter(columns.values()), (0.0,)))
    return {**columns, **{path: np.full(members, value) for path, value in same.items()}}


def full_path(model: Model, path: str, known: Mapping[str, Any]) -> str:
    """The full path of a number."""
    if path in known:
        return path
    if not isinstance(path, str):
        raise ModelError("path of a number", shown(path), "a text", "`shiftjax info MODEL --paths` lists them.")
    full = model.resolve(path)
    if full not in known:
        model.replace({path: 0.0})  # raises with the nearest known path
    return full


def _column(path: str, values: Any) -> np.ndarray:
    """(B,) values of a varied number."""
    try:
        column = np.asarray(values, float)
    except (TypeError, ValueError):
        raise ModelError(f"vary {path}", shown(values), "numbers, one a member", "Give an array.") from None
    if column.ndim != 1:
        raise ModelError(f"vary {path}", f"shape {column.shape}", "one value a member, shape (B,)", "Flatten it.")
    return column
