"""The text of an MJCF file with the files that it includes, as one tree of elements."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from shiftjax.errors import ModelError
from shiftjax.formats.jsonc import MAX_BYTES
from shiftjax.formats.robots.xml_tree import DEEPEST, LONGEST, XmlElement, parsed

ROOTS = ("mujoco", "mujocoinclude")


def opened(text: str, name: str, folder: Path | None) -> XmlElement:
    """The root element, in which what an `include` names stands in its place.

    Args:
        text: of the file. name: of the file, for messages.
        folder: where it lies, and included files in it or below; None where a text comes from no file.

    Raises:
        ModelError: no XML, no MJCF, a file that is not there, that lies elsewhere or is included twice.
    """
    root = parsed(text, name)
    if root.tag == "robot":
        root.refuse("URDF", "<mujoco>, the root of MJCF", "Rename the file to .urdf.")
    if root.tag != ROOTS[0]:
        root.refuse(
            f"the root element <{root.tag[:LONGEST]}>", "<mujoco>, the root of MJCF", "Is this a model of MuJoCo?"
        )
    _expand(root, folder, {name})
    return root


def _expand(element: XmlElement, folder: Path | None, seen: set[str], depth: int = 1) -> None:
    if depth > DEEPEST:
        element.refuse("a deeper element", f"elements and files nested at most {DEEPEST} deep", "Flatten them.")
    children: list[XmlElement] = []
    for inner in element.children:
        _expand(inner, folder, seen, depth + 1)
        children += _included(inner, element, folder, seen, depth + 1) if inner.tag == "include" else [inner]
    element.children = children


def _included(
    include: XmlElement, above: XmlElement, folder: Path | None, seen: set[str], depth: int
) -> list[XmlElement]:
    """The elements of an included file, which stand in `above` from now on."""
    include.only(("file",))
    name = include.word("file").replace("\\", "/")
    way = PurePosixPath(name)
    if folder is None or way.is_absolute() or ".." in way.parts or ":" in name or "\0" in name:
        include.refuse(f"file={name[:LONGEST]!r}", "a file in the folder of the model or below", "Move it there.")
    if str(way) in seen:
        include.refuse(f"file {name[:LONGEST]!r} a second time", "each file once", "Remove one <include>.")
    seen.add(str(way))
    root = parsed(_text(include, folder / way, folder), str(way))
    if root.tag not in ROOTS:
        root.refuse(f"the root element <{root.tag[:LONGEST]}>", "<mujocoinclude> or <mujoco>", "Correct it.")
    _expand(root, folder, seen, depth)
    for inner in root.children:
        inner.above = above
    return root.children


def _text(include: XmlElement, path: Path, folder: Path) -> str:
    name = include.word("file")[:LONGEST]
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            include.refuse(f"file={name!r}, a link to elsewhere", "a file in the folder of the model", "Copy it there.")
        if path.stat().st_size > MAX_BYTES:
            include.refuse(f"a file of {path.stat().st_size} bytes", f"at most {MAX_BYTES}", "Is this a model?")
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        fault = f"file={name!r}: {getattr(error, 'strerror', None) or 'no UTF-8'}"
        raise ModelError(include.where, fault, "a file beside the model that can be read", "Check its name.") from error
