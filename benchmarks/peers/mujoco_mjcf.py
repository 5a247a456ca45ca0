"""MJCF files beside MuJoCo: poses, mass matrix, forces and accelerations of the tree, and its loops, a line a file.

Of the tree alone, at random coordinates and speeds, without contacts, limits, dry friction and bounds of actuators,
which the two have otherwise: `poses` of bodies in m and 1, `mass_matrix`, `forces` M a of all that acts, and
`accelerations`, these relative to the largest entry. Of files with equalities, at a pose that closes here: `closed`,
the largest residual of MuJoCo's own equations (m, rad), `freedoms` here and by the rank of its Jacobian, and
`closed_accelerations` from rest beside those of MuJoCo's matrices with its equations exact. What either side refuses is
named; meshes that are not there are left out on the other side. `pip install mujoco`, 4.0.

    PYTHONPATH=. python benchmarks/peers/mujoco_mjcf.py FILE_OR_FOLDER ...
"""

# mujoco is no dependency of the tests, and has no stubs
# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.formats.robots.mjcf.model import read
from shiftjax.mechanism.paths import parts

AMPLITUDE = 0.6  # rad or m, of coordinates about those that are drawn
MOST = 0.05  # rad or m, by which coordinates that loops leave free go from there
LEAST = 1e-8  # of the largest singular value of a Jacobian, where rows are independent
OURS_OTHERWISE = ("coulomb_friction",)


def main() -> None:
    for place in map(Path, sys.argv[1:]):
        for file in sorted(place.rglob("*.xml")) if place.is_dir() else [place]:
            if "<mujoco" not in file.read_text(encoding="utf-8", errors="replace"):
                continue
            try:
                emit("mjcf", {"file": file.name, **compared(file)})
            except ValueError as error:
                emit("mjcf", {"file": file.name, "refused": str(error)[:160]})


def compared(file: Path) -> dict[str, Any]:
    """Differences of one file.

    Raises:
        ValueError: either side refuses it.
    """
    document, _ = read(file.read_text(encoding="utf-8"), file.name, file.parent)
    theirs = their_model(file)
    if not theirs.nv:
        return {"skipped": "no joints"}
    out = of_tree(document, theirs)
    return out | (of_loops(document, theirs) if theirs.neq else {})


def their_model(file: Path) -> mujoco.MjModel:
    """MuJoCo's, with contacts, limits, friction and bounds of actuators switched off."""
    try:
        model = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        if "opening file" not in str(error):
            raise
        model = without_meshes(file).compile()
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
    model.actuator_forcelimited[:] = 0
    model.jnt_actfrclimited[:] = 0
    return model


def without_meshes(file: Path) -> mujoco.MjSpec:
    """A model whose files of meshes and pictures are not there, which move nothing where bodies state their inertia."""
    spec = mujoco.MjSpec.from_file(str(file))
    for geom in [one for one in spec.geoms if one.type == mujoco.mjtGeom.mjGEOM_MESH or one.meshname]:
        spec.delete(geom)
    for one in [*spec.meshes, *spec.skins, *spec.hfields, *spec.materials, *spec.textures]:
        spec.delete(one)
    for one in (*spec.geoms, *spec.sites):
        one.material = ""
    return spec


def ours(document: Mapping[str, Any], loops: bool) -> tuple[shiftjax.Model, list[str]]:
    """Our model, and its joints of the file in the order of MuJoCo's."""
    (assembly,) = document["assemblies"]
    ties = {one["joints"][0] for one in assembly["constraints"]}
    shafts = [one["name"] for one in assembly["joints"] if one["type"] == "Rz" and one["name"] in ties]
    kept = [one for one in assembly["constraints"] if loops or one["joints"][0] in shafts]
    joints = [one for one in assembly["joints"] if loops or not one.get("cut")]
    names = [
        one["name"]
        for one in assembly["joints"]
        if one["type"] != "rigid" and not one.get("cut") and one["name"] not in shafts
    ]
    forces = [dict(one) for one in assembly["force_modules"] if one["type"] not in OURS_OTHERWISE]
    for force in forces:
        force.pop("limit", None)
    changed = {**assembly, "constraints": kept, "joints": joints, "force_modules": forces}
    return shiftjax.load({**document, "assemblies": [changed]}), names


def places_of(at: shiftjax.Configuration, names: list[str]) -> tuple[list[int], list[int]]:
    """Places of coordinates and speeds of MuJoCo's joints among ours."""
    by_name = {parts(joint.path)[-1]: joint for joint in at.plan.joints}
    q = [joint.q + k for joint in map(by_name.__getitem__, names) for k in range(joint.nq)]
    v = [joint.v + k for joint in map(by_name.__getitem__, names) for k in range(joint.nv)]
    return q, v


