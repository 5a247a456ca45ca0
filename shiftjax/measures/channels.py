"""Channels: quantities of a run that can be recorded, by path.

`joint.q|v|a`, and of one of several coordinates `joint.NAME`, `joint.NAME.v|a` or `joint.q[k]`, `joint.v[k]` ...,
`joint.reaction_force|reaction_moment` (on the child at its frame, world axes; `Reactions.on_child`),
`joint.jerk` (of what drivers lead whole; `jerks`),
`joint.mobility|influence` (its part in the motions of the loops, its slopes by the drivers; `mobility`),
`joint.drive_load` (of a driven coordinate: what its driver exerts along it; `Reactions.along_driven`),
`constraint.multiplier` (of each of its rows: the force along what the row says; `Reactions.of_constraint`),
`force.power`, `constraint.power`, `joint.power` (of its own springs and dampers), `joint.drive_power`,
`power.kinetic|gravity|forces|constraints` (`powers`),
`body:frame.position|orientation|velocity|angular_velocity` (world axes, quaternion w first), `force.STATE` of a force
with internal states, `force.knots` of one with knots, `parameters.NAME` and `points.NAME.x`,
`energy.kinetic|potential|total`,
`support_margin(frame, frame, ...)` (of the centre of mass over feet; `support`),
`substructure[k].b_norm|b_row_sum|pivot_ratio`. A new quantity is one entry of `CHANNELS`. Building a channel raises on
bad paths; observing is lane code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shiftjax.algebra import Scalar, Vec, largest, sqrt
from shiftjax.constraints import CONSTRAINTS
from shiftjax.errors import ModelError, nearest, refuse_text, shown
from shiftjax.field import filled
from shiftjax.forces import FORCES, Load
from shiftjax.measures import jerks, mobility, powers, support
from shiftjax.measures.channel import Channel, Quantity
from shiftjax.measures.observed_state import ObservedState
from shiftjax.mechanism.parameters import BLOCKS
from shiftjax.mechanism.paths import listed, split
from shiftjax.plan_elements import ForceElement, PlacedFrame
from shiftjax.registry import Registry
from shiftjax.rotations import quaternion_of_rotation
from shiftjax.topology.partition import free_speeds
from shiftjax.topology.plan import Plan

AXES = ("x", "y", "z")
COMPONENT = re.compile(r"(.*)\[(\d+)\]")
INDEXED = re.compile(r"([qva])\[(\d+)\]")  # of one coordinate, by its place in the joint


def _coordinates(state: ObservedState, which: Sequence[int]) -> Vec:
    return [number for k in which for number in state.q[state.lane.plan.coordinates[k].places]]


def _speeds(values: str) -> Callable[[ObservedState, Sequence[int]], Vec]:
    def observe(state: ObservedState, which: Sequence[int]) -> Vec:
        return [getattr(state, values)[speed] for k in which for speed in state.lane.plan.coordinates[k].speeds]

    return observe


def _unit_of(per: str) -> Callable[[Plan, Sequence[int]], str]:
    def unit(plan: Plan, which: Sequence[int]) -> str:
        coordinates = [plan.coordinates[k] for k in which]
        units = {one.unit if per or one.nq == one.nv else "1" for one in coordinates}
        return (units.pop() if len(units) == 1 else "mixed" if units else "1") + per

    return unit


def _load_unit(plan: Plan, index: int) -> str:
    return filled("{f}", plan.coordinates[index].unit, 0)


def _position(state: ObservedState, frame: Any) -> Vec:
    return state.motion.point(frame)


def _orientation(state: ObservedState, frame: Any) -> Vec:
    return quaternion_of_rotation(state.motion.pose(frame)[0])


def _velocity(state: ObservedState, frame: Any) -> Vec:
    return state.motion.velocity(frame)


def _row_sum(state: ObservedState, index: int) -> Vec:
    unit, sums = state.lane.units, dict[int, Scalar]()
    for column in state.block(index).Z:
        (independent, _), *dependent = column.items()
        for speed, z in dependent:
            sums[speed] = sums.get(speed, 0.0) + abs(unit[independent] / unit[speed] * z)
    return [largest(list(sums.values()))]


def _size(attribute: str) -> Callable[[Plan, Sequence[int]], int]:
    return lambda plan, which: sum(getattr(plan.coordinates[k], attribute) for k in which)


def _knots(state: ObservedState, index: int) -> Vec:
    element = state.lane.plan.forces[index]
    return [switch.beyond for switch in FORCES[element.kind].switches(element, state.motion)]


def _friction(state: ObservedState, index: int) -> Vec:
    element, motion = state.lane.plan.forces[index], state.loaded
    load = Load(motion, motion.rooted)
    FORCES[element.kind].apply(element, motion, load, [state.states[k] for k in element.states])
    return [load.generalized[k] for one in element.coordinates for k in state.lane.plan.coordinates[one].speeds]


def _multipliers(state: ObservedState, k: int) -> Vec:
    return state.reactions.of_constraint(k)


def _multiplier_unit(plan: Plan, k: int) -> str:
    units = {filled("{f}", unit, 0) for unit in CONSTRAINTS[plan.constraints[k].kind].row_units(plan.constraints[k])}
    return units.pop() if len(units) == 1 else "mixed"


def _power(state: Any, target: tuple[tuple[int, ...], int]) -> Vec:
    """Of the forces of one path, or else of one constraint."""
    forces, constraint = target
    return powers.of_forces(state, forces) if forces else powers.of_constraint(state, constraint)


CHANNELS: Registry[Quantity] = Registry(
    "channel",
    {
        "q": Quantity("coordinates", _coordinates, _unit_of(""), _size("nq")),
        "v": Quantity("coordinates", _speeds("v"), _unit_of("/s"), _size("nv")),
        "a": Quantity("coordinates", _speeds("a"), _unit_of("/s^2"), _size("nv")),
        "reaction_force": Quantity("joint", lambda s, k: s.reactions.on_child(k)[1], "N", 3, of_partition=True),
        "reaction_moment": Quantity("joint", lambda s, k: s.reactions.on_child(k)[0], "N m", 3, of_partition=True),
        "drive_load": Quantity("coordinate", lambda s, k: [s.reactions.along_driven(k)], _load_unit, of_partition=True),
        "multiplier": Quantity(
            "constraint", _multipliers, _multiplier_unit, lambda plan, k: plan.constraints[k].rows, of_partition=True
        ),
        "drive_power": Quantity("coordinate", powers.of_drive, "W", of_partition=True),
        "jerk": Quantity("coordinates", jerks.of_coordinates, _unit_of("/s^3"), _size("nv"), of_partition=True),
        "mobility": Quantity("coordinates", mobility.of_coordinates, "1", _size("nv"), of_partition=True),
        "influence": Quantity(
            "coordinates",
            mobility.influence,
            mobility.influence_unit,
            lambda plan, which: _size("nv")(plan, which) * len(mobility.drivers_of(plan)),
            of_partition=True,
        ),
        "power": Quantity("element", _power, "W", of_partition=True),
        "power.kinetic": Quantity("", powers.of_inertia, "W"),
        "power.gravity": Quantity("", powers.of_gravity, "W"),
        "power.forces": Quantity("", lambda s, _: powers.of_forces(s, None), "W"),
        "power.constraints": Quantity("", powers.of_constraints, "W", of_partition=True),
        "position": Quantity("frame", _position, "m", 3),
        "orientation": Quantity("frame", _orientation, "1", 4),
        "velocity": Quantity("frame", _velocity, "m/s", 3),
        "angular_velocity": Quantity("frame", lambda s, frame: s.motion.angular_velocity(frame), "rad/s", 3),
        support.SUPPORT_MARGIN: Quantity("frames", support.margin, "m"),
        "state": Quantity("force", lambda s, k: [s.states[k]], "1"),
        "knots": Quantity("force", _knots, "mixed"),
        "friction": Quantity("force", _friction, "mixed", of_partition=True),
        "energy.kinetic": Quantity("", lambda s, _: [s.energies["kinetic"]], "J"),
        "energy.potential": Quantity("", lambda s, _: [s.energies["potential"]], "J"),
        "energy.total": Quantity("", lambda s, _: [s.energies["total"]], "J"),
        "b_norm": Quantity("substructure", lambda s, k: [s.block(k).b_norm], "1", of_partition=True),
        "b_row_sum": Quantity("substructure", _row_sum, "1", of_partition=True),
        "pivot_ratio": Quantity(
            "substructure", lambda s, k: [1.0 / sqrt(s.block(k).squared_condition)], "1", of_partition=True
        ),
    },
)


NAMED = Quantity("number", lambda state, place: [state.lane.params.at(place)], lambda plan, k: plan.numbers[k].unit)


def channels(plan: Plan, paths: Sequence[str], resolve: Callable[[str], str]) -> tuple[Channel, ...]:
    """The channels of the given paths; one that is named twice is recorded once.

    Args:
        resolve: completes a short path.

    Raises:
        ModelError: unknown object or quantity.
    """
    refuse_text("channels", paths)
    return tuple({(one := _channel(plan, path, resolve)).path: one for path in paths}.values())


def coordinates_of(plan: Plan) -> tuple[Channel, ...]:
    """The channels of all joints' coordinates, in the order of the plan."""
    return channels(plan, [f"{joint.path}.q" for joint in plan.joints if joint.nq], lambda path: path)


