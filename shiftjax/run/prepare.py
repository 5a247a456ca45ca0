"""From a model and its varied numbers to assembled starts and programs' constants, for whole runs and single steps.

Host code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.constraints import CoordinateFunction, TimeFunction
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.errors import ModelError, refuse_text
from shiftjax.field import Role
from shiftjax.mechanism.model import Model
from shiftjax.plan_elements import Places
from shiftjax.run.assembly import LaneOf, assemble
from shiftjax.run.host_evaluation import StartLane
from shiftjax.run.setup import Setup
from shiftjax.run.start import Start
from shiftjax.topology.analysis import analyze
from shiftjax.topology.partition import characteristic_length
from shiftjax.topology.plan import Plan


@dataclass(frozen=True)
class Prepared:
    """A model made ready to run for given members.

    Attributes:
        base: the model as the file has it; model: with the numbers that the user assigned.
        file_numbers, own_numbers: those of both, in the order of the plan's.
        vary: paths of the varied numbers; places: where they stand; values: (count, B).
        named: joints whose start was named by vary, assign or hold, in that order; named_speeds: the same of speeds.
        file_order: joints as the file lists them.
        file_start: the file's own start, one member.
    """

    base: Model
    model: Model
    plan: Plan
    setup: Setup
    file_numbers: tuple[float, ...]
    own_numbers: tuple[float, ...]
    vary: tuple[str, ...]
    places: tuple[int, ...]
    values: np.ndarray
    named: tuple[int, ...]
    named_speeds: tuple[int, ...]
    file_order: tuple[int, ...]
    file_start: Start

    @property
    def members(self) -> int:
        return self.values.shape[1]

    def file_lane(self) -> StartLane:
        """The lane of the file's own numbers."""
        return self.with_numbers(self.file_numbers)

    def with_numbers(self, numbers: Sequence[Scalar]) -> StartLane:
        """The lane of some numbers, in the order of the plan's."""
        return start_lane(self.setup, numbers)

    def lane_of(self, members: np.ndarray, fraction: float | np.ndarray) -> StartLane:
        """The lane of some members, their numbers a fraction of the way from the file's to their own."""
        numbers: list[Scalar] = list(self.file_numbers)
        for place, (before, own) in enumerate(zip(self.file_numbers, self.own_numbers, strict=True)):
            if own != before:
                numbers[place] = _between(before, np.full(len(members), own), fraction)
        for place, values in zip(self.places, self.values, strict=True):
            numbers[place] = _between(self.file_numbers[place], values[members], fraction)
        return self.with_numbers(numbers)

    def parameters(self) -> np.ndarray:
        """(np, B) values of the numbers that the programs read."""
        row = {place: k for k, place in enumerate(self.places)}
        return np.array([self.values[row[place]] for place in self.setup.varied]).reshape(-1, self.members)

    def start(self) -> Start:
        """Assembled starts of all members."""
        if not self.vary and self.model == self.base:
            return self.file_start
        return assemble(
            self.plan, self.file_lane(), self.lane_of, self.members, self.file_order, self.named, self.named_speeds
        )


def _between(before: float, own: np.ndarray, fraction: float | np.ndarray) -> np.ndarray:
    """Exact at the end of the way."""
    return np.where(np.equal(fraction, 1.0), own, before + fraction * (own - before))


def start_lane(setup: Setup, numbers: Sequence[Scalar]) -> StartLane:
    """The lane of a setup with all its numbers, those of starts too."""
    return StartLane(setup.plan, Parameters(numbers, setup.matrices), setup.length, setup.functions, 0.0)


