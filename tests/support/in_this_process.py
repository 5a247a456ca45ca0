"""A model that a command opens is run in this process: another one takes 2 s until it runs."""

from __future__ import annotations

import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from typing import Any

import pytest

from shiftjax.cli import main
from shiftjax.viewer.study import opening


def run_here(patch: pytest.MonkeyPatch) -> None:
    """`opening.opened` calls the command line itself, with the same words and what it writes."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[1:3] == ["-m", "shiftjax"]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
            code = main(command[3:])
        return subprocess.CompletedProcess(command, code, "", errors.getvalue())

    patch.setattr(opening, "subprocess", SimpleNamespace(run=run, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE))
