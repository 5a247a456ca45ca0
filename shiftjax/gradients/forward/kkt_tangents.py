"""Tangents of the accelerations of a stage and of the projected end of a step, by their KKT systems.

The values are those of the plain pieces, operation by operation. Multipliers, factors and slopes are made once for all
directions; each direction takes the tangents of the residuals and one solve of every system. Four directions of a step
cost 0.8 to 0.9 steps each, one alone 1.2 to 1.5; plain forward mode on the same pieces 1.5 to 1.8 (four_bar, bricard,
n_four_bar_5, excavator: `pytest -s tests/kernels/test_implicit_tangents.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from shiftjax.dynamics import kkt
from shiftjax.gradients.retraction import change_of_coordinates, retraction
from shiftjax.kernels.lane_program import Layout, Piece
from shiftjax.lanes.code import Code
from shiftjax.lanes.composed import Composed, Directions, References, Traced, Values
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph
from shiftjax.run.programs.setup import Setup
from shiftjax.topology.partition import Partition


class Solves:
    """Tangents of what KKT systems are solved for, in one graph.

    Args:
        nv: speeds. backwards: whether the tangents of Z^T (f - H x - J_P^T lambda) come from the gradients of its
            entries, one reverse sweep a freedom for all directions, or from a forward sweep a direction.
    """

    def __init__(self, made: Composed, nv: int, *, backwards: bool) -> None:
        self.made, self.nv, self.backwards = made, nv, backwards

    def tangents(self, of: Traced, name: str, at: References, dots: Directions) -> list[list[int]]:
        """Those of one system, one entry a direction."""
        made, lam, rows = self.made, f"multipliers of {name}", f"closing of {name}"
        at = at | {lam: made.values(of, [f"found {lam}"], at)[f"found {lam}"]}
        sides = self._forces(of, f"forces of {name}", at, dots)
        closing = made.tangents(of, [rows], dots, at)
        sides = [side | {"rows": dot[rows]} for side, dot in zip(sides, closing, strict=True)]
        return [made.values(of, ["x"], at | side)["x"] for side in sides]

    def _forces(self, of: Traced, name: str, at: References, dots: Directions) -> Directions:
        """Tangents of residual forces, and of their projections on Z."""
        made, columns = self.made, self.made.values(of, ["Z"], at)["Z"]
        Z = [columns[k : k + self.nv] for k in range(0, len(columns), self.nv)]
        absent = [made.graph.const(0.0)] * (of.sizes["projected"] - len(Z))  # articulated trees have no columns
        forces: list[References] = [{}] * len(dots)
        if absent or not self.backwards:
            forces = [{"forces": dot[name]} for dot in made.tangents(of, [name], dots, at)]
        if self.backwards:
            gradients = [_joined(made.cotangents(of, {name: column}, list(dots[0]), at)) for column in Z]
            projected = [[made.product(gradient, _joined(dot)) for gradient in gradients] for dot in dots]
        else:
            projected = [[made.product(column, dot["forces"]) for column in Z] for dot in forces]
        return [{"projected": [*f, *absent]} | r for f, r in zip(projected, forces, strict=True)]


class PhaseTangents:
    """A phase of no more than one island, as one piece.

    Args:
        pieces: the plain ones of this phase.
    """

    def __init__(self, setup: Setup, partition: Partition, layout: Layout, pieces: Sequence[Piece]) -> None:
        self.setup, self.plan, self.partition, self.layout, self.pieces = setup, setup.plan, partition, layout, pieces
        self.rows = sum(len(block.primary) for block in partition.blocks)
        self.looped = bool(self.plan.substructures)

    @property
    def sizes(self) -> dict[str, int]:
        """Of what the equations read."""
        return {"q": self.plan.nq, "v": self.plan.nv, "states": self.plan.ns, "p": self.layout.np, "t": 1}

    @property
    def inputs(self) -> tuple[int, ...]:
        """Slots of `sizes`."""
        moving = self.plan.nv + self.plan.ns
        slots = (self.slots("q"), self.slots("x", moving), self.slots("p"), self.slots("t"))
        return tuple(slot for part in slots for slot in part)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Slots of all values that the phase hands on."""
        scratch = set(self.slots("scratch"))
        return tuple(dict.fromkeys(slot for piece in self.pieces for slot in piece.outputs if slot not in scratch))

    def plain(self) -> Piece:
        """The phase without tangents."""
        parts = [(piece.code.text, piece.inputs, piece.outputs) for piece in self.pieces]
        text = repr(("as one", *parts)) if all(text for text, *_ in parts) else ""
        return Piece(self.pieces[-1].name, Code(lambda: self._values, text), self.inputs, self.outputs)

    def graph(self, wrt: Sequence[int], of: Sequence[int], directions: int) -> Graph:
        """The graph with tangents of some outputs; inputs and outputs in the order of `lanes.forward.forward`.

        Residual forces are differentiated forwards, or projected and differentiated backwards where there are several
        directions and no more freedoms than directions. Of one or two directions the shortest graph is taken, also of
        plain forward mode, which was 1 to 3 % shorter in the projection of a slider-crank with all 45 numbers varied.
        """
        if self.plan.bears:  # loads that follow from accelerations are no KKT system
            return forward(self._values, len(self.inputs), wrt, of, directions)
        backwards = directions > 1 and self.plan.nv - self.rows <= directions
        if directions > 2:
            return self._graph(wrt, of, directions, backwards=backwards)
        graphs = [self._graph(wrt, of, directions, backwards=way) for way in (False, True) if backwards or not way]
        graphs.append(forward(self._values, len(self.inputs), wrt, of, directions))
        return min(graphs, key=lambda graph: len(graph.nodes))

    @cached_property
    def _values(self) -> Graph:
        """The graph of all values that the phase hands on."""
        graphs = [piece.graph for piece in self.pieces]
        made = Composed(self.sizes, graphs)
        values = dict(zip(self.inputs, _joined(made.inputs), strict=True))
        for piece, graph in zip(self.pieces, graphs, strict=True):
            values |= zip(piece.outputs, made.append(graph, [values[slot] for slot in piece.inputs]), strict=True)
        return made.finished(values[slot] for slot in self.outputs)

    def _graph(self, wrt: Sequence[int], of: Sequence[int], directions: int, *, backwards: bool) -> Graph:
        more = {f"direction {d}": len(wrt) for d in range(directions)}
        made = Composed(self.sizes | more, [self._values, self._moving.graph])
        refs = made.append(self._values, [ref for name in self.sizes for ref in made.inputs[name]])
        values = dict(zip(self.outputs, refs, strict=True))
        dots = [self._tangents_of_inputs(made, wrt, made.inputs[name]) for name in more]
        solves = Solves(made, self.plan.nv, backwards=backwards)
        tangents = [self._by_slot(dot) for dot in self._tangents(solves, values, dots)]
        return made.finished([*refs, *(dot[self.outputs[k]] for dot in tangents for k in of)])

    def slots(self, name: str, count: int | None = None) -> list[int]:
        """The first slots of a region."""
        return list(self.layout.slots(name))[:count]

    def _tangents(self, solves: Solves, values: dict[int, int], dots: Directions) -> Directions:
        """Tangents of what the phase finds of q, v, a and the rates of forces' states.

        Args:
            values: by slot, of the whole phase. dots: tangents of what it reads.
        """
        raise NotImplementedError

    def _tangents_of_inputs(self, made: Composed, wrt: Sequence[int], refs: Sequence[int]) -> References:
        by_place, absent = dict(zip(wrt, refs, strict=True)), made.graph.const(0.0)
        places = iter(range(sum(self.sizes.values())))
        return {name: [by_place.get(next(places), absent) for _ in range(count)] for name, count in self.sizes.items()}

    def _accelerations(self, solves: Solves, at: References, dots: Directions) -> Directions:
        """Tangents of accelerations and of the rates of forces' states."""
        dots = _only(dots, "q", "v", "states", "p")
        rates = solves.made.tangents(self._moving, ["rates"], dots, at)
        accelerations = solves.tangents(self._moving, "accelerations", at, dots)
        return [{"a": a, "rates": rate["rates"]} for a, rate in zip(accelerations, rates, strict=True)]

    def _by_slot(self, tangents: References) -> dict[int, int]:
        """Tangents of coordinates, speeds, accelerations and rates by slot."""
        nv = self.plan.nv
        rates = self.slots("dx", nv + self.plan.ns)
        places = {"q": self.slots("q"), "v": self.slots("x", nv), "a": rates[:nv], "rates": rates[nv:]}
        named = places.keys() & tangents
        return {slot: ref for name in named for slot, ref in zip(places[name], tangents[name], strict=True)}

    # -- lane functions ------------------------------------------------------------------------------------------------

    @cached_property
    def _moving(self) -> Traced:
        """Residuals of accelerations and of a correction of speeds at one state."""
        nv, rows = self.plan.nv, self.rows
        sizes = self.sizes | {"a": nv, "multipliers of accelerations": rows, "dv": nv, "multipliers of speeds": rows}
        sizes |= self._sides

        def run(s: Values) -> Values:
            system = self._system(s, s["v"])
            residuals, rates = kkt.of_accelerations(system, s["states"], s["a"])
            out = _named("accelerations", residuals, s) | {"rates": rates} | _solved(system, s)
            if self.looped:
                closing = kkt.corrected_speeds(system, s["v"])
                out |= _named("speeds", kkt.of_correction(system, s["dv"], closing), s)
            return out

        return Traced(run, sizes, self.setup.precision)

    @property
    def _sides(self) -> dict[str, int]:
        """Right-hand sides of a system, the first one projected on Z."""
        return {"projected": self.plan.nv - self.rows, "rows": self.rows, "forces": self.plan.nv}

    def _system(self, s: Values, v: Sequence | None = None) -> kkt.System:
        lane = self.setup.lane(s["p"], s["t"][0])
        return kkt.System(lane, lane.motion(s["q"], None if v is None else list(v)), self.partition)


