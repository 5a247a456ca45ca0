"""Functions of varied numbers on the host, whose parts stand side by side and whose slopes are taken forward."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

Array = Any  # of JAX, traced
Name = TypeVar("Name", bound=Hashable)  # of a part


class SideBySide(Generic[Name]):
    """`gradients.transforms.Differentiable` of numbers (B, P) to parts (B, M), by its tangents.

    Attributes:
        shapes: of the parts of a member, in their order; what is behind them is no part.
    """

    shapes: Mapping[Name, tuple[int, ...]]

    def parts(self, y: Array) -> dict[Name, Array]:
        """What the outputs (B, M) are."""
        out, first = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            out[name] = y[:, first : first + size].reshape(len(y), *shape)
            first += size
        return out

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """(B, M) of (B, P) and as many changes."""
        raise NotImplementedError

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        """(B, P) of (B, P) and (B, M): by as many tangents as there are numbers."""
        out = np.zeros_like(x)
        for k in range(x.shape[1]):
            dx = np.zeros_like(x)
            dx[:, k] = 1.0
            out[:, k] = np.where(y_bar == 0.0, 0.0, y_bar * self.tangent(x, dx)).sum(1)
        return out
