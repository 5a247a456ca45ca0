"""The figures of the report of an optimisation, each a figure of matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.ensembles.report import style
from shiftjax.ensembles.report.figures import panels, thin

MOST_LINES = 400  # starts that are drawn; the best one always
MOST_CONSTRAINTS = 6
MOST_PARAMETERS = 24
DECADES = 30.0  # largest over smallest value, from which an axis is logarithmic: below there are too few powers of ten
SHADES = (style.ORANGE, style.BLUE, style.TEAL, "#8a5fb5", "#b5892a")  # of the best optima; others are pale


def convergence(curves: dict[str, np.ndarray], best: int) -> Any:
    """Curves (iteration, start) over the iterations, in a panel each; the best start on top.

    Infinite values, where a start has no good design yet, are left out. An axis is logarithmic where all is positive
    and covers a wide range.
    """
    made, every = panels(len(curves), 3, 2.9)
    for panel, (name, values) in zip(every, curves.items(), strict=True):
        values = np.where(np.isfinite(values), values, np.nan)
        at = np.arange(1, len(values) + 1)
        for start in thin(np.arange(values.shape[1]), MOST_LINES):
            panel.plot(at, values[:, start], color=style.BLUE, linewidth=0.7, alpha=0.35)
        panel.plot(at, values[:, best], color=style.ORANGE, linewidth=2.0)
        known = values[np.isfinite(values)]
        if len(known) and known.min() > 0 and known.max() > DECADES * known.min():
            panel.set_yscale("log")
            style.log_ticks(panel.yaxis)
        panel.set(title=name, xlabel="iteration", xlim=(1, max(2, len(values))))
    return made


def places(names: list[str], began: np.ndarray, ended: np.ndarray, groups: list[tuple[int, ...]]) -> Any:
    """Where the starts began and came to, each number between its bounds.

    Args:
        names: of the numbers that have two bounds. began, ended: (N, P) in parts of the way from the smallest to the
            largest value. groups: starts of equal designs, the best first.
    """
    names, count = names[:MOST_PARAMETERS], min(len(names), MOST_PARAMETERS)
    made = style.figure(1.1 + 0.42 * count)
    panel = made.subplots()
    rows = np.arange(count)[::-1]
    for k in range(count):
        panel.scatter(began[:, k], np.full(len(began), rows[k] + 0.2), s=14, facecolors="none", edgecolors=style.MUTED,
                      linewidths=0.8)  # fmt: skip
        for place, group in reversed([*enumerate(groups)]):
            colour = SHADES[place] if place < len(SHADES) else style.PALE
            some = ended[list(group), k]
            panel.scatter(some, np.full(len(some), rows[k] - 0.12), s=60 if place == 0 else 26, color=colour,
                          linewidths=0, alpha=0.85)  # fmt: skip
    for edge in (0.0, 1.0):
        panel.axvline(edge, color=style.INK, linewidth=1.0)
    panel.set(
        xlim=(-0.02, 1.02), ylim=(-0.6, count - 0.4), yticks=rows, xlabel="from the smallest to the largest value"
    )
    panel.set_yticklabels(names)
    panel.grid(axis="y", visible=False)
    panel.tick_params(axis="y", length=0)
    return made


def constraints(texts: list[str], excess: np.ndarray, best: int) -> Any:
    """By how much every constraint is exceeded over the iterations of the best start; below 0 it has room.

    Args:
        excess: (iteration, constraint) of the best start.
    """
    made, every = panels(min(len(texts), MOST_CONSTRAINTS), 3, 2.3)
    at = np.arange(1, len(excess) + 1)
    for panel, text, values in zip(every, texts[:MOST_CONSTRAINTS], excess.T[:MOST_CONSTRAINTS], strict=True):
        panel.fill_between(at, 0.0, np.maximum(values, 0.0), color=style.RED, alpha=0.25, linewidth=0)
        panel.plot(at, values, color=style.ORANGE)
        panel.axhline(0.0, color=style.INK, linewidth=1.0)
        panel.set(title=text, xlabel=f"iteration of start {best}", xlim=(1, max(2, len(excess))))
    return made
