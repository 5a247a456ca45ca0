"""The study pane on a store of a million members: frames a second, time to sort, time to start, memory.

A small real run is tiled to a million members with varied numbers and figures of their own, written by the package
itself; the trajectories of a few are kept. Then a fresh process opens it in the window without a display (on a machine
without a graphics card its frames are drawn by the processor) and drives the pane. What it sorts, counts and selects is
compared with NumPy. The files are in the page cache. Linux only.
Prints one JSON line:
    start_s                    from the process's first line to the first frame with the pane
    sort_s                     a click on a column until its rows are drawn: reading, sorting
    sort_again_s               the other way round
    scatter_fps, colour_fps    frames a second of the density of all points; the same coloured by a third column
    zoom_fps                   while the axes change in every frame, so that the density is counted again
    parallel_fps, histogram_fps, table_fps
    brush_s                    from the release of a box to the frame that shows its members selected in the plot
    filter_s                   an expression over two columns until its members are drawn
    end_mb, peak_mb            resident memory

    PYTHONPATH=. python benchmarks/bench_study_pane.py
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from shiftjax.viewer.gui.offscreen import Offscreen

RUN = 64  # members of the real run
FAILED = 1e-3  # part of the members
SIZE = (1280, 800)
MASS, LENGTH = "four_bar:coupler.mass", "four_bar:crank:tip.T[0]"
SORTED, COLOUR = "energy_error", "gap"
EXPRESSION = f"{SORTED} < 1e-6 and {MASS} >= 1"
CLOSE = 0.02  # part of the brushed members that a pixel at each side may change


def main() -> None:
    options = arguments()
    if options.measure:
        print(json.dumps(measured(options.measure, options.frames)))
        return
    with tempfile.TemporaryDirectory() as folder:
        store, begun = Path(folder) / "study.zarr", time.perf_counter()
        write(store, options)
        written = {"members": options.members, "kept": options.keep, "write_s": time.perf_counter() - begun}
        command = [sys.executable, __file__, "--measure", str(store), "--frames", str(options.frames)]
        rounds = [json.loads(subprocess.check_output(command)) for _ in range(options.rounds)]
    if any(figures.pop("jax") for figures in rounds):
        raise SystemExit("wrong: the viewer imported jax")
    from shiftjax.bench.timing import emit  # it imports jax, which the measured process must do without

    emit("study_pane", written | {key: float(np.median([r[key] for r in rounds])) for key in rounds[0]})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--keep", type=int, default=64)
    parser.add_argument("--frames", type=int, default=20, help="drawn for each rate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


def write(path: Path, options: argparse.Namespace) -> None:
    """Writes the store."""
    import shiftjax
    from shiftjax.ensembles.store import store
    from shiftjax.outcome import REMEDY, Outcome
    from shiftjax.run.results.result import members_to_keep

    vary = {MASS: np.linspace(0.5, 2.0, RUN), LENGTH: np.linspace(0.15, 0.4, RUN)}
    run = shiftjax.simulate("four_bar", vary=vary, span=0.2, step=1e-3, output_step=0.02, keep="all")
    rng, count = np.random.default_rng(0), options.members
    recorded = members_to_keep(options.keep, count)
    status = np.where(rng.random(count) < FAILED, int(Outcome.stuck), int(Outcome.ok))
    figures = {name: np.resize(values, count) for name, values in run.certificate.items()}
    design = {path: rng.uniform(values.min(), values.max(), count) for path, values in run.design.items()}
    figures[SORTED] = 1e-6 * design[MASS] * rng.lognormal(0.0, 0.7, count)
    figures[COLOUR] = 1e-15 * design[LENGTH] * rng.lognormal(size=count)
    big = dataclasses.replace(
        run,
        certificate=figures,
        status=status,
        messages=tuple(REMEDY[Outcome(s)] for s in status.tolist()),
        design=design,
        poses={body: np.resize(pose, (len(recorded), *pose.shape[1:])) for body, pose in run.poses.items()},
        kept=recorded,
    )
    store.write(big, path)


def measured(path: str, frames: int) -> dict[str, Any]:
    """What the fresh process sees."""
    begun = time.perf_counter()
    from shiftjax.viewer.gui.offscreen import Offscreen
    from shiftjax.viewer.gui.state.state import WindowState
    from shiftjax.viewer.scene.scene import FAST
    from shiftjax.viewer.study.member_scenes import MemberScenes
    from shiftjax.viewer.study.study import ViewedStudy

    study = ViewedStudy.open(path)
    state = WindowState(MemberScenes(study), look=FAST)
    with Offscreen(state, SIZE) as window:
        window.key("F3")
        shown(window)
        figures: dict[str, Any] = {"start_s": time.perf_counter() - begun}
        figures |= sorting(window)
        window.click("tab:Scatter")
        figures["scatter_fps"] = rate(window, frames)
        state.explorer.colour = COLOUR
        figures["colour_fps"] = rate(window, frames)
        state.explorer.colour = ""
        figures["zoom_fps"] = zooming(window, frames)
        figures |= brushing(window)
        for title, name in (("Parallel axes", "parallel_fps"), ("Histogram", "histogram_fps"), ("Table", "table_fps")):
            window.click(f"tab:{title}")
            figures[name] = rate(window, frames)
        figures["filter_s"] = filtering(window)
    end, peak = memory()
    return {**figures, "end_mb": end, "peak_mb": peak, "jax": "jax" in sys.modules}


def shown(window: Offscreen) -> None:
    """Draws a frame, until its last pixel is there."""
    window.frames()
    window.image()


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def rate(window: Offscreen, frames: int) -> float:
    """Frames a second, after two that count and upload."""
    shown(window)
    shown(window)
    return frames / timed(lambda: [shown(window) for _ in range(frames)])


def sorting(window: Offscreen) -> dict[str, float]:
    """A column sorted, and the other way round; the rows are those of NumPy."""
    explorer = window.state.explorer
    seconds = {}
    for name, falling in (("sort_s", False), ("sort_again_s", True)):
        seconds[name] = timed(lambda: (window.click(f"column:{SORTED}"), shown(window)))
        values = explorer.table.column(SORTED)
        best = np.lexsort((np.arange(len(values)), -values if falling else values))[:5]
        if explorer.falling != falling or explorer.rows()[:5].tolist() != best.tolist():
            raise SystemExit(f"wrong: {explorer.rows()[:5]} are not the first by {SORTED}")
    return seconds


def zooming(window: Offscreen, frames: int) -> float:
    """Frames a second while the wheel turns in each."""
    from shiftjax.viewer.gui.widgets import ui

    box = ui.item_boxes["study:scatter"]
    middle = box.x + box.width / 2, box.y + box.height / 2
    window.move(middle)
    spent = timed(lambda: [(window.screen.mouse_wheel(0.3, *middle, (False, False, False)), shown(window))
                           for _ in range(frames)])  # fmt: skip
    window.click("fit")
    window.frames(2)
    return frames / spent


def brushing(window: Offscreen) -> dict[str, float]:
    """A box over a ninth of the plot; its members are those of NumPy but for a pixel at its edges."""
    from shiftjax.viewer.gui.widgets import ui

    explorer, box = window.state.explorer, ui.item_boxes["study:scatter"]
    corners = [(box.x + part * box.width, box.y + part * box.height) for part in (1 / 3, 2 / 3)]
    none = (False, False, False)
    window.move(corners[0])
    window.screen.mouse_button("Left", *corners[0], none, 0.0, down=True)
    shown(window)
    window.move(corners[1])
    window.screen.mouse_button("Left", *corners[1], none, 1.0, down=False)
    spent = timed(lambda: (shown(window), shown(window)))
    left, right, low, high = explorer.limits["scatter"]
    across = (explorer.table.column(explorer.x) - left) / (right - left)
    up = (explorer.table.column(explorer.y) - low) / (high - low)
    inside = (across > 1 / 3) & (across < 2 / 3) & (up > 1 / 3) & (up < 2 / 3)
    if (explorer.selected ^ inside).sum() > CLOSE * max(inside.sum(), 1000):
        raise SystemExit(f"wrong: {explorer.selected.sum()} selected, {inside.sum()} in the box")
    return {"brush_s": spent}


def filtering(window: Offscreen) -> float:
    """An expression; how many it means is what NumPy counts."""
    from shiftjax.viewer.gui.actions.members import selecting

    explorer = window.state.explorer
    spent = timed(lambda: (selecting.show(window.state, EXPRESSION), shown(window)))
    exact = (explorer.table.column(SORTED) < 1e-6) & (explorer.table.column(MASS) >= 1)
    if explorer.counts()[0] != exact.sum():
        raise SystemExit(f"wrong: {explorer.counts()[0]} shown, {exact.sum()} meant")
    return spent


def memory() -> tuple[float, float]:
    """Memory of this process now and at its peak [MB], from /proc: `getrusage` counts the parent's before exec too."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(lines[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM"))
    return now, peak


if __name__ == "__main__":
    main()
