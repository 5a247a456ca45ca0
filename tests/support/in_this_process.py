"""What a command opens is run in this process, models and designs of optimisations: another one takes 2 s to begin."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shiftjax.cli import main
from shiftjax.ensembles.optimization import trail, trail_process
from shiftjax.ensembles.store import store
from shiftjax.viewer.study import opening


def run_here(patch: pytest.MonkeyPatch) -> None:
    """`opening.opened` calls the command line itself, with the same words and what it writes."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[1:3] == ["-m", "shiftjax"]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
            code = main(command[3:])
        return subprocess.CompletedProcess(command, code, "", errors.getvalue())

    @contextmanager
    def simulated(
        place: str | Path, tell: Callable[[float], None] = lambda done: None, start: str = ""
    ) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="shiftjax-") as folder:
            target = Path(folder) / "designs.zarr"
            store.write(trail_process.run(trail.trail(place, start=start), tell), target)
            yield target

    patch.setattr(trail, "simulated", simulated)
    patch.setattr(opening, "subprocess", SimpleNamespace(run=run, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE))
