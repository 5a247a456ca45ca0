"""Which of thousands of random four-bars can be assembled as stated, on the branch of the file? By the closed form.

    PYTHONPATH=. python benchmarks/study_feasibility.py [--members 10000]

Lengths between 0.2 and 1.6 m, Grashof and not, the crank at any stated angle, on either branch. Ends where the mask or
a pose is wrong; designs nearer to their limit than LIMIT are not judged, and counted.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from shiftjax import Outcome, assemble, load
from shiftjax.bench.timing import emit
from tests.starts.test_assemble import CRANK, other_branch
from tests.starts.test_start_cost import LENGTHS, beyond_reach, random_four_bars
from tests.starts.test_starts import hinge
from tests.support.models.start_mechanisms import wrapped

LIMIT = 1e-5  # m
POSE = 1e-9  # rad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10000)
    members = parser.parse_args().members
    vary = random_four_bars(members, seed=11)
    beyond = beyond_reach(vary)
    for side, model in ((-1, load("four_bar")), (1, other_branch())):
        assemble(
            model, vary={path: values[:2] for path, values in vary.items()}, channels=["rocker_pivot.q"]
        )  # compiles
        clock = time.process_time()
        result = assemble(model, vary=vary, channels=["rocker_pivot.q"], strict_start=True)
        seconds = time.process_time() - clock
        good, sure = result.status == Outcome.ok, np.abs(beyond) > LIMIT
        expected = hinge(vary[CRANK], side, tuple(vary[path] for path in LENGTHS))
        off = np.abs(wrapped(result.channels["rocker_pivot.q"][:, 0] - expected))[good & sure].max()
        if not np.array_equal(good[sure], beyond[sure] < 0) or off > POSE:
            raise SystemExit(f"side {side}: {(good != (beyond < 0))[sure].sum()} wrongly masked, {off} rad off")
        lengths = np.sort([vary[path] for path in LENGTHS], axis=0)
        emit("feasibility", {
            "branch": side, "members": members, "assembled": int(good.sum()), "wrong": 0,
            "not_judged": int((~sure).sum()), "off_rad": float(off),
            "grashof": int((lengths[0] + lengths[3] < lengths[1] + lengths[2]).sum()),
            "unsure": int((result.status == Outcome.branch_unsure).sum()),
            "cpu_us": round(1e6 * seconds / members, 1),
        })  # fmt: skip


if __name__ == "__main__":
    main()
