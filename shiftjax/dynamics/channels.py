"""Channels: what can be recorded of a run, by path.

`joint.q|v|a`, `joint.reaction_force|reaction_moment` (on the child at its frame, world axes; `Reactions.on_child`),
`body:frame.position|orientation|velocity|angular_velocity` (world axes, quaternion w first),
`energy.kinetic|potential|total`, `substructure[k].b_norm|b_row_sum|pivot_ratio`. Building a channel raises on bad
paths; observing is lane code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from shiftjax.algebra import (
    Mat,
    Scalar,
    Vec,
    absolute,
    add,
    cross,
    div,
    largest,
    less,
    mul,
    plus,
    select,
    sqrt,
    sub,
    total,
)
from shiftjax.dynamics.equations import BlockSolution, Lane, solve_block
from shiftjax.dynamics.kinematics import Motion, ground_point
from shiftjax.dynamics.reactions import Reactions
from shiftjax.dynamics.tree import tree_terms
from shiftjax.errors import ModelError, nearest
from shiftjax.joints import KINDS
from shiftjax.record import record
from shiftjax.topology.partition import Partition
from shiftjax.topology.plan import Plan

JOINT = ("q", "v", "a")
FRAME = {"position": "m", "orientation": "1", "velocity": "m/s", "angular_velocity": "rad/s"}
REACTION = {"reaction_force": "N", "reaction_moment": "N m"}
ENERGY = ("kinetic", "potential", "total")
BLOCK = ("b_norm", "b_row_sum", "pivot_ratio")


@dataclass
class ObservedState:
    """One state as the channels see it."""

    lane: Lane
    partition: Partition
    q: Vec
    v: Vec
    a: Vec

    @cached_property
    def motion(self) -> Motion:
        return self.lane.motion(self.q, self.v)

    @cached_property
    def energies(self) -> dict[str, Scalar]:
        tree = tree_terms(self.motion, self.lane.gravity())
        return {
            "kinetic": tree.kinetic,
            "potential": tree.potential,
            "total": add(tree.kinetic, tree.potential),
        }

    @cached_property
    def reactions(self) -> Reactions:
        return Reactions(self.lane, self.partition.blocks, self.motion, self.a)

    def block(self, index: int) -> BlockSolution:
        rows = self.lane.rows(self.motion, index)
        return solve_block(self.lane, self.partition.blocks[index], rows, rows.phi)


@record
class Channel:
    """One recorded quantity: `kind` and `target` say what to compute, `size` scalars of `unit`."""

    path: str
    kind: str  # "joint", "reaction", "frame", "energy", "substructure"
    target: tuple[int, int, str]  # joint or node or substructure; count; frame path
    name: str
    size: int
    scalar: bool  # True where the channel has no axis of its own
    unit: str

    @property
    def of_partition(self) -> bool:
        """Whether its code depends on the lane's partition."""
        return self.kind in ("substructure", "reaction")

    def observe(self, state: ObservedState) -> Vec:
        return _OBSERVERS[self.kind](state, self)


def _joint(state: ObservedState, channel: Channel) -> Vec:
    joint = state.lane.plan.joints[channel.target[0]]
    first = joint.q if channel.name == "q" else joint.v
    return {"q": state.q, "v": state.v, "a": state.a}[channel.name][first : first + channel.size]


def _reaction(state: ObservedState, channel: Channel) -> Vec:
    moment, force = state.reactions.on_child(channel.target[0])
    return force if channel.name == "reaction_force" else moment


def _frame(state: ObservedState, channel: Channel) -> Vec:
    node, _, frame = channel.target
    chain = state.motion.chain()
    R, p = chain.frame(node, frame)
    body = chain.node(node)
    if channel.name == "position":
        return plus(p, ground_point(state.lane.plan, state.lane.params))
    if channel.name == "orientation":
        return quaternion_of_rotation(R)
    return list(body.w) if channel.name == "angular_velocity" else plus(body.u, cross(body.w, p))


def _energy(state: ObservedState, channel: Channel) -> Vec:
    return [state.energies[channel.name]]


def _substructure(state: ObservedState, channel: Channel) -> Vec:
    solution = state.block(channel.target[0])
    if channel.name == "pivot_ratio":
        return [div(1.0, sqrt(solution.squared_condition))]
    if channel.name == "b_norm":
        return [solution.b_norm]
    unit = state.lane.units
    sums: dict[int, Scalar] = {}
    for column in solution.Z:
        (own, _), *rest = column.items()
        for speed, z in rest:
            sums[speed] = add(sums.get(speed, 0.0), absolute(mul(unit[own] / unit[speed], z)))
    return [largest(list(sums.values()))]


