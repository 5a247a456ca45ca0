"""Executors for `sweep(executor=)` from Dask: processes of this machine, or workers of a cluster that is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from shiftjax.errors import ModelError, installing, need, need_count

LOCAL = "local"
ALLOWED = "local, or the address of a scheduler such as tcp://10.0.0.1:8786"
PATIENCE = 10.0  # s until a scheduler answers


@contextmanager
def executor_of(address: str, *, workers: int | None = None) -> Iterator[Executor]:
    """An executor that runs shards on Dask; a worker that dies costs the shards that it ran, which run again.

    Workers of a cluster need this version of shiftjax and must see the folder of the store under the same name. With
    "local" give `sweep` threads=1, for every core has a process of its own. A worker with several GPUs uses the first
    of them: start one worker a GPU, each with its CUDA_VISIBLE_DEVICES.

    Args:
        address: "local", or that of a scheduler, tcp://HOST:PORT.
        workers: processes with "local"; one for each core where left out.

    Raises:
        ModelError: no package `distributed`, an address that is none, a scheduler that does not answer.
    """
    where = "dask"
    need(where, address, str, ALLOWED)
    if workers is not None:
        need_count("dask: workers", workers, 1)
    if address != LOCAL and "://" not in address:
        raise ModelError(where, repr(address), ALLOWED, "Write the address that `dask scheduler` prints.")
    if find_spec("distributed") is None:
        allowed = "the package of Dask's clusters"
        raise ModelError(where, "no Python package 'distributed'", allowed, installing("dask"))
    from distributed import Client, LocalCluster

    if address == LOCAL:
        count = workers or os.cpu_count() or 1
        more: dict[str, Any] = {"processes": True, "dashboard_address": None}
        with LocalCluster(n_workers=count, threads_per_worker=1, **more) as cluster, Client(cluster) as client:
            yield client.get_executor()
        return
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        fault = f"{address}, which does not answer ({error})"
        raise ModelError(where, fault, ALLOWED, "Start `dask scheduler` and workers, or correct it.") from None
    with client:
        yield client.get_executor()
