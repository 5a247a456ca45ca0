"""Workspaces drawn with matplotlib (of the extra `plot`), which is imported on use."""

from __future__ import annotations

from typing import Any

from shiftjax.errors import need_matplotlib

COLOURS = {"singular": "tab:red", "limit": "tab:blue"}


def draw(reached: Any, axes: Any) -> Any:
    """Draws a `ReachableSpace` into axes of matplotlib, or into new ones, and returns them."""
    need_matplotlib("plot")
    from matplotlib import pyplot

    axes = pyplot.subplots(layout="constrained")[1] if axes is None else axes
    if reached.mask is not None:
        layer = reached.mask if reached.mask.ndim == 2 else reached.mask[:, :, reached.mask.shape[2] // 2]
        axes.pcolormesh(reached.axes[0], reached.axes[1], layer.T, cmap="Greys", vmin=0.0, vmax=4.0, shading="nearest")
    for one in reached.curves:
        style = {"lw": 1.8} if one.boundary else {"lw": 0.8, "ls": "--"}
        axes.plot(*one.points.T, color=COLOURS[one.kind], **style)
    axes.set_xlabel(f"{reached.coordinates[0]} [{reached.units[0]}]")
    axes.set_ylabel(f"{reached.coordinates[1]} [{reached.units[1]}]")
    if reached.units[0] == reached.units[1]:
        axes.set_aspect("equal")
    return axes
