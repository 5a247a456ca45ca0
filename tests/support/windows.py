"""Windows without a display for tests: of a study, with its pane, and beside a running simulation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shiftjax.viewer.gui.offscreen import Offscreen
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.motion.session import Session
from shiftjax.viewer.scene.scene import FAST, Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

# Of windows whose controls are tried: on a software renderer the scene takes half of the time of a frame.
BARE = dataclasses.replace(FAST, shadows=False, grid=False)
FRAMES = 2000  # drawn at most while something is waited for


@contextmanager
def shown(study: ViewedStudy, size: tuple[int, int]) -> Iterator[Offscreen]:
    """A window of a study, drawn twice."""
    with Offscreen(WindowState(MemberScenes(study), look=BARE), size) as screen:
        screen.frames(2)
        yield screen


@contextmanager
def with_study_pane(study: ViewedStudy, scene: Scene, size: tuple[int, int]) -> Iterator[Offscreen]:
    """A window of a study with the pane of all members open."""
    with Offscreen(WindowState(MemberScenes(study, scene), look=BARE), size) as screen:
        screen.key("F3")
        screen.frames(2)
        yield screen


def open_tab(window: Offscreen, title: str) -> None:
    """Opens a tab of the study pane."""
    window.click(f"tab:{title}")
    window.frames(2)


@contextmanager
def beside_a_run(session: Session, size: tuple[int, int]) -> Iterator[Offscreen]:
    """A window beside a running simulation."""
    scene = MemberScenes(session.history).first
    with Offscreen(WindowState(MemberScenes(session.history, scene), look=BARE, live=session), size) as screen:
        yield screen


def settled(window: Offscreen, session: Session) -> None:
    """Draws when all that was asked of a session, and what its steps asked for in turn, is done."""
    session.settle()
    session.settle()  # what a step asked for comes after it
    window.frames(2)


def draw_until(window: Offscreen, time: float) -> None:
    """Draws until the run gets there [s]."""
    _draw_until(window, lambda: window.state.clock.time >= time)


def draw_while_playing(window: Offscreen) -> None:
    """Draws until the window plays no more: a run that cannot go on ends in its thread, some frames later."""
    _draw_until(window, lambda: not window.state.clock.playing)


def _draw_until(window: Offscreen, reached: Callable[[], bool]) -> None:
    for _ in range(FRAMES):
        if reached():
            return
        window.frames()
    raise AssertionError(f"the run stands at {window.state.clock.time} s: {window.state.panels.messages}")
