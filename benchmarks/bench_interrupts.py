"""Sweeps that are told to end at random moments, by SIGINT and SIGTERM, on the command line and in Python.

Every one runs in a process of its own, and every promise is asserted before the table is printed: no crash, no internal
error, the exit code of the signal, members that are done equal to the last bit to those of a whole run, a store that is
whole, nothing beside it, and in Python a next run that is right. One line a case:
    before   signals that came before the command was loaded (the interpreter ends then)
    partial  sweeps that left some members; none: that left none; whole: that had ended
    stop_s   from the signal until the computation has stopped: KeyboardInterrupt in Python, the end of the process on
             the command line, which then has printed its table and written its store; median and largest

    PYTHONPATH=. python benchmarks/bench_interrupts.py
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import shiftjax
from shiftjax.ensembles import store

MODEL, PATH, CHANNEL = "n_four_bar_1", "model_parameters.gravity[0]", "pivot_1.q"
SPAN, OUTPUT = 2.0, 0.5  # s
SIGNALS = (signal.SIGINT, signal.SIGTERM)
ENDED = {signal.SIGINT: 130, signal.SIGTERM: 143}
CHILD = """
import json, signal, sys, time
import numpy as np
import shiftjax
members, more = int(sys.argv[1]), json.loads(sys.argv[2])
def stop(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
def run(count):
    vary = {%(path)r: np.linspace(-1.0, 1.0, members)[:count]}
    return shiftjax.simulate(%(model)r, %(span)r, vary=vary, channels=[%(channel)r], output_step=%(output)r, **more)
small = run(64).channels[%(channel)r]
state = "whole"
print("ready", flush=True)
try:
    try:
        result = run(members)
    finally:
        caught = time.time()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
except shiftjax.Interrupted as error:
    result, state = error.result, "interrupted"
except KeyboardInterrupt:
    result, state = None, "early"
print(json.dumps({"state": state, "caught": caught}), flush=True)
assert (run(64).channels[%(channel)r] == small).all(), "the next run is not right"
if result is not None:
    np.savez(sys.argv[3], status=result.status, channel=result.channels[%(channel)r])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=52, help="how many sweeps are interrupted")
    parser.add_argument("--members", type=int, default=12000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    begun = time.perf_counter()
    full = whole(options.members)
    wall = time.perf_counter() - begun
    print(f"{MODEL}, {options.members} members, {SPAN:g} s at 1 ms; a whole sweep takes {wall:.1f} s")
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "shiftjax", "run", MODEL, "--span", "0.01"], capture_output=True, check=True)
    loading = time.perf_counter() - begun
    cases = itertools.cycle(itertools.product(SIGNALS, ("command, --out", "command", "Python", "Python, keep")))
    found: dict[tuple[str, str], list[tuple[str, float]]] = collections.defaultdict(list)
    for number, how in itertools.islice(cases, options.times):
        delay = float(rng.uniform(0.0, 1.2 * wall))
        with tempfile.TemporaryDirectory() as folder:
            if how.startswith("command"):
                out = Path(folder) / "study.zarr" if "--out" in how else None
                found[how, number.name].append(command(number, out, delay + loading, options.members, full))
            else:
                more = {"keep": 64} if "keep" in how else {}
                found[how, number.name].append(python(number, Path(folder), delay, options.members, more, full))
    print(f"{'case':24}{'signal':9}{'times':>6}{'before':>8}{'none':>6}{'partial':>8}{'whole':>6}{'stop_s':>14}")
    for (how, name), lines in found.items():
        count = collections.Counter(state for state, _ in lines)
        seconds = [took for state, took in lines if state in ("none", "partial")]
        stop = f"{statistics.median(seconds):.2f}, {max(seconds):.2f}" if seconds else ""
        print(f"{how:24}{name:9}{len(lines):6}{count['before']:8}{count['none']:6}{count['partial']:8}"
              f"{count['whole']:6}{stop:>14}")  # fmt: skip


