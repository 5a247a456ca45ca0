"""The pane on the right: properties and plots of the picked item."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import Joint
from shiftjax.mechanism.sublinkages import Sublinkage, stages_of, welds_of
from shiftjax.poses import to_world
from shiftjax.viewer.gui.panes import legend, livepane, namefield, numberpane, plotpane, shapepane
from shiftjax.viewer.gui.state import elements, values
from shiftjax.viewer.gui.state.derived import present
from shiftjax.viewer.gui.state.display import DRAWN, PARENT
from shiftjax.viewer.gui.state.layout import Box
from shiftjax.viewer.gui.state.state import WindowState
from shiftjax.viewer.gui.state.tree_rows import number
from shiftjax.viewer.gui.widgets import ui
from shiftjax.viewer.gui.widgets.bundle import imgui


def draw(state: WindowState, box: Box) -> None:
    with ui.pane("Properties", box):
        live = state.live
        title = "By hand" if live is not None and live.posing else "Live"
        if live is not None and imgui.collapsing_header(title, int(imgui.TreeNodeFlags_.default_open)):
            livepane.draw(state, live)
        new = state.panels.new_name
        if new is not None and not new.place:
            namefield.draw(state, new)
        ui.wrapped(state.selection.pick or "nothing is picked")
        ui.remember_item("picked")
        ui.facts(properties(state))
        numberpane.draw(state)
        shapepane.draw(state)
        legend.draw(state)
        if imgui.collapsing_header("Plots", int(imgui.TreeNodeFlags_.default_open)):
            plotpane.draw(state)
        is_open = imgui.collapsing_header("Display classes")
        ui.remember_item("header:classes")
        if is_open:
            _classes(state)


def properties(state: WindowState) -> list[tuple[str, str]]:
    """Names and texts of the properties of the pick, at the current time."""
    path = state.selection.pick
    if path is None:
        camera = state.current_camera()
        return [("looking at", numbers(np.array(camera.target))), ("from", numbers(camera.eye))]
    if path in state.node:
        return _body(state, path)
    if path in state.mechanism.joints:
        return _joint(state, path)
    item = elements.element_at(state.mechanism.model, path)
    if item is not None:
        return elements.properties(state.mechanism.model, item)
    return _frame(state, path)


def _body(state: WindowState, path: str) -> list[tuple[str, str]]:
    pose = state.body_poses()[path]
    rows = [("position [m]", numbers(pose[:3])), ("orientation", " ".join(f"{q:.4f}" for q in pose[3:]))]
    body = dict(state.mechanism.model.bodies()).get(path)
    if body is not None:
        inertia = body.inertia.matrix
        rows += [
            ("mass", number(body.mass, "kg")),
            ("centre of mass [m]", numbers(np.array(body.center_of_mass))),
            ("Ixx Iyy Izz [kg m^2]", " ".join(f"{inertia[k][k]:.4g}" for k in range(3))),
            ("Ixy Iyz Izx [kg m^2]", " ".join(f"{v:.4g}" for v in (inertia[0][1], inertia[1][2], inertia[2][0]))),
        ]
        rows += [("note", body.comment)] if body.comment else []
    return rows


def _joint(state: WindowState, path: str) -> list[tuple[str, str]]:
    joint = state.mechanism.joints[path]
    rows = [
        ("type", joint.type + (", closes a loop" if path in state.mechanism.closures else "")),
        ("parent", joint.parent.path),
        ("child", joint.child.path),
        (
            "value, turns counted" if present.turns(state, path) else "value",
            values.text(values.KINDS[joint.type], present.joint_value(state, path), 5),
        ),
        ("mobility", f"{present.mobility(state)[path]:.5f}"),
    ]
    if state.mechanism.model.sublinkages:
        rows += _posed_in(state.mechanism.model.sublinkages, state.mechanism.joints, path)
    for what, given in (("stiffness", joint.stiffness), ("damping", joint.damping)):
        each = {f"{what} {name}": c for name, c in given.items()} if isinstance(given, FrozenJson) else {what: given}
        rows += [
            (name, " ".join(f"{c:g}" for c in coefficients)) for name, coefficients in each.items() if coefficients
        ]
    return rows


def _posed_in(sublinkages: tuple[Sublinkage, ...], joints: Mapping[str, Joint], path: str) -> list[tuple[str, str]]:
    """The sublinkage of a joint, and when it is posed."""
    sublinkage = next((one for one in sublinkages if path in one.joints), None)
    of = "the whole linkage"
    if sublinkage is not None:
        of = f"{sublinkage.name}, {sublinkage.disposition}" + (
            f" within {sublinkage.within}" if sublinkage.within else ""
        )
    stages = stages_of(sublinkages, joints, welds_of(joints))
    place = next(k for k, stage in enumerate(stages, 1) if path in stage.joints)
    return [("sublinkage", of), ("posed in stage", f"{place} of {len(stages)}")]


def _frame(state: WindowState, path: str) -> list[tuple[str, str]]:
    node = state.node_of(path)
    if node is None or path not in state.mechanism.frames:
        return []
    inside = state.mechanism.frames[path][:3, 3]
    position = to_world(state.poses()[node], inside)
    return [("position [m]", numbers(position)), ("in its body [m]", numbers(inside))]


def numbers(vector: np.ndarray) -> str:
    return " ".join(f"{v:.4f}" for v in vector)


def _classes(state: WindowState) -> None:
    """Settings of every display class."""
    for name in PARENT:
        ticked, on = imgui.checkbox(f"##pick {name}", state.display.picks(name))
        ui.remember_item(f"picks:{name}")
        imgui.set_item_tooltip("can be picked")
        if ticked:
            state.display.set(name, pick=on)
        imgui.same_line()
        imgui.set_next_item_width(110)
        options: list[str] = [*(["inherited"] if PARENT[name] else []), *DRAWN]
        setting = state.display.setting(name)
        at = options.index(setting) if setting else 0
        changed, at = imgui.combo(name, at, options)
        ui.remember_item(f"class:{name}")
        if changed and options[at] == "inherited":
            state.display.inherit(name)
        elif changed:
            state.display.set(name, draw=options[at])
