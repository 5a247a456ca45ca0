"""The panes of the window, drawn from the state; clicks change the state through actions."""

from __future__ import annotations

from shiftjax.viewer.camera import VIEWS
from shiftjax.viewer.gui import beside, borders, captions, keys, labels, propertypane, treepane, ui, windows
from shiftjax.viewer.gui.bundle import imgui
from shiftjax.viewer.gui.layout import Box, Layout, halves, layout
from shiftjax.viewer.gui.panels import RATES
from shiftjax.viewer.gui.state import State
from shiftjax.viewer.movie import MOVIES

EDIT = ("select", "deselect", "clear_selection", "", "hide", "translucent", "isolate", "show_all")
LOOK = ("frame_all", "frame_pick", "follow_pick", "", "keep_camera", "kept_camera", "copy_camera")
MEMBERS = ("next_member", "previous_member", "colour_by", "", "exchange", "beside_camera")
SNAPPED = "Here the loops do not close between stored instants, or the poses are not those of the present numbers."
BOX_WIDTH, BESIDE_WIDTH = 210.0, 110.0  # of the boxes of members [points]


def draw(state: State, width: float, height: float) -> Layout:
    """Draws everything around the view and returns the layout. Called once a frame, after new_frame."""
    ui.item_boxes.clear()
    menu = _menus(state)
    found = layout(width, height, menu, state.panels.sizes, panes=state.panels.panes_on, zoom=state.panels.zoom)
    if state.panels.panes_on:
        borders.draw(state.panels, found)  # first: of fixed windows the oldest is on top
        treepane.draw(state, found.tree)
        propertypane.draw(state, found.properties)
        _timeline(state, found.timeline)
    _status(state, found.status)
    labels.draw(state, found.view if state.beside is None else halves(found.view)[0])
    captions.draw(state, found.view)
    windows.draw(state, found.view)
    return found


def _menus(state: State) -> float:
    """The menu bar; returns its height."""
    if not imgui.begin_main_menu_bar():
        return 0.0
    height = imgui.get_window_height()
    for title, lines in (("File", _file), ("Edit", _edit), ("View", _view), ("Members", _members), ("Help", _help)):
        is_open = imgui.begin_menu(title)
        ui.remember_item(f"menu:{title}")
        if is_open:
            lines(state)
            imgui.end_menu()
    imgui.end_main_menu_bar()
    return height


def _lines(state: State, names: tuple[str, ...]) -> None:
    for name in names:
        if name:
            ui.line(state, name)
        else:
            imgui.separator()


def _file(state: State) -> None:
    imgui.text_disabled(state.study.where)
    ui.line(state, "screenshot")
    ui.line(state, "record", on=state.recording is not None)
    if imgui.begin_menu("Record as"):
        for kind in MOVIES:
            if imgui.menu_item_simple(kind[1:].upper(), "", state.panels.record_as == kind):
                state.panels.record_as = kind
            ui.remember_item(f"record_as:{kind}")
        imgui.end_menu()
    ui.remember_item("menu:Record as")
    _lines(state, ("", "quit"))


def _edit(state: State) -> None:
    _lines(state, EDIT)


def _view(state: State) -> None:
    if imgui.begin_menu("Standard views"):
        _lines(state, tuple(VIEWS))
        imgui.end_menu()
    _lines(state, LOOK)
    imgui.separator()
    ui.line(state, "orthographic", on=state.view.camera.orthographic)
    for name, kind in (("frames", "frame"), ("centres", "centre"), ("joints", "joint")):
        ui.line(state, name, on=state.display.drawn(kind) != "hidden")
    for name, kind in (("routes", "route"), ("glyphs", "glyph"), ("forces", "force"), ("names", "name")):
        ui.line(state, name, on=state.display.drawn(kind) != "hidden")
    ui.line(state, "grouping", on=bool(state.grouping))
    ui.line(state, "arrows", on=state.arrows_on)
    ui.line(state, "shadows", on=state.look.shadows)
    ui.line(state, "instants", on=state.study.at_instants)
    ui.line(state, "trace", on=state.view.trace is not None)
    imgui.separator()
    ui.line(state, "panes", on=state.panels.panes_on)
    ui.line(state, "info", on=state.panels.info_on)
    ui.line(state, "fullscreen")
    ui.line(state, "dump_display")
    imgui.set_next_item_width(140)
    changed, rate = imgui.slider_float("frames a second, at least", state.panels.rate, *RATES, "%.0f")
    ui.remember_item("rate")
    if changed:
        state.panels.set_rate(rate)
    imgui.set_next_item_width(140)
    hue = state.selection.hue
    own, hue = imgui.slider_float("hue of the highlight", -0.01 if hue is None else hue, -0.01, 1.0, "%.2f")
    ui.remember_item("hue")
    if own:
        state.selection.hue = None if hue < 0 else hue


