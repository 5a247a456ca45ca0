"""Screws, instant centres, ellipsoids and singular poses in the window while a mechanism is posed. M65."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.editing.velocities.free_motions import FreeMotions
from shiftjax.mechanism.model import Model
from shiftjax.run.info import info
from shiftjax.viewer.gui.actions import actions
from shiftjax.viewer.gui.actions.saving import exporting, saved
from shiftjax.viewer.gui.actions.workbench import posing
from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.panes.posing import velocities
from shiftjax.viewer.gui.picture import symbols
from shiftjax.viewer.gui.picture.snapshot import snapshot
from shiftjax.viewer.gui.pointer import Modifiers
from shiftjax.viewer.gui.state.colours import FORCE_ELLIPSE, SCREW, SCREW_BETWEEN, VELOCITY_ELLIPSE
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.motion.by_hand import Helpers
from shiftjax.viewer.motion.workbench import WorkbenchSession
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.models.flat_linkages import PARALLELOGRAM
from tests.support.windows import beside_a_run

NONE: Modifiers = (False, False, False)
CTRL: Modifiers = (True, False, False)
CTRL_SHIFT: Modifiers = (True, False, True)
COUPLER, CRANK, ROCKER = (f"four_bar:{name}" for name in ("coupler", "crank", "rocker"))
AXIS = "seven_axis_arm:axis4"
SIZE = (900, 560)
PARTS = 3  # of a drag
HOVERS = 60  # frames until a tooltip is there
WAITS = 60  # commands of the thread until all is known
CLOSED_FORM = 1e-9  # m


@contextmanager
def posed(model: Model | str) -> Iterator[tuple[Offscreen, WorkbenchSession]]:
    with WorkbenchSession(shiftjax.Workbench(model), Helpers(report=info)) as session:
        with beside_a_run(session, SIZE) as window:
            actions.run(window.state, "front")
            window.frames(2)
            yield window, session


def settled(window: Offscreen, session: WorkbenchSession) -> None:
    window.frames(1)  # which asks for motions
    session.settle()
    session.settle()
    window.frames(2)


def drawn(window: Offscreen) -> dict[tuple[float, ...], np.ndarray]:
    """Colour -> (m, 2, 3) of screws and ellipsoids."""
    made = [one for one in symbols.symbols(window.state) if one.name in ("screw", "ellipsoid")]
    return {tuple(one.colour): one.ends for one in made}


def centre(window: Offscreen, colour: tuple[float, ...]) -> np.ndarray:
    """The end of the line from the body's origin to its instant centre, which is drawn first."""
    return drawn(window)[colour][0, 1]


