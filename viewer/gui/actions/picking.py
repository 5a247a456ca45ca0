"""The pick and the selection: what is under the cursor, behind it, above it. No GL, no GUI library."""

from __future__ import annotations

from shiftjax.viewer.gui.actions.members import beside
from shiftjax.viewer.gui.state.selection import Hit
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import TRIED


def escape(state: WindowState) -> None:
    """Closes what lies over the view, else ends what takes long, leaves manipulation, drops the pick or stops
    following."""
    if state.panels.close():
        return
    if state.hand is not None and state.hand.doing:
        state.hand.cancel()
        return
    if state.selection.mode == "draw":
        state.drawn = None
        state.set_mode("manipulate")
    elif state.selection.mode == "manipulate":
        state.set_mode("navigate")
    elif state.selection.pick is not None:
        state.pick_path(None)
    else:
        state.view.unfollow(state.poses())


def clear_selection(state: WindowState) -> None:
    """Empties the selection, except while manipulating."""
    if state.selection.mode == "navigate":
        state.selection.selected.clear()


def select_pick(state: WindowState, *, on: bool) -> None:
    if state.selection.pick is not None:
        state.selection.select(state.selection.pick, on=on)


def pick_parent(state: WindowState) -> None:
    """Picks the body of a frame, the parent body of a joint, the assembly of a body."""
    if state.selection.pick is None:
        return
    joint = state.mechanism.joints.get(state.selection.pick)
    parent = joint.parent.body if joint is not None else state.selection.pick.rpartition(":")[0]
    if parent:
        state.pick_path(parent)


def cycle(state: WindowState, by: int) -> None:
    """Picks the next or previous item under the last click, and fades those in front of it."""
    if not state.selection.stack:
        return
    paths = [hit.path for hit in state.selection.stack]
    at = paths.index(state.selection.pick) if state.selection.pick in paths else -1 if by > 0 else 0
    k = (at + by) % len(paths)
    state.pick_path(paths[k], state.selection.stack[k].point)
    state.selection.faded = frozenset(path for path in paths[:k] if path is not None)


def pick_at(state: WindowState, hit: Hit) -> None:
    """Picks the item; a ghost becomes the member shown, in the half under the cursor, and the pick stays."""
    if hit.member == TRIED:
        return
    if hit.member is None:
        state.pick_path(hit.path, hit.point)
    elif state.hovered_half is not None:
        beside.show(state, state.hovered_half, hit.member)
    else:
        state.show_member(hit.member)


def toggle_at(state: WindowState, hit: Hit) -> None:
    if hit.path is not None:
        state.selection.select(hit.path, on=hit.path not in state.selection.selected)


def centre_at(state: WindowState, hit: Hit) -> None:
    if hit.point is not None:
        state.view.unfollow(state.poses())
        state.view.camera = state.view.camera.looking_at(hit.point)


def pick_behind(state: WindowState, hit: Hit) -> None:
    """The next item under this click; at another position, the nearest one."""
    cycle(state, 1)


def toggle_mode(state: WindowState) -> None:
    """Navigates or manipulates."""
    state.set_mode("manipulate" if state.selection.mode == "navigate" else "navigate")
