"""Forward mode: of graphs against JAX and complex steps, of whole runs against complex steps and finite differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax.constraints import Harmonic
from shiftjax.errors import ModelError
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.forward.tangent_programs import TangentFamily
from shiftjax.gradients.forward.tangents import Directions, Forward, Tangents
from shiftjax.kernels.backends import make_kernel
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph
from shiftjax.lanes.jaxprs import graph_of_jaxpr
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.run_metrics import Metrics
from shiftjax.mechanism.model import Model
from shiftjax.run.advance.schedule import STEPS
from shiftjax.run.advance.settings import Settings
from shiftjax.run.beginning import start_from
from shiftjax.run.options import options_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from shiftjax.topology.partition import Partition
from tests.extensions import maxwell  # noqa: F401  # enters its kind
from tests.kernels.test_reverse import CASES, ROUNDING
from tests.support.complex_runs import run_tangents
from tests.support.graphs import evaluate
from tests.support.models.mechanisms import four_bars, rod

OF_METRICS = 1e-10  # instants of extremes divide by second differences, of 1e-4 of the values
EXACT = 1e-11  # relative to the largest: the same derivatives, rounded in another order in every step of a run
DIFFERENCES = 1e-9  # the same against differences of order 6 at a step whose error is below it
WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # of central differences of order 6


# -- graphs ----------------------------------------------------------------------------------------------------------


quick = pytest.mark.usefixtures("quick_llvm")  # the others run code as users have it


@pytest.mark.parametrize("name", CASES)
def test_every_operation_has_the_tangents_that_jax_gives(name):
    function, x = CASES[name]
    n, rng = len(x), np.random.default_rng(0)
    with jax.enable_x64(True):
        graph = graph_of_jaxpr(jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct((), np.float64)] * n), "f64")
        jacobian = np.array(jax.jacfwd(function, tuple(range(n)))(*map(np.float64, x)))
    m, dx = len(graph.outputs), rng.standard_normal((3, n))
    found = np.array(evaluate(forward(graph, n, range(n), range(m), 3), [*x, *dx.ravel()]), float)
    np.testing.assert_allclose(found[:m], np.array(function(*map(np.float64, x))), rtol=ROUNDING)
    np.testing.assert_allclose(found[m:].reshape(3, m), dx @ jacobian.T, rtol=ROUNDING, atol=ROUNDING)


def test_an_operation_without_derivative_is_refused_only_where_one_is_needed():
    graph = Graph()
    graph.outputs = [graph.node("gamma", graph.node("in", 0)), graph.node("in", 1)]
    assert len(forward(graph, 2, [1], [1], 1).outputs) == 3
    with pytest.raises(NotImplementedError, match="gamma"):
        forward(graph, 2, [0], [0], 1)


def test_what_does_not_depend_on_the_inputs_costs_nothing():
    graph = Graph()
    x, y = graph.node("in", 0), graph.node("in", 1)
    graph.outputs = [graph.mul(x, x), graph.mul(y, graph.node("sin", y))]
    tangent = forward(graph, 2, [0], [0, 1], 1)
    assert [name for name, *_ in tangent.nodes].count("cos") == 0
    assert tangent.value(tangent.outputs[3]) == 0.0


# -- whole runs ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Run:
    """An ordinary run, and what derives it."""

    model: Model
    vary: Mapping[str, Any]
    options: Mapping[str, Any]
    prepared: Prepared
    forward: Forward
    began: Start
    settings: Settings
    result: Result

    @classmethod
    def of(
        cls, model: str | Model, vary: Mapping[str, Any], span: float, step: float, every: int = 1, **more: Any
    ) -> Run:
        model = shiftjax.load(model) if isinstance(model, str) else model
        options = {"span": span, "step": step, "output_step": every * step, "channels": (), "metrics": None, **more}
        prepared = prepare(model, vary, options_of(**{key: more[key] for key in ("drive", "method") if key in more}))
        resolve = prepared.model.resolve
        observed = channels_of(prepared.plan, options["channels"], resolve)
        measured = Metrics(options["metrics"], prepared.plan, resolve, (0.0, span))
        family = TangentFamily(Programs(prepared.setup, observed, measured))
        deriving = Forward(prepared, make_kernel("cpu", "f64", None), family, measured)
        began = start_from(prepared, None, {})
        settings = Settings(step, round(span / step), every)
        result = shiftjax.simulate(model, vary=vary, **options)
        return cls(model, vary, options, prepared, deriving, began, settings, result)

    def tangents(self, directions: Directions, **more: Any) -> Tangents:
        assert self.result.schedule is not None
        return self.forward.run(self.result.schedule, self.settings, self.began, directions, **more)

    def random(self, count: int) -> Directions:
        """Directions in which everything changes that a run begins with."""
        plan, rng = self.prepared.plan, np.random.default_rng(1)
        sizes = (plan.nq, plan.nv, plan.ns, len(self.prepared.setup.varied))
        return Directions(*(rng.standard_normal((n, self.prepared.members, count)) for n in sizes))

    def numbers(self) -> Directions:
        """The direction in which each varied number of each member grows by itself, at a start that stays."""
        plan, shape = self.prepared.plan, (self.prepared.members, 1)
        q, v, states = (np.zeros((n, *shape)) for n in (plan.nq, plan.nv, plan.ns))
        return Directions(q, v, states, self.prepared.parameters()[:, :, None])

    def differences(self, size: float) -> tuple[np.ndarray, np.ndarray]:
        """Those of channels and metrics in the direction of `numbers`."""
        parts = []
        for k, weight in WEIGHTS:
            for sign in (1, -1):
                vary = {path: np.asarray(values) * (1 + sign * k * size) for path, values in self.vary.items()}
                again = shiftjax.simulate(self.model, vary=vary, schedule=self.result.schedule, **self.options)
                parts.append([sign * weight / size * x for x in _arrays(again)])
        channels, metrics = (np.sum(own, axis=0) for own in zip(*parts, strict=True))
        return channels, metrics


def _arrays(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Channels (B, n, c) and metrics (B, m)."""
    members, n = len(result.status), len(result.time)
    channels = [np.reshape(values, (members, n, -1)) for values in result.channels.values()]
    return np.concatenate(channels, -1), np.reshape([*result.metrics.values()], (-1, members)).T


