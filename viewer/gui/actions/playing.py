"""Time and members: play and pause, stored instants, which of the chosen members is shown. No GL, no GUI library."""

from __future__ import annotations

import math

import numpy as np

from shiftjax.viewer.gui.state.state import WindowState

SINGLE = 1 / 60  # s of a single step of a running simulation


def play(state: WindowState) -> None:
    """Plays or pauses; at the end it restarts."""
    state.clock.playing = not state.clock.playing
    if state.clock.playing and state.clock.time >= state.span[1] and state.live is None:
        state.clock.time = state.span[0]


def step(state: WindowState, by: int) -> None:
    """Pauses at the next or previous stored instant; at its end a running simulation computes the next one."""
    state.clock.playing = False
    times = state.study.time
    if by > 0 and state.live is not None and state.clock.time >= times[-1]:
        state.live.advance(math.inf, SINGLE)
        return
    if state.beside is not None:
        times = np.union1d(times, state.beside.study.time)
    if by > 0:
        k = int(np.searchsorted(times, state.clock.time, side="right"))
    else:
        k = int(np.searchsorted(times, state.clock.time, side="left")) - 1
    state.go_to(float(times[min(max(k, 0), len(times) - 1)]))


def restart(state: WindowState) -> None:
    """Restarts a running simulation; of a stored one returns to the first instant."""
    if state.live is not None:
        state.live.restart()
    state.go_to(state.span[0])


def instants(state: WindowState) -> None:
    """Shows stored instants only, or poses between them too, in both halves."""
    state.study.at_instants = not state.study.at_instants
    if state.beside is not None:
        state.beside.study.at_instants = state.study.at_instants
    state.say("stored instants only" if state.study.at_instants else "poses between stored instants, loops closed")


def next_member(state: WindowState, by: int) -> None:
    """The next of the chosen members, cyclic."""
    state.show_member(state.choice.neighbour(by))


def next_colour(state: WindowState) -> None:
    """Colours ghosts by the next metric; after the last by none."""
    names = ["", *state.study.metrics]
    state.choice.colour_by = names[(names.index(state.choice.colour_by) + 1) % len(names)]
    state.say(f"ghosts coloured by {state.choice.colour_by}" if state.choice.colour_by else "ghosts in one colour")
