"""Workspaces drawn with matplotlib (of the extra `plot`), which is imported on use."""

from __future__ import annotations

from typing import Any

from shiftjax.errors import need_matplotlib

COLOURS = {"singular": "tab:red", "limit": "tab:blue", "assembly": "tab:purple"}
INSIDE = "tab:green"  # the largest circle and square


def draw(reached: Any, axes: Any) -> Any:
    """Draws a `ReachableSpace` into axes of matplotlib, or into new ones, and returns them; what is inscribed, too."""
    need_matplotlib("plot")
    from matplotlib import pyplot
    from matplotlib.patches import Circle, Rectangle

    axes = pyplot.subplots(layout="constrained")[1] if axes is None else axes
    if reached.mask is not None:
        layer = reached.mask if reached.mask.ndim == 2 else reached.mask[:, :, reached.mask.shape[2] // 2]
        layer = layer * 1.0 if reached.dexterous is None else layer * 1.0 + reached.dexterous  # darker
        axes.pcolormesh(reached.axes[0], reached.axes[1], layer.T, cmap="Greys", vmin=0.0, vmax=4.0, shading="nearest")
    for one in reached.curves:
        style = {"lw": 1.8} if one.boundary else {"lw": 0.8, "ls": "--"}
        axes.plot(*one.points.T, color=COLOURS[one.kind], **style)
    if reached.square is not None:
        centre, side = reached.square
        axes.add_patch(Rectangle(centre - 0.5 * side, side, side, fill=False, color=INSIDE))
        axes.add_patch(Circle(*reached.ball, fill=False, color=INSIDE))
    axes.set_xlabel(f"{reached.coordinates[0]} [{reached.units[0]}]")
    axes.set_ylabel(f"{reached.coordinates[1]} [{reached.units[1]}]")
    if reached.units[0] == reached.units[1]:
        axes.set_aspect("equal")
    return axes
