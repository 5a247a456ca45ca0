"""Newton's solver Kamino: free bodies, every hinge a constraint, loops no different from others; all in f32.

An ensemble is as many worlds of one model. Tuned, it takes the whole error of the joints back in a step (`alpha` 1,
0.01 by default), by its iterations (PADMM) or its direct solver (DVI).
"""

# newton is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping

import newton
import numpy as np
import warp
from newton.solvers import SolverKamino
from scipy.spatial.transform import Rotation

from shiftjax.bench.rivals.hinge_tree import HingeTree, centre, inertia_W, start_speeds, with_mass
from shiftjax.bench.rivals.judge import applied, bodies_of
from shiftjax.bench.rivals.rival import Bodies, Path, Race

MEMBERS = 2  # on a processor, where it is not meant to be fast
WORLDS, DIFFERENT = 16_384, 64  # on a GPU, and masses among them


def world_of(tree: HingeTree) -> newton.ModelBuilder:
    """One member. Bodies have their origins in their centres of mass, and axes of the world at the start."""
    builder = newton.ModelBuilder(gravity=tuple(tree.gravity))
    SolverKamino.register_custom_attributes(builder)
    bodies = [
        builder.add_link(
            xform=warp.transform(centre(link), warp.quat_identity()),
            mass=link.body.mass,
            inertia=warp.mat33(inertia_W(link)),
            lock_inertia=True,
        )
        for link in tree.links
    ]
    origins = [*(centre(link) for link in tree.links), np.zeros(3)]  # the last one is that of ground, -1
    hinges = [(link.parent, k, link) for k, link in enumerate(tree.links)]
    hinges += [(cut.first, cut.second, cut) for cut in tree.cuts]
    joints = []
    for first, second, hinge in hinges:
        parent, child = (first, second) if second >= 0 else (second, first)
        ends = [warp.transform(hinge.anchor_W - origins[k], warp.quat_identity()) for k in (parent, child)]
        joints.append(
            builder.add_joint_revolute(
                parent=bodies[parent] if parent >= 0 else -1,
                child=bodies[child],
                axis=warp.vec3(hinge.axis_W),
                parent_xform=ends[0],
                child_xform=ends[1],
            )
        )
    builder.add_articulation(joints[: len(tree.links)])
    return builder


class KaminoEntrant:
    """See `rival.Entrant`."""

    precision = "f32"

    def __init__(self, race: Race, solver: str, *, tuned: bool) -> None:
        device = warp.get_preferred_device()
        self.device = device.name if device.is_cuda else "cpu"
        masses, which = race.worlds(DIFFERENT, WORLDS) if device.is_cuda else race.worlds(MEMBERS)
        self.masses = masses[which]
        self._step, self._device, self._judged = race.step, device, len(masses)
        self._tree, self._graph = race.tree, None
        members = newton.ModelBuilder(gravity=tuple(race.tree.gravity))
        worlds = [world_of(with_mass(race.tree, race.varied, float(mass))) for mass in masses]
        for k in which:
            members.add_world(worlds[k])
        with warp.ScopedDevice(device):
            model = members.finalize(skip_validation_joints=True)
            config = SolverKamino.Config.from_model(model, dynamics_solver=solver)
            if tuned:
                config.constraints.alpha = 1.0
            self._solver = SolverKamino(model, config=config)
            self._now, self._next = model.state(), model.state()
            self._control = model.control()
        still = np.zeros((1, 1, len(race.tree.links)))
        start = bodies_of(race.tree, (still, start_speeds(race.tree)[None, None]))
        twist = np.concatenate([start.velocity[0, 0], start.omega[0, 0]], axis=-1)
        self._poses = self._now.body_q.numpy()
        self._twists = np.tile(twist, (len(self.masses), 1)).astype(np.float32)

    def _begin(self) -> None:
        self._now.body_q.assign(self._poses)
        self._now.body_qd.assign(self._twists)
        self._solver.reset(self._now, config=SolverKamino.ResetConfig.preserve())

    def _pair(self) -> None:
        """Two steps, after which the state is where it was."""
        for here, there in ((self._now, self._next), (self._next, self._now)):
            self._solver.step(here, there, self._control, None, self._step)

    def _on(self, steps: int) -> None:
        """An even number of steps; on a GPU two are one graph of kernels, as in the examples of its makers."""
        if self._device.is_cuda and self._graph is None:
            self._pair()  # compiles its kernels
            self._begin()
            with warp.ScopedCapture() as capture:
                self._pair()
            self._graph = capture.graph
        for _ in range(steps // 2):
            if self._graph is not None:
                warp.capture_launch(self._graph)
            else:
                self._pair()

    def _bodies(self) -> Bodies:
        """Of members of different masses, without the axis of instants."""
        shape = (len(self.masses), len(self._tree.links))
        poses = self._now.body_q.numpy().astype(float).reshape(*shape, 7)[: self._judged]
        twists = self._now.body_qd.numpy().astype(float).reshape(*shape, 6)[: self._judged]
        shape = poses.shape[:2]
        R = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).as_matrix().reshape(*shape, 3, 3)
        centres = np.stack([centre(link) for link in self._tree.links])
        return Bodies(R, poses[..., :3] - applied(R, centres), twists[..., 3:], twists[..., :3])

    def run(self, steps: int) -> np.ndarray:
        """See `rival.Entrant.run`."""
        with warp.ScopedDevice(self._device):
            self._begin()
            self._on(steps)
            return self._now.body_q.numpy()

    def path(self, steps: int, every: int) -> Path:
        """See `rival.Entrant.path`."""
        with warp.ScopedDevice(self._device):
            self._begin()
            states = [self._bodies()]
            for _ in range(steps // every):
                self._on(every)
                states.append(self._bodies())
        return Bodies(*(np.stack(part) for part in zip(*states, strict=True)))


class KaminoRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        "default": "semi-implicit Euler, PADMM, 0.01 of the gaps taken back a step",
        "padmm tuned": "semi-implicit Euler, PADMM, all of the gaps taken back a step",
        "dvi tuned": "semi-implicit Euler, direct solution of the joints (DVI), all of the gaps taken back a step",
    }

    def enter(self, race: Race, setting: str) -> KaminoEntrant:
        """See `rival.Rival.enter`."""
        return KaminoEntrant(race, "dvi" if setting == "dvi tuned" else "padmm", tuned=setting != "default")
