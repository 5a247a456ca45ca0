"""The numbers of all members of a stored study as a page holds them: columns, statuses, reasons of failures."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.errors import need_count
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.viewer.export.pack import Pack
from shiftjax.viewer.export.quantised import Quantised, quantised
from shiftjax.viewer.scene.ramp import RAMP
from shiftjax.viewer.study.drawable_members import never_started
from shiftjax.viewer.study.study import ViewedStudy

ROWS = 50_000  # members of a page, if it is not told otherwise
COLUMNS = 60
REASONS = 400_000  # characters of all reasons, of those that differ in numbers alone the numbers
FORMS = 65_000  # of reasons, since they are told by 16 bits
BLANK, NUMBER = "\0", re.compile(r"(\d[\d.]*(?:e[+-]?\d+)?)")
SEED = 0  # of the sample, so that the same study gives the same page
Item = dict[str, Any]


@record
class NumberColumn:
    """A number of every member that is in a page.

    Attributes:
        role: "design", "metric" or "certificate".
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


def numbers_of(study: ViewedStudy, rows: int = ROWS, drawn: Sequence[int] = ()) -> StudyNumbers | None:
    """The numbers of a study; None where it has one member, or none is wanted.

    Args:
        rows: the most members; of more a random sample is taken. 0 for none.
        drawn: members whose motion is in the page, which are in the sample.

    Raises:
        ModelError: a number of rows below 0.
    """
    need_count("rows", rows, 0)
    if rows == 0 or study.members < 2:
        return None
    members, remarks = _sampled(study.members, rows, drawn)
    every = np.asarray(study.status)
    outcomes, counts = np.unique(every, return_counts=True)
    status = every[members]
    names = [*study.design, *study.metrics]
    columns = tuple(_column(study, name, members) for name in names[:COLUMNS])
    if len(names) > COLUMNS:
        remarks.append(f"the table has {COLUMNS} of {len(names)} columns")
    reasons, left_out = _reasons(study, members, status)
    if left_out:
        remarks.append(f"{left_out} members have the cause of their status in place of their own reason")
    return StudyNumbers(
        name=Path(study.where).name,
        total=study.members,
        counts={Outcome(int(k)): int(count) for k, count in zip(outcomes, counts, strict=True)},
        members=members,
        status=status,
        columns=columns,
        reasons=reasons,
        unstarted=never_started(members, every, study.metrics),
        remarks=tuple(remarks),
    )


def _sampled(total: int, rows: int, drawn: Sequence[int]) -> tuple[np.ndarray, list[str]]:
    """(n,) members that are in the page, rising, and how they were chosen."""
    if total <= rows:
        return np.arange(total), []
    sample = np.random.default_rng(SEED).choice(total, rows, replace=False, shuffle=False)
    members = np.union1d(sample, np.asarray(drawn, np.int64))
    also = len(members) - rows
    how = f"{rows} of {total} members are in the table and the plots, drawn at random"
    return members, [f"{how}, and {also} more whose motion is shown" if also else how]


def _column(study: ViewedStudy, name: str, members: np.ndarray) -> NumberColumn:
    values = study.design[name] if name in study.design else study.metrics[name]
    role = "design" if name in study.design else "certificate" if name in CERTIFICATE else "metric"
    unit = study.unit(name)
    return NumberColumn(name, "" if unit == "1" else unit, role, quantised(np.asarray(values)[members]))


def _reasons(study: ViewedStudy, members: np.ndarray, status: np.ndarray) -> tuple[tuple[str, ...], int]:
    """(n,) reasons, those of failed members before warnings as far as there is room, and how many were left out."""
    reasons = np.full(len(members), "", object)
    order = np.concatenate([np.flatnonzero(status > 0), np.flatnonzero(status < 0)])
    forms, room, left_out = set[str](), REASONS, 0
    for row, text in zip(order.tolist(), study.messages(members[order]), strict=True):
        form, numbers = _form(text)
        size = len(numbers) + (0 if form in forms else len(form))
        if size > room or len(forms) == FORMS:
            left_out += bool(text)
            continue
        room -= size
        forms.add(form)
        reasons[row] = text
    return tuple(reasons), left_out


def _form(text: str) -> tuple[str, str]:
    """A text with blanks for its numbers, and these: thousands of members fail alike, each with its own numbers."""
    pieces = NUMBER.split(text)
    return BLANK.join(pieces[::2]), BLANK.join(pieces[1::2])


def packed(numbers: StudyNumbers, pack: Pack) -> Item:
    """The numbers as the page reads them; arrays are in the pack, given by offset and length in bytes."""
    reasons = [_form(text) for text in numbers.reasons]
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
