"""Marks on the slider of a joint: dead points of others, and poses at which loops lose rank."""

from __future__ import annotations

from collections.abc import Sequence

from shiftjax.viewer.gui.state.colours import SCREW
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui
from shiftjax.viewer.motion.live_run import ByHandRun

NEAR = 4.0  # points from a mark: it is meant
ZERO = 1e-9  # rad or m: less is rounding
WIDE = 2.0  # of a mark [points]
SINGULAR = imgui.ImVec4(0.5 + 0.5 * SCREW[0], 0.5 + 0.5 * SCREW[1], 0.5 + 0.5 * SCREW[2], 1.0)  # light, as text is


def on_slider(run: ByHandRun, path: str, low: float, high: float, value: float) -> float:
    """Draws the marks on the slider that was drawn last, with its tooltip.

    Args:
        path: of the coordinate. low, high: ends of the slider. value: that the hand leads to.

    Returns:
        the place of a mark that the mouse holds the slider at, else the value.
    """
    dead, singular = run.dead_points.get(path, ()), run.singular_places.get(path, ())
    every = [*((place, f"dead point of {_short(of)}") for place, of in dead), *singular]
    places = [place for place, _ in every]
    across = _across(places, low, high)
    for k, x in enumerate(across):
        _stroke(x, ui.RED if k < len(dead) else SINGULAR)
    mouse = imgui.get_mouse_pos().x
    near = [k for k, x in enumerate(across) if abs(x - mouse) <= NEAR]
    if near:
        text = "\n".join(
            dict.fromkeys(f"{places[k] if abs(places[k]) > ZERO else 0.0:.6g}: {every[k][1]}" for k in near)
        )
        text += "\nhere with the mouse: exactly there"
    else:
        of = ", ".join(dict.fromkeys(_short(other) for _, other in dead))
        kinds = ", ".join(dict.fromkeys(text.partition(":")[0] for _, text in singular))
        text = "\n".join([*([f"marks: dead points of {of}"] if of else []), *([f"singular: {kinds}"] if kinds else [])])
    imgui.set_item_tooltip(path + (f"\n{text}" if text else ""))
    led = imgui.is_item_active() and imgui.is_mouse_down(imgui.MouseButton_.left)
    return min((places[k] for k in near), key=lambda place: abs(place - value)) if near and led else value


def _across(places: Sequence[float], low: float, high: float) -> list[float]:
    """Where places of its range are on the slider that was drawn last [points]."""
    corner, size = imgui.get_item_rect_min(), imgui.get_item_rect_size()
    grab = imgui.get_style().grab_min_size
    return [corner.x + 0.5 * grab + (place - low) / max(high - low, 1e-300) * (size.x - grab) for place in places]


def _stroke(x: float, colour: imgui.ImVec4) -> None:
    corner, size = imgui.get_item_rect_min(), imgui.get_item_rect_size()
    ends = imgui.ImVec2(x, corner.y + 1), imgui.ImVec2(x, corner.y + size.y - 1)
    imgui.get_window_draw_list().add_line(*ends, imgui.color_convert_float4_to_u32(colour), WIDE)


def _short(path: str) -> str:
    return path.rpartition(":")[2]
