"""Figures as tables that a person reads: heads and rows of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shiftjax.bench.doctor import CheckUp

Line = Mapping[str, Any]
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def rate(value: float | None) -> str:
    """A number a second, or a factor, with three digits: 22.4 M, 124 k."""
    if value is None:
        return ""
    for factor, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= factor:
            return f"{value / factor:.3g}{letter}"
    return f"{value:.3g}"


def small(value: float | None) -> str:
    """An error with two digits; of none at all, that it is lost in the rounding of what it is a part of."""
    return "" if value is None else f"{value:.1e}" if value else "0"


def rates_table(lines: Iterable[Line]) -> Table:
    """Rates of one model against the number of members."""
    head = ("members", "whole call [steps/s]", "step loop [steps/s]", "a cpu-s", "of limit", "x real time", "gap [m]",
            "energy error", "B a member", "failed")  # fmt: skip
    rows = [
        (
            f"{line['members']:,}".replace(",", " "), rate(line["steps_per_s"]), rate(line["stepping_per_s"]),
            rate(line["stepping_per_cpu_s"]), "not measured" if line["of_limit"] is None else f"{line['of_limit']:.0%}",
            rate(line["real_time"]), small(line["gap"]), small(line["energy_error"]),
            rate(line["measured_bytes_a_member"] or line["estimated_bytes_a_member"]), str(line["failed"]),
        )
        for line in lines
    ]  # fmt: skip
    return head, rows


def card_table(lines: Iterable[Line]) -> Table:
    """The report card."""
    head = ("model", "precision", "step loop [steps/cpu-s]", "gap [m]", "energy error", "gradient error", "failed")
    rows = [
        (line["model"], line["precision"], "", "", "", "", line["refused"])
        if "refused" in line
        else (
            line["model"], line["precision"], rate(line["stepping_per_cpu_s"]), small(line["gap"]),
            small(line["energy_error"]),
            small(line["gradient_error"]) if "gradient_error" in line else line.get("gradient_left_out", ""),
            str(line["failed"]),
        )
        for line in lines
    ]  # fmt: skip
    return head, rows


def rivals_table(lines: Sequence[Line]) -> Table:
    """All codes on one mechanism; what is left out says why.

    We are faster by processor time, but where one of both runs on a GPU by wall time: of our whole calls, and of the
    part of them in which steps are taken.
    """
    head = ("code", "setting", "precision", "members", "steps/s", "steps/cpu-s", "we are faster by", "in steps alone",
            "gap [m]", "energy error", "off by [rad]", "left out")  # fmt: skip
    on_gpu = bool(lines) and lines[0]["setting"] == "gpu"
    rows = [
        (
            f"{line['code']} {line['version']}".strip(), line["setting"], line.get("precision", ""),
            str(line.get("members", "")), rate(line.get("steps_per_s")), rate(line.get("steps_per_cpu_s")),
            rate(line.get("times" if on_gpu or line.get("runs_on", "cpu") != "cpu" else "times_cpu")),
            rate(line.get("times_stepping")), small(line.get("gap")), small(line.get("energy_error")),
            small(line["difference"]) if "difference" in line else "", line.get("skipped", ""),
        )
        for line in lines
    ]  # fmt: skip
    return head, rows


def doctor_table(lines: Iterable[CheckUp]) -> Table:
    """What the doctor says."""
    head = ("for", "what", "", "", "what to do")
    return head, [(line.part, line.what, line.state, line.text, line.todo) for line in lines]
