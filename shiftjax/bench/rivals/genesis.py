"""Genesis: its rigid solver on MuJoCo's file format, loops closed by `connect` or `weld` as soft as MuJoCo has them.

A process has one precision, that of the race; members are environments of one scene. Compiling takes minutes once.
"""

# genesis-world is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import genesis
import numpy as np

from shiftjax.bench.rivals.hinge_tree import split, start_speeds, twin_speeds
from shiftjax.bench.rivals.mjcf import CLOSINGS, Closing, mjcf
from shiftjax.bench.rivals.rival import Race

MEMBERS = 256  # on a processor


class GenesisEntrant:
    """See `rival.Entrant`."""

    device = "cpu"

    def __init__(self, race: Race, closing: Closing) -> None:
        if not genesis._initialized:
            bits = race.precision.removeprefix("f")
            genesis.init(backend=genesis.cpu, precision=bits, logging_level="error")
        self.masses, self.precision = race.some(MEMBERS), race.precision
        whole, speeds = race.tree, [*start_speeds(race.tree)]
        if closing.kind == "weld":
            whole, speeds = split(race.tree)[0], [*speeds, *twin_speeds(race.tree, np.array(speeds))]
        stiff = {} if closing.softness == "default" else {"constraint_timeconst": 2.0 * race.step}
        without = {"enable_collision": False, "enable_joint_limit": False}
        options = genesis.options.RigidOptions(batch_links_info=True, **without, **stiff)
        times = genesis.options.SimOptions(dt=race.step, gravity=tuple(race.tree.gravity))
        self._scene = genesis.Scene(sim_options=times, rigid_options=options, show_viewer=False)
        described = genesis.morphs.MJCF(file=mjcf(race.tree, race.step, closing), default_armature=None)
        entity = self._scene.add_entity(described)  # without the rotors that it gives every joint by default
        self._scene.build(n_envs=len(self.masses))
        self._entity, count = entity, len(race.tree.links)
        for link, body in zip(whole.links, (entity.get_link(f"b{k}") for k in range(len(whole.links))), strict=True):
            if link.path == race.tree.links[race.varied].path:
                entity.set_links_mass(link.share * self.masses[:, None], [body.idx_local])
        places = [entity.get_joint(f"j{k}").dofs_idx_local[0] for k in range(len(whole.links))]
        self._places, self._all = places[:count], places
        self._speeds = np.tile(speeds, (len(self.masses), 1))

    def _begin(self) -> None:
        self._scene.reset()
        self._entity.set_dofs_velocity(self._speeds, self._all)

    def _now(self) -> tuple[np.ndarray, np.ndarray]:
        angles, speeds = (get(self._places) for get in (self._entity.get_dofs_position, self._entity.get_dofs_velocity))
        return angles.cpu().numpy().copy(), speeds.cpu().numpy().copy()

    def _on(self, steps: int) -> None:
        for _ in range(steps):
            self._scene.step()

    def run(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.run`."""
        self._begin()
        self._on(steps)
        return self._now()

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.path`."""
        self._begin()
        states = [self._now()]
        for _ in range(steps // every):
            self._on(every)
            states.append(self._now())
        q, v = (np.stack(side) for side in zip(*states, strict=True))
        return q, v


class GenesisRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        name: f"approximate implicit Euler, {closing.text}" for name, closing in CLOSINGS.items()
    }

    def enter(self, race: Race, setting: str) -> GenesisEntrant:
        """See `rival.Rival.enter`."""
        return GenesisEntrant(race, CLOSINGS[setting])
