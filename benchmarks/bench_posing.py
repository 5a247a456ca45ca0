"""A body dragged by hand: parts of a drag a second, each with the poses of all bodies and the loops' gap, on one core.

The windows of the N-four-bar stand for a tower of loops: 90 of them have 271 joints. `--window` draws each part, too,
as the window does, on whatever renderer there is.

    taskset -c 0 env PYTHONPATH=. python benchmarks/bench_posing.py
    taskset -c 0 env PYTHONPATH=. python benchmarks/bench_posing.py --window
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.models.n_four_bar import n_four_bar

MODELS = ("four_bar", "excavator", "stewart", "vehicle_chassis")
WINDOWS = (5, 20, 40, 90)
PARTS, WARM = 40, 8
POINT = np.array([0.05, 0.0, 0.0])  # of the last body
TIP = np.array([0.0, 1.0, 0.0])  # of the last crank of windows, which leads all others
WAY = np.array([0.004, 0.0, 0.003])  # m, of a part
SIZE = (1280, 800)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", action="store_true")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--windows", nargs="*", type=int, default=list(WINDOWS))
    options = parser.parse_args()
    models = {name: shiftjax.load(name) for name in options.models}
    models |= {f"n_four_bar_{count}": shiftjax.load(n_four_bar(count)) for count in options.windows}
    for name, model in models.items():
        poser = shiftjax.Poser(model)
        point = TIP if name.startswith("n_four_bar") else POINT
        seconds = in_window(poser, point) if options.window else alone(poser, point)
        report = shiftjax.info(model)
        row = {"model": name, "joints": report["joints"], "loops": report["loops"], "drawn": options.window}
        row |= {"parts_s": 1.0 / float(np.median(seconds)), "worst_ms": 1e3 * float(np.max(seconds)), "gap": poser.gap}
        assert row["gap"] < 1e-12
        emit("posing", row)


def alone(poser: shiftjax.Poser, point: np.ndarray) -> list[float]:
    """Seconds of each part of a drag."""
    body = [path for path, _ in poser.model.bodies()][-1]
    R, p = poser.poses[body]
    seconds = []
    for k in range(WARM + PARTS):
        begun = time.perf_counter()
        poser.drag_on(body, point, p + R @ point + k * WAY)
        assert len(poser.poses) and poser.gap < 1e-12
        seconds.append(time.perf_counter() - begun)
    return seconds[WARM:]


def in_window(poser: shiftjax.Poser, point: np.ndarray) -> list[float]:
    """Seconds of each part, drawn."""
    from shiftjax.run.info import info
    from shiftjax.viewer.gui.offscreen import Offscreen
    from shiftjax.viewer.gui.state.state import WindowState
    from shiftjax.viewer.motion.by_hand import Helpers
    from shiftjax.viewer.motion.workbench import WorkbenchSession
    from shiftjax.viewer.study.member_scenes import MemberScenes

    body = [path for path, _ in poser.model.bodies()][-1]
    R, p = poser.poses[body]
    seconds = []
    with WorkbenchSession(shiftjax.Workbench(poser.model), Helpers(report=info)) as session:
        scenes = MemberScenes(session.history)
        with Offscreen(WindowState(scenes, live=session), SIZE) as window:
            window.frames(2)
            for k in range(WARM + PARTS):
                begun = time.perf_counter()
                session.grab(body, point, p + R @ point + k * WAY)
                session.settle()
                window.frames()
                seconds.append(time.perf_counter() - begun)
            session.let_go()
            session.settle()
    return seconds[WARM:]


if __name__ == "__main__":
    main()
