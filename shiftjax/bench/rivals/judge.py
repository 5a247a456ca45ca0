"""Gap and energy error of a motion of hinges, whoever made it: from its angles and speeds, in f64, in plain NumPy."""

from __future__ import annotations

import numpy as np

from shiftjax.bench.rivals.hinge_tree import HingeTree, closing_points

EYE = np.eye(3)


def judged(tree: HingeTree, varied: int, masses: np.ndarray, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
    """Largest gap of a loop [m], and largest change of the energy of a member over its largest kinetic energy or change
    of potential, whichever is more.

    Args:
        tree: with the file's masses. varied: the link with these masses (n,). q, v: (instants, n, hinges) [rad, rad/s].
    """
    placed = poses(tree, q.astype(float))
    gap = gaps(tree, placed)
    kinetic, potential = energies(tree, varied, masses, placed, v.astype(float))
    total = kinetic + potential
    scale = np.maximum(kinetic.max(0), np.ptp(potential, axis=0))
    return {"gap": float(gap.max(initial=0.0)), "energy_error": float((np.abs(total - total[0]).max(0) / scale).max())}


def poses(tree: HingeTree, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Motion of every link since the start: rotation (..., 3, 3) and shift (..., 3), of angles (..., hinges)."""
    placed: list[tuple[np.ndarray, np.ndarray]] = []
    for k, link in enumerate(tree.links):
        R, p = placed[link.parent] if link.parent >= 0 else (EYE, np.zeros(3))
        K = np.cross(EYE, link.axis_W)  # K y is the axis times y
        sine, versine = np.sin(q[..., k, None, None]), 1.0 - np.cos(q[..., k, None, None])
        turn = EYE + sine * K + versine * (K @ K)
        placed.append((R @ turn, applied(R, link.anchor_W - turn @ link.anchor_W) + p))
    return placed


def applied(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) of vectors (..., 3)."""
    return (R @ x[..., None])[..., 0]


def gaps(tree: HingeTree, placed: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(points, ...) distances of the two places of every point that a cut hinge holds together [m]."""
    still = (EYE, np.zeros(3))
    distances = []
    for cut in tree.cuts:
        (R1, p1), (R2, p2) = (placed[k] if k >= 0 else still for k in (cut.first, cut.second))
        for x in closing_points(tree, cut):
            distances.append(np.linalg.norm(R1 @ x + p1 - R2 @ x - p2, axis=-1))
    return np.array(distances)


def energies(
    tree: HingeTree, varied: int, masses: np.ndarray, placed: list[tuple[np.ndarray, np.ndarray]], v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energies (...) [J] at speeds (..., hinges), the last axis before that being members."""
    omegas, origins = (
        [],
        [],
    )  # of every link, and of the world's origin as it would move with it
    kinetic, potential = 0.0, 0.0
    for k, link in enumerate(tree.links):
        (R, p), parent = placed[k], link.parent
        R_P, p_P = placed[parent] if parent >= 0 else (EYE, np.zeros(3))
        spin = (R_P @ link.axis_W) * v[..., k, None]
        anchor = R_P @ link.anchor_W + p_P
        omegas.append(spin + (omegas[parent] if parent >= 0 else 0.0))
        origins.append(np.cross(anchor, spin) + (origins[parent] if parent >= 0 else 0.0))
        c = R @ (link.R_WB @ np.array(link.body.center_of_mass) + link.p_WB) + p
        velocity = origins[k] + np.cross(omegas[k], c)
        R_WB = R @ link.R_WB
        in_body = applied(np.swapaxes(R_WB, -1, -2), omegas[k])
        mass = masses if k == varied else link.body.mass
        turning = np.einsum("...i,ij,...j->...", in_body, np.array(link.body.inertia.matrix), in_body)
        kinetic = kinetic + 0.5 * (mass * (velocity**2).sum(-1) + turning)
        potential = potential - mass * (c @ tree.gravity)
    return np.asarray(kinetic), np.asarray(potential)
