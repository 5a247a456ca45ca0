"""Ticks of axes: round numbers within the ends, labels that differ and say where they are."""

import math

import pytest

from shiftjax.viewer.ticks import ticks

RANGES = [(0.0, 1.0), (0.13, 0.88), (-2e-9, 3.3e-9), (9.80665, 9.80666), (1e5, 1e6), (1e5, 1e5 + 3), (-1.0, 1.0),
          (1.0000001, 1.0000002), (3.1, 3.14), (0.0, 600.0), (-3e8, 2e8), (5e-324, 1e-300)]  # fmt: skip


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("most", [2, 3, 6, 11])
def test_labels_differ_and_are_in_the_range(low: float, high: float, most: int) -> None:
    found = ticks(low, high, most)
    values, texts = zip(*found, strict=True)
    assert 2 <= len(values) <= max(2 * most, 4) and len(set(texts)) == len(texts)
    assert low - 1e-9 * (high - low) <= values[0] and values[-1] <= high + 1e-9 * (high - low)
    for value, text in found:
        assert math.isclose(eval(text), value, rel_tol=1e-6, abs_tol=0.02 * (high - low)), text


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.0, 600.0, ["0", "200", "400", "600"]),
        (-2e-9, 3.3e-9, ["-2e-9", "0", "2e-9"]),
        (9.80665, 9.80666, ["9.806650", "9.806652", "9.806654", "9.806656", "9.806658", "9.806660"]),
    ],
)
def test_labels_are_short(low: float, high: float, texts: list[str]) -> None:
    assert [text for _, text in ticks(low, high)] == texts


@pytest.mark.parametrize(("low", "high"), [(2.0, 2.0), (1.0, 1.0 + 2**-52), (3.0, 1.0)])
def test_one_number_has_one_tick(low: float, high: float) -> None:
    assert ticks(low, high) == [(low, f"{low:.6g}")]


def test_no_numbers_have_no_ticks() -> None:
    assert ticks(math.nan, 1.0) == [] and ticks(0.0, math.inf) == [(0.0, "0")]
