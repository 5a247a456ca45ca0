"""What a page tells of all members of a study, and how its numbers are packed into the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.export.quantised import Quantised
from shiftjax.viewer.scene.ramp import RAMP

BLANK, NUMBER = "\0", re.compile(r"(\d[\d.]*(?:e[+-]?\d+)?)")
Item = dict[str, Any]


@record
class NumberColumn:
    """A number of every member that is in a page.

    Attributes:
        role: "design", "metric", "certificate", or "follows" of a design number that others give.
    """

    name: str
    unit: str  # "" where it has none
    role: str
    numbers: Quantised


@record
class StudyNumbers:
    """What a page tells of all members.

    Attributes:
        name: of the store, without its folder.
        total: members of the study.
        counts: outcome -> how many members of the whole study ended so.
        reasons: (n,) what is stored of how a member ended, "" where that is nothing, or too much for a page.
        unstarted: (n,) members that never made a step, which have no motion.
        remarks: what is left out, for the reader.
    """

    name: str
    total: int
    counts: dict[Outcome, int]
    members: np.ndarray  # (n,) numbers, rising
    status: np.ndarray  # (n,) `Outcome`
    columns: tuple[NumberColumn, ...]
    reasons: tuple[str, ...]
    unstarted: np.ndarray  # (n,) bool
    remarks: tuple[str, ...]


def form_of(text: str) -> tuple[str, str]:
    """A text with blanks for its numbers, and these: thousands of members fail alike, each with its own numbers."""
    pieces = NUMBER.split(text)
    return BLANK.join(pieces[::2]), BLANK.join(pieces[1::2])


def packed(numbers: StudyNumbers, pack: Pack) -> Item:
    """The numbers as the page reads them; arrays are in the pack, given by offset and length in bytes."""
    reasons = [form_of(text) for text in numbers.reasons]
    forms = list(dict.fromkeys(["", *(form for form, _ in reasons)]))
    place = {form: k for k, form in enumerate(forms)}
    outcomes = list(numbers.counts)
    status = np.searchsorted([int(outcome) for outcome in outcomes], numbers.status)
    return {
        "store": shlex.quote(numbers.name),  # as commands name it
        "total": numbers.total,
        "members": pack.add(numbers.members.astype("<u4")),
        "outcomes": list(_outcomes(numbers)),
        "status": pack.add(status.astype("u1")),
        "columns": [
            {"name": c.name, "unit": c.unit, "role": c.role, "low": c.numbers.low, "high": c.numbers.high,
             "steps": c.numbers.steps, "logarithmic": c.numbers.logarithmic, "whole": c.numbers.exact,
             "codes": pack.add(c.numbers.codes.astype("<u2"))}
            for c in numbers.columns
        ],
        "forms": forms,
        "reasons": pack.add(np.array([place[form] for form, _ in reasons], "<u2")),
        "blanks": [filled for form, filled in reasons if BLANK in form],  # of those rows that have any
        "unstarted": np.flatnonzero(numbers.unstarted).tolist(),
        "ramp": RAMP.tolist(),
    }  # fmt: skip


def _outcomes(numbers: StudyNumbers) -> Iterator[Item]:
    """The outcomes that occur in the study, rising."""
    for outcome, count in numbers.counts.items():
        yield {"name": outcome.name, "failed": outcome > 0, "warned": outcome < 0 and outcome != Outcome.event,
               "cause": REMEDY[outcome], "count": count}  # fmt: skip
