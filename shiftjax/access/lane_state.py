"""One state of a mechanism, of which everything follows that can be asked of it, each computed once. Lane code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shiftjax.algebra import Scalar, Vec, is_zero, total, zeros
from shiftjax.constraints import Rows
from shiftjax.dynamics.equations import accelerate, null_space
from shiftjax.dynamics.kinematics import Motion, Parameters, coordinate_rates
from shiftjax.dynamics.lane import BlockSolution, Lane
from shiftjax.dynamics.reduced import Reduced
from shiftjax.dynamics.reduction import Column
from shiftjax.dynamics.tree import composite_mass_matrix
from shiftjax.lanes.building import inner_graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.outside import applied
from shiftjax.measures.observed_state import ObservedState
from shiftjax.topology.partition import Partition, free_speeds, independent_speeds
from shiftjax.topology.plan import Plan

OfState = Callable[["LaneState"], Vec]  # lane code: a list of scalars that follow from a state


@dataclass(frozen=True)
class Ground:
    """What states of one design have in common: everything but the values of `LaneState.x`.

    Attributes:
        numbers: in the order of the plan's; None for those that vary. varied: places of these.
        given: whether accelerations of independent speeds are given; else they follow from the forces.
        extras: how many numbers come with what is asked, of frames that are no body's.
        need_masses: raises where a motion moves no mass; asked before anything is divided by masses.
    """

    plan: Plan
    partition: Partition
    numbers: tuple[float | None, ...]
    varied: tuple[int, ...]
    matrices: tuple[Any, ...]
    length: float
    functions: tuple[Any, ...]
    given: bool = False
    extras: int = 0
    need_masses: Callable[[], None] = field(default=lambda: None, compare=False)

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The independent speeds, ascending."""
        return independent_speeds(self.plan, self.partition)

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where in `LaneState.x` what stands."""
        plan, count = self.plan, len(self.independent) if self.given else 0
        sizes = {"q": plan.nq, "v": plan.nv, "states": plan.ns, "t": 1, "numbers": len(self.varied), "a": count}
        sizes["extra"] = self.extras
        places, first = dict[str, slice](), 0
        for name, size in sizes.items():
            places[name] = slice(first, first + size)
            first += size
        return places

    @property
    def size(self) -> int:
        """How many numbers a `LaneState.x` has."""
        return self.parts["extra"].stop

    def lane(self, varied: Sequence[Scalar], t: Scalar) -> Lane:
        """The lane of some values of the varied numbers."""
        numbers: list[Any] = list(self.numbers)
        for place, value in zip(self.varied, varied, strict=True):
            numbers[place] = value
        return Lane(self.plan, Parameters(numbers, self.matrices), self.length, self.functions, t)


class LaneState:
    """One state.

    Args:
        x: coordinates, speeds, states of forces, time, varied numbers, given accelerations, numbers of frames, in the
            order of `Ground.parts`.
    """

    def __init__(self, ground: Ground, x: Sequence[Scalar]) -> None:
        self.ground, self.x = ground, list(x)
        self.plan = ground.plan
        self.q, self.v, self.states, (self.t,), varied, self.given, self.extra = (
            self.x[part] for part in ground.parts.values()
        )
        self.lane = ground.lane(varied, self.t)

    @cached_property
    def motion(self) -> Motion:
        return self.lane.motion(self.q, self.v)

    @cached_property
    def rest(self) -> Motion:
        """The same pose, without speeds."""
        return self.lane.motion(self.q, None)

    @cached_property
    def rows(self) -> list[Rows]:
        """Of every substructure."""
        return [self.lane.rows(self.motion, k) for k in range(len(self.plan.substructures))]

    def _solved(self, side: str) -> list[BlockSolution]:
        blocks = zip(self.ground.partition.blocks, self.rows, strict=True)
        return [self.lane.solve(block, rows, getattr(rows, side)) for block, rows in blocks]

    @cached_property
    def _columns(self) -> list[Column]:
        """Of the null space, the deepest speed first, as equations are eliminated."""
        return null_space(self._solved("gamma"), free_speeds(self.plan))

    @cached_property
    def Z(self) -> list[Column]:
        """Columns of the null space, one an independent speed: how all speeds change with it, loops closed."""
        return self._columns[::-1]

    @cached_property
    def driven_speeds(self) -> Column:
        """All speeds where the independent ones are 0: those that drivers give."""
        return {k: x for one in self._solved("nu") for k, x in one.particular.items()}

    @cached_property
    def driven_accelerations(self) -> Column:
        """All accelerations where those of the independent speeds are 0."""
        return {k: x for one in self._solved("gamma") for k, x in one.particular.items()}

    @cached_property
    def reduced(self) -> Reduced:
        return Reduced(self.motion, self._columns)

    @cached_property
    def H(self) -> list[Column]:
        """The mass matrix of the cut tree."""
        return composite_mass_matrix(self.motion)

    @cached_property
    def a(self) -> Vec:
        """(nv,) accelerations: those that are given, else by the equations of motion."""
        if self.ground.given:
            return self._following(self.driven_accelerations, self.given)
        self.ground.need_masses()
        blocks, particular = self.ground.partition.blocks, self.driven_accelerations
        return accelerate(self.lane, self.motion, self.states, self._columns, particular, self.reduced, blocks).a

    @cached_property
    def observed(self) -> ObservedState:
        """The same state, as channels see it."""
        return ObservedState(self.lane, self.ground.partition, self.q, self.v, self.states, lambda: self.a)

    def _following(self, driven: Column, independent: Sequence[Scalar]) -> Vec:
        """(nv,) Z times (n,) values of independent speeds, and what drivers give."""
        out = [driven.get(k, 0.0) for k in range(self.plan.nv)]
        for column, value in zip(self.Z, independent, strict=True):
            for speed, entry in column.items():
                out[speed] = out[speed] + entry * value
        return out

    def following_speeds(self) -> Vec:
        """(nv,) all speeds, from the independent ones."""
        return self._following(self.driven_speeds, [self.v[k] for k in self.ground.independent])

    def across(self, x: Sequence[Scalar]) -> Vec:
        """Z^T x of (nv,) generalised forces: (n,) of the independent coordinates."""
        return [total(entry * x[speed] for speed, entry in column.items()) for column in self.Z]

    def coordinate_rates(self, v: Sequence[Scalar]) -> Vec:
        """(nq,) rates of the coordinates for some speeds."""
        return coordinate_rates(self.plan, self.q, v)

    def along(self, function: OfState, directions: Sequence[Vec]) -> list[Vec]:
        """Derivatives of what follows from a state in some directions of `x`."""
        count = self.ground.size
        graph = inner_graph_of(lambda x: function(LaneState(self.ground, x)), count)
        moving = [k for k in range(count) if not all(is_zero(one[k]) for one in directions)]
        outputs = range(len(graph.outputs))
        tangents = forward(graph, count + len(graph.outer), moving, outputs, len(directions))
        steps = [one[k] for one in directions for k in moving]
        rest = applied(tangents, [*self.x, *graph.outer, *steps])[len(outputs) :]
        return [rest[k * len(outputs) : (k + 1) * len(outputs)] for k in range(len(directions))]

    def direction(self, **parts: Sequence[Scalar]) -> Vec:
        """A direction of `x` by some of its parts, zero in the others."""
        out = zeros(self.ground.size)
        for name, values in parts.items():
            out[self.ground.parts[name]] = values
        return out
