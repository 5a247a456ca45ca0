"""A Model as a document of the v2.0 dialect; what equals its default is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.formats.geometry import written
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import parts
from shiftjax.mechanism.records import (
    FIXED,
    IDENTITY,
    ZERO,
    Assembly,
    Body,
    ForceModule,
    Frame,
    FrameRef,
    Joint,
    Light,
    Placement,
    Restraint,
    Terrain,
    walk,
)

VERSION = "2.0"


def to_dict(model: Model) -> dict[str, Any]:
    """The document of a model; `load` of it gives an equal model."""
    settings = model.settings
    parameters = {
        "version": VERSION,
        "units": dict(model.units),
        "gravity": list(model.gravity),
        "include_directories": list(model.include_directories),
        "solvers": thaw(settings.solvers),
        "integrators": thaw(settings.integrators),
        "loggers": thaw(settings.loggers),
    }
    document = {
        "model_parameters": _without(parameters, {}),
        "frames": [_frame(frame) for frame in model.frames],
        "lights": [_light(light) for light in model.lights],
        "terrain": [_terrain(terrain) for terrain in model.terrain],
    }
    comment = {"comment": model.comment} if model.comment else {}
    return {**comment, **_without(document, {}), "assemblies": _assemblies(model.assemblies)}


def _assemblies(assemblies: tuple[Assembly, ...]) -> list[dict[str, Any]]:
    roots: list[dict[str, Any]] = []
    inside: dict[str, list[dict[str, Any]]] = {"": roots}
    for path, assembly, _ in walk(assemblies):
        entry = {
            **_head(assembly),
            **_without(
                {
                    "bodies": [_body(body) for body in assembly.bodies],
                    "joints": [_joint(joint) for joint in assembly.joints],
                    "restraints": [_restraint(restraint) for restraint in assembly.restraints],
                    "force_modules": [_module(module) for module in assembly.force_modules],
                },
                {},
            ),
        }
        inside[path.rpartition(":")[0]].append(entry)
        if assembly.assemblies:
            entry["assemblies"] = inside[path] = []
    return roots


def _without(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are neither empty lists, None, nor their default."""
    return {
        key: value
        for key, value in values.items()
        if value is not None and value != [] and not (key in defaults and value == defaults[key])
    }


def _head(item: Assembly | Body | Joint | Restraint) -> dict[str, Any]:
    return _without(
        {"name": item.name, "active": item.active, "comment": item.comment}, {"active": True, "comment": ""}
    )


def _turned(item: Frame | Placement) -> dict[str, Any]:
    """T, R and rotation where they are not nothing; -0.0 counts as something."""
    found: dict[str, Any] = {}
    if repr(item.T) != repr(ZERO):
        found["T"] = list(item.T)
    if repr(item.R) != repr(IDENTITY):
        found["R"] = [list(row) for row in item.R]
    if repr(item.rotation) != repr(ZERO):
        found["rotation"] = list(item.rotation)
    return found


def _frame(frame: Frame) -> dict[str, Any]:
    return {"name": frame.name, **_turned(frame)} | ({"comment": frame.comment} if frame.comment else {})


def _ref(ref: FrameRef) -> list[Any]:
    return [[FIXED] if ref.body == FIXED else parts(ref.body), ref.frame]


def _body(body: Body) -> dict[str, Any]:
    inertia = body.inertia
    numbers = {"mass": body.mass} | {key: getattr(inertia, key) for key in ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")}
    values = {
        "center_of_mass": list(body.center_of_mass) if repr(body.center_of_mass) != repr(ZERO) else None,
        "inertia": numbers if any(repr(x) != "0.0" for x in numbers.values()) else None,
        "frames": [_frame(frame) for frame in body.frames],
        "geometry": [written(shape) for shape in body.geometry],
        "collision_geometry": body.collision_geometry,
    }
    return {**_head(body), **_without(values, {})}


def _joint(joint: Joint) -> dict[str, Any]:
    displacement, velocity = joint.initial_displacement, joint.initial_velocity
    values = {
        "axis": list(joint.axis) if joint.axis is not None else None,
        "initial_displacement": (_turned(displacement) or None)
        if isinstance(displacement, Placement)
        else displacement,
        "initial_velocity": list(velocity) if isinstance(velocity, tuple) else velocity,
        "stiffness": list(joint.stiffness),
        "damping": list(joint.damping),
    }
    ends = {"type": joint.type, "parent": _ref(joint.parent), "child": _ref(joint.child)}
    return {**_head(joint), **ends, **_without(values, {})}


def _restraint(restraint: Restraint) -> dict[str, Any]:
    values = {
        "type": restraint.type,
        "joint": parts(restraint.joint) if restraint.joint is not None else None,
        "body_frame_pair": [_ref(ref) for ref in restraint.frames] if restraint.frames is not None else None,
        "distance_type": restraint.distance_type,
        "knot_points": list(restraint.knot_points),
    }
    pieces = {"coefficients": [list(piece) for piece in restraint.coefficients]}
    return {**_head(restraint), **_without(values, {}), **pieces}


def _light(light: Light) -> dict[str, Any]:
    colours = {key: list(found) for key in ("Ka", "Kd", "Ks") if (found := getattr(light, key)) is not None}
    return {"name": light.name, "type": light.type, "parent": _ref(light.parent), **colours, **thaw(light.options)}


def _terrain(terrain: Terrain) -> dict[str, Any]:
    return {"name": terrain.name, "parent": _ref(terrain.parent), **thaw(terrain.options)}


def _module(module: ForceModule) -> dict[str, Any]:
    values = {"name": module.name, "type": module.type, "active": module.active, **thaw(module.options)}
    return _without(values, {"active": True})
