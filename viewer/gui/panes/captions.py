"""Captions of the halves of the view, the design of each and how they differ, and of the cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.viewer.gui.actions.members import beside, grid
from shiftjax.viewer.gui.picture import emptiness
from shiftjax.viewer.gui.state.layout import Box, halves
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

INK, PAPER = imgui.ImVec4(0.08, 0.1, 0.14, 1.0), imgui.ImVec4(0.92, 0.94, 0.97, 0.7)
FRAME = imgui.ImVec4(1.0, 0.55, 0.08, 1.0)  # about the cell of the current member
THIN = imgui.ImVec4(0.92, 0.94, 0.97, 0.4)  # of small cells, where a caption covers more
EDGE = 6.0  # points from the corner


def draw(state: WindowState, view: Box) -> None:
    """A caption over each half or cell, behind all panes."""
    if state.explorer.cells:
        _cells(state, view)
    elif state.beside is None:
        _empty(state, view)
    if state.beside is None:
        return
    for name, box, lines in zip(("left", "right"), halves(view), beside.captions(state, state.beside), strict=True):
        _caption(box, lines)
        ui.item_boxes[f"half:{name}"] = box


def _empty(state: WindowState, view: Box) -> None:
    """Why there is nothing in the view, in its middle."""
    text = emptiness.why_empty(state, (view.width, view.height))
    ui.item_boxes.pop("empty view", None)
    if text:
        text = "\n".join(ui.lines_within(text, view.width - 4 * EDGE))
        size = imgui.calc_text_size(text)
        low = view.x + (view.width - size.x) / 2 - 2 * EDGE, view.y + (view.height - size.y) / 2 - 2 * EDGE
        box = Box(max(low[0], view.x), max(low[1], view.y), size.x + 4 * EDGE, size.y + 4 * EDGE)
        _caption(box, [text])
        ui.item_boxes["empty view"] = box


def _cells(state: WindowState, view: Box) -> None:
    """A caption over each cell, and a frame about that of the member in the panes."""
    cells = grid.halves_of(state)
    for cell, box in zip(cells, grid.boxes(view, len(cells)), strict=True):
        _caption(box, grid.lines(state, cell), THIN)
        ui.item_boxes[f"cell:{cell.member}"] = box
        if cell.member == state.choice.member:
            low, high = imgui.ImVec2(box.x + 1, box.y + 1), imgui.ImVec2(box.x + box.width - 1, box.y + box.height - 1)
            imgui.get_background_draw_list().add_rect(low, high, imgui.get_color_u32(FRAME), thickness=2.0)


def _caption(box: Box, lines: Sequence[str], paper: imgui.ImVec4 = PAPER) -> None:
    text = "\n".join(ui.lines_within("\n".join(lines), box.width - 4 * EDGE))
    size = imgui.calc_text_size(text)
    low = imgui.ImVec2(box.x + EDGE, box.y + EDGE)
    high = imgui.ImVec2(min(low.x + size.x + 2 * EDGE, box.x + box.width), low.y + size.y + 2 * EDGE)
    paint = imgui.get_background_draw_list()
    paint.push_clip_rect(imgui.ImVec2(box.x, box.y), imgui.ImVec2(box.x + box.width, box.y + box.height), True)
    paint.add_rect_filled(low, high, imgui.get_color_u32(paper), EDGE)
    paint.add_text(imgui.ImVec2(low.x + EDGE, low.y + EDGE), imgui.get_color_u32(INK), text)
    paint.pop_clip_rect()
