"""The numbers of the picked part of a mechanism on the workbench, and the kind of a picked joint, to change them."""

from __future__ import annotations

from shiftjax.viewer.gui.actions.workbench import editing
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.values import KINDS
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

LABEL = 130.0  # of the name of a number [points]
DIGITS = 6  # of a number that is shown and dragged: the widget has single precision
SPEED = 2e-3  # of a number, or of the model's size, that a drag by a point changes it


def draw(state: WindowState) -> None:
    """Draws into the current pane."""
    numbers, pick, run = editing.numbers_of_pick(state), state.selection.pick or "", state.hand
    if run is not None and run.posing and pick in state.mechanism.joints:
        _kind(state, pick)
    if not numbers:
        return
    is_open = imgui.collapsing_header("Numbers", int(imgui.TreeNodeFlags_.default_open))
    ui.remember_item("header:Numbers")
    if not is_open:
        return
    for path, (value, unit) in numbers.items():
        name = path[len(pick) :] if pick and path.startswith(pick) else path.partition(".")[2]
        label = name.lstrip(":.") + ("" if unit == "1" else f" [{unit}]")
        imgui.set_next_item_width(-LABEL)
        speed = SPEED * (abs(value) or state.scene.size)
        moved, wanted = imgui.drag_float(f"##{path}", value, speed, 0.0, 0.0, f"%.{DIGITS}g")
        ui.remember_item(f"number:{path}")
        if moved:
            editing.set_number(state, path, float(f"{wanted:.{DIGITS}g}"))
        if imgui.is_item_deactivated_after_edit() and run is not None:
            run.let_go()
        text = state.mechanism.model.expressions.get(path)
        follows = "" if text is None else f"\nfollows from {text}"
        imgui.set_item_tooltip(
            f"{path}: drag it, or Ctrl+click to type; the console takes more than {DIGITS} digits{follows}"
        )
        imgui.same_line()
        imgui.text_unformatted(label)
        ui.tell_if_cut(label, LABEL)


def _kind(state: WindowState, path: str) -> None:
    """The kind of a joint, chosen from all kinds."""
    kinds = sorted(KINDS)
    imgui.set_next_item_width(-LABEL)
    changed, at = imgui.combo("kind", kinds.index(state.mechanism.joints[path].type), kinds)
    ui.remember_item("joint kind")
    if changed:
        editing.change_type(state, kinds[at])
