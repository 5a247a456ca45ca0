"""The pane of a running simulation: its status, and a slider for every number that may change."""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.gui.panes import goalpane
from shiftjax.viewer.gui.panes.posing import marks, velocities
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import buttons, ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.motion.live_run import LiveRun

BY_HAND = (
    ("Undo", "undo"), ("Redo", "redo"), ("Lock", "lock"), ("Keep", "keep"), ("Draw", "draw"), ("Console", "console"),
    ("Run", "play"), ("Save", "save_model"), ("Variants", "variants"),
)  # fmt: skip
RUN_BY_HAND = (("Pose", "pose"), ("Play", "play"))
LABEL = 150.0  # of the name of a slider [points]
ROUNDING = 1e-12  # of the way of a slider: a smaller number is shown as 0


def draw(state: WindowState, live: LiveRun) -> None:
    """Draws into the current pane."""
    buttons.button(state, "Restart", "restart")
    if live.hand is not None:
        for label, action in BY_HAND if live.posing else RUN_BY_HAND:
            ui.beside(ui.button_width(label))
            buttons.button(state, label, action)
    else:
        ui.beside(ui.checkbox_width("a change restarts"))
        _, live.restarts = imgui.checkbox("a change restarts", live.restarts)
        ui.remember_item("restarts")
    ranges, requested = live.ranges, live.requested  # the thread may put others in their place meanwhile
    for path, (low, high) in ranges.items():
        if path not in requested:
            continue
        label = path.partition(":")[2] or path
        narrow = imgui.get_content_region_avail().x < 2 * LABEL
        if narrow:
            ui.wrapped(label)
        imgui.set_next_item_width(-1 if narrow else -LABEL)
        digits = "%.5g" if abs(requested[path]) > ROUNDING * (high - low) else "0"  # not -3.2e-24
        moved, value = imgui.slider_float(f"##{path}", requested[path], low, high, digits)
        ui.remember_item(f"slider:{path}")
        if imgui.is_item_deactivated_after_edit():
            live.let_go()
        if live.hand is not None:
            value = marks.on_slider(live.hand, path, low, high, value)
        else:
            imgui.set_item_tooltip(path)
        if not narrow:
            imgui.same_line()
            imgui.text_unformatted(label)
            ui.tell_if_cut(label, LABEL)
        if moved:
            live.change(path, value)
    ui.facts(facts(live, state.mark))
    if live.hand is not None and live.posing:
        velocities.draw(state)
        goalpane.draw(state, live.hand)
    if live.ended:
        imgui.push_style_color(int(imgui.Col_.text), ui.RED)
        imgui.text_wrapped(live.ended)
        imgui.pop_style_color()


def facts(live: LiveRun, mark: np.ndarray | None = None) -> list[tuple[str, str]]:
    """Status of the run, or of the pose."""
    certificate = live.certificate  # of one instant: the thread may have gone on to a run
    if "missed" in certificate:
        locked = ", ".join(sorted(path.rpartition(":")[2] for path in live.locks)) or "none"
        gap, missed = certificate["gap"], certificate["missed"]
        freedoms = f"{certificate['freedoms']:.0f}"
        rows = [("freedoms", freedoms), ("loop gap", f"{gap:.2e}"), ("out of reach by", f"{missed:.3g}")]
        rows.append(("locked", locked))
        curve = live.hand.curve if live.hand is not None else None
        if curve is not None:
            rows.append(("curve", f"of {curve.coordinate}" + ("" if curve.closed else ", between its ends")))
            rows += [("curve to mark", f"{curve.distance(mark):.6g} m")] if mark is not None else []
        return rows
    speed = f"x{live.actual_speed:.2f} (x{live.speed:g} requested)" if live.running else "paused"
    return [
        ("speed", speed),
        ("loop gap", f"{certificate['gap']:.2e}"),
        ("energy error", f"{certificate['energy_error']:.2e}"),
        ("pivot ratio", f"{certificate['pivot_ratio']:.3g}"),
    ]
