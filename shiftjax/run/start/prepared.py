"""A model made ready to run: its plan, its numbers, what is varied, and its start. Host code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.dynamics.kinematics import Parameters
from shiftjax.errors import refuse_text
from shiftjax.mechanism.coordinates import coordinates_at
from shiftjax.mechanism.model import Model
from shiftjax.run.closing.continuation import between
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.run.programs.setup import Setup, with_values
from shiftjax.run.start.stated import Start, Statements
from shiftjax.topology.plan import Plan


@dataclass(frozen=True)
class Prepared:
    """A model made ready to run for given members.

    Attributes:
        base: the model as the file has it; model: with the numbers that the user assigned; undriven: prepares the base
            without the drives that the user gave.
        file_numbers, own_numbers: those of both, in the order of the plan's.
        vary: paths of the varied numbers; places: where they stand; values: (count, B).
        statements: what is stated of the start by file, vary, assign and hold.
        file_start: the file's own start, one member.
        instants: (B,) times at which members stand [s]; None where all stand at 0.
        branch: names of the assembly branches on which members begin, one for all or one each; none where that of the
            file is meant.
    """

    base: Model
    model: Model
    undriven: Callable[[], Prepared]
    plan: Plan
    setup: Setup
    file_numbers: tuple[float, ...]
    own_numbers: tuple[float, ...]
    vary: tuple[str, ...]
    places: tuple[int, ...]
    values: np.ndarray
    statements: Statements
    file_start: Start
    instants: np.ndarray | None = None
    branch: tuple[str, ...] = ()

    def undriven_pose(self) -> np.ndarray | None:
        """(nq, 1) coordinates at the pose of the file, without drives; None where that closes nowhere."""
        alone = self.undriven()
        if not alone.file_start.closed[0]:
            return None
        places = {one.path: one.places for one in alone.plan.coordinates}
        q = np.zeros((self.plan.nq, 1))
        for one in self.plan.coordinates:
            q[one.places] = alone.file_start.q[places[one.path]]
        return q

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
        """The lane of some members, their numbers and instants a fraction of the way from the file's to their own."""
        numbers: list[Scalar] = list(self.file_numbers)
        for place, (before, assigned) in enumerate(zip(self.file_numbers, self.own_numbers, strict=True)):
            if assigned != before:
                numbers[place] = between(before, np.full(len(members), assigned), fraction)
        for place, values in zip(self.places, self.values, strict=True):
            numbers[place] = between(self.file_numbers[place], values[members], fraction)
        lane = self.with_numbers(numbers)
        return lane if self.instants is None else replace(lane, t=between(0.0, self.instants[members], fraction))

    def lane_with(self, members: np.ndarray, p: np.ndarray) -> StartLane:
        """The lane of some members (K,) with numbers p (np, K) of lanes in place of those of their start."""
        lane = self.lane_of(members, 1.0)
        return replace(self.with_numbers(with_values(lane.params.numbers, self.setup.varied, p)), t=lane.t)

    def some(self, members: np.ndarray) -> Prepared:
        """The same for some of the members."""
        instants = None if self.instants is None else self.instants[members]
        branch = self.branch if len(self.branch) < 2 else tuple(np.array(self.branch, object)[members])
        return replace(self, values=self.values[:, members], instants=instants, branch=branch)

    def of_the_file(self) -> Prepared:
        """The same with the file's own numbers only."""
        none = np.zeros((0, 1))
        return replace(
            self,
            model=self.base,
            own_numbers=self.file_numbers,
            vary=(),
            places=(),
            values=none,
            instants=None,
            branch=(),
        )

    def parameters(self) -> np.ndarray:
        """(np, B) values of the numbers that the programs read."""
        varied = dict(zip(self.places, self.values, strict=True))
        alike = {place: np.full(self.members, self.own_numbers[place]) for place in self.setup.varied}  # set by events
        return np.array([varied.get(place, alike[place]) for place in self.setup.varied]).reshape(-1, self.members)


def start_lane(setup: Setup, numbers: Sequence[Scalar]) -> StartLane:
    """The lane of a setup with all its numbers, those of starts too."""
    return StartLane(setup.plan, Parameters(numbers, setup.matrices), setup.length, setup.functions, 0.0)


def coordinates_named(plan: Plan, model: Model, paths: Sequence[str], where: str) -> tuple[int, ...]:
    """The places in the plan of the coordinates that paths of users name; a joint's path names all of its own."""
    index = {coordinate.path: k for k, coordinate in enumerate(plan.coordinates)}
    return tuple(index[path] for path in coordinates_at(model, paths, where))


def forced_speeds(prepared: Prepared, independent: Sequence[str]) -> set[int]:
    """The speeds of coordinates that the user wants independent."""
    refuse_text("independent", independent)
    named = coordinates_named(prepared.plan, prepared.model, independent, "independent")
    return {speed for k in named for speed in prepared.plan.coordinates[k].speeds}