def of_tree(document: Mapping[str, Any], theirs: mujoco.MjModel) -> dict[str, Any]:
    model, names = ours(document, loops=False)
    at = shiftjax.configuration(model)
    q_places, v_places = places_of(at, names)
    data, draw = mujoco.MjData(theirs), np.random.default_rng(3)
    data.qpos[:] = theirs.qpos0
    way, v = draw.uniform(-AMPLITUDE, AMPLITUDE, theirs.nv), draw.uniform(-1.0, 1.0, theirs.nv)
    mujoco.mj_integratePos(theirs, data.qpos, way, 1.0)
    data.qvel[:] = v
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EQUALITY
    mujoco.mj_forward(theirs, data)
    theirs.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EQUALITY)
    q_all = np.array(at.q)
    q_all[q_places] = data.qpos
    speeds = np.zeros((at.plan.nv, theirs.nv))  # of all joints here, for each of MuJoCo's
    speeds[v_places, range(theirs.nv)] = 1.0
    with_shafts(document, at, q_all, speeds)
    at = shiftjax.configuration(model, q=q_all, v=speeds @ v)
    mass = speeds.T @ at.mass_matrix() @ speeds
    expected = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, expected)
    acceleration = at.accelerations()[v_places]
    bodies = {parts(path)[-1]: path for path, _ in model.bodies()}
    poses = []
    for k in range(1, theirs.nbody):
        if theirs.body(k).name in bodies:
            pose = at.pose(bodies[theirs.body(k).name])
            poses.append(np.abs(pose[:3, 3] - data.xpos[k]).max())
            poses.append(np.abs(pose[:3, :3] - data.xmat[k].reshape(3, 3)).max())
    return {
        "speeds": theirs.nv,
        "bodies": theirs.nbody - 1,
        "poses": max(poses, default=0.0),
        "mass_matrix": apart(mass, expected),
        "forces": apart(mass @ acceleration, expected @ data.qacc),
        "accelerations": apart(acceleration, data.qacc),
    }


def with_shafts(document: Mapping[str, Any], at: shiftjax.Configuration, q: np.ndarray, speeds: np.ndarray) -> None:
    """Sets what turns with the joints of the file: rotors of armatures, lengths of tendons."""
    (assembly,) = document["assemblies"]
    by_name = {parts(joint.path)[-1]: joint for joint in at.plan.joints}
    for tie in assembly["constraints"]:
        first, *others = (by_name[name] for name in tie["joints"])
        if first.type == "Rz":
            text = tie["equation"].split("==")[1] if tie["type"] == "equation" else "q[1]"
            q[first.q] = eval(text, {"q": [q[first.q], *(q[one.q] for one in others)]})
            speeds[first.v] = eval(text, {"q": [speeds[first.v], *(speeds[one.v] for one in others)]})


def of_loops(document: Mapping[str, Any], theirs: mujoco.MjModel) -> dict[str, Any]:
    """MuJoCo's equations where our loops are closed, a little away from the pose of the file."""
    model, names = ours(document, loops=True)
    at = shiftjax.configuration(model)
    draw = np.random.default_rng(4)
    begins = {joint.path: at.q[joint.q] for joint in at.plan.joints if joint.nv == 1}
    moved = {name: begins[name] + draw.uniform(0.01, MOST) for name in at.independent_names if name in begins}
    at = shiftjax.configuration(model, q=moved) if moved else at
    q_places, v_places = places_of(at, names)
    if np.any(np.isnan(at.q)):
        return {"closed": at.messages}
    data = mujoco.MjData(theirs)
    data.qpos[:] = np.array(at.q)[q_places]
    mujoco.mj_forward(theirs, data)
    residual = np.array(data.efc_pos)
    J = np.array(data.efc_J).reshape(-1, theirs.nv) if data.nefc else np.zeros((0, theirs.nv))
    mass = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, mass)
    n, m = theirs.nv, len(J)
    system = np.block([[mass, J.T], [J, np.zeros((m, m))]])
    force = np.array(data.qfrc_smooth)
    expected = np.linalg.lstsq(system, np.concatenate([force, np.zeros(m)]), rcond=1e-12)[0][:n]
    values = np.linalg.svd(J, compute_uv=False)
    return {
        "closed": float(np.abs(residual).max(initial=0.0)),
        "freedoms": [len(at.independent_names), n - int((values > LEAST * values.max(initial=1.0)).sum())],
        "closed_accelerations": apart(at.accelerations()[v_places], expected),
    }


def apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-9))


if __name__ == "__main__":
    main()
