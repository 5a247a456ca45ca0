"""Combinations of a step as sums of powers of its size: which are stored, and which need no rate of a coordinate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from shiftjax.kernels.step_program import Combine, Method

CHANGED = {
    "drift": ("qdot",),
    "accelerate": ("dx",),
    "project": ("q", "x", "dx"),
}  # regions that phases give other values


class Sum(NamedTuple):
    """target = sum of h**n a region over the terms (n, a, region)."""

    target: str
    terms: tuple[tuple[int, float, str], ...]

    @property
    def read(self) -> set[str]:
        """The regions of the terms."""
        return {name for _, _, name in self.terms}


def sum_of(one: Combine) -> Sum:
    """A combination as a sum."""
    return Sum(one.target, (*((0, a, name) for name, a in one.base), *((1, a, name) for name, a in one.rates)))


def live(parts: Sequence[Sequence[Sum]], always: Collection[str]) -> list[set[str]]:
    """For each part the targets that are stored: some always, the others where a later part reads them."""
    stored: list[set[str]] = []
    later: set[str] = set()
    for sums in reversed(parts):
        stored.append({one.target for one in sums if one.target in always or one.target in later})
        later |= {name for one in sums for name in one.read}
    return stored[::-1]


def needed(given: Sequence[Sum], wanted: Iterable[Sum]) -> list[Sum]:
    """Those of the given sums that the wanted ones among them take something from, in order."""
    ends = set(map(id, wanted))
    sums: list[Sum] = []
    read: set[str] = set()
    for one in reversed(given):
        if id(one) in ends or one.target in read:
            sums.append(one)
            read = read - {one.target} | one.read
    return sums[::-1]


Form = dict[tuple[int, str], float]  # factors of powers of h times registers


def by_speeds(method: Method) -> list[list[Sum]] | None:
    """For each part the sums of coordinates whose rates are speeds, of speeds and their rates alone.

    Every rate is replaced by what the speed was made of (Nystrom's form, Hairer, Norsett, Wanner, Solving Ordinary
    Differential Equations I, II.14): such coordinates need no drift and no registers, a third fewer stores. None for
    methods that write such a register twice, or read the state after a projection in the middle of a step.
    """
    parts = method.parts(controlled=False)
    times = Counter(one.target for part in parts for one in part.combines)
    forms: dict[str, Form] = {name: {(0, f"{name}0"): 1.0} for name in ("q", "x", "dx")}
    sums: list[list[Sum]] = []
    for part in parts:
        sums.append([])
        for one in part.combines:
            target = one.target
            if target == "q0" or (method.kind(target) == "x" and target != "x" and times[target] == 1):
                forms[target] = {(0, target): 1.0}  # a register
            elif all(name in forms for name, _ in (*one.base, *one.rates)):
                forms[target] = _form(one, forms)
            elif target == "q":
                return None
            else:
                forms.pop(target, None)
            if target == "q0":
                sums[-1].append(sum_of(one))
            elif target == "q":
                terms = tuple((n, a, name) for (n, name), a in forms["q"].items() if a != 0.0)
                sums[-1].append(Sum("q", terms))
        for phase in part.phases:
            for name in CHANGED.get(phase, ()):
                forms.pop(name, None)
            if phase == "drift" and "x" in forms:
                forms["qdot"] = forms["x"]
    return sums


def _form(one: Combine, forms: Mapping[str, Form]) -> Form:
    """A combination with its regions replaced."""
    total: Form = {}
    for power, terms in ((0, one.base), (1, one.rates)):
        for name, a in terms:
            for (n, register), factor in forms[name].items():
                place = n + power, register
                total[place] = total.get(place, 0.0) + a * factor
    return total