def every_channel(plan: Plan) -> Iterator[Channel]:
    """Every channel of a plan: of joints that move, of all frames, of forces with states, of substructures, of all."""
    frames = [node.path + ":origin" for node in plan.nodes if not node.virtual] + [path for path, _ in plan.frames]
    states = [f"{e.path}.{state.name}" for e in plan.forces for state in FORCES[e.kind].states]
    joints = [joint.path for joint in plan.joints]
    of = {
        "coordinates": list(dict.fromkeys((*joints, *(one.path for one in plan.coordinates)))),
        "joint": joints,
        "coordinate": [one.path for one in plan.coordinates],
        "constraint": [group.name for group in plan.constraints if group.loop is None],
        "element": list(dict.fromkeys((*(e.path for e in plan.forces), *_constraints(plan).values()))),
        "frame": list(dict.fromkeys(frames)),
        "substructure": [f"substructure[{k}]" for k in range(len(plan.substructures))],
    }
    paths = [name for name, quantity in CHANNELS.items() if not quantity.of]
    led = all(any(plan.constraints[k].prescribes for k in block.groups) for block in plan.substructures)
    # Where forces decide accelerations nobody states their rates.
    unknown = () if led and not free_speeds(plan) else ("jerk",)
    paths += [
        f"{target}.{name}" for kind in of for target in of[kind] for name, q in CHANNELS.items()
        if q.of == kind and name not in unknown
    ]  # fmt: skip
    knots = [f"{e.path}.knots" for k, e in enumerate(plan.forces) if knot_units(plan, k)]
    frictions = [f"{e.path}.friction" for e in plan.forces if e.bears]
    for path in (*paths, *states, *knots, *frictions):
        try:
            channel = _channel(plan, path, lambda same: same)
        except ModelError:  # reactions that are in no joint
            continue
        if channel.size:
            yield channel


