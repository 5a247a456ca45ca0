"""Sweeps over many alike cases: a few of them in every run of the tests, all of them where they are asked for.

`benchmarks/study_complete.py` runs all: the few kept here would find the same mistakes, for a part of the time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")
VARIABLE = "SHIFTJAX_COMPLETE_SWEEPS"
COMPLETE = bool(os.environ.get(VARIABLE))
# A study that is too slow for every run, of which a page or another test has a smaller one.
complete_only = pytest.mark.skipif(not COMPLETE, reason="a study: python benchmarks/study_complete.py")


def without(cases: Iterable[T], large: Collection[T]) -> list[T]:
    """The cases but for those, which must be among them."""
    every = list(cases)
    assert set(large) <= set(every), "a case that is left out is no case"
    return [case for case in every if COMPLETE or case not in large]


def part(every: int, few: int) -> int:
    """How many of as many cases."""
    return every if COMPLETE else few
