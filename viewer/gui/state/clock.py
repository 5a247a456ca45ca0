"""The time that is shown: playback of stored studies, following of a running simulation. No GL, no GUI library."""

from __future__ import annotations

import math

from shiftjax.viewer.motion.live_run import LiveRun

SLOWEST, FASTEST = 1 / 16, 16.0  # factors of real time


class Clock:
    """The current time and how it advances.

    Attributes:
        time: [s]; playing, speed, looping: of playback.
    """

    def __init__(self, time: float) -> None:
        self.time, self.playing, self.speed, self.looping = time, False, 1.0, True
        self._was_running = False  # whether the simulation was running at the last update
        self._outdated_revision = -1  # revision of its history until later instants have been removed
        self._end = time  # end of the running simulation at the last update [s]

    def advance(self, dt: float, span: tuple[float, float]) -> None:
        """Plays for `dt` [s] of wall time within a span [s]; stops at its end unless looping."""
        first, last = span
        if not self.playing or not last > first:
            return
        time = self.time + dt * self.speed
        if time <= last:
            self.time = max(time, first)
        elif self.looping:
            self.time = first + math.fmod(time - first, last - first)
        else:
            self.time, self.playing = last, False

    def follow(self, live: LiveRun, span: tuple[float, float], revision: int) -> str:
        """Advances with a running simulation; playing from an earlier instant continues it from there.

        Args:
            span: of its history [s]; revision: of its history.

        Returns:
            A message, or "".
        """
        live.speed = self.speed
        first, last = span
        if live.posing and self.playing and not live.running:
            live.play(self.time)
            self.playing = live.running
        ran, self._was_running = self._was_running, live.running
        if live.running and self._outdated_revision == revision:
            return ""  # the thread has not removed the later instants yet
        self._outdated_revision = -1
        message = ""
        if ran and not live.running:  # it has ended
            self.playing, self.time = False, last
        elif self.playing and not live.running:
            if live.ended and self.time >= last:
                self.playing, message = False, live.ended
            else:
                self._outdated_revision = revision if self.time < last else -1
                live.play(self.time)
                self._was_running = True
                return ""
        elif live.running and not self.playing:
            live.pause()
            self._was_running = False
        at_end = live.running or self.time >= self._end
        self.time, self._end = last if at_end else min(max(self.time, first), last), last
        return message

    def go_to(self, time: float, span: tuple[float, float]) -> None:
        """Sets the time, within a span [s]."""
        self.time = min(max(float(time), span[0]), span[1])

    def set_speed(self, speed: float) -> None:
        """Sets the speed of playback, within SLOWEST and FASTEST."""
        self.speed = min(max(float(speed), SLOWEST), FASTEST)
