"""Arrays of real numbers of what users give: what NumPy would make numbers of, and what are none, is refused."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np

from shiftjax.errors import ModelError, shown


def real_array(given: object) -> np.ndarray | None:
    """The array of floats, None where it is none of real numbers.

    NumPy makes numbers of texts and dates and of the real parts of complex numbers, and forgets what is masked.
    """
    try:
        array = np.asarray(given)
        if np.ma.is_masked(given) or not (array.dtype.kind in "biuf" or (array.dtype == object and _all_real(array))):
            return None
        return array.astype(float)
    except (TypeError, ValueError, OverflowError, MemoryError):  # rows of several lengths, 10**400, range(10**12)
        return None


def three_numbers(where: str, given: object, todo: str = "Give x, y, z.") -> np.ndarray:
    """(3,) finite numbers.

    Raises:
        ModelError: something else.
    """
    array = real_array(given)
    if array is None or array.shape != (3,) or not np.isfinite(array).all():
        raise ModelError(where, shown(given), "three finite numbers", todo)
    return array


def _all_real(array: np.ndarray) -> bool:
    return all(isinstance(x, Real | Decimal) and not isinstance(x, bool) for x in array.flat)
