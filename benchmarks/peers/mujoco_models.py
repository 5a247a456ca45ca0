"""The same mechanisms for MuJoCo: an MJCF text from our model file, loops closed by `connect` constraints.

MuJoCo's own settings are left as they are, but for the integrator, the step and contacts, of which there are none, and
the softness of the loops where `SOFTNESS` says so.
"""

# mujoco is no dependency of the tests, and its stubs miss what its C module adds
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco import rollout
from peers.revolute_tree import Tree, closing_points, consistent_speeds, tree_of
from scipy.spatial.transform import Rotation

from shiftjax.mechanism.model import Model

# Attributes of the loops' constraints. A time constant of 2 ms is twice a step of 1 ms, the smallest that MuJoCo's
# `refsafe` lets through; 0.9999 is the largest impedance it takes.
SOFTNESS = {
    "mujoco": "",
    "solref": 'solref="0.002 1"',
    "tuned": 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 2"',
}
THIN = 1e-9  # kg m^2, added to rods without inertia about their own axis, which MuJoCo refuses


def _words(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)


def _body(tree: Tree, k: int) -> str:
    """A link with its hinge, its inertia and the links it carries; hinges count from the start pose."""
    link = tree.links[k]
    parent = tree.links[link.parent] if link.parent >= 0 else None
    R_WP, p_WP = (parent.R_WB, parent.p_WB) if parent else (np.eye(3), np.zeros(3))
    quaternion = Rotation.from_matrix(R_WP.T @ link.R_WB).as_quat(scalar_first=True)
    i = link.body.inertia
    thin = THIN if np.linalg.eigvalsh(np.array(i.matrix))[0] < THIN else 0.0
    inertia = _words((i.Ixx + thin, i.Iyy + thin, i.Izz + thin, i.Ixy, i.Izx, i.Iyz))
    anchor, axis = link.R_WB.T @ (link.anchor_W - link.p_WB), link.R_WB.T @ link.axis_W
    inside = "".join(_body(tree, n) for n, other in enumerate(tree.links) if other.parent == k)
    return (
        f'<body name="b{k}" pos="{_words(R_WP.T @ (link.p_WB - p_WP))}" quat="{_words(quaternion)}">'
        f'<joint name="j{k}" type="hinge" pos="{_words(anchor)}" axis="{_words(axis)}"/>'
        f'<inertial pos="{_words(link.body.center_of_mass)}" mass="{link.body.mass!r}" fullinertia="{inertia}"/>'
        f"{inside}</body>"
    )


def mjcf(tree: Tree, step: float, softness: str) -> str:
    """The mechanism as MJCF, its loops with these attributes."""
    loops = ""
    for cut in tree.cuts:
        first, second = sorted((cut.first, cut.second), reverse=True)  # the first one is never ground
        link = tree.links[first]
        name = f"b{second}" if second >= 0 else "world"
        for point in closing_points(tree, cut):
            anchor = _words(link.R_WB.T @ (point - link.p_WB))
            loops += f'<connect body1="b{first}" body2="{name}" anchor="{anchor}" {softness}/>'
    grounded = "".join(_body(tree, k) for k, link in enumerate(tree.links) if link.parent < 0)
    return (
        '<mujoco><compiler angle="radian" balanceinertia="false"/>'
        f'<option timestep="{step!r}" gravity="{_words(tree.gravity)}" integrator="RK4" jacobian="dense">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{grounded}</worldbody><equality>{loops}</equality></mujoco>"
    )


class Ensemble:
    """Variants of one mechanism, each with its own MjModel, run by MuJoCo's own rollout threads."""

    def __init__(self, models: Sequence[Model], step: float, threads: int, softness: str) -> None:
        trees = [tree_of(model) for model in models]
        self.models = [mujoco.MjModel.from_xml_string(mjcf(tree, step, softness)) for tree in trees]
        self.joints = [link.joint for link in trees[0].links]
        self._data = [mujoco.MjData(self.models[0]) for _ in range(threads)]
        self.starts = np.stack([self._initial(m, t) for m, t in zip(self.models, trees, strict=True)])

    def _initial(self, model: mujoco.MjModel, tree: Tree) -> np.ndarray:
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        J = np.array(data.efc_J).reshape(data.nefc, model.nv)
        data.qvel[:] = consistent_speeds(np.array([link.speed for link in tree.links]), J)
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        return state

    def run(self, steps: int) -> np.ndarray:
        """(B, steps, state) what MuJoCo records."""
        states, _ = rollout.rollout(self.models, self._data, self.starts, nstep=steps, skip_checks=False)
        return states

    def figures(self, states: np.ndarray, every: int) -> dict[str, float]:
        """Largest gap of a loop [m] and relative energy error, over members and every so many steps."""
        gap, energy_error = 0.0, 0.0
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        count = len(states)
        for model, start, path in zip(self.models[:count], self.starts[:count], states, strict=True):
            model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY  # left out while the clock ran
            data = mujoco.MjData(model)
            energies = []
            for state in [start, *path[::every]]:
                mujoco.mj_setState(model, data, state, kind)
                mujoco.mj_forward(model, data)
                residual = np.array(data.efc_pos).reshape(-1, 3)
                gap = max(gap, float(np.linalg.norm(residual, axis=1).max()))
                energies.append(data.energy.copy())
            potential, kinetic = np.array(energies).T
            scale = max(kinetic.max(), np.ptp(potential))
            total = potential + kinetic
            energy_error = max(energy_error, float(np.abs(total - total[0]).max() / scale))
        return {"gap": gap, "energy_error": energy_error}

    def angles(self, states: np.ndarray) -> np.ndarray:
        """(B, nv) angles of the tree's hinges at the end, counted from the start pose [rad]."""
        nq = self.models[0].nq
        return states[:, -1, 1 : 1 + nq]
