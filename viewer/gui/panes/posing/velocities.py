"""Numbers of the screws and ellipsoids of the picked body of a mechanism that is posed by hand."""

from __future__ import annotations

import numpy as np

from shiftjax.editing.velocities.ellipsoids import VelocityEllipsoid
from shiftjax.editing.velocities.free_motions import FreeMotions
from shiftjax.mechanism.records import FIXED
from shiftjax.viewer.gui.picture import picked_motion
from shiftjax.viewer.gui.picture.picked_motion import ELLIPSOID, SCREW, SeenMotion
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui

PICK = "Pick a body: a click on it, or its row in the tree."
WAITS = "not known at this instant"
SMALL = 1e-9  # of the mechanism's length: less is rounding


def draw(state: WindowState) -> None:
    """Draws into the current pane what is on."""
    on = [name for name in (SCREW, ELLIPSOID) if state.display.drawn(name) != "hidden"]
    if not on:
        return
    imgui.separator_text("Velocities")
    motions = picked_motion.watch(state)
    for name in on:
        rows = [(name, unknown(state))] if motions is None else (screws if name == SCREW else ellipsoid)(state, motions)
        imgui.push_id(name)
        ui.facts(rows)
        ui.remember_item(f"velocities:{name}")
        imgui.pop_id()


def unknown(state: WindowState) -> str:
    """Why no motions are known."""
    return (state.hand.motions_problem if state.hand is not None else "") or WAITS


def screws(state: WindowState, motions: FreeMotions) -> list[tuple[str, str]]:
    """Names and texts of the screws of the picked body."""
    picked = picked_motion.of_pick(state, motions)
    if picked is None:
        return [("screw", PICK)]
    rows = [("motion", picked.led.text)]
    unit = motions.units.get(picked.led.lead, "")
    per = f" for 1 {unit} of {_short(picked.led.lead)}" if picked.led.lead else ""
    for seen in picked.seen:
        rows += _of_screw(seen, motions.length, per, flat=picked.planar)
    return rows


def _of_screw(seen: SeenMotion, length: float, per: str, *, flat: bool) -> list[tuple[str, str]]:
    screw, of = seen.screw, f"{_short(seen.body)} from {_short(seen.other)}"
    if screw.kind == "rest":
        return [(of, "rests")]
    if screw.kind == "translation":
        return [(of, "a translation"), ("along", numbers(screw.direction)), ("by", f"{screw.rate:.6g} m{per}")]
    place, by = numbers(screw.point, SMALL * length), ("turns by", f"{screw.rate:.6g} rad{per}")
    if flat:
        sense = "+" if screw.direction[np.abs(screw.direction).argmax()] > 0.0 else "-"
        axis = sense + "xyz"[int(np.abs(screw.direction).argmax())]
        return [(of, "a rotation in the plane"), ("instant centre [m]", place), ("about", axis), by]
    pitch = [("pitch", f"{screw.pitch:.6g} m/rad")] if screw.kind == "screw" else []
    what = "a screw" if pitch else "a rotation"
    return [(of, what), ("axis through [m]", place), ("along", numbers(screw.direction)), *pitch, by]


def ellipsoid(state: WindowState, motions: FreeMotions) -> list[tuple[str, str]]:
    """Names and texts of the ellipsoids at its point."""
    body, _ = picked_motion.bodies(state)
    if not body:
        return [("ellipsoid", PICK)]
    one = picked_motion.ellipsoid_of_pick(state, motions)
    if one is None:
        return [("ellipsoid", motions.led().text if motions.lost or not motions.columns else "no inputs")]
    place, where = picked_motion.point_of(state, body)
    rows = [("point [m]", f"{numbers(place, SMALL * motions.length)}, {where}"), ("inputs", inputs(one))]
    if not len(one.sizes):
        return [*rows, ("velocities", "none: it stands still, and holds any force")]
    return [
        *rows,
        ("velocities [m/s]", " ".join(f"{size:.6g}" for size in one.sizes)),
        ("forces [N]", " ".join(f"{size:.6g}" for size in one.force_sizes)),
        ("condition", f"{one.condition:.6g}" if np.isfinite(one.condition) else "infinite: a direction is lost"),
    ]


def inputs(one: VelocityEllipsoid) -> str:
    """The inputs with the units in which they count."""
    names = {unit: [_short(name) for name, of in one.inputs.items() if of == unit] for unit in ("rad", "m")}
    torque = {"rad": "1 rad/s, 1 N m", "m": "1 m/s, 1 N"}
    return "; ".join(f"{', '.join(some)}: {torque[unit]}" for unit, some in names.items() if some)


def numbers(vector: np.ndarray, least: float = 1e-9) -> str:
    """Numbers without those that are rounding."""
    return " ".join(f"{x if abs(x) > least else 0.0:.6g}" for x in vector)


def _short(path: str) -> str:
    return "ground" if path == FIXED else path.partition(":")[2] or path
