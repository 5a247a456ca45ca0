"""What XLA compiles of a lane program: executables for a fixed number of lanes, shared by all kernels of a process."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from shiftjax.kernels.lane_program import DTYPES, PHASES, LaneProgram
from shiftjax.record import record

LOG = logging.getLogger("shiftjax.kernels")
LONG = 30.0  # s; compilations that are expected to be shorter are not announced
COMPILE = 1e-3  # s an operation of a program: 2.0 s for a four-bar's 1 490, 7 s for an N-four-bar's 6 830

# Lanes of a block. On processors a step of 64 four-bars costs 0.56 us a lane, of 512 0.8 us: their numbers outgrow the
# cache. Elsewhere wide blocks are needed, and few widths, since each is compiled.
WIDTH, GROWTH, WIDEST = 64, 8, {"cpu": 64}
ACCELERATOR = 16384
TICKS = 64  # output ticks a call; with one, calls cost as much as a four-bar's ten steps
KEPT = 64  # programs whose executables stay for the next run

# The barriers of `graph_in_jax` hold if the pass that takes them out is left out. Blocks are divided over our own
# threads: XLA's divide each operation, which costs up to twice the processor time.
OPTIONS = {"cpu": {"xla_disable_hlo_passes": "cse_barrier_expander", "xla_cpu_multi_thread_eigen": False}}


def width_of(lanes: int) -> int:
    """Width of the blocks for some lanes."""
    width, widest = WIDTH, WIDEST.get(jax.default_backend(), ACCELERATOR)
    while width < min(lanes, widest):
        width *= GROWTH
    return min(width, widest)


@record
class Code:
    """Functions of one block of lanes.

    Attributes:
        advance: table (rows, W), stops (TICKS, W), how many of them, h, t0 -> table, and (TICKS, 2 + nc, W): clock,
            trip and channels at each stop.
        phase: name, table, h, t0 -> (n, W) what the phase writes, alone in a tuple.
    """

    advance: Callable[..., Any]
    phase: Callable[..., Any]


class Executables:
    """Those of one program, compiled when they are first asked for.

    Args:
        code: traces the pieces.
    """

    def __init__(self, program: LaneProgram, precision: str, code: Callable[[], Code]) -> None:
        self.program, self.precision = program, precision
        self._make = code
        self._code: Code | None = None
        self._known: dict[tuple[str, int], Callable[..., Any]] = {}
        self._lock = threading.Lock()

    def trace(self) -> float:
        """Traces the pieces and says how many seconds it took, 0 where that was done before."""
        with self._lock:
            if self._code is not None:
                return 0.0
            begun = time.perf_counter()
            self._code = self._make()
            return time.perf_counter() - begun

    def of(self, kind: str, width: int) -> tuple[Callable[..., Any], float]:
        """What advances (kind "advance") or runs a phase, and the seconds that making it took, 0 where it was there."""
        with self._lock:
            known = self._known.get((kind, width))
            if known is not None:
                return known, 0.0
            begun = time.perf_counter()
            found = self._known[kind, width] = self._compile(kind, width)
            return found, time.perf_counter() - begun

    def _compile(self, kind: str, width: int) -> Callable[..., Any]:
        assert self._code is not None, "traced before"
        code, dtype = self._code, np.dtype(DTYPES[self.precision])
        with jax.enable_x64(self.precision == "f64"):
            table = jax.ShapeDtypeStruct((self.program.layout.row_count, width), dtype)
            stops = jax.ShapeDtypeStruct((TICKS, width), dtype)
            count, number = jax.ShapeDtypeStruct((), np.dtype(np.int32)), jax.ShapeDtypeStruct((), dtype)
            function, arguments = partial(code.phase, kind), (table, number, number)
            if kind == "advance":
                function, arguments = code.advance, (table, stops, count, number, number)
            traced = jax.jit(function).trace(*arguments)
            self._announce(kind, operations(traced.jaxpr.jaxpr))
            return traced.lower().compile(compiler_options=OPTIONS.get(jax.default_backend()))

    def _announce(self, kind: str, count: int) -> None:
        if count * COMPILE > LONG:
            LOG.warning("XLA compiles %s, %d operations: about %.0f s; backend=\"cpu\" needs a fraction of it",
                        kind, count, count * COMPILE)  # fmt: skip


_shared: OrderedDict[tuple, Executables] = OrderedDict()
_sharing = threading.Lock()


def program_key(program: LaneProgram, precision: str) -> tuple:
    """What decides the executables of a program."""
    pieces = tuple((name, tuple(piece.identity() for piece in program.phase(name))) for name in PHASES)
    device = str(jax.config.jax_default_device)  # type: ignore[attr-defined]
    return program.layout, program.method, pieces, precision, jax.default_backend(), device


def executables(program: LaneProgram, precision: str, code: Callable[[], Code], *, cache: bool = True) -> Executables:
    """Those of a program, the same for programs of equal code.

    Args:
        code: traces the pieces. cache: False for new ones.
    """
    key = program_key(program, precision)
    with _sharing:
        found = _shared.pop(key, None) if cache else None
        found = found or Executables(program, precision, code)
        if cache:
            _shared[key] = found
        while len(_shared) > KEPT:
            _shared.popitem(last=False)
    return found


def operations(jaxpr: Any) -> int:
    """How many operations a jaxpr has, those of its loops and branches included."""
    inner = [v for eqn in jaxpr.eqns for p in eqn.params.values() for v in (p if isinstance(p, tuple) else (p,))]
    bodies = [getattr(v, "jaxpr", v) for v in inner if hasattr(getattr(v, "jaxpr", v), "eqns")]
    return len(jaxpr.eqns) + sum(map(operations, bodies))
