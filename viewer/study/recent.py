"""Stored studies that were shown lately, in a file of the user's cache folder."""

from __future__ import annotations

import json
from pathlib import Path

from shiftjax.disk_cache import folder, read, replace
from shiftjax.ensembles.optimization.store_kind import is_optimization
from shiftjax.viewer.study.opening import is_stored

__all__ = ["MOST", "note", "studies"]

MOST = 8  # studies
FILE = "recent_studies.json"


def studies() -> list[Path]:
    """Those that are still there, the latest first."""
    return [path for path in map(Path, _read()) if path.exists()]


def note(where: str) -> None:
    """Puts a study first; nothing where the name is of no stored one, or the folder cannot be written to."""
    path = Path(where)
    if not (path.exists() and (is_stored(where) or is_optimization(path))):
        return
    name = str(path.absolute())
    names = [name, *(other for other in _read() if other != name)]
    replace(folder() / FILE, json.dumps(names[:MOST]).encode())


def _read() -> list[str]:
    try:
        names = json.loads(read(folder() / FILE))
    except (OSError, ValueError, RecursionError):
        return []
    return [name for name in names if isinstance(name, str)][:MOST] if isinstance(names, list) else []
