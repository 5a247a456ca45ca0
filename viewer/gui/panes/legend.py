"""Legend of the colours in the view: groups of topology, mobility glyphs, arrows of forces, velocities, ghosts by a
metric."""

from __future__ import annotations

from shiftjax.viewer.gui.picture import forces, velocity_shapes
from shiftjax.viewer.gui.state import groups
from shiftjax.viewer.gui.state.colours import SLIDES, TURNS, of_set
from shiftjax.viewer.gui.state.derived.member_paths import MemberPaths, metric_ends
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import colourbar, ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.members.ghost_choice import drawn
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
    limits = metric_ends(state)
    if not name or limits is None or state.explorer.cells:
        return None
    of_paths, of_ghosts = len(state.pane_data(MemberPaths).members), choice.ghosts_on and len(choice.others)
    who = "ghosts and paths" if of_paths and of_ghosts else "paths" if of_paths else "ghosts"
    return (f"{who}: {state.explorer.table.title(name)}", *limits)


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
    rows += velocity_shapes.legend(state)
    choice, words = state.choice, state.pane_data(MemberPaths).words()
    rows += [(None, words)] if words and not state.explorer.cells else []
    if state.explorer.sets and choice.ghosts_on and not choice.colour_by and not state.explorer.cells:
        ghosts = drawn(choice.others)
        drawn_of = {one.name: int(one.mask[ghosts].sum()) for one in state.explorer.sets}
        rows += [(of_set(one.colour), f"set {one.name}: {drawn_of[one.name]} of {int(one.mask.sum()):,} as ghosts")
                 for one in state.explorer.sets if drawn_of[one.name]]  # fmt: skip
    return rows
