"""What a figure depends on: processor, cores, GPU, versions. Free of jax."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from shiftjax.kernels.forks import cores
from shiftjax.version import VERSION

PACKAGES = ("jax", "llvmlite", "mujoco", "numpy")


def processor() -> str:
    """The processor as its maker calls it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def version_of(package: str) -> str:
    """The version of an installed package, "" where it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    """Versions of the packages of `PACKAGES` that are there, and of this one."""
    return {"shiftjax": VERSION} | {name: text for name in PACKAGES if (text := version_of(name))}


def machine() -> dict[str, Any]:
    """Processor, cores, Python and versions, as they go into every line of figures."""
    return {"cpu": processor(), "cores": cores(), "python": platform.python_version(), "versions": versions()}
