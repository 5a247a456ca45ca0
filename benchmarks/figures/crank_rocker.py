"""Pictures of the page on the design of a crank-rocker, drawn of the numbers that its blocks give."""

from __future__ import annotations

import os
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from figures.style import BLUE, DARK, FOLDER, GREEN, GREY, ORANGE, RED, WIDE, bar, figure, ground, sketch, write

PAGE = FOLDER.parent / "linkage_design.md"


@cache
def numbers() -> dict[str, Any]:
    """What the page's blocks of Python have named, run in an empty folder."""
    names: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for code in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S):
                exec(compile(code, PAGE.name, "exec"), names)
        finally:
            os.chdir(before)
    return names


def _corners(path: Any, crank: float, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the coupler at pose k, the crank at an angle."""
    tip = 0.2 * np.array([np.cos(crank), np.sin(crank)])
    angle = path.channels["pivot.q"][k]
    return tip, np.array([0.6, 0.0]) + 0.9 * np.array([np.cos(angle), np.sin(angle)])


def crank_rocker_sketch() -> None:
    page = numbers()
    tip, end = _corners(page["path"], np.pi / 3, 60)
    pen = page["pen"][60, :2]
    drawn, axes = sketch((5.4, 4.2))
    axes.plot([0, 0.6], [0, 0], color=GREY, lw=1, ls="--")
    axes.fill(*np.array([tip, end, pen]).T, color=ORANGE, alpha=0.15)
    bar(axes, (0, 0), tip, BLUE)
    bar(axes, tip, end, ORANGE)
    bar(axes, (0.6, 0), end, GREEN)
    ground(axes, (0, 0), 0.03)
    ground(axes, (0.6, 0), 0.03)
    axes.plot(*pen, "o", color=DARK, ms=5)
    for (x, y), text, colour in (
        ((-0.17, 0.08), "crank 0.2", BLUE), ((0.16, 0.28), "coupler 0.7", ORANGE), ((0.49, 0.45), "rocker 0.9", GREEN),
        ((0.22, -0.07), "frame 0.6", DARK), ((pen[0] - 0.06, pen[1] + 0.03), "pen", DARK),
    ):  # fmt: skip
        axes.text(x, y, text, color=colour)
    write(drawn, "crank_rocker_sketch.svg")


def crank_rocker_curve() -> None:
    page = numbers()
    drawn, axes = sketch((5.4, 4.2))
    for curve, colour, text in ((page["pen"], BLUE, "as sketched"), (page["other"], ORANGE, "the other assembly")):
        axes.plot(curve[:, 0], curve[:, 1], color=colour, label=text)
        axes.plot(curve[::30, 0], curve[::30, 1], "o", color=colour, ms=3)
    axes.plot([0, 0.6], [0, 0], color=GREY, lw=1, ls="--")
    ground(axes, (0, 0), 0.03)
    ground(axes, (0.6, 0), 0.03)
    axes.legend(loc="upper right", fontsize=9)
    write(drawn, "crank_rocker_curve.svg")


def crank_rocker_angles() -> None:
    page = numbers()
    crank = np.degrees(page["turn"])
    drawn, (left, right) = figure(WIDE, 2)
    left.plot(crank, np.degrees(page["path"].channels["pivot.q"]))
    left.set(xlabel="crank [deg]", ylabel="rocker [deg]")
    right.plot(crank, page["angle"], color=GREEN)
    right.axhline(40.0, color=RED, lw=0.8, ls="--", label="wanted at least")
    right.set(xlabel="crank [deg]", ylabel="transmission angle [deg]", ylim=(0, 92))
    for axes in (left, right):
        axes.set_xticks(range(0, 361, 90))
        for k, place in enumerate((page["outer"], page["inner"])):
            axes.axvline(place, color=GREY, lw=0.8, label="dead points" if k == 0 else None)
    left.legend(fontsize=9)
    right.legend(fontsize=9)
    write(drawn, "crank_rocker_angles.svg")


def crank_rocker_designs() -> None:
    page = numbers()
    designs, best = page["designs"], page["best"]
    drawn, axes = figure((5.6, 3.6))
    axes.scatter(*designs[::40, 3:].T, s=2, color=GREY, linewidth=0)
    axes.scatter(*page["right"][:, 3:].T, s=2, color=BLUE, linewidth=0, label="swing of 40 degrees")
    axes.plot(38.942, 25.209, "s", color=ORANGE, label="the sketch")
    axes.plot(*best[3:], "o", color=RED, label="the best one")
    axes.set(xlabel="swing [deg]", ylabel="worst transmission angle [deg]")
    axes.legend(fontsize=9, markerscale=1.0)
    write(drawn, "crank_rocker_designs.png")


PICTURES = (crank_rocker_sketch, crank_rocker_curve, crank_rocker_angles, crank_rocker_designs)
