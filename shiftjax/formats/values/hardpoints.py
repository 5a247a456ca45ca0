"""Points of a file as expressions: what stands at a point of the drawn pose follows it, and nothing else moves.

Problem: a pivot is made of frames of several bodies, whose positions stand in each body's own axes. One place in the
world should move them all.
The result has: at the displacements that the file states, every frame that follows a point moves with it, and every
other frame and centre of mass stays where it is in the world; loops that are closed there stay closed. A body whose
origin stands at a point moves with it without turning, so that its other frames and its centre of mass go back by as
much in its axes. Rotations, inertias about centres of mass and shapes that are drawn do not change.
With R of the body in the drawn pose, T = T0 + R' (point - its place in the file) - R' (the same of the body's point).
Refused: frames at two points; positions that are expressions already; what cannot follow: the origin of ground, and of
a body that a joint holds at another place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shiftjax.errors import ModelError
from shiftjax.expressions.expression import written
from shiftjax.expressions.grammar import parse
from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node
from shiftjax.joints import KINDS
from shiftjax.mechanism.drawn import DrawnBody, drawn
from shiftjax.mechanism.edit import everything_on
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.parameters import AXES, OVER_NAMES, Point
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, ORIGIN, Body, FrameRef, Vector

STANDS = 1e-4  # of the extent of all frames: files give four digits, and pivots are not as near to each other
DIGITS = 1e-9  # of a coordinate: where all frames are at one place, or far from the world's origin
ROUNDED = 1e-14  # of an entry of a rotation: it is zero, or one


def with_points(model: Model, nodes: Mapping[str, Node], names: Names) -> Model:
    """The model with expressions for the positions that follow its points.

    Args:
        nodes: point -> its object in the file.

    Raises:
        ModelError: as said above.
    """
    if not nodes:
        return model
    whole = replace(model, assemblies=everything_on(model.assemblies))  # what is off may be switched on, and follows
    pose = drawn(whole) | drawn(model)
    follows = _followers(whole, nodes, names, pose)
    points = {point.name: point for point in model.points}
    bodies = {FIXED: Body(FIXED, frames=model.frames), **dict(whole.bodies())}
    texts: dict[str, str] = {}
    for path, body in bodies.items():
        base = points.get(follows.get(FrameRef(path), ""))
        for frame in body.frames:
            point = points.get(follows.get(FrameRef(path, frame.name), ""))
            texts |= _texts(model, f"{child(path, frame.name)}.T", frame.T, pose[path], point, base)
        if base and (body.mass or any(body.center_of_mass) or f"{path}.mass" in model.expressions):
            texts |= _texts(model, f"{path}.center_of_mass", body.center_of_mass, pose[path], None, base)
    return replace(model, expressions=FrozenJson({**model.expressions, **texts}))


def _texts(
    model: Model, path: str, T: Vector, body: DrawnBody, point: Point | None, base: Point | None
) -> dict[str, str]:
    """The coordinates of a position in a body that follow from points, beside what they follow from in the file.

    Args:
        point: that it follows. base: that the body's origin follows.

    Raises:
        ModelError: a position that follows a point and is an expression.
    """
    if point is base:
        return {}
    out: dict[str, str] = {}
    for k, start in enumerate(T):
        terms, stated = [], model.expressions.get(f"{path}[{k}]")
        if point and stated:
            fault = f"{stated!r}, of a frame that follows {point.name}"
            todo = f"Write the number that it is in the drawn pose, so that it follows {point.name} alone, or list "
            todo += f"the frames that follow {point.name} without this one, under its 'frames'."
            raise ModelError(f"{path}[{k}]", fault, "an expression or a point, not both", todo)
        for sign, moved in ((1.0, point), (-1.0, base)):
            for j, axis in enumerate(AXES) if moved else ():
                share = _exact(sign * body.R[j][k])
                if moved and share:
                    terms.append((share, f"{moved.name}.{axis}", moved.position[j]))
        if terms:
            text = _sum(repr(start) if stated is None else f"({stated})", terms)
            out[f"{path}[{k}]"] = written(parse(text, path, OVER_NAMES))
    return out


def _sum(start: str, terms: Sequence[tuple[float, str, float]]) -> str:
    """The text of start + the sum of shares of how far coordinates went from where they were: start, there, to the bit.

    Args:
        terms: share, name of the coordinate, where it was.
    """
    if len(terms) == 1 and terms[0][0] == 1.0 and repr(terms[0][2]) == start:
        return terms[0][1]
    text = start
    for share, name, at in terms:
        moved = f"({name} - {at!r})" if at else name
        text += f" {'-' if share < 0.0 else '+'} {moved if abs(share) == 1.0 else f'{abs(share)!r} * {moved}'}"
    return text


def _exact(share: float) -> float:
    """An entry of a rotation without its rounding."""
    nearest = float(round(share))
    return nearest if abs(share - nearest) < ROUNDED else share


def _followers(
    model: Model, nodes: Mapping[str, Node], names: Names, pose: Mapping[str, DrawnBody]
) -> dict[FrameRef, str]:
    """Frame or origin -> the point that it follows."""
    used = {ref for _, joint in model.joints() for ref in (joint.parent, joint.child)}
    places = _places(model, pose)
    if FrameRef(FIXED) not in used:  # it may be far away, and nothing is lost where it stands still
        del places[FrameRef(FIXED)]
    corners = [[float(x) for x in axis] for axis in zip(*places.values(), strict=True)]
    extent = max((max(axis) - min(axis) for axis in corners), default=0.0)
    near = max(STANDS * extent, DIGITS * max((abs(x) for axis in corners for x in axis), default=0.0))
    follows: dict[FrameRef, str] = {}
    for point in model.points:
        if point.name not in nodes:  # of an included file, where its frames follow it already
            continue
        node = nodes[point.name]
        if node.has("frames"):
            at = [names.frame(item, "") for item in node["frames"].items()]
        else:
            at = [ref for ref, place in places.items() if math.dist(place, point.position) <= near]
        for ref in at:
            if ref in follows:
                todo = 'Say which frames follow each, as "frames": [[["body"], "frame"]].'
                node.refuse("each frame at one point", todo, f"{ref.path}, which follows {follows[ref]}, too")
            follows[ref] = point.name
    _refuse_unmovable(nodes, pose, follows)
    _warn_of_halves(model, nodes, follows)
    return follows


def _places(model: Model, pose: Mapping[str, DrawnBody]) -> dict[FrameRef, Sequence[float]]:
    """Where every frame and origin of ground and of bodies stands in the world."""
    places: dict[FrameRef, Sequence[float]] = {}
    for path, frames in ((FIXED, model.frames), *((path, body.frames) for path, body in model.bodies())):
        places[FrameRef(path)] = pose[path].p
        places |= {FrameRef(path, frame.name): pose[path].of(frame)[1] for frame in frames}
    return places


def _warn_of_halves(model: Model, nodes: Mapping[str, Node], follows: Mapping[FrameRef, str]) -> None:
    """Warns of joints that turn only, one frame of which follows a point that the other does not follow."""
    for path, joint in model.joints():
        kind, points = KINDS[joint.type], (follows.get(joint.parent), follows.get(joint.child))
        if points[0] != points[1] and kind.primitives and set(kind.units) == {"rad"}:
            ref = joint.parent if points[0] else joint.child
            nodes[str(follows[ref])].warn(
                f"of joint {path} only {ref.path} follows it: the joint opens when the point moves, until loops are "
                "closed again; state where the joints start, so that all frames stand there, or list them"
            )


def _refuse_unmovable(
    nodes: Mapping[str, Node], pose: Mapping[str, DrawnBody], follows: Mapping[FrameRef, str]
) -> None:
    """Raises where the origin of a body should follow a point and the joint that leads to it does not."""
    for ref, point in follows.items():
        if ref.frame != ORIGIN:
            continue
        near, far = pose[ref.body].near, pose[ref.body].far
        led = near is not None and (far != ref or follows.get(near) == point)
        if not led:
            what = "ground" if ref.body == FIXED else ref.body
            where = "" if ref.body == FIXED else ", where the displacement of a joint puts it"
            todo = f"Give {what} a frame there and join that, or list the frames that follow."
            fault = f"the origin of {what} at it{where}"
            nodes[point].refuse("frames that can follow it", todo, fault)
