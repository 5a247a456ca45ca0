"""The member with the nearest design, each number counted by its range in the study."""

import numpy as np
import pytest

from shiftjax.viewer.members.nearest_design import nearest_design, ranges_of

COLUMNS = {
    "length": np.array([0.1, 0.2, 0.3, np.nan]),
    "mass": np.array([1000.0, 3000.0, 2000.0, 1000.0]),
    "same": np.array([7.0, 7.0, 7.0, 7.0]),
}


def test_ranges_leave_out_what_is_no_number() -> None:
    assert ranges_of(COLUMNS) == {"length": (0.1, 0.3), "mass": (1000.0, 3000.0), "same": (7.0, 7.0)}
    assert ranges_of(COLUMNS, np.array([True, True, False, True]))["length"] == (0.1, 0.2)
    assert ranges_of({"none": np.full(3, np.nan)}) == {}


def test_numbers_count_by_their_range_whatever_their_unit() -> None:
    """In metres and kilograms the mass alone would decide; in other units the nearest is the same one."""
    design = {"length": 0.12, "mass": 2100.0, "same": 99.0}
    expected = np.hypot((COLUMNS["length"] - 0.12) / 0.2, (COLUMNS["mass"] - 2100.0) / 2000.0)
    best = nearest_design(COLUMNS, ranges_of(COLUMNS), design)
    assert best is not None
    assert best[0] == int(np.nanargmin(expected)) and best[1] == pytest.approx(np.nanmin(expected), rel=1e-12)
    grams = {**COLUMNS, "mass": 1000.0 * COLUMNS["mass"]}
    in_grams = nearest_design(grams, ranges_of(grams), {**design, "mass": 2.1e6})
    assert in_grams == (best[0], pytest.approx(best[1], rel=1e-12))


def test_a_design_of_the_study_is_its_own_nearest() -> None:
    for member in range(3):
        design = {name: float(column[member]) for name, column in COLUMNS.items()}
        assert nearest_design(COLUMNS, ranges_of(COLUMNS), design) == (member, 0.0)


def test_no_member_with_all_numbers() -> None:
    columns = {"length": np.full(2, np.nan), "mass": np.ones(2)}
    assert nearest_design(columns, {"length": (0.0, 1.0), "mass": (1.0, 1.0)}, {"length": 0.5, "mass": 1.0}) is None
    assert nearest_design({}, {}, {}) is None
