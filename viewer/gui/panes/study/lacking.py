"""What a plot of members does not show: how many have no number, or that there is nobody."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.viewer.gui.state.study.explorer import Explorer
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui


def draw(explorer: Explorer, names: Sequence[str]) -> None:
    """A line over a plot of some columns, where members are left out of it or none is shown."""
    shown = explorer.counts()[0]
    text = explorer.left_out(names) if shown else f"nobody is shown: no member with {explorer.expression}"
    if text:
        imgui.text_colored(ui.RED, text)
        ui.remember_item("left out")
        imgui.set_item_tooltip(text)
