"""One picture of an ensemble: the paths of the bodies, the recorded channels, the accuracy of every member.

Needs matplotlib (of the extra `plot`), which is imported only when a picture is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.ensembles.body_paths import points_of
from shiftjax.errors import ModelError, need_matplotlib
from shiftjax.run.results.plotting import draw_channel, member_colours
from shiftjax.run.results.result import Result

SUFFIXES = (".png", ".svg", ".pdf")
MOST_CHANNELS = 3
AXES = "xyz"


def check_target(path: str | Path, *, force: bool) -> Path:
    """Raises the errors of `draw` before a run is started."""
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise ModelError(str(path), f"suffix {target.suffix!r}", ", ".join(SUFFIXES), "The suffix decides the format.")
    need_matplotlib("--picture")
    if not target.absolute().parent.is_dir():
        raise ModelError(str(path), "no such folder", "a folder that exists", f"Make {target.parent} first.")
    if target.exists() and not (force and target.is_file()):
        raise ModelError(str(path), "something of that name", "a new name", "Use --force to replace a picture.")
    return target


def draw(result: Result, path: str | Path) -> None:
    """Draws the members that were kept, coloured by the first varied number, and the certificate of all.

    Args:
        result: an ensemble.
        path: of the picture; its suffix decides the format.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    channels = list(result.channels.items())[:MOST_CHANNELS]
    count = 2 + len(channels)
    columns = 3 if count in (3, 5) else 2
    rows = -(-count // columns)
    figure = Figure(figsize=(5.5 * columns, 4.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    panels = list(np.ravel(figure.subplots(rows, columns)))
    colours = member_colours(result, result.kept)
    _draw_paths(panels.pop(0), result, colours)
    for name, values in channels:
        draw_channel(panels.pop(0), name, values[result.kept], result, colours)
    _draw_certificate(panels.pop(0), result)
    for panel in panels:
        panel.set_axis_off()
    figure.suptitle(_title(result))
    figure.savefig(Path(path), dpi=110)


def _title(result: Result) -> str:
    counts = ", ".join(f"{len(members)} {outcome.name}" for outcome, members in result.outcomes())
    first = next(iter(result.design), "")
    return f"{result.members} members: {counts}" + (f"; colour: {first}" if first else "")


def points(result: Result) -> list[np.ndarray]:
    """(K, n, p, 3) of every body: paths of its origin and frames in the world [m]."""
    columns = {path: values[result.kept] for path, values in result.design.items()}
    return points_of(result.model, result.poses, columns)


def _draw_paths(panel: Any, result: Result, colours: np.ndarray) -> None:
    """Paths of the bodies' frames, projected along the axis of least motion; the start of the first member in black."""
    places = points(result)
    flat = np.concatenate([np.zeros((0, 3)), *(p.reshape(-1, 3) for p in places)])
    flat = flat[np.isfinite(flat).all(axis=1)]
    if not len(flat):
        panel.set_axis_off()
        return
    across, up = sorted(np.argsort(np.ptp(flat, axis=0))[1:].tolist())
    for body in places:
        for member, colour in zip(body, colours, strict=True):
            panel.plot(member[..., across], member[..., up], color=colour, linewidth=0.7)
    for body in places:
        start = body[0, 0]
        for frame in start[1:]:
            panel.plot(
                *np.stack([start[0], frame])[:, [across, up]].T, "o-", color="black", linewidth=2.5, markersize=4
            )
    panel.set_aspect("equal", adjustable="datalim")
    labels = {"xlabel": f"{AXES[across]} [m]", "ylabel": f"{AXES[up]} [m]"}
    panel.set(title=f"paths of the bodies' frames, {len(result.kept)} members", **labels)
    if result.model.gravity[up] > 0.0:
        panel.invert_yaxis()  # the axis points down in such a model


def _draw_certificate(panel: Any, result: Result) -> None:
    """Every member's gap and energy error, smallest first; zeros are drawn at the smallest positive figure."""
    for name in ("gap", "energy_error"):
        figures = np.sort(np.asarray(result.certificate[name], np.float64))
        figures = figures[np.isfinite(figures)]
        floor = figures[figures > 0].min(initial=1.0)
        panel.semilogy(np.linspace(0, 100, len(figures)), np.maximum(figures, floor), label=name)
    panel.set(title="accuracy of every member", xlabel="members [%]", ylabel="gap [m], energy error [1]")
    panel.legend()
