"""The panes of the window, drawn from the state; clicks change the state through actions."""

from __future__ import annotations

from pathlib import Path

from shiftjax.viewer.gui.actions import actions, undoing
from shiftjax.viewer.gui.actions.members import trying
from shiftjax.viewer.gui.actions.saving import exporting, saved
from shiftjax.viewer.gui.actions.saving import reopening as replacing
from shiftjax.viewer.gui.panes import (
    borders,
    captions,
    command_list,
    endings,
    gizmo,
    labels,
    propertypane,
    statusbar,
    timeline,
    tooltips,
    treepane,
    windows,
)
from shiftjax.viewer.gui.panes.study import pane
from shiftjax.viewer.gui.state import keys
from shiftjax.viewer.gui.state.layout import PaneLayout, halves, layout
from shiftjax.viewer.gui.state.panels import RATES
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import buttons, ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.movie import MOVIES
from shiftjax.viewer.scene.camera import VIEWS
from shiftjax.viewer.study import recent

MECHANISM = (
    "undo", "redo", "", "draw", "pin", "add_joint", "move_joint", "", "invert", "merge", "split", "reattach_parent",
    "reattach_child", "make_tree", "make_closure", "ground", "root", "rename", "remove", "", "lock", "target",
    "posture", "keep", "release", "settle", "", "flip", "show_other", "travel", "curve", "mark", "", "pose",
    "save_model", "save_trajectory", "variants", "console",
)  # fmt: skip
EDIT = ("undo", "redo", "", "select", "deselect", "clear_selection", "", "hide", "translucent", "isolate", "show_all")
LOOK = ("frame_all", "frame_pick", "follow_pick", "", "keep_camera", "kept_camera", "copy_camera")
MEMBERS = (
    "next_member", "previous_member", "colour_by", "", "exchange", "beside_camera", "", "typical", "explore",
    "more_like",
)  # fmt: skip
FILE_WIDTH = 170.0  # of the box of a view's file [points]


def draw(state: WindowState, width: float, height: float) -> PaneLayout:
    """Draws everything around the view and returns the layout. Called once a frame, after new_frame."""
    ui.item_boxes.clear()
    menu = _menus(state)
    explorer, panels = state.explorer, state.panels
    panels.unfinished = False
    trying.look(state)
    boxes = layout(
        width, height, menu, panels.sizes, panes=panels.panes_on, sides=panels.sides_on, zoom=panels.zoom,
        study=explorer.shown_on, rows=panels.rows,
    )  # fmt: skip
    if panels.panes_on:
        borders.draw(panels, boxes)  # first: of fixed windows the oldest is on top
        timeline.draw(state, boxes.timeline)
        if panels.sides_on:
            treepane.draw(state, boxes.tree)
            propertypane.draw(state, boxes.properties)
    if explorer.shown_on:
        pane.draw(state, boxes.study)
    statusbar.draw(state, boxes.status, boxes.view)
    if not explorer.cells:
        labels.draw(state, boxes.view if state.beside is None else halves(boxes.view)[0])
    captions.draw(state, boxes.view)
    endings.draw(state, boxes.view)
    if not explorer.cells:
        gizmo.draw(state, halves(boxes.view)[0] if state.beside is not None else boxes.view)
    windows.draw(state, boxes.view)
    command_list.draw(state, boxes.view)
    tooltips.draw(state)
    for name in panels.clicked:
        actions.run(state, name)
    panels.clicked.clear()
    undoing.look(state, imgui.get_io().delta_time, pressed=imgui.is_any_mouse_down())
    return boxes


def _menus(state: WindowState) -> float:
    """The menu bar; returns its height."""
    if not imgui.begin_main_menu_bar():
        return 0.0
    height = imgui.get_window_height()
    third = ("Mechanism", _mechanism) if state.hand is not None else ("Members", _members)
    for title, lines in (("File", _file), ("Edit", _edit), ("View", _view), third, ("Help", _help)):
        is_open = imgui.begin_menu(title)
        ui.remember_item(f"menu:{title}")
        if is_open:
            lines(state)
            imgui.end_menu()
    imgui.end_main_menu_bar()
    return height


def _lines(state: WindowState, names: tuple[str, ...]) -> None:
    for name in names:
        if name:
            buttons.menu_item(state, name)
        else:
            imgui.separator()


def _file(state: WindowState) -> None:
    imgui.text_disabled(state.study.where)
    _open(state)
    buttons.menu_item(state, "screenshot")
    buttons.menu_item(state, "record", on=state.recording is not None)
    if imgui.begin_menu("Record as"):
        for kind in MOVIES:
            if imgui.menu_item_simple(kind[1:].upper(), "", state.panels.record_as == kind):
                state.panels.record_as = kind
            ui.remember_item(f"record_as:{kind}")
        imgui.end_menu()
    ui.remember_item("menu:Record as")
    if imgui.begin_menu("Export"):
        for kind in exporting.KINDS:
            if imgui.menu_item_simple(exporting.label(state, kind), "", False):
                exporting.export(state, kind)
            ui.remember_item(f"export:{kind}")
        imgui.end_menu()
    ui.remember_item("menu:Export")
    imgui.separator()
    _saved(state)
    _lines(state, ("", "quit"))


