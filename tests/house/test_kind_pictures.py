"""The pictures of the catalogue (E10): none is missing, none is cut off, and arrows of joints are what the kinds do."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shiftjax.algebra import matmul, matvec
from shiftjax.constraints import CONSTRAINTS
from shiftjax.docs.catalogue import catalogue
from shiftjax.docs.kind_pictures import frame_pictures, joint_force_pictures
from shiftjax.docs.kind_pictures.drawing import CHILD, FORCE, HEIGHT, LETTER, MOTION, WIDTH
from shiftjax.docs.kind_pictures.free_motions import drawn_coordinates, free_motions, numbers
from shiftjax.docs.kind_pictures.joint_force_pictures import RESTRAINTS
from shiftjax.docs.kind_pictures.joint_pictures import drawn_joint, joint_picture
from shiftjax.docs.kind_pictures.pictures import PICTURES, picture
from shiftjax.forces import FORCES
from shiftjax.joints import KINDS, JointKind
from shiftjax.joints.primitives import Rotation, Translation
from shiftjax.record import record

DIFFERENCE = 1e-6  # of a central difference of step 1e-4 against the derivative: its square, and rounding over it
SVG = "{http://www.w3.org/2000/svg}"
LEAST_CONTRAST = 3.0  # of parts of graphics, and of bold words
SHARP = 1e-12  # algebra in f64
LISTED = {
    name: kind
    for table in (CONSTRAINTS, FORCES)
    for name, kind in table.items()
    if kind.listed and table.ships(kind)  # type: ignore[arg-type]
}
SHIPPED = {name: kind for name, kind in KINDS.items() if KINDS.ships(kind)}


@record
class Backwards(Rotation):
    """A turn against its axis, as a user may write one."""

    def motion(self, q: Any, n: Any) -> Any:
        return Rotation.motion(self, [-q[0]], n)

    def screws(self, R_before: Any, R_after: Any, n: Any) -> Any:
        return [([-x for x in line], way) for line, way in Rotation.screws(self, R_before, R_after, n)]


WRITTEN = {  # kinds that the package does not have
    "turns backwards": JointKind((Backwards("x"),), "hinge"),
    "slides and turns across": JointKind((Translation("y"), Rotation("x")), "slot", ("slide", "angle")),
    "two turns and a slide": JointKind(
        (Rotation("x"), Rotation("z"), Translation("y")), "free", ("first", "second", "slide")
    ),
}


def test_every_kind_of_the_tables_has_a_picture() -> None:
    names = re.findall(r"^\| <svg .*</svg> \| \*\*`(\w+)`\*\*", catalogue(), re.M)
    assert sorted(names) == sorted([*SHIPPED, *LISTED, *RESTRAINTS]) and len(names) > 90
    assert PICTURES.keys() == LISTED.keys() | RESTRAINTS.keys(), (
        "enter what draws it into a table of docs/kind_pictures"
    )


def svgs() -> Iterator[tuple[str, str]]:
    for name, kind in (SHIPPED | LISTED | WRITTEN | {name: FORCES[name] for name in RESTRAINTS}).items():
        yield name, picture(name, kind).svg()


def test_pictures_are_cells_of_a_table_with_a_text_and_nothing_is_cut_off() -> None:
    for name, svg in svgs():
        assert not re.search(r"[|`\n]| id=", svg), name
        root = ElementTree.fromstring(svg)
        assert len((root.get("aria-label") or "").split()) > 4, name
        places = [
            point
            for path in root.iter(f"{SVG}path")
            for point in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path.get("d", ""))
        ]
        for word in root.iter(f"{SVG}text"):
            x, y = float(word.get("x", "")), float(word.get("y", ""))
            size = float(word.get("font-size", "12"))
            wide = len(word.text or "") * LETTER * size / 12.0
            left = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[word.get("text-anchor", "")]
            places += [(left, y), (left + wide, y - 0.7 * size)]
        assert len(places) > 10, name
        outside = [place for place in places if not (0 <= float(place[0]) <= WIDTH and 0 <= float(place[1]) <= HEIGHT)]
        assert not outside, f"{name}: {outside}"


@pytest.mark.parametrize("name", [*SHIPPED, *WRITTEN])
def test_arrows_of_a_joint_are_its_motions(name: str) -> None:
    """One for each speed; a straight one along the velocity, a curved one about the axis, in the positive sense."""
    kind = (SHIPPED | WRITTEN)[name]
    _, arrows = drawn_joint(kind)
    assert len(arrows) == kind.nv
    for (turning, sliding), (motion, points) in zip(screws(kind), arrows, strict=True):
        steps = np.diff(points, axis=0)
        if not np.linalg.norm(turning):
            assert parallel(points[-1] - points[0], sliding)
            continue
        around = np.cross(points[:-1] - np.mean(points, axis=0), steps)
        assert parallel(around.sum(axis=0), turning) or motion.pitch
        assert np.all(around @ turning > 0.0)
        assert np.sign((points[-1] - points[0]) @ turning) == np.sign(motion.pitch) or not motion.pitch
    heads = joint_picture(kind).svg().count(f'fill="{MOTION}" stroke="none"')
    words = [
        word
        for word in ElementTree.fromstring(joint_picture(kind).svg()).iter(f"{SVG}text")
        if word.get("fill") == MOTION
    ]
    assert heads == len(words) == kind.nv


def parallel(a: np.ndarray, b: np.ndarray) -> bool:
    return float(a @ b) > (1.0 - 1e-9) * float(np.linalg.norm(a) * np.linalg.norm(b))


def screws(kind: JointKind) -> list[tuple[np.ndarray, np.ndarray]]:
    """Angular velocity, and velocity of the child's origin, of a unit of each speed, by the kind's derivatives."""
    n, q, R, out = numbers(kind), drawn_coordinates(kind), np.eye(3).tolist(), []
    shifts: list[Any] = []
    for primitive, values in zip(kind.primitives, q, strict=True):
        turned, shift = primitive.motion(values, n)
        after = matmul(R, turned)
        out += [(np.array(w, float), np.array(v, float)) for w, v in primitive.screws(R, after, n)]
        shifts.append(matvec(R, shift))
        R = after
    assert not np.any(shifts)  # nothing is away from the joint's point, so that turns move it nowhere
    return out


@pytest.mark.parametrize("name", [*SHIPPED, *WRITTEN])
def test_free_motions_are_the_screws(name: str) -> None:
    kind = (SHIPPED | WRITTEN)[name]
    motions = free_motions(kind, drawn_coordinates(kind))
    for motion, (turning, sliding) in zip(motions, screws(kind), strict=True):
        assert (
            np.abs(motion.turning - turning).max() < DIFFERENCE and np.abs(motion.sliding - sliding).max() < DIFFERENCE
        )


@pytest.mark.parametrize("ground", ["#ffffff", "#1e2129"])
def test_colours_are_seen_on_light_and_on_dark(ground: str) -> None:
    """Contrast of lines and words to both pages (WCAG 2.1, 1.4.11)."""
    for colour in (MOTION, FORCE, CHILD, frame_pictures.DEEP):
        bright, dark = sorted((lightness(colour), lightness(ground)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= LEAST_CONTRAST, colour


def lightness(colour: str) -> float:
    """Relative luminance of "#rrggbb" (WCAG 2.1)."""
    parts = np.array([int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_frames_are_drawn_where_their_constraint_holds() -> None:
    for name, (R, p) in frame_pictures.POSES.items():
        rest = CONSTRAINTS[name].function(R.tolist(), p.tolist(), {"length": frame_pictures.LENGTH})  # type: ignore[attr-defined]
        assert len(rest) and np.abs(rest).max() < SHARP, name


def test_forces_of_a_joint_are_those_of_their_formulas() -> None:
    spring, _ = joint_force_pictures.force_along(FORCES["joint_spring"], {"k": 2.0, "c": 3.0}, q=0.5, v=0.1)
    assert abs(spring + 1.3) < SHARP
    of_bristles = {"static": 1.0, "kinetic": 0.5, "stribeck_speed": 0.2, "stiffness": 10.0}
    force, (rate,) = joint_force_pictures.force_along(FORCES["lugre_friction"], of_bristles, v=2.0, states=(0.05,))
    assert abs(force + 0.5) < SHARP and abs(rate) < SHARP  # far beyond stribeck_speed the level is the kinetic one