def _channel(plan: Plan, path: str, resolve: Callable[[str], str]) -> Channel:
    if path in CHANNELS and not CHANNELS[path].of:
        return _made(plan, path, path, 0)
    if path.partition(".")[0] in BLOCKS:
        return _named(plan, path)
    if (call := support.arguments_of(path)) and call[0] in CHANNELS and CHANNELS[call[0]].of == "frames":
        feet = _feet(plan, path, [resolve(frame) for frame in call[1]])
        return _made(plan, path, call[0], support.Stance(feet, _bodies(plan, path, call[2])))
    head, _, name = path.rpartition(".")
    quantity = CHANNELS.get(name)
    match = re.fullmatch(r"substructure\[(\d+)\]", head)
    if quantity and quantity.of == "substructure" and match and int(match[1]) < len(plan.substructures):
        return _made(plan, path, name, int(match[1]))
    if quantity and quantity.of == "joint":
        return _made(plan, path, name, _joint(plan, path, resolve(head), name))
    if quantity and quantity.of == "coordinates":
        return _made(plan, path, name, _which(plan, path, resolve(head)))
    if quantity and quantity.of == "coordinate":
        return _made(plan, path, name, _driven(plan, path, resolve(head)))
    if quantity and quantity.of == "element":
        return _made(plan, path, name, _element(plan, path, head))
    if quantity and quantity.of == "constraint":
        return _made(plan, path, name, _constraint(plan, path, head))
    if quantity and quantity.of == "frame":
        return _made(plan, path, name, _frame(plan, path, resolve(head)))
    if indexed := INDEXED.fullmatch(name):
        return _made(plan, path, indexed[1], _which(plan, path, f"{resolve(head)}.q[{indexed[2]}]"))
    if "." in head and head.rpartition(".")[2] in CHANNELS:  # a component, as of "tip.position.x"
        raise _no_quantity(plan, path, resolve)
    if any(name in joint.kind.names for joint in plan.joints):
        of = resolve(head)
        if any(joint.path == of and not joint.kind.sole for joint in plan.joints):
            return _made(plan, path, "q", _which(plan, path, f"{of}.{name}"))
    state = _state_of_force(plan, head, name)
    if state is not None:
        index, unit = state
        return Channel(path, CHANNELS["state"], index, 1, True, unit)
    if name == "knots":
        return _knots_of_force(plan, path, head)
    if name == "friction" and (channel := _friction_of_force(plan, path, head)) is not None:
        return channel
    _refuse_for_force(plan, path, head, name)
    raise _no_quantity(plan, path, resolve)


