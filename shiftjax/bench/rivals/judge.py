"""Gap and energy error of a motion of hinges, whoever made it, in f64, in plain NumPy.

A code that has angles of hinges gives these; one that moves bodies freely and holds them together gives where they are,
so that what its hinges leave open counts, too.
"""

from __future__ import annotations

import numpy as np

from shiftjax.bench.rivals.hinge_tree import HingeTree, centre, hinge_points
from shiftjax.bench.rivals.rival import Bodies, Path

EYE = np.eye(3)


def judged(tree: HingeTree, varied: int, masses: np.ndarray, path: Path) -> dict[str, float]:
    """Largest gap of a hinge [m], and largest change of a member's energy over its largest kinetic energy or change of
    potential, whichever is more.

    Args:
        tree: with the file's masses. varied: the link with these masses (n,).
    """
    bodies = bodies_of(tree, path)
    gap = gaps(tree, bodies)
    kinetic, potential = energies(tree, varied, masses, bodies)
    total = kinetic + potential
    scale = np.maximum(kinetic.max(0), np.ptp(potential, axis=0))
    return {"gap": float(gap.max(initial=0.0)), "energy_error": float((np.abs(total - total[0]).max(0) / scale).max())}


def bodies_of(tree: HingeTree, path: Path) -> Bodies:
    """Where bodies are and how they move, of a motion of either kind."""
    if isinstance(path, Bodies):
        return Bodies(*(np.asarray(one, float) for one in path))
    q, v = (np.asarray(one, float) for one in path)
    placed: list[tuple[np.ndarray, ...]] = []
    for k, link in enumerate(tree.links):
        still = (EYE, *[np.zeros(3)] * 3)
        R, p, omega, origin = placed[link.parent] if link.parent >= 0 else still  # velocity of the world's origin
        K = np.cross(EYE, link.axis_W)  # K y is the axis times y
        sine, versine = np.sin(q[..., k, None, None]), 1.0 - np.cos(q[..., k, None, None])
        turn = EYE + sine * K + versine * (K @ K)
        spin, anchor = (R @ link.axis_W) * v[..., k, None], R @ link.anchor_W + p
        shift = applied(R, link.anchor_W - turn @ link.anchor_W) + p
        placed.append((R @ turn, shift, omega + spin, origin + np.cross(anchor, spin)))
    rotation, shift, omega, origin = (np.stack(one, axis=q.ndim - 1) for one in zip(*placed, strict=True))
    centres = applied(rotation, np.stack([centre(link) for link in tree.links])) + shift
    return Bodies(rotation, shift, omega, origin + np.cross(omega, centres))


def angles_of(tree: HingeTree, path: Path) -> np.ndarray:
    """(instants, n, hinges) angles since the start pose [rad]; of bodies those by which each turned about its hinge."""
    if not isinstance(path, Bodies):
        return np.asarray(path[0], float)
    angles = []
    for k, link in enumerate(tree.links):
        R_P = path.rotation[:, :, link.parent] if link.parent >= 0 else EYE
        turn = np.swapaxes(R_P, -1, -2) @ path.rotation[:, :, k]
        sine = np.einsum("...ij,ij->...", turn, np.cross(EYE, link.axis_W))  # twice that of the angle
        angles.append(np.arctan2(sine, np.einsum("...ii->...", turn) - 1.0))
    return np.unwrap(np.stack(angles, axis=-1), axis=0)


def applied(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) of vectors (..., 3)."""
    return (R @ x[..., None])[..., 0]


def gaps(tree: HingeTree, bodies: Bodies) -> np.ndarray:
    """(points, instants, n) distances of the two places of every point that a hinge holds together [m]."""
    pairs = [(link.parent, k, hinge_points(tree, link)) for k, link in enumerate(tree.links)]
    pairs += [(cut.first, cut.second, hinge_points(tree, cut)) for cut in tree.cuts]
    distances = []
    for first, second, points in pairs:
        for x in points:
            places = [x if k < 0 else bodies.rotation[:, :, k] @ x + bodies.shift[:, :, k] for k in (first, second)]
            distances.append(np.linalg.norm(places[0] - places[1], axis=-1))
    return np.array(distances)


def energies(tree: HingeTree, varied: int, masses: np.ndarray, bodies: Bodies) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energies (instants, n) [J]."""
    kinetic, potential = 0.0, 0.0
    for k, link in enumerate(tree.links):
        R = bodies.rotation[:, :, k]
        in_body = applied(np.swapaxes(R @ link.R_WB, -1, -2), bodies.omega[:, :, k])
        mass = masses if k == varied else link.body.mass
        turning = np.einsum("...i,ij,...j->...", in_body, np.array(link.body.inertia.matrix), in_body)
        kinetic = kinetic + 0.5 * (mass * (bodies.velocity[:, :, k] ** 2).sum(-1) + turning)
        potential = potential - mass * ((R @ centre(link) + bodies.shift[:, :, k]) @ tree.gravity)
    return np.asarray(kinetic), np.asarray(potential)
