"""Writes an animated scene as binary glTF 2.0, for browsers, Blender and office programs.

One root node turns the scene's up into glTF's +Y. Under it stand ground and one group a member; in a group, one node a
body, moved by one animation for all members, since programs play one animation at a time. Members after the first are
translucent. Phong lights become those of KHR_lights_punctual, as bright at the scene's centre.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.poses import quaternions, to_world
from shiftjax.version import VERSION
from shiftjax.viewer.export.keyframes import refined
from shiftjax.viewer.export.pack import (
    Pack,
    baked,
    linear,
    png,
    spring_part,
    unit_normals,
    written_parts,
)
from shiftjax.viewer.export.pose_tracks import PoseTracks, motion_of, spring_track
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.scene.camera import upright
from shiftjax.viewer.scene.palette import ghost_opacity
from shiftjax.viewer.scene.scene import GROUND, Mesh, Scene, SceneLight, ScenePart, SceneSpring

MODES = {"points": 0, "lines": 1, "triangles": 4}
FLOAT, SHORT, LONG = 5126, 5123, 5125  # component types
VERTEX_DATA, INDEX_DATA = 34962, 34963  # targets of buffer views
LIGHTS, UNLIT = "KHR_lights_punctual", "KHR_materials_unlit"
SKEW = 1e-6  # cosine between columns of a transform above which it has shear
Item = dict[str, Any]


def write_glb(
    scene: Scene,
    time: np.ndarray,
    tracks: Mapping[int, np.ndarray],
    path: str | Path,
    *,
    frames: int | None = None,
    scenes: Mapping[int, Scene] | None = None,
    study: StudyLike | None = None,
) -> tuple[str, ...]:
    """Writes members of a study into one .glb file; returns remarks for the user.

    Args:
        scene: what is drawn; parts of kinds "frame" and "centre" are left out.
        time: (n,) increasing [s]; the animation begins at zero, the first instant is in the root's extras.
        tracks: member -> (n, nodes, 7) poses; the first member is solid, the others translucent.
        path: of the file.
        frames: the most instants to keep, see `motion_of`.
        scenes: member -> its scene, with the same nodes; by default `scene`.
        study: of the members; where it is given, keys are added until no joint is seen to open between them.

    Raises:
        ModelError: as `motion_of`.
    """
    motion = motion_of(scene, time, tracks, frames)
    if study is not None:
        motion = refined(motion, study, scene)
    file = _File()
    root = {"name": "shiftjax", "rotation": _xyzw(_y_up(scene)), "children": []}
    root["extras"] = {"start": float(motion.time[0]), "remarks": list(motion.remarks)}
    file.roots.append(file.add("nodes", root))
    channels: list[tuple[int, np.ndarray]] = []
    for k, (member, track) in enumerate(motion.poses.items()):
        member_scene = (scenes or {}).get(member, scene)
        parts = written_parts(member_scene)
        opacity = 1.0 if k == 0 else ghost_opacity(len(motion.poses) - 1)
        bodies = []
        for node, name in enumerate(scene.nodes):
            if node == GROUND and k > 0:
                continue  # drawn once for all members
            children = [file.part(part, opacity) for part in parts if part.node == node]
            if k == 0:
                children += [_light(file, scene, light, track[0]) for light in scene.lights if light.node == node]
            if children:
                p = track[0, node]
                body = {"name": name, "translation": _floats(p[:3]), "rotation": _xyzw(p[3:]), "children": children}
                (root["children"] if node == GROUND else bodies).append(file.add("nodes", body))
                channels.append((len(file.lists["nodes"]) - 1, track[:, node]))
        for spring in member_scene.springs:
            node, stretching = file.spring(spring, track, opacity)
            bodies.append(node)
            channels.append((node, stretching))
        if bodies:
            group = {"name": f"member {member}", "children": bodies, "extras": {"member": int(member)}}
            root["children"].append(file.add("nodes", group))
    if not root["children"]:
        del root["children"]
    _animate(file, motion, channels)
    Path(path).write_bytes(file.bytes())
    return motion.remarks


class _File:
    """A glTF document under construction: JSON lists without duplicate entries, and one binary buffer."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Item]] = {}
        self.lights: list[Item] = []
        self.extensions: set[str] = set()
        self.roots: list[int] = []
        self._pack = Pack()
        self._known: dict[tuple[Any, ...], int] = {}
        self._geometries: dict[str, Item] = {}

    def add(self, name: str, item: Item) -> int:
        """Appends an entry to a list of the document; returns its number."""
        entries = self.lists.setdefault(name, [])
        entries.append(item)
        return len(entries) - 1

    def view(self, data: bytes | np.ndarray, target: int | None = None) -> int:
        offset, length = self._pack.add(data)
        view = {"buffer": 0, "byteOffset": offset, "byteLength": length}
        return self.add("bufferViews", view if target is None else {**view, "target": target})

    def accessor(self, values: np.ndarray, target: int | None = None, *, bounds: bool = False) -> int:
        """Of a (n,) or (n, width) array; with the minimum and maximum of each column where glTF requires them."""
        component = {"f": FLOAT, "u": SHORT if values.dtype.itemsize == 2 else LONG}[values.dtype.kind]
        kind = "SCALAR" if values.ndim == 1 else f"VEC{values.shape[1]}"
        item: Item = {"bufferView": self.view(values, target), "componentType": component}
        item |= {"count": len(values), "type": kind}
        if bounds:
            item |= {"min": _floats(np.atleast_1d(values.min(0))), "max": _floats(np.atleast_1d(values.max(0)))}
        return self.add("accessors", item)

    def part(self, part: ScenePart, opacity: float) -> int:
        """The node of a part, below that of its body."""
        trs = _trs(part.transform)
        mesh = part.mesh if trs is not None else baked(part.mesh, part.transform)
        material = self._material(part, opacity)
        key = ("mesh", mesh.key, material)
        if key not in self._known:
            primitive = {**self._geometry(mesh), "material": material, "mode": MODES[mesh.kind]}
            self._known[key] = self.add("meshes", {"name": part.path, "primitives": [primitive]})
        return self.add("nodes", {"name": part.path, "mesh": self._known[key], **(trs or {})})

    def spring(self, spring: SceneSpring, poses: np.ndarray, opacity: float) -> tuple[int, np.ndarray]:
        """The node of a spring, and its track at poses (n, nodes, 7): (n, 10) with the scales behind the pose."""
        track = spring_track(spring, poses)
        node = self.part(spring_part(spring), opacity)
        first = {"translation": track[0, :3], "scale": track[0, 7:]}
        self.lists["nodes"][node] |= {name: _floats(values) for name, values in first.items()}
        self.lists["nodes"][node]["rotation"] = _xyzw(track[0, 3:7])
        return node, track

    def _geometry(self, mesh: Mesh) -> Item:
        """Accessors of a mesh, shared by all its colours."""
        if mesh.key not in self._geometries:
            attributes = {"POSITION": self.accessor(mesh.vertices.astype(np.float32), VERTEX_DATA, bounds=True)}
            if mesh.kind == "triangles":
                attributes["NORMAL"] = self.accessor(unit_normals(mesh), VERTEX_DATA)
            if mesh.uv is not None and mesh.texture is not None:
                # glTF counts from the upper edge of the picture
                uv = np.stack([mesh.uv[:, 0], 1.0 - mesh.uv[:, 1]], 1)
                attributes["TEXCOORD_0"] = self.accessor(uv.astype(np.float32), VERTEX_DATA)
            # the largest short is no index: it would restart the primitive
            width = np.uint16 if len(mesh.vertices) <= 0xFFFF else np.uint32
            indices = self.accessor(mesh.indices.reshape(-1).astype(width), INDEX_DATA)
            self._geometries[mesh.key] = {"attributes": attributes, "indices": indices}
        return self._geometries[mesh.key]

    def _material(self, part: ScenePart, opacity: float) -> int:
        mesh, (red, green, blue, alpha) = part.mesh, part.colour
        texture = mesh.texture if mesh.uv is not None else None
        key = ("material", part.colour, opacity, mesh.kind == "triangles", mesh.key if texture else None)
        if key in self._known:
            return self._known[key]
        surface: Item = {"baseColorFactor": linear((red, green, blue, alpha * opacity))}
        surface |= {"metallicFactor": 0.0, "roughnessFactor": 0.5}
        material: Item = {"pbrMetallicRoughness": surface}
        clear = alpha * opacity < 1
        if texture is not None:
            surface["baseColorTexture"] = {"index": self._texture(mesh)}
            clear = clear or bool((texture.pixels[..., 3] < 255).any())
        if clear:
            material["alphaMode"] = "BLEND"
        if opacity == 1:  # back faces of ghosts are culled, they would double the opacity
            material["doubleSided"] = True
        if mesh.kind != "triangles":  # nothing to light without normals
            material["extensions"] = {UNLIT: {}}
            self.extensions.add(UNLIT)
        self._known[key] = self.add("materials", material)
        return self._known[key]

    def _texture(self, mesh: Mesh) -> int:
        key = ("texture", mesh.key)
        if key not in self._known and mesh.texture is not None:
            self.lists.setdefault("samplers", [{"magFilter": 9729, "minFilter": 9987}])
            image = self.add("images", {"bufferView": self.view(png(mesh.texture)), "mimeType": "image/png"})
            self._known[key] = self.add("textures", {"sampler": 0, "source": image})
        return self._known[key]

    def bytes(self) -> bytes:
        """The whole file: header, JSON chunk, binary chunk."""
        document: Item = {"asset": {"version": "2.0", "generator": f"shiftjax {VERSION}"}}
        document |= {"scene": 0, "scenes": [{"nodes": self.roots}]}
        document |= self.lists
        if self.lights:
            document["extensions"] = {LIGHTS: {"lights": self.lights}}
        if self.extensions:
            document["extensionsUsed"] = sorted(self.extensions)
        binary = self._pack.bytes()
        if binary:
            document["buffers"] = [{"byteLength": len(binary)}]
        text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if binary:
            chunks += struct.pack("<I4s", len(binary), b"BIN\0") + binary
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _animate(file: _File, motion: PoseTracks, channels: list[tuple[int, np.ndarray]]) -> None:
    """One animation of all nodes that move; nodes that do not move have their pose in the node."""
    samplers: list[Item] = []
    targets: list[Item] = []
    times = None
    for node, track in channels:
        columns = {"translation": [0, 1, 2], "rotation": [4, 5, 6, 3], "scale": list(range(7, track.shape[1]))}
        for name, chosen in columns.items():
            values = track[:, chosen].astype(np.float32)
            if (values == values[0]).all():
                continue
            if times is None:
                times = file.accessor(motion.elapsed, bounds=True)
            samplers.append({"input": times, "output": file.accessor(values), "interpolation": "LINEAR"})
            targets.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": name}})
    if samplers:
        file.add("animations", {"name": "motion", "samplers": samplers, "channels": targets})


