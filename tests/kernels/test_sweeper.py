"""Compiled backward sweeps over hand-written lane programs, against complex steps of the reference step loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from shiftjax.kernels import xla, xla_backward
from shiftjax.kernels.adjoint import AdjointProgram, adjoint_of
from shiftjax.kernels.contract import Group, Leg
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.llvm.backward import CpuBackward
from shiftjax.kernels.llvm.cpu import CpuKernel
from shiftjax.kernels.step_loop import StepLoop
from shiftjax.run.programs.integrators import METHODS
from tests.extensions import low_storage  # noqa: F401
from tests.support.complete import without
from tests.support.complex_runs import STEP, phases_of
from tests.support.models.sample_programs import particle, pendulum, piece, slots, table, wheel

EQUAL = 1e-12  # of the sum of absolute terms: the same derivative by other operations
H, T0 = 0.01, 0.3
CARRIED = ("q", "x", "dx", "p")


def measured_pendulum(method: str) -> LaneProgram:
    """The pendulum with a metric: the sum of q v after each step, and of what it was times a half."""
    plain = pendulum(method)
    layout = replace(plain.layout, na=2)
    total = layout.slots("acc")[1]
    inputs = (total, *slots(layout, "q", "x"))
    metric = piece("sum", lambda a, q, v: (0.5 * a + q * v,), inputs, (total,))
    (greatest,) = plain.accumulate
    moved = [slots(layout, *names) for names in (("q", "x"), ("chan",))]
    observe = replace(plain.observe[0], inputs=moved[0], outputs=moved[1])
    greatest = replace(greatest, inputs=(layout.slots("acc")[0], *layout.slots("x")), outputs=(layout.slots("acc")[0],))
    moved = {
        "drift": replace(plain.drift, inputs=slots(layout, "x"), outputs=slots(layout, "qdot")),
        "accelerate": tuple(
            replace(one, inputs=slots(layout, "q", "x", "p"), outputs=slots(layout, "dx", "mon"))
            for one in plain.accelerate
        ),
        "project": tuple(
            replace(one, inputs=slots(layout, "q", "x", "p"), outputs=slots(layout, "q", "x", "dx", "mon", "rep"))
            for one in plain.project
        ),
    }
    return replace(plain, layout=layout, observe=(observe,), accumulate=(greatest, metric), **moved)


PROGRAMS: dict[str, Callable[[str], LaneProgram]] = {
    "pendulum": measured_pendulum,
    "particle": particle,
    "wheel": wheel,
}
each = pytest.mark.parametrize("name", PROGRAMS)


@cache
def adjoint(name: str, method: str = "rk4") -> AdjointProgram:
    program = PROGRAMS[name](method)
    return adjoint_of(program, "f64", min(program.layout.na, 1))


@cache
def back(threads: int = 1) -> CpuBackward:
    return CpuBackward(CpuKernel(threads=threads))


def leg(name: str, lanes: int, steps: np.ndarray | int, method: str = "rk4", seeds: np.ndarray | None = None) -> Leg:
    """Random lanes at clock 7, with random cotangents at their ends; every third one records nothing."""
    made, rng = adjoint(name, method), np.random.default_rng(3)
    layout = made.program.layout
    start = table(made.program, lanes, clock=7.0)
    for region in (*CARRIED, "acc"):
        rows = list(layout.rows(region))
        start[rows] = rng.uniform(0.5, 1.5, (len(rows), 100))[:, :lanes]
    bars = rng.standard_normal((made.layout.row_count, 100))[:, :lanes].copy()
    bars[made.layout.rows("steps").start] = steps
    which = np.where(np.arange(lanes) % 3 == 2, -1, np.arange(lanes)) if seeds is not None else np.full(lanes, -1)
    return Leg(made, start, bars, seeds, which)


def swept(threads: int = 1, every: int = 0, *legs: Leg) -> list[np.ndarray]:
    """Cotangents at the beginning."""
    legs = tuple(one._replace(bars=one.bars.copy()) for one in legs)
    back(threads).sweep(legs, h=H, t0=T0, every=every, origin=2)
    return [one.bars for one in legs]


def slopes(given: Leg, every: int) -> tuple[np.ndarray, np.ndarray]:
    """(B,) derivatives along a random direction of what the cotangents at the end weigh, by complex steps; and that
    direction (rows, B)."""
    program, layout = given.adjoint.program, given.adjoint.program.layout
    mirrored, lanes = given.adjoint.layout, given.table.shape[1]
    direction = np.random.default_rng(4).standard_normal((mirrored.row_count, lanes))
    loop = StepLoop(program, phases_of(program), np, np.dtype(complex))
    state = {name: tuple(given.table[list(layout.rows(name))].astype(complex)) for name in layout.columns()}
    rows = mirrored.rows

    def moved(name: str) -> tuple[np.ndarray, ...]:
        own = state[name] if name != "acc" else state[name][mirrored.first :]
        return tuple(x + 1j * STEP * dx for x, dx in zip(own, direction[list(rows(name))], strict=True))

    acc = (*state["acc"][: mirrored.first], *moved("acc"))
    p, state = moved("p"), {**state, **{name: moved(name) for name in ("q", "x", "dx")}, "acc": acc}
    steps, total = given.bars[rows("steps").start], np.zeros(lanes)
    for k in range(int(steps.max())):
        runs = k < steps
        after, _ = loop.attempt(p, state, np.ones(lanes), H, T0)
        loop.phases["accumulate"](after)
        for name in ("q", "x", "dx", "acc", "rep"):
            state[name] = loop.choose(runs, loop.get(after, name), state[name])
        state["clock"] = (state["clock"][0] + runs,)
        clock = 7 + k + 1
        if given.seeds is not None and (clock - 2) % every == 0 and (clock - 2) // every < given.seeds.shape[1]:
            seen = np.imag(np.array(loop.evaluate("observe", p, state, H, T0)["chan"])) / STEP
            own = np.where(given.rows[:, None] >= 0, given.seeds[given.rows, (clock - 2) // every], 0.0)
            total += np.where(runs, (own.T * seen).sum(0), 0.0)
    for name in (*CARRIED, "acc"):
        values = p if name == "p" else state[name] if name != "acc" else state[name][mirrored.first :]
        for bar, value in zip(given.bars[list(rows(name))], values, strict=True):
            total += bar * np.imag(value) / STEP
    direction[rows("steps").start] = 0.0
    return total, direction


def check(given: Leg, every: int = 0) -> None:
    (found,) = swept(1, every, given)
    expected, direction = slopes(given, every)
    scale = np.abs(found * direction).sum(0)
    assert (np.abs((found * direction).sum(0) - expected) <= EQUAL * scale).all()


# Instructions that others have too: a table is that of rk4, an embedded one that of dopri5.
ALIKE = [name for name in METHODS if name not in ("rk4", "dopri5", "implicit_euler", "rosenbrock", "euler")]
OFTEN = without(METHODS, ALIKE)
STEPPED = [*(("pendulum", name) for name in METHODS), *((one, name) for one in ("particle", "wheel") for name in OFTEN)]


@pytest.mark.parametrize(("name", "method"), STEPPED)
def test_cotangents_of_some_steps(name: str, method: str) -> None:
    """State, rates, parameters and metrics at the end, of several full and one partial block of lanes."""
    check(leg(name, 19, 7, method))


@each
def test_lanes_with_their_own_numbers_of_steps(name: str) -> None:
    """One of them goes back over none: its cotangents stay, to the last bit."""
    given = leg(name, 19, np.arange(19) % 6)
    check(given)
    (found,) = swept(1, 0, given)
    still = np.arange(19) % 6 == 0
    assert np.array_equal(found[:, still], given.bars[:, still])


@pytest.mark.parametrize("name", ["pendulum", "particle"])
def test_cotangents_of_what_is_recorded(name: str) -> None:
    """At ticks 8, 11, 14, 17 of a clock that begins at 7; the first tick is at 2, the last one is beyond the array."""
    seeds = np.random.default_rng(5).standard_normal((19, 5, 2))
    check(leg(name, 19, np.arange(19) % 11, seeds=seeds), every=3)


def test_a_tick_at_the_beginning_belongs_to_the_leg_before() -> None:
    """Clock 7 with ticks at 2, 7, 12: the seeds of 7 are not read."""
    seeds = np.full((4, 3, 2), np.nan)
    seeds[:, 2] = 1.0
    check(leg("pendulum", 4, 6, seeds=seeds), every=5)


def test_groups_and_threads_change_no_bit() -> None:
    """Programs of several legs, any threads, any neighbours in a block."""
    seeds = np.random.default_rng(5).standard_normal((60, 9, 2))
    legs = (
        leg("pendulum", 60, np.arange(60) % 9, seeds=seeds),
        leg("wheel", 37, 5),
        leg("particle", 3, 8, seeds=seeds),
    )
    alone = [swept(1, 3, one)[0] for one in legs]
    for threads in (1, 2, 3):
        for found, wanted in zip(swept(threads, 3, *legs), alone, strict=True):
            assert np.array_equal(found, wanted)
    for lanes in (1, 2, 5, 8, 17):
        (found,) = swept(1, 3, leg("pendulum", lanes, (np.arange(60) % 9)[:lanes], seeds=seeds))
        assert np.array_equal(found, alone[0][:, :lanes])


def test_two_legs_are_one() -> None:
    """Back over 5 steps and then over 3 is back over 8, with the state between from the forward loop."""
    whole = leg("particle", 9, 8)
    middle = whole.table.copy()
    until = np.full(9, 7.0 + 3)
    back().kernel.advance([Group(whole.adjoint.program, middle, until, None, np.full(9, -1))], h=H, t0=T0)
    steps = whole.adjoint.layout.rows("steps").start
    late = whole._replace(table=middle, bars=whole.bars.copy())
    late.bars[steps] = 5
    (between,) = swept(1, 0, late)
    between[steps] = 3
    (found,) = swept(1, 0, whole._replace(bars=between))
    (wanted,) = swept(1, 0, whole)
    found[steps] = 8
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("method", OFTEN)
def test_the_reference_in_jax_agrees(method: str, request: pytest.FixtureRequest) -> None:
    """Steps of each lane's own number, ticks, parameters and a metric, by `jax.vjp` of the step loop.

    The default method in XLA's code as users have it.
    """
    if method != "rk4":
        request.getfixturevalue("quick_xla")
    seeds = np.random.default_rng(5).standard_normal((19, 5, 2))
    given = leg("pendulum", 19, np.arange(19) % 11, method, seeds)
    (wanted,) = swept(1, 3, given)
    xla_backward.XlaBackward(xla.XlaKernel()).sweep([given], h=H, t0=T0, every=3, origin=2)
    assert np.abs(given.bars - wanted).max() <= EQUAL * np.abs(wanted).max()


@pytest.mark.parametrize("phase", ["observe", "project", "measure"])
def test_one_phase_of_the_reference_in_jax_agrees(phase: str) -> None:
    """At clock 7, a tick; the end of the projection is that of the lanes."""
    given = leg("pendulum", 5, 0, seeds=np.random.default_rng(5).standard_normal((5, 4, 2)))
    ends = given.table.copy()
    back().kernel.evaluate(given.adjoint.program, "project", ends, T0, H)
    found = []
    for one in (back(), xla_backward.XlaBackward(xla.XlaKernel())):
        mine = given._replace(bars=given.bars.copy())
        one.touch(mine, phase, ends, h=H, t0=T0, every=5, origin=2)
        found.append(mine.bars)
    assert np.abs(found[0] - found[1]).max() <= EQUAL * np.abs(found[0]).max()
    assert not np.array_equal(found[0], given.bars)


def test_legs_that_cannot_be() -> None:
    given = leg("pendulum", 3, 2)
    longest = back().longest(given.adjoint)
    with pytest.raises(ValueError, match=f"a leg of {longest + 1} steps, its stack holds {longest}"):
        swept(1, 0, leg("pendulum", 3, longest + 1))
    with pytest.raises(ValueError, match="cotangents are float64 of shape"):
        swept(1, 0, given._replace(bars=given.bars[:, :2].copy()))
    check(leg("pendulum", 3, longest))
