"""The phases `linearize` and `solve` of a lane program: the Jacobian of its rates, and solutions with 1 - gamma h J.

Columns of the Jacobian are tangents: the pieces of `accelerate` and `drift` in forward mode (`lanes.forward`), compiled
for one direction and run once for each coordinate, speed and state on which they depend, and for the time. With g =
gamma h, coordinates are eliminated first,

    (1 - g J_qq) u_q = r_q + g J_qx u_x
    (1 - g J_xx - g J_xq (1 - g J_qq)^-1 g J_qx) u_x = r_x + g J_xq (1 - g J_qq)^-1 r_q

where J_qq is not 0 in the coordinates of quaternions alone, each of which is a block of its own. What is left is
solved part by part by orthogonal columns, which need no pivots. What no rate reads, as the work, follows last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from shiftjax.algebra import Mat, Scalar, Vec, total
from shiftjax.connected import connected
from shiftjax.errors import ModelError
from shiftjax.kernels.lane_program import LaneProgram, Layout, Piece
from shiftjax.kernels.step_program import Method
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph, without_dead_code
from shiftjax.orthogonal import OrthogonalFactors

LARGEST = 40  # speeds and states that are solved for together; the straight code of 39 takes 40 s to compile

Lane = Callable[[list[Scalar]], Vec]
Run = tuple[tuple[int, ...], tuple[int, ...]]  # slots of inputs and outputs


def with_jacobian(layout: Layout, method: Method) -> Layout:
    """A layout with the regions of `linearize`, where a method calls it: room for any program of these sizes."""
    if not method.gamma:
        return layout
    variables = layout.nq + layout.nx + 1
    factors = OrthogonalFactors.size(layout.nx) + 8 * layout.nq
    return replace(layout, nk=1 + variables + layout.ns, nl=(variables + layout.ns) * variables + factors)


def linearly_implicit(program: LaneProgram, precision: str) -> LaneProgram:
    """A program with the phases that its method calls: `program` itself where it calls neither.

    Raises:
        ModelError: more than `LARGEST` speeds and states depend on each other.
    """
    if not program.method.gamma:
        return program
    made = _Linearized(program, precision)
    return replace(program, linearize=made.linearize(), solve=(made.solve(),))


class _Coupled(NamedTuple):
    """Variables that are solved for together: their slots, and those of the factors."""

    members: tuple[int, ...]
    factors: tuple[int, ...]


class _Linearized:
    """The pieces of one program.

    Attributes:
        variables: slots of what the rates depend on, the time last where its slopes are asked for.
        rate: slot of a variable -> slot of its rate.
        copied: slot of a coordinate -> slot of the speed that is its rate.
        entries: (slot of a variable, slot of another) -> slot of the derivative of the rate of the first by the second,
            without the copied. by_time: slot of dx -> slot of its derivative by the time.
    """

    def __init__(self, program: LaneProgram, precision: str) -> None:
        self.program, self.layout, self.precision = program, program.layout, precision
        layout = self.layout
        self.q, self.x = [] if program.method.of_speeds else list(layout.slots("q")), list(layout.slots("x"))
        self.time = -1 if program.method.of_speeds else layout.slots("t").start
        self.variables = [*self.q, *self.x, self.time][: len(self.q) + len(self.x) + (self.time >= 0)]
        self.rate = dict(zip(self.q, layout.slots("qdot"), strict=False)) | dict(
            zip(self.x, layout.slots("dx"), strict=True)
        )
        self._free = iter(layout.slots("linear"))
        self.one, *self.zeros = layout.slots("seeds")  # many zeros: runs of a piece share no slots
        self.copied, self._reads = self._of_drift() if self.q else ({}, {})
        self.entries: dict[tuple[int, int], int] = {}
        self.by_time: dict[int, int] = {}
        self._columns = self._traced()
        self.blocks = [self._block(members) for members in self._groups()]

    def _take(self, count: int) -> tuple[int, ...]:
        """Fresh slots."""
        return tuple(next(self._free) for _ in range(count))

    def _of_drift(self) -> tuple[dict[int, int], dict[int, set[int]]]:
        """Coordinates whose rates are speeds, and what the rates of the others read."""
        drift = self.program.drift
        graph = drift.graph_for(self.precision)
        read: list[set[int]] = []
        for name, *arguments in graph.nodes:
            inside = name not in ("in", "const")
            read.append({drift.inputs[arguments[0]]} if name == "in" else set())
            read[-1].update(slot for ref in arguments if inside for slot in read[ref >> 1])
        copied, reads, of_rate = dict[int, int](), dict[int, set[int]](), {v: k for k, v in self.rate.items()}
        for slot, ref in zip(drift.outputs, graph.outputs, strict=True):
            reads[of_rate[slot]] = read[ref >> 1]
            if not ref & 1 and graph.nodes[ref >> 1][0] == "in" and read[ref >> 1] <= {*self.x}:
                (copied[of_rate[slot]],) = read[ref >> 1]
        return copied, reads

    def _piece(self, name: str, function: Lane, inputs: Sequence[int], outputs: Sequence[int]) -> Piece:
        """A piece of lane code that follows from the program's."""
        pieces, of_speeds = (self.program.drift, *self.program.accelerate), self.program.method.of_speeds
        parts = [(piece.code.text, piece.inputs, piece.outputs, piece.repeats) for piece in pieces]
        layout = replace(self.layout, na=0, nc=0)
        text = repr((name, self.precision, layout, of_speeds, parts)) if all(text for text, *_ in parts) else ""
        code = Code(partial(graph_of, function, len(inputs), self.precision), text)
        return Piece(name, code, tuple(inputs), tuple(outputs))

    # -- columns -----------------------------------------------------------------------------------------------------

    def linearize(self) -> tuple[Piece, ...]:
        """The seeds, all columns, then the slopes by the time and the factors."""
        zeros = self.zeros
        seeds = self._piece("seeds", lambda _: [1.0, *[0.0] * len(zeros)], (), (self.one, *zeros))
        inputs = (*self.layout.slots("shift"), *self.by_time.values(), *self.entries.values())
        outputs = [*self.layout.slots("ft"), *(slot for block in self.blocks for slot in block.factors)]
        return (seeds, *self._columns, self._piece("factors", self._factored, inputs, outputs))

    def _traced(self) -> list[Piece]:
        """Of each piece its values where a later one reads them, and its tangents."""
        layout = self.layout
        scratch = {*layout.slots("scratch")}
        wanted = scratch | {rate for variable, rate in self.rate.items() if variable not in self.copied}
        traced = scratch | {*self.variables}
        tangents: dict[tuple[int, int], int] = {}  # (slot, variable) -> slot of the derivative
        pieces: list[Piece] = []
        for piece in (*[self.program.drift][: len(self.q)], *self.program.accelerate):
            runs = list(piece.runs())
            of = [k for k in range(len(piece.outputs)) if any(outputs[k] in wanted for _, outputs in runs)]
            wrt = [k for k in range(len(piece.inputs)) if any(inputs[k] in traced for inputs, _ in runs)]
            if any(slot in scratch for _, outputs in runs for slot in outputs):
                pieces.append(piece)
            made = list(self._runs(runs, of, wrt, tangents)) if of else []
            if made:
                (inputs, outputs), *others = made
                code = piece.code.derived(("slopes", wrt, of), partial(_tangent, piece, wrt, of))
                repeats = tuple((*a, *b) for a, b in others)
                pieces.append(Piece(f"slopes of {piece.name}", code, inputs, outputs, repeats))
        variables, time = {rate: slot for slot, rate in self.rate.items()}, self.time
        moving = {*layout.slots("dx")}
        self.by_time = {slot: place for (slot, by), place in tangents.items() if by == time and slot in moving}
        self.entries = {
            (variables[slot], by): place
            for (slot, by), place in tangents.items()
            if slot in variables and by != time and by in self._reads.get(variables[slot], {by})
        }
        return pieces

    def _runs(
        self, runs: Sequence[Run], of: Sequence[int], wrt: Sequence[int], tangents: dict[tuple[int, int], int]
    ) -> Iterator[Run]:
        """The runs of a tangent: of each run one for every variable on which something that it reads depends."""
        for inputs, outputs in runs:
            for by in self.variables:
                read = [inputs[place] for place in wrt]
                known = [self.one if slot == by else tangents.get((slot, by)) for slot in read]
                if not any(known):
                    continue
                given = tuple(zero if slot is None else slot for zero, slot in zip(self.zeros, known, strict=False))
                results = self._take(len(of))
                tangents.update({(outputs[i], by): slot for i, slot in zip(of, results, strict=True)})
                yield (*inputs, *given), results

    # -- factors -----------------------------------------------------------------------------------------------------

    def _read(self, variable: int) -> list[int]:
        """Variables on which the rate of one depends, the time left out."""
        return [by for of, by in self.entries if of == variable]

    def _groups(self) -> list[list[int]]:
        """Coordinates that are solved for together, then speeds and states; those that no rate reads are left out."""
        turning = [q for q in self.q if q not in self.copied]
        sets = [{q, *(by for by in self._read(q) if by in turning)} for q in turning]
        blocks = [[turning[k] for k in group] for group in connected(sets)]
        read = {by for _, by in self.entries} | {*self.copied.values()}
        moving = [x for x in self.x if x in read]
        sets = [{x, *(by for by in self._through(x) if by in moving)} for x in moving]
        return blocks + [[moving[k] for k in group] for group in connected(sets)]

    def _through(self, x: int) -> set[int]:
        """Speeds and states on which the rate of one depends, by way of coordinates too."""
        direct = self._read(x)
        return {*direct, *(by for q in direct if q in self.rate for by in self._rates_of(q))} & {*self.x}

    def _rates_of(self, q: int) -> list[int]:
        return [self.copied[q]] if q in self.copied else self._read(q)

    def _block(self, members: Sequence[int]) -> _Coupled:
        if len(members) > LARGEST:
            what = f"{self.program.method.name!r} where {len(members)} speeds and states depend on each other"
            allowed, todo = f"at most {LARGEST} of them", "An explicit method has no such limit, e.g. 'dopri5'."
            raise ModelError("method", what, allowed, todo)
        return _Coupled(tuple(members), self._take(OrthogonalFactors.size(len(members))))

    def _entry(self, values: dict[int, Scalar], of: int, by: int) -> Scalar:
        """The derivative of the rate of a variable."""
        if of in self.copied:
            return 1.0 if self.copied[of] == by else 0.0
        return values[self.entries[of, by]] if (of, by) in self.entries else 0.0

    def _of_coordinates(self, blocks: Sequence[_Coupled]) -> list[_Coupled]:
        return [block for block in blocks if block.members[0] in self.q]

    def _factored(self, s: list[Scalar]) -> Vec:
        """Slopes of all x by the time, and the factors of all blocks, of shift g, those slopes and the entries."""
        g, count = s[0], 1 + len(self.by_time)
        of_time = dict(zip(self.by_time, s[1:count], strict=True))
        values = dict(zip(self.entries.values(), s[count:], strict=True))
        turning = self._of_coordinates(self.blocks)
        factors = {
            block: OrthogonalFactors(
                [
                    [(1.0 if i == j else 0.0) - g * self._entry(values, i, j) for j in block.members]
                    for i in block.members
                ]
            )
            for block in turning
        }
        out = [of_time.get(slot, 0.0) for slot in self.layout.slots("dx")]
        out += [number for block in turning for number in factors[block].numbers]
        for block in self.blocks[len(turning) :]:
            out += OrthogonalFactors(self._eliminated(block, g, values, factors)).numbers
        return out

    def _eliminated(
        self, block: _Coupled, g: Scalar, values: dict[int, Scalar], factors: dict[_Coupled, OrthogonalFactors]
    ) -> Mat:
        """1 - g J_xx - g J_xq (1 - g J_qq)^-1 g J_qx among the members of a block."""
        columns = []
        for j in block.members:
            moved = self._moved({}, {j: 1.0}, g, values, factors)
            columns.append(
                [
                    (1.0 if i == j else 0.0)
                    - g * self._entry(values, i, j)
                    - g * total([self._entry(values, i, q) * u for q, u in moved.items()])
                    for i in block.members
                ]
            )
        return [list(row) for row in zip(*columns, strict=True)]

    def _moved(
        self,
        r: dict[int, Scalar],
        u: dict[int, Scalar],
        g: Scalar,
        values: dict[int, Scalar],
        factors: dict[_Coupled, OrthogonalFactors],
    ) -> dict[int, Scalar]:
        """u_q of (1 - g J_qq) u_q = r_q + g J_qx u_x."""
        right = {
            q: r.get(q, 0.0) + g * total([self._entry(values, q, x) * u[x] for x in self._rates_of(q) if x in u])
            for q in self.q
        }
        for block, of_block in factors.items():
            solved = of_block.solve([right[q] for q in block.members])
            right |= zip(block.members, solved, strict=True)
        return right

    # -- solutions ---------------------------------------------------------------------------------------------------

    def solve(self) -> Piece:
        """qdot and dx, which hold r, become u of (1 - g J) u = r."""
        rates = [*self.rate.values()]
        factors = [slot for block in self.blocks for slot in block.factors]
        inputs = (*rates, *self.layout.slots("shift"), *self.entries.values(), *factors)
        return self._piece("solve", self._solved, inputs, rates)

    def _solved(self, s: list[Scalar]) -> Vec:
        variables, rest = [*self.q, *self.x], iter(s)
        r = {variable: next(rest) for variable in variables}
        g = next(rest)
        values = {slot: next(rest) for slot in self.entries.values()}
        factors = {
            block: OrthogonalFactors.of_numbers([next(rest) for _ in block.factors], len(block.members))
            for block in self.blocks
        }
        turning = {block: factors[block] for block in self._of_coordinates(self.blocks)}
        at_rest, u = self._moved(r, {}, g, values, turning), dict[int, Scalar]()
        for block in self.blocks[len(turning) :]:
            right = [r[x] + g * total([self._entry(values, x, q) * at_rest[q] for q in self.q]) for x in block.members]
            u |= zip(block.members, factors[block].solve(right), strict=True)
        moved = self._moved(r, u, g, values, turning)
        for x in self.x:
            if x not in u:  # which no rate reads
                u[x] = r[x] + g * total([self._entry(values, x, y) * z for y, z in (*moved.items(), *u.items())])
        return [*(moved[q] for q in self.q), *(u[x] for x in self.x)]


def _tangent(piece: Piece, wrt: Sequence[int], of: Sequence[int]) -> Graph:
    """The tangents of some outputs alone, in one direction."""
    graph = forward(piece.graph, len(piece.inputs), wrt, of, 1)
    graph.outputs = graph.outputs[len(piece.outputs) :]
    return without_dead_code(graph)
