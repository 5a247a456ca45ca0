"""A stored study: its table, its arrays, and every member again. What `sweep` returns, and what opens one later."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftjax.ensembles.report.writing import write as write_report
from shiftjax.ensembles.store import store, study_store
from shiftjax.ensembles.store.ranking import ranked
from shiftjax.ensembles.store.recipe import AS_STORED, Recipe, designs_of, of_result, with_values
from shiftjax.ensembles.study.definition import Definition, from_document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.group import MemberGroup, with_growths
from shiftjax.errors import ModelError, need, need_count, need_path, one_of, refuse_text, shown, wrong
from shiftjax.formats.files import load
from shiftjax.markup import html_table
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.outcome import Outcome
from shiftjax.run.results.labelled import MISSING_TEXT
from shiftjax.run.results.result import Result
from shiftjax.viewing import view

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset, DataTree

    from shiftjax.run.results.event_history import EventHistory


class Study:
    """A study in its store, complete or not.

    Args:
        path: of the store, NAME.zarr.
        keeper: of a temporary folder, which is removed with the study.

    Raises:
        ModelError: no store of a study.
    """

    def __init__(self, path: str | Path, keeper: Any = None) -> None:
        need_path("Study: path", path)
        self.path, self._keeper = Path(path), keeper
        self._members: Dataset | None = None  # rows of a complete study
        self._about = study_store.about_of(self.path)

    @property
    def complete(self) -> bool:
        """Whether all members are done."""
        return not study_store.is_running(study_store.about_of(self.path))

    @cached_property
    def definition(self) -> Definition:
        """What was asked, the model in it."""
        return from_document(json.loads(self._about["study"]), self._about["study_folder"])

    @cached_property
    def groups(self) -> list[Mapping[str, Any]]:
        """Switches, first member and number of members of every group of members that have one model."""
        return json.loads(self._about["groups"])

    @property
    def members(self) -> int:
        return sum(group["members"] for group in self.groups)

    @property
    def xarray(self) -> DataTree:
        """The store, opened lazily and anew each time: groups `members`, `trajectories` and `log`, and what was added
        since, as slopes; as `store.read` gives them."""
        complete, tree = self.complete, store.read(self.path)
        if complete:
            self._members = tree["members"].to_dataset()
        return tree

    def _rows(self) -> Dataset:
        """The group `members`; that of a complete study, which changes no more, is taken from where it was opened."""
        return self.xarray["members"].to_dataset() if self._members is None else self._members

    @cached_property
    def table(self) -> DataFrame:
        """One row a member: design, switches, metrics, name of the status, certificate, message. `attrs["units"]` has
        the unit of each column."""
        members = self._rows()
        frame = members.to_dataframe()
        frame["status"] = [Outcome(int(status)).name for status in frame["status"]]
        frame.attrs = {"units": {str(name): str(v.attrs.get("units", "1")) for name, v in members.data_vars.items()}}
        return frame

    @property
    def events(self) -> EventHistory | None:
        """The instants of events of all members, as those of a `Result`; None of a study without events."""
        return store.events(self.xarray)

    def top(self, metric: str, n: int = 10, *, largest: bool = True) -> DataFrame:
        """The rows of the table with the largest values of a metric, or the smallest, of members that finished."""
        need_count("top: n", n, 1)
        one_of("top: metric", metric, [str(name) for name in self.table.columns])
        status = np.array([Outcome[name] for name in self.table["status"]])
        values = self.table[metric].to_numpy(float)
        return self.table.iloc[ranked(values, status, rising=not largest)[:n]]

    def member(self, k: int) -> Result:
        """One member, run again with its channels and all poses: the same to the last bit, on the machine on
        which the study ran.

        Args:
            k: its number in the study.
        """
        return self.again(k)

    def again(self, k: int, channels: Sequence[str] = (), **more: Any) -> Result:
        """`member` with further channels, and with keywords of `simulate` that change no bit of it.

        Args:
            k: its number in the study.
            channels: paths recorded beside those of the study.
            more: `threads`, `announce`; of members that are run or followed `progress`, of those that run `extremes`
                and `log_jacobian`, too.
        """
        refuse_text("Study.again: channels", channels)
        (recipe,) = self.recipes([k])
        recorded = list(dict.fromkeys([*recipe.settings.get("channels", []), *channels]))
        return recipe.run(channels=recorded, keep="all", **more)

    def recipe(self, k: int) -> tuple[Any, dict[str, np.ndarray], dict[str, Any]]:
        """Model, designs (1,) and settings with which `simulate`, `follow` or `assemble` gives one member."""
        (recipe,) = self.recipes([k])
        return recipe.model, dict(recipe.vary), dict(recipe.settings)

    def recipes(self, members: Sequence[int], values: Mapping[str, float] = AS_STORED) -> list[Recipe]:
        """How members are simulated again, those of one model together.

        Args:
            members: their numbers.
            values: number path -> the value that all of them have in place of their own.

        Raises:
            ModelError: no such member, or one that has not run; a number that does not vary.
        """
        listed = isinstance(members, Sequence | np.ndarray) and not isinstance(members, str)
        if not listed or getattr(members, "ndim", 1) != 1:
            raise wrong("members", members, "a list of numbers of members")
        for k in members:
            whole = isinstance(k, int | np.integer) and not isinstance(k, bool | np.timedelta64)
            if not whole or not 0 <= k < self.members:
                allowed = f"a whole number from 0 to {self.members - 1}"
                raise ModelError("member", shown(k), allowed, "Choose one of them.")
        table, recipes = self._rows(), list[Recipe]()
        for about, group in zip(self.groups, self._models, strict=True):
            last = about["first"] + about["members"]
            numbers = np.array([k for k in members if about["first"] <= k < last], np.int64)
            if not len(numbers):
                continue
            rows = table.isel(member=numbers)
            self._refuse_missing(numbers, rows["message"].values)
            known = group.model.numbers()
            derived = {*group.settings.get("derive", ()), *group.model.expressions}
            vary = {path: v for path, v in designs_of(rows).items() if path in known and path not in derived}
            vary = with_values(vary, values, str(self.path))
            still = self.definition.assemble_only
            recipes.append(Recipe(numbers, group.model, vary, dict(group.settings), still, group.kind))
        return recipes

    def _refuse_missing(self, members: np.ndarray, messages: np.ndarray) -> None:
        """Raises where one of some members, with their messages, has not run."""
        missing = members[messages == MISSING_TEXT]
        if not self.complete and len(missing):
            raise ModelError(f"member {missing[0]}", "one that has not run", "one that has", "Resume the study first.")

    @cached_property
    def _models(self) -> tuple[MemberGroup, ...]:
        """The groups of the study with one member each, whose designs do not matter."""
        alone = {"vary": FrozenJson(), "samples": None, "table": None, "correlation": FrozenJson()}
        return with_growths(designs(dataclasses.replace(self.definition, **alone)), self.groups)

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the study explained on one page, NAME.html: distributions, effects, extremes, failures, accuracy.

        Raises:
            ModelError: a package of the extra `report` is missing, a place that cannot be written.
        """
        tree = self.xarray
        return write_report(tree, load(json.loads(tree.attrs["model"])), path, force=force)

    def view(
        self,
        members: int | str | Sequence[int] = "",
        *,
        height: int = 480,
        rows: int | None = None,
        server: bool = False,
    ) -> Any:
        """The study as a page: members that move, with sliders for member and time as in `Result.view`, and a table, a
        scatter plot and parallel axes of all members, in which ranges are chosen.

        Args:
            members: a choice as of `shiftjax view --member`, as "worst:5 of kept", or numbers; left out, those whose
                poses were kept, else the first one. A page has 12 at most; without poses they are simulated again.
            height: of the frame in the notebook [pixels].
            rows: members in the table and the plots, 20 bytes or so each; of a study with more a random sample, which
                the page says. 0 for the moving members alone. Left out, 50 000.
            server: the page asks a server of this process for what it shows: it has all members, and whichever is
                clicked moves. It ends with the process, or by `stop`; see `shiftjax view --web`.

        Raises:
            ModelError: no such member, or none that started; no packages of the viewer; rows of a served page.
        """
        need("view: server", server, bool, "True or False")
        if server and rows is not None:
            raise ModelError(f"view: rows={rows}", "with server=True", "a page without a server", "Leave it out.")
        return view(self.path, members, height=height, rows=50_000 if rows is None else rows, server=server)

    def _repr_html_(self) -> str:
        members = self.xarray["members"].to_dataset()
        rows = [
            ("varied" if v.attrs.get("role") == "design" else "", v.attrs.get("path", name), v.attrs.get("units", ""))
            for name, v in members.data_vars.items()
        ]
        return html_table(repr(self), ("", "name", "unit"), sorted(rows, key=lambda row: not row[0]))

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"{len(study_store.done(self.path))} shards done"
        return f"Study of {self.members} members in {self.path}: {state}"


def lone(result: Result) -> Result:
    """A result of one member without the member axis, as of a single run."""
    if not result.batched or result.members != 1:
        raise ModelError("lone", f"{result.members} members", "one", "Take a result of one member.")

    def first(values: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: np.asarray(value)[0] for name, value in (values or {}).items()}

    numbers = {name: value.item() for name, value in first(result.certificate).items()}
    return dataclasses.replace(
        result, channels=first(result.channels), certificate=numbers, status=result.status[0],
        poses=first(result.poses), metrics=first(result.metrics), extremes=first(result.extremes),
        final=first(result.final), branch=None if result.branch is None else result.branch[0], ending=None,
        events=result.events and result.events.without_members(), design=first(result.design),
    )  # fmt: skip


def recipes_of(path: str | Path, tree: DataTree, members: Sequence[int]) -> list[Recipe]:
    """How members of a store of a study or of a result are simulated again, those of one model together.

    Args:
        tree: of `store.read`.

    Raises:
        ModelError: as of `Study.recipes` and `recipe.of_result`.
    """
    if study_store.is_study(tree.attrs):
        return Study(path).recipes(members)
    return [of_result(tree, members, str(path))]
