"""From a model and its varied numbers to assembled starts and programs' constants, for whole runs and single steps.

Host code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, shown
from shiftjax.field import Role
from shiftjax.joints import KINDS
from shiftjax.measures.ties import ties_in, ties_of
from shiftjax.mechanism.coordinates import coordinates_at
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Matrix
from shiftjax.memory_cache import forget_oldest
from shiftjax.numerics.real_arrays import real_array
from shiftjax.run.closing.host_evaluation import (
    StartLane,
    coordinates_of_numbers,
    deciding_drivers,
    stated_coordinates,
)
from shiftjax.run.options import Options
from shiftjax.run.programs.setup import Setup, fingerprinted, from_outside
from shiftjax.run.start.assembly import assemble
from shiftjax.run.start.branches import MOVED, distances, units_of
from shiftjax.run.start.driven.driven_starts import refuse_driven
from shiftjax.run.start.driven.drives import driven
from shiftjax.run.start.event_values import with_laws
from shiftjax.run.start.prepared import Prepared, coordinates_named, start_lane
from shiftjax.run.start.rounded import rounded
from shiftjax.run.start.stated import Start, Statements
from shiftjax.topology.analysis import analyze
from shiftjax.topology.partition import characteristic_length
from shiftjax.topology.plan import Plan

KEPT = 16  # plans of models that were prepared
DEFAULT = Options()
RESIZED = 2.0  # a model whose size was changed by more is a new one: no walk leads there from the old one

_prepared: dict[tuple[Plan, str], tuple[Plan, tuple[Matrix, ...]]] = {}


def prepare(
    model: Model,
    vary: Mapping[str, object],
    options: Options = DEFAULT,
    *,
    pulled: bool = False,
    refuse: bool = True,
    opened: Collection[str] = (),
) -> Prepared:
    """Analyses the model and sorts its numbers into constants, program inputs and start values.

    Args:
        vary: number path -> (B,) values, derived numbers among them, in place of those of the options.
        pulled: True gives every body a wrench from outside, its numbers varied beside those of `vary`.
        refuse: False analyses a model although parts of it cannot be simulated.
        opened: names of loops and constraints of its plan that are left out, as of `analyze`.

    Raises:
        ModelError: bad paths or shapes, things that cannot be simulated.
    """
    if refuse:
        refuse_unsupported(model)
    numerics, assign, hold = options.numerics, options.design.assign, options.start.hold
    drive, tie = options.motion.drive or {}, ties_of(options.motion.tie or {}, model)
    given_model, undriven = model, model.origin or model
    model, varied, functions = driven(model, drive)
    vary, base, model = {**vary, **varied}, model.origin or model, model.replace(assign) if assign else model
    tied = {name: function.joints for name, function in tie.items()}
    plan = analyze(
        model, cut=numerics.cut, cluster=numerics.cluster, driven=tuple(functions), functions=tied,
        external_wrenches=pulled, opened=opened,
    )  # fmt: skip
    given = (*functions.values(), *tie.values(), *ties_in(model).values())
    plan, matrices = _as_before(plan, model, foreign=from_outside(plan, given))
    place = {number.path: k for k, number in enumerate(plan.numbers)}
    known = varied_values(model, vary, place)
    _refuse_twice(model, assign or (), known)
    assigned, file = (_vector(plan, m) for m in (model, base))
    length = characteristic_length(plan, assigned)
    if not 1.0 / RESIZED < characteristic_length(plan, file) / length < RESIZED:
        base, file = model, assigned
        undriven = _assigned(given_model, assign or {})
    starts = {k for k, number in enumerate(plan.numbers) if number.role.of_start} - plan.read_by_constraints()
    read = [place[path] for path in known if place[path] not in starts]
    on_lanes, laws = with_laws(plan, model, (*read, *_loads(plan, known)), options.recording.events)
    setup = fingerprinted(Setup(
        plan=plan,
        numbers=tuple(None if k in starts else value for k, value in enumerate(assigned)),
        varied=on_lanes,
        laws=laws,
        matrices=matrices,
        length=length,
        method=numerics.method or "rk4",
        precision=numerics.precision,
        functions=given,
        controlled=numerics.tolerance is not None,
    ))  # fmt: skip
    values = np.array(list(known.values()), float).reshape(len(known), -1 if known else 1)
    named = [place[path] for path in (*known, *model.replaced) if path in place]
    statements = _statements(plan, model, named, coordinates_named(plan, model, hold, "hold"))
    led = {*_stating(model, "initial_displacement"), *coordinates_at(model, drive, "drive")}
    elsewhere = _led_elsewhere(start_lane(setup, file), led)  # a note tells of them
    statements = replace(statements, alone=statements.alone and not elsewhere)
    setup, file_start = _file_start(setup, file, replace(statements, alone=not elsewhere))
    plan = setup.plan
    return Prepared(
        base=base,
        model=model,
        undriven=partial(prepare, undriven, {}, opened=opened),
        plan=plan,
        setup=setup,
        file_numbers=file,
        own_numbers=assigned,
        vary=tuple(known),
        places=tuple(place[path] for path in known),
        values=values,
        statements=statements,
        file_start=file_start,
        branch=branches_named(options, values.shape[1]),
    )


def branches_named(options: Options, members: int) -> tuple[str, ...]:
    """The names of the branches that are asked for: none, one for all members, or one each.

    Raises:
        ModelError: another number of them than members; names beside a result from which a run goes on, or beside
            loops that are cut or put together otherwise than by themselves, on which names depend.
    """
    branch = options.start.branch
    if branch is None:
        return ()
    if options.numerics.cut or not options.numerics.cluster:
        allowed = "loops as they are cut by themselves"
        raise ModelError("branch", "with cut or cluster", allowed, "Leave one of them out.")
    if options.start.start is not None:
        todo = "Leave one of them out: the end of the earlier run is on a branch."
        raise ModelError("branch", "with a start to go on from", "one of them", todo)
    names = (branch,) if isinstance(branch, str | int) else tuple(branch)
    if isinstance(branch, str | int) or len(names) == members:
        return tuple(str(name).strip() for name in names)
    allowed = f"one for all, or one for each of {members}"
    raise ModelError("branch", f"{len(names)} names", allowed, "Give a text, or as many as members.")


def _assigned(model: Model, assign: Mapping[str, float | str]) -> Model:
    """The model with those of the assigned numbers that it has: not those of drives that a run gives it."""
    known = model.numbers()
    of_model = {path: value for path, value in assign.items() if model.resolve(path) in known}
    return model.replace(of_model) if of_model else model


def _loads(plan: Plan, known: Collection[str]) -> list[int]:
    """Places of wrenches from outside that do not vary by their paths."""
    return [k for k, n in enumerate(plan.numbers) if n.role is Role.LOAD and n.path not in known]


def _file_start(setup: Setup, file: Sequence[float], statements: Statements) -> tuple[Setup, Start]:
    """The file's own start, and the setup with substructures marked that close but for the rounding of its numbers."""

    def assembled(setup: Setup) -> Start:
        lane = start_lane(setup, file)
        return assemble(setup.plan, lane, lambda members, fraction: lane, 1, statements)

    start = assembled(setup)
    marked = rounded(setup.plan, start_lane(setup, file), start.q)
    if marked == setup.plan:
        return setup, start
    plan, _ = _as_object_before(marked, setup.matrices, foreign=bool(setup.foreign))
    again = fingerprinted(replace(setup, plan=plan))
    closed = assembled(again)
    return (again, closed) if closed.closed[0] else (setup, start)


