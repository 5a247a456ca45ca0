"""From a model to a scene: its own geometry where it has some, else shapes made from joints and masses.

The scene must: show every active body; be the same every time; need nothing but names and numbers of the model and its
first poses. Geometry that cannot be used becomes a warning, and its body gets automatic shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED, ORIGIN, FrameRef
from shiftjax.poses import matrices
from shiftjax.viewer.scene import shapes
from shiftjax.viewer.scene.affine import bounding_sphere, box_corners, of_frame, transform, transformed, z_along
from shiftjax.viewer.scene.attachments import FAR, SAME, BuildContext, Style, joint_points, levels, other_points
from shiftjax.viewer.scene.automatic import LAYERED, Layer, body_shapes
from shiftjax.viewer.scene.force_shapes import force_parts
from shiftjax.viewer.scene.joint_shapes import joint_parts, telescope_shapes
from shiftjax.viewer.scene.layers import layers_of
from shiftjax.viewer.scene.lights import lamps, lights_of, up_of
from shiftjax.viewer.scene.likeness import likes
from shiftjax.viewer.scene.model_shapes import Drawn, LoadMesh, finder, shape_of
from shiftjax.viewer.scene.palette import GREY, PALETTE, faded
from shiftjax.viewer.scene.scene import GROUND, Colour, Scene, ScenePart
from shiftjax.viewer.scene.sliding import Slide, slides_of, travel_of
from shiftjax.viewer.scene.springs import springs_of
from shiftjax.viewer.scene.terrains.terrain import terrain_parts

AXIS_COLOURS: tuple[Colour, ...] = ((0.85, 0.20, 0.20, 1.0), (0.20, 0.65, 0.25, 1.0), (0.20, 0.35, 0.90, 1.0))
CENTRE_COLOUR: Colour = (0.10, 0.10, 0.10, 1.0)

# in half widths of a bar
SUPPORT, SUPPORT_DEPTH, SUPPORT_TOP = 1.6, 2.8, 0.7
TRIAD = 5.0
CENTRE = 0.5
LAMP = 0.035  # size of a lamp, in radii of the model


def scene_of(
    model: Model,
    first_poses: Mapping[str, np.ndarray],
    load_mesh: LoadMesh | None = None,
    cut: frozenset[str] = frozenset(),
    folder: Path | None = None,
    style: Style | None = None,
    motion: np.ndarray | None = None,
) -> Scene:
    """A scene of the whole model.

    Args:
        first_poses: body path -> (7,) pose at the start; they set sizes only.
        load_mesh: reads a mesh file and its companions; without it no mesh file is shown.
        cut: paths of the joints that close loops.
        folder: where the model's shape files are searched; that of `model.source` if left out.
        style: widths of bars, layers and travel, such as those of another member; left out, the model's own.
        motion: (n, nodes, 7) poses at instants of a run, from which layers and the lengths of rods follow; left out,
            the first poses.
    """
    style = style or style_for(model, first_poses, motion)
    context = BuildContext.of(model, first_poses, style)
    slides = slides_of(context, style.travel)
    warnings: list[str] = []
    find = finder(model, folder)
    parts = [*_bodies(context, slides, find, load_mesh, warnings), *_supports(context)]
    parts += (*joint_parts(context, slides, cut), *force_parts(context))
    centre, size = _extent(parts, context.poses)
    lights = lights_of(model, context.nodes)
    every = (*parts, *terrain_parts(context, find, warnings), *lamps(lights, LAMP * size), *_marks(context))
    texts, springs = tuple(dict.fromkeys(warnings)), springs_of(context, slides)
    return Scene(tuple(context.nodes), every, lights, up_of(model), size, centre, texts, springs)


def style_for(model: Model, first_poses: Mapping[str, np.ndarray], motion: np.ndarray | None = None) -> Style:
    """The style of a model, with its layers and travel; arguments as of `scene_of`."""
    context = BuildContext.of(model, first_poses)
    placed = context.poses[None] if motion is None else np.concatenate([context.poses[None], matrices(motion)])
    return replace(context.style, layers=layers_of(context, placed), travel=travel_of(context, placed))


def bodies_of(
    model: Model, first_poses: Mapping[str, np.ndarray], load_mesh: LoadMesh | None, style: Style
) -> tuple[ScenePart, ...]:
    """The parts of the bodies alone, as `scene_of` makes them."""
    context = BuildContext.of(model, first_poses, style)
    slides = slides_of(context, style.travel)
    return tuple(_bodies(context, slides, finder(model, None), load_mesh, []))


def _bodies(context: BuildContext, slides: Mapping[str, Slide], find: Callable[[str], Path],
            load_mesh: LoadMesh | None, warnings: list[str]) -> Iterator[ScenePart]:  # fmt: skip
    """The parts of every body, in its colour: that of all bodies like it."""
    level = levels(list(context.bodies), context.attachments)
    alike = likes(context.attachments, list(context.bodies))
    lit = {item.parent.path for item in (*context.model.lights, *context.model.terrain)}
    far, crossing = FAR * context.style.radius, _crossing(context)
    for order, (path, body) in enumerate(context.bodies.items()):
        drawn: list[Drawn] = []
        for geometry in body.geometry:
            try:
                drawn += shape_of(geometry, path, find, load_mesh, warnings)
            except ModelError as error:
                warnings.append(str(error))
        if not drawn:
            attachments = context.attachments[path]
            others = other_points(path, body, attachments, lit, far)
            shift = context.style.layers.get(path)
            reach = _reach(context, path)
            crosses = path in crossing
            layer = (
                Layer(level[path], reach=reach)
                if shift is None
                else Layer(LAYERED, np.array(shift), crosses=crosses, reach=reach)
            )
            made = telescope_shapes(context, path, slides)
            made = made or body_shapes(body, attachments, others, context.style, layer, order)
            drawn = [(*placed, None) for placed in made]
        colour = PALETTE[alike[path] % len(PALETTE)]
        yield from (
            ScenePart(mesh, context.nodes[path], where, faded(mesh_colour or colour, virtual=body.virtual), path)
            for mesh, where, mesh_colour in drawn
        )


def _crossing(context: BuildContext) -> set[str]:
    """The links with layers, held at one point, whose masses are at the place of another such link's at the start."""
    near = SAME * context.style.width
    centres = {
        path: transformed(context.poses[context.nodes[path]], np.array(context.bodies[path].center_of_mass, float))
        for path in context.style.layers
        if path in context.bodies and len(joint_points(context.attachments[path], near)) < 2
    }
    return {
        path
        for path, centre in centres.items()
        if any(other != path and np.linalg.norm(centre - place) <= near for other, place in centres.items())
    }