def _open(state: WindowState) -> None:
    """Another study in place of this one: a box for its name, and below it the names that complete it."""
    if imgui.begin_menu("Open...", state.live is None):
        imgui.set_next_item_width(FILE_WIDTH)
        flags = int(imgui.InputTextFlags_.enter_returns_true)
        entered, state.panels.study = imgui.input_text_with_hint(
            "##study file", replacing.HINT, state.panels.study, flags
        )
        ui.remember_item("study file")
        matches = replacing.names(state)
        chosen = state.panels.study if entered else ""
        for name in matches:
            chosen = name if imgui.menu_item_simple(name) else chosen
            ui.remember_item(f"open:{name}")
        if not matches:
            imgui.text_disabled("no stored study of that name here")
        chosen = _recent(state) or chosen
        if chosen and replacing.replace(state, chosen):
            imgui.close_current_popup()
        imgui.end_menu()
    ui.remember_item("menu:Open...")


def _recent(state: WindowState) -> str:
    """Studies that were shown lately; the path of the one that was chosen."""
    chosen, here = "", Path(state.study.where).absolute()
    others = [path for path in recent.studies() if path != here]
    if others:
        imgui.separator_text("shown lately")
    for path in others:
        if imgui.menu_item_simple(f"{path.name}##{path}"):
            chosen = str(path)
        ui.remember_item(f"recent:{path.name}")
        imgui.set_item_tooltip(str(path))
    return chosen


def _saved(state: WindowState) -> None:
    """A view to save or to open, by the name of its file."""
    explorer = state.explorer
    imgui.set_next_item_width(FILE_WIDTH)
    _, explorer.file = imgui.input_text_with_hint("##view file", saved.HINT, explorer.file)
    ui.remember_item("view file")
    for words, action in (("save this view", saved.save_here), ("open a view", saved.open_here)):
        if imgui.menu_item_simple(words):
            action(state)
        ui.remember_item(f"menu:{words}")


def _edit(state: WindowState) -> None:
    _lines(state, EDIT)


def _mechanism(state: WindowState) -> None:
    _lines(state, MECHANISM)
    imgui.separator()
    for name, kind in (("screws", "screw"), ("ellipsoids", "ellipsoid")):
        buttons.menu_item(state, name, on=state.display.drawn(kind) != "hidden")


def _view(state: WindowState) -> None:
    if imgui.begin_menu("Standard views"):
        _lines(state, tuple(VIEWS))
        imgui.end_menu()
    _lines(state, LOOK)
    imgui.separator()
    buttons.menu_item(state, "orthographic", on=state.view.camera.orthographic)
    for name, kind in (("frames", "frame"), ("centres", "centre"), ("joints", "joint")):
        buttons.menu_item(state, name, on=state.display.drawn(kind) != "hidden")
    for name, kind in (("routes", "route"), ("glyphs", "glyph"), ("forces", "force"), ("names", "name")):
        buttons.menu_item(state, name, on=state.display.drawn(kind) != "hidden")
    buttons.menu_item(state, "grouping", on=bool(state.grouping))
    buttons.menu_item(state, "arrows", on=state.arrows_on)
    buttons.menu_item(state, "shadows", on=state.look.shadows)
    buttons.menu_item(state, "instants", on=state.study.at_instants)
    buttons.menu_item(state, "trace", on=state.view.trace is not None)
    buttons.menu_item(state, "traces", on=state.choice.traces_on)
    imgui.separator()
    buttons.menu_item(state, "panes", on=state.panels.panes_on)
    buttons.menu_item(state, "study", on=state.explorer.shown_on)
    buttons.menu_item(state, "info", on=state.panels.info_on)
    buttons.menu_item(state, "fullscreen")
    buttons.menu_item(state, "dump_display")
    imgui.set_next_item_width(140)
    changed, rate = imgui.slider_float("frames a second at most, 0: the screen's", state.panels.rate, *RATES, "%.0f")
    ui.remember_item("rate")
    if changed:
        state.panels.set_rate(rate)
    imgui.set_next_item_width(140)
    hue = state.selection.hue
    moved, hue = imgui.slider_float("hue of the highlight", -0.01 if hue is None else hue, -0.01, 1.0, "%.2f")
    ui.remember_item("hue")
    if moved:
        state.selection.hue = None if hue < 0 else hue


def _members(state: WindowState) -> None:
    buttons.menu_item(state, "ghosts", on=state.choice.ghosts_on)
    buttons.menu_item(state, "ghost_outlines", on=state.choice.outlined)
    buttons.menu_item(state, "beside", on=state.beside is not None)
    buttons.menu_item(state, "grid", on=bool(state.explorer.cells))
    _lines(state, MEMBERS)


def _help(state: WindowState) -> None:
    buttons.menu_item(state, "help", on=state.panels.help_on)
    buttons.menu_item(state, "commands")
    buttons.menu_item(state, "dump_keys")
    for name in keys.MAPS:
        if imgui.menu_item_simple(f"keys: {name}", "", state.map == name):
            state.map = name
        ui.remember_item(f"map:{name}")