def _no_quantity(plan: Plan, path: str, resolve: Callable[[str], str]) -> ModelError:
    """The error of a path that names no quantity: those that there are, and which path may be meant."""
    head, _, name = path.rpartition(".")
    prefix, suffix = {"substructure": "substructure[k]."}, {"frames": "(FRAME, FRAME)"}
    known = [f"{prefix.get(q.of, '')}{key}{suffix.get(q.of, '')}" for key, q in CHANNELS.items() if q.of != "force"]
    stem, _, last = head.rpartition(".")
    whole, index = (f"{stem}.{last}", "xyz".find(name)) if name in AXES and stem else (path, -1)
    if component := COMPONENT.fullmatch(path):
        whole, index = component[1], int(component[2])
    if index >= 0 and (quantity := whole.rpartition(".")[2]) in CHANNELS:
        known = [f"{quantity} as a whole"]
        todo = f"A channel is recorded whole: record {whole} and take its component {index}; metrics, events and "
        todo += f"expressions take {whole}[{index}]."
    elif not head and (todo := _of_object(plan, path, resolve)):
        known = ["a quantity of it"]
    else:
        todo = nearest(name, known) or "See the list of channels: `shiftjax docs paths`."
    return ModelError(f"channel {path}", shown(name), ", ".join(known), todo)


def _of_object(plan: Plan, path: str, resolve: Callable[[str], str]) -> str:
    """What to write for the path of a joint, a frame or a body without a quantity; "" of anything else."""
    try:
        target = resolve(path)
    except ModelError:
        return ""
    if any(joint.path == target for joint in plan.joints):
        return f"Write {path}.q, {path}.v or {path}.a, or another quantity of a joint."
    bodies = {node.path for node in plan.nodes}
    if target in bodies or any(target == frame for frame, _ in plan.frames):
        return f"Write {path}.position, or another quantity of a frame."
    return ""


def _made(plan: Plan, path: str, name: str, target: Any) -> Channel:
    quantity = CHANNELS[name]
    size = quantity.size(plan, target) if callable(quantity.size) else quantity.size
    unit = quantity.unit(plan, target) if callable(quantity.unit) else quantity.unit
    foreign = not CHANNELS.ships(quantity)
    return Channel(path, quantity, target, size, quantity.scalar and size == 1, unit, foreign)


def _named(plan: Plan, path: str) -> Channel:
    """Of a parameter, or of a coordinate of a point: a number of the design, of which events may be."""
    known = {number.path: k for k, number in enumerate(plan.numbers) if number.unit}
    if path not in known:
        todo = nearest(path, known) or "`shiftjax info MODEL` lists them."
        raise ModelError(f"channel {path}", "no number of the model", listed(known) or "nothing named", todo)
    return Channel(path, NAMED, known[path], 1, True, plan.numbers[known[path]].unit)


