"""All members in one still picture, for slides: scatter of a metric over its design, and parallel coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.ensembles.report import style
from shiftjax.ensembles.report.content import Content
from shiftjax.ensembles.report.figures import thin

LINES = 600  # of parallel coordinates
POINTS = 3000
MOST_AXES = 12
MAP = "viridis"


def scatter(content: Content) -> Any:
    """The first metric over its two most influential numbers, coloured by the third of them or the second metric."""
    metric = content.main_metrics[0]
    order = content.ranked(metric)
    rows = thin(np.flatnonzero(content.known(metric)), POINTS)
    colour = content.varied[order[1]] if len(order) > 1 else metric
    made = style.figure(3.6, 6.4)
    panel = made.subplots()
    x = content.varied[order[0]]
    drawn = panel.scatter(
        x.values[rows], metric.values[rows], c=colour.values[rows], cmap=MAP, s=9, linewidths=0, rasterized=True
    )
    panel.set(xlabel=content.label(x), ylabel=content.label(metric))
    bar = made.colorbar(drawn, ax=panel, label=content.label(colour))
    bar.outline.set_visible(False)
    return made


def parallel(content: Content) -> Any:
    """Every line is a member: its design at the left, its metrics at the right; colour: the first metric."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    first = content.main_metrics[0]
    numbers = [
        content.varied[k] for k in sorted(content.ranked(first)[: MOST_AXES - min(4, len(content.main_metrics))])
    ]
    columns = [*numbers, *content.main_metrics[:4]]
    known = np.logical_and.reduce([content.known(c) for c in columns])
    rows = thin(np.flatnonzero(known), LINES) if known.any() else np.zeros(0, np.int64)
    low = np.array([c.values[known].min() if known.any() else 0.0 for c in columns])
    high = np.array([c.values[known].max() if known.any() else 1.0 for c in columns])
    unit = np.stack([c.values[rows] for c in columns], 1)
    unit = (unit - low) / np.where(high > low, high - low, 1.0)
    made = style.figure(3.8)
    panel = made.subplots()
    place = np.arange(len(columns))
    segments = [np.stack([place, line], 1) for line in unit]
    shade = colormaps[MAP](unit[:, len(numbers)])
    panel.add_collection(LineCollection(segments, colors=shade, linewidths=0.6, alpha=0.5))
    for k in place:
        panel.axvline(k, color=style.INK, linewidth=0.9)
        for height, value, side in ((-0.03, low[k], "top"), (1.03, high[k], "bottom")):
            panel.text(k, height, f"{value:.3g}", ha="center", va=side, fontsize=8)
    labels = [content.label(c) for c in columns]
    panel.set(xlim=(-0.3, len(columns) - 0.7), ylim=(-0.12, 1.12), yticks=[])
    panel.set_xticks(place, labels, rotation=20, ha="right")
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
    return made
