"""The solver of LINKS in plain NumPy, one linkage after the other.

Written from the algorithm of the paper (Heyrani Nobari, Srivastava, Gutfreund, Ahmed, LINKS: A dataset of a hundred
million planar linkage mechanisms, 2022, section 3): nodes are solved one by one that have exactly two solved
neighbours, by the law of cosines and an arc cosine, on the branch that is drawn. No code in common with the library.
Points and angles may be complex, so that their derivatives are exact (complex step).
"""

from __future__ import annotations

import numpy as np


def solution_path(
    adjacency: np.ndarray, fixed: np.ndarray, motor: tuple[int, int]
) -> list[tuple[int, int, int]] | None:
    """(node, one neighbour, other neighbour) in the order of solution; None where there is none."""
    known = [*np.flatnonzero(fixed), motor[1]]
    unknown = [n for n in range(len(adjacency)) if n not in known]
    path, k = [], 0
    while unknown:
        if k == len(unknown):
            return None
        node = unknown[k]
        solved = [n for n in known if adjacency[node, n]]
        if len(solved) > 2:
            return None
        if len(solved) == 2:
            path.append((node, solved[0], solved[1]))
            known.append(node)
            unknown.remove(node)
            k = 0
        else:
            k += 1
    return path


def solve(
    path: list[tuple[int, int, int]], x0: np.ndarray, fixed: np.ndarray, motor: tuple[int, int], angles: np.ndarray
) -> np.ndarray:
    """(N, T, 2) positions, not numbers where a dyad does not close."""
    lengths = np.sqrt(((x0[:, None] - x0[None]) ** 2).sum(-1))
    x = np.zeros((len(x0), len(angles), 2), np.result_type(x0, angles))
    x[fixed] = x0[fixed][:, None]
    x[motor[1]] = x0[motor[0]] + lengths[motor] * np.stack([np.cos(angles), np.sin(angles)], -1)
    for k, i, j in path:
        between = np.sqrt(((x[j] - x[i]) ** 2).sum(-1))
        with np.errstate(invalid="ignore"):
            cosine = (between**2 + lengths[i, k] ** 2 - lengths[j, k] ** 2) / (2 * between * lengths[i, k])
            turned = np.arccos(cosine)
        to_k, to_j = (x0[k] - x0[i]).real, (x0[j] - x0[i]).real
        turned *= np.sign(to_j[0] * to_k[1] - to_j[1] * to_k[0])
        along = (x[j] - x[i]) / between[:, None] * lengths[i, k]
        left = np.stack([-along[:, 1], along[:, 0]], -1)
        x[k] = x[i] + np.cos(turned)[:, None] * along + np.sin(turned)[:, None] * left
    return x


def random_linkages(members: int, nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Adjacency, x0 and node types as LINKS draws them: each node fixed, or on two bars to nodes before it.

    The motor's bar, from node 0 to node 1, is short, so that a fourth of the linkages goes round.
    """
    draw = np.random.default_rng(seed)
    bars, types = np.zeros((members, nodes, nodes), int), np.zeros((members, nodes), int)
    x0 = draw.uniform(0.0, 1.0, (members, nodes, 2))
    types[:, [0, 2]] = 1
    x0[:, 1] = x0[:, 0] + 0.08 * (x0[:, 1] - x0[:, 0])
    bars[:, 0, 1] = 1
    for b in range(members):
        for n in range(3, nodes):
            one, other = draw.choice(n, 2, replace=False)
            if draw.uniform() < 0.15:
                types[b, n] = 1
            else:
                bars[b, n, one] = bars[b, n, 1 if types[b, one] and types[b, other] else other] = 1
    return bars | bars.swapaxes(1, 2), x0, types
