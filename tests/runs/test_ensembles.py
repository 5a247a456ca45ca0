"""Ensembles: lanes that do not know of each other, per-member repartition, failures contained, numbers by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.mechanism.model import Model
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.results.log_table import log_dataset
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.run.start import prepare as prepared
from shiftjax.topology.analysis import analyze
from tests.support.models.mechanisms import four_bars

BRICARD_PROGRAMS = 12  # issue 3: few of the six coordinates of a Bricard serve as independent ones
BLOCK_PROGRAMS = 13  # issue 3: three four-bars, at most four partitions each, and the common piece
MANY = 1000

Vary = dict[str, np.ndarray]


def uniform(seed: int, members: int, bounds: Mapping[str, tuple[float, float]]) -> Vary:
    """Random values within the bounds of every path."""
    rng = np.random.default_rng(seed)
    return {path: rng.uniform(low, high, members) for path, (low, high) in bounds.items()}


def part(vary: Vary, members: Any) -> Vary:
    return {path: values[members] for path, values in vary.items()}


def same_lanes(a: Result, b: Result, of_a: Any, of_b: Any) -> None:
    """Final states, certificates, statuses and common channels of members of a and b are the same, bit for bit."""
    assert a.final is not None and b.final is not None
    common = {path: a.channels[path] for path in a.channels if path in b.channels}
    for one, other in ((a.final, b.final), (a.certificate, b.certificate), (common, b.channels)):
        for name in one:
            assert np.array_equal(one[name][of_a], other[name][of_b], equal_nan=True), name
    assert np.array_equal(a.status[of_a], b.status[of_b])


# Model, bounds of what varies, two channels.
BATCHES: dict[str, tuple[dict[str, tuple[float, float]], list[str]]] = {
    "four_bar": (
        {"crank:tip.T[0]": (0.15, 0.22), "coupler.mass": (0.5, 2.0), "crank_pivot.initial_displacement": (-2.0, 4.0)},
        ["rocker_pivot.q", "coupler:tip.position"],
    ),
    "bricard": (
        {"joint1.initial_displacement": (-0.3, 0.3), "joint1.initial_velocity": (3.0, 6.0), "rod2.mass": (0.5, 2.0)},
        ["joint3.q", "energy.total"],
    ),
    "n_four_bar_2": (
        {"pivot_0.initial_velocity": (1.0, 6.0), "crank_0.mass": (0.5, 2.0)},
        ["pivot_2.v", "substructure[0].b_norm"],
    ),
    "two_slider_cranks": (
        {"first_rod.mass": (0.5, 2.0), "second_crank_pivot.initial_velocity": (-9.0, 9.0)},
        ["second_guide.a", "first_slider.velocity"],
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_lanes_do_not_depend_on_their_batch(name: str) -> None:
    """S15, design rule 5: batches of 1, 7, 64 and 1000, threads 1 and 2, other channels: bit-identical lanes."""
    bounds, channels = BATCHES[name]
    vary = uniform(1, MANY, bounds)
    clock: dict[str, Any] = {"span": 0.3, "step": 1e-3, "output_step": 0.05}
    whole = simulate(name, vary=vary, channels=channels, threads=1, **clock)
    assert (whole.status <= 0).all() and not np.isnan(whole.channels[channels[0]]).any()
    same_lanes(whole, simulate(name, vary=vary, channels=channels, threads=2, **clock), slice(None), slice(None))
    for size, first, threads in ((64, 300, 2), (7, 64, 1), (1, 999, 2)):
        mine = slice(first, first + size)
        same_lanes(whole, simulate(name, vary=part(vary, mine), channels=channels, threads=threads, **clock), mine, ...)
    order = np.random.default_rng(2).permutation(MANY)
    same_lanes(whole, simulate(name, vary=part(vary, order), channels=channels[:1], **clock), order, ...)
    same_lanes(whole, simulate(name, vary=vary, **{**clock, "output_step": 0.3}), ..., ...)


def test_a_thousand_bricards_repartition_at_their_own_times() -> None:
    """F3, S12, S13: every member has its own log, few programs are compiled, runs alone agree bit for bit."""
    bounds = {"joint1.initial_displacement": (-0.3, 0.3), "joint1.initial_velocity": (3.0, 6.0)}
    vary = uniform(3, MANY, bounds)
    settings: dict[str, Any] = {"span": 3.0, "step": 2e-3, "output_step": 0.1, "channels": ["joint1.q", "joint4.q"]}
    whole = simulate("bricard", vary=vary, **settings)
    assert (whole.status == 0).all()
    assert whole.programs <= BRICARD_PROGRAMS
    assert (whole.certificate["repartitions"] >= 1).all()
    assert np.max(whole.certificate["gap"]) < 1e-12
    times: list[list[float]] = [[] for _ in range(MANY)]
    for line in whole.log:
        times[line["member"]].append(line["time"])
        assert line["substructure"] == 0 and len(line["old"]) == len(line["new"]) == 1
    assert [len(own) for own in times] == whole.certificate["repartitions"].tolist()
    assert all(own == sorted(own) for own in times)
    assert len({tuple(own) for own in times}) > 0.9 * MANY
    assert whole.log == [*whole.log] and whole.log[3:5] == (whole.log[3], whole.log[4]) and whole.log != whole.log[1:]
    assert [(line["time"], line["member"]) for line in whole.log] == sorted(
        (line["time"], line["member"]) for line in whole.log
    )
    assert log_dataset(whole.log).equals(log_dataset([*whole.log])), "from its columns as from its entries"
    for member in (0, 17, 500, 999, int(np.argmax(whole.certificate["repartitions"]))):
        single = simulate("bricard", vary=part(vary, slice(member, member + 1)), **settings)
        same_lanes(whole, single, slice(member, member + 1), ...)
        assert [line["time"] for line in single.log] == times[member]


def three_bars(seed: int, members: int) -> tuple[Model, Vary]:
    """Three four-bars in one model; random lengths, crank angles all round and speeds of both signs."""
    bounds: dict[str, tuple[float, float]] = {}
    for i in range(3):
        bounds |= {
            f"bar{i}:crank:tip.T[0]": (0.12, 0.24),
            f"bar{i}:coupler:tip.T[0]": (0.42, 0.58),
            f"bar{i}:rocker:tip.T[0]": (0.34, 0.48),
            f"bar{i}:pivot.initial_displacement": (-1.0 - np.pi, -1.0 + np.pi),
            f"bar{i}:pivot.initial_velocity": (-8.0, 8.0),
        }
    return four_bars(3), uniform(seed, members, bounds)


def test_substructures_are_compiled_by_block() -> None:
    """Issue 3: three four-bars, 1000 random designs and starts: the number of programs is a sum, not a product."""
    model, vary = three_bars(5, MANY)
    settings: dict[str, Any] = {"span": 1.0, "step": 1e-3, "output_step": 0.1, "channels": ["bar1:pivot.q"]}
    result = simulate(model, vary=vary, **settings)
    assert (result.status == 0).all()
    assert result.programs <= BLOCK_PROGRAMS
    assert result.certificate["repartitions"].max() >= 1
    assert len({line["substructure"] for line in result.log}) == 3
    one = simulate(model, vary=part(vary, slice(7, 8)), **settings)
    same_lanes(result, one, slice(7, 8), ...)


def test_failures_stay_in_their_lane() -> None:
    """F9: 4096 members, one with a NaN, one that cannot be closed: both reported, the others as in a clean batch."""
    members, broken, open_ = 4096, 1234, 3210
    vary = uniform(9, members, {"crank:tip.T[0]": (0.15, 0.22), "coupler.mass": (0.5, 2.0)})
    settings: dict[str, Any] = {"span": 0.2, "step": 1e-3, "output_step": 0.1, "channels": ["crank_pivot.q"]}
    clean = simulate("four_bar", vary=vary, **settings)
    vary["coupler.mass"][broken] = np.nan
    vary["crank:tip.T[0]"][open_] = 3.0  # a crank longer than all other links together
    spoilt = simulate("four_bar", vary=vary, **settings)
    others = np.setdiff1d(np.arange(members), [broken, open_])
    assert (clean.status == 0).all()
    same_lanes(clean, spoilt, others, others)
    assert spoilt.failed.tolist() == [broken, open_]
    assert spoilt.status[broken] == Outcome.non_finite and spoilt.status[open_] == Outcome.not_assembled
    assert "NaN" in spoilt.messages[broken]
    assert "four_bar:rocker_pin" in spoilt.messages[open_] and "stays open by" in spoilt.messages[open_]
    assert all(spoilt.messages[k] == "" for k in (0, others[-1]))
    assert np.isnan(spoilt.channels["crank_pivot.q"][[broken, open_], 1:]).all()
    assert [word for word, _ in spoilt.outcomes()] == [Outcome.ok, Outcome.not_assembled, Outcome.non_finite]


def test_a_start_that_no_number_can_follow_ends_its_own_member_only() -> None:
    """Speeds that overflow in the first step: the retries of those members stop right behind a clock of 0."""
    speeds = np.array([1.0, 1e40, 1e100, 1e160, 1e300])
    result = simulate("four_bar", 0.05, 1e-3, vary={"crank_pivot.initial_velocity": speeds})
    assert result.status[0] == 0 and (result.status[1:] > 0).all()
    assert all(result.messages[1:])


def test_nan_in_every_kind_of_number_is_reported() -> None:
    """F9: a NaN length, start, speed or gravity ends its own member and no other."""
    paths = ["crank:tip.T[0]", "crank_pivot.initial_displacement", "crank_pivot.initial_velocity"]
    numbers = load("four_bar").numbers()
    for path in [*paths, "model_parameters.gravity[2]"]:
        base = numbers[load("four_bar").resolve(path)]
        result = simulate("four_bar", span=0.01, vary={path: [base, np.nan, base]})
        assert result.status.tolist() == [0, Outcome.non_finite, 0], path
        assert result.final is not None and np.array_equal(result.final["q"][0], result.final["q"][2])


def test_every_outcome_has_a_remedy() -> None:
    assert set(REMEDY) == set(Outcome)
    assert all(text for outcome, text in REMEDY.items() if outcome)
    assert Outcome(0) is Outcome.ok and Outcome(-1) is Outcome.near_singular


def test_topology_is_analysed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """S16, M24: one analysis for a whole sweep; toggling an assembly is another topology."""
    calls: list[Model] = []
    monkeypatch.setattr(prepared, "analyze", lambda model, **options: calls.append(model) or analyze(model, **options))
    two = four_bars(2)
    vary = uniform(2, 20, {"bar0:crank:tip.T[0]": (0.15, 0.22)})
    whole = simulate(two, span=0.2, step=1e-3, vary=vary)
    assert len(calls) == 1
    off = replace(two, assemblies=(two.assemblies[0], replace(two.assemblies[1], active=False)))
    half = simulate(off, span=0.2, step=1e-3, vary=vary)
    assert len(calls) == 2
    # S45: the rest moves as it did. Other programs, other roundings.
    assert half.report["joints"] == 4 and whole.report["joints"] == 8
    assert whole.final is not None and half.final is not None
    assert np.abs(np.sort(whole.final["q"][:, :4]) - np.sort(half.final["q"])).max() < 1e-12


def test_what_touches_a_switched_off_body_is_dropped_and_said() -> None:
    """S45: dangling joints are reported by path."""
    one = four_bars(1)
    (bar,) = one.assemblies
    bodies = tuple(replace(body, active=body.name != "coupler") for body in bar.bodies)
    result = simulate(replace(one, assemblies=(replace(bar, bodies=bodies),)), span=0.1)
    assert result.status == 0 and result.report["loops"] == 0 and result.report["dof"] == 2
    assert set(result.report["dangling"]) == {"bar0:pin", "bar0:joint"}
