"""Shapes of scenes as a page has them: meshes, the parts that show them, springs; each once."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import numpy as np

from shiftjax.viewer.export.pack import Pack, linear, png, unit_normals, written_parts
from shiftjax.viewer.scene.scene import Mesh, Scene, ScenePart, SceneSpring
from shiftjax.viewer.scene.spring_meshes import drawn_parts

Item = dict[str, Any]


class ShapeItems:
    """Casts: the parts and springs of a scene, which members of equal shapes share. Numbers of meshes are in the pack.

    Args:
        pack: of the page.
    """

    def __init__(self, pack: Pack) -> None:
        self._pack = pack
        self._meshes: list[Item] = []
        self._numbers: dict[str, int] = {}  # of meshes by their keys
        self._casts: list[list[Item]] = []
        self._springs: list[list[Item]] = []

    def cast(self, scene: Scene) -> int:
        """Adds the cast of a scene; its number."""
        self._casts.append(
            [_part(part, self.mesh(part.mesh)) for part in (*written_parts(scene), *_spring_parts(scene))]
        )
        self._springs.append([_spring(spring) for spring in scene.springs])
        return len(self._casts) - 1

    def items(self) -> Item:
        """All of them."""
        return {"meshes": self._meshes, "casts": self._casts, "springs": self._springs}

    def differing(self, number: int) -> set[int]:
        """Places of the parts of a cast that are not those of the first one; all, where they are more or fewer."""
        first, other = self._casts[0], self._casts[number]
        if len(first) != len(other):
            return {*range(max(len(first), len(other)))}
        return {k for k, (one, another) in enumerate(zip(first, other, strict=True)) if one != another}

    @property
    def parts(self) -> int:
        """Of all casts."""
        return sum(map(len, self._casts))

    @property
    def springs_differ(self) -> bool:
        """Whether casts have springs that begin or end elsewhere on their bodies."""
        return any(springs != self._springs[0] for springs in self._springs)

    def mesh(self, mesh: Mesh) -> int:
        """The number of a mesh."""
        if mesh.key not in self._numbers:
            self._numbers[mesh.key] = len(self._meshes)
            self._meshes.append(_mesh(mesh, self._pack))
        return self._numbers[mesh.key]


def _mesh(mesh: Mesh, pack: Pack) -> Item:
    item: Item = {"kind": mesh.kind, "vertices": pack.add(mesh.vertices.astype("<f4"))}
    item["indices"] = pack.add(mesh.indices.astype("<u4"))
    if mesh.kind == "triangles":
        item["normals"] = pack.add(unit_normals(mesh).astype("<f4"))
    if mesh.uv is not None and mesh.texture is not None:
        item["uv"] = pack.add(mesh.uv.astype("<f4"))
        item["texture"] = "data:image/png;base64," + base64.b64encode(png(mesh.texture)).decode()
    return item


def _part(part: ScenePart, mesh: int) -> Item:
    reach = np.linalg.norm(part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3], axis=1).max()
    return {
        "mesh": mesh,
        "node": part.node,
        "path": part.path,
        "transform": [float(x) for x in part.transform.T.reshape(-1)],  # columns, as WebGL reads a matrix
        "colour": linear(part.colour),
        "shadow": part.shadow,
        "reach": float(reach),  # from the node's origin [m]
    }


def _spring_parts(scene: Scene) -> list[ScenePart]:
    """Each spring as a part of a node of its own, after those of the bodies."""
    nodes = range(len(scene.nodes), len(scene.nodes) + len(scene.springs))
    parts = drawn_parts(scene)[len(scene.parts) :]
    return [dataclasses.replace(part, node=node) for part, node in zip(parts, nodes, strict=True)]


def _spring(spring: SceneSpring) -> Item:
    """What the player stretches a spring by: it finds the matrix of the spring's node at every instant."""
    item: Item = {"nodes": list(spring.nodes), "radius": float(spring.radius)}
    item |= {"points": [[float(x) for x in point] for point in spring.points]}
    return item | {"axis": list(spring.axis) if spring.axis else None, "across": [float(x) for x in spring.across]}
