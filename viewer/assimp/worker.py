"""The importing process: reads one mesh file after another for the viewer that started it."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import io
import json
import os
import re
import resource
import signal
import zipfile
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from shiftjax.viewer.assimp import library
from shiftjax.viewer.assimp.child import DONE, READY, REFUSED
from shiftjax.viewer.assimp.convert import Source, Unusable, pieces_of
from shiftjax.viewer.assimp.disk import Disk
from shiftjax.viewer.assimp.pieces import packed

# aiPostProcessSteps: join identical vertices, triangulate, sort by primitive type, transform texture coordinates
STEPS = 0x2 | 0x8 | 0x8000 | 0x80000
REMOVE_COMPONENTS, GLOBAL_SCALE = 0x10, 0x8000000
NORMALS = 0x2  # aiComponent
INTEGERS = {b"IMPORT_COLLADA_IGNORE_UP_DIRECTION": 1, b"AI_CONFIG_IMPORT_FBX_IGNORE_UP_DIRECTION": 1}
# STL has a normal for each facet, which would keep its vertices apart; 3DS has none, and the importer's are wrong where
# triangles share vertices. FBX has a unit, applied only on request.
FURTHER = {".stl": REMOVE_COMPONENTS, ".3ds": REMOVE_COMPONENTS, ".fbx": GLOBAL_SCALE}
Y_UP_TO_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
UNITS = {b"micron": 1e-6, b"millimeter": 1e-3, b"centimeter": 1e-2, b"inch": 0.0254, b"foot": 0.3048, b"meter": 1.0}
MEMORY = 0.5  # of the machine's, limit for memory requested by the importer
GRACE = 5.0  # [s] after its time, the child ends by itself: in case no parent is left to end it


def main(number: int) -> None:
    """Serves requests on the pipe of that file number until its other end is closed."""
    pipe = Connection(number)
    _limit()
    try:
        dll = library.opened()
    except library.Missing as missing:
        pipe.send_bytes(REFUSED + str(missing).encode())
        return
    pipe.send_bytes(READY)
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, request["timeout"] + GRACE)
        try:
            answer = DONE + read(dll, Path(request["path"]), tuple(map(Path, request["companions"])))
        except Unusable as unusable:
            answer = REFUSED + str(unusable).encode()
        except MemoryError:
            answer = REFUSED + b"a file that asks for more memory than the importer may have"
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        pipe.send_bytes(answer)


def read(dll: ctypes.CDLL, path: Path, companions: tuple[Path, ...]) -> bytes:
    """A mesh file as packed pieces. Raises Unusable."""
    disk = Disk(path, companions)
    suffix = path.suffix.lower()
    store = dll.aiCreatePropertyStore()
    for name, number in INTEGERS.items():
        dll.aiSetImportPropertyInteger(store, name, number)
    dll.aiSetImportPropertyInteger(store, b"PP_RVC_FLAGS", NORMALS)
    steps = STEPS | FURTHER.get(suffix, 0)
    pointer = dll.aiImportFileExWithProperties(os.fsencode(path), steps, ctypes.byref(disk.calls), store)
    dll.aiReleasePropertyStore(store)
    if not pointer:
        reason = " ".join((dll.aiGetErrorString() or b"").decode(errors="replace").split())[:300]
        raise Unusable(f"a file that the importer does not take ({reason or 'it gives no reason'})")
    try:
        source = Source(
            pointer.contents,
            disk.content,
            disk.absent,
            _frame(disk),
            linear=suffix in (".gltf", ".glb"),
            facets=suffix in (".stl", ".3ds"),
            bare=suffix in (".stl", ".off"),
        )
        first, *others = pieces_of(source)
    finally:
        dll.aiReleaseImport(pointer)
    key = hashlib.sha256(json.dumps([suffix, steps, disk.digests]).encode()).hexdigest()
    first = dataclasses.replace(first, warnings=(*first.warnings, *disk.missing_materials()))
    return packed((first, *others), disk.digests, key)


def _frame(disk: Disk) -> np.ndarray:
    """(4, 4) from the importer's coordinates to the file's, in metres."""
    if disk.path.suffix.lower() == ".3ds":
        return Y_UP_TO_Z_UP
    if disk.path.suffix.lower() == ".3mf":
        return np.diag([*[_unit_of_3mf(disk)] * 3, 1.0])
    return np.eye(4)


def _unit_of_3mf(disk: Disk) -> float:
    """[m]; the importer leaves it out."""
    try:
        with zipfile.ZipFile(io.BytesIO(disk.content(disk.path.name) or b"")) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".model"))
            with archive.open(name) as file:
                head = file.read(4096)
    except Exception:  # the importer has read it: what zipfile dislikes is no reason to refuse
        head = b""
    unit = re.search(rb"<model\b[^>]*\bunit\s*=\s*[\"'](\w+)[\"']", head)
    return UNITS.get(unit[1], 1e-3) if unit else 1e-3  # millimetres where it says nothing (3MF core, 3.4)


def _limit() -> None:
    """Bounds what a bad file can cost: half of the memory, no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = int(MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
    except (ValueError, OSError):  # macOS has the limit but refuses to set it
        return
