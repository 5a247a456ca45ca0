"""`start=`: a run that goes on from a result is one run with it, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from shiftjax.outcome import Outcome
from shiftjax.run.result import Result
from shiftjax.run.simulate import simulate
from tests.mechanisms import four_bars

AGAIN = 1e-6  # rad: a start that is projected once more, through flat poses (measured 6e-8)
SPEEDS = np.random.default_rng(3).uniform(0.1, 6.0, 60)

# model, step [s], varied, spans [s]
RUNS: dict[str, tuple[str, float, dict[str, Any], Sequence[float]]] = {
    "flat poses": ("n_four_bar_2", 1e-3, {"pivot_0.initial_velocity": SPEEDS}, (0.5, 1.5)),
    "many parts": ("n_four_bar_2", 1e-3, {"pivot_0.initial_velocity": SPEEDS}, (0.111,) * 18),
    "repartitions": ("bricard", 2e-3, {"joint1.initial_velocity": SPEEDS}, (0.5, 0.7, 0.8)),
    "ends early, or inaccurate": (
        "four_bar", 1e-2, {"crank_pivot.initial_velocity": [2.0, np.nan, 60.0, 400.0, 8.0]}, (0.1, 0.3)
    ),
}  # fmt: skip


def ran(name: str, span: float, start: Result | None = None, **more: Any) -> Result:
    model, step, vary, _ = RUNS[name]
    channels = ["energy.kinetic", "energy.total"]
    settings: dict[str, Any] = {"vary": vary, "output_step": step, "channels": channels, "keep": 2, "backend": "cpu"}
    return simulate(model, span, step, start=start, **{**settings, **more})


def in_parts(name: str, **more: Any) -> list[Result]:
    parts: list[Result] = []
    for span in RUNS[name][3]:
        parts.append(ran(name, span, parts[-1] if parts else None, **more))
    return parts


@pytest.mark.parametrize("name", RUNS)
def test_parts_are_the_whole_to_the_last_bit(name: str) -> None:
    """State, certificate, status, messages and everything recorded, wherever the cut falls."""
    whole, parts = ran(name, round(sum(RUNS[name][3]), 9)), in_parts(name)
    last = parts[-1]
    assert whole.final is not None and last.final is not None
    for a, b in ((whole.final, last.final), (whole.certificate, last.certificate)):
        assert all(np.array_equal(a[key], b[key], equal_nan=True) for key in {*a, *b})
    assert np.array_equal(whole.status, last.status) and whole.messages == last.messages
    for recorded in ("channels", "poses"):
        for path, values in getattr(whole, recorded).items():
            pieces = [getattr(part, recorded)[path][:, bool(k) :] for k, part in enumerate(parts)]
            assert np.array_equal(np.concatenate(pieces, axis=1), values, equal_nan=True), path
            ends = [(getattr(a, recorded)[path][:, -1], getattr(b, recorded)[path][:, 0]) for a, b in pairwise(parts)]
            good = np.flatnonzero(whole.status <= 0) if recorded == "channels" else slice(None)
            assert all(np.abs(a[good] - b[good]).max() < AGAIN for a, b in ends if name != "ends early, or inaccurate")


def test_members_that_ended_stay_ended() -> None:
    """Was an IndexError of the messages."""
    parts = in_parts("ends early, or inaccurate")
    failed = parts[0].failed.tolist()
    assert failed and all(part.status[failed].tolist() == parts[0].status[failed].tolist() for part in parts)
    assert all(parts[1].messages[k] == parts[0].messages[k] != "" for k in failed)
    assert parts[1].certificate["steps"].tolist()[failed[0]] == parts[0].certificate["steps"].tolist()[failed[0]]
    lengths = {"bar0:coupler:tip.T[0]": [0.48, 1.2]}  # the second cannot be assembled
    first = simulate(four_bars(), 0.1, 1e-3, vary=lengths)
    second = simulate(four_bars(), 0.1, 1e-3, vary=lengths, start=first)
    assert second.status.tolist() == [0, Outcome.not_assembled] and second.messages == first.messages


def test_each_part_has_its_schedule() -> None:
    """Both together repeat the run: the second goes on from the first with its own."""
    for name in ("flat poses", "repartitions"):
        first, *_, last = parts = in_parts(name)
        assert all(part.schedule is not None for part in parts)
        again = ran(name, RUNS[name][3][0], schedule=first.schedule)
        assert again.final is not None and first.final is not None
        assert np.array_equal(again.final["q"], first.final["q"])
        before = parts[-2]
        again = ran(name, RUNS[name][3][-1], before, schedule=last.schedule)
        assert again.final is not None and last.final is not None
        assert np.array_equal(again.final["q"], last.final["q"])
        assert all(np.array_equal(again.certificate[key], last.certificate[key]) for key in last.certificate)


def test_other_settings_begin_afresh_at_the_end() -> None:
    """Another step, or a result without lanes (as stores have it), is projected once more and goes on as before."""
    first = ran("flat poses", 0.5)
    whole = ran("flat poses", 1.0)
    for second in (
        ran("flat poses", 0.5, replace(first, ending=None)),
        simulate("n_four_bar_2", 0.5, 5e-4, vary=RUNS["flat poses"][2], start=first),
    ):
        assert second.final is not None and whole.final is not None
        assert 0.0 < np.abs(second.final["q"] - whole.final["q"]).max() < AGAIN
        assert (second.status == 0).all()
