"""Valid files of three text formats that the importer misreads, rewritten in memory."""

from __future__ import annotations

import itertools
import re

POINT_LINE = re.compile(rb"(?m)^[ \t]*v[nt]?[ \t][^\n]*")
BARE_POINT = re.compile(rb"(?<![\w.])([-+]?)\.(?=\d)")
ADDRESSES = re.compile(rb"""\burl\s*=\s*('[^'<>]*'|"[^"<>]*")""")
MOST_CORNERS = 9  # of a face of an OFF file, for the importer


def repaired(suffix: str, data: bytes, materials: bytes | None) -> bytes:
    """The content of a file of that suffix; `materials` names an .mtl file to use where an OBJ file names none."""
    if suffix == ".obj":
        return _obj(data, materials)
    if suffix == ".x3d":
        return ADDRESSES.sub(_first_address, data)
    if suffix == ".off":
        return _off(data)
    return data


def _obj(data: bytes, materials: bytes | None) -> bytes:
    """`-.5` is not read as a number: "vertex index out of range"."""
    data = POINT_LINE.sub(lambda line: BARE_POINT.sub(rb"\g<1>0.", line[0]), data)
    return data if materials is None or b"mtllib" in data else b"mtllib " + materials + b"\n" + data


def _first_address(attribute: re.Match[bytes]) -> bytes:
    """A list of quoted addresses, as in the standard, is refused or concatenated: only the first one is kept."""
    words = attribute[1][1:-1].replace(b"&quot;", b'"').strip()
    quoted = re.match(rb'"([^"]*)"', words)
    return b'url="' + (quoted[1] if quoted else words.replace(b'"', b"")) + b'"'


def _off(data: bytes) -> bytes:
    """Faces of more than nine corners are silently left out: they are cut into fans, which is valid for flat convex
    faces."""
    lines = [line.split() for line in re.sub(rb"#[^\n]*", b"", data).split(b"\n") if line.strip()]
    try:
        if not lines or lines[0] != [b"OFF"]:
            return data
        points, count = int(lines[1][0]), int(lines[1][1])
        faces = lines[2 + points : 2 + points + count]
        if all(int(face[0]) <= MOST_CORNERS for face in faces):
            return data
        cut = [piece for face in faces for piece in _fan(face)]
    except (ValueError, IndexError):
        return data
    head = [[b"OFF"], [b"%d" % points, b"%d" % len(cut), b"0"], *lines[2 : 2 + points]]
    return b"\n".join(b" ".join(line) for line in head + cut) + b"\n"


def _fan(face: list[bytes]) -> list[list[bytes]]:
    corners = face[1 : 1 + int(face[0])]
    if len(corners) <= MOST_CORNERS:
        return [face]
    return [[b"3", corners[0], b, c] for b, c in itertools.pairwise(corners[1:])]