_OBSERVERS: dict[str, Callable[[ObservedState, Channel], Vec]] = {
    "joint": _joint,
    "reaction": _reaction,
    "frame": _frame,
    "energy": _energy,
    "substructure": _substructure,
}


def quaternion_of_rotation(R: Mat) -> Vec:
    """Unit quaternion (w first, w >= 0 unless it is 0) of a rotation matrix: Shepperd's four cases as selects."""
    trace = total([R[0][0], R[1][1], R[2][2]])
    best = largest([trace, R[0][0], R[1][1], R[2][2]])
    off = [sub(R[2][1], R[1][2]), sub(R[0][2], R[2][0]), sub(R[1][0], R[0][1])]
    pair = [add(R[1][2], R[2][1]), add(R[2][0], R[0][2]), add(R[0][1], R[1][0])]
    cases: list[Vec] = [[add(1.0, trace), *off]]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        vector: Vec = [0.0, 0.0, 0.0]
        vector[i] = sub(add(1.0, mul(2.0, R[i][i])), trace)
        vector[j], vector[k] = pair[k], pair[j]
        cases.append([off[i], *vector])
    chosen = cases[3]
    for score, case in ((R[1][1], cases[2]), (R[0][0], cases[1]), (trace, cases[0])):
        chosen = [select(less(score, best), old, new) for old, new in zip(chosen, case, strict=True)]
    length = sqrt(total([mul(x, x) for x in chosen]))
    scale = select(less(chosen[0], 0.0), div(-1.0, length), div(1.0, length))
    return [mul(scale, x) for x in chosen]


def channels(
    plan: Plan, paths: Sequence[str], frames: Sequence[str], resolve: Callable[[str], str]
) -> tuple[Channel, ...]:
    """The channels of the given paths.

    Args:
        frames: all frame paths of the model; resolve: makes a short object path whole.

    Raises:
        ModelError: unknown object or quantity.
    """
    return tuple(_channel(plan, path, frames, resolve) for path in paths)


def _channel(plan: Plan, path: str, frames: Sequence[str], resolve: Callable[[str], str]) -> Channel:
    head, _, name = path.rpartition(".")
    if head == "energy" and name in ENERGY:
        return Channel(path, "energy", (0, 1, ""), name, 1, True, "J")
    match = re.fullmatch(r"substructure\[(\d+)\]", head)
    if match and name in BLOCK and int(match[1]) < len(plan.substructures):
        return Channel(path, "substructure", (int(match[1]), 1, ""), name, 1, True, "1")
    if name in JOINT or name in REACTION or name in FRAME:
        target = resolve(head)
        if name not in FRAME:
            return _joint_channel(plan, path, target, name)
        return _frame_channel(plan, path, target, name, frames)
    known = [*JOINT, *REACTION, *FRAME, *(f"energy.{k}" for k in ENERGY), *(f"substructure[k].{k}" for k in BLOCK)]
    raise ModelError(
        f"channel {path}", repr(name), ", ".join(known), nearest(name, known) or "See the list of channels."
    )


def _joint_channel(plan: Plan, path: str, target: str, name: str) -> Channel:
    index = next((i for i, joint in enumerate(plan.joints) if joint.path == target), -1)
    if index < 0:
        known = [joint.path for joint in plan.joints]
        raise ModelError(
            f"channel {path}", repr(target), "an active joint", nearest(target, known) or f"One of {known}."
        )
    if name in REACTION:
        return Channel(path, "reaction", (index, 1, ""), name, 3, False, REACTION[name])
    joint = plan.joints[index]
    size = joint.nq if name == "q" else joint.nv
    length = KINDS[joint.kind].unit if size == 1 else "mixed" if joint.nv == 6 else "1" if name == "q" else "rad"
    unit = length + {"q": "", "v": "/s", "a": "/s^2"}[name]
    return Channel(path, "joint", (index, size, ""), name, size, size == 1, unit)


def _frame_channel(plan: Plan, path: str, target: str, name: str, frames: Sequence[str]) -> Channel:
    nodes = {node.path: k for k, node in enumerate(plan.nodes) if not node.virtual}
    size = 4 if name == "orientation" else 3
    body, _, frame = target.rpartition(":")
    if target in nodes:
        return Channel(path, "frame", (nodes[target], 1, ""), name, size, False, FRAME[name])
    if body in nodes and frame == "origin":
        return Channel(path, "frame", (nodes[body], 1, ""), name, size, False, FRAME[name])
    if body in nodes and target in frames:
        return Channel(path, "frame", (nodes[body], 1, target), name, size, False, FRAME[name])
    raise ModelError(
        f"channel {path}", repr(target), "a frame of an active body", nearest(target, frames) or "Check the path."
    )
