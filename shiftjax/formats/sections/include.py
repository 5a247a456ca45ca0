"""A file inside a file: how it is mounted on a frame of the file around it."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import numpy as np

from shiftjax.algebra import Mat, identity, matmul, matvec, plus
from shiftjax.formats.sections.draft import Draft, remap, with_frames
from shiftjax.formats.values.names import Names
from shiftjax.formats.values.node import Node, orthonormal
from shiftjax.mechanism.edit import rebuilt
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model, unused
from shiftjax.mechanism.records import FIXED, IDENTITY, ORIGIN, ZERO, Assembly, Body, Frame, FrameRef, Terrain, walk
from shiftjax.mechanism.scene_fields import FILES
from shiftjax.rotations import rotation_of_vector

MAX_CHAIN = 40
MAX_ELEMENTS = 100_000
MAPS = tuple(f"{kind}_map" for kind in FILES)


def size(part: Model) -> int:
    """How many elements a model has, of every kind."""
    count = len(part.frames) + len(part.lights) + len(part.terrain)
    for path, assembly, _ in walk(part.assemblies):
        count += 1 + len(assembly.joints) + len(assembly.restraints)
        count += len(assembly.force_modules) + len(assembly.constraints) + len(assembly.drivers)
        count += sum(1 + len(body.frames) for body in assembly.bodies) + len(path) // 1000
    return count


def reached_from(folder: Path, part: Model) -> Model:
    """The included model with the files of its shapes and terrains named from the folder of the including file.

    What lies in include directories of its own is named by where it lies: those of the including file are others.
    """
    beside = Path(part.source).parent
    way = _way(folder, beside)
    if way == "." and not part.include_directories:
        return part

    def moved(name: str) -> str:
        if name.startswith("/") or "://" in name:
            return name
        for directory in ("", *part.include_directories):
            try:
                if (beside / directory / name).is_file():
                    return _way(folder, beside / directory / name)
            except (OSError, ValueError):
                continue
        return name if way == "." else f"{way}/{name}"

    def body(item: Body) -> Body:
        shapes = tuple(
            dataclasses.replace(shape, filename=tuple(moved(name) for name in shape.filename))
            for shape in item.geometry
        )
        return dataclasses.replace(item, geometry=shapes)

    def assembly(item: Assembly, _: str) -> Assembly:
        return dataclasses.replace(item, bodies=tuple(body(b) for b in item.bodies))

    def terrain(item: Terrain) -> Terrain:
        files = {key: moved(name) for key, name in item.options.items() if key in MAPS and isinstance(name, str)}
        return dataclasses.replace(item, options=FrozenJson({**item.options, **files}))

    ground = tuple(terrain(item) for item in part.terrain)
    return dataclasses.replace(part, assemblies=rebuilt(part.assemblies, assembly), terrain=ground)


def _way(folder: Path, place: Path) -> str:
    """A place as it is named from a folder."""
    return os.path.relpath(os.path.normpath(place), folder.resolve()).replace(os.sep, "/")


@dataclasses.dataclass
class Mount:
    """An included file whose place is not yet known."""

    entry: str  # name of the entry
    prefix: str  # path of the entry's assembly
    local: str  # path of the assembly that holds the entry
    node: Node  # the entry
    part: Model
    drafts: list[Draft]
    stated: dict[str, str]  # name of a parameter of the file -> its expression in the file around it
    rotation: Mat = dataclasses.field(default_factory=identity)  # of the parent frame in its body, once placed
    ground: dict[str, tuple[str, Frame, Frame]] = dataclasses.field(default_factory=dict)
    # its frames by name, once placed: the body that has each now, the frame there, and as it was

    def place(self, names: Names) -> tuple[list, list]:
        """Puts the file's ground on the parent frame; returns its lights and terrain there."""
        parent = self.node["parent"]
        ref = FrameRef(FIXED) if parent.value is None else names.frame(parent, self.local)
        if ref.body == self.prefix or ref.body.startswith(f"{self.prefix}:"):
            parent.refuse("a frame outside of the included file", "Name another parent.", f"its own body {ref.body}")
        frames = names.ground if ref.body == FIXED else names.bodies[ref.body].frames
        base = next((frame for frame in frames if frame.name == ref.frame), Frame(ORIGIN))
        taken = {frame.name for frame in frames} | {ORIGIN}
        renamed = {ORIGIN: ref.frame}
        added = []
        for frame in self.part.frames:
            name = unused(f"{self.entry}_{frame.name}", taken)
            taken.add(name)
            renamed[frame.name] = name
            added.append(_on(base, frame, name))
            if not all(map(math.isfinite, added[-1].T)):
                self.node.refuse("frames at finite places", "Correct their T.", f"the frame {name!r} beyond 1.8e308 m")
        self.rotation = _rotation(base)
        placed = zip(self.part.frames, added, strict=True)
        self.ground = {frame.name: (ref.body, now, frame) for frame, now in placed}
        if ref.body == FIXED:
            names.ground += added
        else:
            names.bodies[ref.body] = with_frames(names.bodies[ref.body], added)

        def move(old: FrameRef) -> FrameRef:
            if old.body == FIXED:
                return FrameRef(ref.body, renamed[old.frame])
            return FrameRef(f"{self.prefix}:{old.body}", old.frame)

        remap(self.drafts, self.prefix, move, names)
        moved = [
            [dataclasses.replace(item, name=f"{self.entry}_{item.name}", parent=move(item.parent)) for item in items]
            for items in (self.part.lights, self.part.terrain)
        ]
        return moved[0], moved[1]


def _rotation(base: Frame) -> Mat:
    """Of a frame in its body."""
    R = [list(row) for row in base.R]
    return R if base.rotation == ZERO else matmul(R, rotation_of_vector(base.rotation))


def _on(base: Frame, frame: Frame, name: str) -> Frame:
    """The frame of an included ground as a frame of the body that carries `base`; exact where base is not turned."""
    R_base = _rotation(base)
    rows = matmul(R_base, [list(row) for row in frame.R]) if base.R != IDENTITY or base.rotation != ZERO else frame.R
    tx, ty, tz = (float(a) for a in plus(base.T, matvec(R_base, frame.T)))
    return Frame(name, (tx, ty, tz), orthonormal(np.array(rows)), frame.rotation)
