"""Damages a finished study 200 times at random and verifies it: `python benchmarks/store_damage.py [COUNT] [SEED]`.

Every kind of damage in turn: a bit turned, a file cut short, deleted, changed with another, metadata that says
something else. Each time the store must read as before, or name the damage; `sweep --resume --verify` must make every
file as it was. One line of JSON says how many were which; the exit code is 1 where one was neither.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from shiftjax.ensembles.execution.sweep import sweep
from tests.support.damages import KINDS, damage, reads_alike
from tests.support.sweeps import files, small, study


def main(count: int = 200, seed: int = 1) -> int:
    """The exit code."""
    small(setattr)
    rng, counts, lost = random.Random(seed), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole = sweep(study(), Path(folder) / "whole.zarr").path
        place = shutil.copytree(whole, Path(folder) / "study.zarr")
        for k in range(count):
            what = damage(place, rng, KINDS[k % len(KINDS)])
            alike, same = reads_alike(place, whole), files_of(place) == files(whole)
            counts["reads the same" if alike else "named"] += 1
            sweep(study(), place, resume=True, verify=True)
            mended = files_of(place) == files(whole)
            counts["every file as it was" if same else "mended" if mended else "not mended"] += 1
            if not mended:
                lost.append(what.replace(folder, ""))
                shutil.rmtree(place)
                shutil.copytree(whole, place)
    print(json.dumps({"damages": count, "seed": seed, **counts, "lost": lost}))
    return 1 if lost else 0


def files_of(place: Path) -> dict[str, bytes] | None:
    """The files of a store; None where metadata cannot be read."""
    try:
        return files(place)
    except ValueError:
        return None


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
