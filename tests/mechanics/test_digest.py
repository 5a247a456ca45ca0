"""Results of the library's runs stay what they were: to the last bit where processor and libraries are the same."""

import json

import numpy as np
import pytest

from tests.support import digest
from tests.support.complete import without

GOLDEN = json.loads(digest.GOLDEN.read_text(encoding="utf-8"))
SAME = GOLDEN["signature"] == digest.signature()
LARGE = ("delta", "stewart", "n_four_bar_40")  # 30 s of processor time for one second of motion, most for compiling
AS_USED = ("andrews", "bricard", "four_bar", "pendulum")
AGREE = 1e-9  # of the largest number: with the roundings of an AVX2 processor delta, the worst, differs by 2e-12


@pytest.mark.parametrize("name", without(digest.RUNS, ["n_four_bar_40"]))  # of the same loops as five
def test_runs_are_what_they_were(name: str, request: pytest.FixtureRequest) -> None:
    """A few in code as users have it, the others in code that compiles in a third of the time and has the same bits."""
    if name not in AS_USED:
        request.getfixturevalue("quick_llvm")
    result = digest.run(name)
    found, expected = np.array(digest.final_numbers(result)), np.array(GOLDEN["final"][name])
    np.testing.assert_allclose(found, expected, rtol=0, atol=AGREE * np.abs(expected).max())
    if SAME:
        assert digest.digest(result) == GOLDEN["digests"][name]


def test_every_run_has_a_digest() -> None:
    assert set(GOLDEN["digests"]) == set(digest.RUNS)
