"""SDFormat files beside Drake, which reads them too: poses, mass matrix, accelerations of all bodies, a line each.

Coordinates of joints of one axis and of universal joints, and the speeds of both, are random; what floats, and ball
joints, start at rest where the file has them. Gravity is that of our side on both; forces of springs, dampers and the
weight act on both, contacts and dry friction on neither. Differences are the largest ones, relative to the largest
entry, of poses in m and 1. What either side refuses is named: Drake reads no loops, gearboxes and joints of type
revolute2. `pip install drake`.

    PYTHONPATH=. python benchmarks/peers/drake_sdf.py FILE_OR_FOLDER ...
"""

# drake is no dependency of the tests
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportAttributeAccessIssue=false

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.formats.robots.sdf import document
from shiftjax.mechanism.frozen_json import thaw

AMPLITUDE = 0.8  # rad or m, of coordinates about zero


def main() -> None:
    logging.disable(logging.ERROR)  # what Drake leaves out is no matter here
    for place in map(Path, sys.argv[1:]):
        files = [file for suffix in document.SUFFIXES for file in place.rglob(f"*{suffix}")]
        for file in sorted(files) if place.is_dir() else [place]:
            try:
                emit("sdf", {"file": str(file.relative_to(place) if place.is_dir() else file), **compared(file)})
            except (ValueError, RuntimeError) as error:
                side = "here" if isinstance(error, shiftjax.ModelError) else "Drake"
                emit("sdf", {"file": file.name, "refused": side, "why": str(error)[:200]})


def compared(file: Path) -> dict[str, Any]:
    """Differences of one file.

    Raises:
        ValueError, RuntimeError: either side refuses it.
    """
    model = ours(file)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(file))
    plant.mutable_gravity_field().set_gravity_vector(np.array(model.gravity))
    plant.Finalize()
    at = shiftjax.configuration(model)
    context = plant.CreateDefaultContext()
    draw = np.random.default_rng(3)
    q, v, order = {}, {}, []
    positions, speeds = plant.GetPositions(context), plant.GetVelocities(context)
    for k in plant.GetJointIndices():
        joint = plant.get_joint(k)
        if joint.num_velocities() not in (1, 2):
            continue
        way, speed = (draw.uniform(-one, one, joint.num_velocities()) for one in (AMPLITUDE, 1.0))
        positions[joint.position_start() :][: len(way)] = way
        speeds[joint.velocity_start() :][: len(way)] = speed
        path = path_of(plant, joint, model)
        names = [path] if len(way) == 1 else [f"{path}.{n}" for n in ("first", "second")]
        q |= dict(zip(names, map(float, way), strict=True))
        v |= dict(zip(names, map(float, speed), strict=True))
        order += [joint.velocity_start() + n for n in range(len(way))]
    plant.SetPositions(context, positions)
    plant.SetVelocities(context, speeds)
    at = at.changed(q=q, v=v) if q else at
    accelerations = plant.get_body_spatial_accelerations_output_port().Eval(context)
    poses, spatial = [], []
    for path, body in bodies(plant, model):
        X, A = plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4(), accelerations[int(body.index())]
        poses.append(np.abs(at.pose(path) - X).max())
        spatial.append((at.acceleration(path), np.concatenate([A.rotational(), A.translational()])))
    mine, other = (np.array(side) for side in zip(*spatial, strict=True))
    out: dict[str, Any] = {
        "speeds": plant.num_velocities(),
        "bodies": len(poses),
        "poses": float(max(poses)),
        "accelerations": apart(mine, other, 1.0),
    }
    if order and len(order) == plant.num_velocities() == len(at.speed_names):
        places = [[*v].index(name) for name in at.speed_names]
        rows = np.array(order)[places]
        mass = plant.CalcMassMatrix(context)[np.ix_(rows, rows)]
        out["mass_matrix"] = apart(at.mass_matrix(), mass)
    return out


def bodies(plant: Any, model: shiftjax.Model) -> list[tuple[str, Any]]:
    """Bodies of both sides by our paths."""
    pairs = []
    for path, _ in model.bodies():
        *outer, name = path.split(":")
        instance = plant.GetModelInstanceByName("::".join(outer))
        pairs.append((path, plant.GetBodyByName(name, instance)))
    return pairs


def path_of(plant: Any, joint: Any, model: shiftjax.Model) -> str:
    """Our path of a joint; one between models may belong to another one there."""
    instance = plant.GetModelInstanceName(joint.model_instance())
    path = ":".join((*instance.split("::"), joint.name()))
    paths = [other for other, _ in model.joints() if other.split(":")[-1] == joint.name()]
    return path if path in paths or len(paths) != 1 else paths[0]


def ours(file: Path) -> shiftjax.Model:
    """The model without dry friction, which Drake has none of, and with mimics taken apart, as it does."""
    contents, _ = document.read(file.read_text(encoding="utf-8"), file.name, file.parent)
    plain = thaw(contents) if not isinstance(contents, dict) else contents
    waiting = [*plain["assemblies"]]
    while waiting:
        assembly = waiting.pop()
        assembly["force_modules"], assembly["constraints"] = [], []
        waiting += assembly["assemblies"]
    return shiftjax.load(plain, folder=file.parent)


def apart(one: np.ndarray, other: np.ndarray, least: float = 1e-9) -> float:
    """The largest difference, relative to the largest entry or what counts as one at least."""
    return float(np.abs(one - other).max() / max(np.abs(other).max(), least))


if __name__ == "__main__":
    main()
