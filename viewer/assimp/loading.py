"""Loading a mesh file: checks, then the cache, then the child process. Nothing here can crash on a bad file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from shiftjax.viewer.assimp import mesh_cache
from shiftjax.viewer.assimp.child import Child, Failed
from shiftjax.viewer.assimp.pieces import MeshError, MeshPiece, check_format, unpacked

TIMEOUT = 20.0  # [s]; an STL of 326,000 triangles takes 2.9 s
EXPORT = "Export the file anew, check it in another program, or convert it to another format."
_CHILD = Child()


def load(
    path: str | os.PathLike[str], companions: Sequence[str | os.PathLike[str]] = (), *,
    timeout: float = TIMEOUT,
) -> tuple[MeshPiece, ...]:  # fmt: skip
    """The pieces of a mesh file, in the coordinates that the file is written in: no up direction is turned.

    Lengths are taken as metres where the format has no unit (OBJ, STL, PLY, OFF, 3DS) and made metres where it has one.

    Args:
        path: of the file; its suffix decides the format.
        companions: further files that the mesh needs (an .mtl, a texture), found under their name wherever the mesh
            file says they are; a relative one may be relative to the mesh file's folder. Others that the mesh file
            names are looked for in its folder and below only, links followed; one that lies elsewhere is left out, with
            a warning.
        timeout: of the importer [s].

    Raises:
        MeshError: missing or unreadable file, unknown format, or what the importer says, crashes or does not end on.
    """
    path = Path(path).absolute()
    check_format(path)
    others = tuple(_companion(path, Path(companion)) for companion in companions)
    for file in (path, *others):
        _check(file)
    try:
        name = mesh_cache.name_of(path, others)
    except OSError as error:
        raise MeshError(path, f"a file that cannot be read ({error.strerror})", "Check its permissions.") from None
    cached = mesh_cache.read(name, path.parent)
    if cached is not None:
        return cached
    request = json.dumps({"path": str(path), "companions": [str(file) for file in others], "timeout": timeout})
    try:
        data = _CHILD.ask(request.encode(), timeout)
    except Failed as failure:
        raise MeshError(path, failure.reason, failure.todo or EXPORT) from None
    try:
        pieces, _ = unpacked(data)
    except mesh_cache.DAMAGED as error:
        raise MeshError(path, f"a file that spoils the importer's answer ({error})", EXPORT) from None
    mesh_cache.write(name, data)
    return pieces


def _companion(path: Path, companion: Path) -> Path:
    return companion.absolute() if companion.exists() else path.parent / companion


def _check(file: Path) -> None:
    if not file.is_file():
        problem = "no plain file" if file.exists() else "no such file"
        raise MeshError(file, problem, "Check the name and the folder; names are relative to the model's file.")
    if file.stat().st_size == 0 and file.suffix.lower() != ".mtl":
        raise MeshError(file, "an empty file", "Export the file anew.")
