"""The content of a mesh file: pieces, supported formats, the error of a file that cannot be used, and serialization.

The bytes are one .npz: a child process sends them, the cache keeps them.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.record import record
from shiftjax.viewer.scene.scene import Colour, Mesh, Texture

FORMATS = ("3ds", "3mf", "dae", "fbx", "glb", "gltf", "obj", "off", "ply", "stl", "x3d")
ELSEWHERE = {  # unsupported formats, and a remedy
    "wrl": "Convert it to X3D: the importer has no reader of VRML.",
    "vrml": "Convert it to X3D: the importer has no reader of VRML.",
    "step": "Export a mesh (STL, glTF) from the CAD program: STEP holds surfaces, not triangles.",
    "stp": "Export a mesh (STL, glTF) from the CAD program: STEP holds surfaces, not triangles.",
    "iges": "Export a mesh (STL, glTF) from the CAD program: IGES holds surfaces, not triangles.",
    "igs": "Export a mesh (STL, glTF) from the CAD program: IGES holds surfaces, not triangles.",
    "mtl": "Name the .obj file first, its .mtl after it.",
}


class MeshError(ModelError):
    """A mesh file that cannot be used."""

    def __init__(self, path: Path, reason: str, todo: str) -> None:
        allowed = "mesh files that load, of the formats " + ", ".join(f".{name}" for name in FORMATS)
        super().__init__(str(path), reason, allowed, todo)


@record
class MeshPiece:
    """A mesh of a file with its transform and colour."""

    mesh: Mesh
    colour: Colour  # multiplies the texture, where there is one
    transform: np.ndarray  # (4, 4) float64, mesh coordinates to file coordinates [m]; may scale
    warnings: tuple[str, ...] = ()  # features of the file that are not supported


def check_format(path: Path) -> None:
    """MeshError for a suffix that is not in `FORMATS`."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        problem = f"the format {path.suffix!r}" if suffix else "a name without a format"
        raise MeshError(
            path, problem, ELSEWHERE.get(suffix) or nearest(suffix, FORMATS) or "Convert it to one of these."
        )


def packed(pieces: tuple[MeshPiece, ...], files: dict[str, str], key: str) -> bytes:
    """Pieces and the digests of the files they were read from, as one .npz; shared meshes and textures are stored once.

    Keys of meshes, which are unique within the file, get `key` in front.
    """
    arrays: dict[str, np.ndarray] = {"places": np.stack([piece.transform for piece in pieces])}
    meshes = {piece.mesh.key: piece.mesh for piece in pieces}
    textures = {id(mesh.texture): mesh.texture for mesh in meshes.values() if mesh.texture is not None}
    for k, texture in enumerate(textures.values()):
        arrays[f"texture{k}"] = texture.pixels
    rank = {name: k for k, name in enumerate(textures)}
    described = []
    for k, mesh in enumerate(meshes.values()):
        arrays |= {f"vertices{k}": mesh.vertices, f"indices{k}": mesh.indices, f"normals{k}": mesh.normals}
        if mesh.uv is not None:
            arrays[f"uv{k}"] = mesh.uv
        described.append({"key": f"{key}:{mesh.key}", "texture": rank.get(id(mesh.texture))})
    number = {key: k for k, key in enumerate(meshes)}
    header = {
        "files": files,
        "meshes": described,
        "pieces": [
            {"mesh": number[piece.mesh.key], "colour": piece.colour, "warnings": piece.warnings} for piece in pieces
        ],
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def unpacked(data: bytes) -> tuple[tuple[MeshPiece, ...], dict[str, str]]:
    """Inverse of `packed`. Raises OSError, ValueError, KeyError, EOFError or zipfile.BadZipFile for other bytes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        count = sum(name.startswith("texture") for name in arrays.files)
        textures = [Texture(arrays[f"texture{k}"]) for k in range(count)]
        meshes = [_mesh(arrays, k, described, textures) for k, described in enumerate(header["meshes"])]
        places = arrays["places"]
    pieces = tuple(
        MeshPiece(meshes[one["mesh"]], _colour(one["colour"]), transform, tuple(one["warnings"]))
        for one, transform in zip(header["pieces"], places, strict=True)
    )
    return pieces, header["files"]


def _mesh(arrays: Any, k: int, described: dict[str, Any], textures: list[Texture]) -> Mesh:
    number = described["texture"]
    return Mesh(
        described["key"],
        arrays[f"vertices{k}"],
        arrays[f"indices{k}"],
        arrays[f"normals{k}"],
        arrays[f"uv{k}"] if f"uv{k}" in arrays.files else None,
        None if number is None else textures[number],
    )


def _colour(values: list[float]) -> Colour:
    red, green, blue, opacity = values
    return red, green, blue, opacity
