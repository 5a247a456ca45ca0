"""Recorded channels over time, drawn with matplotlib (of the extra `plot`), which is imported on use."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need_matplotlib, shown
from shiftjax.run.results.plain_values import axis_label, members_to_keep

MOST_LINES = 64  # members in a panel; more are spread evenly over the ensemble
PANEL = (6.4, 2.6)  # inches


def plot(result: Any, *paths: str) -> Any:
    """Draws channels over time, a panel each, of an ensemble up to `MOST_LINES` members, coloured by the first varied
    number.

    Args:
        result: a `Result`. paths: of channels; all that were recorded where left out.

    Returns:
        a figure of matplotlib.pyplot, which a notebook shows once.

    Raises:
        ModelError: no matplotlib, nothing recorded, a channel that was not.
    """
    need_matplotlib("plot")
    if not result.channels:
        raise ModelError("plot", "no channels", "a result with channels", "Run with channels=[...].")
    for path in paths:
        if not isinstance(path, str) or path not in result.channels:
            todo = (nearest(path, result.channels) if isinstance(path, str) else "") or "Choose one of them."
            raise ModelError("plot", shown(path), ", ".join(result.channels), todo)
    from matplotlib import pyplot

    wanted = paths or tuple(result.channels)
    members = members_to_keep(MOST_LINES, result.members)
    colours = member_colours(result, members) if result.batched else None
    figure, panels = pyplot.subplots(
        len(wanted), sharex=True, squeeze=False, figsize=(PANEL[0], PANEL[1] * len(wanted)), layout="constrained",
    )  # fmt: skip
    for panel, path in zip(panels[:, 0], wanted, strict=True):
        values = np.asarray(result.channels[path])
        draw_channel(panel, path, values[members] if result.batched else values[None], result, colours)
        panel.set_xlabel("")
    panels[-1, 0].set_xlabel(axis_label(result.settings))
    figure.__dict__["_ipython_display_"] = functools.partial(_show_once, figure)  # a class of its own has no pickle
    return figure


def _show_once(figure: Any) -> None:
    """What a notebook asks first when it shows a figure: as the value of a cell, or with all open ones at its end."""
    from matplotlib import pyplot

    if "inline" in pyplot.get_backend():
        pyplot.close(figure)
    raise NotImplementedError  # it is shown as any other


def member_colours(result: Any, members: np.ndarray) -> np.ndarray:
    """(K, 4) colours of some members: dark for small, bright for large values of the first varied number."""
    from matplotlib import colormaps

    first = next(iter(result.design.values()), np.zeros(result.members))
    span = max(float(np.ptp(first)), np.finfo(np.float64).tiny)
    return colormaps["viridis"]((first[members] - first.min()) / span)


def draw_channel(panel: Any, path: str, values: np.ndarray, result: Any, colours: np.ndarray | None) -> None:
    """Lines (K, n, ...) of a channel over time; without colours each of its numbers has one of its own.

    Of a run that recorded its first and last instant alone there are dots: a line would show a motion that was not.
    """
    style = {"marker": ".", "linestyle": "none"} if len(result.time) <= 2 else {}
    for k, member in enumerate(values):
        lines = panel.plot(
            result.time, member.reshape(len(result.time), -1), linewidth=0.7 if colours is not None else 1.2, **style
        )
        for number, line in enumerate(lines):
            if colours is not None:
                line.set_color(colours[k])
            elif len(lines) > 1:
                line.set_label(f"[{number}]")
        if colours is None and len(lines) > 1:
            panel.legend()
    panel.set(title=path, xlabel=axis_label(result.settings), ylabel=f"[{result.units.get(path, '1')}]")
