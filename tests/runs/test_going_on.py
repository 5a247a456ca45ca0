"""`start=`: a run that goes on from a result is one run with it, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.starts.test_drives import written
from tests.support.models.mechanisms import four_bars

AGAIN = 1e-6  # rad: a start that is projected once more, through flat poses (measured 6e-8)
SPEEDS = np.random.default_rng(3).uniform(0.1, 6.0, 60)

# model, step [s], varied, spans [s]
RUNS: dict[str, tuple[Any, float, dict[str, Any], Sequence[float]]] = {
    "flat poses": ("n_four_bar_2", 1e-3, {"pivot_0.initial_velocity": SPEEDS}, (0.5, 1.5)),
    "many parts": ("n_four_bar_2", 1e-3, {"pivot_0.initial_velocity": SPEEDS}, (0.111,) * 18),
    "repartitions": ("bricard", 2e-3, {"joint1.initial_velocity": SPEEDS}, (0.5, 0.7, 0.8)),
    "a driver of the file": (written("harmonic"), 1e-3, {"coupler.mass": [0.5, 1.0, 2.0]}, (0.111,) * 7),
    "a table that ends": (written("table"), 1e-3, {"coupler.mass": [0.5, 2.0]}, (0.3, 0.111, 0.389)),
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


@pytest.mark.parametrize("drive", [2.0, shiftjax.Harmonic(0.3, 7.0), lambda t: 0.3 * jnp.sin(7.0 * t) - 1.0])
def test_driven_runs_go_on_by_the_same_clock(drive: Any) -> None:
    """Issue 10: the second run counted its time anew from a rounded end, one ulp off."""
    settings: dict[str, Any] = {"step": 1e-3, "drive": {"pivot": drive}, "channels": ["energy.total"]}
    whole = simulate(four_bars(), 0.777, output_step=1e-3, **settings)
    first = simulate(four_bars(), 0.111, output_step=0.111, **settings)
    second = simulate(four_bars(), 0.333, output_step=7e-3, start=first, **settings)
    third = simulate(four_bars(), 0.333, output_step=1e-3, start=second, **settings)
    assert whole.final is not None and third.final is not None
    assert all(np.array_equal(whole.final[name], third.final[name]) for name in whole.final)
    for part, begin, every in ((second, 111, 7), (third, 444, 1)):
        there = begin + every * np.arange(len(part.time))
        assert np.array_equal(part.channels["energy.total"], whole.channels["energy.total"][there])
        np.testing.assert_allclose(part.time, whole.time[there], rtol=1e-15)
        assert part.settings["t0"] == pytest.approx(begin * 1e-3, rel=1e-15)
    again = simulate(four_bars(), 0.333, output_step=1e-3, start=second, schedule=third.schedule, **settings)
    assert again.final is not None and np.array_equal(again.final["q"], third.final["q"])


def test_a_drive_whose_number_has_changed_is_another_one() -> None:
    """The same function object, compiled once more: what it refers to is part of it."""
    rate = 1.0

    def motion(t: Any) -> Any:
        return rate * t

    first = simulate(four_bars(), 0.1, 1e-3, drive={"pivot": motion})
    rate = 2.0
    again = simulate(four_bars(), 0.1, 1e-3, drive={"pivot": motion}, channels=["pivot.q"])
    assert again.channels["pivot.q"][-1] == pytest.approx(0.2, abs=1e-12)
    rest = simulate(four_bars(), 0.1, 1e-3, drive={"pivot": lambda t: t}, start=first, channels=["pivot.q"])
    assert rest.channels["pivot.q"][-1] == pytest.approx(0.2, abs=1e-12)


def test_a_clock_that_f32_cannot_count_on_begins_afresh() -> None:
    settings: dict[str, Any] = {"step": 1e-3, "precision": "f32", "energy_limit": 1.0, "angle_limit": 1.0}
    first = simulate("pendulum", 0.1, **settings)
    assert first.ending is not None
    late = replace(first, ending=replace(first.ending, steps=2**24 - 50))
    second = simulate("pendulum", 0.1, start=late, **settings)
    assert second.status == 0 and second.certificate["steps"] == 100
    assert second.settings["t0"] == pytest.approx((2**24 - 50) * 1e-3)


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


@pytest.mark.parametrize("more", [{"step": 5e-4}, {"tolerance": 1e-8}, {"accuracy": "all"}])
def test_what_was_inaccurate_stays_so(more: dict[str, Any]) -> None:
    """Where lanes begin afresh, or are judged by repeats, the second part alone is good: it was a plain 0."""
    arms = {"hinge.initial_velocity": [0.0, 2.0]}
    load = {"times": [0.0503, 0.0504, 0.0505, 0.0506], "values": [0.0, 500.0, 500.0, 0.0], "outside": "hold"}
    builder = shiftjax.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    a = builder.assembly("a").body("wheel", mass=1.0, inertia=(1.0, 2.0, 1.0)).joint("hinge", "Ry", child="wheel")
    a.force("push", "table_load", joint="hinge", interpolation="linear", **load)
    model, vary = builder.build(), arms | {"push.values[1]": [500.0, 0.0], "push.values[2]": [500.0, 0.0]}
    first = simulate(model, 0.1, 1e-3, vary=vary, accuracy=more.get("accuracy"))
    assert first.status.tolist() == [Outcome.inaccurate, 0]
    settings = {"step": 1e-3, **more} if "tolerance" not in more else more
    second = simulate(model, 0.1, start=first, vary=vary, **settings)
    third = simulate(model, 0.1, start=second, vary=vary, **settings)
    for run in (second, third):
        assert run.status.tolist() == [Outcome.inaccurate, 0]
        assert run.messages[0].count("goes on from a run that was not certain") <= 1
        assert "changes within steps" in run.messages[0] and run.messages[1] == ""
