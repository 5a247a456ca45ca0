"""The complete sweeps of which the tests have a few cases, under the same laws: every large model, seed and method.

`PYTHONPATH=. python benchmarks/study_complete.py` runs them by pytest, whose further arguments may follow.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.complete import VARIABLE

ROOT = Path(__file__).resolve().parents[1]


def files() -> list[str]:
    """Tests that leave cases out where nobody asks for all."""
    users = (
        path for path in (ROOT / "tests").rglob("test_*.py") if "tests.support.complete" in path.read_text("utf-8")
    )
    return sorted(str(path.relative_to(ROOT)) for path in users)


if __name__ == "__main__":
    environment = os.environ | {VARIABLE: "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", *files(), *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)
