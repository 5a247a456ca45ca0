"""Goals that are kept while a mechanism is posed by hand: what each misses, its level and weight."""

from __future__ import annotations

from shiftjax.viewer.gui.state.colours import OF_STATE
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.motion.live_run import ByHandRun

LEVELS = "before the hand below 1.5: locks 0, potentials 1; targets 2, postures 3"
FIELD = 64.0  # of a level or a weight [points]


class GoalFields:
    """Numbers that are dragged or typed, until they are let go of: name of a goal -> level and weight."""

    def __init__(self) -> None:
        self.moving: dict[str, tuple[float, float]] = {}


def draw(state: WindowState, run: ByHandRun) -> None:
    """Draws into the current pane."""
    goals, moving, zoom = run.goals, state.pane_data(GoalFields).moving, state.panels.zoom
    if not goals:
        return
    imgui.separator_text("Goals")
    for goal in goals:
        imgui.push_id(goal.name)
        imgui.push_style_color(int(imgui.Col_.text), imgui.ImVec4(*OF_STATE[goal.state]))
        imgui.text_wrapped(f"{goal.title.removeprefix(goal.name.partition(':')[0] + ':')}: {goal.text}")
        imgui.pop_style_color()
        ui.remember_item(f"goal:{goal.name}")
        imgui.set_item_tooltip(f"{goal.title}: {goal.text}")
        values, done = list(moving.get(goal.name, (goal.rank, goal.weight))), False
        for k, (label, low, high) in enumerate((("level", 0.0, 0.0), ("weight", 1e-3, 1e3))):
            imgui.set_next_item_width(FIELD * zoom)
            moved, values[k] = imgui.drag_float(label, values[k], 0.05, low, high, "%.3g")
            ui.remember_item(f"goal:{goal.name}:{label}")
            if label == "level":
                imgui.set_item_tooltip(LEVELS)
            if moved:
                moving[goal.name] = (float(f"{values[0]:.3g}"), float(f"{values[1]:.3g}"))
            done |= imgui.is_item_deactivated_after_edit()
            imgui.same_line()
        if imgui.small_button("release"):
            run.release(goal.name)
        ui.remember_item(f"goal:{goal.name}:release")
        if done and goal.name in moving:
            run.rank(goal.name, *moving.pop(goal.name))
        imgui.pop_id()
