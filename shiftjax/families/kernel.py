"""Runs the compiled programs of linkages over arrays, in several threads."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.families.programs import program_text
from shiftjax.families.value_program import JOB
from shiftjax.kernels.forks import Threads, cores
from shiftjax.kernels.llvm.objects import Loader, stored_object
from shiftjax.kernels.llvm.target import host
from shiftjax.kernels.workers import Stop, share_out

LINE = 8  # numbers of a cache line
CHUNK = 64  # linkages a thread takes at once
_CORES = cores()
_OF_THREAD = threading.local()
_CODE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def width() -> int:
    """Poses of a vector."""
    return host("f64").width


def row_length(poses: int) -> int:
    """Numbers from a row to the next: an odd number of cache lines, so that rows do not share sets of the cache."""
    return LINE * (-(-poses // LINE) | 1)


def aligned(shape: tuple[int, ...]) -> np.ndarray:
    """An array of numbers that begins at a cache line, its values undefined."""
    size = int(np.prod(shape))
    memory = np.empty(size + LINE)
    first = -memory.ctypes.data % (8 * LINE) // 8
    return memory[first : first + size].reshape(shape)


@functools.cache
def _program(kind: str, order: int) -> tuple[Loader, Any]:
    """A compiled program; its loader stays with it."""
    target = dataclasses.replace(host("f64"), interleave=1)
    name = f"shiftjax_linkages_{kind}_{order}"
    text = program_text(kind, order, name, target)
    loader = Loader(target)
    loader.add(stored_object(name, text, lambda: text, target, optimize=True))
    loader.finish()
    return loader, _CODE(loader.address(name))


def run(
    kind: str, order: int, members: int, arrays: Mapping[str, np.ndarray | int | None], workspace: int,
    threads: int | None,
) -> None:  # fmt: skip
    """All linkages.

    Args:
        kind, order: see `program_text`. arrays: pointers and integers of the job. workspace: numbers that a thread
            needs for one linkage. threads: None for as many as there are cores.
    """
    _, code = _program(kind, order)
    job = np.zeros(len(JOB), np.int64)
    for name, value in arrays.items():
        job[JOB.index(name)] = value.ctypes.data if isinstance(value, np.ndarray) else value or 0

    def work(first: int, _: Stop, alive: Any = arrays) -> None:  # alive: see `run_all`
        code(job.ctypes.data, _memory(workspace).ctypes.data, first, min(members, first + CHUNK))

    starts = deque(range(0, members, CHUNK))
    count = min(threads or _CORES, len(starts))
    share_out(_pool(count).pool, count, starts, work)


@functools.cache
def _pool(count: int) -> Threads:
    return Threads(count)


def _memory(size: int) -> np.ndarray:
    """This thread's workspace."""
    if getattr(_OF_THREAD, "memory", np.zeros(0)).size < size:
        _OF_THREAD.memory = aligned((size,))
    return getattr(_OF_THREAD, "memory", np.zeros(0))