def _joint(plan: Plan, path: str, target: str, name: str) -> int:
    index = next((i for i, joint in enumerate(plan.joints) if joint.path == target), -1)
    if index < 0:
        known = [joint.path for joint in plan.joints]
        raise ModelError(
            f"channel {path}", repr(target), "an active joint", nearest(target, known) or f"One of {known}."
        )
    silent = [g for g in plan.constraints if g.frames and g.loop is None and not CONSTRAINTS[g.kind].has_wrenches]
    acting = [g for g in silent if index in g.coupled]
    if name.startswith("reaction_") and acting:
        raise ModelError(
            f"channel {path}",
            f"the constraint {acting[0].name} between frames, whose forces are in no joint",
            "constraints that say how they load their frames, as those do of which only Phi is written",
            "Leave the channel out, or give its kind `wrenches`.",
        )
    return index


def _which(plan: Plan, path: str, target: str) -> tuple[int, ...]:
    """The coordinates that a path names: all of a joint, or one of them."""
    joint, field = split(target)
    index = _joint(plan, path, joint, "q")
    inside = [k for k, one in enumerate(plan.coordinates) if one.joint == index]
    named = plan.joints[index].kind.named(field)
    if field and not named:
        known = [plan.coordinates[k].path for k in inside]
        raise ModelError(f"channel {path}", f"no coordinate {field.lstrip('.')!r}", f"one of {known}", "Name one.")
    return tuple(inside[k] for k in named)


def _driven(plan: Plan, path: str, target: str) -> int:
    """The one driven coordinate that a path names."""
    which = _which(plan, path, target)
    if len(which) > 1:
        known = [plan.coordinates[k].path for k in which]
        raise ModelError(f"channel {path}", "a joint of several coordinates", f"one of {known}", "Name one of them.")
    if not any(group.prescribes and set(which) & set(group.coordinates) for group in plan.constraints):
        fault, todo = "a joint that nothing drives", "Drive it, or leave it out."
        raise ModelError(f"channel {path}", fault, "a driven joint", todo)
    return next(iter(which))


def _constraint(plan: Plan, path: str, head: str) -> int:
    """The constraint, or driver of a frame, that a path names."""
    named = _constraints(plan)
    matches = [k for k, name in named.items() if name == head or name.endswith(f":{head}")]
    if len(matches) != 1:
        known = list(named.values())
        todo = nearest(head, known) or (f"One of {known}." if known else "There is none in this model.")
        raise ModelError(f"channel {path}", repr(head), "a constraint", todo)
    return matches[0]


def _constraints(plan: Plan) -> dict[int, str]:
    """Those that have channels of their own, and their names; what drives a coordinate is a matter of its joint."""
    return {k: group.name for k, group in enumerate(plan.constraints) if group.loop is None and not group.prescribes}


def _element(plan: Plan, path: str, head: str) -> tuple[tuple[int, ...], int]:
    """The forces that a path names, those of a joint together, and no constraint; or none, and a constraint."""
    forces, others = dict.fromkeys(element.path for element in plan.forces), _constraints(plan)
    known = [*forces, *others.values()]
    matches = [name for name in known if name == head] or [name for name in known if name.endswith(f":{head}")]
    allowed = "one force, a joint with springs, or a constraint"
    if len(matches) > 1:
        fault = f"{len(matches)} elements that are called so, {listed(matches)}"
        raise ModelError(f"channel {path}", fault, allowed, "Name one by its whole path, or rename one of them.")
    if not matches:
        todo = nearest(head, known) or (f"One of {known}." if known else "There is none in this model.")
        raise ModelError(f"channel {path}", repr(head), allowed, todo)
    if matches[0] in forces:
        return tuple(k for k, element in enumerate(plan.forces) if element.path == matches[0]), -1
    return (), next(k for k, name in others.items() if name == matches[0])


def _frame(plan: Plan, path: str, target: str) -> PlacedFrame:
    if (frame := plan.frame_named(target)) is not None:
        return frame
    todo = nearest(target, dict(plan.frames)) or "Check the path."
    raise ModelError(f"channel {path}", repr(target), "a frame of an active body", todo)


