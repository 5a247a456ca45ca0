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
from shiftjax.kernels.pivoting.elimination import eliminate

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


INSIDE = """
import os, sys, threading, time
from shiftjax import load, simulate
from shiftjax.lanes.code import Code

def inside(lock):
    with lock:
        began.set()
        time.sleep(0.5)

simulate("pendulum", 0.01, 1e-3)
began, lock = threading.Event(), getattr(vars(Code)["graph"], "lock", threading.Lock())
threading.Thread(target=inside, args=(lock,)).start()
began.wait()
child = os.fork()
if child == 0:
    os._exit(0 if simulate("four_bar", 0.01, 1e-3).status <= 0 else 3)
begun = time.monotonic()
while time.monotonic() - begun < float(sys.argv[1]):
    ended, how = os.waitpid(child, os.WNOHANG)
    if ended:
        sys.exit(os.waitstatus_to_exitcode(how))
    time.sleep(0.05)
os.kill(child, 9)
sys.exit("the child hangs")
"""
ENOUGH = 60.0  # s, for a four-bar on a busy machine; a child that waits for a lock waits for ever


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system that forks")
def test_cached_properties_have_locks_of_their_own(tmp_path: Path) -> None:
    """Python 3.11 has one a property, held while a thread of the parent builds a graph."""
    environment = {**os.environ, "SHIFTJAX_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-W", "ignore", "-c", INSIDE, f"{ENOUGH:g}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
