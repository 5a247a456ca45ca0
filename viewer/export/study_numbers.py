"""The numbers of all members of a stored study as a page holds them: columns, statuses, reasons of failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shiftjax.errors import need_count
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.outcome import Outcome
from shiftjax.viewer.export.packed_numbers import NumberColumn, StudyNumbers, form_of
from shiftjax.viewer.export.quantised import quantised
from shiftjax.viewer.study.drawable_members import never_started
from shiftjax.viewer.study.study import ViewedStudy

ROWS = 50_000  # members of a page, if it is not told otherwise
COLUMNS = 60
REASONS = 400_000  # characters of all reasons, of those that differ in numbers alone the numbers
FORMS = 65_000  # of reasons, since they are told by 16 bits
SEED = 0  # of the sample, so that the same study gives the same page


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
    varied = study.free_numbers()  # what follows from these stands last, and is on no axis until it is asked for
    names = [*varied, *study.metrics, *(name for name in study.design if name not in varied)]
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
    given = "design" if name in study.free_numbers() else "follows"
    role = given if name in study.design else "certificate" if name in CERTIFICATE else "metric"
    unit = study.unit(name)
    return NumberColumn(name, "" if unit == "1" else unit, role, quantised(np.asarray(values)[members]))


def _reasons(study: ViewedStudy, members: np.ndarray, status: np.ndarray) -> tuple[tuple[str, ...], int]:
    """(n,) reasons, those of failed members before warnings as far as there is room, and how many were left out."""
    reasons = np.full(len(members), "", object)
    order = np.concatenate([np.flatnonzero(status > 0), np.flatnonzero(status < 0)])
    forms, room, left_out = set[str](), REASONS, 0
    for row, text in zip(order.tolist(), study.messages(members[order]), strict=True):
        form, numbers = form_of(text)
        size = len(numbers) + (0 if form in forms else len(form))
        if size > room or len(forms) == FORMS:
            left_out += bool(text)
            continue
        room -= size
        forms.add(form)
        reasons[row] = text
    return tuple(reasons), left_out