def _bodies(plan: Plan, path: str, of: str) -> tuple[int, ...]:
    """The nodes of a body, or of all bodies of an assembly; of all where none is named."""
    known = {k: node.path for k, node in enumerate(plan.nodes) if node.numbers is not None}
    inside = tuple(k for k, name in known.items() if not of or f":{of}:" in f":{name}:")
    if not inside:
        todo = nearest(of, [*known.values(), *(name.rpartition(":")[0] for name in known.values())])
        raise ModelError(f"channel {path}", f"of={of}", "a body, or an assembly of bodies", todo or "Leave it out.")
    return inside


def _feet(plan: Plan, path: str, targets: Sequence[str]) -> tuple[PlacedFrame, ...]:
    """The frames on which something stands, at several places."""
    frames = [_frame(plan, path, target) for target in targets]
    allowed = f"{support.FEWEST} to {support.MOST} different frames, between which the mechanism stands"
    if not support.FEWEST <= len(frames) <= support.MOST:
        raise ModelError(f"channel {path}", f"{len(frames)} frames", allowed, "Write support_margin(left, right).")
    if len(set(frames)) < len(frames):
        raise ModelError(f"channel {path}", "a frame named twice", allowed, "Name each once.")
    return tuple(frames)


def _state_of_force(plan: Plan, head: str, name: str) -> tuple[int, str] | None:
    """Index and unit of the state `name` of the force called `head`, None where there is none."""
    for element in plan.forces:
        for index, state in zip(element.states, FORCES[element.kind].states, strict=True):
            if state.name == name and (element.path == head or element.path.endswith(f":{head}")):
                return index, filled(state.unit, _along(plan, element), 0)
    return None


def _friction_of_force(plan: Plan, path: str, head: str) -> Channel | None:
    """Of friction that grows with what its joint bears: what it does along each of its speeds."""
    for k, element in enumerate(plan.forces):
        if element.bears and (element.path == head or element.path.endswith(f":{head}")):
            units = {filled("{f}", plan.coordinates[one].unit, 0) for one in element.coordinates}
            count = sum(len(plan.coordinates[one].speeds) for one in element.coordinates)
            unit = units.pop() if len(units) == 1 else "mixed"
            return Channel(path, CHANNELS["friction"], k, count, count == 1, unit)
    return None


def _refuse_for_force(plan: Plan, path: str, head: str, name: str) -> None:
    """Raises where `head` is a force, with the channels that it has."""
    moved = {joint.path for joint in plan.joints}  # whose own springs have their paths
    for k, element in enumerate(plan.forces):
        if element.path not in moved and (element.path == head or element.path.endswith(f":{head}")):
            known = [state.name for state in FORCES[element.kind].states] + ["knots"] * bool(knot_units(plan, k))
            known += ["friction"] * element.bears
            allowed = f"of this {element.kind} {', '.join(known) or 'nothing, since it has no states'}"
            raise ModelError(f"channel {path}", repr(name), allowed, nearest(name, known) or "Name what it has.")


def knot_units(plan: Plan, index: int) -> tuple[str, ...]:
    """The units of what a force compares with its knots, one a knot."""
    element = plan.forces[index]
    return FORCES[element.kind].switch_units(element, _along(plan, element))


def _along(plan: Plan, element: ForceElement) -> str:
    """The unit of the displacement along which a force acts."""
    return plan.coordinates[element.coordinates[0]].unit if element.coordinates else "m"


def _knots_of_force(plan: Plan, path: str, head: str) -> Channel:
    knots = {k: units for k in range(len(plan.forces)) if (units := knot_units(plan, k))}
    known = [plan.forces[k].path for k in knots]  # a joint's forces share a path
    head, _ = split(head)
    matches = [k for k in knots if plan.forces[k].path == head or plan.forces[k].path.endswith(f":{head}")]
    if len(matches) != 1:
        hint = nearest(head, known) or f"One of {known}."
        raise ModelError(f"channel {path}", repr(head), "a force with knots", hint)
    units = knots[matches[0]]
    unit = units[0] if len(set(units)) == 1 else "mixed"
    return Channel(path, CHANNELS["knots"], matches[0], len(units), False, unit)
