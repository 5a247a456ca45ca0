"""Designs beside the members of a stored study: sliders, a design by hand, more members like some. No GL, no GUI
library.

The window never waits: a design is asked for, and shown when it has come.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.viewer.gui.state.panels import OPEN
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import DesignSliders
from shiftjax.viewer.members.study_like import Design, StudyLike, Trial, Trials

TAB = "designs"
NOT_STORED = "a stored study, whose designs can be simulated: this is a run that goes on, or a result in memory"


def trials_of(state: WindowState) -> Trials | None:
    """Designs beside the study's members; None, with a message, where there can be none."""
    trials = state.study.trials
    if trials is None:
        state.say(f"Sliders of designs need {NOT_STORED}.")
    elif not trials.ranges:
        state.say(f"{state.study.where}: no number varies in it, so that there are no sliders.")
        return None
    return trials


def explore(state: WindowState) -> None:
    """Opens the sliders of all varied numbers, at the member shown."""
    if trials_of(state) is None:
        return
    state.explorer.shown_on = True
    state.explorer.open_tab(TAB)
    begin(state, state.choice.member)


def begin(state: WindowState, member: int) -> None:
    """The sliders at a member; a design that was tried before goes."""
    if trials_of(state) is None:
        return
    sliders = state.pane_data(DesignSliders)
    sliders.begin(state.study, member)
    forget(state)


def change(state: WindowState, path: str, value: float) -> None:
    """A number of the design: the nearest member is shown, or the design is simulated."""
    sliders = state.pane_data(DesignSliders)
    if not np.isfinite(value):
        state.say(f"{path}: {value} is no number that a design can have", "design")
        return
    state.panels.solved("design")
    sliders.values = {**sliders.values, path: value}
    apply(state)


def apply(state: WindowState) -> None:
    """What the sliders say, shown as they stand."""
    sliders = state.pane_data(DesignSliders)
    sliders.find_nearest(state.study)
    sliders.wanted = sliders.simulates
    if sliders.simulates:
        assert state.study.trials is not None
        state.study.trials.simulate(sliders.like, sliders.values)
    elif sliders.nearest is not None and sliders.nearest[0] != state.choice.member:
        state.show_member(sliders.nearest[0])


def simulate(state: WindowState, *, on: bool) -> None:
    """Whether designs are simulated exactly, or the nearest member is shown."""
    sliders = state.pane_data(DesignSliders)
    sliders.simulates = on
    if not on:
        forget(state)
    apply(state)


def forget(state: WindowState) -> None:
    """Takes the design by hand out of the picture; one that is being simulated does not come into it."""
    sliders = state.pane_data(DesignSliders)
    if state.study.trials is not None:
        state.study.trials.forget()
    if state.beside is not None and sliders.tried is not None and state.beside.study is sliders.tried.study:
        state.beside = None
    sliders.tried, sliders.tried_at, sliders.problem, sliders.wanted = None, {}, "", False


def beside(state: WindowState) -> None:
    """The design by hand in the right half of the view; there, one view again."""
    tried = state.pane_data(DesignSliders).tried
    if tried is None:
        state.say("No design was simulated yet: move a slider first.")
    elif state.beside is not None and state.beside.study is tried.study:
        state.beside = None
    else:
        state.beside = RightHalf(tried)


def written(state: WindowState) -> dict[str, Any] | None:
    """Where the sliders stand, as a view is saved; None where they have not begun."""
    sliders = state.pane_data(DesignSliders)
    if state.study.trials is None or sliders.like < 0:
        return None
    words = {"like": sliders.like, "simulates": sliders.simulates, "shown": sliders.wanted}
    return {**words, "values": {**sliders.values}}


def restore(state: WindowState, saved: dict[str, Any] | None) -> None:
    """The sliders as `written` says; a design that was shown is simulated again."""
    forget(state)
    if saved is None:
        state.pane_data(DesignSliders).like = -1  # they begin at the member shown when they are opened
        return
    sliders = state.pane_data(DesignSliders)
    sliders.like, sliders.simulates, sliders.values = saved["like"], saved["simulates"], {**saved["values"]}
    sliders.find_nearest(state.study)
    if saved["shown"]:
        apply(state)


def look(state: WindowState) -> None:
    """Shows what has come since the last frame."""
    trials, sliders = state.study.trials, state.pane_data(DesignSliders)
    if trials is None:
        return
    trial = trials.trial()
    if trial is not None and sliders.simulates and sliders.like >= 0:
        _take(state, trial)
    if made := trials.made():
        sliders.made, problem = made
        sliders.note = problem or f"{sliders.made}: made, beside a file of the study and one of its model"
        state.say(sliders.note)


def _take(state: WindowState, trial: Trial) -> None:
    """A design that has come, in place of the one before."""
    sliders = state.pane_data(DesignSliders)
    before, sliders.problem = sliders.tried, trial.problem
    sliders.tried, sliders.tried_at = None, {}
    if trial.study is not None:
        try:
            sliders.tried = Design(state.scenes.alike(trial.study), 0)
            sliders.tried_at = trial.design
        except ModelError as error:  # it never started
            sliders.problem = f"{ending(trial.study)}: {trial.study.message(0) or error}"
    right = state.beside
    if right is not None and before is not None and right.study is before.study:
        if sliders.tried is None:
            state.beside = None
        else:
            right.design = sliders.tried


def ending(study: StudyLike) -> str:
    """How the run of a design by hand ended, as the name of a status."""
    return Outcome(int(study.status[0])).name


def open_made(state: WindowState) -> None:
    """The study that was made in place of this one."""
    if state.recording is not None:
        state.say("A movie is being recorded: end it first.")
    else:
        state.panels.requests.append(f"{OPEN}:{state.pane_data(DesignSliders).made}")


def more_like(state: WindowState) -> None:
    """Has a study made of many members within the ranges of those selected, or shown where none is."""
    trials, sliders, explorer = trials_of(state), state.pane_data(DesignSliders), state.explorer
    if trials is None:
        return
    group = explorer.selected if explorer.counts()[1] else explorer.shown
    who = "selected" if explorer.counts()[1] else "shown"
    try:
        if not group.any():
            raise ModelError("more members", "nobody", "members to be like", "Select some.")
        like = state.choice.member if group[state.choice.member] else int(np.flatnonzero(group)[0])
        ranges = trials.more(like, group, sliders.count, Path.cwd())
    except ModelError as error:
        state.say(str(error), "more members")
        return
    state.panels.solved("more members")
    sliders.made = ""
    words = ", ".join(
        f"{explorer.short(name)} {low:.5g}" + (f" to {high:.5g}" if high > low else "")
        for name, (low, high) in ranges.items()
    )
    sliders.note = f"{sliders.count:,} members within the ranges of {int(group.sum()):,} {who}: {words}"
    state.say(sliders.note)
