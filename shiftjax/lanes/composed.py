"""Graphs put together of parts: values of lane functions, their cotangents, their tangents; equal operations are one.

What is held while something is differentiated enters a function as an input of its own. Computed inside, value
numbering would merge it with equal values that depend on what is differentiated, as driven accelerations do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from shiftjax.algebra import Scalar, Vec
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph, copy_into, without_dead_code
from shiftjax.lanes.reverse import reverse

Values = dict[str, list[Scalar]]
References = dict[str, list[int]]
Directions = list[References]  # tangents, one entry a direction


class Traced:
    """The graph of a function of named lists of scalars to named lists of scalars."""

    def __init__(self, function: Callable[[Values], Values], sizes: Mapping[str, int], precision: str) -> None:
        self.sizes, self.count = dict(sizes), sum(sizes.values())
        made: dict[str, int] = {}

        def flat(s: list[Scalar]) -> Vec:
            lists = function(self._by_name(s))
            made.update((name, len(values)) for name, values in lists.items())
            return [value for values in lists.values() for value in values]

        self.graph = graph_of(flat, self.count, precision)
        outputs = iter(self.graph.outputs)
        self._parts: dict[tuple[str, ...], Graph] = {}
        self.outputs = {name: [next(outputs) for _ in range(count)] for name, count in made.items()}

    def _by_name(self, values: Sequence[Scalar]) -> Values:
        rest = iter(values)
        return {name: [next(rest) for _ in range(count)] for name, count in self.sizes.items()}

    def places(self, name: str) -> range:
        """The inputs of one name."""
        names = list(self.sizes)
        first = sum(self.sizes[other] for other in names[: names.index(name)])
        return range(first, first + self.sizes[name])

    def part(self, names: Iterable[str]) -> Graph:
        """The operations of some outputs alone."""
        key = tuple(names)
        if key not in self._parts:
            self._parts[key] = self.of(ref for name in key for ref in self.outputs[name])
        return self._parts[key]

    def of(self, refs: Iterable[int]) -> Graph:
        """The operations of some references alone."""
        graph = Graph(signed_zeros=self.graph.signed_zeros)
        graph.nodes = self.graph.nodes
        graph.outputs = list(refs)
        return without_dead_code(graph)


class Composed:
    """A graph put together from parts of others; equal operations of several parts are one."""

    def __init__(self, sizes: Mapping[str, int], parts: Iterable[Graph]) -> None:
        self.graph = Graph(signed_zeros=any(part.signed_zeros for part in parts))
        places = iter(range(sum(sizes.values())))
        self.inputs: References = {
            name: [self.graph.node("in", next(places)) for _ in range(count)] for name, count in sizes.items()
        }

    def append(self, graph: Graph, inputs: Sequence[int]) -> list[int]:
        """The outputs of a graph on some references."""
        copies = copy_into(self.graph, graph, lambda k: inputs[k])
        return [copies[ref >> 1] ^ (ref & 1) for ref in graph.outputs]

    def values(self, of: Traced, names: Sequence[str], inputs: References) -> References:
        """Some outputs of a function; those of its inputs that are left out do not matter."""
        rest = iter(self.append(of.part(names), self._filled(of, inputs)))
        return {name: [next(rest) for _ in of.outputs[name]] for name in names}

    def cotangents(self, of: Traced, seeds: References, wrt: Sequence[str], inputs: References) -> References:
        """Those of some inputs of a function, from those of its outputs; known zeros cost nothing."""
        places = [place for name in wrt for place in of.places(name)]
        pairs = [pair for name, refs in seeds.items() for pair in zip(of.outputs[name], refs, strict=True)]
        pairs = [(output, seed) for output, seed in pairs if not self.is_zero(seed)]
        back = reverse(of.of(output for output, _ in pairs), of.count, places)
        refs = [*self._filled(of, inputs), *(seed for _, seed in pairs)]
        rest = iter(self.append(back, refs))
        return {name: [next(rest) for _ in of.places(name)] for name in wrt}

    def tangents(self, of: Traced, names: Sequence[str], dots: Directions, inputs: References) -> Directions:
        """Those of some outputs of a function, from those of some of its inputs; known zeros cost nothing."""
        varied = [
            (place, refs)
            for name in dots[0]
            for place, refs in zip(of.places(name), zip(*(dot[name] for dot in dots), strict=True), strict=True)
            if not all(map(self.is_zero, refs))
        ]
        part = of.part(names)
        graph = forward(part, of.count, [place for place, _ in varied], range(len(part.outputs)), len(dots))
        given = [refs[d] for d in range(len(dots)) for _, refs in varied]
        rest = iter(self.append(graph, [*self._filled(of, inputs), *given])[len(part.outputs) :])
        return [{name: [next(rest) for _ in of.outputs[name]] for name in names} for _ in dots]

    def is_zero(self, ref: int) -> bool:
        """Whether a reference is a known zero."""
        return self.graph.value(ref) == 0.0

    def _filled(self, of: Traced, inputs: References) -> list[int]:
        absent = self.graph.const(0.0)
        return [ref for name, count in of.sizes.items() for ref in inputs.get(name, [absent] * count)]

    def sums(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Sums entry by entry."""
        return [self.graph.add(a, b) for a, b in zip(first, second, strict=True)]

    def differences(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Differences entry by entry."""
        return [self.graph.add(a, b ^ 1) for a, b in zip(first, second, strict=True)]

    def product(self, first: Sequence[int], second: Sequence[int]) -> int:
        """The sum of the products entry by entry; known zeros cost nothing."""
        total = self.graph.const(0.0)
        for a, b in zip(first, second, strict=True):
            if not (self.is_zero(a) or self.is_zero(b)):
                total = self.graph.add(total, self.graph.mul(a, b))
        return total

    def finished(self, outputs: Iterable[int]) -> Graph:
        """The graph of some references."""
        self.graph.outputs = list(outputs)
        return without_dead_code(self.graph)