def _refuse_twice(model: Model, assigned: Iterable[str], known: Collection[str]) -> None:
    """Raises where a number has a value for all members and varied ones."""
    if twice := next((path for path in map(model.resolve, assigned) if path in known), None):
        todo = "Leave it out in one of them."
        raise ModelError(twice, "a value for all members and varied values", "one of them", todo)


def _as_before(plan: Plan, model: Model, *, foreign: bool) -> tuple[Plan, tuple[Matrix, ...]]:
    """A plan and its matrices as the objects of an equal model before, by which the host knows its graphs.

    Args:
        foreign: whether anything comes from outside the package, of which an equal plan says nothing.
    """
    by_path = model.matrices()
    return _as_object_before(plan, tuple(by_path[path] for path in plan.matrices), foreign=foreign)


def _as_object_before(plan: Plan, matrices: tuple[Matrix, ...], *, foreign: bool) -> tuple[Plan, tuple[Matrix, ...]]:
    if foreign:
        return replace(plan), matrices
    key = plan, repr(matrices)  # with the signs of zeros
    forget_oldest(_prepared, KEPT)
    return _prepared.setdefault(key, (plan, matrices))


def _statements(plan: Plan, model: Model, named: Sequence[int], holding: Sequence[int]) -> Statements:
    """What is stated of the start, the most binding first.

    Named joints, then those that are stated to move, to be at rest, to stand somewhere: each in the
    order of the file.

    Args:
        named: places of numbers that vary and assign name, in their order. holding: coordinates that `hold` names.
    """
    index, numbers = {coordinate.path: k for k, coordinate in enumerate(plan.coordinates)}, _vector(plan, model)
    moved, thrown = _coordinates_starting(plan, named, "start"), _coordinates_starting(plan, named, "velocity")
    placed = [index[path] for path in _stating(model, "initial_displacement")]
    timed = [index[path] for path in _stating(model, "initial_velocity")]
    moving = [k for k in timed if any(numbers[place] for place in plan.coordinates[k].velocity)]
    refuse_driven(plan, holding, moved, thrown, named)
    led = {*deciding_drivers(plan)}  # their driver says both
    positions = [*moved, *holding, *(k for k in (*moving, *timed, *placed) if k in placed)]
    speeds = [k for k in (*thrown, *moving, *(k for k in moved if k in timed), *timed) if k not in led]
    return Statements(
        tuple(dict.fromkeys(positions)),
        tuple(dict.fromkeys(speeds)),
        frozenset((*moved, *holding)),
        frozenset(thrown),
        frozenset(led),
        alone=not (named or holding),
    )


