"""Sublinkages in the window: put in on the console, shown of the picked joint, dragged with all loops closed. M7, M22,
M23, M30."""

import numpy as np

import shiftjax
from shiftjax.models.scissor_tower import scissor_tower
from shiftjax.run.info import info
from shiftjax.run.live import Live
from shiftjax.viewer.gui.panes.propertypane import properties
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from tests.support.windows import beside_a_run

CLOSED = 1e-12  # residual of loops, dimensionless
TOP = "tower:platform_1"


def test_a_block_is_stood_for_on_the_console_and_dragged_by_that() -> None:
    bench = shiftjax.Workbench(shiftjax.load(scissor_tower(1)))
    helpers = Helpers(run=Live, report=info)
    with WorkbenchSession(bench, helpers) as session, beside_a_run(session, (900, 600)) as window:
        session.do("abstract(('fixed', 'foot'), 'platform_1', 'floor')")
        session.settle()
        window.frames(2)
        window.state.selection.pick = "tower:lean_1"
        shown = dict(properties(window.state))
        assert shown["sublinkage"] == "floor_block, driven" and shown["posed in stage"] == "2 of 2"
        assert [*bench.values][:2] == ["tower:floor_revolute", "tower:floor_prismatic"]  # sliders of what leads
        start = bench.poses[TOP][1]
        for k in range(1, 6):
            session.grab(TOP, np.zeros(3), start + k * np.array([0.02, -0.01, 0.0]))
            session.settle()
            window.frames(1)
            assert bench.gap < CLOSED
        session.let_go()
        session.settle()
        assert np.abs(bench.poses[TOP][1] - start).max() > 0.05
        session.do("turn('floor_prismatic', 1.2)")
        session.settle()
        window.frames(2)
        assert bench.gap > 0.1 and "cannot close are open" in bench.notes[0]
        session.play(0.0)
        session.settle()
        window.frames(2)
        assert session.posing and not session.running and not session.ended  # a run would close its loops
        session.undo()
        session.settle()
        assert bench.gap < CLOSED and not bench.open_loops
