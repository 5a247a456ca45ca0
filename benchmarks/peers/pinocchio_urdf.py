"""URDF files beside Pinocchio, which reads them too: poses, mass matrix, gravity and Coriolis forces, a line each.

Coordinates and speeds are random; mimics are taken apart on both sides, and root links stand on ground. Differences
are the largest ones, relative to the largest entry, of poses in m and 1. What either side refuses is named, and files
with joints of several speeds, whose coordinates the two write otherwise. `pip install pin`.

    PYTHONPATH=. python benchmarks/peers/pinocchio_urdf.py FILE_OR_FOLDER ...
"""

# pinocchio is no dependency of the tests, and has no stubs
# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.formats.robots.urdf.robot import read
from shiftjax.mechanism.paths import parts

AMPLITUDE = 0.8  # rad or m, of coordinates about zero


def main() -> None:
    for place in map(Path, sys.argv[1:]):
        for file in sorted(place.rglob("*.urdf")) if place.is_dir() else [place]:
            try:
                emit("urdf", {"file": file.name, **compared(file)})
            except ValueError as error:
                emit("urdf", {"file": file.name, "refused": str(error)[:160]})


def compared(file: Path) -> dict[str, Any]:
    """Differences of one file.

    Raises:
        ValueError: either side refuses it.
    """
    at = ours(file)
    model = pinocchio.buildModelFromUrdf(str(file))
    if any(joint.nv != 1 for joint in [*model.joints][1:]) or not model.nv:
        return {"skipped": "no joints, or joints of several speeds"}
    data, draw = model.createData(), np.random.default_rng(3)
    way, v = draw.uniform(-AMPLITUDE, AMPLITUDE, model.nv), draw.uniform(-1.0, 1.0, model.nv)
    q = pinocchio.integrate(model, pinocchio.neutral(model), way)
    order = [model.joints[model.getJointId(parts(name)[-1])].idx_v for name in at.speed_names]
    at = at.changed(q=way[order], v=v[order])
    upper = np.triu(pinocchio.crba(model, data, q))
    gravity = pinocchio.computeGeneralizedGravity(model, data, q).copy()
    bias = pinocchio.nonLinearEffects(model, data, q, v) - gravity
    mass = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
    pinocchio.framesForwardKinematics(model, data, q)
    body = pinocchio.FrameType.BODY
    placed = {frame.name: data.oMf[k].homogeneous for k, frame in enumerate(model.frames) if frame.type == body}
    links = [path for path, _ in at.model.bodies()]
    return {
        "speeds": model.nv,
        "links": len(links),
        "poses": max(float(np.abs(at.pose(path) - placed[parts(path)[-1]]).max()) for path in links),
        "mass_matrix": apart(at.mass_matrix(), mass),
        "gravity": apart(at.gravity_forces(), gravity[order]),
        "coriolis": apart(at.coriolis_forces(), bias[order]),
    }


def ours(file: Path) -> shiftjax.Configuration:
    """The robot at zero, its joints independent, with the gravity that URDF alone states."""
    document, _ = read(file.read_text(encoding="utf-8"), file.name)
    (robot,) = document["assemblies"]
    robot["constraints"] = []
    for joint in robot["joints"]:
        joint.pop("initial_displacement", None)
    for body in robot["bodies"]:
        body.pop("gravity_scale", None)
    model = shiftjax.load(document)
    moving = sum(joint["type"] not in ("rigid",) for joint in robot["joints"])
    return shiftjax.configuration(model, q=np.zeros(moving))


def apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-9))


if __name__ == "__main__":
    main()