def _stating(model: Model, start: str) -> list[str]:
    """The coordinates that state a field of `STARTS`, in the order of the file."""
    kinds = [(path, joint, KINDS[joint.type]) for path, joint in model.joints()]
    return [
        kind.path_of(path, k)
        for path, joint, kind in kinds
        for k, coordinate in enumerate(kind.coordinates)
        if joint.states(start, coordinate.name)
    ]


def _led_elsewhere(lane: StartLane, paths: Collection[str]) -> bool:
    """Whether drivers of these coordinates begin where the file does not have them: others follow then."""
    led = [k for k in deciding_drivers(lane.plan) if lane.plan.coordinates[k].path in paths]
    if not led:
        return False
    far = distances(lane.plan, stated_coordinates(lane, 1), coordinates_of_numbers(lane, 1), led)
    return bool((far / units_of(lane.plan, lane, led) > MOVED).any())


def _vector(plan: Plan, model: Model) -> tuple[float, ...]:
    """The numbers of a model in the order of the plan's; wrenches from outside are zero."""
    numbers = model.numbers()
    return tuple(numbers.get(number.path, 0.0) for number in plan.numbers)


def _coordinates_starting(plan: Plan, places: Sequence[int], what: str) -> tuple[int, ...]:
    """Coordinates whose start or velocity stands at one of the places, in the order of the places."""
    owners: dict[int, list[int]] = {}
    for k, coordinate in enumerate(plan.coordinates):
        for place in getattr(coordinate, what):
            owners.setdefault(place, []).append(k)
    return tuple(dict.fromkeys(k for place in places for k in owners.get(place, ())))


def refuse_unsupported(model: Model) -> None:
    """Raises where something active cannot be simulated yet."""
    for path, what in model.unsupported():
        raise ModelError(path, what, "what this version simulates", 'Set "active": false on it, or remove it.')
    for path, item in model.idle_drivers():
        fault = f"a driver of the inactive joint {item.joint}"
        raise ModelError(path, fault, "an active joint", 'Set "active": false on the driver, too.')


def varied_values(model: Model, vary: Mapping[str, object], known: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Full path -> (B,) values, in the order of `vary`.

    Args:
        known: the full paths of all numbers are its keys.

    Raises:
        ModelError: no such number, one that is there twice, values of other shapes, no members.
    """
    out: dict[str, np.ndarray] = {}
    for path, values in vary.items():
        full = model.resolve(path)
        if full not in known:
            model.replace({path: 0.0})  # raises with the nearest known path
        if full in out:
            raise ModelError(f"vary {path}", "the same number twice", "each number once", "Leave one of them out.")
        if (array := real_array(values)) is None:
            raise ModelError(f"vary {path}", shown(values), "real numbers, one a member", "Give an array.")
        if array.ndim != 1:
            todo = "Flatten it." if array.ndim else "Write [value]."
            raise ModelError(f"vary {path}", f"shape {array.shape}", "one value a member, shape (B,)", todo)
        out[full] = array
    sizes = {path: len(array) for path, array in out.items()}
    if len(set(sizes.values())) > 1:
        raise ModelError("vary", f"lengths {sizes}", "one length for all", "Give every path as many values as members.")
    if out and 0 in sizes.values():
        raise ModelError("vary", "no members", "at least one", "Give at least one value.")
    return out
