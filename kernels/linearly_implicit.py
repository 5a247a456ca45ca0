"""The phases `linearize` and `solve` of a lane program: the Jacobian of its rates, and solutions with 1 - gamma h J.

Columns of the Jacobian are tangents: the pieces of `accelerate` and `drift` in forward mode (`lanes.forward`), compiled
for one direction and run once for each coordinate, speed and state on which they depend, and for the time. With g =
gamma h, coordinates are eliminated first,

    (1 - g J_qq) u_q = r_q + g J_qx u_x
    (1 - g J_xx - g J_xq (1 - g J_qq)^-1 g J_qx) u_x = r_x + g J_xq (1 - g J_qq)^-1 r_q

where J_qq is not 0 in the coordinates of quaternions alone, each of which is a block of its own. What is left is
solved part by part by orthogonal columns, which need no pivots. What no rate reads, as the work, follows last.

A derivative of a solution takes no derivative of the factors: with (1 - g J) u = r,

    (1 - g J) du = dr + g dJ u          (1 - g J)^T r_bar = u_bar,  J_bar = g r_bar u^T
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import cycle

from shiftjax.algebra import Scalar, Vec
from shiftjax.kernels import linear_operations as linear
from shiftjax.kernels.lane_program import LaneProgram, Layout, Piece
from shiftjax.kernels.linear_operations import STRAIGHT, Lane, OrthogonalSystem, Run, SlotOperation
from shiftjax.kernels.step_program import Method
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.code import Code
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph, without_dead_code
from shiftjax.numerics.connected import connected

Vector = Mapping[int, int]  # slot of a variable -> slot of its component


def with_jacobian(layout: Layout, method: Method) -> Layout:
    """A layout with the regions of `linearize`, where a method calls it: room for any program of these sizes."""
    if not method.gamma:
        return layout
    variables = layout.nq + layout.nx + 1
    factors = OrthogonalSystem.size(layout.nx) + 8 * layout.nq + 2 * layout.nq * layout.nx
    return replace(layout, nk=1 + variables + layout.ns, nl=(variables + layout.ns) * variables + factors)


def linearly_implicit(program: LaneProgram, precision: str) -> LaneProgram:
    """A program with the phases that its method calls: `program` itself where it calls neither."""
    if not program.method.gamma:
        return program
    made = Linearized(program, precision)
    return replace(program, linearize=(*made.slopes(), *made.factors()), solve=made.solve())


class Linearized:
    """The pieces of one program, with or without its phases `linearize` and `solve`.

    Attributes:
        variables: slots of what the rates depend on, the time last where its slopes are asked for.
        rate: slot of a variable -> slot of its rate.
        copied: slot of a coordinate -> slot of the speed that is its rate.
        entries: (slot of a variable, slot of another) -> slot of the derivative of the rate of the first by the second,
            without the copied. by_time: slot of dx -> slot of its derivative by the time.
        systems: the variables that are solved for together, coordinates first.
        moved: (slot of a coordinate, slot of a speed) -> slot of (1 - g J_qq)^-1 g J_qx.
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
        self.by_row, self.by_column = dict[int, list[int]](), dict[int, list[int]]()
        for of, by in self.entries:
            self.by_row.setdefault(of, []).append(by)
            self.by_column.setdefault(by, []).append(of)
        self.shift = layout.slots("shift").start
        groups = [tuple(members) for members in self._groups()]
        self.systems = {members: OrthogonalSystem.of(len(members), self._take, self.zeros) for members in groups}
        self.solved_for = {x for members in groups for x in members}
        self.moved = {(q, x): self.shift for q, x in self.copied.items()}
        for members in self._turning:
            by = dict.fromkeys(x for q in members for x in self.by_row.get(q, ()) if x not in members)
            self.moved |= {(q, x): slot for x in by for q, slot in zip(members, self._take(len(members)), strict=True)}
        self.moved_by = dict[int, list[tuple[int, int]]]()
        for (q, x), m in self.moved.items():
            self.moved_by.setdefault(x, []).append((q, m))

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

    def _piece(
        self, name: str, function: Lane, inputs: Sequence[int], outputs: Sequence[int], decided: str = ""
    ) -> Piece:
        """A piece of lane code that follows from the program's, and from what else decides it."""
        pieces, of_speeds = (self.program.drift, *self.program.accelerate), self.program.method.of_speeds
        parts = [(piece.code.text, piece.inputs, piece.outputs, piece.repeats) for piece in pieces]
        layout = replace(self.layout, na=0, nc=0)
        text = (
            repr((name, decided, self.precision, layout, of_speeds, parts)) if all(text for text, *_ in parts) else ""
        )
        code = Code(partial(graph_of, function, len(inputs), self.precision), text)
        return Piece(name, code, tuple(inputs), tuple(outputs))

    # -- columns -----------------------------------------------------------------------------------------------------

    def slopes(self) -> tuple[Piece, ...]:
        """The seeds, all columns, then the slopes by the time."""
        zeros = self.zeros
        seeds = self._piece("seeds", lambda _: [1.0, *[0.0] * len(zeros)], (), (self.one, *zeros))
        targets = zip(self.layout.slots("dx"), self.layout.slots("ft"), strict=True)
        by_time = [(self.by_time.get(slot, zeros[k]), ft) for k, (slot, ft) in enumerate(targets)]
        return (seeds, *self._columns, self._straight("slopes by the time", list(linear.copy(by_time)), set()))

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

    # -- systems -----------------------------------------------------------------------------------------------------

    def _groups(self) -> list[list[int]]:
        """Coordinates that are solved for together, then speeds and states; those that no rate reads are left out."""
        turning = [q for q in self.q if q not in self.copied]
        sets = [{q, *(by for by in self.by_row.get(q, ()) if by in turning)} for q in turning]
        blocks = [[turning[k] for k in group] for group in connected(sets)]
        read = self.by_column.keys() | {*self.copied.values()}
        moving = [x for x in self.x if x in read]
        sets = [{x, *(by for by in self._through(x) if by in read)} for x in moving]
        return blocks + [[moving[k] for k in group] for group in connected(sets)]

    def _through(self, x: int) -> set[int]:
        """Speeds and states on which the rate of one depends, by way of coordinates too."""
        direct = self.by_row.get(x, [])
        return {*direct, *(by for q in direct if q in self.rate for by in self._rates_of(q))} & {*self.x}

    def _rates_of(self, q: int) -> list[int]:
        return [self.copied[q]] if q in self.copied else self.by_row.get(q, [])

    @cached_property
    def _turning(self) -> list[tuple[int, ...]]:
        """Coordinates that are solved for together."""
        return [members for members in self.systems if members[0] in {*self.q}]

    @cached_property
    def _coupled(self) -> list[tuple[int, ...]]:
        """Speeds and states that are solved for together."""
        return [members for members in self.systems if members[0] not in {*self.q}]

    def _column(
        self, members: Sequence[int], j: int
    ) -> tuple[int, Sequence[int], list[tuple[int, list[int]]], list[int]]:
        """See `linear_operations.column`: column j among those that are solved for together."""
        turned = [*members[j:], *members[:j]]
        spare = cycle(self.zeros)

        def entries(by: int) -> list[int]:
            return [self.entries.get((of, by)) or next(spare) for of in turned]

        first, speed = entries(members[j]), members[j] in {*self.x}
        by = [
            (q, m) for q, m in self.moved_by.get(members[j], ()) if speed and {*self.by_column.get(q, ())} & {*members}
        ]
        moved = [(m, entries(q)) for q, m in by]
        targets = dict(zip(members, self.systems[tuple(members)].Q[j], strict=True))
        return self.shift, first, moved, [targets[of] for of in turned]

    def factors(self) -> tuple[Piece, ...]:
        """The factors of all systems, of the shift and the entries."""
        made: list[SlotOperation] = []
        for groups in (self._turning, self._coupled):
            made += linear.column(self._column(members, j) for members in groups for j in range(len(members)))
            made += linear.factor([self.systems[members] for members in groups])
            if groups is self._turning:
                made += self._moving()
        return self._pieces("factors", made)

    def _moving(self) -> Iterator[SlotOperation]:
        """(1 - g J_qq)^-1 g J_qx."""
        turned = {members: [x for q, x in self.moved if q == members[0]] for members in self._turning}
        yield from linear.product(
            (self.shift, self.entries.get((q, x), self.zeros[0]), self.moved[q, x])
            for members, speeds in turned.items()
            for x in speeds
            for q in members
        )
        for k in range(max(map(len, turned.values()), default=0)):  # a system has one y: a right side at a time
            yield from linear.solve(
                [
                    (self.systems[members], [self.moved[q, speeds[k]] for q in members])
                    for members, speeds in turned.items()
                    if k < len(speeds)
                ]
            )

    # -- solutions ---------------------------------------------------------------------------------------------------

    def solve(self) -> tuple[Piece, ...]:
        """qdot and dx, which hold r, become u of (1 - g J) u = r."""
        return self._pieces("solve", self._solution(self.rate))

    def _given(self, groups: Sequence[tuple[int, ...]], vector: Vector) -> list[linear.Given]:
        return [(self.systems[members], [vector[one] for one in members]) for members in groups]

    def _terms(self, of: int, among: Iterable[int], vector: Vector) -> list[tuple[int, int]]:
        """Entries of a row with the components that they multiply."""
        return [(self.entries[of, by], vector[by]) for by in among]

    def _solution(self, u: Vector) -> Iterator[SlotOperation]:
        """u, which holds r."""
        yield from linear.solve(self._given(self._turning, u))
        coordinates, rest = {*self.q}, [x for x in self.x if x in u and x not in self.solved_for]
        yield from linear.add(
            (u[x], self.shift, self._terms(x, [q for q in self.by_row.get(x, ()) if q in coordinates], u))
            for members in self._coupled
            for x in members
        )
        yield from linear.solve(self._given(self._coupled, u))
        by_row: dict[int, list[tuple[int, int]]] = {q: [] for q in self.q}
        for (q, x), m in self.moved.items():
            by_row[q].append((m, u[x]))
        yield from linear.add((u[q], self.one, terms) for q, terms in by_row.items())
        yield from linear.add((u[x], self.shift, self._terms(x, self.by_row.get(x, ()), u)) for x in rest)

    def _transposed(self, w: Vector) -> Iterator[SlotOperation]:
        """w of (1 - g J)^T w = b, which holds b: the steps of a solution, transposed, in reverse order."""
        rest, solved = {x for x in self.x if x in w and x not in self.solved_for}, [*self.q, *self.solved_for]
        columns = {by: self.by_column.get(by, []) for by in dict.fromkeys(solved)}
        yield from linear.add(
            (w[by], self.shift, [(self.entries[of, by], w[of]) for of in rows if of in rest])
            for by, rows in columns.items()
        )
        yield from linear.add((w[x], self.one, [(m, w[q]) for q, m in moved]) for x, moved in self.moved_by.items())
        yield from linear.solve_transposed(self._given(self._coupled, w))
        yield from linear.add(
            (
                w[q],
                self.shift,
                [(self.entries[of, q], w[of]) for of in columns[q] if of in self.solved_for and of not in {*self.q}],
            )
            for q in self.q
        )
        yield from linear.solve_transposed(self._given(self._turning, w))

    # -- derivatives of solutions ------------------------------------------------------------------------------------

    def tangent(self, u: Vector, du: Vector, moved: Callable[[int], int]) -> tuple[Piece, ...]:
        """du, which holds dr, becomes the tangent of u.

        Args:
            u: slots of the solution. du: of the tangents of those that have one. moved: slot of an entry -> of its
                tangent.
        """
        sums = (
            (du[of], self.shift, [(moved(self.entries[of, by]), u[by]) for by in self.by_row.get(of, ())]) for of in du
        )
        return self._pieces("tangent of a solution", [*linear.add(sums), *self._solution(du)])

    def reversed(self, u: Vector, w: Vector, bar: Callable[[int], int]) -> tuple[Piece, ...]:
        """w, which holds the cotangent of u, becomes that of r; that of every entry grows.

        Args:
            u: fresh slots for the solution, whose r is in qdot and dx. bar: slot of an entry -> of its cotangent.
        """
        made = [*linear.copy((self.rate[one], slot) for one, slot in u.items()), *self._solution(u)]
        made += self._transposed(w)
        made += linear.add_each(
            (self.shift, u[by], [(bar(self.entries[of, by]), w[of]) for of in rows if of in w])
            for by, rows in self.by_column.items()
            if by in u
        )
        return self._pieces("reverse of a solution", made)

    # -- pieces ------------------------------------------------------------------------------------------------------

    def _pieces(self, name: str, made: Iterable[SlotOperation]) -> tuple[Piece, ...]:
        """Operations that follow each other: few runs as straight code, many as a piece with repeats."""
        made = list(made)
        parts: list[list[SlotOperation]] = []
        for one in made:
            if parts and sum(other.size for other in parts[-1]) + one.size <= STRAIGHT:
                parts[-1].append(one)
            else:
                parts.append([one])
        ys = {slot for system in self.systems.values() for slot in system.y}
        pieces: list[Piece] = []
        for k, part in enumerate(parts):
            if part[0].size > STRAIGHT:
                pieces.append(self._looped(f"{name}: {part[0].name}", part[0]))
                continue
            later = {slot for others in parts[k + 1 :] for one in others for inputs, _ in one.runs for slot in inputs}
            pieces.append(self._straight(name, part, ys - later))
        return tuple(pieces)

    def _looped(self, name: str, one: SlotOperation) -> Piece:
        (inputs, outputs), *others = one.runs
        code = Code(partial(graph_of, one.function, len(inputs), self.precision))
        return Piece(name, code, inputs, outputs, tuple((*a, *b) for a, b in others))

    def _straight(self, name: str, part: Sequence[SlotOperation], spent: set[int]) -> Piece:
        """One piece of straight code.

        Args:
            spent: slots that nobody reads afterwards.
        """
        known = {self.one: 1.0} | dict.fromkeys(self.zeros, 0.0)
        read, written = dict[int, None](), dict[int, None]()
        for one in part:
            for inputs, outputs in one.runs:
                read |= dict.fromkeys(slot for slot in inputs if slot not in written and slot not in known)
                written |= dict.fromkeys(outputs)
        results = [slot for slot in written if slot not in spent]

        def run(s: list[Scalar]) -> Vec:
            values = known | dict(zip(read, s, strict=True))
            for one in part:
                for inputs, outputs in one.runs:
                    values |= zip(outputs, one.function([values[slot] for slot in inputs]), strict=True)
            return [values[slot] for slot in results]

        decided = repr([(one.name, one.runs) for one in part]) + repr(results)
        return self._piece(name, run, [*read], results, decided)


def _tangent(piece: Piece, wrt: Sequence[int], of: Sequence[int]) -> Graph:
    """The tangents of some outputs alone, in one direction."""
    graph = forward(piece.graph, len(piece.inputs), wrt, of, 1)
    graph.outputs = graph.outputs[len(piece.outputs) :]
    return without_dead_code(graph)