class StageTangents(PhaseTangents):
    """Of `accelerate`."""

    def _tangents(self, solves: Solves, values: dict[int, int], dots: Directions) -> Directions:
        a = [values[slot] for slot in self.slots("dx", self.plan.nv)]
        return self._accelerations(solves, solves.made.inputs | {"a": a}, dots)


class EndTangents(PhaseTangents):
    """Of `project`: coordinates first, then speeds and accelerations in the closed pose."""

    def _tangents(self, solves: Solves, values: dict[int, int], dots: Directions) -> Directions:
        made, nv = solves.made, self.plan.nv
        slots = {"q": self.slots("q"), "v": self.slots("x", nv), "a": self.slots("dx", nv)}
        end = made.inputs | {name: [values[slot] for slot in of_name] for name, of_name in slots.items()}
        q = self._coordinates(solves, end["q"], dots)
        dots = [dot | {"q": change} for dot, change in zip(dots, q, strict=True)]
        if self.looped:
            end["dv"] = made.differences(end["v"], made.inputs["v"])
            changes = solves.tangents(self._moving, "speeds", end, _only(dots, "q", "v", "p"))
            dots = [dot | {"v": made.sums(dot["v"], change)} for dot, change in zip(dots, changes, strict=True)]
        rates = self._accelerations(solves, end, dots)
        return [dot | rate for dot, rate in zip(dots, rates, strict=True)]

    def _coordinates(self, solves: Solves, end_q: list[int], dots: Directions) -> list[list[int]]:
        """Tangents of the projected coordinates."""
        made, moved = solves.made, retraction(self.setup)
        at = dict(made.inputs)
        dots_of_q = _only(dots, "q")
        if self.looped:
            at["change"] = made.values(change_of_coordinates(self.setup), ["change"], at | {"end_q": end_q})["change"]
            changes = solves.tangents(self._pose, "coordinates", at, _only(dots, "q", "p"))
            dots_of_q = [dot | {"change": x} for dot, x in zip(dots_of_q, changes, strict=True)]
        return [dot["q"] for dot in made.tangents(moved, ["q"], dots_of_q, at)]

    @cached_property
    def _pose(self) -> Traced:
        """Residuals of a correction of coordinates at one pose."""
        sizes = {name: self.sizes[name] for name in ("q", "p", "t")}
        sizes |= {"change": self.plan.nv, "multipliers of coordinates": self.rows} | self._sides

        def run(s: Values) -> Values:
            system = self._system(s)
            closing = kkt.corrected_coordinates(system, s["change"])
            return _named("coordinates", kkt.of_correction(system, s["change"], closing), s) | _solved(system, s)

        return Traced(run, sizes, self.setup.precision)


def _named(name: str, residuals: kkt.KktResiduals, s: Values) -> Values:
    """Multipliers as they are found, and the residuals with those that are given."""
    lam = f"multipliers of {name}"
    return {
        f"found {lam}": residuals.multipliers(),
        f"forces of {name}": residuals.forces(s[lam]),
        f"closing of {name}": residuals.closing,
    }


def _solved(system: kkt.System, s: Values) -> Values:
    """Z, column by column, and the solution for the sides of a system."""
    Z = [column.get(speed, 0.0) for column in system.null_space for speed in range(system.plan.nv)]
    return {"Z": Z, "x": system.solve(s["projected"], s["rows"], s["forces"])}


def _joined(parts: References) -> list[int]:
    return [ref for refs in parts.values() for ref in refs]


def _only(dots: Directions, *names: str) -> Directions:
    return [{name: dot[name] for name in names} for dot in dots]
