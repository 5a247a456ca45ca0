"""Union-find: which sets hang together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence


def connected(sets: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Indices of sets that share an element, directly or through others; groups in the order of their first sets."""
    parent = list(range(len(sets)))

    def find(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    owner: dict[Hashable, int] = {}
    for k, elements in enumerate(sets):
        for element in elements:
            parent[find(k)] = find(owner.setdefault(element, k))
    groups: dict[int, list[int]] = {}
    for k in range(len(sets)):
        groups.setdefault(find(k), []).append(k)
    return list(groups.values())
