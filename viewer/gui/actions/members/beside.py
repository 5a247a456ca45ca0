"""The right half of the view: a second design at the time of the first. No GL, no GUI library.

Tree, panes, ghosts and chosen members are those of the left half. Items clicked in the right half are picked by path
and highlighted in both. Both share a camera until the right half gets a separate one: then keys and drags act on the
half under the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shiftjax.errors import ModelError
from shiftjax.viewer.gui.state.right_half import RightHalf
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.members.choice import NO_SETS
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.study import design_views

ONE_HALF = "A running simulation fills the view."


def choose(state: WindowState, right: RightHalf, text: str) -> None:
    """Shows the first member of a choice of the right half's study, when it has come where it is simulated again;
    errors become messages."""
    try:
        sets = state.explorer.table.sets if right.study is state.study else NO_SETS
        drawable = right.study.drawable(right.study.choose(text, sets))
        if not len(drawable.ids):
            state.say(drawable.reason or f"{text}: no member that can be drawn", "choice at the right")
            return
        again = drawable.reason if drawable.ids[0] in drawable.again else ""
        if notes := [note for note in (right.study.assumed(text, sets), again) if note]:
            state.say("; ".join(notes))
        first = right.study.drawable(drawable.ids[:1])
        state.awaited.wish("right", right.study, first, lambda members: _shown(state, right, int(members[0])))
    except ModelError as error:
        state.say(str(error), "choice at the right")


def _shown(state: WindowState, right: RightHalf, member: int) -> None:
    show(state, right, member)
    state.panels.solved("choice at the right")


def show(state: WindowState, right: RightHalf, member: int) -> None:
    """Shows a member in the right half; ModelError if it cannot be drawn."""
    right.study.poses(member, state.clock.time)
    right.design = Design(right.design.scenes, member)


def captions(state: WindowState, right: RightHalf) -> tuple[list[str], list[str]]:
    """Lines over the left half and over the right one."""
    left = Design(state.scenes, state.choice.member)
    key = (left.study, left.member, right.study, right.member, state.choice.colour_by)
    if right.captions[0] != key:
        metric, design = state.choice.colour_by, right.design
        right.captions = (key, design_views.captions(left, design, metric), design_views.captions(design, left, metric))
    _, one, two = right.captions
    return design_views.with_state(one, left, state.clock.time), design_views.with_state(
        two, right.design, state.clock.time
    )


def open_beside(state: WindowState, right: Design) -> None:
    """Shows a design in the right half; if the studies differ, the camera frames both.

    Raises:
        ModelError: beside a running simulation.
    """
    if state.live is not None:
        raise ModelError("beside", "a second design", "one half", ONE_HALF)
    same = right.study is state.study
    state.beside = RightHalf(Design(state.scenes, right.member) if same else right)
    if not same:
        state.view.fit(state.motion())


def toggle(state: WindowState) -> None:
    """Shows the next chosen member in the right half, or closes it; a study closed before is opened again."""
    if state.beside is not None:
        state.closed_beside, state.beside = state.beside.design, None
        state.go_to(state.clock.time)  # the other run may have been longer
        return
    if state.live is not None:
        state.say(ONE_HALF)
        return
    if state.closed_beside is not None and state.closed_beside.study is not state.study:
        state.beside = RightHalf(state.closed_beside)
        return
    if not len(state.choice.others):
        state.say("Nothing to put beside: one member is chosen. Choose more, as `kept`.")
        return
    state.beside = RightHalf(Design(state.scenes, state.choice.neighbour(1)))


def exchange(state: WindowState) -> None:
    """Exchanges left and right member, within one study."""
    right = state.beside
    if right is None or right.study is not state.study:
        state.say("Only two members of one study change places." if right else "There is one half: B makes two.")
        return
    left = state.choice.member
    state.show_member(right.member)
    show(state, right, left)


def own_camera(state: WindowState) -> None:
    """Gives the right half a separate camera, or that of the left half again."""
    if state.beside is None:
        state.say("There is one half: B makes two.")
        return
    state.beside.camera = None if state.beside.camera is not None else state.current_camera()
    state.say("two cameras" if state.beside.camera is not None else "one camera")


@contextmanager
def under_cursor(state: WindowState) -> Iterator[None]:
    """Within the context the camera of the state is that of the half under the cursor."""
    right = state.beside
    if right is None or right.camera is None or not right.hovered:
        yield
        return
    left, followed = state.view.camera, state.view.followed
    state.view.camera, state.view.followed = right.camera, None
    try:
        yield
        if state.view.followed is not None:
            state.say("Bodies are followed at the left only.")
    finally:
        right.camera = state.view.camera if state.beside is right and right.camera is not None else None
        state.view.camera, state.view.followed = left, followed
