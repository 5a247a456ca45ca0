"""Pictures of the viewer's window, drawn without a display."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from figures.style import FOLDER
from PIL import Image

from shiftjax.editing.workbench import Workbench
from shiftjax.ensembles import sweep
from shiftjax.ensembles.study.definition import Definition
from shiftjax.run.info import info
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

SIZE = (1100, 800)
COUPLER, ROCKER = "four_bar:coupler:tip.T[0]", "four_bar:rocker:tip.T[0]"
DRAWN = ((0.0, 0.0, 0.0), (0.0, 0.0, -0.2), (0.5, 0.0, -0.4), (0.6, 0.0, 0.0))  # ends of three bars [m]
BOX = ((0.55, 0.15), (0.8, 0.45))  # selected in the scatter plot: its corners in parts of the plot, from below


def study_pane() -> None:
    """The scatter plot of a study with some members selected, which are ghosts in the view."""
    definition = Definition(
        model="four_bar", span=1.0, step=1e-3, output_step=0.02, samples=1000, keep="all",
        vary={"coupler:tip.T[0]": "0.42:0.6~sobol", "rocker:tip.T[0]": "0.35:0.5~sobol"},
        channels=["rocker_pivot.q"], metrics={"swing": "peak_to_peak(rocker_pivot.q)"},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        study = ViewedStudy.open(sweep(definition, Path(folder) / "four_bars.zarr").path)
        with Offscreen(WindowState(MemberScenes(study)), SIZE) as window:
            window.key("F3")
            window.frames(2)
            window.click("tab:Scatter")
            explorer = window.state.explorer
            explorer.x, explorer.y, explorer.colour = COUPLER, ROCKER, "swing"
            window.click("fit")
            window.frames(2)
            plot = ui.item_boxes["study:scatter"]
            corners = [(plot.x + across * plot.width, plot.y + (1 - up) * plot.height) for across, up in BOX]
            window.drag(corners[0], corners[1])
            window.state.go_to(0.3)
            window.frames(4)
            small = Image.fromarray(window.image()).quantize(128)
    small.save(FOLDER / "study_pane.png", optimize=True)


def pose_by_hand() -> None:
    """An excavator whose bucket is dragged, with its boom locked."""
    bench = Workbench("excavator").do("lock", "boom_pivot")
    with _on_workbench(bench, "pose_by_hand.png") as (session, window):
        at = bench.poses["excavator:bucket"][1]
        window.state.pick_path("excavator:bucket")
        for part in np.linspace(0.0, 1.0, 12):
            session.grab("excavator:bucket", np.zeros(3), at + part * np.array([-0.9, 0.0, 0.45]))
            session.settle()


def kept_goal() -> None:
    """A bucket whose goal was kept, and a goal of its stick that a limit blocks, while it is dragged away."""
    bench = Workbench("excavator")
    bench.do("limit", "stick_pivot", -0.75, None).do("keep", "bucket", T=[6.0, 0.0, -4.0], at=[0.5, 0.0, 0.1])
    bench.do("keep", "stick_pivot", -1.0, level=1.0)
    with _on_workbench(bench, "kept_goal.png") as (session, window):
        for action in ("zoom_in", *["shift_left"] * 4):
            actions.run(window.state, action)
        at = bench.poses["excavator:bucket"][1]
        window.state.pick_path("excavator:bucket")
        for part in np.linspace(0.0, 1.0, 12):
            session.grab("excavator:bucket", np.zeros(3), at + part * np.array([-0.9, 0.0, 2.6]))
            session.settle()


def velocities() -> None:
    """A bucket that is dragged: its instant centres as ground and as the boom see it, and the ellipses of its point."""
    bench = Workbench("excavator").do("lock", "slew")
    at = bench.poses["excavator:bucket"][1]
    with _on_workbench(bench, "velocities.png") as (session, window):
        state = window.state
        state.pick_path("excavator:bucket")
        state.selection.select("excavator:boom", on=True)
        for action in ("screws", "ellipsoids", "zoom_in", *["shift_left"] * 4):
            actions.run(state, action)
        window.frames(2)
        for part in np.linspace(0.0, 1.0, 12):
            session.grab("excavator:bucket", np.zeros(3), at + part * np.array([-0.5, 0.0, 0.8]))
            session.settle()


def workbench() -> None:
    """A four-bar drawn from nothing, the curve of a point of its coupler, a mark, and the console."""
    with _on_workbench(Workbench(), "workbench.png") as (session, window):
        state, box = window.state, window.screen.layout.view
        actions.run(state, "draw")

        def at(place: tuple[float, float, float]) -> tuple[float, float]:
            x, y = state.current_camera().pixel(np.array(place), (round(box.width), round(box.height)))
            return x + box.x, y + box.y

        for _ in range(3):
            actions.run(state, "zoom_in")
        for _ in range(2):
            actions.run(state, "shift_up")
        window.frames(2)
        for start, end in itertools.pairwise(DRAWN):
            window.drag(at(start), at(end))
            session.settle()
            window.frames(2)
        for pivot in (DRAWN[0], DRAWN[-1]):
            window.click(at(pivot))
            session.settle()
            window.frames(2)
        window.key("Escape")
        state.pick_path("mechanism:bar_2", np.array([0.2, 0.0, -0.25]))
        window.key("T", (True, False, False))
        session.settle()
        window.move(at((0.3, 0.0, -0.3)))
        window.key("M", (True, False, False))
        window.key("J", (True, False, False))
        while len(session.ranges) < len(session.values):
            session.settle()


@contextmanager
def _on_workbench(bench: Workbench, name: str) -> Iterator[tuple[WorkbenchSession, Offscreen]]:
    """A window on a workbench; what is shown at the end is written."""
    with WorkbenchSession(bench, Helpers(report=info)) as session:
        scene = MemberScenes(session.history).first
        with Offscreen(WindowState(MemberScenes(session.history, scene), live=session), SIZE) as window:
            actions.run(window.state, "front")
            window.frames(2)
            yield session, window
            window.frames(4)
            small = Image.fromarray(window.image()).quantize(128)
    small.save(FOLDER / name, optimize=True)


PICTURES = (study_pane, pose_by_hand, kept_goal, velocities, workbench)
