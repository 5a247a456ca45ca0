"""Plug-ins: modules from outside that enter kinds, channels, metrics, methods and readers into the tables.

One is named by `--plugin` or `load_plugin`, as it is imported or by the path of its file, or it is an entry point of
the group `shiftjax` of an installed package. A process hands what was named to those that it starts, by an environment
variable; what is stored says with which it was made.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path
from types import ModuleType
from typing import Any

from shiftjax.errors import ModelError, need_path

GROUP = "shiftjax"  # of entry points
VARIABLE = "SHIFTJAX_PLUGINS"  # names, with the separator of PATH between them
ALLOWED = "a module that can be imported, or the path of a Python file"
STORED = "plugins"  # attribute of a store


def load_plugin(name: str | os.PathLike[str]) -> ModuleType:
    """Loads a module that enters parts of its own into the tables: kinds, channels, metrics, methods, readers.

    Processes that this one starts load it too, and what is stored says that it was there.

    Args:
        name: of a module that can be imported, or the path of a Python file.

    Raises:
        ModelError: no such module, or one that fails.
    """
    need_path("load_plugin", name)
    text = os.fspath(name)
    known = str(Path(text).expanduser().resolve()) if _is_file(text) else text
    module = _loaded(known, f"plug-in {text}")
    if known not in _named():
        os.environ[VARIABLE] = os.pathsep.join([*_named(), known])
    return module


def ready() -> None:
    """Loads what was named and all entry points; before a model is read.

    Raises:
        ModelError: one that fails, by its name.
    """
    for name in _named():
        _loaded(name, f"plug-in {name}")
    _entry_points()


def present() -> str:
    """All plug-ins of this process, as a store says them."""
    return json.dumps([*_named(), *_entry_points()])


def need_plugins(where: str, about: Mapping[Any, Any]) -> None:
    """Refuses a store that was made with plug-ins which this process has not.

    Args:
        where: its name. about: its attributes.

    Raises:
        ModelError: naming them.
    """
    if lacking := _lacking(about):
        options = " ".join(f"--plugin {name}" for name in lacking)
        fault = f"made with the plug-ins {', '.join(lacking)}, which are not loaded"
        todo = f"Name them: `{options}`, or shiftjax.load_plugin in Python; or install the package that brings them."
        raise ModelError(where, fault, "the plug-ins of the store", todo)


def load_plugins_of(about: Mapping[Any, Any]) -> None:
    """Loads the plug-ins of a study that this process is to run, as the attributes of its store name them."""
    for name in _lacking(about):
        load_plugin(name)


def _lacking(about: Mapping[Any, Any]) -> list[str]:
    """Plug-ins of a store that are not here; a file is the same one wherever it lies."""
    here = {_plain(name) for name in json.loads(present())}
    return [name for name in json.loads(about.get(STORED, "[]")) if _plain(name) not in here]


def _named() -> tuple[str, ...]:
    """What this process, or one that started it, was told to load: modules, and absolute paths of files."""
    return tuple(filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))


def _plain(name: str) -> str:
    return Path(name).name if _is_file(name) else name


def _is_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name


@cache
def _loaded(name: str, where: str) -> ModuleType:
    """A module, run once. What it raises is said with the name of the plug-in."""
    path = Path(name)
    other = sys.modules.get(path.stem)
    if _is_file(name) and not path.is_file():
        raise ModelError(where, "no such file", ALLOWED, "Check the path.")
    if _is_file(name) and other is not None and getattr(other, "__file__", None) != name:
        raise ModelError(where, f"a file with the name of the module {path.stem}", "a new name", "Rename the file.")
    try:
        return _of_file(path) if _is_file(name) else import_module(name)
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        raise ModelError(where, f"{type(error).__name__}: {words}", ALLOWED, "Correct or install it.") from error


def _of_file(path: Path) -> ModuleType:
    """The module of a file, under the file's name, so that what it defines can be found again by others."""
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


@cache
def _entry_points() -> tuple[str, ...]:
    """Loads the entry points, and names them by their modules."""
    points = sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)
    for point in points:
        package = point.dist.name if point.dist is not None else "an installed package"
        _loaded(point.module, f"plug-in {point.name} of {package}")
    return tuple(point.module for point in points)
