"""The picture of a joint, made of its free motions: which parts it has, and an arrow for each speed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shiftjax.docs.kind_pictures.drawing import BETWEEN, CHILD, LETTER, MOTION, PARENT, THIN, Drawing
from shiftjax.docs.kind_pictures.free_motions import FreeMotion, drawn_coordinates, free_motions
from shiftjax.docs.kind_pictures.solids import EYE, RIGHT, UP, Projection, across, circle, unit
from shiftjax.joints import JointKind

X, Y, Z = np.eye(3)
ALIKE = 1.0 - 1e-6  # of the cosine of directions that fall together
ROUND = 0.28  # radius of a curved arrow
SCALE, MIDDLE = 56.0, (134.0, 76.0)  # of the scene [px]


Arrow = tuple[FreeMotion, Sequence[np.ndarray]]  # a motion, and the points of its arrow in space


def joint_picture(kind: JointKind) -> Drawing:
    """The picture of a kind of joint: the parent grey, the child blue, what is between them ochre."""
    scene, arrows = drawn_joint(kind)
    drawing = Drawing(described(kind, [motion for motion, _ in arrows]))
    scene.draw(drawing)
    slides = sum(not motion.turns for motion, _ in arrows)
    beside = slides == 1 < len(arrows) or any(kind.coordinates[m.coordinate].nv == 3 for m, _ in arrows)
    for motion, points in arrows:
        _arrow(drawing, scene, motion, points, beside=beside)
    _frame(drawing)
    return drawing


def drawn_joint(kind: JointKind) -> tuple[Projection, list[Arrow]]:
    """The bodies of a joint, and an arrow for each of its speeds, in their order.

    Which parts it has follows from how many motions slide and how many turn: a block or a ball on a rail or plate, a
    hinge, a cross between forks, rings in rings.
    """
    motions, scene = free_motions(kind, drawn_coordinates(kind)), Projection(SCALE, MIDDLE)
    turns, slides = [m for m in motions if m.turns], [m for m in motions if not m.turns]
    if any(kind.coordinates[m.coordinate].nv == 3 for m in turns):
        _ball(scene, slides)
        arrows = _ball_arrows(scene, turns, min(len(slides), 3))
    elif len(turns) > 3 or (len(turns) > 1 and slides) or len(slides) > 3:  # no part of a machine that is known here
        _block(scene, slides[:3])
        arrows = _ball_arrows(scene, turns, 3)
    elif len(turns) == 3:
        arrows = _gimbal(scene, turns)
    elif len(turns) == 2:
        arrows = _cross(scene, turns)
    elif turns:
        arrows = _one_turn(scene, turns[0], slides)
    else:
        _block(scene, slides) if slides else _weld(scene)
        arrows = []
    arrows += _slide_arrows(slides, turns)
    return scene, sorted(arrows, key=lambda arrow: [m is arrow[0] for m in motions].index(True))


def described(kind: JointKind, motions: Sequence[FreeMotion]) -> str:
    """The text of a joint's picture."""
    names = ", ".join(m.name for m in motions)
    arrows = f"{len(motions)} arrow{'s' * (len(motions) != 1)}: {names}" if motions else "no arrow"
    return f"Two bodies and the joint between them: {kind.doc or 'one moves on the other'}; {arrows}"


def _arrow(
    drawing: Drawing, scene: Projection, motion: FreeMotion, points: Sequence[np.ndarray], *, beside: bool
) -> None:
    """The arrow of a motion and its name: of a turn outside of its circle, of a slide beyond its tip or beside it."""
    flat = np.array(scene.flat(points))
    drawing.arrow(list(flat), both=True, head=7.0)
    way = flat[-1] - flat[0]
    if motion.turns:
        middle = np.mean(flat, axis=0)
        size = float(np.max(np.linalg.norm(flat - middle, axis=1)))
        out = unit(middle - scene.middle)
        out = out if abs(out[1]) < 0.9 else np.array([1.0, 0.1 * out[1]])
        place = middle + (size + 6.0 + abs(out[0]) * 0.45 * LETTER * len(motion.name)) * out
    elif beside:
        side = flat.mean(axis=0) - scene.middle + (4.0, -2.0)
        normal = np.array([-way[1], way[0]]) / np.linalg.norm(way)
        place = flat.mean(axis=0) + 13.0 * (normal if normal @ side > 0.0 else -normal)
    else:
        place = flat[-1] + 12.0 * way / np.linalg.norm(way)
    drawing.word((place[0], max(place[1], 7.0)), motion.name, colour=MOTION)


