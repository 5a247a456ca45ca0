"""Curves of equilibria, drawn with matplotlib (of the extra `plot`), which is imported on use."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need_matplotlib, shown

PANEL = (5.6, 3.8)  # inches
MARKS = {"limit": "o", "branch": "s", "multiple": "D"}


def plot(path: Any, coordinate: str = "") -> Any:
    """The load factor over a coordinate or a channel, as of `LoadPath.plot`."""
    need_matplotlib("plot")
    drawn = {name: x for name, x in (path.q | path.channels).items() if x.ndim == 2}
    full = path.result.model.resolve(coordinate) if coordinate and coordinate not in drawn else coordinate
    full = full or next(iter(drawn))
    if full not in drawn:
        todo = nearest(coordinate, drawn) or "Choose one of them."
        raise ModelError("plot", shown(coordinate), ", ".join(drawn), todo)
    from matplotlib import colormaps, pyplot

    figure, panel = pyplot.subplots(figsize=PANEL, layout="constrained")
    most = max(int(path.member.max(initial=0)), 1)
    for k, member in enumerate(path.member):
        colour = colormaps["viridis"](0.8 * member / most)
        for stable, style in ((True, "-"), (False, "--")):
            here = (path.stability[k] == "stable") == stable
            beside = here | np.roll(here, 1) if stable else here  # the piece between two poses is of the first one
            beside[0] = here[0]
            panel.plot(np.where(beside, drawn[full][k], np.nan), path.factor[k], style, color=colour, linewidth=1.3)
    for pose in path.critical:
        if full in pose.q:
            panel.plot(pose.q[full], pose.factor, MARKS[pose.kind], color="firebrick", markersize=5)
    for one in path.events:
        if full in one.q:
            panel.plot(one.q[full], one.factor, "x", color="black", markersize=5)
    panel.set(xlabel=f"{full} [{path.units[full]}]", ylabel="load factor")
    return figure
