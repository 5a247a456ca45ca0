"""Splits a very long piece into parts, each of which is run on all vectors of a block before the next one.

The instructions of a part are then in the L1 cache for every vector but the first. Values that a later part needs are
stored in temporaries, slots on the stack, which costs more than it saves where the piece is not long: on Zen 4 one part
takes 5 % less time than parts of `SIZE` on a four-bar (5 on a Bricard, 6 on a Peaucellier linkage, 11 on N = 5, 12 on
a double wishbone, 2 on an excavator), and 75 % more on a delta robot, whose longest piece has 55 000 operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shiftjax.lanes.graph import Graph
from shiftjax.record import record

WHOLE = 7500  # operations of a piece that is not split
SIZE = 150  # operations of a part; compared with one part vehicle_chassis runs 17 % faster, compiles in 8 s, not 10
SINE_COST = 14  # operations that a sine or a cosine counts as
LEAVES = ("in", "const")


@record
class Tile:
    """Some operations of a piece; slot -1 - k is temporary k."""

    graph: Graph
    inputs: tuple[int, ...]  # slots
    outputs: tuple[int, ...]  # slots


def levels(graph: Graph) -> list[int]:
    """Depth of each operation in nested sines; all sines of one depth share one check of their arguments."""
    levels: list[int] = []
    for name, *refs in graph.nodes:
        deepest = 0
        if name not in LEAVES:
            for ref in refs:
                if levels[ref >> 1] > deepest:
                    deepest = levels[ref >> 1]
            deepest += name in ("sin", "cos")
        levels.append(deepest)
    return levels


def contracted(graph: Graph) -> dict[int, int]:
    """For each sum that is contracted with a product used by it alone (fused multiply-add): the product's operand."""
    nodes = graph.nodes
    uses = [0] * len(nodes)
    for node in nodes:
        if node[0] not in LEAVES:
            for ref in node[1:]:
                uses[ref >> 1] += 1
    for ref in graph.outputs:
        uses[ref >> 1] += 1
    places = {}
    for number, node in enumerate(nodes):
        if node[0] == "add":
            for place in (1, 2):
                product = node[place] >> 1
                if uses[product] == 1 and nodes[product][0] == "mul":
                    places[number] = place
                    break
    return places


def split(
    graph: Graph, inputs: Sequence[int], outputs: Sequence[int], size: int | None = None
) -> tuple[list[Tile], int]:
    """The parts of a piece in execution order, and how many temporaries they need.

    Args:
        inputs, outputs: slots of the piece's arguments and results; a slot may be both.
        size: approximate number of operations of a part; by the length of the piece where left out.
    """
    return _Splitter(graph, inputs, outputs).split(size)


