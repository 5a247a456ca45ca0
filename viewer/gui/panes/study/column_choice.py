"""Choices among the columns of a study: a button with the list of all, to choose some; a box, to choose one."""

from __future__ import annotations

from collections.abc import Collection

from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

AXIS = 138.0  # width of the box of an axis [points]


def changed(explorer: Explorer, label: str, title: str, chosen: Collection[str], item: str) -> list[str] | None:
    """The columns chosen in this frame, in the order of the table; None where nothing was changed.

    Args:
        label: of the button. title: of its list. item: what the name of each box begins with, before `:NAME`.
    """
    columns = None
    if imgui.button(label):
        imgui.open_popup(title)
    ui.remember_item(label)
    if imgui.begin_popup(title):
        for name in explorer.table.names:
            clicked, on = imgui.checkbox(explorer.table.title(name), name in chosen)
            ui.remember_item(f"{item}:{name}")
            if clicked:
                columns = [n for n in explorer.table.names if (on if n == name else n in chosen)]
        imgui.end_popup()
    return columns


def axis_width(zoom: float, label: str) -> float:
    """Width of a box for an axis with its label [points]."""
    return imgui.calc_text_size(label).x + imgui.get_style().item_spacing.x + zoom * AXIS


def axis_box(explorer: Explorer, zoom: float, label: str, attribute: str) -> None:
    """A box of all columns for an axis of a plot."""
    names = [*([""] if attribute == "colour" else []), *explorer.table.names]
    shown = [explorer.short(name) if name else "one colour" for name in names]
    imgui.align_text_to_frame_padding()
    imgui.text_unformatted(label)
    imgui.same_line()
    imgui.set_next_item_width(zoom * AXIS)
    changed, at = imgui.combo(f"##{attribute}", names.index(getattr(explorer, attribute)), shown)
    ui.remember_item(f"axis:{attribute}")
    if changed:
        setattr(explorer, attribute, names[at])
        explorer.fit = True