def _reach(context: BuildContext, path: str) -> float:
    """Length between the joints of a body; of one that is held at one point, of the shortest link it is joined to
    [m]. Infinite where there is no such length.
    """
    near = SAME * context.style.width

    def length(body: str) -> float:
        points = joint_points(context.attachments[body], near)
        return max((float(np.linalg.norm(p - q)) for p in points for q in points), default=0.0)

    alone = length(path)
    others = [length(c.other) for c in context.attachments[path] if c.other in context.bodies]
    return alone or min((one for one in others if one > near), default=math.inf)


def _supports(context: BuildContext) -> Iterator[ScenePart]:
    """A cone below every place where a joint stands on ground, its tip above the joint's middle."""
    up, width = np.array(up_of(context.model)), context.style.width
    depth = (SUPPORT_DEPTH + SUPPORT_TOP) * width
    seen: list[np.ndarray] = []
    for attachment in context.attachments[FIXED]:
        if attachment.drawing == "free" or any(np.linalg.norm(attachment.point - p) <= SAME * width for p in seen):
            continue
        seen.append(attachment.point)
        middle = attachment.point + up * (SUPPORT_TOP * width - 0.5 * depth)
        where = transform(middle, z_along(up), [SUPPORT * width, SUPPORT * width, depth])
        yield ScenePart(shapes.cone(), GROUND, where, GREY, FrameRef(FIXED, attachment.frame).path, "ground")


def _marks(context: BuildContext) -> Iterator[ScenePart]:
    """Three arrows at every frame and a dot at every centre of mass; their kinds let a caller leave them out."""
    arrows = [transform(R=z_along(axis), scale=TRIAD * context.style.width) for axis in np.eye(3)]
    for path, frames in context.frames.items():
        for name in (ORIGIN, *(frame.name for frame in frames)):
            where = of_frame(frames, name)
            for arrow, colour in zip(arrows, AXIS_COLOURS, strict=True):
                frame_path = FrameRef(path, name).path
                yield ScenePart(
                    shapes.arrow(), context.nodes[path], where @ arrow, colour, frame_path, "frame", shadow=False
                )
    for path, body in context.bodies.items():
        if body.mass > 0:
            where = transform(body.center_of_mass, scale=CENTRE * context.style.width)
            yield ScenePart(shapes.sphere(), context.nodes[path], where, CENTRE_COLOUR, path, "centre", shadow=False)


def _extent(parts: list[ScenePart], poses: np.ndarray) -> tuple[tuple[float, float, float], float]:
    """Centre, radius [m] of a bounding sphere of all parts at the first poses; 1 m about the origin without parts."""
    corners = [transformed(poses[part.node] @ part.transform, box_corners(part.mesh.vertices)) for part in parts]
    if not corners:
        return (0.0, 0.0, 0.0), 1.0
    (x, y, z), size = bounding_sphere(np.concatenate(corners))
    return (float(x), float(y), float(z)), size or 1.0