def _members(state: State) -> None:
    ui.line(state, "ghosts", on=state.choice.ghosts_on)
    ui.line(state, "beside", on=state.beside is not None)
    _lines(state, MEMBERS)


def _help(state: State) -> None:
    ui.line(state, "help", on=state.panels.help_on)
    ui.line(state, "dump_keys")
    for name in keys.MAPS:
        if imgui.menu_item_simple(f"keys: {name}", "", state.map == name):
            state.map = name
        ui.remember_item(f"map:{name}")


def _timeline(state: State, box: Box) -> None:
    with ui.pane("Timeline", box, ui.BARE):
        first, last = state.span
        playing = "Pause" if state.clock.playing else "Play"
        for label, name in (("|<", "to_start"), ("<", "step_back"), (playing, "play"),
                            (">", "step_forward"), (">|", "to_end")):  # fmt: skip
            ui.button(state, label, name)
            imgui.same_line()
        imgui.set_next_item_width(-1)
        moved, time = imgui.slider_float("##time", state.clock.time, first, max(last, first + 1e-12), "%.4f s")
        ui.remember_item("time")
        if moved:
            state.go_to(time)
        ui.button(state, "-", "slower")
        imgui.same_line()
        imgui.text(f"x{state.clock.speed:g}")
        imgui.same_line()
        ui.button(state, "+", "faster")
        imgui.same_line()
        _, state.clock.looping = imgui.checkbox("loop", state.clock.looping)
        ui.remember_item("looped")
        imgui.same_line(0, 24)
        _chooser(state)


def _chooser(state: State) -> None:
    """Controls for the current and the chosen members."""
    ui.button(state, "<", "previous_member")
    imgui.same_line()
    imgui.text(f"member {state.choice.member} of {state.study.members}")
    imgui.same_line()
    ui.button(state, ">", "next_member")
    imgui.same_line()
    _beside(state)
    imgui.same_line(0, 24)
    imgui.set_next_item_width(BOX_WIDTH)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    done, state.panels.typed = imgui.input_text_with_hint("##members", "all, 3,7 or worst:5", state.panels.typed, flags)
    ui.remember_item("members")
    if done:
        state.choose(state.panels.typed)
    imgui.same_line()
    _, state.choice.ghosts_on = imgui.checkbox(f"{len(state.choice.chosen)} chosen as ghosts", state.choice.ghosts_on)
    ui.remember_item("ghosts")
    imgui.same_line()
    imgui.set_next_item_width(140)
    names = ["one colour", *state.study.metrics]
    at = names.index(state.choice.colour_by) if state.choice.colour_by else 0
    _, at = imgui.combo("##colour", at, names)
    ui.remember_item("colour_by")
    state.choice.colour_by = names[at] if at else ""


def _beside(state: State) -> None:
    """Controls for the right half of the view."""
    ui.button(state, "one view" if state.beside else "beside", "beside")
    if state.beside is None:
        return
    imgui.same_line()
    imgui.set_next_item_width(BESIDE_WIDTH)
    flags = int(imgui.InputTextFlags_.enter_returns_true)
    hint = f"at the right: {state.beside.member}"
    done, state.beside.typed = imgui.input_text_with_hint("##beside", hint, state.beside.typed, flags)
    ui.remember_item("beside_member")
    if done:
        beside.choose(state, state.beside, state.beside.typed)


def _status(state: State, box: Box) -> None:
    with ui.pane("Status", box, ui.BARE | int(imgui.WindowFlags_.no_scrollbar)):
        if state.selection.cursor is not None:
            imgui.text("x {:.4f}  y {:.4f}  z {:.4f} m".format(*state.selection.cursor))
        else:
            imgui.text_disabled("x -  y -  z -")
        imgui.same_line(260)
        selected = f", {len(state.selection.selected)} selected" if state.selection.selected else ""
        imgui.text(f"{state.selection.mode}, {state.map} keys (F1){selected}")
        if state.snapped():
            imgui.same_line(0, 24)
            imgui.text_disabled("at the nearest stored instant")
            ui.remember_item("snapped")
            imgui.set_item_tooltip(SNAPPED if not state.study.at_instants else "stored instants only")
        if state.recording is not None:
            imgui.same_line(0, 24)
            imgui.text_colored(ui.RED, f"REC {state.recording.seconds:.1f} s")
            ui.remember_item("recording")
        if state.panels.messages:
            imgui.same_line(0, 24)
            imgui.text_unformatted(state.panels.messages[-1].replace("\n", " "))
            ui.remember_item("message")
            imgui.set_item_tooltip("\n".join(state.panels.messages[-8:]))