def _off(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, in parts of the largest entry of its channel or metric."""
    axes = tuple(range(expected.ndim - 1))
    scale = np.abs(expected).max(axes)
    return float((np.abs(found - expected).max(axes) / np.where(scale > 0, scale, 1.0)).max())


def _check_by_complex_steps(run: Run, count: int = 2) -> None:
    """Tangents in random directions of everything; no run here leaves its first partition."""
    assert run.result.schedule is not None and len(run.result.schedule.member) == 0
    blocks = (own[0] for own in run.result.schedule.blocks)
    partition, directions = Partition(tuple(blocks)), run.random(count)
    start = (run.began.q, run.began.v, run.began.states, run.prepared.parameters())
    found = run.tangents(directions)
    for d in range(count):
        parts = (directions.q, directions.v, directions.states, directions.p)
        along = [part[:, :, d] for part in parts]
        channels, metrics = run_tangents(
            run.prepared, partition, run.forward.family.plain.channels, run.forward.measured, start, along,
            run.settings.h, run.settings.steps,
        )  # fmt: skip
        assert _off(found.channels[..., d], channels) < EXACT
        if metrics.shape[1]:
            np.testing.assert_allclose(found.metrics[..., d], metrics, rtol=OF_METRICS, atol=1e-12)


METRICS = {
    "final": "final(rocker_pivot.q)",
    "minimum": "minimum(rocker_pivot.v)",
    "maximum": "maximum(rocker_pivot.q)",
    "peak to peak": "peak_to_peak(crank_pivot.v)",
    "integral": "integral(rocker_pivot.q)",
    "mean": "mean(energy.kinetic)",
    "rms": "rms(rocker_pivot.v)",
    "when": "time_of_maximum(rocker_pivot.q)",
    "crossing": "first_crossing((crank_pivot.q - 1.0472) ** 2, 0.003)",
    "turns": "sign_changes(rocker_pivot.v - 1)",
    "settling": "settling_time((crank_pivot.q - 1.0472) ** 2, 0.25, 0.248)",
    "value at": "value_at(rocker_pivot.q, 0.05)",
    "between steps": "value_at(rocker_pivot.q, 0.0503)",
    "path": "path_distance([rocker_pivot.q, crank_pivot.q], [[0.1, 0.2], [0.3, 0.1]])",
    "tracking": "tracking_error([rocker_pivot.q, crank_pivot.q], [0.02, 0.061], [[0.1, 0.2], [0.3, 0.1]])",
    "expression": "rms(rocker_pivot.v) / (1 + maximum(abs(rocker_pivot.q))) ** 1.5",
}


def test_a_loop_and_every_metric():
    vary = {"crank.mass": [1.0, 1.4], "coupler.mass": [1.0, 0.8], "crank_pivot.initial_velocity": [2.0, -3.0]}
    channels = ["rocker_pivot.q", "crank_pivot.v", "coupler.position", "rocker_pivot.a"]
    run = Run.of("four_bar", vary, 0.1, 1e-3, channels=channels, metrics=METRICS)
    assert all(np.isfinite(values).all() for values in run.result.metrics.values())
    _check_by_complex_steps(run)


def test_a_metric_that_is_none_has_no_tangent_and_spoils_no_other():
    metrics = {"never": "first_crossing(rocker_pivot.q, 99)", "last": "final(rocker_pivot.q)"}
    run = Run.of("four_bar", {"crank.mass": [1.0]}, 0.05, 1e-3, channels=["rocker_pivot.q"], metrics=metrics)
    found = run.tangents(run.random(1))
    assert np.isnan(found.metrics[0, 0, 0])
    np.testing.assert_allclose(found.metrics[0, 1], found.channels[0, -1, 0], rtol=EXACT)


@quick
def test_substructures_that_share_a_base():
    masses = {f"{name}_rod.mass": [0.5, 0.7] for name in ("first", "second", "third")}
    run = Run.of("three_slider_cranks", masses, 0.05, 1e-3, channels=["first_guide.q", "third_crank_pivot.v"])
    _check_by_complex_steps(run)


@quick
def test_equal_islands_share_code_and_not_their_tangents():
    masses = {f"bar{k}:rocker.mass": [1.0, 1.0 + 0.1 * k] for k in range(3)}
    channels = [f"bar{k}:hinge.q" for k in range(3)]
    run = Run.of(four_bars(3), masses, 0.05, 1e-3, channels=channels, metrics={"last": "rms(bar2:pivot.v)"})
    assert any(piece.repeats for piece in run.forward.family.plain.of(_first(run)).accelerate)
    _check_by_complex_steps(run)


def _first(run: Run) -> Partition:
    assert run.result.schedule is not None
    return Partition(tuple(own[0] for own in run.result.schedule.blocks))


def tree() -> Model:
    """A ball joint, an elbow and a slider."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    arm = builder.assembly("arm")
    for name in ("upper", "lower", "foot"):
        arm.body(name, **rod(0.5))
    arm.joint("shoulder", "spherical", child="upper", initial_velocity=[1.0, -2.0, 0.5])
    arm.joint("elbow", "Ry", parent=("upper", "tip"), child="lower", initial_velocity=2.0)
    arm.joint("slide", "Tx", parent=("lower", "tip"), child="foot", initial_velocity=0.3)
    return builder.build()


@quick
def test_a_tree_with_quaternions():
    run = Run.of(
        tree(), {"lower.mass": [1.0, 1.3], "foot.mass": [0.4, 0.5]}, 0.2, 1e-3,
        channels=["shoulder.q", "foot.position", "elbow.v"], metrics={"speed": "rms(norm(foot.velocity))"},
    )  # fmt: skip
    _check_by_complex_steps(run)


def driven() -> Model:
    """Two rods, a Maxwell element in the second joint: a force with a state, whose work is integrated."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    arm = builder.assembly("arm").body("upper", **rod(0.5)).body("lower", **rod(0.4))
    arm.joint("shoulder", "Ry", child="upper")
    arm.joint("elbow", "Ry", parent=("upper", "tip"), child="lower", initial_velocity=2.0)
    arm.force("creep", "maxwell", joint="elbow", k=3.0, c=0.7)
    return builder.build()


def test_states_of_forces_and_constants_of_drives():
    drive = {"shoulder": Harmonic(amplitude=np.array([0.3, 0.4]), frequency=np.array([5.0, 8.0]))}
    vary = {"creep.k": [3.0, 8.0], "creep.c": [0.7, 0.2], "lower.mass": [1.0, 2.0]}
    run = Run.of(driven(), vary, 0.2, 1e-3, channels=["creep.stretch", "elbow.q"], drive=drive)
    assert len(run.prepared.setup.varied) > len(vary), "the drive has varied constants"
    assert run.prepared.setup.quadratures
    _check_by_complex_steps(run)


def test_semi_implicit_euler():
    run = Run.of("pendulum", {"pivot.initial_velocity": [0.5, 1.0]}, 0.1, 1e-3, channels=["pivot.q"], method="euler")
    _check_by_complex_steps(run)


@quick
def test_through_a_repartition():
    vary = {"rod2.mass": [1.0, 1.2], "rod4.mass": [1.0, 0.9]}
    run = Run.of("bricard", vary, 2.0, 1e-3, 10, channels=["joint1.q", "joint3.v"], metrics={"i": "integral(joint1.q)"})
    assert (run.result.certificate["repartitions"] > 0).all()
    found, (channels, metrics) = run.tangents(run.numbers()), run.differences(3e-3)
    assert _off(found.channels[..., 0], channels) < DIFFERENCES
    assert _off(found.metrics[..., 0], metrics) < DIFFERENCES


@quick
def test_through_moved_steps_every_instant_of_which_is_recorded():
    vary = {"crank_0.mass": [1.2, 1.0], "crank_2.mass": [1.2, 1.0]}
    run = Run.of("n_four_bar_2", vary, 2.0, 1e-3, channels=["pivot_0.q", "pivot_2.q"])
    schedule = run.result.schedule
    assert schedule is not None
    assert (schedule.substructure == STEPS).any(), "no steps were moved"
    found, (channels, _) = run.tangents(run.numbers()), run.differences(3e-2)  # smaller ones are lost in rounding
    assert _off(found.channels[..., 0], channels) < DIFFERENCES
    for member, clock in zip(schedule.member, schedule.clock, strict=True):
        inside = slice(clock, clock + 4)
        assert _off(found.channels[member, inside, :, 0], channels[member, inside]) < DIFFERENCES


def test_directions_are_taken_some_at_a_time():
    run = Run.of("four_bar", {"crank.mass": [1.0, 1.4]}, 0.1, 1e-3, 10, channels=["rocker_pivot.q"],
                 metrics={"x": "final(rocker_pivot.q)"})  # fmt: skip
    directions = run.random(3)
    together, alone = run.tangents(directions), run.tangents(directions, batch=1)
    assert together.channels.shape == (2, 11, 1, 3)
    assert together.metrics.shape == (2, 1, 3)
    np.testing.assert_allclose(together.channels, alone.channels, rtol=0, atol=EXACT)
    np.testing.assert_allclose(together.metrics, together.channels[:, -1])
    np.testing.assert_allclose(together.growth, alone.growth, rtol=EXACT)


def test_members_that_end_early_have_no_tangents_after_their_end():
    vary = {"crank_pivot.initial_velocity": [2.0, np.nan, 400.0]}
    run = Run.of("four_bar", vary, 1.0, 1e-2, channels=["rocker_pivot.q"], metrics={"x": "mean(rocker_pivot.q)"})
    assert list(run.result.status > 0) == [False, True, True]
    found = run.tangents(run.random(1))
    assert np.isfinite(found.metrics[:, 0, 0]).tolist() == [True, False, False]
    assert np.isfinite(found.channels).all((1, 2, 3)).tolist() == [True, False, False]
    assert np.isnan(found.channels[1:]).all()
    assert np.isnan(found.end[:, 1:]).all()


def test_a_metric_of_arrays_is_refused():
    with pytest.raises(ModelError, match="a function of arrays"):
        Run.of("pendulum", {"link.mass": [1.0]}, 0.1, 1e-2, metrics={"x": lambda time, channels: np.zeros(1)})
