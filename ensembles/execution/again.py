"""Members of a store, simulated again together, and how what comes out differs from what is stored: not at all.

Works for what `run`, `sweep` of a model, and `sweep` of a study write, whether their trajectories were kept or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.store import store, study_store
from shiftjax.ensembles.store.members import role_of
from shiftjax.ensembles.store.recipe import Recipe
from shiftjax.ensembles.stored_study import recipes_of
from shiftjax.outcome import Outcome
from shiftjax.record import record
from shiftjax.run.results.labelled import to_tree
from shiftjax.version import VERSION

COMPARED = ("metric", "certificate", "status")  # roles of the columns that must come out as they are stored


@record
class Again:
    """Members that have one model, simulated again.

    Attributes:
        members: (k,) their numbers in the store.
        trajectories: channels and poses of them all at the output instants, as `store.read` gives them.
        messages: (k,) what happened to each, "" when good.
        differences: (k,) a sentence on what is stored otherwise; "" where all figures are the same to the last bit.
    """

    members: np.ndarray
    trajectories: xr.Dataset
    messages: tuple[str, ...]
    differences: tuple[str, ...]


def again(
    path: str | Path, members: Sequence[int], progress: Callable[[float], None] = lambda done: None
) -> Iterator[Again]:
    """Members of a store, simulated again, those of one model together.

    Args:
        path: of the store, .zarr or .json.
        members: their numbers.
        progress: called with the fraction done.

    Raises:
        ModelError: no store, no such member, one that has not run, or a run with functions of Python, which no store
            holds.
    """
    tree, before = store.read(path), 0
    for recipe in recipes_of(path, tree, members):
        size = len(recipe.members)

        def tell(done: float, before: int = before, size: int = size) -> None:
            progress((before + done * size) / len(members))

        tell(0.0)
        simulated = to_tree(recipe.run(channels=recorded_channels(tree, recipe), keep="all", progress=tell))
        rows = tree["members"].to_dataset().isel(member=recipe.members)
        table = simulated["members"].to_dataset()
        differing = _differences(rows, table, str(tree.attrs.get("shiftjax_version", "")))
        messages = tuple(str(text) for text in table["message"].values)
        yield Again(recipe.members, simulated["trajectories"].to_dataset(), messages, differing)
        before += size
    progress(1.0)


def recorded_channels(tree: xr.DataTree, recipe: Recipe) -> list[str]:
    """What was recorded: of a study by the words of its definition, some of which a model may not have."""
    if "channels" in recipe.settings or study_store.is_study(tree.attrs):
        return list(recipe.settings.get("channels", []))
    variables = tree["trajectories"].to_dataset().data_vars.items()
    return [str(values.attrs.get("path", name)) for name, values in variables if name != "pose"]


def _differences(stored: xr.Dataset, repeated: xr.Dataset, version: str) -> tuple[str, ...]:
    """A sentence for every member of which a figure is not the one that is stored."""
    columns = {str(values.attrs.get("path", name)): values for name, values in repeated.data_vars.items()}
    interrupted = np.asarray(stored["status"].values) == int(Outcome.interrupted)
    worst = [("", 0.0)] * stored.sizes["member"]
    for name, values in stored.data_vars.items():
        path = str(values.attrs.get("path", name))
        if role_of(str(name), dict(values.attrs)) not in COMPARED or path not in columns:
            continue
        for k, (old, new) in enumerate(zip(values.values.tolist(), columns[path].values.tolist(), strict=True)):
            size = _difference(old, new)
            if size > worst[k][1] and not interrupted[k]:
                worst[k] = (f"{path} {new:g}, stored {old:g}", size)
    where = "on another machine" if version == VERSION else f"by version {version}, this is {VERSION}"
    return tuple(f"differs from what is stored, which was written {where}: {text}" if text else "" for text, _ in worst)


def _difference(old: Any, new: Any) -> float:
    """The relative difference of two numbers; 0 where they are the same bits, infinite where one is no number."""
    if old == new or (old != old and new != new):
        return 0.0
    size = abs(new - old) / max(abs(old), abs(new))
    return size if size == size else np.inf
