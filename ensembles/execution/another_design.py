"""Designs that no member of a store has: one, simulated as the members are; a study of many like some members."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.execution.again import recorded_channels
from shiftjax.ensembles.execution.sweep import SUFFIX, sweep
from shiftjax.ensembles.store import store, study_store
from shiftjax.ensembles.store.recipe import Recipe, of_result
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import SETTINGS, Definition
from shiftjax.errors import ModelError
from shiftjax.formats.files import free_stem, load, save
from shiftjax.mechanism.frozen_json import thaw
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.results.labelled import to_tree

__all__ = ["another_design", "more_like"]

KEPT = "every 20"  # of the members of a study of more, where what was kept of the first one says nothing of it


def another_design(
    path: str | Path, like: int, design: Mapping[str, float], progress: Callable[[float], None] = lambda done: None
) -> xr.DataTree:
    """One design, simulated with the parts and the settings of a member of a store.

    Args:
        path: of the store, .zarr or .json.
        like: the member.
        design: path of a varied number -> its value; the others are those of the member.
        progress: called with the fraction done.

    Returns:
        the tree of a result of one member, with the channels of the store and all poses.

    Raises:
        ModelError: no such member, a number that does not vary in the store, what `again` refuses.
    """
    tree, recipe = _recipe(path, like, design)
    channels = recorded_channels(tree, recipe)
    return to_tree(recipe.run(channels=channels, keep="all", progress=progress))


def _recipe(path: str | Path, like: int, design: Mapping[str, float]) -> tuple[xr.DataTree, Recipe]:
    """The store, and how a design is simulated."""
    tree = store.read(path)
    instead = {name: float(value) for name, value in design.items()}
    if study_store.is_study(tree.attrs):
        (recipe,) = _study(str(path)).recipes([like], instead)
        return tree, recipe
    return tree, of_result(tree, [like], str(path), instead)


@functools.lru_cache(maxsize=4)
def _study(path: str) -> Study:
    """A study, whose model is made once for all of its designs."""
    return Study(path)


def more_like(
    path: str | Path,
    like: int,
    ranges: Mapping[str, tuple[float, float]],
    members: int,
    folder: Path,
    progress: Callable[[float], None] = lambda done: None,
) -> Path:
    """A study of further designs within ranges, run at once, everything else as in the store.

    A file of the model, one of the study and the store are written, of one new name.

    Args:
        path: of the store. like: a member, whose settings and parts are taken where the store holds no study.
        ranges: path of a varied number -> both ends, between which it is drawn (Sobol'); of equal ends a number that
            all members have.
        members: how many.
        folder: where the files are written.
        progress: called with the fraction done.

    Returns:
        the path of the new store.

    Raises:
        ModelError: no range, a number that does not vary in the store, what a study makes impossible.
    """
    drawn = {name: f"{low!r}:{high!r}~sobol" for name, (low, high) in ranges.items() if low < high}
    if not drawn:
        fault = f"{listed(ranges)}, which are alike" if ranges else "no number"
        raise ModelError("more members", fault, "numbers that differ among the members", "Choose other members.")
    alike = {name: low for name, (low, high) in ranges.items() if low == high}
    stem = free_stem(folder, f"{Path(path).stem}_more", (".json", ".toml", SUFFIX))
    tree, recipe = _recipe(path, like, {name: low for name, (low, _) in ranges.items()})
    definition, model = _asked(path, tree, recipe)
    study = dataclasses.replace(
        definition,
        model=f"{stem}.json",
        vary=drawn,
        samples=members,
        table=None,
        correlation={},
        set={**definition.set, **alike},
        keep=_kept(definition),
        optimize={},
        folder=str(folder),
    )
    save(model, folder / f"{stem}.json")
    study_file.write(study, folder / f"{stem}.toml")

    def tell(now: Any) -> None:
        progress((now.done + now.running) / now.members)

    sweep(folder / f"{stem}.toml", folder / f"{stem}{SUFFIX}", progress=tell)
    return folder / f"{stem}{SUFFIX}"


def _kept(definition: Definition) -> Any:
    """Whose trajectories are kept: by the words of a definition, where they name no members of its own."""
    words = thaw(definition.keep)
    return words if isinstance(words.get("members"), str) else {**words, "members": KEPT}


def _asked(path: str | Path, tree: xr.DataTree, recipe: Recipe) -> tuple[Definition, Model]:
    """What a store was asked for, and its model: of a study its definition, of a run what its recipe says."""
    if study_store.is_study(tree.attrs):
        return _study(str(path)).definition, load(json.loads(tree.attrs["model"]))
    settings = {name: value for name, value in recipe.settings.items() if name in SETTINGS}
    drive = {joint: _of_one(motion) for joint, motion in recipe.settings.get("drive", {}).items()}
    channels = recorded_channels(tree, recipe)
    metrics = recipe.settings["metrics"]
    words = {**settings, "channels": channels, "metrics": metrics, "drive": drive, "assemble_only": recipe.still}
    return Definition(str(path), **words), recipe.model


def _of_one(motion: Any) -> Any:
    """A motion whose numbers are those of one member."""
    numbers = {one.name: getattr(motion, one.name) for one in dataclasses.fields(motion)}
    alone = {name: float(value[0]) for name, value in numbers.items() if np.ndim(value) == 1 and len(value) == 1}
    return dataclasses.replace(motion, **alone)