def _frame(drawing: Drawing) -> None:
    """The parent's axes, in the corner."""
    corner = Projection(16.0, (20.0, 16.0))
    for name, axis in zip("xyz", (X, Y, Z), strict=True):
        drawing.arrow(corner.flat([0.0 * axis, axis]), colour="currentColor", width=THIN, head=5.0)
        drawing.word(corner.at(1.45 * axis), name, size=10.0)


def turn_points(motion: FreeMotion, centre: np.ndarray, radius: float = ROUND) -> list[np.ndarray]:
    """The arrow of a turn: three quarters of a circle about its axis, open at the back; of a screw one of its turns."""
    axis = motion.direction
    if abs(motion.pitch) < 1e-9:
        return circle(centre, axis, radius, 150.0, 390.0)
    turn = circle(centre, axis, 1.25 * radius, 150.0, 480.0)
    rise = math.copysign(0.5, motion.pitch)
    return [p + axis * rise * (k / (len(turn) - 1) - 0.5) for k, p in enumerate(turn)]


def _slide_arrows(slides: Sequence[FreeMotion], turns: Sequence[FreeMotion]) -> list[Arrow]:
    out: list[Arrow] = []
    for motion in slides:
        d = motion.direction
        if len(slides) == 1:
            side = unit(np.cross(EYE, d)) * (1.0 if np.cross(EYE, d) @ UP > 0.0 else -1.0)
            lifted = 0.55 * side if not turns else -0.62 * side
            out.append((motion, [lifted - 0.55 * d, lifted + 0.55 * d]))
        else:
            begin, end = (0.4, 0.9) if len(slides) == 3 else (0.45, 0.92)
            out.append((motion, [begin * d, end * d]))
    return out


def _ball_arrows(scene: Projection, turns: Sequence[FreeMotion], slides: int) -> list[Arrow]:
    out: list[Arrow] = []
    for motion in turns:
        axis = motion.direction
        far = (0.9, 1.3, 1.3, 1.2)[slides] * stretch(axis)
        scene.line([(0.9 if slides > 1 else 0.3) * axis, (far + 0.15) * axis], width=THIN, dash="6 2 1 2", nearer=0.5)
        out.append((motion, turn_points(motion, far * axis, 0.2)))
    return out


def stretch(axis: np.ndarray) -> float:
    """How much farther something is put along an axis, for an axis that points to the eye and is foreshortened."""
    return 0.86 / max(0.45, math.sqrt(1.0 - float(axis @ EYE) ** 2))


def _weld(scene: Projection) -> None:
    scene.bar([-0.45 * Z - 1.2 * Y, -0.45 * Z + 1.2 * Y], PARENT, width=16.0)
    scene.bar([-0.3 * Z, 1.1 * Z], CHILD, width=16.0, nearer=0.5)
    for side in (-1.0, 1.0):
        foot, wall = -0.29 * Z + 0.17 * side * Y, 0.05 * Z + 0.17 * side * Y
        scene.fillet([foot, wall, foot + 0.34 * side * Y])


def _block(scene: Projection, slides: Sequence[FreeMotion]) -> None:
    """A block that only slides: on a rail, on a plate, in space."""
    halves = (0.32 * X, 0.32 * Y, 0.22 * Z)
    if len(slides) == 1:
        d = slides[0].direction
        first, second = across(d)
        for part in (-1.0, 1.0):
            scene.bar([0.3 * part * d, 1.2 * part * d], PARENT, width=9.0)
        scene.box(0.0 * d, (0.36 * d, 0.22 * first, 0.22 * second), CHILD)
    elif len(slides) == 2:
        _plate(scene, slides)
        normal = np.cross(slides[0].direction, slides[1].direction)
        scene.box(0.2 * normal, (0.3 * slides[0].direction, 0.3 * slides[1].direction, 0.2 * normal), CHILD, nearer=1.0)
    else:
        scene.box(0.0 * X, halves, CHILD)
        _far_parent(scene, 0.25 * Z)


