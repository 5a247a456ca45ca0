"""Mechanisms as a CAD program exports them: every body in axes of its own, all frames written with so many digits."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

MOMENTS = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")
ORIGIN = "placed_origin"  # the frame that stands where the body's origin was


def exported(document: dict[str, Any], digits: int, seed: int = 0) -> dict[str, Any]:
    """The same mechanism with ground and bodies turned and moved at random, its frames rounded.

    Numbers other than T and R are not rounded, so that only the loops notice.
    """
    rng, document = np.random.default_rng(seed), copy.deepcopy(document)
    R, _ = _moved(document, rng, digits)
    settings = document["model_parameters"]
    settings["gravity"] = (R @ np.array(settings["gravity"], float)).tolist()
    for assembly in document["assemblies"]:
        for body in assembly["bodies"]:
            R, p = _moved(body, rng, digits)
            body["center_of_mass"] = (p + R @ np.array(body.get("center_of_mass", (0, 0, 0)), float)).tolist()
            _turn(body["inertia"], R)
        for joint in assembly["joints"]:
            for end in ("parent", "child"):
                joint[end] = [joint[end][0], ORIGIN if joint[end][1] == "origin" else joint[end][1]]
    return document


def _moved(item: dict[str, Any], rng: np.random.Generator, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Puts the frames of a body, or of ground, into other axes, in place; returns the axes and their origin."""
    R, p = np.linalg.qr(rng.standard_normal((3, 3)))[0], 0.3 * rng.standard_normal(3)
    R *= np.sign(np.linalg.det(R))
    frames = [{"name": ORIGIN}, *item.get("frames", ())]
    item["frames"] = [
        {
            "name": frame["name"],
            "T": np.round(p + R @ np.array(frame.get("T", (0, 0, 0)), float), digits).tolist(),
            "R": np.round(R @ np.array(frame.get("R", np.eye(3)), float), digits).tolist(),
        }
        for frame in frames
    ]
    return R, p


def _turn(inertia: dict[str, float], R: np.ndarray) -> None:
    xx, yy, zz, xy, yz, zx = (inertia.get(key, 0.0) for key in MOMENTS)
    matrix = R @ np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) @ R.T
    inertia |= zip(MOMENTS, matrix[(0, 1, 2, 0, 1, 2), (0, 1, 2, 1, 2, 0)].tolist(), strict=True)
