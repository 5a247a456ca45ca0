"""MJX, MuJoCo's own port to JAX: an ensemble by `jax.vmap`, on the device that JAX uses."""

# mujoco is no dependency, and its stubs miss what its C module adds
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from mujoco import mjx

from shiftjax.bench.rivals.hinge_tree import with_mass
from shiftjax.bench.rivals.mjcf import CLOSINGS, Closing
from shiftjax.bench.rivals.mujoco_c import OF_MASS, dofs, started
from shiftjax.bench.rivals.rival import Race

MEMBERS = {"cpu": 16}  # a processor is busy with few


class MjxEntrant:
    """See `rival.Entrant`."""

    def __init__(self, race: Race, closing: Closing) -> None:
        kind = jax.default_backend()
        self.device = "cpu" if kind == "cpu" else jax.devices()[0].device_kind
        self.masses, self.precision = race.some(MEMBERS.get(kind, len(race.masses))), race.precision
        with jax.enable_x64(race.precision == "f64"):
            self._ready(race, closing)

    def _ready(self, race: Race, closing: Closing) -> None:
        pairs = [started(with_mass(race.tree, race.varied, float(m)), race.step, closing) for m in self.masses]
        first, data = pairs[0]
        self._places = dofs(first)[: len(race.tree.links)]
        of_members = {name: jnp.asarray(np.stack([getattr(model, name) for model, _ in pairs])) for name in OF_MASS}
        model = mjx.put_model(first)
        stacked = model.tree_replace(of_members)
        axes = jax.tree_util.tree_map(lambda _: None, model).tree_replace(dict.fromkeys(of_members, 0))
        begin = mjx.put_data(first, data)
        speeds = jnp.asarray(np.stack([d.qvel for _, d in pairs]))
        count = len(self.masses)
        whole = jax.tree_util.tree_map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), begin)
        self._begin = whole.tree_replace({"qvel": speeds.astype(whole.qvel.dtype)})
        step = jax.vmap(mjx.step, in_axes=(axes, 0))

        @jax.jit
        def on(state: Any, steps: Any) -> Any:
            return jax.lax.fori_loop(0, steps, lambda _, s: step(stacked, s), state)

        self._on = on

    def run(self, steps: int) -> Any:
        """See `rival.Entrant.run`."""
        with jax.enable_x64(self.precision == "f64"):
            return self._on(self._begin, steps)

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.path`."""
        with jax.enable_x64(self.precision == "f64"):
            states = [self._begin]
            for _ in range(steps // every):
                states.append(self._on(states[-1], every))
            q, v = (np.stack([np.asarray(getattr(s, name)) for s in states]) for name in ("qpos", "qvel"))
        return q[..., self._places], v[..., self._places]


class MjxRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {name: closing.text for name, closing in CLOSINGS.items()}

    def enter(self, race: Race, setting: str) -> MjxEntrant:
        """See `rival.Rival.enter`."""
        return MjxEntrant(race, CLOSINGS[setting])
