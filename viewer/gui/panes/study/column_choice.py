"""A button with the list of all columns of a study, to choose some of them."""

from __future__ import annotations

from collections.abc import Collection

from shiftjax.viewer.gui.panes import ui
from shiftjax.viewer.gui.panes.bundle import imgui
from shiftjax.viewer.gui.state.explorer import Explorer


def changed(explorer: Explorer, label: str, title: str, chosen: Collection[str], item: str) -> list[str] | None:
    """The columns chosen in this frame, in the order of the table; None where nothing was changed.

    Args:
        label: of the button. title: of its list. item: what the name of each box begins with, before `:NAME`.
    """
    found = None
    if imgui.button(label):
        imgui.open_popup(title)
    ui.remember_item(label)
    if imgui.begin_popup(title):
        for name in explorer.table.names:
            clicked, on = imgui.checkbox(explorer.table.title(name), name in chosen)
            ui.remember_item(f"{item}:{name}")
            if clicked:
                found = [n for n in explorer.table.names if (on if n == name else n in chosen)]
        imgui.end_popup()
    return found
