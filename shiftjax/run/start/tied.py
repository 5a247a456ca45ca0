"""What is known of the joints that one substructure ties together, where the file's own pose is closed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DYAD = 3  # a block of so many joints has two assemblies, told apart by the sign of its Jacobian

SignBlock = tuple[list[int], list[int]]  # rows and columns of a Jacobian


@dataclass
class Tied:
    """One substructure at the file's start.

    Attributes:
        holding: joints that keep what was stated, the most binding first; free: freedoms that they leave.
        judged: local columns of all other joints, where `holding` leaves no freedom. weight: (n,) of least moves.
        J: (1, m, n) at the file's pose; blocks: those of J whose signs tell assemblies apart.
        stated: joints whose displacement is; vague: whether the file's pose is too far from it to give a branch.
    """

    index: int
    holding: list[int]
    free: int
    judged: list[int]
    weight: np.ndarray
    J: np.ndarray
    blocks: list[SignBlock]
    stated: list[int]
    vague: bool

    @property
    def distinct(self) -> bool:
        """Whether the signs of the blocks tell all assemblies apart: where each block is a dyad."""
        return bool(self.blocks) and all(len(columns) <= DYAD for _, columns in self.blocks)
