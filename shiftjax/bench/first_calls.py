"""How long the first run of a model takes, in processes of its own: with an empty cache of compiled code, and with one
that the first of them has filled.

`python -m shiftjax.bench.first_calls SETTINGS` is such a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from shiftjax.bench.timing import timed
from shiftjax.bench.workload import Workload, workload
from shiftjax.errors import ModelError

STEPS = 10  # of the run, where steps are fixed
SHORT = 0.01  # s of motion, where a tolerance chooses them
LIMIT = 600.0  # s, after which such a process is given up


def first_calls(work: Workload) -> dict[str, float]:
    """Seconds of compiling and of a whole first call of one member, wall time and that of the processor, cold and warm.
    Imports are not in them. Plug-ins of this process are those of the others, too.

    Raises:
        ModelError: such a process does not end well.
    """
    figures: dict[str, float] = {}
    settings = work.settings()
    settings["span"] = SHORT if work.step is None else STEPS * work.step
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("cold", "warm"):
            words = [sys.executable, "-m", "shiftjax.bench.first_calls", json.dumps(settings)]
            environment = {**os.environ, "SHIFTJAX_CACHE_DIR": folder}
            try:
                done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT, check=True)
                seconds = json.loads(done.stdout.splitlines()[-1])
            except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
                lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
                why = f"a first call that does not end well: {lines[-1] if lines else 'no word'}"
                raise ModelError(f"bench {work.name}", why, "one that runs", "Try it by `shiftjax run`.") from error
            figures |= {f"{kind}_{name}": value for name, value in seconds.items()}
    return figures


def main(text: str) -> None:
    """One first call; prints its seconds."""
    settings = json.loads(text)
    work = workload(settings.pop("model"), **settings)
    result, took = timed(lambda: work.run(1))
    print(json.dumps({"compile_s": result.compile_s, "call_s": took.wall_s, "call_cpu_s": took.cpu_s}))


if __name__ == "__main__":
    main(sys.argv[1])
