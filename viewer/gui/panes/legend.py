"""Legend of the colours in the view: groups of topology, mobility glyphs, arrows of forces, ghosts by a metric."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.picture import forces
from shiftjax.viewer.gui.state import groups
from shiftjax.viewer.gui.state.colours import SLIDES, TURNS
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import colourbar, ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members.ghost_choice import drawn
from shiftjax.viewer.scene.ramp import ends
from shiftjax.viewer.scene.scene import Colour

MOST = 24  # groups listed by name


def draw(state: WindowState) -> None:
    """Colours with labels, if anything drawn needs them."""
    rows, bar = lines(state), scale(state)
    if not (rows or bar) or not imgui.collapsing_header("Legend", int(imgui.TreeNodeFlags_.default_open)):
        return
    for k, (colour, words) in enumerate(rows):
        if colour is not None:
            imgui.color_button(f"##{k}", imgui.ImVec4(*colour), 0, imgui.ImVec2(12, 12))
            imgui.same_line()
        imgui.text_wrapped(words)
        ui.remember_item(f"legend:{words}")
    if bar:
        colourbar.level("legend:ghosts", *bar)


def scale(state: WindowState) -> tuple[str, float, float] | None:
    """What the colours of ghosts mean: a metric with its unit, and the numbers at both ends of the ramp."""
    choice, name = state.choice, state.choice.colour_by
    if not name or not choice.ghosts_on or not len(choice.others) or state.explorer.cells:
        return None
    metric = np.asarray(state.study.metrics[name], float)
    title = state.explorer.table.title(name)
    return (f"ghosts: {title}", *ends(metric[drawn(choice.others, metric)]))


def lines(state: WindowState) -> list[tuple[Colour | None, str]]:
    """Colours and labels."""
    rows: list[tuple[Colour | None, str]] = []
    if state.grouping:
        colour_groups = groups.groups(state.mechanism, state.grouping)
        rows += [(group.colour, group.name) for group in colour_groups[:MOST]]
        rows += [(None, f"and {len(colour_groups) - MOST} more")] if len(colour_groups) > MOST else []
    if state.display.drawn("glyph") != "hidden":
        rows += [(TURNS, "can turn"), (SLIDES, "can slide"), (None, "the more solid, the more its loops leave free")]
    if state.display.drawn("force") != "hidden":
        rows += forces.legend(state)
    return rows
