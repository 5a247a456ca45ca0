"""What the ghost under the cursor is: its member, the numbers in which it differs from the one shown, and a metric."""

from __future__ import annotations

from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.design_sliders import TRIED, DesignSliders
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.study import design_views


def draw(state: WindowState) -> None:
    """A tooltip beside the cursor where a ghost is under it."""
    text = "\n".join(lines(state))
    if text:
        imgui.set_tooltip(text)
        at, size = imgui.get_mouse_pos(), imgui.calc_text_size(text)
        ui.item_boxes["tooltip"] = Box(at.x, at.y, size.x, size.y)


def lines(state: WindowState) -> list[str]:
    """The lines about the ghost under the cursor; none where there is no ghost.

    The metric is the one that colours the ghosts, else the first.
    """
    member, right = state.selection.hovered.member, state.hovered_half
    if member is None:
        return []
    tried = state.pane_data(DesignSliders).tried
    if member == TRIED:
        return design_views.captions(tried, Design(state.scenes, state.choice.member)) if tried is not None else []
    shown = right.design if right is not None else Design(state.scenes, state.choice.member)
    metric = state.choice.colour_by or next(iter(state.study.metrics), "")
    return [*design_views.captions(Design(shown.scenes, member), shown, metric), "click to show it"]