def prepare(
    model: Model,
    vary: Mapping[str, object],
    *,
    hold: Sequence[str] = (),
    assign: Mapping[str, float] | None = None,
    method: str = "rk4",
    precision: str = "f64",
    drive: Mapping[str, TimeFunction] | None = None,
    tie: Mapping[str, CoordinateFunction] | None = None,
    pulled: bool = False,
    cut: Sequence[str] = (),
    cluster: bool = True,
    refuse: bool = True,
) -> Prepared:
    """Analyses the model and sorts its numbers into constants, program inputs and start values.

    Args:
        vary: number path -> (B,) values. assign: number path -> value for all members.
        drive: joint -> its prescribed motion. tie: name -> a function of coordinates that stays zero.
        pulled: True gives every body a wrench from outside, its numbers varied beside those of `vary`.
        refuse: False analyses a model although parts of it cannot be simulated.

    Raises:
        ModelError: bad paths or shapes, things that cannot be simulated.
    """
    if refuse:
        refuse_unsupported(model)
    for where, paths in (("hold", hold), ("cut", cut)):
        refuse_text(where, paths)
    drive, tie, base = drive or {}, tie or {}, model
    model = model.replace(assign) if assign else model
    assigned = [base.resolve(path) for path in assign or {}]
    plan = analyze(
        model,
        cut=cut,
        cluster=cluster,
        driven=tuple(drive),
        functions={name: given.joints for name, given in tie.items()},
        external_wrenches=pulled,
    )
    place = {number.path: k for k, number in enumerate(plan.numbers)}
    known = _varied(model, vary, place)
    if twice := next((path for path in assigned if path in known), None):
        todo = "Leave it out in one of them."
        raise ModelError(twice, "a value for all members and varied values", "one of them", todo)
    own, file = (_vector(plan, m) for m in (model, base))
    matrices = model.matrices()
    read = [place[path] for path in known if not plan.numbers[place[path]].role.of_start]
    setup = Setup(
        plan=plan,
        numbers=tuple(None if n.role.of_start else value for n, value in zip(plan.numbers, own, strict=True)),
        varied=(*read, *(k for k, n in enumerate(plan.numbers) if n.role is Role.LOAD and n.path not in known)),
        matrices=tuple(matrices[path] for path in plan.matrices),
        length=characteristic_length(plan, own),
        method=method,
        precision=precision,
        functions=(*drive.values(), *tie.values()),
    )
    values = np.array(list(known.values()), float).reshape(len(known), -1 if known else 1)
    held = _joints_of(plan, [model.resolve(path) for path in hold], "hold")
    named = [*(place[path] for path in known), *(place[path] for path in assigned)]
    moved, thrown = _joints_starting(plan, named, "displacement"), _joints_starting(plan, named, "velocity")
    named_joints = tuple(dict.fromkeys((*moved, *held)))
    file_order = _joints_of(plan, [path for path, _ in model.joints()], "joint")
    lane = start_lane(setup, file)
    always: LaneOf = lambda members, fraction: lane  # noqa: E731
    file_start = assemble(plan, lane, always, 1, file_order, named_joints, thrown)
    return Prepared(
        base=base,
        model=model,
        plan=plan,
        setup=setup,
        file_numbers=file,
        own_numbers=own,
        vary=tuple(known),
        places=tuple(place[path] for path in known),
        values=values,
        named=named_joints,
        named_speeds=thrown,
        file_order=file_order,
        file_start=file_start,
    )


def _vector(plan: Plan, model: Model) -> tuple[float, ...]:
    """The numbers of a model in the order of the plan's; wrenches from outside are zero."""
    numbers = model.numbers()
    return tuple(numbers.get(number.path, 0.0) for number in plan.numbers)


def _joints_starting(plan: Plan, places: Sequence[int], what: str) -> tuple[int, ...]:
    """Joints whose displacement or velocity stands at one of the places, in the order of the places."""
    owner = {place: k for k, joint in enumerate(plan.joints) if joint.nv for place in _flat(getattr(joint, what))}
    return tuple(dict.fromkeys(owner[place] for place in places if place in owner))


def _flat(places: Places) -> Iterator[int]:
    if isinstance(places, int):
        yield places
    else:
        for inner in places:
            yield from _flat(inner)


def refuse_unsupported(model: Model) -> None:
    """Raises where something active cannot be simulated yet."""
    for path, what in model.unsupported():
        raise ModelError(path, what, "what this version simulates", 'Set "active": false on it, or remove it.')


def _varied(model: Model, vary: Mapping[str, object], known: Mapping[str, Any]) -> dict[str, np.ndarray]:
    out: dict[str, np.ndarray] = {}
    for path, values in vary.items():
        full = model.resolve(path)
        if full not in known:
            model.replace({path: 0.0})  # raises with the nearest known path
        if full in out:
            raise ModelError(f"vary {path}", "the same number twice", "each number once", "Leave one of them out.")
        try:
            array = np.asarray(values, float)
        except (TypeError, ValueError):
            raise ModelError(f"vary {path}", repr(values)[:80], "numbers, one a member", "Give an array.") from None
        if array.ndim != 1:
            raise ModelError(f"vary {path}", f"shape {array.shape}", "one value a member, shape (B,)", "Flatten it.")
        out[full] = array
    sizes = {path: len(array) for path, array in out.items()}
    if len(set(sizes.values())) > 1:
        raise ModelError("vary", f"lengths {sizes}", "one length for all", "Give every path as many values as members.")
    if out and 0 in sizes.values():
        raise ModelError("vary", "no members", "at least one", "Give at least one value.")
    return out


def _joints_of(plan: Plan, paths: Sequence[str], where: str) -> tuple[int, ...]:
    """The places of joints in the plan."""
    index = {joint.path: k for k, joint in enumerate(plan.joints)}
    unknown = [path for path in paths if path not in index]
    if unknown:
        raise ModelError(f"{where} {unknown[0]}", "no active joint", "the path of a joint", f"One of {sorted(index)}.")
    return tuple(dict.fromkeys(index[path] for path in paths))


def forced_speeds(prepared: Prepared, independent: Sequence[str]) -> set[int]:
    """The speeds of joints that the user wants independent."""
    refuse_text("independent", independent)
    found = _joints_of(prepared.plan, [prepared.model.resolve(path) for path in independent], "independent")
    joints = [prepared.plan.joints[k] for k in found]
    return {joint.v + k for joint in joints for k in range(joint.nv)}