def _plate(scene: Projection, slides: Sequence[FreeMotion]) -> None:
    a, b = (m.direction for m in slides)
    normal = np.cross(a, b)
    scene.box(-0.05 * normal, (0.95 * a, 0.95 * b, 0.05 * normal), PARENT, nearer=-2.0)


def _far_parent(scene: Projection, lowered: np.ndarray) -> None:
    """A parent that holds the child nowhere, and the way from the one to the other."""
    place = -1.85 * RIGHT + 0.35 * UP
    scene.line([place, 0.0 * X], dash="3 4", width=THIN, nearer=-3.0)
    scene.box(place, (0.2 * X, 0.2 * Y, 0.2 * Z), PARENT, nearer=-2.0)


def _ball(scene: Projection, slides: Sequence[FreeMotion]) -> None:
    """A ball: in a cup, on a rail, on a plate, free."""
    lever = unit(-0.6 * RIGHT + 0.75 * UP)
    if len(slides) == 3:
        scene.box(0.0 * X, (0.26 * X, 0.26 * Y, 0.26 * Z), CHILD)
        _far_parent(scene, 0.0 * Z)
        return
    if len(slides) == 2:
        _plate(scene, slides)
    elif slides:
        d = slides[0].direction
        for part in (-1.0, 1.0):
            scene.bar([0.2 * part * d, 1.25 * part * d], PARENT, width=9.0)
    else:
        scene.bar([-1.2 * lever, -0.3 * lever], PARENT, width=10.0, nearer=-2.0)
        cup = [0.33 * (math.cos(a) * -lever + math.sin(a) * np.cross(EYE, lever)) for a in np.linspace(-1.3, 1.3, 17)]
        scene.bar(cup, PARENT, width=9.0, nearer=-1.0)
    scene.bar([0.2 * lever, 1.15 * lever], CHILD, width=10.0, nearer=0.5)
    scene.ball(0.0 * X, 0.27, CHILD, nearer=0.6)


def _one_turn(scene: Projection, turn: FreeMotion, slides: Sequence[FreeMotion]) -> list[Arrow]:
    axis = turn.direction
    along = [m for m in slides if abs(m.direction @ axis) > ALIKE]
    first, second = across(axis)
    lever = unit(0.85 * first + 0.5 * second)
    if len(slides) == 2:
        _plate(scene, slides)
        scene.cylinder(0.0 * axis, 0.22 * axis, 0.42, CHILD, nearer=1.0)
        scene.line([0.24 * axis, 0.22 * axis + 0.42 * lever], nearer=2.0)
        return _marked(scene, turn, 0.62, 0.0)
    if slides and not along:  # a pin in a slot
        d = slides[0].direction
        side = np.cross(axis, d)
        for part in (-0.26, 0.26):
            scene.bar([-1.15 * d + part * side, 1.15 * d + part * side], PARENT, width=7.0, nearer=-1.0)
        scene.cylinder(-0.2 * axis, 0.3 * axis, 0.17, CHILD, nearer=0.0)
        scene.bar([0.36 * axis, 0.36 * axis + 1.0 * unit(side - 0.4 * d)], CHILD, nearer=1.0)
        return _marked(scene, turn, 0.95, 0.3)
    if along or abs(turn.pitch) > 1e-9:
        _shaft(scene, turn, threaded=not along)
        scene.bar([0.25 * lever, 1.1 * lever], CHILD, nearer=0.3)
        return [(turn, turn_points(turn, (-0.75 if along else 0.8) * axis))]
    for part in (-1.0, 1.0):  # a hinge: two eyes of the parent on a pin, one of the child between them
        eye = 0.42 * part * axis
        scene.bar([eye - 0.95 * lever, eye - 0.15 * lever], PARENT)
        scene.cylinder(eye - 0.11 * axis, eye + 0.11 * axis, 0.2, PARENT, hole=0.07)
    scene.bar([-0.42 * axis - 0.95 * lever, 0.42 * axis - 0.95 * lever], PARENT, nearer=-0.5)
    scene.cylinder(-0.24 * axis, 0.24 * axis, 0.18, CHILD)
    scene.bar([0.2 * lever, 1.25 * lever], CHILD)
    return _marked(scene, turn, 1.05, 0.55)


