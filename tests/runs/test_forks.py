"""A process that is forked, also while another thread simulates, can simulate itself: nothing in it waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FORKING = """
import faulthandler, os, sys, threading, time
import numpy as np
import shiftjax
from shiftjax.kernels.llvm.elimination import eliminate

def simulated(first):
    vary = {"coupler.mass": first + np.linspace(0.0, 1e-3, 64)}
    return shiftjax.simulate("four_bar", 0.01, vary=vary, threads=2, hold=["crank_pivot"]).status.max() <= 0

def eliminated():
    A = np.random.default_rng(0).normal(size=(20_000, 6, 4))
    eliminate(A, np.zeros((20_000, 6), np.int64), np.zeros((20_000, 4), np.int64), 1e-8, 1e-12)
    return True

def compiled(k):  # another constant is another program
    return shiftjax.simulate("four_bar", 0.01, assign={"coupler.mass": 1.0 + 1e-3 * k}).status <= 0

def many():
    for k in range(1000):
        if over:
            return
        compiled(k)

over = []
assert simulated(1.0) and eliminated()
beside = threading.Thread(target=many)
beside.start()
children = []
for child in range(8):
    time.sleep(0.05)
    pid = os.fork()
    if not pid:
        faulthandler.dump_traceback_later(60, exit=True)
        os._exit(0 if simulated(1.1) and eliminated() and compiled(2000 + child) else 3)
    children.append(pid)
codes = [os.waitpid(pid, 0)[1] for pid in children]
over.append(True)
beside.join()
print(codes)
assert not any(codes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system that forks")
def test_forked_processes_simulate(tmp_path: Path) -> None:
    """Beside a thread that compiles and runs; in a process of its own, where nothing else runs."""
    environment = {**os.environ, "SHIFTJAX_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-W", "ignore", "-c", FORKING]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
