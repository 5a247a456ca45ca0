"""MuJoCo's C library, an ensemble by its own rollout threads."""

# mujoco is no dependency, and its stubs miss what its C module adds
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
from mujoco import rollout

from shiftjax.bench.rivals.hinge_tree import HingeTree, consistent_speeds, tree_of, with_mass
from shiftjax.bench.rivals.judge import judged
from shiftjax.bench.rivals.mjcf import CLOSINGS, Closing, mjcf
from shiftjax.bench.rivals.rival import Race
from shiftjax.mechanism.model import Model

OF_MASS = ("body_mass", "body_subtreemass", "body_invweight0", "dof_invweight0")  # what MuJoCo derives from masses
MEMBERS = 16  # of a race: its rate a thread is the same for any number
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


def started(tree: HingeTree, step: float, closing: Closing) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A mechanism at its start, with speeds that its loops allow."""
    model = mujoco.MjModel.from_xml_string(mjcf(tree, step, closing))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    places = dofs(model)
    speeds = np.zeros(model.nv)
    speeds[places[: len(tree.links)]] = [link.speed for link in tree.links]
    J = np.array(data.efc_J).reshape(data.nefc, model.nv)
    data.qvel[:] = consistent_speeds(speeds, J)
    return model, data


def dofs(model: mujoco.MjModel) -> np.ndarray:
    """(nv,) where MuJoCo has the hinge of each link: it counts depth first."""
    return np.array([model.joint(f"j{k}").dofadr[0] for k in range(model.nv)])


class MujocoEnsemble:
    """Variants of one mechanism, each with its own MjModel, run by MuJoCo's own rollout threads.

    Attributes:
        joints: of the hinges of the tree. places: (hinges,) where MuJoCo has them.
    """

    def __init__(self, trees: Sequence[HingeTree], step: float, threads: int, closing: Closing) -> None:
        pairs = [started(tree, step, closing) for tree in trees]
        self.models = [model for model, _ in pairs]
        self.joints = [link.joint for link in trees[0].links]
        self.places = dofs(self.models[0])[: len(self.joints)]
        self.starts = np.stack([self._state(*pair) for pair in pairs])
        self._data = [mujoco.MjData(self.models[0]) for _ in range(threads)]

    def _state(self, model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
        state = np.empty(mujoco.mj_stateSize(model, FULL))
        mujoco.mj_getState(model, data, state, FULL)
        return state

    def run(self, steps: int) -> np.ndarray:
        """(B, steps, state) what MuJoCo records."""
        states, _ = rollout.rollout(self.models, self._data, self.starts, nstep=steps, skip_checks=False)
        return states

    def motion(self, states: np.ndarray, every: int) -> tuple[np.ndarray, np.ndarray]:
        """Angles and speeds (instants, B, hinges) at the start and after every so many steps, of what `run` gave."""
        nv = self.models[0].nv
        path = np.concatenate([self.starts[: len(states), None], states[:, every - 1 :: every]], axis=1)
        angles, speeds = path[..., 1 : 1 + nv], path[..., 1 + nv : 1 + 2 * nv]  # the time comes first
        q, v = (np.moveaxis(one[..., self.places], 0, 1) for one in (angles, speeds))
        return q, v

    def angles(self, states: np.ndarray) -> np.ndarray:
        """(B, hinges) angles at the end, counted from the start pose [rad]."""
        return states[:, -1, 1 + self.places]


def ensemble_of(models: Sequence[Model], step: float, threads: int, closing: Closing) -> MujocoEnsemble:
    """An ensemble of models of hinges."""
    return MujocoEnsemble([tree_of(model) for model in models], step, threads, closing)


def figures_of(ensemble: MujocoEnsemble, models: Sequence[Model], body: str, states: np.ndarray) -> dict[str, float]:
    """Largest gap [m] and relative energy error of some members, every ten steps.

    Args:
        models: those of the ensemble, of which only the mass of `body` differs. states: of the first of them.
    """
    tree, masses = tree_of(models[0]), [dict(model.bodies())[body].mass for model in models[: len(states)]]
    varied = [link.path for link in tree.links].index(body)
    return judged(tree, varied, np.array(masses), ensemble.motion(states, 10))


class MujocoEntrant:
    """See `rival.Entrant`."""

    precision, device = "f64", "cpu"

    def __init__(self, race: Race, closing: Closing) -> None:
        self.masses = race.some(MEMBERS)
        trees = [with_mass(race.tree, race.varied, float(mass)) for mass in self.masses]
        self._ensemble = MujocoEnsemble(trees, race.step, race.threads, closing)

    def run(self, steps: int) -> np.ndarray:
        """See `rival.Entrant.run`."""
        return self._ensemble.run(steps)

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.path`."""
        return self._ensemble.motion(self._ensemble.run(steps), every)


class MujocoRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {name: closing.text for name, closing in CLOSINGS.items()}

    def enter(self, race: Race, setting: str) -> MujocoEntrant:
        """See `rival.Rival.enter`."""
        return MujocoEntrant(race, CLOSINGS[setting])
