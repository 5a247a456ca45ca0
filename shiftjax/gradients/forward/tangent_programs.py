"""Lane programs of runs with tangents: a lane's numbers, then the same again for each direction.

The tangent of a lane program is a lane program on more slots: accelerations and projections by their KKT systems, one
piece an island (`kkt_tangents`), solutions of linear systems by the same factors, all else by forward mode on its
graphs. What the step loop does between the
pieces is linear in q, x and their rates, so that it is right for the tangents as it is. Monitors, reports, events, the
certificate and the work integral have no tangents: nothing that is differentiated depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from shiftjax.gradients.forward.kkt_tangents import EndTangents, PhaseTangents, StageTangents
from shiftjax.kernels.lane_program import LaneProgram, Layout, Piece, on_slots
from shiftjax.kernels.linearly_implicit import Linearized
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph
from shiftjax.run.programs.lane_program import Builder, Islands, Programs
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.topology.partition import Partition

BATCHES = (1, 2, 4)  # directions at once: few programs; values are computed for every batch, more overflow the caches
IMPLICIT = {"accelerate": StageTangents, "project": EndTangents}  # phases that solve KKT systems
TRACED = ("q", "x", "dx", "p", "qdot", "scratch", "seeds", "ft", "linear", "acc", "chan")  # regions with tangents

Phases = dict[str, PhaseTangents]  # by what decides the piece


class TangentLayout:
    """Where a lane's numbers and their tangents are.

    Args:
        layout: of the lanes without tangents. states: how many of x have tangents, the first ones.

    Attributes:
        whole: with tangents. values: slot without tangents -> slot of the value. tangents: the same -> slots of its
            tangents, one a direction, for those that have any.
    """

    def __init__(self, layout: Layout, states: int, directions: int) -> None:
        self.directions = directions
        self._parts = {name: (0, getattr(layout, size)) for name, size in _SIZES.items()}
        self._parts |= {"x": (0, states), "dx": (0, states), "qdot": (0, layout.nq)}
        self._parts["ft"] = 0, min(states, len(layout.slots("ft")))
        self._parts["acc"] = len(ACCUMULATORS), layout.na - len(ACCUMULATORS)
        grown = {size: getattr(layout, size) + directions * self._parts[name][1] for name, size in _SIZES.items()}
        self.whole = replace(layout, nx=layout.nx + directions * states, **grown)
        self.plain = layout
        self.values: dict[int, int] = {}
        self.tangents: dict[int, tuple[int, ...]] = {}
        for name in layout.regions():
            old, new = layout.slots(name), self.whole.slots(name)
            self.values |= zip(old, new, strict=False)
            if name in TRACED:
                for k in range(self._parts[name][1]):
                    slots = tuple(new[self._place(name, len(old), k, d)] for d in range(directions))
                    self.tangents[old[self._parts[name][0] + k]] = slots

    def _place(self, name: str, count: int, k: int, direction: int) -> int:
        """Place in a region, or in a group of rows, of `count` values of the k-th tangent of a direction."""
        return count + direction * self._parts[name][1] + k

    def values_within(self, name: str) -> slice:
        """Of a group of rows those that are values with tangents."""
        first, count = self._parts[name]
        return slice(first, first + count)

    def tangents_within(self, name: str, direction: int) -> slice:
        """Of a group of rows those that are tangents in one direction."""
        first = self._place(name, self.plain.columns()[name], 0, direction)
        return slice(first, first + self._parts[name][1])


_SIZES = {"q": "nq", "p": "np", "scratch": "ns", "seeds": "nk", "linear": "nl", "acc": "na", "chan": "nc"}


class TangentPrograms:
    """The lane programs of one setup with their tangents.

    Args:
        programs: those without. directions: how many tangents every number has.
        phases: of the same programs, shared by numbers of directions: their functions are traced once.
    """

    def __init__(self, programs: Programs, directions: int, phases: Phases | None = None) -> None:
        self.plain, self.directions = programs, directions
        self.setup, self.metrics = programs.setup, programs.metrics
        plan = self.setup.plan
        self.places = TangentLayout(programs.layout, plan.nv + plan.ns, directions)
        self.layout, self.width = self.places.whole, programs.width * (1 + directions)
        self.identity = f"{programs.identity} with {directions} tangents"
        self._built: dict[Partition, LaneProgram] = {}
        self._phases: Phases = {} if phases is None else phases

    def of(self, partition: Partition) -> LaneProgram:
        """The lane program of one partition."""
        if partition not in self._built:
            self._built[partition] = self._tangent(self.plain.of(partition), partition)
        return self._built[partition]

    @property
    def pieces(self) -> int:
        """Distinct pieces for accelerations."""
        return len({piece.key for program in self._built.values() for piece in program.accelerate})

    def _tangent(self, program: LaneProgram, partition: Partition) -> LaneProgram:
        phases = {name: program.phase(name) for name in ("observe", "accumulate")}
        phases |= {name: self._as_one(program, partition, name) for name in IMPLICIT}
        made = {name: self._phase(pieces) for name, pieces in phases.items()}
        if program.method.gamma:
            made |= self._linear(Linearized(program, self.setup.precision))
        return replace(program, layout=self.layout, drift=self._phase((program.drift,))[0], **made)

    def _linear(self, linearized: Linearized) -> dict[str, tuple[Piece, ...]]:
        """The phases of `kernels.linearly_implicit`: factors have no tangents."""
        count, places = self.places.plain.slot_count, self.places
        slot_of = dict(places.values)  # slots of tangents are numbered on behind the values'
        slot_of |= {
            (d + 1) * count + k: slots[d] for k, slots in places.tangents.items() for d in range(self.directions)
        }
        rate, solve = linearized.rate, [*linearized.solve()]
        for d in range(self.directions):

            def moved(slot: int, first: int = (d + 1) * count) -> int:
                return first + slot

            du = {one: moved(slot) for one, slot in rate.items() if slot in places.tangents}
            solve += linearized.tangent(rate, du, moved)
        placed = {
            name: tuple(on_slots(piece, slot_of) for piece in pieces)
            for name, pieces in {"factors": linearized.factors(), "solve": solve}.items()
        }
        return {"linearize": (*self._phase(linearized.slopes()), *placed["factors"]), "solve": placed["solve"]}

    def _as_one(self, program: LaneProgram, partition: Partition, phase: str) -> Sequence[Piece]:
        """A phase that solves KKT systems, of each island one piece."""

        def whole(island: Builder) -> list[Piece]:
            pieces = island.accelerate_pieces() if phase == "accelerate" else island.project_pieces()
            tangents = IMPLICIT[phase](island.setup, island.partition, island.layout, pieces)
            piece = tangents.plain()
            self._phases.setdefault(_decided_by(piece), tangents)
            return [piece]

        builder = self.plain.builder(partition)
        if isinstance(builder, Islands):
            return [*builder.on_islands(whole), program.phase(phase)[-1]]
        return whole(builder)

    def _phase(self, pieces: Iterable[Piece]) -> tuple[Piece, ...]:
        """Pieces that follow each other; tangents that none of them hands on are left out."""
        scratch = set(self.places.plain.slots("scratch"))
        wanted, traced_pieces = set(self.places.tangents) - scratch, list[Piece]()
        for piece in reversed(list(pieces)):
            every = zip(*(outputs for _, outputs in piece.runs()), strict=True)
            traced = [k for k, slots in enumerate(every) if wanted & set(slots)]
            if traced:
                wanted |= {slot for inputs, _ in piece.runs() for slot in inputs}
            traced_pieces.append(self._piece(piece, traced))
        return tuple(reversed(traced_pieces))

    def _piece(self, piece: Piece, of: list[int]) -> Piece:
        """A piece with the tangents of some of its outputs."""
        places, every = self.places, range(self.directions)
        known = set(places.plain.slots("seeds"))  # have no tangents but where other runs have one in their place
        every_input = zip(*(inputs for inputs, _ in piece.runs()), strict=True)
        wrt = [k for k, slots in enumerate(every_input) if {*slots} & (places.tangents.keys() - known)] if of else []

        def slots(inputs: tuple[int, ...], outputs: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
            sides = []
            for side, traced in ((inputs, wrt), (outputs, of)):
                values = tuple(places.values[slot] for slot in side)
                sides.append(values + tuple(places.tangents[side[k]][d] for d in every for k in traced))
            return sides[0], sides[1]

        (inputs, outputs), *others = (slots(*run) for run in piece.runs())
        repeats = tuple(tuple((*a, *b)) for a, b in others)
        if not of:
            return replace(piece, inputs=inputs, outputs=outputs, repeats=repeats)
        if (phase := self._phases.get(_decided_by(piece))) is not None:
            build = partial(phase.graph, wrt, of, self.directions)
        else:
            build = partial(_tangents, piece, wrt, of, self.directions)
        code = piece.code.derived(("tangents", self.directions, wrt, of), build)
        return Piece(f"{piece.name} with tangents", code, inputs, outputs, repeats)


def _decided_by(piece: Piece) -> str:
    """The text that decides the code of a piece; only where there is none its graph is built for its digest.

    A phase as one piece is never compiled, so that no digest of it is on the disk: it took 1.2 s on a delta robot.
    """
    return piece.code.text or piece.key


class TangentFamily:
    """The tangent programs of one setup for any number of directions, each built once.

    Args:
        programs: those without tangents.
    """

    def __init__(self, programs: Programs) -> None:
        self.plain = programs
        self._by_directions: dict[int, TangentPrograms] = {}
        self._phases: Phases = {}

    def of(self, directions: int) -> TangentPrograms:
        """Those of so many directions at once."""
        if directions not in self._by_directions:
            self._by_directions[directions] = TangentPrograms(self.plain, directions, self._phases)
        return self._by_directions[directions]


def _tangents(piece: Piece, wrt: list[int], of: list[int], directions: int) -> Graph:
    return forward(piece.graph, len(piece.inputs), wrt, of, directions)
