"""Columns of numbers in 16 bits each, as pages hold them. NumPy only.

A number becomes the nearest of up to 65 532 places between the smallest and the largest of its column, so that it is
off by half a step at most: 8e-6 of the range. Whole numbers in a range below that are exact. Positive numbers that span
more than three decades, as loop gaps do, have places that are evenly spaced in their logarithm: then half a step is a
part of the number itself. What is no number, infinite or, among logarithms, zero has a code of its own and comes back
as it was.
"""

from __future__ import annotations

import numpy as np

from shiftjax.record import record

NO_NUMBER, INFINITE, MINUS_INFINITE, ZERO = 65535, 65534, 65533, 65532
STEPS = 65531  # from the code 0 to the last one that is no code of its own
DECADES = 1e3  # largest over smallest, above which a column of positive numbers is logarithmic


@record
class Quantised:
    """A column: the number of code k is low + (high - low) k / steps, or low (high / low)^(k / steps).

    Attributes:
        logarithmic: which of the two.
    """

    codes: np.ndarray  # (n,) uint16
    low: float
    high: float
    steps: int
    logarithmic: bool

    def restored(self) -> np.ndarray:
        """(n,) the numbers that the codes stand for."""
        codes = self.codes.astype(float)
        part = np.minimum(codes / self.steps, 1.0)
        if self.logarithmic:
            numbers = np.exp((1.0 - part) * np.log(self.low) + part * np.log(self.high))
        else:
            numbers = (1.0 - part) * self.low + part * self.high  # the range may be larger than a double is
        special = {NO_NUMBER: np.nan, INFINITE: np.inf, MINUS_INFINITE: -np.inf}
        if self.logarithmic:
            special[ZERO] = 0.0
        for code, number in special.items():
            numbers = np.where(self.codes == code, number, numbers)
        return numbers

    @property
    def half_step(self) -> float:
        """The largest error of a number; of a logarithmic column in parts of the number."""
        if self.low == self.high:
            return 0.0
        if self.logarithmic:
            return float(np.expm1(0.5 * np.log(self.high / self.low) / self.steps))
        return 0.5 * (self.high / self.steps - self.low / self.steps) if not self.exact else 0.0

    @property
    def exact(self) -> bool:
        """Whether all numbers are whole, a step apart from each other."""
        return not self.logarithmic and self.high - self.low == self.steps and float(self.low).is_integer()


def quantised(values: np.ndarray) -> Quantised:
    """A column (n,) of numbers as codes."""
    numbers = np.asarray(values, float)
    finite = np.isfinite(numbers)
    known = numbers[finite]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    positive = known[known > 0.0]
    whole = bool((known == np.round(known)).all()) and high - low <= STEPS
    logarithmic = not whole and low >= 0.0 and high > DECADES * float(positive.min(initial=np.inf))
    if logarithmic:
        low = float(positive.min())
    steps = int(high - low) if whole and high > low else STEPS
    with np.errstate(divide="ignore"):
        place = _place(np.where(finite, numbers, low), low, high, logarithmic=logarithmic)
    codes = np.rint(np.clip(place, 0.0, 1.0) * steps).astype("<u2")
    if logarithmic:
        codes[finite & (numbers == 0.0)] = ZERO
    codes[np.isnan(numbers)] = NO_NUMBER
    codes[np.isposinf(numbers)] = INFINITE
    codes[np.isneginf(numbers)] = MINUS_INFINITE
    return Quantised(codes, low, high, steps, logarithmic)


def _place(numbers: np.ndarray, low: float, high: float, *, logarithmic: bool) -> np.ndarray:
    """(n,) from 0 at the lower end of a column to 1 at its upper end."""
    if low == high:
        return np.zeros_like(numbers)
    if logarithmic:
        return np.log(numbers / low) / np.log(high / low)
    return (numbers / 2 - low / 2) / (high / 2 - low / 2)  # halves: the range may be larger than a double is
