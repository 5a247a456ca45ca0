"""Assimp's shared library and the layouts of its records, in the child process.

pyassimp gives the layouts; its own search for the library is not run, since it loads every file of that name (three
copies in cmeel-assimp), looks in the working folder first, and needs distutils, which Python 3.12 no longer has.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAMES = ("libassimp.so", "libassimp.dylib")


class Missing(Exception):
    """A package is not installed: what is missing, and how to get it."""


def find(folders: Iterable[str]) -> str:
    """Path or name of the library: of cmeel-assimp among the folders of modules, else the system's. Raises Missing."""
    for folder in folders:
        for name in NAMES:
            path = Path(folder) / "cmeel.prefix" / "lib" / name
            if path.is_file():
                return str(path)
    library = ctypes.util.find_library("assimp")
    if library is None:
        raise Missing("no Assimp library\0Install it: pip install cmeel-assimp (or your system's libassimp).")
    return library


def layouts() -> Any:
    """The module pyassimp.structs, without running pyassimp's search. Raises Missing."""
    if "pyassimp" not in sys.modules:
        spec = importlib.util.find_spec("pyassimp")
        if spec is None:
            raise Missing("no pyassimp\0Install it: pip install pyassimp.")
        sys.modules["pyassimp"] = importlib.util.module_from_spec(spec)
    from pyassimp import structs

    return structs


def opened() -> ctypes.CDLL:
    """The library with its functions typed. Raises Missing."""
    structs = layouts()
    path = find(sys.path)
    try:
        dll = ctypes.CDLL(path)
    except OSError as error:
        raise Missing(
            f"an Assimp library that does not load ({error})\0Install it anew: pip install cmeel-assimp."
        ) from None
    dll.aiCreatePropertyStore.restype = ctypes.c_void_p
    dll.aiReleasePropertyStore.argtypes = [ctypes.c_void_p]
    dll.aiSetImportPropertyInteger.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    dll.aiImportFileExWithProperties.restype = ctypes.POINTER(structs.Scene)
    dll.aiImportFileExWithProperties.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p]
    dll.aiReleaseImport.argtypes = [ctypes.POINTER(structs.Scene)]
    dll.aiGetErrorString.restype = ctypes.c_char_p
    return dll
