"""A picture of rates against the number of members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shiftjax.bench.rate_lines import by_workload, differences
from shiftjax.ensembles.report.style import DPI, figure, styled

LABEL = ("model", "backend", "precision")
HEIGHT = 4.2  # inches


def draw(lines: Iterable[Mapping[str, Any]], target: Path) -> None:
    """Draws whole calls and the step loop against members, and how near the loop comes to the limit of arithmetic; a
    curve each for lines that differ in the number of members only.

    Args:
        target: its suffix decides the format.
    """
    groups = by_workload(lines)
    with styled():
        drawn = figure(HEIGHT)
        left, right = drawn.subplots(1, 2)
        for points, apart in zip(groups, differences(groups, LABEL), strict=True):
            name = ", ".join([*(points[0][key] for key in LABEL), *filter(None, [apart])])
            points = sorted(points, key=lambda line: line["members"])
            members = [line["members"] for line in points]
            parts = [float("nan") if line["of_limit"] is None else line["of_limit"] for line in points]
            (curve,) = left.plot(members, [line["stepping_per_s"] for line in points], "o-", label=name)
            left.plot(members, [line["steps_per_s"] for line in points], "o--", color=curve.get_color(), alpha=0.6)
            right.plot(members, parts, "o-", color=curve.get_color())
        left.set(xscale="log", yscale="log", xlabel="members", title="steps of members a second (dashed: whole calls)")
        right.set(xscale="log", ylim=(0, 1), xlabel="members", title="step loop, part of the limit of arithmetic")
        left.legend()
        drawn.savefig(target, dpi=DPI)
