"""How the figures of a report look: one palette, one font size, SVG for the page and PNG for slides."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INK, MUTED, GRID, PAPER = "#1d2733", "#66727f", "#e4e9ef", "#ffffff"
BLUE, ORANGE, TEAL, RED, PALE = "#1f5fa8", "#d9702b", "#2a9387", "#b8322c", "#c3d3e6"
WIDTH = 10.6  # inches: the width of the page
SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib; the page's own takes its place in the SVG
    "font.size": 9.0,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.limits": (-3, 4),
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "shiftjax",  # the same figure has the same bytes
}
DPI = 150
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_META = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_NAMES = re.compile(r' id="[A-Za-z0-9]+_\d+"')  # of groups, to which nothing refers: several figures share a page


@contextmanager
def styled() -> Iterator[None]:
    """The look of a report, while figures are drawn and saved."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        yield


def figure(height: float, width: float = WIDTH) -> Any:
    """An empty figure of matplotlib; sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def log_ticks(axis: Any) -> None:
    """Powers of ten of a logarithmic axis as plain text: a formula takes a hundred times as long to set."""

    def power(value: float, _: int) -> str:
        return f"10{str(round(math.log10(value))).translate(RAISED)}" if value > 0.0 else ""

    axis.set_major_formatter(power)
    axis.set_minor_formatter("")


def svg(made: Any, description: str) -> str:
    """A figure as an element of HTML."""
    out = io.StringIO()
    made.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = _NAMES.sub("", _META.sub("", text[text.index("<svg") :]))
    label = description.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def png(made: Any, path: Path) -> None:
    """A figure as a picture file, the same bytes for the same figure."""
    made.savefig(path, dpi=DPI, metadata={"Software": None})
