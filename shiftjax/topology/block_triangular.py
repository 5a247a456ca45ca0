"""Block triangular form of a square pattern: which rows and columns can be solved together, and in which order.

Problem: permute a structurally nonsingular pattern so that it is block lower triangular with the smallest blocks. The
blocks of a mechanism's J_Pd are its Assur groups. Duff, Erisman, Reid, Direct Methods for Sparse Matrices, chapter 6: a
matching of rows to columns, then strong components (Tarjan 1972). Build-time code; implemented here because importing a
sparse-matrix library takes 0.3 s, too long for a start from a warm cache.
"""

from __future__ import annotations

from collections.abc import Sequence


def block_triangular(entries: Sequence[Sequence[bool]]) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of the diagonal blocks, in the order in which they can be solved.

    Args:
        entries: (r, r) sparsity pattern. One without a perfect matching (structurally singular) is returned as one
            block.
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
    """Column matched to every row by augmenting paths, -1 where there is none. Without recursion: paths may be long."""
    column_of, row_of = [-1] * len(columns_of), dict[int, int]()
    for start in range(len(columns_of)):
        tried: set[int] = set()
        path = [(start, iter(columns_of[start]))]
        reached_by: dict[int, int] = {}  # row -> the column by which the augmenting path reaches it
        while path:
            row, choices = path[-1]
            column = next((c for c in choices if c not in tried), None)
            if column is None:
                path.pop()
                continue
            tried.add(column)
            if column in row_of:
                owner = row_of[column]
                reached_by[owner] = column
                path.append((owner, iter(columns_of[owner])))
                continue
            for row, _ in reversed(path):
                column_of[row], row_of[column] = column, row
                column = reached_by.get(row, -1)
            break
    return column_of


def strong_components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strong components of a directed graph, each after its successors. Without recursion."""
    number, low, done = dict[int, int](), dict[int, int](), set[int]()
    stack: list[int] = []
    out: list[list[int]] = []
    for start in range(len(edges)):
        if start in number:
            continue
        number[start] = low[start] = len(number)
        stack.append(start)
        path = [(start, iter(edges[start]))]
        while path:
            node, rest = path[-1]
            other = next(rest, None)
            if other is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    first = stack.index(node)
                    out.append(stack[first:])
                    done.update(stack[first:])
                    del stack[first:]
            elif other not in number:
                number[other] = low[other] = len(number)
                stack.append(other)
                path.append((other, iter(edges[other])))
            elif other not in done:
                low[node] = min(low[node], number[other])
    return out
