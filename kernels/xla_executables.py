"""What XLA compiles of a lane program: executables for a fixed number of lanes, shared by all kernels of a process, and
by later processes through the disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax

from shiftjax.disk_cache import sources
from shiftjax.kernels import object_cache, xla_on_disk
from shiftjax.kernels.lane_program import PHASES, LaneProgram
from shiftjax.lanes import graph

LANES = Path(graph.__file__).parent
LOG = logging.getLogger("shiftjax.kernels")
LONG = 30.0  # s; compilations that are expected to be shorter are not announced
COMPILE = 1e-3  # s an operation of a program: 2.0 s for a four-bar's 1 490, 7 s for an N-four-bar's 6 830

# Lanes of a block. On processors a step of 64 four-bars costs 0.56 us a lane, of 512 0.8 us: their numbers outgrow the
# cache. Elsewhere wide blocks are needed, and few widths, since each is compiled.
WIDTH, GROWTH, WIDEST = 64, 8, {"cpu": 64}
ACCELERATOR = 16384
TICKS = 64  # output ticks a call; with one, calls cost as much as a four-bar's ten steps
KEPT = 64  # programs whose executables stay for the next run

# The barriers of `graph_in_jax` hold if the pass that takes them out is left out, until JAX 0.12: then its XLA refuses
# the code. Blocks are divided over our own threads: XLA's divide each operation, which takes up to twice the time of
# the processor.
BARRIERS_HOLD = jax.__version_info__ < (0, 12)
OPTIONS: dict[str, dict[str, str | bool]] = {"cpu": {"xla_cpu_multi_thread_eigen": False}}
if BARRIERS_HOLD:
    OPTIONS["cpu"]["xla_disable_hlo_passes"] = "cse_barrier_expander"


def width_of(lanes: int) -> int:
    """Width of the blocks for some lanes."""
    width, widest = WIDTH, WIDEST.get(jax.default_backend(), ACCELERATOR)
    while width < min(lanes, widest):
        width *= GROWTH
    return min(width, widest)


Function = tuple[Callable[..., Any], tuple[Any, ...]]  # one of a block of lanes, and the shapes of what it takes
Functions = Callable[[str, int], Function]  # of a kind, for a width


class Executable(NamedTuple):
    """A function that XLA compiled, and what it took to have it: nothing where it was there."""

    run: Callable[..., Any]
    compiled: bool = False  # whether it was, by this process
    seconds: float = 0.0  # of tracing, lowering and compiling it, or of reading it from the disk


class Executables:
    """Those of one program: in this process, else on disk, else compiled when they are first asked for.

    Args:
        identity: text that decides them. functions: traces the pieces of the program. disk: whether they are on disk.
    """

    def __init__(self, identity: str, precision: str, functions: Callable[[], Functions], *, disk: bool) -> None:
        self.identity, self.precision, self.disk = identity, precision, disk
        self._trace = functions
        self._functions: Functions | None = None
        self._known: dict[tuple[str, int], Executable] = {}
        self._lock = threading.Lock()

    def of(self, kind: str, width: int) -> Executable:
        """What advances (kind "advance"), runs a phase, or goes back, for blocks of so many lanes."""
        with self._lock:
            known = self._known.get((kind, width))
            if known is not None:
                return known
            begun = time.perf_counter()
            name = object_cache.key(self.identity, kind, str(width), repr(OPTIONS), xla_on_disk.machine())
            loaded = xla_on_disk.load(name) if self.disk else None
            if loaded is not None:
                run = loaded
            elif self.disk:
                run = xla_on_disk.compiled(name, lambda: self._compile(kind, width))
            else:
                run = self._compile(kind, width)
            self._known[kind, width] = Executable(run)
            return Executable(run, loaded is None, time.perf_counter() - begun)

    def _compile(self, kind: str, width: int) -> jax.stages.Compiled:
        with jax.enable_x64(self.precision == "f64"):
            if self._functions is None:
                self._functions = self._trace()
            function, shapes = self._functions(kind, width)
            traced = jax.jit(function).trace(*shapes)
            self._announce(kind, operations(traced.jaxpr.jaxpr))
            return traced.lower().compile(compiler_options=OPTIONS.get(jax.default_backend()))

    def _announce(self, kind: str, count: int) -> None:
        if count * COMPILE > LONG:
            LOG.warning("XLA compiles %s, %d operations: about %.0f s; backend=\"cpu\" needs a fraction of it",
                        kind, count, count * COMPILE)  # fmt: skip


_shared: OrderedDict[str, Executables] = OrderedDict()
_sharing = threading.Lock()


def identity(program: LaneProgram, precision: str) -> str:
    """What decides the executables of a program."""
    pieces = tuple((name, tuple(piece.identity() for piece in program.phase(name))) for name in PHASES)
    return repr((program.layout, program.method, pieces, precision, sources(LANES)))


def executables(
    identity: str, precision: str, functions: Callable[[], Functions], *, cache: bool = True
) -> Executables:
    """Those of a program, the same for programs of equal code.

    Args:
        identity: text that decides them. functions: traces the pieces. cache: False for new ones, which are not on
            disk, either.
    """
    if not cache:
        return Executables(identity, precision, functions, disk=False)
    key = repr((identity, xla_on_disk.machine()))
    with _sharing:
        shared = _shared.pop(key, None) or Executables(identity, precision, functions, disk=True)
        _shared[key] = shared
        while len(_shared) > KEPT:
            _shared.popitem(last=False)
    return shared


def operations(jaxpr: Any) -> int:
    """How many operations a jaxpr has, those of its loops and branches included."""
    inner = [v for eqn in jaxpr.eqns for p in eqn.params.values() for v in (p if isinstance(p, tuple) else (p,))]
    bodies = [getattr(v, "jaxpr", v) for v in inner if hasattr(getattr(v, "jaxpr", v), "eqns")]
    return len(jaxpr.eqns) + sum(map(operations, bodies))
