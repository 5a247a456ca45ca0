"""A picture of rates against the number of members, from files of lines that `shiftjax bench --output` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shiftjax.ensembles.report.style import DPI, figure, styled
from shiftjax.errors import ModelError

DRAWN = ("model", "backend", "precision", "members", "steps_per_s", "stepping_per_s", "of_limit")
HEIGHT = 4.2  # inches


def lines_of(path: str | Path) -> list[dict[str, Any]]:
    """The lines of rates of a file.

    Raises:
        ModelError: it cannot be read, or has none.
    """
    todo = "Give a file that `shiftjax bench MODEL --output FILE` wrote."
    try:
        lines = [json.loads(text) for text in Path(path).read_text(encoding="utf-8").splitlines() if text.strip()]
        chosen = [line for line in lines if line["benchmark"] == "bench" and all(name in line for name in DRAWN)]
    except OSError as error:
        raise ModelError(str(path), error.strerror or str(error), "a file that can be read", todo) from error
    except (ValueError, TypeError, KeyError) as error:
        raise ModelError(str(path), "lines that are no figures", "one JSON object a line", todo) from error
    if not chosen:
        raise ModelError(str(path), "no rates", "lines of rates", todo)
    return chosen


def draw(lines: Iterable[Mapping[str, Any]], target: Path) -> None:
    """Draws whole calls and the step loop against members, and how near the loop comes to the limit of arithmetic.

    Args:
        target: its suffix decides the format.
    """
    series: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        series.setdefault(f"{line['model']}, {line['backend']}, {line['precision']}", []).append(line)
    with styled():
        drawn = figure(HEIGHT)
        left, right = drawn.subplots(1, 2)
        for name, points in series.items():
            points = sorted(points, key=lambda line: line["members"])
            members = [line["members"] for line in points]
            (curve,) = left.plot(members, [line["stepping_per_s"] for line in points], "o-", label=name)
            left.plot(members, [line["steps_per_s"] for line in points], "o--", color=curve.get_color(), alpha=0.6)
            right.plot(members, [line["of_limit"] for line in points], "o-", color=curve.get_color())
        left.set(xscale="log", yscale="log", xlabel="members", title="steps of members a second (dashed: whole calls)")
        right.set(xscale="log", ylim=(0, 1), xlabel="members", title="step loop, part of the limit of arithmetic")
        left.legend()
        drawn.savefig(target, dpi=DPI)
