"""What this machine has for each backend and for the viewer, what is missing, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.bench.driver import DriverReport, driver_report
from shiftjax.bench.machine import processor, version_of
from shiftjax.bench.probe import CHAINS, CHAINS_OF_GPU, FUSED, X, host_probe, launch_probe
from shiftjax.disk_cache import LIMIT_NAME, folder, limit
from shiftjax.errors import ModelError, installing
from shiftjax.kernels.forks import cores
from shiftjax.kernels.gpu.cuda_device import cuda_device
from shiftjax.kernels.gpu.device import Launch
from shiftjax.kernels.llvm.target import host
from shiftjax.record import record
from shiftjax.run.memory import free_memory, size
from shiftjax.viewer.gl.context import PACKAGES, diagnosis

OLDEST = "13.0"  # CUDA that the driver must run
WHEELS = {"cuda-bindings": "cuda-bindings>=13,<14", "nvidia-nvjitlink": "nvidia-nvjitlink>=13,<14"}
JAX_WHEELS = ("jax-cuda13-plugin", "jax-cuda13-pjrt")  # what jax[cuda13] brings
PREALLOCATE, FRACTION = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION"
ROUNDS = 3  # of the probes
WIDE = 4  # doubles a vector; with fewer a run takes about twice as long
LARGE_CACHE = 5e9  # bytes


@record
class CheckUp:
    """One line of the doctor.

    Attributes:
        part: "cpu", "gpu", "xla", "cache" or "viewer". needed: whether the part cannot work without it.
        state: "ok", "missing", or "note" where it works, but could be better. todo: "" where nothing is to be done.
    """

    part: str
    what: str
    state: str
    text: str
    todo: str = ""
    needed: bool = True


def doctor() -> list[CheckUp]:
    """All lines; never raises for what is missing."""
    driver = driver_report()
    return [*of_cpu(), *of_gpu(driver), *of_xla(driver), *of_cache(), *of_viewer()]


def can_run(lines: list[CheckUp], backend: str) -> bool:
    """Whether nothing that a backend needs is missing."""
    return not any(line.part == backend and line.needed and line.state == "missing" for line in lines)


def of_cpu() -> Iterator[CheckUp]:
    """The backend `cpu`: vectors, threads, and whether compiled code gives the right number."""
    target = host("f64")
    text = f"{processor()} ({target.cpu}): {target.width} doubles or {host('f32').width} floats a vector"
    text += "" if target.fused else ", no fused multiply-adds: results have other bits than elsewhere"
    slow = target.width < WIDE or not target.fused
    todo = "A processor with AVX2 or AVX-512 takes half the time or less." if slow else ""
    yield CheckUp("cpu", "vectors", "note" if slow else "ok", text, todo, needed=False)
    count = cores()
    less = count < (os.cpu_count() or count)
    text = f"{count} of {os.cpu_count()} cores may be used; {size(free_memory())} of memory are free"
    todo = "This process is bound to some of them: see taskset, or the limits of the container." if less else ""
    yield CheckUp("cpu", "threads", "note" if less else "ok", text, todo, needed=False)
    yield _tried("cpu", "compiled code", f"llvmlite {version_of('llvmlite')}", _host_is_right)


def of_gpu(driver: DriverReport | None) -> Iterator[CheckUp]:
    """The backend `gpu`: driver, GPU, wheels, and whether code runs there."""
    yield from _driver_lines("gpu", driver)
    for name, wanted in WHEELS.items():
        there, needed = version_of(name), name == "cuda-bindings"
        todo = "" if there else f"{installing('cuda')}, or pip install '{wanted}'."
        if not there and not needed:
            todo += " Without it the driver assembles kernels, each time anew."
        yield CheckUp("gpu", name, "ok" if there else "missing", there or "not installed", todo, needed=needed)
    if driver is not None and not driver.problem and version_of("cuda-bindings"):
        yield _tried("gpu", "a kernel", "runs on the first GPU", _gpu_is_right)


def _driver_lines(part: str, driver: DriverReport | None) -> Iterator[CheckUp]:
    if driver is None:
        todo = "Install NVIDIA's driver, or in a container start it with its GPUs (docker run --gpus all)."
        yield CheckUp(part, "driver", "missing", "no libcuda.so.1: no NVIDIA driver", todo)
        return
    old = tuple(map(int, driver.version.split("."))) < tuple(map(int, OLDEST.split(".")))
    todo = f"Install a driver of CUDA {OLDEST} or newer." if old else ""
    yield CheckUp(part, "driver", "missing" if old else "ok", f"{driver.library}, CUDA {driver.version}", todo)
    if driver.problem:
        todo = "See whether nvidia-smi lists a GPU, and whether CUDA_VISIBLE_DEVICES hides it."
        yield CheckUp(part, "GPU", "missing", driver.problem, todo)
    for k, gpu in enumerate(driver.gpus):
        text = f"{gpu.name}, compute capability {gpu.capability}, {size(gpu.memory)}, {size(gpu.free)} of it free"
        yield CheckUp(part, f"GPU {k}", "ok", text)


def of_xla(driver: DriverReport | None) -> Iterator[CheckUp]:
    """The backend `xla`: JAX, its devices, its plug-in for NVIDIA GPUs, and the memory that it has taken there."""
    yield CheckUp("xla", "jax", "ok", f"jax {version_of('jax')}, jaxlib {version_of('jaxlib')}")
    if driver is not None and driver.gpus:
        install = f"{installing('cuda')}, or pip install 'jax[cuda13]'; until then xla runs on the CPU."
        for name in JAX_WHEELS:
            there = version_of(name)
            todo = "" if there else install
            yield CheckUp("xla", name, "ok" if there else "missing", there or "not installed", todo, needed=False)
    free = driver.gpus[0].free if driver is not None and driver.gpus else 0
    yield _tried("xla", "devices", "", _xla_is_right)
    try:
        on_gpu = jax.default_backend() == "gpu"
    except RuntimeError:
        return
    if on_gpu:
        yield preallocated(free, driver_report())
    elif driver is not None and driver.gpus:
        yield CheckUp("xla", "GPU", "note", "JAX runs on the CPU", "See its wheels above.", needed=False)


def preallocated(before: int, after: DriverReport | None) -> CheckUp:
    """What JAX took of the first GPU when it was used.

    Args:
        before: bytes that were free.
    """
    took = max(0, before - after.gpus[0].free) if after is not None and after.gpus else 0
    share = took / before if before else 0.0
    setting = os.environ.get(PREALLOCATE, "")
    text = f"JAX has taken {size(took)}, {share:.0%} of what was free ({PREALLOCATE} is {setting or 'not set'})"
    todo = f"Set {PREALLOCATE}=false, or {FRACTION}=0.2, before Python starts, to leave it to backend gpu."
    much = share > 0.5
    return CheckUp("xla", "memory of the GPU", "note" if much else "ok", text, todo if much else "", needed=False)


def of_cache() -> Iterator[CheckUp]:
    """The folder of compiled code."""
    place = folder()
    existing = next((one for one in (place, *place.parents) if one.exists()), Path("/"))
    if not os.access(existing, os.W_OK) or (place.exists() and not place.is_dir()):
        todo = "Set SHIFTJAX_CACHE_DIR to a folder of yours; until then every process compiles anew."
        yield CheckUp("cache", "folder", "missing", f"{place} cannot be written", todo, needed=False)
        return
    files = [one for one in place.rglob("*") if one.is_file()] if place.is_dir() else []
    total = sum(one.stat().st_size for one in files)
    most = limit()
    bound = "no limit" if most is None else f"entries up to {size(most)}"
    todo = f"It may be deleted at any time: what is missing is compiled again. {LIMIT_NAME} limits it."
    text = f"{place}: {len(files)} files, {size(total)}; {bound}"
    yield CheckUp("cache", "folder", "ok", text, todo if total > LARGE_CACHE else "", needed=False)


def of_viewer() -> Iterator[CheckUp]:
    """Packages, OpenGL, and a display."""
    missing = [name for name in PACKAGES if not version_of(name)]
    text = f"not installed: {', '.join(missing)}" if missing else f"all {len(PACKAGES)}"
    yield CheckUp("viewer", "packages", "missing" if missing else "ok", text, installing("viewer") if missing else "")
    lines = [] if "PyOpenGL" in missing else diagnosis()
    graphics = {key: line for line in lines for key in ("OpenGL ", "renderer: ") if line.startswith(key)}
    if len(graphics) == 2:
        yield CheckUp("viewer", "OpenGL", "ok", ", ".join(graphics.values()))
    else:
        lacking = "; ".join(line for line in lines if "missing" in line) or "no context"
        todo = next((line for line in lines if line.startswith("install: ")), "apt-get install libegl1 libgl1-mesa-dri")
        yield CheckUp("viewer", "OpenGL", "missing", lacking, todo)
    display = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or ""
    todo = "" if display else "`render` and `export` need none; for `view` set DISPLAY, or take xvfb-run."
    yield CheckUp("viewer", "display", "ok" if display else "missing", display or "none", todo, needed=False)


def _tried(part: str, what: str, text: str, check: Callable[[], str]) -> CheckUp:
    """A line of something that is tried: it works where nothing is raised.

    Args:
        check: returns what is said besides.
    """
    try:
        more = check()
    except Exception as error:  # whatever a broken installation raises is what is to be said
        why = error.found if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        todo = "Install the packages of this part again, of versions that go together."
        return CheckUp(part, what, "missing", " ".join(why.split()), todo)
    return CheckUp(part, what, "ok", ", ".join(filter(None, (text, more))))


def expected(count: int, number: float) -> float:
    """What a probe gives: the sum of its chains after `ROUNDS` rounds."""
    chains = np.arange(count, dtype=float)
    for _ in range(ROUNDS * FUSED):
        chains = chains * X + number
    return float(chains.sum())


def _host_is_right() -> str:
    value, wanted = float(host_probe(host("f64"))(ROUNDS)[0]), expected(CHAINS, 1.0)
    if not abs(value - wanted) < 1e-12 * wanted:  # some 200 roundings
        raise RuntimeError(f"compiled code gives {value!r} in place of {wanted!r}")
    return "compiles, and is right"


def _gpu_is_right() -> str:
    device, out = cuda_device(), np.zeros(1)
    place = device.allocate(out.nbytes)
    try:
        launch_probe(device, "f64", Launch(1, 1, 0), ROUNDS, place)
        device.download(place, out)
    finally:
        device.free(place)
    wanted = expected(CHAINS_OF_GPU, 0.0)  # the first thread adds nothing
    if not abs(out[0] - wanted) < 1e-12 * wanted:
        raise RuntimeError(f"the GPU gives {out[0]!r} in place of {wanted!r}")
    return ""


def _xla_is_right() -> str:
    with jax.enable_x64(True):
        if float(jax.jit(lambda x: 2.0 * x)(jnp.ones(()))) != 2.0:
            raise RuntimeError("XLA gives a wrong number")
    return ", ".join(f"{device.platform} {device.device_kind}" for device in jax.devices())
