"""MuJoCo Warp, MuJoCo for NVIDIA GPUs: an ensemble as worlds of one model, all in f32."""

# mujoco_warp is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import mujoco_warp
import numpy as np
import warp

from shiftjax.bench.rivals.hinge_tree import with_mass
from shiftjax.bench.rivals.mjcf import CLOSINGS, Closing
from shiftjax.bench.rivals.mujoco_c import OF_MASS, dofs, started
from shiftjax.bench.rivals.rival import Race
from shiftjax.errors import ModelError

MEMBERS = 16  # on a processor, where it is not meant to be fast
WORLDS, DIFFERENT = 65_536, 64  # on a GPU, and masses among them: each takes MuJoCo's compiler a millisecond


class WarpEntrant:
    """See `rival.Entrant`."""

    precision = "f32"

    def __init__(self, race: Race, closing: Closing, device: str) -> None:
        self._device = warp.get_device(device)
        self.device = self._device.name if self._device.is_cuda else "cpu"
        masses, which = race.worlds(DIFFERENT, WORLDS) if self._device.is_cuda else race.worlds(MEMBERS)
        self.masses = masses[which]
        pairs = [started(with_mass(race.tree, race.varied, float(m)), race.step, closing) for m in masses]
        first, data = pairs[0]
        self._places, self._graph, self._judged = dofs(first)[: len(race.tree.links)], None, len(masses)
        self._start = {name: np.stack([getattr(d, name) for _, d in pairs])[which] for name in ("qpos", "qvel")}
        with warp.ScopedDevice(self._device):
            self._model = mujoco_warp.put_model(first)
            self._data = mujoco_warp.put_data(first, data, nworld=len(which))
            for name in OF_MASS:
                values = np.stack([getattr(model, name) for model, _ in pairs])[which]
                kind = getattr(self._model, name).dtype
                setattr(self._model, name, warp.array(values.astype(np.float32), dtype=kind))
            self._begin()
            mujoco_warp.step(self._model, self._data)  # compiles its kernels
            if self._device.is_cuda:
                with warp.ScopedCapture() as capture:
                    mujoco_warp.step(self._model, self._data)
                self._graph = capture.graph

    def _begin(self) -> None:
        for name, values in self._start.items():
            getattr(self._data, name).assign(values.astype(np.float32))
        for name in ("qacc_warmstart", "time"):
            getattr(self._data, name).zero_()

    def _on(self, steps: int) -> None:
        for _ in range(steps):
            if self._graph is not None:
                warp.capture_launch(self._graph)
            else:
                mujoco_warp.step(self._model, self._data)

    def _now(self) -> tuple[np.ndarray, np.ndarray]:
        return self._data.qpos.numpy()[:, self._places], self._data.qvel.numpy()[:, self._places]

    def run(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.run`."""
        with warp.ScopedDevice(self._device):
            self._begin()
            self._on(steps)
            return self._now()

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.path`."""
        with warp.ScopedDevice(self._device):
            self._begin()
            states = [self._now()]
            for _ in range(steps // every):
                self._on(every)
                states.append(self._now())
        q, v = (np.stack(side)[:, : self._judged] for side in zip(*states, strict=True))
        return q, v


class WarpRival:
    """See `rival.Rival`.

    Args:
        device: of Warp; its first GPU where left out.
    """

    settings: Mapping[str, str] = {name: closing.text for name, closing in CLOSINGS.items()}

    def __init__(self, device: str = "") -> None:
        self._device = device

    def enter(self, race: Race, setting: str) -> WarpEntrant:
        """See `rival.Rival.enter`."""
        if not self._device and not warp.is_cuda_available():
            raise ModelError("mujoco_warp", "no NVIDIA GPU", "one", "On a processor it is not meant to be fast.")
        return WarpEntrant(race, CLOSINGS[setting], self._device or "cuda:0")
