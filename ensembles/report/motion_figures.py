"""The motions of the members at both ends of a metric: recorded channels over time, and paths of the bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftjax.ensembles.report import figures, style
from shiftjax.ensembles.report.content import Content, unit_text
from shiftjax.ensembles.store.members import Column
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record

AXES = "xyz"
MOST_CHANNELS = 3
INSTANTS = 500  # drawn of a line
ROOM = (0.5, 0.3)  # inches below a picture of the mechanism, and above it
PANEL = 4.5  # inches, of the width of a picture of the mechanism
BAND = 200  # kept members whose range is drawn


@record
class Ends:
    """The kept members with the smallest and with the largest value of a metric.

    Attributes:
        rows: (2,) places of them in the table of members. stored: (2,) places in the trajectories.
        whole: (2,) whether no other member of the study has a smaller or larger value.
    """

    rows: np.ndarray
    stored: np.ndarray
    whole: np.ndarray


def ends(content: Content, metric: Column) -> Ends | None:
    """The two ends of a metric among the members whose trajectories are kept; None where fewer than two finished."""
    if "member" not in content.trajectories or not content.trajectories.sizes.get("time"):
        return None
    stored = np.searchsorted(content.members.numbers, content.trajectories["member"].values)
    known = content.known(metric)
    usable = np.flatnonzero(known[stored])
    if len(usable) < 2:
        return None
    values = metric.values[stored[usable]]
    places = usable[[int(values.argmin()), int(values.argmax())]]
    every = metric.values[known]
    whole = metric.values[stored[places]] == [every.min(), every.max()]
    return Ends(stored[places], places, np.asarray(whole))


def channels(content: Content, metric: Column) -> list[str]:
    """Names of the recorded channels that are drawn: those that the metric is computed from first."""
    names = [str(n) for n, v in content.trajectories.data_vars.items() if v.dims[:2] == ("member", "time")]
    names = [n for n in names if n != "pose" and content.trajectories[n].ndim <= 3]

    def used(name: str) -> bool:
        path = str(content.trajectories[name].attrs.get("path", name))
        parts = {path, content.short(path), *(path[k + 1 :] for k, c in enumerate(path) if c == ":")}
        return any(part in metric.about for part in parts)

    return sorted(names, key=lambda name: not used(name))[:MOST_CHANNELS]


def draw_channels(content: Content, metric: Column, ends: Ends) -> Any:
    """Channels over time: the two ends as lines, the range of all kept members that finished as a band.

    None where there is nothing to draw.
    """
    names = channels(content, metric)
    time = content.trajectories["time"].values
    if len(time) < 2:
        return None  # of a study that only assembles
    some = evenly_spaced(len(time), INSTANTS)
    lines = [
        (f"{name}[{k}]" if values.shape[2] > 1 else name, name, values[:, :, k])
        for name in names
        for values in (_recorded(content, name, ends, some),)
        for k in range(values.shape[2])
        if np.nanmax(values[:, :, k]) > np.nanmin(values[:, :, k])  # y of a planar mechanism says nothing
    ][: 2 * MOST_CHANNELS]
    if not lines:
        return None
    made, every = figures.panels(len(lines), 3, 2.3)
    about = content.trajectories["time"].attrs  # of the parameter, where poses of a path are shown
    below = f"{content.short(about.get('long_name', 'time'))} [{about.get('units', 's')}]"
    for panel, (title, name, values) in zip(every, lines, strict=True):
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        panel.fill_between(time[some], low, high, color=style.GRID, linewidth=0)
        for k, colour in ((-2, style.BLUE), (-1, style.ORANGE)):
            panel.plot(time[some], values[k], color=colour, linewidth=1.2)
        unit = unit_text(str(content.trajectories[name].attrs.get("units", "1")))
        panel.set(title=content.short(title), xlabel=below, ylabel=f"[{unit}]" if unit else "", xlim=time[[0, -1]])
    return made


def _recorded(content: Content, name: str, ends: Ends, instants: np.ndarray) -> np.ndarray:
    """(K + 2, n, m) numbers of a channel: of members of the band, then of the two ends."""
    stored = np.searchsorted(content.members.numbers, content.trajectories["member"].values)
    band = np.flatnonzero(content.members.finished[stored])
    band = band[evenly_spaced(len(band), BAND)]
    rows = np.concatenate([band, ends.stored])
    values = np.asarray(content.trajectories[name][rows].values, np.float64)[:, instants]
    return values.reshape(*values.shape[:2], -1)


def draw_paths(content: Content, ends: Ends) -> Any:
    """Paths of the bodies' frames of both ends, projected along the axis of least motion; the starts as thick lines."""
    bodies = [str(body) for body in content.trajectories["body"].values]
    if not bodies:
        return None
    pose = np.asarray(content.trajectories["pose"][ends.stored].values, np.float64)
    poses = {body: pose[:, :, k] for k, body in enumerate(bodies)}
    design = {column.name: column.values[ends.rows] for column in content.members.design}
    places = content.points(poses, design)
    flat = np.concatenate([p.reshape(-1, 3) for p in places])
    flat = flat[np.isfinite(flat).all(axis=1)]
    if not len(flat):
        return None
    across, up = sorted(np.argsort(np.ptp(flat, axis=0), kind="stable")[1:].tolist())
    low, high = flat.min(axis=0)[[across, up]], flat.max(axis=0)[[across, up]]
    pad = 0.08 * float((high - low).max() or 1.0)
    wide, tall = high - low + 2.0 * pad
    height = float(np.clip(PANEL * tall / wide, 1.6, PANEL)) + ROOM[0] + ROOM[1]
    made = style.figure(height)
    made.set_layout_engine("none")  # the automatic one forgets titles of panels whose shape is given
    edges = {"left": 0.06, "right": 0.99, "bottom": ROOM[0] / height, "top": 1.0 - ROOM[1] / height, "wspace": 0.12}
    panels = made.subplots(1, 2, gridspec_kw=edges)
    for k, (panel, colour) in enumerate(zip(panels, (style.BLUE, style.ORANGE), strict=True)):
        for body in places:
            panel.plot(body[k, ..., across], body[k, ..., up], color=colour, linewidth=0.9, alpha=0.55)
        for body in places:
            start = body[k, 0]
            for frame in start[1:]:
                ends_of = np.stack([start[0], frame])[:, [across, up]].T
                panel.plot(*ends_of, "o-", color=style.INK, linewidth=2.2, markersize=3.5)
        panel.set(xlim=(low[0] - pad, high[0] + pad), ylim=(low[1] - pad, high[1] + pad), aspect="equal")
        panel.set(title=f"member {content.members.numbers[ends.rows[k]]}", xlabel=f"{AXES[across]} [m]")
    panels[0].set_ylabel(f"{AXES[up]} [m]")
    if content.down[up]:
        for panel in panels:
            panel.invert_yaxis()  # the axis points down in such a model
    return made
