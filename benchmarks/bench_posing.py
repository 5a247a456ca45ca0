"""A body dragged by hand: parts of a drag a second, each with the poses of all bodies and the loops' gap, on one core.

The windows of the N-four-bar stand for a tower of loops: 90 of them have 271 joints. `--window` draws each part, too,
as the window does, on whatever renderer there is.

A tower of scissors is dragged as it is, and by a revolute and a prismatic joint for each floor, once for all and in two
levels (`shiftjax.Editor.abstract`): 16 floors of 3 cells have 272 joints and 80 loops. Its rows say how large the
matrices of the stages are, by their columns, and how many iterations a whole drag took.

    taskset -c 0 env PYTHONPATH=. python benchmarks/bench_posing.py
    taskset -c 0 env PYTHONPATH=. python benchmarks/bench_posing.py --models --windows --floors 2 --cells 1
    taskset -c 0 env PYTHONPATH=. python benchmarks/bench_posing.py --window
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.joints import KINDS
from shiftjax.models.n_four_bar import n_four_bar
from shiftjax.models.scissor_tower import scissor_tower

MODELS = ("four_bar", "excavator", "stewart", "vehicle_chassis")
WINDOWS = (5, 20, 40, 90)
PARTS, WARM = 40, 8
POINT = np.array([0.05, 0.0, 0.0])  # of the last body
TIP = np.array([0.0, 1.0, 0.0])  # of the last crank of windows, which leads all others
WAY = np.array([0.004, 0.0, 0.003])  # m, of a part
FLOORS, CELLS = (2, 16), 3
FOOT = np.zeros(3)  # of the floor that a platform would carry
WAY_OF_TOWER = np.array([0.004, -0.002, 0.0])
SIZE = (1280, 800)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", action="store_true")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--windows", nargs="*", type=int, default=list(WINDOWS))
    parser.add_argument("--floors", nargs="*", type=int, default=list(FLOORS))
    parser.add_argument("--cells", type=int, default=CELLS)
    options = parser.parse_args()
    models = {name: shiftjax.load(name) for name in options.models}
    models |= {f"n_four_bar_{count}": shiftjax.load(n_four_bar(count)) for count in options.windows}
    for floors in options.floors:
        models |= towers(floors, options.cells)
    for name, model in models.items():
        poser = shiftjax.Poser(model)
        point = TIP if name.startswith("n_four_bar") else FOOT if name.startswith("tower") else POINT
        seconds = in_window(poser, point) if options.window else alone(poser, point)
        report = shiftjax.info(model)
        row = {"model": name, "joints": report["joints"], "loops": report["loops"], "drawn": options.window}
        row |= {"parts_s": 1.0 / float(np.median(seconds)), "worst_ms": 1e3 * float(np.max(seconds)), "gap": poser.gap}
        assert row["gap"] < 1e-12
        if name.startswith("tower"):
            row |= work(model)
        emit("posing", row)


def towers(floors: int, cells: int) -> dict[str, shiftjax.Model]:
    """A tower as it is, with virtual joints for each floor, and with others for halves of it around those."""
    plain = shiftjax.load(scissor_tower(floors, cells))
    edit, places = shiftjax.Editor(plain), [("fixed", "foot"), *(f"platform_{k}" for k in range(1, floors + 1))]
    with edit.transaction():  # which analyses the model once
        for k in range(floors):
            edit.abstract(places[k], places[k + 1], f"floor_{k + 1}")
    by_floors, middle = edit.model, max(1, floors // 2)
    three = ("revolute", "prismatic", "revolute")
    with edit.transaction():
        for name, first, last in (("low", 0, middle), ("high", middle, floors)):
            if last - first > 1:
                edit.abstract(places[first], places[last], name, three)
    levels = {"": plain, "_by_floors": by_floors, "_by_halves": edit.model}
    return {f"tower_{floors}_{cells}{level}": model for level, model in levels.items()}


def work(model: shiftjax.Model) -> dict[str, object]:
    """Columns of the matrices of each stage, and iterations of a drag from where the model stands."""
    body, way = dragged(model)
    poser = shiftjax.Poser(model)
    goal = shiftjax.FrameGoal(body, T=poser.poses[body][1] + PARTS * way)
    come = shiftjax.inverse_kinematics(model, goal)
    assert come.reached, come.messages
    speeds = {path: KINDS[joint.type].nv for path, joint in model.joints()}
    columns = [sum(speeds[path] for path in stage.joints) for stage in poser.stages]
    return {"columns": columns, "iterations": int(come.iterations)}


def dragged(model: shiftjax.Model) -> tuple[str, np.ndarray]:
    """The last body, of a tower its top, and the way that it goes in a part [m]."""
    bodies = [path for path, _ in model.bodies()]
    platforms = [path for path in bodies if ":platform" in path]
    return (platforms[-1], WAY_OF_TOWER) if platforms else (bodies[-1], WAY)


def alone(poser: shiftjax.Poser, point: np.ndarray) -> list[float]:
    """Seconds of each part of a drag."""
    body, way = dragged(poser.model)
    R, p = poser.poses[body]
    seconds = []
    for k in range(WARM + PARTS):
        begun = time.perf_counter()
        poser.drag_on(body, point, p + R @ point + k * way)
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

    body, way = dragged(poser.model)
    R, p = poser.poses[body]
    seconds = []
    with WorkbenchSession(shiftjax.Workbench(poser.model), Helpers(report=info)) as session:
        scenes = MemberScenes(session.history)
        with Offscreen(WindowState(scenes, live=session), SIZE) as window:
            window.frames(2)
            for k in range(WARM + PARTS):
                begun = time.perf_counter()
                session.grab(body, point, p + R @ point + k * way)
                session.settle()
                window.frames()
                seconds.append(time.perf_counter() - begun)
            session.let_go()
            session.settle()
    return seconds[WARM:]


if __name__ == "__main__":
    main()