def whole(members: int) -> np.ndarray:
    """(B, n) the channel of a run that nobody interrupts."""
    vary = {PATH: np.linspace(-1.0, 1.0, members)}
    result = shiftjax.simulate(MODEL, SPAN, vary=vary, channels=[CHANNEL], output_step=OUTPUT)
    return result.channels[CHANNEL]


def command(
    number: signal.Signals, out: Path | None, delay: float, members: int, full: np.ndarray
) -> tuple[str, float]:
    """One sweep on the command line: what came of it, and how long it took to end."""
    words = ["sweep", MODEL, "--vary", f"{PATH}=-1:1:{members}", "--span", f"{SPAN}", "--output-step", f"{OUTPUT}"]
    words += ["--channel", CHANNEL, *(["--out", str(out)] if out else [])]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "shiftjax", *words], **pipes) as child:
        time.sleep(delay)
        sent = time.perf_counter()
        child.send_signal(number)
        stdout, stderr = child.communicate(timeout=60)
    took, code = time.perf_counter() - sent, child.returncode
    if code == -number:
        return "before", took
    assert code in (0, ENDED[number]), (code, stderr)
    assert not any(word in stderr for word in ("Traceback", "internal error", "Exception ignored")), stderr
    assert out is None or sorted(path.name for path in out.parent.iterdir()) in ([], [out.name]), "something is left"
    if code == 0 or "interrupted: " not in stderr:
        assert code == 0 or "shiftjax: interrupted" in stderr
        return ("whole" if code == 0 else "none"), took
    assert "members: " in stdout and "certificate" in stdout, "the table is printed"
    done = int(stderr.partition("interrupted: ")[2].split()[0])
    if out is not None:
        assert out.exists() == (done > 0)
        if done:
            stored(out, done, full)
    return ("partial" if done else "none"), took


def stored(path: Path, done: int, full: np.ndarray) -> None:
    """Checks what an interrupted sweep has written."""
    tree = store.read(path)
    members, trajectories = (tree[name].to_dataset() for name in ("members", "trajectories"))
    status = members["status"].values
    assert int((status != shiftjax.Outcome.interrupted).sum()) == done
    kept = trajectories["member"].values
    values = next(v for v in trajectories.data_vars.values() if v.attrs.get("path") == CHANNEL).values
    check(status[kept], values, full[kept])


def check(status: np.ndarray, values: np.ndarray, full: np.ndarray) -> None:
    """Members that are done are bit for bit those of a whole run, the others up to where they are."""
    cut = status == shiftjax.Outcome.interrupted
    assert (values[~cut] == full[~cut]).all()
    assert (np.isnan(values[cut]) | (values[cut] == full[cut])).all() and np.isnan(values[cut, -1]).all()


def python(
    number: signal.Signals, folder: Path, delay: float, members: int, more: dict[str, Any], full: np.ndarray
) -> tuple[str, float]:
    """One sweep in Python: what came of it, and how long it took until the exception was caught."""
    text = CHILD % {"path": PATH, "model": MODEL, "span": SPAN, "channel": CHANNEL, "output": OUTPUT}
    arguments = [str(members), json.dumps(more), str(folder / "result.npz")]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", text, *arguments], **pipes) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        time.sleep(delay)
        sent = time.time()
        child.send_signal(number)
        line = child.stdout.readline()
        _, stderr = child.communicate(timeout=60)
    assert child.returncode == 0, (child.returncode, stderr)
    said = json.loads(line)
    took = max(0.0, said["caught"] - sent)
    if said["state"] == "early":
        return "none", took
    data = np.load(folder / "result.npz")
    check(data["status"], data["channel"], full)
    cut = int((data["status"] == shiftjax.Outcome.interrupted).sum())
    if said["state"] == "whole":
        assert cut == 0
        return "whole", took
    return ("none" if cut == members else "partial"), took


if __name__ == "__main__":
    main()
