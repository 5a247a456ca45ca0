"""What came of an optimisation: every start's best design, the best of all, and how each came there. Free of jax."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.optimization.iterates import Iterates
from shiftjax.ensembles.study.definition import Definition, from_document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.optimization_words import DescentEnding
from shiftjax.errors import ModelError, need_path
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.derive import with_derived

if TYPE_CHECKING:
    from pandas import DataFrame


@record
class Best:
    """The best start of an optimisation.

    Attributes:
        start: its number. design: full path -> value in SI. objective: its value. excess: of the constraint that is
            exceeded most. metrics: name -> value. before: the same of the design that the start began with, NaN where
            that does not run. began: that design.
    """

    start: int
    design: dict[str, float]
    objective: float
    excess: float
    metrics: dict[str, float]
    began: dict[str, float]
    before: dict[str, float]


class Optimum:
    """An optimisation in its store that has ended.

    Args:
        path: of the store, NAME.zarr. keeper: of a temporary folder, which is removed with the optimum.

    Raises:
        ModelError: no optimisation there, or one that has not ended.
    """

    def __init__(self, path: str | Path, keeper: Any = None) -> None:
        need_path("Optimum: path", path)
        self.path, self._keeper = Path(path), keeper
        self._store = Iterates(self.path)
        self.about = self._store.about
        if not self._store.complete:
            todo = "Go on with `shiftjax optimize STUDY.toml --resume`."
            raise ModelError(str(path), "an optimisation that has not ended", "one that has", todo)

    @cached_property
    def definition(self) -> Definition:
        """What was asked, the model in it."""
        return from_document(json.loads(self.about["study"]), self.about["study_folder"])

    @property
    def history(self) -> xr.Dataset:
        """(iteration, start, ...) the last good design of every start: `numbers`, `objective`, `excess` of constraints,
        `gradient_norm` (of the free numbers), `status` of the run, its `jumps`, which the gradient ignores, the
        `growth` of small changes in it, `halved` steps so far, `ended`."""
        return self._store.dataset("history")

    @property
    def evaluations(self) -> xr.Dataset:
        """(iteration, start, ...) every point that was run, also those that were none: status, merit and gradient."""
        return self._store.dataset("evaluations")

    @cached_property
    def starts(self) -> xr.Dataset:
        """(start, ...) what came of every start."""
        return self._store.dataset("starts").load()

    @property
    def parameters(self) -> list[str]:
        """Full paths of the numbers that were changed."""
        return [str(path) for path in self.starts["parameter"].values]

    @property
    def metrics(self) -> list[str]:
        return [str(name) for name in self.starts["metric"].values] if "metric" in self.starts else []

    @property
    def units(self) -> dict[str, str]:
        """Of parameters and metrics."""
        return json.loads(self.about["units"])

    @property
    def designs(self) -> dict[str, np.ndarray]:
        """Full path -> (N,) the best design of every start."""
        return dict(zip(self.parameters, self.starts["numbers"].values.T, strict=True))

    @property
    def objective(self) -> np.ndarray:
        """(N,) of the best design of every start; infinite where none runs."""
        return self.starts["objective"].values

    @property
    def ending(self) -> list[str]:
        """(N,) how every start ended, a name of `DescentEnding`."""
        return [DescentEnding(int(code)).name for code in self.starts["ended"].values]

    @cached_property
    def order(self) -> np.ndarray:
        """(N,) the starts, best first: those that meet the constraints by their objective, others by how far not."""
        excess = self.starts["excess"].values
        over = np.where(excess <= self.about["constraint_tolerance"], 0.0, excess)
        return np.lexsort((self.objective, over))

    @property
    def best(self) -> Best:
        """The best of all starts."""
        k = int(self.order[0])
        row = self.starts.isel(start=k)

        def named(names: list[str], of: str) -> dict[str, float]:
            return dict(zip(names, map(float, row[of].values), strict=True)) if names else {}

        return Best(
            k, named(self.parameters, "numbers"), float(row["objective"]), float(row["excess"]),
            named(self.metrics, "metrics"), named(self.parameters, "first_numbers"),
            named(self.metrics, "first_metrics"),
        )  # fmt: skip

    @cached_property
    def model(self) -> Model:
        """The model with the best design: of the file, with the drives and numbers of the study."""
        (group,) = designs(self.definition)
        best = self.best
        vary = {path: values[best.start : best.start + 1] for path, values in group.vary().items()}
        vary |= {path: np.array([value]) for path, value in best.design.items()}
        columns, assign = with_derived(group.model, vary, None, group.settings.get("derive"))
        derived = {path: float(values[0]) for path, values in (columns or {}).items()}
        return group.model.replace(derived | (assign or {}))

    def to_pandas(self) -> DataFrame:
        """One row a start: objective, excess of the constraints, how it ended, iterations, runs, those with
        slopes, those that were turned back from, jumps of forces that gradients ignore and growth of small changes, its
        best design and the metrics there."""
        rows = self.starts
        columns: dict[str, Any] = {"objective": self.objective, "excess": rows["excess"].values, "ending": self.ending}
        columns |= {name: rows[name].values for name in ("iterations", "runs", "slopes", "halved", "jumps", "growth")}
        columns |= self.designs | {name: rows["metrics"].values[:, k] for k, name in enumerate(self.metrics)}
        return xr.Dataset({name: ("start", values) for name, values in columns.items()}).to_dataframe()

    def __repr__(self) -> str:
        best = self.best
        return f"Optimum of {len(self.objective)} starts in {self.path}: {best.objective:.6g} of start {best.start}"
