"""Mass of a geom that is a mesh: volume, centre and inertia of what its triangles enclose.

MuJoCo counts tetrahedra from one point to each face, `legacy` as if none overlapped, which is right where each face is
seen from there, `exact` by the sign of their volume: for the centre from the middle of all faces, then from the centre.
Files are read where a mass needs them only, from the folder of the model or below: binary and ASCII STL, and OBJ.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from shiftjax.formats.robots.mjcf.masses import MassPart
from shiftjax.formats.robots.mjcf.orientation import BodyPlace
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.record import record

LARGEST = 50_000_000  # bytes of a file of a mesh
HEAD, FACET = 84, 50  # bytes of a binary STL: of its beginning, and of a triangle
REMEDY = "Add an <inertial> to the body, as mj_saveLastXML writes it with compiler saveinertial='true'."
SECOND = (np.ones((4, 4)) + np.eye(4)) / 20.0  # int x x^T dV / V of a tetrahedron = sum_ij SECOND_ij p_i p_j^T


@record
class PlacedMesh:
    """A mesh in a body.

    Attributes:
        geom: for messages. file: from the folder of the model. law: legacy or exact.
        scale, shift: factors of its points, and its place in the geom. at: place of the geom in its body.
    """

    geom: XmlElement
    file: str
    folder: Path | None
    law: str
    scale: tuple[float, ...]
    shift: BodyPlace
    at: BodyPlace


def enclosed(mesh: PlacedMesh, density: float, mass: float | None) -> MassPart:
    """What a mesh is as a body of one density.

    Args:
        density: [kg/m^3]. mass: [kg], whatever the volume; None where the density counts.

    Raises:
        ModelError: a file that cannot be read, or that encloses nothing.
    """
    geom, file, law = mesh.geom, mesh.file, mesh.law
    points = (_triangles(geom, file, mesh.folder) @ mesh.shift.R.T) * np.array(mesh.scale) + mesh.shift.p
    triangles = points @ mesh.at.R.T + mesh.at.p
    areas = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    if not areas.sum() > 0.0:
        geom.refuse(f"the mesh {file[:LONGEST]!r} without area", "triangles that enclose a volume", REMEDY)
    middle = (areas @ triangles.mean(axis=1)) / areas.sum()
    sign = -1.0 if law == "exact" and np.prod(mesh.scale) < 0.0 else 1.0  # mirrored triangles face inwards
    volumes = _volumes(triangles - middle, law) * sign
    center = middle + volumes @ (triangles - middle).sum(axis=1) / 4.0 / volumes.sum()
    arms = triangles - center
    volumes = _volumes(arms, law) * sign
    total = float(volumes.sum())
    if not total > 0.0:
        geom.refuse(f"the mesh {file[:LONGEST]!r} of volume {total:g}", "a volume above 0", REMEDY)
    corners = np.concatenate([arms, np.zeros_like(arms[:, :1])], axis=1)
    second = np.einsum("n,ij,nik,njl->kl", volumes, SECOND, corners, corners)
    whole = MassPart(total, center, np.trace(second) * np.eye(3) - second)
    return whole.scaled(density if mass is None else mass / total)


def _volumes(triangles: np.ndarray, law: str) -> np.ndarray:
    """(n,) of the tetrahedra from the origin."""
    signed = np.einsum("ni,ni->n", np.cross(triangles[:, 0], triangles[:, 1]), triangles[:, 2]) / 6.0
    return np.abs(signed) if law == "legacy" else signed


def _triangles(geom: XmlElement, file: str, folder: Path | None) -> np.ndarray:
    """(n, 3, 3) corners [in the units of the file]."""
    content = _content(geom, file, folder)
    try:
        if file.lower().endswith(".stl"):
            triangles = _stl(content)
        else:
            triangles = _obj(content.decode("utf-8", errors="replace"))
    except (ValueError, IndexError):
        triangles = np.full((1, 3, 3), math.nan)
    if not np.all(np.isfinite(triangles)):
        geom.refuse(f"the mesh {file[:LONGEST]!r}", "a file of STL or OBJ", REMEDY)
    return triangles


def _content(geom: XmlElement, file: str, folder: Path | None) -> bytes:
    if folder is None or not file.lower().endswith((".stl", ".obj")):
        fault = f"the mesh {file[:LONGEST]!r}, from which the mass of a body that moves should come"
        geom.refuse(fault, "a file of STL or OBJ in the folder of the model", REMEDY)
    path = folder / file
    fault = f"the mesh {file[:LONGEST]!r}, from which a mass should come, and which cannot be read"
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
        if not inside or path.stat().st_size > LARGEST:
            geom.refuse(fault, f"a file in the folder of the model, of up to {LARGEST} bytes", REMEDY)
        return path.read_bytes()
    except (OSError, ValueError):
        geom.refuse(fault, "a file in the folder of the model", REMEDY)


def _stl(content: bytes) -> np.ndarray:
    count = int.from_bytes(content[HEAD - 4 : HEAD], "little")
    if len(content) == HEAD + FACET * count:
        facets = np.frombuffer(content, np.uint8, offset=HEAD).reshape(count, FACET)
        return facets[:, 12:48].copy().view("<f4").astype(float).reshape(count, 3, 3)
    lines = (line.split() for line in content.decode("ascii").splitlines())
    corners = [[float(x) for x in line[1:4]] for line in lines if line and line[0] == "vertex"]
    return np.array(corners).reshape(-1, 3, 3)


def _obj(text: str) -> np.ndarray:
    points: list[list[float]] = []
    corners: list[list[list[float]]] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            places = [int(word.split("/")[0]) for word in words[1:]]
            around = [points[place - 1 if place > 0 else place] for place in places]
            corners += [[around[0], around[k], around[k + 1]] for k in range(1, len(around) - 1)]
    return np.array(corners).reshape(-1, 3, 3)
