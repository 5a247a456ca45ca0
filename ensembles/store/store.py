"""Results on disk: written by `run --out` and `sweep --out`. Host only, no jax.

A Zarr store opened by xarray, in four groups:
    /              the model as JSON, the report of `info --json` and all settings, as texts in the attributes
    /members       (member) design table, status, message and certificate of every member
    /trajectories  (member, time, ...) of the members that were kept: the channels, and the pose of every body
    /log           (line) every repartition; `run.results.log_table.entries` gives them as `Result.log` does
Every variable has its unit. The suffix decides: `.zarr`, and `.csv` or `.json` for one run.
Properties: nothing is overwritten without `force`; a store is written to a draft in the same folder and then renamed,
so that readers see the old or the new one complete; only stores of this package are ever removed. Every file has a
checksum, and none that is lost reads as something good: `read` raises an error that names the file or its array.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.store.checksums import AGAIN, CONTENTS, MEND, attributes_of
from shiftjax.ensembles.store.folders import CheckedFolder, encoding, naming_disk, written
from shiftjax.ensembles.store.replacing import REPLACE, clean, refuse_unwritable, replacing, taken
from shiftjax.ensembles.store.study_store import done, is_running, is_study, list_contents
from shiftjax.errors import ModelError, need, need_path
from shiftjax.formats.number_table import named_columns
from shiftjax.formats.writer import to_dict
from shiftjax.outcome import Outcome
from shiftjax.run.results.event_history import EventHistory, history_in, texts_of
from shiftjax.run.results.labelled import (
    FORMAT,
    MISSING,
    origin_numbers,
    to_tree,
    tree_of_document,
    with_paths,
)
from shiftjax.run.results.plain_values import axis_label
from shiftjax.run.results.result import Result, plain

SUFFIXES = (".zarr", ".csv", ".json")
CHECKSUMS_SINCE = 3  # format version
LONGEST_NAME = 255  # bytes that file systems take
STORE_FILES = ("zarr.json", ".zgroup")  # a folder that holds one of these is a Zarr store


def check_target(
    path: str | Path, *, force: bool, batched: bool, todo: str = REPLACE, suffix: str | None = None
) -> Path:
    """Raises the errors of `write` before a run is started.

    Args:
        todo: what may be done where something of that name is. suffix: as of `write`.
    """
    need_path("store: path", path)
    for name, flag in (("force", force), ("batched", batched)):
        need(f"store: {name}", flag, bool, "True or False")
    if suffix is not None:
        need("store: suffix", suffix, str, " or ".join(SUFFIXES))
    target = Path(path)
    suffix = target.suffix if suffix is None else suffix
    if suffix not in SUFFIXES:
        raise ModelError(str(path), f"suffix {target.suffix!r}", ", ".join(SUFFIXES), "The suffix decides the format.")
    if batched and suffix != ".zarr":
        raise ModelError(str(path), "an ensemble", f"{suffix} holds one run", "Write to NAME.zarr.")
    if not target.absolute().parent.is_dir():
        raise ModelError(str(path), "no such folder", "a folder that exists", f"Make {target.parent} first.")
    refuse_unwritable(target)
    clean(target)
    if target.exists() or target.is_symlink():
        if not force:
            raise taken(target, todo)
        stored = any((target / mark).is_file() for mark in STORE_FILES) if suffix == ".zarr" else target.is_file()
        if target.is_symlink() or not stored:
            away = "Move it away yourself; it is not a result."
            raise ModelError(str(path), "something else of that name", "a result to replace", away)
    return target


def refuse_no_room(path: str | Path, size: float) -> None:
    """Raises where a store of so many bytes, before compression, has no room."""
    free = shutil.disk_usage(Path(path).absolute().parent).free
    if size > free:
        fault = f"{free / 1e6:.0f} MB free there"
        todo = "Make room, choose another folder, or store less with --keep and --output-step."
        raise ModelError(str(path), fault, f"{size / 1e6:.0f} MB, which the result may take", todo)


def write(
    result: Result, path: str | Path, keep: int | str = "all", *, force: bool = False, suffix: str | None = None
) -> Path:
    """Writes a result and returns its path.

    Args:
        result: of `simulate`.
        path: NAME.zarr, or NAME.csv or NAME.json for one run.
        keep: of the members whose trajectories the result holds, "all", "none" or how many are stored.
        force: replace what is there.
        suffix: decides the format in place of that of the name.

    Raises:
        ModelError: a place that cannot be written, or no room there. Nothing is left of the new result then, and what
            was there stays as it was.
    """
    need("store: result", result, Result, "a Result")
    need("keep", keep, (int, str), '"all", "none" or a number of members')
    target = check_target(path, force=force, batched=result.batched, suffix=suffix)
    save = {".zarr": _write_zarr, ".csv": _write_csv, ".json": _write_json}[suffix or target.suffix]
    todo = "Nothing of it is left. Make room, choose another folder, or store less with --keep and --output-step."
    with naming_disk(target, "room for the whole result", todo), replacing(target, force=force) as draft:
        save(result, draft, keep)
    return target


def read(path: str | Path) -> xr.DataTree:
    """Opens what `write` wrote (`.zarr` lazily, `.json` whole) as one tree of named, labelled arrays."""
    need_path("store: path", path)
    source = Path(path)
    if len(os.fsencode(source.name)) > LONGEST_NAME or not source.exists():
        raise ModelError(str(path), "nothing there", "a result", "Check the name.")
    if source.suffix == ".json":
        return _read(source, lambda: tree_of_document(json.loads(source.read_text(encoding="utf-8"))))
    if source.suffix == ".zarr":
        return _read(source, lambda: _opened(source))
    todo = "A .csv is for other programs; write .zarr or .json to read it back."
    raise ModelError(str(path), f"suffix {source.suffix!r}", ".zarr or .json", todo)


def events(tree: xr.DataTree) -> EventHistory | None:
    """The history of events of what `read` opened, as `Result.events` of an ensemble; None where none were asked for.

    Of members of a study that are not done it has nothing.
    """
    return history_in(tree)


def _opened(source: Path) -> xr.DataTree:
    """The tree of a store, of the versions before checksums, too."""
    about = attributes_of(source)
    checked = about.get("format") == FORMAT["format"] and about.get("format_version", 0) >= CHECKSUMS_SINCE
    growing = is_running(about)
    ready = done(source) if growing else ()
    todo = MEND if is_study(about) else AGAIN
    folder: Any = CheckedFolder(source, growing=growing, done=ready, todo=todo) if checked else source
    tree = with_paths(xr.open_datatree(folder, engine="zarr", consolidated=False))
    tree.attrs.pop(CONTENTS, None)
    if growing:
        return _unfinished(tree)
    if checked:
        _ = tree["members"].to_dataset()["status"].values  # a lost or damaged one is found at once
    return tree


def _unfinished(tree: xr.DataTree) -> xr.DataTree:
    """A study that is not complete: members that are not done have the status of interrupted ones."""
    members = tree["members"].to_dataset()
    status = members["status"].load()
    status = status.where(status != MISSING, int(Outcome.interrupted)).astype(status.dtype)
    return tree.assign({"members": xr.DataTree(members.assign(status=status.assign_attrs(members["status"].attrs)))})


def _read(source: Path, load: Callable[[], xr.DataTree]) -> xr.DataTree:
    try:
        tree = load()
    except ModelError:
        raise
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise ModelError(
            str(source), f"no readable result ({error})", "a result of shiftjax", "Run it again."
        ) from None
    if tree.attrs.get("format") != "shiftjax":
        raise ModelError(str(source), "no result of shiftjax", "a result of shiftjax", "Check the name.")
    version, known = tree.attrs.get("format_version"), int(FORMAT["format_version"])
    if not isinstance(version, int | np.integer) or version > known:
        raise ModelError(str(source), f"format version {version}", f"up to {known}", "Use a newer shiftjax.")
    return tree


def _write_zarr(result: Result, path: Path, keep: int | str) -> None:
    tree = to_tree(result, keep)
    with written(path) as folder, warnings.catch_warnings():
        # consolidated metadata, with which xarray opens without a warning
        warnings.filterwarnings("ignore", "Consolidated metadata is currently not part")
        tree.to_zarr(folder, zarr_format=3, consolidated=True, encoding=encoding(tree))
        list_contents(folder)


def _write_json(result: Result, path: Path, keep: int | str) -> None:
    more = {
        **FORMAT,
        "message": result.messages[0] if result.messages else "",
        "units": dict(result.units),
        "poses": {body: plain(pose) for body, pose in result.poses.items()} if keep != "none" else {},
        "model": plain(to_dict(result.model)),
        "model_source": result.model.source,
        "model_origin": origin_numbers(result.model),
        "report": plain(result.report),
        "log": plain([*result.log]),
    }
    if result.events is not None:
        more["event_history"] = texts_of(result.events)[0]
    text = json.dumps(result.document() | more, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_csv(result: Result, path: Path, keep: int | str) -> None:
    """One line an instant; one column a number: time, or the parameter of a path, channels, then the bodies' poses."""
    columns: dict[str, np.ndarray] = {axis_label(result.settings): result.time}
    for channel, value in result.channels.items():
        columns |= named_columns(channel, value, result.units.get(channel, "1"))
    for body, pose in result.poses.items() if keep != "none" else ():
        values = pose.reshape(len(result.time), 7)
        columns |= named_columns(f"{body}:origin.position", values[:, :3], "m")
        columns |= named_columns(f"{body}:origin.orientation", values[:, 3:], "1")
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*(value.tolist() for value in columns.values()), strict=True))
