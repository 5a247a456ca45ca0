"""What XLA compiles: how often, how long it says that took, and that blocks change nothing of a lane."""

import logging
import time
from collections import deque
from functools import partial

import jax
import numpy as np
import pytest

import shiftjax
from shiftjax.algebra import sin
from shiftjax.cli import main
from shiftjax.kernels import xla, xla_executables
from shiftjax.kernels.graph_in_jax import evaluate
from shiftjax.kernels.workers import Stop
from shiftjax.lanes.building import graph_of
from tests.support.models.sample_programs import advance, pendulum, pendulums

COMPILED = "/jax/core/compile/backend_compile_duration"
PREPARED = (COMPILED, "/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration")
KINDS = 4  # executables of a program, at most: advance, project, accelerate, observe
MEMBERS = 24


@pytest.fixture
def durations(tmp_path, monkeypatch):
    """What JAX says of its own work: event -> seconds each; none of an earlier test is here or on disk."""
    seconds: dict[str, list[float]] = {}

    def listen(event: str, duration_secs: float, **_: object) -> None:
        seconds.setdefault(event, []).append(duration_secs)

    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path))
    xla_executables._shared.clear()
    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seconds
    jax.monitoring.unregister_event_duration_listener(listen)


def test_any_number_of_lanes_compiles_once(durations):
    """24 group sizes were 24 compilations."""
    program, kernel = pendulum(), xla.XlaKernel("f64")
    for lanes in (1, 2, 3, 63, 64, 65, 200):
        table = pendulums(program, lanes)
        kernel.evaluate(program, "project", table, 0.0, 1e-3)
        advance(kernel, [(program, table, np.arange(lanes))], 5, 1e-3)
    assert kernel.compiled == len(durations[COMPILED]) == 2, "advance and project"


@pytest.mark.usefixtures("quick_xla")
def test_a_sweep_with_repartitions_compiles_each_program_once_and_says_how_long(durations):
    """Lengths vary, so that members trip at different times and partitions are shared by ever other numbers of them."""
    random = np.random.default_rng(1)
    vary = {f"{bar}:tip.T[0]": random.uniform(0.8, 1.2, MEMBERS) for bar in ("crank", "coupler", "rocker")}
    vary["crank_pivot.initial_velocity"] = random.uniform(3.0, 15.0, MEMBERS)
    run = partial(shiftjax.simulate, "four_bar", 0.25, 1e-3, output_step=0.05, vary=vary, channels=["rocker_pin.q"])
    first = run(backend="xla")
    trips = first.certificate["rejected"].sum()
    assert trips >= MEMBERS / 6
    compilations = len(durations[COMPILED])
    assert 0 < compilations <= KINDS * first.programs
    inside = sum(sum(durations[event]) for event in (COMPILED, PREPARED[2]))
    assert inside <= first.compile_s < first.wall_s
    second = run(backend="xla")
    assert len(durations[COMPILED]) == compilations and second.compile_s == 0.0, "executables stay in the process"
    np.testing.assert_array_equal(first.channels["rocker_pin.q"], second.channels["rocker_pin.q"])
    other = run(backend="cpu")
    assert (other.status == first.status).all()
    off = np.abs(first.channels["rocker_pin.q"] - other.channels["rocker_pin.q"]).max()
    assert off < 1e-10, "rounding of 250 steps"


def test_lanes_have_the_same_bits_in_any_block():
    """Blocks have one width, so that a lane meets the same code whatever its company, however often it is recorded."""
    program, kernel = pendulum(), xla.XlaKernel("f64")
    table = pendulums(program, 150)
    kernel.evaluate(program, "project", table, 0.0, 1e-3)
    alone = [np.ascontiguousarray(table[:, [k]]) for k in (0, 70, 149)]
    out = np.full((150, 101, 2), np.nan)
    advance(kernel, [(program, table, np.arange(150))], 100, 1e-3, every=1, out=out)
    for k, lane in zip((0, 70, 149), alone, strict=True):
        seen = np.full((1, 11, 2), np.nan)
        advance(kernel, [(program, lane, np.arange(1))], 100, 1e-3, every=10, out=seen)
        assert lane[:, 0].tobytes() == table[:, k].tobytes()
        np.testing.assert_array_equal(seen[0, 1:], out[k, 10::10])
    assert np.isfinite(out[:, 1:]).all(), "more ticks than one call has"


def test_threads_change_nothing():
    program = pendulum()
    tables = []
    for threads in (1, 3):
        kernel = xla.XlaKernel("f64", threads)
        tables.append(pendulums(program, 300))
        kernel.evaluate(program, "project", tables[-1], 0.0, 1e-3)
        advance(kernel, [(program, tables[-1], np.arange(300))], 20, 1e-3)
    assert tables[0].tobytes() == tables[1].tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_after_an_error_no_other_block_is_begun(threads):
    begun = []

    def broken() -> None:
        raise KeyboardInterrupt

    def short() -> None:
        begun.append(1)
        time.sleep(0.01)

    work = deque([broken, *[short] * 1000])
    with pytest.raises(KeyboardInterrupt):
        xla._in_turn(work, threads, Stop())
    assert len(begun) < 900 and len(begun) + len(work) == 1000


def test_a_long_compilation_is_announced(monkeypatch, caplog):
    """Before it begins, with how long it will take."""
    monkeypatch.setattr(xla_executables, "LONG", 1e-3)
    program, kernel = pendulum(), xla.XlaKernel("f64", cache=False)
    with caplog.at_level(logging.WARNING, "shiftjax.kernels"):
        kernel.evaluate(program, "project", pendulums(program, 2), 0.0, 1e-3)
    (record,) = caplog.records
    assert record.message.startswith("XLA compiles project, ") and "backend=" in record.message


@pytest.mark.skipif(not xla_executables.BARRIERS_HOLD, reason="XLA of JAX 0.12 takes no barriers")
def test_barriers_keep_xla_from_computing_sines_again():
    """Three values of one sine: XLA alone computes it for each of them, which is what a four-bar's time went to."""
    graph = graph_of(lambda x: (lambda s: (s * x[1], s + x[0], s * s * x[0]))(sin(x[0])), 2)

    def sines(barriers, options) -> int:
        code = jax.jit(jax.vmap(lambda *x: evaluate(graph, x, np.float64, barriers=barriers)))
        return str(code.lower(*[np.ones(64)] * 2).compile(compiler_options=options).as_text()).count(" sine(")

    assert sines(False, None) > 1
    assert sines(True, xla_executables.OPTIONS["cpu"]) == 1


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="said of CPUs alone")
def test_a_large_run_is_told_of_the_faster_backend_before_it_begins(monkeypatch, capfd):
    """Issue 10: a sweep that takes 20 times as long on XLA says so first, where XLA was asked for."""
    assert "backend cpu is some 20 times faster" in xla.slowness_note(xla.LARGE)
    assert not xla.slowness_note(xla.LARGE - 1)
    monkeypatch.setattr(xla, "LARGE", 20.0)
    needs = []
    for backend, span in (("xla", 0.02), ("xla", 0.019), ("cpu", 0.02), (None, 0.02)):
        run = shiftjax.simulate("pendulum", span, 1e-3, output_step=span, backend=backend, announce=needs.append)
        assert any("20 times faster" in note for note in run.notes) == (backend == "xla" and span == 0.02)
    assert [bool(need.faster) for need in needs] == [True, False, False, False]
    assert main(["run", "pendulum", "--span", "0.02", "--step", "0.001", "--backend", "xla"]) == 0
    assert "a run of 20 steps of members with backend xla" in capfd.readouterr().err
