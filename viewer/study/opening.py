"""Opens the study of a command: a stored one, or a model or designs of an optimisation, which another process runs."""

from __future__ import annotations

import functools
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.ensembles.optimization.store_kind import is_optimization, refuse_start
from shiftjax.errors import ModelError, printable
from shiftjax.formats.files import load
from shiftjax.viewer.saved_format import SAVED_VIEW
from shiftjax.viewer.study.study import ViewedStudy

OUTPUT_STEP = 0.02  # s, of a model whose file names none
SPAN = 5.0  # s, of a model whose file names none and that nobody gives one
COMMANDS_ERROR = "shiftjax: error: "  # before what a command could not do


def is_stored(name: str) -> bool:
    """Whether `name` is a result on disk and no model."""
    path = Path(name)
    if path.suffix == ".json" and path.is_file():
        return _document(path).get("format") == "shiftjax"
    return path.suffix in (".zarr", ".csv")


def study_of_view(name: str) -> str | None:
    """The study of which a file of that name is a saved view, "" where it names none; None of any other file.

    A path in it is that of the folder where the window was opened: of this one, else of the file's own.
    """
    path = Path(name)
    document = _document(path) if path.suffix == ".json" and path.is_file() else {}
    if document.get("format") != SAVED_VIEW:
        return None
    study = document.get("study", "")
    beside = path.parent / study if isinstance(study, str) else path
    return str(beside) if study and not Path(str(study)).exists() and beside.exists() else str(study)


def _document(path: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing where it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def refuse_others(name: str) -> None:
    """Raises where a name is that of a study that has not run, or of a saved view."""
    path = Path(name)
    if path.suffix.lower() == ".toml":
        store = path.with_suffix(".zarr")
        todo = f"Run it first: `shiftjax sweep {shlex.quote(name)} --out {shlex.quote(store.name)}`."
        if store.exists():
            todo = f"Show what it gave: {store}. Run it again where the file has changed since."
        raise ModelError(name, "the file of a study, which says what is to run", "what it gave, or a model", todo)
    study = study_of_view(name)
    if study is not None:
        todo = f"Open it by `shiftjax view {shlex.quote(study or 'STUDY')} --view {shlex.quote(name)}`."
        raise ModelError(name, "a view that the window saved", "a study or a model", todo)


@contextmanager
def opened(
    name: str, run_options: Sequence[str] = (), tell: Callable[[float], None] = lambda done: None, start: str = ""
) -> Iterator[ViewedStudy]:
    """The study of that name. A model is run by `shiftjax run` first, so that this process stays without jax; another
    process runs the designs of an optimisation, too, which are the members of its study. Processes of the study's own
    end with it.

    Args:
        tell: called with the fraction of those designs' run that is done.
        start: of an optimisation, whose designs; see `trail`.

    Raises:
        ModelError: nothing there that can be drawn; a start of what is no optimisation.
    """
    if is_optimization(Path(name)):
        from shiftjax.ensembles.optimization import trail  # takes 1.5 s, for no other store

        with trail.simulated(name, tell, start) as place:
            study = ViewedStudy.open(place, where=name)
            study.titles = trail.titles(study.metrics)
            with closing(study):
                yield study
        return
    refuse_start(name, start)
    if is_stored(name):
        with closing(ViewedStudy.open(name)) as study:
            yield study
        return
    refuse_others(name)
    model = load(name)
    with tempfile.TemporaryDirectory(prefix="shiftjax-") as folder:
        target = Path(folder) / "run.zarr"
        words = ["run", name, "--out", str(target), *run_options]
        if model.settings.output_step is None and "--output-step" not in run_options:
            words += ["--output-step", str(OUTPUT_STEP)]
        if model.settings.span is None and "--span" not in run_options:
            words += ["--span", str(SPAN)]
            print(f"note: {name} says no span: {SPAN:g} s are run; --span says another", file=sys.stderr)
        command = [sys.executable, "-m", "shiftjax", *words]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        messages = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("written:")]
        if not target.exists():
            problem = (
                messages[-1].removeprefix(COMMANDS_ERROR)
                if messages
                else f"`shiftjax run` ended with code {done.returncode}"
            )
            raise ModelError(
                name, problem, "a model that runs", f"Look at `{shlex.join(['shiftjax', 'run', name, *run_options])}`."
            )
        for line in messages:
            print(printable(line), file=sys.stderr)
        with closing(ViewedStudy.open(target, where=name)) as study:  # the folder is temporary
            yield study


def stored_in(folder: Path) -> list[str]:
    """Names of the stored studies in a folder: results, studies and optimisations."""
    stores = [path.name for path in folder.glob("*.zarr") if (path / "zarr.json").is_file()]
    documents = [path for path in folder.glob("*.json") if path.is_file()]
    return sorted([*stores, *(path.name for path in documents if _is_result(str(path), path.stat().st_mtime_ns))])


@functools.lru_cache(maxsize=1024)
def _is_result(name: str, changed: int) -> bool:
    """Whether a file of that state [ns] is a result; those of a folder are asked for in every frame of a menu."""
    return is_stored(name)


def require_viewable(name: str) -> None:
    """Raises where a name is of no stored study with a member that can be drawn. Nothing is simulated."""
    path = Path(name)
    if is_optimization(path):
        from shiftjax.ensembles.optimization import trail

        trail.trail(path)
        return
    refuse_others(name)
    if path.suffix in (".zarr", ".json") and path.exists() and not is_stored(name):
        raise ModelError(name, "no result", "a stored study", "Run a model by `shiftjax run` or `shiftjax view`.")
    first_member(ViewedStudy.open(name))


def first_member(study: ViewedStudy) -> int:
    """The first member that can be drawn: of those kept, or simulated again.

    Raises:
        ModelError: none can be.
    """
    drawable = study.drawable(study.kept if len(study.kept) else np.arange(study.members))
    if not len(drawable.ids):
        raise ModelError(study.where, drawable.reason or "no member", "a member that can be drawn", "Run it again.")
    return int(drawable.ids[0])
