"""The search on the processor: lanes of a table in blocks, divided over threads."""

from __future__ import annotations

import ctypes
import functools
from collections import deque
from typing import Any

import numpy as np

from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kernels.llvm.host_function import HostFunction
from shiftjax.kernels.llvm.objects import Loader, stored_object
from shiftjax.kernels.llvm.target import host
from shiftjax.kernels.pivoting.search import MatrixCode, PivotSets, SearchedLanes
from shiftjax.kernels.pivoting.search_text import FIGURES, JOB, host_text, memory_size
from shiftjax.kernels.workers import POOL, Stop, host_threads, share_out

CHUNK = 8  # blocks a thread takes at once: 0.1 to 1 ms
_CODE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PRECISIONS = {name: precision for precision, name in DTYPES.items()}


def search_on_host(code: MatrixCode, jacobian: HostFunction, lanes: SearchedLanes) -> PivotSets:
    """What pivoting says of lanes.

    Args:
        jacobian: the compiled piece of `code`.
    """
    count, layout, table = len(lanes.members), lanes.table.layout, lanes.table
    places = [*layout.rows("q"), *layout.rows("p"), *layout.rows("clock")]
    if table.resident is None:
        numbers, rows = table.shown, np.array(places)
        members = np.ascontiguousarray(lanes.members, np.int64)
    else:  # of a table elsewhere these rows alone are fetched
        parts = [table.rows(name, lanes.members) for name in ("q", "p", "clock")]
        numbers, rows, members = np.concatenate(parts), np.arange(len(places)), np.arange(count)
    sets, figures = np.empty((count, code.words), np.uint64), np.empty((FIGURES, count))
    if not count:
        return PivotSets(sets, *figures)
    arrays = {
        "table": numbers, "members": members, "rows": rows, "places": np.array(code.places, np.int64),
        "choice": np.ascontiguousarray(lanes.choice, np.int64), "old.sets": np.ascontiguousarray(lanes.sets),
        "sets": sets, "figures": figures,
    }  # fmt: skip
    whole = {
        "jacobian": jacobian.address, "lanes": numbers.shape[1], "searched": count, "inputs": len(places),
        "count": len(code.places), "clock": int(rows[-1]), "words": code.words, "m": code.m, "n": code.n,
    }  # fmt: skip
    job, fields = np.zeros(len(JOB), np.int64), [name for name, _ in JOB]
    for name, array in arrays.items():
        job[fields.index(name)] = array.ctypes.data
    for name, number in whole.items():
        job[fields.index(name)] = number
    for name in ("h", "t0", "tolerance"):
        job.view(float)[fields.index(name)] = getattr(lanes, name)
    job.view(float)[fields.index("tie")] = 1.0 - lanes.tie
    _run(job, arrays, code, len(places), count, PRECISIONS[str(numbers.dtype)])
    return PivotSets(sets, *figures)


def _run(
    job: np.ndarray, arrays: dict[str, np.ndarray], code: MatrixCode, inputs: int, count: int, precision: str
) -> None:
    width = host("f64").lanes
    blocks, (_, run) = -(-count // width), _function(precision)
    room = (inputs + len(code.places)) * width + memory_size(code.m, code.n)

    def work(first: int, _: Stop, alive: Any = arrays) -> None:  # alive: see `run_all`
        memory = np.empty(room + width)  # slots are aligned to blocks
        start = memory.ctypes.data
        run(job.ctypes.data, start + -start % (8 * width), first, min(blocks, first + CHUNK))

    share_out(POOL.pool, host_threads(), deque(range(0, blocks, CHUNK)), work)


@functools.cache
def _function(precision: str) -> tuple[Loader, Any]:
    """The compiled code, one for all matrices; its loader is kept with it."""
    target = host("f64")
    name, loader = f"shiftjax_search_{precision}", Loader(target)
    text = host_text(name, host(precision).scalar, target.lanes, target.interleave)
    loader.add(stored_object(name, text, lambda: text, target, optimize=True, vectorize=True))
    loader.finish()
    return loader, _CODE(loader.address(name))
