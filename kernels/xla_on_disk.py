"""Executables of XLA on disk, so that a later process neither traces nor compiles what an earlier one did.

They are where the objects of LLVM are, by the same rules (`object_cache`). A four-bar's first run in a process takes
6.1 s of processor time without them and 1.3 s with them; JAX's own cache, which is asked with traced and lowered code,
leaves 1.9 s.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jaxlib.version
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from shiftjax.kernels import object_cache
from shiftjax.kernels.llvm.target import host

HIT = "/jax/compilation_cache/cache_hits"  # what JAX reports when it takes an executable out of its own cache
# Of JAX, what its options for the compiler are made of (0.10, `jax._src.compiler.get_compile_options`) and how products
# of matrices in functions of the user's are lowered. It is all of them that no text of a program shows.
SETTINGS = (
    "jax_disable_most_optimizations",
    "jax_optimization_level",
    "jax_exec_time_optimization_effort",
    "jax_memory_fitting_level",
    "jax_memory_fitting_effort",
    "jax_compiler_enable_remat_pass",
    "jax_use_shardy_partitioner",
    "jax_xla_profile_version",
    "jax_default_matmul_precision",
    "jax_allow_f16_reductions",
)
FAST = 1  # of zlib: a four-bar's 1.5 MB become 0.3
# What a runtime raises that cannot write or read executables, or not these.
REFUSALS = (
    jax.errors.JaxRuntimeError,
    pickle.PickleError,
    zlib.error,
    NotImplementedError,
    ValueError,
    TypeError,
    KeyError,
)


def device() -> Any:
    """The device that JAX runs on where nothing else is said."""
    default: Any = jax.config.jax_default_device  # type: ignore[attr-defined]
    return default if isinstance(default, jax.Device) else jax.devices(default)[0]


def setting(name: str) -> Any:
    """What a setting of JAX is in this thread; some are flags of the process, which no attribute shows."""
    config: Any = jax.config
    return getattr(config, name, config.values.get(name))


def machine() -> str:
    """What decides an executable beside the code: JAX, its flags and settings, the device, and the instructions of the
    processor."""
    where = device()
    flags = os.environ.get("XLA_FLAGS", ""), os.environ.get("LIBTPU_INIT_ARGS", "")
    settings = [str(setting(name)) for name in SETTINGS]
    versions = jax.__version__, jaxlib.version.__version__, where.client.platform_version
    return repr((versions, flags, settings, where.platform, where.device_kind, where.id, host("f64").identity()))


def load(name: str) -> Callable[..., Any] | None:
    """The executable stored as `name`; None for a missing or corrupt one, or one that the runtime does not take."""
    data = object_cache.read(name, "xla")
    if data is None:
        return None
    try:
        return deserialize_and_load(*pickle.loads(zlib.decompress(data)), execution_devices=[device()])
    except REFUSALS:
        return None


def compiled(name: str, compile: Callable[[], jax.stages.Compiled]) -> jax.stages.Compiled:
    """What `compile` returns, stored as `name`.

    An executable that JAX took out of a cache of its own is not stored: written a second time it lacks its functions
    (on processors; jaxlib 0.10).
    """
    with _counted(HIT) as hits:
        executable = compile()
    if not hits:
        try:
            data = zlib.compress(pickle.dumps(serialize(executable)), FAST)
            object_cache.write(name, data, "xla")
        except REFUSALS:
            pass  # it is compiled anew by the next process
    return executable


@contextmanager
def _counted(wanted: str) -> Iterator[list[str]]:
    """Events of JAX that are reported while the context lasts, of any thread."""
    seen: list[str] = []

    def listen(event: str, **_: Any) -> None:
        if event == wanted:
            seen.append(event)

    jax.monitoring.register_event_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_listener(listen)