class _Splitter:
    def __init__(self, graph: Graph, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self.graph, self.inputs = graph, inputs
        self.results = dict(zip(outputs, graph.outputs, strict=True))
        products = {graph.nodes[k][place] >> 1 for k, place in contracted(graph).items()}
        # recomputed in every part that uses them: booleans, and products of fused multiply-adds
        self.recomputed = {k for k in range(len(graph.nodes)) if k in products or graph.is_boolean(2 * k)}
        self.part: dict[int, int] = {}

    def split(self, size: int | None) -> tuple[list[Tile], int]:
        count = self._assign(size)
        numbers: list[list[int]] = [[] for _ in range(count)]  # of each part, in execution order
        for number, part in self.part.items():
            numbers[part].append(number)
        places, temporaries = self._temporaries(self._last_uses(count - 1), numbers)
        stored: list[dict[int, int]] = [{} for _ in range(count)]
        for slot, ref in self.results.items():
            stored[self._stored_in(slot, ref, count - 1)][slot] = ref
        wanted = [{places[n]: 2 * n for n in nodes if n in places} for nodes in numbers]
        return [self._part(nodes, places, wanted[k] | stored[k]) for k, nodes in enumerate(numbers)], temporaries

    def _order(self) -> list[int]:
        """Operations in execution order, the sine and cosine of one argument adjacent."""
        depth, nodes = levels(self.graph), self.graph.nodes

        def key(k: int) -> tuple[int, int, int, int]:
            sine = nodes[k][0] in ("sin", "cos")
            return (depth[k], 0 if sine else 1, nodes[k][1] if sine else 0, k)

        return sorted((k for k in range(len(nodes)) if nodes[k][0] not in LEAVES and k not in self.recomputed), key=key)

    def _assign(self, size: int | None) -> int:
        """Assigns the operations to parts of about equal size; their number."""
        nodes, order = self.graph.nodes, self._order()
        costs = [SINE_COST if nodes[k][0] in ("sin", "cos") else 1 for k in order]
        total = sum(costs)
        count = 1 if size is None and total <= WHOLE else max(1, round(total / (size or SIZE)))
        done, before = 0.0, None
        for k, cost in zip(order, costs, strict=True):
            sine = nodes[k][1] if cost == SINE_COST else None
            if before is None or sine != before[0] or sine is None:
                before = (sine, min(count - 1, int(done * count / total)))
            self.part[k] = before[1]
            done += cost
        return count

    def _operations(self, refs: Iterable[int]) -> Iterator[int]:
        """The stored operations that `refs` depend on, through recomputed ones."""
        for ref in refs:
            k = ref >> 1
            if k in self.recomputed:
                yield from self._operations(self.graph.nodes[k][1:])
            elif k in self.part:
                yield k

    def _stored_in(self, slot: int, ref: int, last: int) -> int:
        """The part that stores a result: that of its operation, but the last one for a slot that is also read."""
        made = ref >> 1
        return last if slot in self.inputs or made not in self.part else self.part[made]

    def _last_uses(self, last: int) -> dict[int, int]:
        """For every operation used in a later part the last such part."""
        last_use: dict[int, int] = {}
        wanted = [
            (k, part) for number, part in self.part.items() for k in self._operations(self.graph.nodes[number][1:])
        ]
        wanted += [
            (k, self._stored_in(s, ref, last)) for s, ref in self.results.items() for k in self._operations([ref])
        ]
        for k, part in wanted:
            if part > self.part[k]:
                last_use[k] = max(part, last_use.get(k, 0))
        return last_use

    def _temporaries(self, last_use: dict[int, int], numbers: Sequence[Sequence[int]]) -> tuple[dict[int, int], int]:
        """The temporary of every value used in a later part; it is reused after the last part that reads it."""
        places: dict[int, int] = {}
        free: list[int] = []
        release: list[list[int]] = [[] for _ in range(len(numbers) + 1)]
        used = 0
        for part, nodes in enumerate(numbers):
            free += release[part]
            for k in sorted(k for k in nodes if k in last_use):
                if not free:
                    used += 1
                    free.append(-used)
                places[k] = free.pop()
                release[last_use[k] + 1].append(places[k])
        return places, used

    def _part(self, numbers: Sequence[int], places: dict[int, int], wanted: dict[int, int]) -> Tile:
        graph, inside = Graph(signed_zeros=self.graph.signed_zeros), set(numbers)
        inputs: list[int] = []
        new: dict[int, int] = {}

        def reference(ref: int) -> int:
            number = ref >> 1
            if number not in new:
                node = self.graph.nodes[number]
                if node[0] == "const":
                    new[number] = graph.node(*node)
                elif node[0] == "in" or (number in self.part and number not in inside):
                    inputs.append(self.inputs[node[1]] if node[0] == "in" else places[number])
                    new[number] = graph.node("in", len(inputs) - 1)
                else:
                    new[number] = graph.node(node[0], *map(reference, node[1:]))
            return new[number] | (ref & 1)

        for number in numbers:
            reference(2 * number)
        graph.outputs = [reference(ref) for ref in wanted.values()]
        return Tile(graph, tuple(inputs), tuple(wanted))
