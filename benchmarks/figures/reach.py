"""Pictures of what mechanisms reach: an arm with stops, a five-bar, the plane of a five-bar's inputs."""

from __future__ import annotations

import numpy as np
from figures.style import figure, write

import shiftjax
from tests.support.models.reaching_arms import arm, five_bar


def workspace() -> None:
    linkage = five_bar(1.0, (0.8, 1.1), (0.7, 1.2))
    stopped = arm(1.0, 0.6, {"shoulder": (-1.0, 2.0), "elbow": (-1.5, 2.5)})
    drawn, panels = figure((9.6, 3.3), 3)
    ways = (
        ("an arm of two links with stops", stopped, "fore:tip", {"box": [(-1.1, 1.7), (-1.5, 1.7)], "points": 61}),
        ("a five-bar", linkage, "l2:tip", {"box": [(-1.1, 2.1), (-2.0, 2.0)], "points": 61}),
        ("its inputs", linkage, ("left", "right"), {}),
    )
    for axes, (title, model, asked, grid) in zip(panels, ways, strict=True):
        reached = shiftjax.workspace(model, asked, searched=40, **grid)
        reached.plot(axes)
        size = f", {reached.area:.4g} m²" if np.isfinite(reached.area) else ""
        axes.set_title(title + size, fontsize=9)
    write(drawn, "workspace.png")


PICTURES = (workspace,)
