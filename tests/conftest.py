"""Strict JAX settings for every test: double precision, no silent broadcasting. Which tests need OpenGL.

What XLA compiles is kept on disk, so that workers, their child processes and the next run share it. So is byte code
where none may be written beside the sources: collecting the tests takes 15 s of processor time without it, 7 s with it.
"""

import ctypes.util
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from shiftjax import disk_cache
from tests.support import quick_xla as quick_xla_options

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(disk_cache.folder() / "tests-xla"))  # read when jax is imported
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # many small ones: up to 40 % of a file
os.environ.setdefault("XLA_FLAGS", quick_xla_options.FLAGS)

if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(disk_cache.folder() / "tests-bytecode")
    sys.dont_write_bytecode = False

import jax
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.execution.sweep import sweep
from shiftjax.ensembles.report import style
from shiftjax.gradients.jumps import passages
from shiftjax.kernels import xla_executables
from shiftjax.kernels.llvm import target
from shiftjax.viewer.scene.scene import Scene
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy
from tests.scenes import many
from tests.scenes.bars import stored
from tests.support import sweeps

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell's background jobs inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

DRAWING = {  # tests/test_NAME.py
    "beside", "borders", "contexts", "drafts", "fonts", "ghost_outlines", "gui_drawing", "gui_live", "gui_panes",
    "gui_shapes", "gui_symbols",
    "member_scenes", "picking", "recording", "renderer", "saved_view", "showing", "shown_curves",
    "springs", "study_designs", "study_pane", "terrain", "typical_members", "velocity_view", "view_undo", "window",
}  # fmt: skip
# Tests with code of LLVM and XLA as users have it: of kernels, of objects, of bits on file, and of runs of many steps.
AS_USED = {"kernels", "test_cache", "test_digest", "test_library_runs", "test_references", "test_scaling"}
USERS_XLA = xla_executables.OPTIONS["cpu"]
PACKAGES = "libegl1 libopengl0 libgl1-mesa-dri"


def pytest_configure() -> None:
    gc.disable()  # until all tests are collected


def pytest_collection_finish() -> None:
    """What is imported stays: the garbage collector need not go through it, nor through young graphs all the time.

    It took 7 % of the processor time of tests of large mechanisms, most of it in going through everything.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # with five times as many and twice the others a worker grew to 6 GB


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where the system has no OpenGL, tests that draw are left out; with SHIFTJAX_NEED_GL set they fail instead."""
    if os.environ.get("SHIFTJAX_NEED_GL") or all(ctypes.util.find_library(name) for name in ("EGL", "OpenGL")):
        return
    for item in items:
        if item.path.stem.removeprefix("test_") in DRAWING:
            item.add_marker(pytest.mark.skip(reason=f"no OpenGL here: apt-get install {PACKAGES}"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    """Three four-bars of different couplers, on disk."""
    return stored(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def scene(study: ViewedStudy) -> Scene:
    """Of the first of them."""
    return MemberScenes(study).first


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command of words; returns exit code, stdout, stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        caught = capsys.readouterr()
        return code, caught.out, caught.err

    return run


@pytest.fixture
def jumps_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients follow no jump of a force, as they follow none of a body that sticks; see `test_gradient_passages`."""
    monkeypatch.setattr(passages, "MOST", 0)


@pytest.fixture
def quick_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick to compile for a test of the files `AS_USED`, too: for those that run few steps of it."""
    monkeypatch.setitem(xla_executables.OPTIONS, "cpu", {**USERS_XLA, **quick_xla_options.QUICK})


def compile_quickly(patch: pytest.MonkeyPatch) -> None:
    """LLVM generates the same operations in half of the time, into slower code.

    Long functions too: a chassis compiles in 0.9 s of processor time, not 3.2, and few of its lanes run as fast.
    """
    patch.setattr(target, "LEVEL", 0)
    patch.setattr(target, "LONG", sys.maxsize)


@pytest.fixture
def quick_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of the files `AS_USED`: for those of large models."""
    compile_quickly(monkeypatch)


@pytest.fixture(scope="module", autouse=True)
def quick_compilers(request: pytest.FixtureRequest) -> Iterator[None]:
    """LLVM generates code in half of the time, into slower code with the same bits, but for the tests `AS_USED`.

    These have the options of XLA that users have, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        if AS_USED.isdisjoint((request.path.parent.name, request.path.stem)):
            compile_quickly(patch)
        else:
            patch.setitem(xla_executables.OPTIONS, "cpu", {**USERS_XLA, **quick_xla_options.AS_USED})
        yield


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of reports without their figures, a third of a second of processor time each, for tests of their words."""
    monkeypatch.setattr(style, "svg", lambda made, description: "<svg></svg>")


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies in shards of `sweeps.SIZE` members."""
    sweeps.small(monkeypatch.setattr)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the study of `sweeps`, run in this process without an interruption; no test changes it."""
    with pytest.MonkeyPatch.context() as patch:
        sweeps.small(patch.setattr)
        return sweep(sweeps.study(), tmp_path_factory.mktemp("whole") / "study.zarr").path


@pytest.fixture(scope="session")
def many_members(tmp_path_factory: pytest.TempPathFactory) -> ViewedStudy:
    """The study of `many`, opened; no test changes its store."""
    return ViewedStudy.open(many.swept(tmp_path_factory.mktemp("many")))


@pytest.fixture(scope="module")
def many_scene(many_members: ViewedStudy) -> Scene:
    """The scene of the first member of `many_members`."""
    return MemberScenes(many_members).first
