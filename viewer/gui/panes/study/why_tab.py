"""What makes the selected members different: how far each varied number and each metric is shifted, as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shiftjax.viewer.gui.state.derived.comparison import Comparison
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members.differences import Difference

BESIDE = 760.0  # room from which both blocks stand side by side [points]
NAME, BAR, FIGURE = 180.0, 110.0, 64.0  # widths of a name, of bars at least, of a figure [points]
DIGITS = 4  # of means
LOWER, HIGHER = imgui.ImVec4(0.35, 0.6, 0.95, 0.9), imgui.ImVec4(1.0, 0.55, 0.08, 0.95)
AXIS = imgui.ImVec4(0.8, 0.8, 0.85, 0.8)
NEITHER = "nothing to compare: select some of the members shown, but not all"
FLAGS = int(
    imgui.TableFlags_.row_bg | imgui.TableFlags_.borders_inner_v | imgui.TableFlags_.scroll_y
    | imgui.TableFlags_.sizing_fixed_fit
)  # fmt: skip
HELP = (
    "shift: the difference of the means in standard deviations (pooled).\n"
    "rank: the chance that one of these is above one of the others, 0.5 where neither is (Mann-Whitney).\n"
    "A click on a row opens the histogram of its number."
)


def draw(state: WindowState) -> None:
    comparison = state.pane_data(Comparison)
    whole = comparison.look(state)
    state.panels.unfinished |= not whole
    imgui.text_unformatted(comparison.words + ("" if whole else ", being compared"))
    ui.remember_item("compared")
    ui.hint("bars: lower or higher than the others, in standard deviations")
    imgui.set_item_tooltip(HELP)
    design, metrics = comparison.of(list(state.study.design)), comparison.of(list(state.study.metrics))
    if not any(one.count and one.others for one in (*design, *metrics)):
        ui.wrapped(NEITHER, faint=True)
        ui.remember_item("nothing to compare")
        return
    room, gap = imgui.get_content_region_avail(), imgui.get_style().item_spacing
    together = room.x >= state.panels.zoom * BESIDE
    size = imgui.ImVec2((room.x - gap.x) / 2, room.y) if together else imgui.ImVec2(room.x, (room.y - gap.y) / 2)
    longest = max([1.0, *(abs(one.shift) for one in (*design, *metrics) if math.isfinite(one.shift))])
    _block(state, "varied number", design, longest, size)
    if together:
        imgui.same_line()
    _block(state, "metric", metrics, longest, size)


def _block(state: WindowState, title: str, rows: Sequence[Difference], longest: float, size: imgui.ImVec2) -> None:
    """A table of columns, the most different first.

    Args:
        longest: the shift that fills half of a cell.
    """
    zoom, explorer = state.panels.zoom, state.explorer
    names = zoom * NAME
    with_means = size.x > names + zoom * (BAR + 4.5 * FIGURE)
    heads = [title, "lower   |   higher", "shift", "rank", *(("mean here", "of others") if with_means else ())]
    if not imgui.begin_table(f"differences of {title}", len(heads), FLAGS, size):
        return
    fixed, stretched = int(imgui.TableColumnFlags_.width_fixed), int(imgui.TableColumnFlags_.width_stretch)
    imgui.table_setup_scroll_freeze(0, 1)
    for k, head in enumerate(heads):
        imgui.table_setup_column(
            head, stretched if k == 1 else fixed, 1.0 if k == 1 else names if not k else zoom * FIGURE
        )
    imgui.table_headers_row()
    for one in rows:
        _row(explorer, one, longest, with_means=with_means)
    imgui.end_table()


def _row(explorer: Explorer, one: Difference, longest: float, *, with_means: bool) -> None:
    imgui.push_id(one.column)
    imgui.table_next_row()
    imgui.table_next_column()
    spans = int(imgui.SelectableFlags_.span_all_columns)
    clicked, _ = imgui.selectable(explorer.short(one.column), False, spans)
    ui.remember_item(f"why:{one.column}")
    imgui.set_item_tooltip(words(explorer, one))
    if clicked:
        explorer.bars, explorer.fit = one.column, True
        explorer.open_tab("histogram")
    imgui.table_next_column()
    _bar(one, longest)
    ui.remember_item(f"bar:{one.column}")
    for figure in (f"{one.shift:+.2f}", f"{one.rank:.3f}", f"{one.mean:.{DIGITS}g}", f"{one.other:.{DIGITS}g}")[
        : 4 if with_means else 2
    ]:
        imgui.table_next_column()
        imgui.text_unformatted("-" if figure in ("nan", "+nan") else figure)
    imgui.pop_id()


def words(explorer: Explorer, one: Difference) -> str:
    """A difference in a sentence."""
    unit = explorer.table.unit(one.column)
    means = f"means {one.mean:.{DIGITS}g} and {one.other:.{DIGITS}g}{f' {unit}' if unit else ''}"
    return f"{explorer.table.title(one.column)}\n{means}, of {one.count:,} and {one.others:,} members with a number"


def _bar(one: Difference, longest: float) -> None:
    """From the middle of the cell to the left where the group is lower, to the right where it is higher."""
    corner, line = imgui.get_cursor_screen_pos(), imgui.get_text_line_height()
    wide = imgui.get_content_region_avail().x
    middle, part = corner.x + wide / 2, 0.0 if math.isnan(one.shift) else max(min(one.shift / longest, 1.0), -1.0)
    paint, end = imgui.get_window_draw_list(), middle + part * wide / 2
    colour = imgui.get_color_u32(HIGHER if one.higher else LOWER)
    inner = 0.15 * line
    paint.add_rect_filled(
        imgui.ImVec2(min(middle, end), corner.y + inner),
        imgui.ImVec2(max(middle, end), corner.y + line - inner),
        colour,
    )
    paint.add_line(imgui.ImVec2(middle, corner.y), imgui.ImVec2(middle, corner.y + line), imgui.get_color_u32(AXIS))
    imgui.dummy(imgui.ImVec2(max(wide, 1.0), line))
