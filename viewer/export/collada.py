"""Writes an animated scene as COLLADA 1.4.1, with the model that it shows in the file: `load` reads it back, equal.

One root node turns the scene's up into +z. Under it stand ground and one group a member, as in a glTF; each body is a
node with a matrix, which an animation of its own moves. Other programs read scene and motion; the model's own text is
in the <extra> of `formats.collada`, which they keep or drop.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import xml.etree.ElementTree as xml
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.collada import MOST_BYTES, PROFILE, digest_of
from shiftjax.formats.files import write_text
from shiftjax.formats.json_text import dumps
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.scene_fields import FILES
from shiftjax.version import VERSION
from shiftjax.viewer.export.collada_file import NAMESPACE, POSE, SET, SYMBOL, ColladaFile, add, numbers, transforms
from shiftjax.viewer.export.keyframes import refined
from shiftjax.viewer.export.pack import baked, spring_part, written_parts
from shiftjax.viewer.export.pose_tracks import PoseTracks, motion_of, spring_track
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.scene.affine import transform
from shiftjax.viewer.scene.camera import upright
from shiftjax.viewer.scene.model_shapes import finder
from shiftjax.viewer.scene.palette import ghost_opacity
from shiftjax.viewer.scene.scene import GROUND, RenderSettings, Scene, SceneLight, ScenePart


def write_dae(
    scene: Scene,
    time: np.ndarray,
    tracks: Mapping[int, np.ndarray],
    path: str | Path,
    model: Model,
    *,
    frames: int | None = None,
    scenes: Mapping[int, Scene] | None = None,
    study: StudyLike | None = None,
) -> tuple[str, ...]:
    """Writes members of a study into one .dae file, pictures beside it; returns remarks for the user.

    Args:
        scene: what is drawn; parts of kinds "frame" and "centre" are left out, and points, which COLLADA has none of.
        time: (n,) increasing [s]; the animation begins at zero, the first instant is in the extra.
        tracks: member -> (n, nodes, 7) poses; the first member is solid, the others translucent.
        path: of the file. An old one is replaced whole.
        model: of the first member, which `shiftjax.load` of the file gives. Names of files in it stay as they are, as
            in what `shiftjax.save` writes: a remark names those that are not found from the new file.
        frames: the most instants to keep, see `motion_of`.
        scenes: member -> its scene, with the same nodes; by default `scene`.
        study: of the members; where it is given, keys are added until no joint is seen to open between them.

    Raises:
        ModelError: as `motion_of`; a place that cannot be written; more bytes than `load` takes.
    """
    target = Path(path)
    motion = motion_of(scene, time, tracks, frames)
    if study is not None:
        motion = refined(motion, study, scene)
    file = ColladaFile(target.stem, _gloss(scene), RenderSettings().shininess)
    visual = add(file.library("visual_scenes"), "visual_scene", id=file.id("scene"), name="shiftjax")
    root = _node(visual, file, "shiftjax", transform(R=upright(scene.up)))
    for k, member in enumerate(motion.poses):
        _Member(file, root, motion, member, (scenes or {}).get(member, scene), k).write()
    unwritten = [part.path for part in written_parts(scene) if part.mesh.kind == "points"]
    remarks = list(motion.remarks)
    if unwritten:
        remarks.append(f"points are not in the file, which COLLADA has none of: {_listed(unwritten)}")
    if elsewhere := _unreachable(model, target):
        remarks.append(f"the model in it names files that are not found from {target.name}: {_listed(elsewhere)}")
    if file.pictures:
        remarks.append(f"pictures beside it: {_listed([*file.pictures])}")
    text = _text(file, motion, model)
    if len(text.encode()) > MOST_BYTES:
        todo = "Write fewer members, or a shorter motion."
        raise ModelError(str(path), f"{len(text.encode())} bytes", f"at most {MOST_BYTES}, which `load` takes", todo)
    write_text(target, text)
    try:
        for name, data in file.pictures.items():
            target.with_name(name).write_bytes(data)
    except OSError as error:
        raise ModelError(str(path), str(error), "a folder that can be written to", "Choose another.") from None
    return tuple(remarks)


class _Member:
    """The group of one member."""

    def __init__(
        self, file: ColladaFile, root: xml.Element, motion: PoseTracks, member: int, scene: Scene, k: int
    ) -> None:
        """k: its place among the members; the first is solid, and has ground and lights."""
        self.file, self.root, self.scene, self.first = file, root, scene, k == 0
        self.elapsed, self.track, self.name = motion.elapsed, motion.poses[member], f"member {member}"
        self.group: xml.Element | None = None
        self.opacity = 1.0 if self.first else ghost_opacity(len(motion.poses) - 1)

    def write(self) -> None:
        parts = [part for part in written_parts(self.scene) if part.mesh.kind != "points"]
        for number, name in enumerate(self.scene.nodes):
            if number == GROUND and not self.first:
                continue  # drawn once for all members
            shown = [part for part in parts if part.node == number]
            lights = [light for light in self.scene.lights if light.node == number] if self.first else []
            if shown or lights:
                body = self._moving(self.root if number == GROUND else self._group(), name, self.track[:, number])
                for part in shown:
                    self._part(body, part)
                for light in lights:
                    _light(self.file, body, light)
        for spring in self.scene.springs:
            part = spring_part(spring)
            self._instance(self._moving(self._group(), spring.path, spring_track(spring, self.track)), part)
        if self.first and self.scene.lights:
            _ambient(self.file, self.root, self.scene)

    def _group(self) -> xml.Element:
        """The node of all bodies, made where it is first asked for, so that ground is before it."""
        if self.group is None:
            self.group = _node(self.root, self.file, self.name)
        return self.group

    def _moving(self, parent: xml.Element, name: str, track: np.ndarray) -> xml.Element:
        """A node at the first pose, with its motion."""
        node = _node(parent, self.file, name, transforms(track[:1])[0], sid=POSE)
        self.file.animate(node, self.elapsed, track)
        return node

    def _part(self, body: xml.Element, part: ScenePart) -> None:
        """A part below its body. A mirrored one has the mirror in its mesh: programs differ in where it then faces."""
        if np.linalg.det(part.transform[:3, :3]) < 0:
            mesh = baked(part.mesh, part.transform)
            part = dataclasses.replace(part, mesh=mesh, transform=np.eye(4))
        self._instance(_node(body, self.file, part.path, part.transform), part)

    def _instance(self, node: xml.Element, part: ScenePart) -> None:
        colour = (*part.colour[:3], part.colour[3] * self.opacity)
        geometry = self.file.geometry(part.mesh, part.path)
        material = self.file.material(colour, part.mesh, part.path)
        item = add(node, "instance_geometry", url=f"#{geometry}")
        binding = add(add(item, "bind_material"), "technique_common")
        surface = add(binding, "instance_material", symbol=SYMBOL, target=f"#{material}")
        if part.mesh.uv is not None and part.mesh.texture is not None:
            words = {"semantic": SET, "input_semantic": "TEXCOORD", "input_set": "0"}
            add(surface, "bind_vertex_input", **words)


def _node(
    parent: xml.Element, file: ColladaFile, name: str, matrix: np.ndarray | None = None, sid: str = ""
) -> xml.Element:
    """A node, with its transform where that is one or has a name."""
    node = add(parent, "node", id=file.id(name), name=name, type="NODE")
    if matrix is not None and (sid or (matrix != np.eye(4)).any()):
        add(node, "matrix", numbers(np.asarray(matrix, float)), **({"sid": sid} if sid else {}))
    return node


def _light(file: ColladaFile, body: xml.Element, light: SceneLight) -> None:
    """A light, which shines along -z of its node: its diffuse colour, of the same strength at any distance."""
    number = file.id(f"light-{light.path}")
    item = add(add(file.library("lights"), "light", id=number, name=light.path), "technique_common")
    kind = add(item, light.type)
    add(kind, "color", numbers(np.array(light.diffuse, float)))
    if light.type == "spot":
        add(kind, "falloff_angle", f"{math.degrees(min(2 * light.cone, math.pi)):.6g}")
    turn = np.eye(3) if light.type == "point" else upright(-np.array(light.direction)).T
    place = transform(light.position, turn)
    add(_node(body, file, light.path, place), "instance_light", url=f"#{number}")


def _ambient(file: ColladaFile, root: xml.Element, scene: Scene) -> None:
    """The ambient terms of all lights as one light."""
    total = np.sum([light.ambient for light in scene.lights], axis=0)
    if total.any():
        number = file.id("light-ambient")
        item = add(add(file.library("lights"), "light", id=number, name="ambient"), "technique_common")
        add(add(item, "ambient"), "color", numbers(np.array(total, float)))
        add(_node(root, file, "ambient"), "instance_light", url=f"#{number}")


def _gloss(scene: Scene) -> float:
    """Specular strength of the lights over their diffuse one, at most 1: a light of COLLADA has one colour."""
    diffuse = max((max(light.diffuse) for light in scene.lights), default=0.0)
    specular = max((max(light.specular) for light in scene.lights), default=0.0)
    return min(1.0, specular / diffuse) if diffuse > 0 else 0.0


def _unreachable(model: Model, target: Path) -> list[str]:
    """Names of files in a model that are not found from a new file of it."""
    find = finder(dataclasses.replace(model, source=str(target.absolute())), None)
    names = [name for _, body in model.bodies() for shape in body.geometry for name in shape.filename]
    maps = [item.options.get(f"{kind}_map") for item in model.terrain for kind in FILES]
    lost = []
    for name in dict.fromkeys([*names, *(name for name in maps if isinstance(name, str))]):
        try:
            find(name)
        except ModelError:
            lost.append(name)
    return lost


def _text(file: ColladaFile, motion: PoseTracks, model: Model) -> str:
    """The whole file."""
    document = xml.Element("COLLADA", {"xmlns": NAMESPACE, "version": "1.4.1"})
    asset = add(document, "asset")
    add(add(asset, "contributor"), "authoring_tool", f"shiftjax {VERSION}")
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    add(asset, "created", now)
    add(asset, "modified", now)
    add(asset, "unit", name="meter", meter="1")
    add(asset, "up_axis", "Z_UP")
    document.extend(file.libraries())
    add(add(document, "scene"), "instance_visual_scene", url="#scene")
    technique = add(add(document, "extra", type="model"), "technique", profile=PROFILE)
    text, digest = model_text(model)
    add(technique, "model", text, sha256=digest)
    add(technique, "start", str(float(motion.time[0])))
    for remark in motion.remarks:
        add(technique, "remark", remark)
    xml.indent(document, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(document, encoding="unicode") + "\n"


def model_text(model: Model) -> tuple[str, str]:
    """The text that a .dae carries of a model, and its digest."""
    text = dumps(to_dict(model)).strip()
    return text, digest_of(text)


def _listed(names: list[str]) -> str:
    names = [*dict.fromkeys(names)]
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