def _light(file: _File, scene: Scene, light: SceneLight, poses: np.ndarray) -> int:
    """The node of a light. A surface facing it at the scene's centre is as bright as under Phong's diffuse term."""
    position, direction = np.array(light.position), np.array(light.direction)
    strength = max(light.diffuse)
    item: Item = {"name": light.path, "type": light.type}
    item["color"] = [c / strength for c in light.diffuse] if strength > 0 else [0.0, 0.0, 0.0]
    item["intensity"] = math.pi * strength  # radiance of a Lambertian surface is irradiance times albedo / pi
    if light.type != "directional":
        position_in_world = to_world(poses[light.node], position)
        item["intensity"] *= max(float(((position_in_world - np.array(scene.centre)) ** 2).sum()), 1e-6)
    if light.type == "spot":
        outer = min(light.cone, math.pi / 2)
        item["spot"] = {"innerConeAngle": 0.8 * outer, "outerConeAngle": outer}
    file.lights.append(item)
    file.extensions.add(LIGHTS)
    # a glTF light shines along its node's -z
    turn = quaternions(upright(-direction).T) if light.type != "point" else np.array([1.0, 0, 0, 0])
    extension = {LIGHTS: {"light": len(file.lights) - 1}}
    node = {"name": light.path, "translation": _floats(position), "rotation": _xyzw(turn), "extensions": extension}
    return file.add("nodes", node)


def _y_up(scene: Scene) -> np.ndarray:
    """(4,) rotation that makes the scene's right, up and back glTF's x, y and z."""
    right, forward, up = upright(scene.up)
    return quaternions(np.stack([right, up, -forward]))


def _trs(transform: np.ndarray) -> Item | None:
    """Translation, rotation and scale of a transform; None where it has shear or a zero scale."""
    if (transform == np.eye(4)).all():
        return {}
    columns = np.array(transform[:3, :3], float)
    scale = np.linalg.norm(columns, axis=0)
    if not (scale > 0).all():
        return None
    axes = columns / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > SKEW:
        return None
    if np.linalg.det(axes) < 0:
        axes[:, 0], scale[0] = -axes[:, 0], -scale[0]
    return {"translation": _floats(transform[:3, 3]), "rotation": _xyzw(quaternions(axes)), "scale": _floats(scale)}


def _floats(values: np.ndarray) -> list[float]:
    return [float(v) for v in values]


def _xyzw(q: np.ndarray) -> list[float]:
    """A quaternion, w first, in glTF's order."""
    w, x, y, z = (float(v) for v in q / np.linalg.norm(q))
    return [x, y, z, w]
