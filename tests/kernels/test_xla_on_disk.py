"""Executables of XLA on disk: found by later processes, compiled anew where they are damaged, bit for bit the same."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import shiftjax
from shiftjax.kernels import object_cache, xla, xla_executables, xla_on_disk
from tests.support import quick_xla
from tests.support.models.sample_programs import advance, pendulum, pendulums, untraceable

LATER = """
import json, jax, shiftjax
events = []
jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, **_: events.append(event))
run = shiftjax.simulate("pendulum", 0.01, 1e-3, backend="xla", channels=["pivot.q"])
compiled = sum(event == "/jax/core/compile/backend_compile_duration" for event in events)
print(json.dumps([compiled, run.channels["pivot.q"].tolist()]))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own for every test; none of JAX's; executables of earlier tests are forgotten."""
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(xla_executables, "_shared", type(xla_executables._shared)())
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    yield tmp_path / "cache"
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()


def forget() -> None:
    """As in another process."""
    xla_executables._shared.clear()


def result(kernel: xla.XlaKernel, program=None) -> bytes:
    """Five pendulums after 20 steps."""
    program = pendulum() if program is None else program
    lanes = pendulums(program, 5)
    kernel.evaluate(program, "project", lanes, 0.0, 1e-3)
    advance(kernel, [(program, lanes, np.arange(5))], 20, 1e-3)
    return lanes.tobytes()


def executables(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.xla"))


@pytest.fixture
def plain_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options of lane programs as a child process has them: those of its environment."""
    known = xla_executables.OPTIONS["cpu"]
    plain = {name: value for name, value in known.items() if name not in quick_xla.OPTIONS}
    monkeypatch.setitem(xla_executables.OPTIONS, "cpu", plain)


@pytest.mark.usefixtures("plain_options")
def test_a_later_process_compiles_nothing_and_has_the_same_bits() -> None:
    run = shiftjax.simulate("pendulum", 0.01, 1e-3, backend="xla", channels=["pivot.q"])
    environment = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True, env=environment)
    assert json.loads(done.stdout) == [0, run.channels["pivot.q"].tolist()]


def test_an_executable_on_disk_needs_no_graph() -> None:
    kernels = [xla.XlaKernel("f64", 1) for _ in range(2)]
    first = result(kernels[0])
    forget()
    assert result(kernels[1], untraceable(pendulum())) == first
    assert [kernel.compiled for kernel in kernels] == [2, 0]
    assert 0 < kernels[1].compile_s < kernels[0].compile_s


def test_damaged_executables_are_compiled_anew(folder: Path) -> None:
    first = result(xla.XlaKernel("f64", 1))
    one, other = executables(folder)
    one.write_bytes(one.read_bytes()[:-7])
    object_cache.write(other.stem, b"not compressed", "xla")  # under a digest that is right
    forget()
    kernel = xla.XlaKernel("f64", 1)
    assert result(kernel) == first and kernel.compiled == 2
    forget()
    kernel = xla.XlaKernel("f64", 1)
    assert result(kernel, untraceable(pendulum())) == first and kernel.compiled == 0, "and written again"


def test_what_changes_the_code_changes_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The method, the precision, JAX's flags; not that another kernel asks."""
    for program, precision in ((pendulum(), "f64"), (pendulum("euler"), "f64"), (pendulum(precision="f32"), "f32")):
        kernel = xla.XlaKernel(precision, 1)
        kernel.evaluate(program, "project", pendulums(program, 2).astype(kernel.dtype), 0.0, 1e-3)
        assert kernel.compiled == 1
    assert len(executables(folder)) == 3
    before = xla_on_disk.machine()
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert xla_on_disk.machine() != before


GONE = ("jax_exec_time_optimization_effort", "jax_memory_fitting_effort")  # since JAX 0.12


@pytest.mark.parametrize("name", xla_on_disk.SETTINGS)
def test_settings_of_jax_that_change_the_executable_change_the_key(name: str) -> None:
    """Each setting is one of JAX that may be changed on the way: a misspelt one would be None whatever it is."""
    before, old = xla_on_disk.machine(), xla_on_disk.setting(name)
    if name in GONE and jax.__version_info__ >= (0, 12):
        pytest.skip("no setting of this JAX")
    words = {"precision": "highest", "level": "O1"}
    changed = words.get(name.split("_")[-1]) or (not old if isinstance(old, bool) else old + 1)
    jax.config.update(name, changed)
    try:
        assert xla_on_disk.machine() != before
    finally:
        jax.config.update(name, old)
    assert xla_on_disk.machine() == before


def test_code_that_is_not_optimized_is_not_taken_for_optimized(folder: Path) -> None:
    program = pendulum()
    try:
        for plain in (False, True):
            jax.config.update("jax_disable_most_optimizations", plain)
            kernel = xla.XlaKernel("f64", 1)
            kernel.evaluate(program, "project", pendulums(program, 2), 0.0, 1e-3)
            assert kernel.compiled == 1
            forget()
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
    assert len(executables(folder)) == 2


def test_without_the_cache_nothing_is_written(folder: Path) -> None:
    result(xla.XlaKernel("f64", 1, cache=False))
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "file"))
    kernel = xla.XlaKernel("f64", 1)
    result(kernel)
    assert kernel.compiled == 2


def test_what_comes_out_of_a_cache_of_jax_runs_and_is_not_stored(folder: Path, tmp_path: Path) -> None:
    """Written a second time, such an executable lacks its functions: the next process failed in its first step."""
    settings = {"jax_compilation_cache_dir": str(tmp_path / "jax"), "jax_persistent_cache_min_compile_time_secs": 0.0}
    before = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in {**settings, "jax_enable_compilation_cache": True}.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
        first = result(xla.XlaKernel("f64", 1))
        for path in executables(folder):
            path.unlink()
        for _ in range(2):
            forget()
            assert result(xla.XlaKernel("f64", 1)) == first
        assert not executables(folder)
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
