"""Forward mode on a simplified graph of scalars: its values, and their tangents in several directions at once.

Griewank, Walther, Evaluating Derivatives, section 3.1. Slopes are computed once for all directions; what does not
depend on a differentiated input has no tangent, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiftjax.lanes.graph import STEPS, Graph, copied, without_dead_code
from shiftjax.lanes.partials import PARTIALS

Terms = tuple[int, ...]  # references whose sum is a tangent; none for zero


def forward(graph: Graph, inputs: int, wrt: Iterable[int], of: Iterable[int], directions: int) -> Graph:
    """A graph with the tangents of some of its outputs.

    Args:
        inputs: how many the graph has. wrt: those that have tangents. of: outputs whose tangents are wanted.

    Returns:
        A graph with the inputs of the first one, followed for each direction by the tangents of `wrt`; its outputs are
        those of the first one, followed for each direction by the tangents of `of`. At a comparison the branch taken
        counts, at a tie of two extremes the second one, and a square root has no slope at 0, as in `reverse`.

    Raises:
        NotImplementedError: an operation without a derivative.
    """
    wrt = list(wrt)
    made = _Tangents(graph, directions)
    made.sweep({place: [inputs + d * len(wrt) + k for d in range(directions)] for k, place in enumerate(wrt)})
    values = [made.at(ref) for ref in graph.outputs]
    wanted = [graph.outputs[k] for k in of]
    made.new.outputs = values + [made.total(ref, d) for d in range(directions) for ref in wanted]
    return without_dead_code(made.new)


class _Tangents:
    """A copy of a graph, each operation followed by its tangents."""

    def __init__(self, graph: Graph, directions: int) -> None:
        self.graph, self.directions = graph, directions
        self.new = Graph(signed_zeros=graph.signed_zeros)
        self.copies: list[int] = []
        self.tangents: list[list[Terms] | None] = []  # of every node: one a direction; None where there are none
        self.uses = _uses(graph)

    def at(self, ref: int) -> int:
        """The copy of a reference."""
        return self.copies[ref >> 1] ^ (ref & 1)

    def terms(self, ref: int, direction: int) -> Terms:
        """The tangent of a reference, as terms of a sum."""
        tangents = self.tangents[ref >> 1]
        return () if tangents is None else tuple(term ^ (ref & 1) for term in tangents[direction])

    def total(self, ref: int, direction: int) -> int:
        """The tangent of a reference."""
        terms = self.terms(ref, direction)
        return self._sum(terms)[0] if terms else self.new.const(0.0)

    def sweep(self, seeds: dict[int, list[int]]) -> None:
        """From the first node to the last; `seeds` are the inputs that are tangents, by the input that has them."""
        for k, (name, *arguments) in enumerate(self.graph.nodes):
            if name == "in":
                self.copies.append(self.new.node("in", arguments[0]))
                tangents = [(self.new.node("in", seed),) for seed in seeds.get(arguments[0], ())]
                self.tangents.append(tangents or None)
                continue
            self.copies.append(copied(self.new, name, arguments, self.at))
            active = name not in STEPS and any(self.tangents[ref >> 1] for ref in arguments)
            self.tangents.append(self._of(k, name, arguments) if active else None)

    def _of(self, k: int, name: str, arguments: list[int]) -> list[Terms]:
        """The tangents of an operation."""
        every = range(self.directions)
        if name == "add":
            return [self._sum((*self.terms(arguments[0], d), *self.terms(arguments[1], d))) for d in every]
        if name in ("select", "max", "min"):
            return [(self._choice(name, arguments, d),) for d in every]
        if name not in PARTIALS:
            raise NotImplementedError(f"operation {name!r} has no derivative")
        slopes = PARTIALS[name](self, self.copies[k], tuple(arguments), self.new.const(1.0))
        tangents: list[Terms] = []
        for d in every:
            terms = [
                self.new.mul(slope, self.total(ref, d))
                for ref, slope in zip(arguments, slopes, strict=True)
                if slope is not None and self.tangents[ref >> 1]
            ]
            # Both products of a tangent are left apart for a sum that alone uses them: each is fused into it.
            tangents.append(tuple(terms) if name == "mul" and self.uses[k] == 1 else self._sum(terms))
        return tangents

    def _choice(self, name: str, arguments: list[int], direction: int) -> int:
        """The tangent of what was chosen."""
        if name == "select":
            which, yes, no = self.at(arguments[0]), *arguments[1:]
        else:
            yes, no = arguments
            which = self.new.compare("gt" if name == "max" else "lt", self.at(yes), self.at(no))
        return self.new.select(which, self.total(no, direction), self.total(yes, direction))

    def _sum(self, terms: Iterable[int]) -> Terms:
        """One term instead of several; products last, so that each is fused with the sum before it."""
        ordered = sorted(terms, key=lambda ref: self.new.nodes[ref >> 1][0] == "mul")
        if not ordered:
            return ()
        total = ordered[0]
        for term in ordered[1:]:
            total = self.new.add(total, term)
        return (total,)


def _uses(graph: Graph) -> list[int]:
    """How often each node is an argument or an output."""
    uses = [0] * len(graph.nodes)
    for name, *arguments in graph.nodes:
        if name not in ("in", "const"):
            for ref in arguments:
                uses[ref >> 1] += 1
    for ref in graph.outputs:
        uses[ref >> 1] += 1
    return uses
