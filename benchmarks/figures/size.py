"""The table and the picture of what a step costs against size, in docs/benchmarks.md, from the newest measurement."""

from __future__ import annotations

from typing import Any

import numpy as np
from figures.newest import ROOT, filled, markdown, newest
from figures.style import BLUE, DARK, GREY, ORANGE, WIDE, figure, write

PAGE = ROOT / "docs" / "benchmarks.md"
KINDS = {"n_four_bar": ("N four-bars side by side", BLUE), "chain": ("chain of N pins", ORANGE)}
HEAD = ("mechanism", "N", "ns a step", "operations", "instructions", "of them on the stack", "compiling", "a member")


def exponent(cases: list[dict[str, Any]], name: str) -> float:
    """Slope of the least-squares line through the logarithms of a figure and of the sizes."""
    sizes, values = (np.log([case[key] for case in cases]) for key in ("size", name))
    return float(np.polyfit(sizes, values, 1)[0])


def with_size(page: str) -> str:
    """The page with its table made anew between its marks."""
    file, lines = newest("size")
    cases = [line for line in lines if "size" in line]
    rows: list[tuple[str, ...]] = [
        (
            f"`{one['kind']}`", str(one["size"]), f"{one['ns']:.0f}", f"{one['operations']:,}".replace(",", " "),
            f"{one['instructions']:,}".replace(",", " "), f"{one['spills'] / one['instructions']:.0%}",
            f"{one['compile_s']:.2g} s", f"{one['lane_bytes'] / 1e3:.2g} kB",
        )
        for one in cases
    ]  # fmt: skip
    for kind in KINDS:
        chosen = [one for one in cases if one["kind"] == kind]
        row = [f"`{kind}`", "exponent, all (larger half)", *[""] * (len(HEAD) - 2)]
        for name, place in {"ns": 2, "operations": 3, "instructions": 4, "compile_s": 6, "lane_bytes": 7}.items():
            row[place] = f"{exponent(chosen, name):.2f} ({exponent(chosen[len(chosen) // 2 :], name):.2f})"
        rows.append(tuple(row))
    return filled(page, {"size": f"{markdown(HEAD, rows)}\n\n{cases[0]['cpu']}: `{file}`."})


def size() -> None:
    PAGE.write_text(with_size(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    cases = [line for line in newest("size")[1] if "size" in line]
    drawn, (left, right) = figure(WIDE, 2)
    for kind, (label, colour) in KINDS.items():
        chosen = [one for one in cases if one["kind"] == kind]
        sizes = np.array([one["size"] for one in chosen])
        for axes, name in ((left, "ns"), (right, "operations")):
            values = np.array([one[name] for one in chosen])
            axes.loglog(sizes, values, "o-", ms=4, color=colour, label=label)
            axes.loglog(sizes, values[-1] * sizes / sizes[-1], ls="--", lw=0.8, color=GREY)
    for axes, text in ((left, "processor time of a step [ns]"), (right, "operations of a step")):
        axes.set(xlabel="N", ylabel=text)
        axes.grid(color=GREY, alpha=0.25)
        axes.tick_params(colors=DARK)
    left.legend(fontsize=8)
    right.plot([], [], ls="--", lw=0.8, color=GREY, label="linear")
    right.legend(fontsize=8)
    write(drawn, "size.svg")


PICTURES = (size,)
