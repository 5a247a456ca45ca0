"""Who compiles graphs that the host evaluates for many members, if anybody is there who can. Host code.

LLVM takes 60 ms to import, and what only looks at mechanisms needs none: kernels of the processor enter themselves when
they are loaded. What they compile has NumPy's bits, so that it decides nothing whether they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from shiftjax.lanes.graph import Graph


class CompiledArrays(Protocol):
    """A graph that is compiled."""

    def into(self, values: Sequence[np.ndarray], out: Sequence[np.ndarray]) -> None:
        """As `in_numpy.InNumpy.into`, for many members, to the bit."""
        ...


class ArrayCompiler(Protocol):
    """What compiles graphs."""

    def __call__(self, graph: Graph) -> CompiledArrays:
        """A graph, compiled.

        Raises:
            ValueError: one that cannot be.
        """
        ...

    def is_stored(self, graph: Graph) -> bool:
        """Whether that takes no time, since it was done before."""
        ...


COMPILERS: list[ArrayCompiler] = []  # the first one counts