def _marked(scene: Projection, turn: FreeMotion, height: float, begin: float) -> list[Arrow]:
    """An axis that sticks out of a joint, and the arrow about it."""
    axis, height = turn.direction, height * stretch(turn.direction)
    scene.line([begin * axis, (height + 0.25) * axis], width=THIN, dash="6 2 1 2", nearer=0.5)
    return [(turn, turn_points(turn, height * axis))]


def _shaft(scene: Projection, turn: FreeMotion, *, threaded: bool) -> None:
    """A rod of the parent with a sleeve of the child on it; the thread winds as the pitch does."""
    axis = turn.direction
    for part in (-1.0, 1.0):
        scene.cylinder(0.3 * part * axis, 1.15 * part * axis, 0.12, PARENT)
    if threaded:
        wind = math.copysign(1.0, turn.pitch)
        for k in range(14):
            height = 0.36 + 0.06 * k
            for part in (-1.0, 1.0):
                groove = circle(0.0 * axis, axis, 0.12, 190.0, 350.0)
                rise = [wind * 0.05 * (j / (len(groove) - 1) - 0.5) for j in range(len(groove))]
                points = [p + axis * (part * height + r) for p, r in zip(groove, rise, strict=True)]
                scene.line(points, width=THIN, nearer=1.0)
    scene.cylinder(-0.34 * axis, 0.34 * axis, 0.25, CHILD, hole=0.12)


def _cross(scene: Projection, turns: Sequence[FreeMotion]) -> list[Arrow]:
    """A cross between two forks."""
    a, b = (m.direction for m in turns)
    n = unit(np.cross(a, b))
    n = n if n @ UP > 0.0 else -n
    for axis, side, fill in ((a, -1.0, PARENT), (b, 1.0, CHILD)):
        for part in (-0.48, 0.48):
            scene.bar([part * axis, part * axis + 0.5 * side * n], fill, nearer=0.1)
        scene.bar([-0.48 * axis + 0.5 * side * n, 0.48 * axis + 0.5 * side * n], fill)
        scene.bar([0.5 * side * n, 1.05 * side * n], fill, width=11.0, nearer=-0.1 * side)
        scene.cylinder(-0.4 * axis, 0.4 * axis, 0.09, BETWEEN)
    out: list[Arrow] = []
    for motion, axis in zip(turns, (a, b), strict=True):
        scene.line([0.55 * axis, 1.2 * axis], width=THIN, dash="6 2 1 2", nearer=0.5)
        out.append((motion, turn_points(motion, 0.95 * axis, 0.22)))
    return out


def _gimbal(scene: Projection, turns: Sequence[FreeMotion]) -> list[Arrow]:
    """Rings in rings, each on pins in the one before, and the child in the last."""
    axes = [m.direction for m in turns]
    radii = (0.92, 0.64)
    for k, radius in enumerate(radii):
        ring = np.cross(axes[k], axes[k + 1])
        scene.ring(0.0 * X, unit(ring), radius, BETWEEN, width=7.0)
    first, inner = axes[0], axes[2]
    for part in (-1.0, 1.0):
        scene.cylinder(part * 0.92 * first, part * 1.15 * first, 0.08, PARENT)
        scene.cylinder(part * 0.64 * axes[1], part * 0.92 * axes[1], 0.06, BETWEEN)
        scene.cylinder(part * 0.3 * inner, part * 0.64 * inner, 0.06, CHILD)
    scene.cylinder(-0.2 * inner, 0.2 * inner, 0.34, CHILD)
    out: list[Arrow] = []
    for motion, far in zip(turns, (1.35, 1.25, 1.2), strict=True):
        axis = motion.direction
        far *= stretch(axis)
        scene.line([0.95 * axis, (far + 0.15) * axis], width=THIN, dash="6 2 1 2", nearer=0.5)
        out.append((motion, turn_points(motion, far * axis, 0.19)))
    return out
