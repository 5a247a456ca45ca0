"""Sweeps that are told to end at random moments, by SIGINT and SIGTERM, on the command line and in Python.

A signal comes while members run: a child tells when they do, on the command line by its progress bar, in Python by
`progress`; at which part of the run, and how long after, is drawn, with --anywhere any moment of the process, which is
one of its own each time. Every promise is asserted, a line is printed for every sweep and at the end one for a case: no
crash, no internal error, the exit code of the signal, members that are done equal to the last bit to those of a whole
run, a store that can be read and is whole, nothing beside it, and a next run that is right.
    beside   signals while the interpreter begins or ends, which ends it
    partial  sweeps that left some members; none: that left none; whole: that had ended
    stop_s   from the signal until members stand: KeyboardInterrupt in Python, the message on the command line; end_s:
             until a command has printed its table, written its store and ended; median and largest

    PYTHONPATH=. python benchmarks/bench_interrupts.py
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.ensembles.store import store

MODEL, PATH, CHANNEL = "n_four_bar_1", "model_parameters.gravity[0]", "pivot_1.q"
SPAN, OUTPUT = 2.0, 0.5  # s
SIGNALS = (signal.SIGINT, signal.SIGTERM)
ENDED = {signal.SIGINT: 130, signal.SIGTERM: 143}
CASES = ("command, --out", "command", "Python", "Python, keep")
LATEST, AFTER = 0.8, 0.5  # part of a run at which a signal is sent at the latest; s after it
PATIENCE = 120.0  # s until a child is given up
BAR = re.compile(rb"(\d+)%\|")  # percent of the run that a progress bar shows
CHILD = """
import json, signal, sys, time
import numpy as np
import shiftjax
members, more, part = int(sys.argv[1]), json.loads(sys.argv[2]), float(sys.argv[4])
def stop(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
told = []
def tell(done):
    if not told and done >= part:
        told.append(done)
        print("running", flush=True)
def run(count, **how):
    vary = {%(path)r: np.linspace(-1.0, 1.0, members)[:count]}
    how |= {"channels": [%(channel)r], "output_step": %(output)r, **more}
    return shiftjax.simulate(%(model)r, %(span)r, vary=vary, **how)
small = run(64).channels[%(channel)r]
state = "whole"
print("ready", flush=True)
try:
    try:
        result = run(members, progress=tell)
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
    parser.add_argument("--members", type=int, default=40000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--anywhere", action="store_true", help="while a process loads, prepares and writes, too")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        seconds = commanded(signal.SIGTERM, words(options.members, Path(folder) / "whole.zarr"), None).end
        full = stored(Path(folder) / "whole.zarr", options.members)
    print(f"{MODEL}, {options.members} members, {SPAN:g} s at 1 ms; a whole command takes {seconds:.1f} s", flush=True)
    results: dict[tuple[str, str], list[One]] = collections.defaultdict(list)
    cases = itertools.islice(itertools.cycle(itertools.product(SIGNALS, CASES)), options.times)
    for turn, (number, how) in enumerate(cases):
        part, delay = float(rng.uniform(0.0, LATEST)), float(rng.uniform(0.0, AFTER))
        moment = Moment(0.0, 2.4 * seconds * delay) if options.anywhere else Moment(part, delay)
        one = interrupted(number, how, moment, options.members, full)
        results[how, number.name].append(one)
        print(f"{turn + 1:4} of {options.times}: {how}, {number.name}, {moment.delay:.2f} s after {moment.part:.0%}: "
              f"{one.state}, stopped {one.stop:.2f} s, ended {one.end:.2f} s", flush=True)  # fmt: skip
    print(
        f"{'case':18}{'signal':9}{'times':>6}{'beside':>8}{'none':>6}{'partial':>8}{'whole':>6}{'stop_s':>14}{'end_s':>14}"
    )
    for (how, name), lines in results.items():
        figures = counted(lines)
        texts = [", ".join(f"{value:.2f}" for value in figures.get(key, ())) for key in ("stop_s", "end_s")]
        print(f"{how:18}{name:9}{figures['times']:6}{figures['beside']:8}{figures['none']:6}{figures['partial']:8}"
              f"{figures['whole']:6}{texts[0]:>14}{texts[1]:>14}", flush=True)  # fmt: skip
    for (how, name), lines in results.items():
        emit("interrupts", {"case": how, "signal": name, "members": options.members, **counted(lines)})


class Moment(NamedTuple):
    """When a signal is sent: so many seconds after a part of the run is done; part 0: after the process has begun."""

    part: float
    delay: float


class One(NamedTuple):
    """What came of one sweep; seconds from the signal."""

    state: str
    stop: float
    end: float


def interrupted(number: signal.Signals, how: str, moment: Moment, members: int, full: np.ndarray) -> One:
    """One sweep that gets a signal."""
    with tempfile.TemporaryDirectory() as folder:
        if how.startswith("command"):
            return command(number, Path(folder) / "study.zarr" if "--out" in how else None, moment, members, full)
        return python(number, Path(folder), moment, members, {"keep": 64} if "keep" in how else {}, full)


def counted(lines: Sequence[One]) -> dict[str, Any]:
    """What came of the sweeps of one case: whoever is counted here has kept every promise."""
    count = collections.Counter(one.state for one in lines)
    cut = [one for one in lines if one.state in ("none", "partial")]
    figures: dict[str, Any] = {"times": len(lines), "crashes": 0}
    figures |= {state: count[state] for state in ("beside", "none", "partial", "whole")}
    for key, seconds in (("stop_s", [one.stop for one in cut]), ("end_s", [one.end for one in cut])):
        if cut:
            figures[key] = [round(statistics.median(seconds), 3), round(max(seconds), 3)]
    return figures


def words(members: int, out: Path | None) -> list[str]:
    """A sweep on the command line."""
    vary = ["--vary", f"{PATH}=-1:1:{members}", "--span", f"{SPAN}", "--output-step", f"{OUTPUT}"]
    return ["sweep", MODEL, *vary, "--channel", CHANNEL, *(["--out", str(out), "--keep", "all"] if out else [])]


class Ended(NamedTuple):
    """How a command ended; seconds from the signal, or from its begin where there was none."""

    code: int
    stdout: str
    stderr: str
    stop: float
    end: float


def commanded(number: signal.Signals, given: list[str], moment: Moment | None) -> Ended:
    """A command whose messages go to a terminal, where it shows its progress.

    Args:
        moment: when the signal is sent; None for never.
    """
    screen, messages = os.openpty()
    termios.tcsetwinsize(messages, (24, 120))
    text, stop = b"", None
    with subprocess.Popen(
        [sys.executable, "-m", "shiftjax", *given], stdout=subprocess.PIPE, stderr=messages, text=True
    ) as child:
        assert child.stdout is not None
        os.close(messages)
        begun = time.perf_counter()
        if moment is not None:
            while moment.part and not _shown(text) >= 100 * moment.part and (more := _read(screen)):
                text += more
            time.sleep(moment.delay)
            begun = time.perf_counter()
            child.send_signal(number)
        while more := _read(screen):
            text += more
            if stop is None and b"interrupted" in text:
                stop = time.perf_counter() - begun
        stdout = child.stdout.read()
        child.wait(PATIENCE)
        end = time.perf_counter() - begun
    os.close(screen)
    return Ended(child.returncode, stdout, text.decode(), end if stop is None else stop, end)


def _shown(text: bytes) -> int:
    """The percentage that a bar shows."""
    return max(map(int, BAR.findall(text)), default=0)


def _read(terminal: int) -> bytes:
    """What the other side has written; nothing when it has gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def command(number: signal.Signals, out: Path | None, moment: Moment, members: int, full: np.ndarray) -> One:
    """One sweep on the command line."""
    ended = commanded(number, words(members, out), moment)
    code, stderr = ended.code, ended.stderr
    if code == -number or "init_import_site" in stderr:
        return One("beside", ended.stop, ended.end)
    assert code in (0, ENDED[number]), (code, stderr)
    assert not any(word in stderr for word in ("Traceback", "internal error", "Exception ignored")), stderr
    left = sorted(path.name for path in out.parent.iterdir()) if out else []
    assert left in ([], [out and out.name]), (left, stderr)
    if code == 0 or "interrupted: " not in stderr:
        assert code == 0 or "shiftjax: interrupted" in stderr
        return One("whole" if code == 0 else "none", ended.stop, ended.end)
    assert "members: " in ended.stdout and "certificate" in ended.stdout, "the table is printed"
    done = int(stderr.partition("interrupted: ")[2].split()[0])
    if out is not None:
        assert out.exists() == (done > 0)
        if done:
            stored(out, done, full)
    return One("partial" if done else "none", ended.stop, ended.end)


def stored(path: Path, done: int, full: np.ndarray | None = None) -> np.ndarray:
    """Checks what a sweep has written: (B, n) the channel of all members."""
    tree = store.read(path)
    members, trajectories = (tree[name].to_dataset() for name in ("members", "trajectories"))
    status = members["status"].values
    assert int((status != shiftjax.Outcome.interrupted).sum()) == done
    recorded = trajectories["member"].values
    values = next(v for v in trajectories.data_vars.values() if v.attrs.get("path") == CHANNEL).values
    if full is not None:
        check(status[recorded], values, full[recorded])
    return values


def check(status: np.ndarray, values: np.ndarray, full: np.ndarray) -> None:
    """Members that are done are bit for bit those of a whole run, the others up to where they are."""
    cut = status == shiftjax.Outcome.interrupted
    assert (values[~cut] == full[~cut]).all()
    assert (np.isnan(values[cut]) | (values[cut] == full[cut])).all() and np.isnan(values[cut, -1]).all()


def python(
    number: signal.Signals, folder: Path, moment: Moment, members: int, more: dict[str, Any], full: np.ndarray
) -> One:
    """One sweep in Python, and the next run of the same process."""
    text = CHILD % {"path": PATH, "model": MODEL, "span": SPAN, "channel": CHANNEL, "output": OUTPUT}
    arguments = [str(members), json.dumps(more), str(folder / "result.npz"), str(moment.part)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", text, *arguments], **pipes) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        if moment.part:
            assert child.stdout.readline() == "running\n"
        time.sleep(moment.delay)
        sent = time.time()
        child.send_signal(number)
        stdout, stderr = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, (child.returncode, stderr)
    report = json.loads(stdout.splitlines()[-1])
    took = max(0.0, report["caught"] - sent)
    if report["state"] == "early":
        return One("none", took, took)
    data = np.load(folder / "result.npz")
    check(data["status"], data["channel"], full)
    cut = int((data["status"] == shiftjax.Outcome.interrupted).sum())
    if report["state"] == "whole":
        assert cut == 0
        return One("whole", took, took)
    return One("none" if cut == members else "partial", took, took)


if __name__ == "__main__":
    main()
