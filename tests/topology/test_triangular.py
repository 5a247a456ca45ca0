"""Block triangular form: against scipy's matching and strong components on random patterns, and deep chains."""

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from shiftjax.topology.block_triangular import block_triangular, matching, strong_components


def random_pattern(rng: np.random.Generator, size: int) -> np.ndarray:
    pattern = rng.random((size, size)) < 2.0 / size
    pattern[np.arange(size), rng.permutation(size)] = True  # a perfect matching exists
    return pattern


def test_blocks_solve_in_order() -> None:
    """Every block's rows have entries only in its own and earlier blocks' columns; blocks are as small as scipy's."""
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 6, 12, 30):
        for _ in range(20):
            pattern = random_pattern(rng, size)
            blocks = block_triangular(pattern.tolist())
            known: set[int] = set()
            for rows, columns in blocks:
                assert len(rows) == len(columns)
                known |= set(columns)
                for row in rows:
                    assert set(np.flatnonzero(pattern[row]).tolist()) <= known
            assert sorted(r for rows, _ in blocks for r in rows) == list(range(size))
            match = maximum_bipartite_matching(csr_matrix(pattern), perm_type="column")
            count, _ = connected_components(csr_matrix(pattern[:, match]), directed=True, connection="strong")
            assert len(blocks) == count


def test_structurally_singular_is_one_block() -> None:
    """A pattern without a perfect matching comes back whole."""
    assert block_triangular([[True, False], [True, False]]) == [([0, 1], [0, 1])]
    assert matching([[0], [0]]).count(-1) == 1


def test_long_chains_do_not_recurse() -> None:
    """5 000 rows in a chain, solved one after the other, and one ring of 5 000."""
    size = 5000
    assert matching([[k, k + 1] for k in range(size - 1)] + [[0]]).count(-1) == 0
    chain = strong_components([[k + 1] for k in range(size - 1)] + [[]])
    assert chain == [[k] for k in reversed(range(size))]
    assert len(strong_components([[(k + 1) % size] for k in range(size)])) == 1
