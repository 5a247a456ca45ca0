"""How a child process of the viewer ended."""

from __future__ import annotations

import subprocess
from typing import IO


def ending(process: subprocess.Popen[bytes], log: IO[bytes]) -> tuple[int, str]:
    """The exit code of a process that has closed its pipe, 0 while it does not end; and the last line of its log, as
    ": LINE", or "".
    """
    try:
        code = process.wait(timeout=5.0)
    except subprocess.TimeoutExpired:
        code = 0
    log.seek(0)
    lines = log.read()[-2000:].decode(errors="replace").split("\n")
    return code, next((f": {line.strip()}" for line in reversed(lines) if line.strip()), "")
