"""How fast a store of a million members opens in the viewer, and with how little memory.

A small real run is tiled to a million members, with figures of their own and a few failures, the trajectories of 64
are kept, and the log has a million lines; it is written by the package itself. Then a fresh process opens it, ranks it,
takes poses of the five worst members that were kept, and at last reads the log of the worst one; what it finds is
compared with NumPy. The files are in the page cache. Linux only.
Prints one JSON line:
    import_s, open_s, choose_s, query_s, poses_s, total_s   in the order they happen
    cpu_s                                                   of the whole process, all threads
    imported_mb, opened_mb, end_mb, peak_mb                 resident memory
    log_s                                                   after all these: the log of one member

    PYTHONPATH=. python benchmarks/bench_viewer_start.py
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import shiftjax
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.run.results.result import members_to_keep

RUN = 64  # members of the real run
WORST = 5
FAILED = 1e-3  # part of the members
UNIT = 1e-12  # of a quaternion's length: rounding of a slerp


def main() -> None:
    options = arguments()
    if options.measure:
        print(json.dumps(measured(options.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        store, begun = Path(folder) / "study.zarr", time.perf_counter()
        expected, lines = write(store, options)
        written = {
            "members": options.members,
            "kept": options.keep,
            "log_lines": options.log,
            "write_s": time.perf_counter() - begun,
            "store_mb": sum(file.stat().st_size for file in store.rglob("*") if file.is_file()) / 2**20,
        }
        command = [sys.executable, __file__, "--measure", str(store)]
        rounds = [json.loads(subprocess.check_output(command)) for _ in range(options.rounds)]
    for figures in rounds:
        what = [figures.pop(key) for key in ("jax", "worst", "lines")]
        if what != [False, expected, lines] or figures.pop("off_unit") > UNIT:
            raise SystemExit(f"wrong: {what}, {figures}")
    from shiftjax.bench.timing import emit  # it imports jax, which the measured process must do without

    emit("viewer_start", written | {key: float(np.median([r[key] for r in rounds])) for key in rounds[0]})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--keep", type=int, default=64)
    parser.add_argument("--log", type=int, default=1_000_000, help="lines in the store's log of repartitions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


def write(path: Path, options: argparse.Namespace) -> tuple[list[int], int]:
    """Writes the store; returns the worst kept members, ranked by NumPy alone, and how many lines the first has."""
    from shiftjax.ensembles.store import store

    masses = np.linspace(0.8, 1.2, RUN)
    plan: dict[str, Any] = {"span": 2.0, "step": 1e-2, "output_step": 2e-2, "keep": "all"}
    run = shiftjax.simulate(shiftjax.load("four_bar"), vary={"four_bar:coupler.mass": masses}, **plan)
    rng = np.random.default_rng(0)
    count, recorded = options.members, members_to_keep(options.keep, options.members)
    status = np.where(rng.random(count) < FAILED, int(Outcome.stuck), int(Outcome.ok))
    figures = {name: np.resize(values, count) for name, values in run.certificate.items()}
    figures["energy_error"] = figures["energy_error"] * rng.lognormal(size=count)
    pins, members = (["four_bar:crank_pin"], ["four_bar:rocker_pin"]), rng.integers(count, size=options.log)
    lines = zip(rng.uniform(0, 2, options.log).tolist(), members.tolist(), strict=True)
    log = [{"time": t, "member": k, "substructure": 0, "old": pins[k % 2], "new": pins[1 - k % 2]} for t, k in lines]
    big = dataclasses.replace(
        run,
        certificate=figures,
        status=status,
        messages=tuple(REMEDY[Outcome(s)] for s in status.tolist()),
        design={path: rng.uniform(0.8, 1.2, count) for path in run.design},
        poses={body: np.resize(pose, (len(recorded), *pose.shape[1:])) for body, pose in run.poses.items()},
        kept=recorded,
        log=tuple(log),
    )
    store.write(big, path)
    ranked = sorted(recorded.tolist(), key=lambda k: (status[k] <= 0, -figures["energy_error"][k], k))
    return ranked[:WORST], int((members == ranked[0]).sum())


def measured(path: str) -> dict[str, Any]:
    """What the fresh process sees."""
    clock, marks = time.perf_counter, [time.perf_counter()]
    from shiftjax.ensembles.store import store
    from shiftjax.run.results.log_table import entries
    from shiftjax.viewer.study.study import ViewedStudy

    marks.append(clock())
    imported = memory()[0]
    study = ViewedStudy.open(path)
    marks.append(clock())
    opened = memory()[0]
    study.choose(f"worst:{WORST}")
    worst = study.choose(f"worst:{WORST} of kept")
    marks.append(clock())
    study.choose("energy_error < 1e-5 and four_bar:coupler.mass >= 1 and status == ok")
    marks.append(clock())
    poses = study.poses_of(worst, float(study.time[-1]) / 3)
    marks.append(clock())
    now, peak, cpu = *memory(), time.process_time()
    begun = clock()
    lines = len(entries(store.read(path), int(worst[0])))
    spent = {"log_s": clock() - begun}
    spent |= dict(zip(("import_s", "open_s", "choose_s", "query_s", "poses_s"), np.diff(marks).tolist(), strict=True))
    return {
        **spent,
        "total_s": marks[-1] - marks[0],
        "cpu_s": cpu,
        "imported_mb": imported,
        "opened_mb": opened,
        "end_mb": now,
        "peak_mb": peak,
        "lines": lines,
        "worst": worst.tolist(),
        "off_unit": float(np.abs(np.linalg.norm(poses[..., 3:], axis=-1) - 1).max()),
        "jax": "jax" in sys.modules,
    }


def memory() -> tuple[float, float]:
    """Memory of this process now and at its peak [MB], from /proc: `getrusage` counts the parent's before exec too."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(lines[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM"))
    return now, peak


if __name__ == "__main__":
    main()
