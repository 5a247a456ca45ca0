"""The bodies and joints of a model as rows of tables a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiftjax.joints import KINDS
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import Body, FrameRef, Joint, Placement, Vector

BODY_HEAD = ("body", "mass [kg]", "centre of mass [m]", "inertia xx yy zz [kg m^2]", "frames")
JOINT_HEAD = ("joint", "type", "parent", "child", "starts at, in the file")

Row = tuple[str, ...]


def body_rows(bodies: Iterable[tuple[str, Body]]) -> Iterator[Row]:
    """A row for each path and body, under `BODY_HEAD`."""
    for path, body in bodies:
        inertia = body.inertia
        moments = _numbers((inertia.Ixx, inertia.Iyy, inertia.Izz))
        more = " (and products)" if any((inertia.Ixy, inertia.Iyz, inertia.Izx)) else ""
        frames = ", ".join(frame.name for frame in body.frames)
        yield path, f"{body.mass:.6g}", _numbers(body.center_of_mass), moments + more, frames


def joint_rows(joints: Iterable[tuple[str, Joint]]) -> Iterator[Row]:
    """A row for each path and joint, under `JOINT_HEAD`."""
    for path, joint in joints:
        yield path, joint.type, _end(joint.parent), _end(joint.child), _start(joint)


def _start(joint: Joint) -> str:
    """Where a joint starts as the model has it, with its unit; what it does not state, a loop may move."""
    place, coordinates = joint.initial_displacement, KINDS[joint.type].coordinates
    whole = _stated("initial_displacement" in joint.stated or not coordinates)
    if isinstance(place, Placement):
        return ("a placement" if place != Placement() else "0") + whole
    if isinstance(place, float):
        return f"{place:.6g} {coordinates[0].unit}" + whole
    assert isinstance(place, FrozenJson)
    return ", ".join(
        f"{coordinate.name} {place[coordinate.name]:.6g} {coordinate.unit}"
        + _stated(joint.states("initial_displacement", coordinate.name))
        for coordinate in coordinates
    )


def _stated(stated: bool) -> str:
    return "" if stated else " (not stated)"


def _end(ref: FrameRef) -> str:
    return ref.path.removesuffix(":origin")


def _numbers(values: Vector) -> str:
    return " ".join(f"{value:.4g}" for value in values)
