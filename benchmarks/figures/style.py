"""How the pictures of the documentation look: sizes, colours, arrows, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

Point = Any  # two numbers: a tuple or an array
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
BLUE, ORANGE, GREEN, RED, GREY, DARK = "#1f5fa8", "#d9762b", "#3a8f4d", "#b5302c", "#8a94a3", "#1d2733"
WIDE, FLAT = (7.2, 3.0), (7.2, 2.4)  # inches

matplotlib.use("agg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "shiftjax",  # the same picture is the same file
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "axes.labelcolor": DARK,
        "text.color": DARK,
        "xtick.color": DARK,
        "ytick.color": DARK,
        "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, RED, GREY]),
        "legend.frameon": False,
    }
)


def figure(size: Point, columns: int = 1, **named: Any) -> tuple[Figure, Any]:
    """A figure and its axes, one or a row of them."""
    drawn = Figure(figsize=size, layout="constrained")
    return drawn, drawn.subplots(1, columns, **named)


def sketch(size: Point, columns: int = 1) -> tuple[Figure, Any]:
    """A figure without scales, x to the right and the second coordinate upwards, lengths true."""
    drawn, axes = figure(size, columns)
    for one in np.atleast_1d(axes):
        one.set_axis_off()
        one.set_aspect("equal")
    return drawn, axes


def write(drawn: Figure, name: str) -> Path:
    """Writes the picture; its suffix decides the format."""
    FOLDER.mkdir(exist_ok=True)
    target = FOLDER / name
    if target.suffix == ".svg":
        drawn.savefig(target, metadata={"Date": None})
        return target
    drawn.savefig(target, dpi=100)
    with Image.open(target) as picture:
        small = picture.convert("RGB").quantize(96)
    small.save(target, optimize=True)
    return target


def arrow(axes: Axes, start: Point, end: Point, colour: str, text: str = "", **named: Any) -> None:
    """An arrow, with its name beyond the tip."""
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
    axes.annotate("", end, start, arrowprops={**style, **named})
    if text:
        away = np.subtract(end, start)
        x, y = np.add(end, 0.09 * away / (np.hypot(*away) or 1.0))
        axes.text(x, y, text, color=colour, ha="center", va="center", fontweight="bold")


def turn(axes: Axes, centre: Point, radius: float, begin: float, end: float, colour: str) -> None:
    """An arrow along an arc, angles in degrees counter-clockwise."""
    angles = np.radians(np.linspace(begin, end, 60))
    x, y = centre[0] + radius * np.cos(angles), centre[1] + radius * np.sin(angles)
    axes.plot(x, y, color=colour, lw=1.8)
    arrow(axes, (x[-6], y[-6]), (x[-1], y[-1]), colour)


def out_of_page(axes: Axes, place: Point, colour: str, text: str) -> None:
    """An axis that points at the reader."""
    axes.plot(*place, "o", ms=11, mfc="white", mec=colour, mew=1.8, zorder=5)
    axes.plot(*place, "o", ms=4, color=colour, zorder=6)
    axes.annotate(text, place, (-9, 9), textcoords="offset points", color=colour, fontweight="bold", ha="right")


def bar(axes: Axes, start: Point, end: Point, colour: str, width: float = 9.0) -> None:
    """A link with a pin at each end."""
    axes.plot(*zip(start, end, strict=True), color=colour, lw=width, solid_capstyle="round", alpha=0.55, zorder=2)
    axes.plot(*zip(start, end, strict=True), "o", ms=5, mfc="white", mec=DARK, mew=1.3, ls="", zorder=7)


def ground(axes: Axes, place: Point, size: float) -> None:
    """A pivot on ground."""
    x, y = place
    axes.fill([x, x - size, x + size], [y, y - 1.4 * size, y - 1.4 * size], color=GREY, alpha=0.5, lw=0, zorder=1)
    axes.plot([x - 1.5 * size, x + 1.5 * size], [y - 1.4 * size] * 2, color=GREY, lw=2)
