"""JaxSim: an ensemble by `jax.vmap` of its step, loops closed by its weld constraints on the twins of bodies.

Its constraints have gains of a spring and a damper (1000 and critical by default) and a regularisation of 1e-3 that its
step does not let through. The largest gain at which a step of RK4 is stable is about 1 / step^2.
"""

# jaxsim is no dependency
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jaxsim
import jaxsim.api as js
import numpy as np
import rod
from jaxsim.api.kin_dyn_parameters import ConstraintMap, ConstraintType
from jaxsim.rbda.contacts import RelaxedRigidContacts
from scipy.spatial.transform import Rotation

from shiftjax.bench.rivals.hinge_tree import HingeTree, centre, inertia_W, split, start_speeds, twin_speeds
from shiftjax.bench.rivals.rival import Race

MEMBERS = 64  # on a processor
STIFF = 0.25  # over the square of the step


def description(tree: HingeTree, pairs: list[tuple[int, int]]) -> rod.Model:
    """The mechanism in JaxSim's words: link k is bk with hinge jk, and the two ends of pair n are frames wn and vn.

    All links have axes of the world at the start and their origins in their hinges. It is built of objects since texts
    are read by a program of Gazebo, which pip does not bring.
    """
    down = np.array([0.0, 0.0, -1.0])  # the only way that JaxSim's gravity can point
    strength = float(np.linalg.norm(tree.gravity))
    Q = Rotation.align_vectors([down], [tree.gravity])[0] if strength else Rotation.identity()

    def placed(x: np.ndarray) -> rod.Pose:
        return rod.Pose(pose=[*Q.apply(x).tolist(), 0.0, 0.0, 0.0])

    nothing = rod.Inertial(mass=1.0, inertia=rod.Inertia())
    links = [rod.Link(name="base", inertial=nothing)]
    joints = [rod.Joint(name="ground", type="fixed", parent="world", child="base")]
    for k, link in enumerate(tree.links):
        inertia = rod.Inertia.from_inertia_tensor(Q.as_matrix() @ inertia_W(link) @ Q.as_matrix().T, validate=False)
        inertial = rod.Inertial(link.share * link.body.mass, inertia, pose=placed(centre(link) - link.anchor_W))
        axis = rod.Axis(xyz=rod.Xyz(xyz=Q.apply(link.axis_W).tolist()), limit=rod.Limit())
        parent = f"b{link.parent}" if link.parent >= 0 else "base"
        links.append(rod.Link(name=f"b{k}", pose=placed(link.anchor_W), inertial=inertial))
        joints.append(rod.Joint(name=f"j{k}", type="revolute", parent=parent, child=f"b{k}", axis=axis))
    frames = [
        rod.Frame(f"{letter}{n}", attached_to=f"b{k}", pose=placed(tree.links[whole].anchor_W - tree.links[k].anchor_W))
        for n, (whole, twin) in enumerate(pairs)
        for letter, k in (("w", whole), ("v", twin))
    ]
    for frame in frames:
        frame.pose.relative_to = frame.attached_to
    return rod.Model(name="mechanism", canonical_link="base", link=links, joint=joints, frame=frames)


class JaxsimEntrant:
    """See `rival.Entrant`."""

    device = "cpu"

    def __init__(self, race: Race, *, tuned: bool) -> None:
        self.masses, self.precision = race.some(MEMBERS), race.precision
        jaxsim.logging.set_logging_level(jaxsim.logging.LoggingLevel.ERROR)
        with jax.enable_x64(race.precision == "f64"):
            self._ready(race, tuned=tuned)

    def _ready(self, race: Race, *, tuned: bool) -> None:
        tree = race.tree
        whole, pairs = split(tree)
        kind = js.model.IntegratorType
        settings = {
            "time_step": race.step,
            "contact_model": RelaxedRigidContacts.build(),
            "integrator": kind.RungeKutta4 if tuned else kind.SemiImplicitEuler,
            "gravity": float(np.linalg.norm(tree.gravity)),
        }
        text = description(whole, pairs)
        plain = js.model.JaxSimModel.build_from_model_description(text, **settings)
        gain = STIFF / race.step**2 if tuned else None
        loops = ConstraintMap()
        for n in range(len(pairs)):
            ends = [js.frame.name_to_idx(plain, frame_name=f"{letter}{n}") for letter in "wv"]
            loops = loops.add_constraint(plain, *ends, ConstraintType.Weld, K_P=gain)
        model = js.model.JaxSimModel.build_from_model_description(text, constraints=loops, **settings)
        names = model.joint_names()
        order = [names.index(f"j{k}") for k in range(len(whole.links))]
        self._places = np.array(order[: len(tree.links)])
        speeds = start_speeds(tree)
        v = np.zeros(len(order))
        v[order] = [*speeds, *twin_speeds(tree, speeds)]
        self._begin = js.data.JaxSimModelData.build(model=model, joint_velocities=jnp.asarray(v))
        varied = tree.links[race.varied].path
        share = np.array([link.share * (link.path == varied) for link in whole.links])
        at = [model.link_names().index(f"b{k}") for k in range(len(whole.links))]

        def heavier(mass: jax.Array) -> Any:
            """The model with another mass of a body, in its halves."""
            parameters = model.kin_dyn_parameters.link_parameters
            masses = parameters.mass
            for place, part in zip(at, share, strict=True):
                masses = masses.at[place].set(part * mass) if part else masses
            links = dataclasses.replace(parameters, mass=masses)
            kinematics = dataclasses.replace(model.kin_dyn_parameters, link_parameters=links)
            return dataclasses.replace(model, kin_dyn_parameters=kinematics)

        def member(mass: jax.Array, data: Any, steps: Any) -> Any:
            variant = heavier(mass)
            return jax.lax.fori_loop(0, steps, lambda _, d: js.model.step(variant, d), data)

        masses = jnp.asarray(self.masses)
        many = jax.tree_util.tree_map(lambda x: jnp.broadcast_to(x, (len(masses), *jnp.shape(x))), self._begin)
        self._begin = many
        self._on = jax.jit(lambda data, steps: jax.vmap(member, in_axes=(0, 0, None))(masses, data, steps))

    def run(self, steps: int) -> Any:
        """See `rival.Entrant.run`."""
        with jax.enable_x64(self.precision == "f64"):
            return self._on(self._begin, steps).joint_positions

    def path(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """See `rival.Entrant.path`."""
        with jax.enable_x64(self.precision == "f64"):
            states = [self._begin]
            for _ in range(steps // every):
                states.append(self._on(states[-1], every))
            q, v = (
                np.stack([np.asarray(getattr(s, name)) for s in states])
                for name in ("joint_positions", "joint_velocities")
            )
        return q[..., self._places], v[..., self._places]


class JaxsimRival:
    """See `rival.Rival`."""

    settings: Mapping[str, str] = {
        "default": "semi-implicit Euler, weld, gain 1000",
        "tuned": f"RK4, weld, gain {STIFF:g} over the step squared",
    }

    def enter(self, race: Race, setting: str) -> JaxsimEntrant:
        """See `rival.Rival.enter`."""
        return JaxsimEntrant(race, tuned=setting == "tuned")
