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
from shiftjax.ensembles.store.folders import CheckedFolder, WrittenFolder, flush, opened_group
from shiftjax.ensembles.store.new_arrays import new_array, new_group
from shiftjax.ensembles.store.replacing import remove
from shiftjax.ensembles.store.study_store import array_of, list_contents, say, write_at, writing
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
            remove(draft)
            for group in ("evaluations", "history"):
                new_group(files, group, {})
                for axis, entries in names.items():
                    _labels(files, f"{group}/{axis}", entries)
                for name, like in (first if group == "evaluations" else shown(first)).items():
                    _growing(files, group, name, like, iterations)
            new_group(files, "", {**FORMAT, STORED: present(), **about, KIND: 1, DONE: 0, COMPLETE: False})
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
            new_group(files, "starts", {}, anew=True)
            for axis, entries in names.items():
                _labels(files, f"starts/{axis}", entries)
            for name, values in starts.items():
                axes = ("start", *AXES.get(name.removeprefix("first_"), ()))
                new_array(files, f"starts/{name}", axes, values.shape, values.dtype, chunks=values.shape, values=values)
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


def _growing(files: WrittenFolder, group: str, name: str, like: np.ndarray, iterations: int) -> None:
    axes = ("iteration", "start", *AXES.get(name, ()))
    chunks = (min(EVERY, iterations), *like.shape)
    new_array(files, f"{group}/{name}", axes, (iterations, *like.shape), like.dtype, chunks=chunks)


def _labels(files: WrittenFolder, path: str, entries: Sequence[str]) -> None:
    if entries:
        values = np.array(entries, dtype=object)
        new_array(files, path, [path.rpartition("/")[2]], values.shape, values.dtype, values=values)