def test_the_instant_centre_goes_with_each_part_of_a_drag(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is where the cranks' lines meet, another one of two bodies at their pin; nothing is asked while none is drawn,
    once a part while it is, and of its motions a screw for each body that sees it, whoever shows them."""
    asked: list[int] = []
    screws: list[int] = []
    screw: Callable[..., Any] = FreeMotions.screw
    monkeypatch.setattr(FreeMotions, "screw", lambda *of: (screws.append(1), screw(*of))[1])
    free_motions: Callable[..., Any] = shiftjax.Workbench.free_motions
    monkeypatch.setattr(shiftjax.Workbench, "free_motions", lambda bench: (asked.append(1), free_motions(bench))[1])
    with posed("four_bar") as (window, session):
        state = window.state
        state.pick_path(COUPLER)
        session.grab(CRANK, np.array([0.2, 0.0, 0.0]), np.array([0.1, 0.0, -0.2]))
        settled(window, session)
        assert not drawn(window) and not asked and session.free_motions is None
        state.selection.select(ROCKER, on=True)
        window.key("I", CTRL)
        settled(window, session)
        before = len(asked)
        screws.clear()
        for part in range(1, PARTS + 1):
            session.grab(CRANK, np.array([0.2, 0.0, 0.0]), np.array([0.1 + 0.02 * part, 0.0, -0.2]))
            settled(window, session)
            poses = session._bench.poses
            pins = [poses[COUPLER][1], poses[ROCKER][0] @ np.array([0.4, 0.0, 0.0]) + poses[ROCKER][1]]
            share = np.linalg.solve(
                np.stack([pins[0] - poses[CRANK][1], poses[ROCKER][1] - pins[1]])[:, [0, 2]].T,
                (poses[ROCKER][1] - poses[CRANK][1])[[0, 2]],
            )
            meet = poses[CRANK][1] + share[0] * (pins[0] - poses[CRANK][1])
            assert centre(window, SCREW) == pytest.approx(meet, abs=CLOSED_FORM)
            assert centre(window, SCREW_BETWEEN) == pytest.approx(pins[1], abs=CLOSED_FORM)
            assert len(asked) == before + part and len(screws) == 2 * part
        session.let_go()
        settled(window, session)
        shown = snapshot(state).symbols
        assert shown is not None and {SCREW, SCREW_BETWEEN} <= {tuple(row) for row in shown.colours.tolist()}
        motions = session.free_motions
        assert motions is not None and "velocities:screw" in ui.item_boxes
        rows = dict(velocities.screws(state, motions))
        assert rows["motion"] == "of one freedom" and rows["coupler from rocker"] == "a rotation in the plane"
        assert rows["turns by"].endswith("rad for 1 rad of crank_pivot")
        assert "legend:as rocker sees it" in ui.item_boxes
        window.key("I", CTRL)
        settled(window, session)
        count = len(asked)
        session.do("turn('crank_pivot', 1.0)")
        settled(window, session)
        assert not drawn(window) and len(asked) == count and session.free_motions is None


def test_axes_in_space_have_their_pitch() -> None:
    """An axis with an arrow and a helix through points at its radius; the pane has direction, point and pitch. A picked
    joint leads where there are several freedoms, and its child is seen from its parent."""
    with posed("bennett") as (window, session):
        window.state.pick_path("bennett:link2")
        window.key("I", CTRL)
        settled(window, session)
        motions = session.free_motions
        assert motions is not None
        rows = dict(velocities.screws(window.state, motions))
        led = motions.led()
        assert led.weights is not None
        screw = motions.screw("bennett:link2", led)
        assert rows["link2 from ground"] == "a screw" and rows["pitch"] == f"{screw.pitch:.6g} m/rad"
        ends = drawn(window)[SCREW]
        assert np.linalg.norm(np.cross(ends[0, 1] - ends[0, 0], screw.direction)) < CLOSED_FORM
        off = ends[-1, 1] - screw.point
        radius = np.linalg.norm(off - (off @ screw.direction) * screw.direction)
        assert radius == pytest.approx(0.06 * window.state.scene.size)
    with posed("seven_axis_arm") as (window, session):
        window.key("I", CTRL)
        settled(window, session)
        assert "Pick a joint or a body" in window.state.panels.message
        motions = session.free_motions
        assert motions is not None and velocities.screws(window.state, motions) == [("screw", velocities.PICK)]
        joint = window.state.mechanism.joints[AXIS]
        window.state.pick_path(joint.child.body)
        assert velocities.screws(window.state, motions)[0][1].startswith("7 freedoms: drag a body")
        window.state.pick_path(AXIS)
        rows = velocities.screws(window.state, motions)
        assert rows[0] == ("motion", f"of {AXIS}, all else as little as may be")
        assert [text for name, text in rows if name == "turns by"] == ["1 rad for 1 rad of axis4"] * 2
        child, parent = (end.body.rpartition(":")[2] for end in (joint.child, joint.parent))
        assert f"{child} from {parent}" in dict(rows)


def test_ellipsoids_are_drawn_at_the_point_that_was_picked() -> None:
    """Of one freedom a line; of more a closed curve of the velocities' size, beside that of forces; selected joints are
    inputs."""
    with posed("four_bar") as (window, session):
        window.state.pick_path(COUPLER)
        window.key("I", CTRL_SHIFT)
        settled(window, session)
        motions = session.free_motions
        assert motions is not None
        lines = drawn(window)
        assert len(lines[VELOCITY_ELLIPSE]) == len(lines[FORCE_ELLIPSE]) == 1
        pin = session._bench.poses[COUPLER][1]
        for ends in lines.values():
            assert ends[0].mean(0) == pytest.approx(pin, abs=1e-6)  # a pose as (7,)
        half = np.linalg.norm(lines[VELOCITY_ELLIPSE][0, 1] - pin)
        assert half == pytest.approx(0.2 * window.state.scene.size * 0.2 / motions.length, rel=1e-6)
        rows = dict(velocities.ellipsoid(window.state, motions))
        assert rows["velocities [m/s]"] == "0.2" and rows["forces [N]"] == "5" and rows["condition"] == "1"
        assert rows["inputs"] == "crank_pivot: 1 rad/s, 1 N m" and rows["point [m]"].endswith("its origin")
        window.state.selection.select("four_bar:rocker_pivot", on=True)
        assert dict(velocities.ellipsoid(window.state, motions))["inputs"].startswith("rocker_pivot")
        window.state.mark = np.array([0.3, 0.0, -0.3])
        assert "the mark" in dict(velocities.ellipsoid(window.state, motions))["point [m]"]
    with posed("seven_axis_arm") as (window, session):
        hand = window.state.study.nodes[-1]
        window.state.pick_path(hand)
        window.key("I", CTRL_SHIFT)
        settled(window, session)
        motions = session.free_motions
        assert motions is not None
        one = motions.ellipsoid(hand, motions.origins[motions.bodies[hand]])
        assert one is not None and len(one.sizes) == 3
        ends = drawn(window)[VELOCITY_ELLIPSE]
        longest = np.linalg.norm(ends - one.point, axis=2).max()
        assert longest == pytest.approx(0.2 * window.state.scene.size * one.sizes[0] / motions.length, rel=1e-6)


def test_what_is_drawn_is_in_saved_views(study: ViewedStudy) -> None:
    """Both flags; off at first; where no model is posed the keys say so and change nothing."""
    state = WindowState(MemberScenes(study))
    for name in ("screws", "ellipsoids"):
        actions.run(state, name)
        assert state.panels.message == posing.NOT_POSED
    assert not (saved.document(state)["screws"] or saved.document(state)["ellipsoids"])
    saved.restore(state, {**saved.FORMAT, "screws": True, "ellipsoids": False}, "view")
    assert state.display.drawn("screw") == "visible" and state.display.drawn("ellipsoid") == "hidden"
    assert saved.document(state)["screws"] is True
    with pytest.raises(shiftjax.ModelError, match="view: screws"):
        saved.restore(state, {**saved.FORMAT, "screws": "yes"}, "view")


def test_singular_poses_are_marks_on_sliders() -> None:
    """A parallelogram's at 0 and 180 degrees, found while the hand rests; the tooltip says what they are, a press near
    one leads exactly there, where the loss of rank is told; marks stay, and it goes on from there."""
    with posed(PARALLELOGRAM) as (window, session):
        for _ in range(WAITS):
            session.settle()
        for joint, places in session.singular_places.items():
            assert np.sin([place for place, _ in places]) == pytest.approx(0.0, abs=CLOSED_FORM), joint
            assert {text.partition(":")[0] for _, text in places} == {"crossing"} and len(places) == 2
        window.state.pick_path("bar:coupler")
        window.key("I", CTRL)
        settled(window, session)
        box = ui.item_boxes["slider:bar:crank_pivot"]
        low, high = session.ranges["bar:crank_pivot"]
        grab = 6.0  # half of it is left at either end
        x = box.x + grab + (0.0 - low) / (high - low) * (box.width - 2.0 * grab) + 1.0
        window.screen.mouse_move(x, box.y + 5.0)
        window.frames(HOVERS)
        window.screen.mouse_button("Left", x, box.y + 5.0, NONE, 0.0, down=True)
        window.frames(3)
        session.settle()
        window.screen.mouse_button("Left", x, box.y + 5.0, NONE, 0.1, down=False)
        window.frames(3)
        settled(window, session)
        assert abs(session._bench.values["bar:crank_pivot"]) < CLOSED_FORM
        motions = session.free_motions
        assert motions is not None and motions.lost
        assert "lose rank" in dict(velocities.screws(window.state, motions))["motion"]
        for _ in range(WAITS):
            session.settle()
        assert len(session.singular_places["bar:crank_pivot"]) == 2
        session.do("turn('crank_pivot', 0.5)")
        settled(window, session)
        assert session._bench.values["bar:rocker_pivot"] == pytest.approx(0.5, abs=1e-6)


def test_of_open_loops_no_motion_is_drawn_and_the_pane_says_why(tmp_path: Path) -> None:
    """While what drives goes on beyond what follows; it is drawn again where they close. No file holds such a pose."""
    rest = ["crank_pivot", "crank_pin", "rocker_pin"]
    model = shiftjax.Editor("four_bar").sublinkage("rest", rest, disposition="driven").model
    limit = float(shiftjax.travel("four_bar", "rocker_pivot").high)
    with posed(model) as (window, session):
        window.state.pick_path(COUPLER)
        window.key("I", CTRL)
        for beyond in (-0.1, 0.1, 0.2, -0.2):
            session.do(f"turn('rocker_pivot', {limit + beyond})")
            settled(window, session)
            assert bool(drawn(window)) == (beyond < 0.0)
            assert ("loops that are open" in velocities.unknown(window.state)) == (beyond > 0.0)
            assert "free motions" not in window.state.panels.message, "it is said where they would stand"
            written = exporting.export(window.state, ".dae", tmp_path)
            assert (written is None) == (beyond > 0.0) == ("loops that are open" in window.state.panels.message)


def test_marks_of_a_mechanism_that_was_go_at_once() -> None:
    """A longer coupler leaves none; the search that goes on when it is changed is of no model but its own."""
    with WorkbenchSession(shiftjax.Workbench(PARALLELOGRAM)) as session:
        for _ in range(WAITS):
            session.settle()
        assert len(session.singular_places["bar:crank_pivot"]) == 2
        session.do("set({'bar:coupler:tip.T[0]': 1.4})")
        for _ in range(WAITS):
            session.settle()
            assert session.singular_places == {}
        session.do("undo()")
        leading = ("bar:crank_pivot", "bar:rocker_pivot")
        session._command("singular", lambda: session._find_singular(leading))
        session._command("change", lambda: session.do("set({'bar:coupler:tip.T[0]': 1.4})"))
        for _ in range(WAITS):
            session.settle()
        assert session.singular_places == {}


def test_other_mechanisms_have_no_such_marks() -> None:
    """A crank-rocker has dead points of its rocker alone, and seven freedoms no way along which to look."""
    for model in ("four_bar", "seven_axis_arm"):
        with WorkbenchSession(shiftjax.Workbench(model)) as session:
            for _ in range(WAITS):
                session.settle()
            assert session.singular_places == {} and bool(session.dead_points) == (model == "four_bar")
