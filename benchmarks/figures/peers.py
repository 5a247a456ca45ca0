"""The tables and the picture of docs/comparison.md, from the newest measurements in benchmarks/results."""

from __future__ import annotations

import numpy as np
from figures.newest import ROOT, filled, markdown, newest
from figures.style import BLUE, GREY, ORANGE, RED, WIDE, figure, write

PAGE = ROOT / "docs" / "comparison.md"
SETTINGS = {
    "mujoco": "MuJoCo, default",
    "solref": "`solref` 0.002",
    "tuned": "MuJoCo, tuned",
    "simulate": "shiftjax",
}
COLOURS = {"mujoco": RED, "solref": ORANGE, "tuned": GREY, "simulate": BLUE}


def gaps_table() -> str:
    """Gap and energy error of every setting, a line a mechanism."""
    file, lines = newest("gaps")
    head = ["mechanism", *SETTINGS.values()]
    rows = [
        [f"`{line['model']}`", *(f"{line[who]['gap']:.1e} m, {line[who]['energy_error']:.0e}" for who in SETTINGS)]
        for line in lines
    ]
    return f"{markdown(head, rows)}\n\nLargest gap of a loop and relative energy error over 4 s, RK4 at 1 ms: `{file}`."


def rates_table() -> str:
    """Rates of the step loop, of whole calls and of both settings of MuJoCo."""
    file, lines = newest("ensemble")
    head = ["mechanism", "stepping", "whole call", "MuJoCo, default", "MuJoCo, tuned", "times"]
    rows = []
    for line in lines:
        rates = [
            f"{line[who]['rate'] / 1e6:.3g} M/s" if who in line else "not measured yet"
            for who in ("stepping", "simulate", "mujoco", "tuned")
        ]
        found_times = [line["stepping"].get(key) for key in ("times_mujoco", "times_tuned")]
        times = ", ".join(f"{one:.0f}" for one in found_times if one is not None)
        rows.append([f"`{line['model']}`", *rates, times])
    members = f"{lines[0]['members']:,}".replace(",", " ")
    setting = f"{members} members, {lines[0]['span_s']:g} s, RK4 at 1 ms, {lines[0]['cpu']}"
    times = "*Stepping* is the loop itself, *whole call* with start and result; *times* is stepping over default, tuned"
    return f"{markdown(head, rows)}\n\n{times}.\n{setting}: `{file}`."


def with_tables(page: str) -> str:
    """The page with its tables made anew between their marks."""
    return filled(page, {"gaps": gaps_table(), "rates": rates_table()})


def peers() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    _, lines = newest("gaps")
    drawn, both = figure(WIDE, 2, sharey=True)
    y = np.arange(len(lines))
    for axes, key, label in zip(both, ("gap", "energy_error"), ("largest loop gap [m]", "energy error"), strict=True):
        for k, (who, name) in enumerate(SETTINGS.items()):
            values = [line[who][key] for line in lines]
            axes.plot(values, y - 0.24 + 0.16 * k, "o", ms=7, color=COLOURS[who], label=name.replace("`", ""))
        axes.set_xscale("log")
        axes.set(xlabel=label, xlim=(1e-17, 1) if key == "gap" else (1e-14, 1))
        axes.grid(axis="x", color=GREY, alpha=0.25)
    both[0].set_yticks(y, [line["model"] for line in lines])
    both[0].invert_yaxis()
    drawn.legend(*both[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=8)
    write(drawn, "peers.svg")


PICTURES = (peers,)
