"""Derivatives of MuJoCo's motion: of its start by a chain of `mjd_transitionFD`, of anything by differences of runs.

`mjd_transitionFD` differentiates one step by the state alone, and not one of RK4: the chain takes MuJoCo's own default,
semi-implicit Euler. A mass or a length needs two runs each.
"""

# mujoco is no dependency of the tests, and its stubs miss what its C module adds
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from shiftjax.bench.rivals.mjcf import Closing
from shiftjax.bench.rivals.mujoco_c import MujocoEnsemble, ensemble_of
from shiftjax.mechanism.model import Model

EPSILON = 1e-6  # of mjd_transitionFD, as its documentation proposes


def chained(ensemble: MujocoEnsemble, speed: str, number: str, models: Sequence[Model], steps: int) -> np.ndarray:
    """(B, nv) derivatives of the final angles with respect to the one stated speed of a start.

    Args:
        ensemble: of `models`. speed: joint that has it. number: its path.
    """
    gradients = []
    for model, peer, start in zip(models, ensemble.models, ensemble.starts, strict=True):
        data = mujoco.MjData(peer)
        mujoco.mj_setState(peer, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        nv, integrator = peer.nv, peer.opt.integrator
        peer.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        stated = model.numbers()[number]
        assert abs(data.qvel[ensemble.places[ensemble.joints.index(speed)]] - stated) < 1e-12
        change = np.concatenate([np.zeros(nv), data.qvel / stated])  # the speeds are linear in the stated one
        A = np.zeros((2 * nv, 2 * nv))
        for _ in range(steps):
            mujoco.mjd_transitionFD(peer, data, EPSILON, True, A, None, None, None)
            mujoco.mj_step(peer, data)
            change = A @ change
        peer.opt.integrator = integrator
        gradients.append(change[ensemble.places])
    return np.array(gradients)


class Differences:
    """Central differences of whole runs with respect to one number of each of B models."""

    def __init__(self, models: Sequence[Model], number: str, change: float, threads: int, softness: str, step: float):
        both = [
            model.replace({number: model.numbers()[number] + side}) for side in (change, -change) for model in models
        ]
        self._change = change
        self._ensemble = ensemble_of(both, step, threads, Closing("connect", softness))

    def __call__(self, steps: int) -> np.ndarray:
        """(B, nv) derivatives of the final angles."""
        ahead, behind = np.split(self._ensemble.angles(self._ensemble.run(steps)), 2)
        return (ahead - behind) / (2.0 * self._change)
