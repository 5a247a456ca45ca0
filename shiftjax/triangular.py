"""Block triangular form of a square pattern: which rows and columns can be solved together, and in which order.

Problem: permute a structurally nonsingular pattern so that it is block lower triangular with the smallest blocks. The
blocks of a mechanism's J_Pd are its Assur groups. Duff, Erisman, Reid, Direct Methods for Sparse Matrices, chapter 6: a
matching of rows to columns, then strong components (Tarjan 1972). Build-time code; written here because importing a
sparse-matrix library takes longer (0.3 s) than a warm start may.
"""

from __future__ import annotations

from collections.abc import Sequence


def block_triangular(entries: Sequence[Sequence[bool]]) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of the diagonal blocks, in the order in which they can be solved.

    Args:
        entries: (r, r) where the matrix has entries. A pattern without a perfect matching (structurally singular) comes
            back as one block.
    """
    r = len(entries)
    columns_of = [[j for j in range(r) if row[j]] for row in entries]
    match = matching(columns_of)
    if -1 in match:
        return [(list(range(r)), list(range(r)))]
    row_of = {column: row for row, column in enumerate(match)}
    needs = [[row_of[j] for j in columns if j != match[i]] for i, columns in enumerate(columns_of)]
    return [(rows, sorted(match[i] for i in rows)) for rows in map(sorted, strong_components(needs))]


def matching(columns_of: Sequence[Sequence[int]]) -> list[int]:
    """Column matched to every row by augmenting paths, -1 where there is none."""
    row_of: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column in columns_of[row]:
            if column not in tried:
                tried.add(column)
                if column not in row_of or place(row_of[column], tried):
                    row_of[column] = row
                    return True
        return False

    for row in range(len(columns_of)):
        place(row, set())
    out = [-1] * len(columns_of)
    for column, row in row_of.items():
        out[row] = column
    return out


def strong_components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strong components of a directed graph, every component after those its edges lead to."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    out: list[list[int]] = []

    def visit(node: int) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in edges[node]:
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            first = stack.index(node)
            out.append(stack[first:])
            del stack[first:]

    for node in range(len(edges)):
        if node not in number:
            visit(node)
    return out
