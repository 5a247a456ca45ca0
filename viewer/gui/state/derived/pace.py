"""How long the window waits for its next frame: what moves is drawn at the screen's rate, what does not is not drawn.

No GL, no GUI library.
"""

from __future__ import annotations

import math

from shiftjax.viewer.gui.state.derived.member_paths import MemberPaths
from shiftjax.viewer.gui.state.state import WindowState

SETTLE = 0.7  # s after an event in which frames go on: tooltips come after 0.5 s, a click takes several frames
BLINK = 0.2  # s between frames while a text box has the focus: its cursor blinks
WATCH = 1 / 15  # s between frames while something that sends no events may change the picture


class FramePace:
    """Time from frame to frame.

    Attributes:
        stirred: time of the latest event [s].
    """

    def __init__(self) -> None:
        self.stirred = -math.inf

    def interval(self, state: WindowState, screen: float, now: float, *, typing: bool) -> float:
        """Seconds from the last frame to the next; infinite where nothing changes before the next event.

        Args:
            screen: pictures a second of the screen.
            now: [s], on the clock of `stirred`.
            typing: whether a text box has the focus.
        """
        if state.recording is not None:
            return 1 / state.recording.rate
        if moving(state) or now - self.stirred < SETTLE:
            return 1 / min(screen, state.panels.rate or screen)
        if watched(state):
            return WATCH
        return BLINK if typing else math.inf


def moving(state: WindowState) -> bool:
    """Whether the picture changes by itself."""
    running = state.live is not None and state.live.running
    return state.clock.playing or running or state.panels.unfinished or state.pane_data(MemberPaths).unfinished


def watched(state: WindowState) -> bool:
    """Whether another process, a thread or code of the user may change the picture without an event."""
    trying = state.study.trials is not None and state.study.trials.text()
    return bool(state.live is not None or state.awaited.text or trying or state.panels.user_panels or state.overlays)
