"""The store of an optimisation while it grows: what was seen at every iteration, from which its state follows again.

Problem: hours of iterations must not be lost, and what goes on after a kill must be what would have gone on without.
Properties: methods are pure functions of what was seen, so that only that is stored, and repeated on resuming; a file
is there whole or not at all; how many iterations there are is said once the disk has all their files.

    /evaluations  (iteration, start, ...) every point that was run: its parameters, metrics, merit, gradient
    /history      (iteration, start, ...) the last good point of every start, to look at
    /starts       (start, ...) what came of every start, once all have ended
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from shiftjax.ensembles.optimization.store_kind import KIND, attributes
from shiftjax.ensembles.store.folders import CheckedFolder, flush, missing_of, opened_group
from shiftjax.ensembles.store.new_arrays import new_array
from shiftjax.ensembles.store.study_store import array_of, folder_of, list_contents, say, write_at, writing
from shiftjax.errors import ModelError
from shiftjax.plugins import STORED, present
from shiftjax.run.results.labelled import FORMAT
from shiftjax.shield import shielded

DONE, COMPLETE = "iterations_done", "optimization_complete"
EVERY = 5  # iterations of a chunk
MEND = "Take a copy, or optimise again."
Arrays = Mapping[str, np.ndarray]
AXES = {  # of every array, after iteration and start
    "numbers": ("parameter",),
    "at": ("parameter",),  # free numbers
    "gradient": ("parameter",),
    "metrics": ("metric",),
    "by": ("constraint",),
    "rows": ("constraint", "parameter"),
    "triangle": ("row", "parameter"),
    "projected": ("row",),
}


class Iterates:
    """The arrays of an optimisation in its store.

    Args:
        place: of the store.
    """

    def __init__(self, place: Path) -> None:
        self.place = place

    @property
    def about(self) -> dict[str, Any]:
        """The attributes of the store.

        Raises:
            ModelError: no optimisation there.
        """
        about = attributes(self.place)
        if KIND not in about:
            todo = "Check the name."
            raise ModelError(str(self.place), "no optimisation", "what `shiftjax optimize STUDY.toml` wrote", todo)
        return about

    @property
    def done(self) -> int:
        """Iterations that are stored."""
        return int(self.about[DONE])

    @property
    def complete(self) -> bool:
        """Whether all starts have ended, or used up their iterations."""
        return bool(self.about[COMPLETE])

    def reopen(self, iterations: int, about: Mapping[str, Any]) -> None:
        """Makes room for so many iterations, as many as it has or more; what is stored stays.

        Args:
            about: attributes of the store that may differ now. They are written first, so that whoever goes on with
                what a process left that was killed meanwhile makes the room.
        """
        with shielded(), writing(self.place) as files:
            say(files, {**about, COMPLETE: False})
            for group in ("evaluations", "history"):
                made = zarr.open_group(files, path=group, mode="r+")
                for array in (array_of(made, name) for name in made.array_keys()):
                    if array.metadata.dimension_names[0] == "iteration" and array.shape[0] != iterations:
                        array.resize((iterations, *array.shape[1:]))
            files.settle()

    def begin(
        self, about: Mapping[str, Any], names: Mapping[str, Sequence[str]], iterations: int, first: Arrays
    ) -> None:
        """An empty store.

        Args:
            names: of the entries of axes: parameter, metric, constraint. first: arrays (N, ...) as will be seen.
        """
        draft = self.place.with_name(f".{self.place.name}.begun")
        with writing(self.place, draft) as files:
            root = zarr.create_group(files, zarr_format=3, overwrite=True)
            for group in ("evaluations", "history"):
                made = root.create_group(group)
                for axis, entries in names.items():
                    _labels(made, axis, entries)
                for name, like in (first if group == "evaluations" else shown(first)).items():
                    _growing(made, name, like, iterations)
            root.attrs.update({**FORMAT, STORED: present(), **about, KIND: 1, DONE: 0, COMPLETE: False})
            list_contents(files)
            files.settle()
            draft.rename(self.place)
            flush([self.place.parent])

    def append(self, first: int, seen: Sequence[Arrays], histories: Sequence[Arrays]) -> None:
        """Writes iterations from the number `first` on."""
        with shielded(), writing(self.place) as files:
            for group, rows in (("evaluations", seen), ("history", histories)):
                for name in rows[0]:
                    write_at(files, f"{group}/{name}", first, np.stack([row[name] for row in rows]))
            files.settle()
            say(files, {DONE: first + len(seen)})

    def read(self, k: int) -> dict[str, np.ndarray]:
        """What was seen at an iteration."""
        if k >= self.done:
            raise IndexError(k)
        group = zarr.open_group(CheckedFolder(self.place, todo=MEND), path="evaluations", mode="r")
        return {
            name: np.asarray(array_of(group, name)[k]) for name in group.array_keys() if array_of(group, name).ndim > 1
        }

    def finish(self, starts: Arrays, names: Mapping[str, Sequence[str]]) -> None:
        """What came of the starts."""
        with shielded(), writing(self.place) as files:
            group = zarr.open_group(files, mode="r+").create_group("starts", overwrite=True)
            for axis, entries in names.items():
                _labels(group, axis, entries)
            for name, values in starts.items():
                axes = AXES.get(name.removeprefix("first_"), ())
                _array(group, name, values, values.shape, ("start", *axes))
                write_at(files, f"{group.path}/{name}", 0, np.asarray(values))
            files.settle()
            list_contents(files)
            say(files, {COMPLETE: True})

    def dataset(self, group: str) -> xr.Dataset:
        """A group, without what is not yet there."""
        iterates = opened_group(CheckedFolder(self.place, growing=True, todo=MEND), group)
        return iterates.isel(iteration=slice(self.done)) if "iteration" in iterates.sizes else iterates


def shown(seen: Arrays) -> dict[str, np.ndarray]:
    """Empty arrays (N, ...) of the history, from those of what is seen."""
    wide, flat = seen["numbers"], seen["objective"]
    whole = np.zeros(len(flat), np.int32)
    return {"numbers": wide, "objective": flat, "excess": flat, "gradient_norm": flat, "growth": flat} | dict.fromkeys(
        ("status", "jumps", "halved", "ended"), whole
    )


def _growing(group: zarr.Group, name: str, like: np.ndarray, iterations: int) -> None:
    axes = ("iteration", "start", *AXES.get(name, ()))
    chunks = (min(EVERY, iterations), *(max(1, n) for n in like.shape))
    _array(group, name, like, (iterations, *like.shape), axes, chunks)


def _labels(group: zarr.Group, axis: str, entries: Sequence[str]) -> None:
    if entries:
        values = np.array(entries, dtype=object)
        _array(group, axis, values, values.shape, (axis,))
        write_at(folder_of(group), f"{group.path}/{axis}", 0, values)


def _array(
    group: zarr.Group, name: str, like: np.ndarray, shape: tuple[int, ...], axes: Sequence[str],
    chunks: tuple[int, ...] | None = None,
) -> None:  # fmt: skip
    """An array of numbers or texts like some."""
    whole = tuple(max(1, n) for n in shape)
    new_array(
        folder_of(group), f"{group.path}/{name}", shape, chunks or whole, like.dtype, axes, {"units": "1"},
        missing_of(like.dtype),
    )  # fmt: skip
