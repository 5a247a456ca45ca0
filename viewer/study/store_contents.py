"""What a store says of a study: the model, how it was run, numbers and messages of its members, trajectories."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.study.switching import switched
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.plugins import need_plugins
from shiftjax.viewer.study.store_columns import numbers_in
from shiftjax.viewer.study.stored_trajectories import StoredTrajectories


@dataclasses.dataclass(frozen=True, eq=False)
class StoreContents:
    """What is read when a store is opened: names, shapes and texts, no numbers of members.

    Attributes:
        model: with its name and the file it was read from. settings, report: as `ViewedStudy` has them.
        count: how many members there are. columns: the group of the store with an entry for each of them.
        trajectories: of those kept.
        derived: numbers that follow from others, as the study or the run names them.
        groups: first member, number of members and switched parts of each group; none where all have the model's parts.
    """

    model: Model
    settings: dict[str, Any]
    report: dict[str, Any]
    count: int
    columns: xr.Dataset
    messages: xr.DataArray
    trajectories: StoredTrajectories
    derived: tuple[str, ...]
    groups: list[dict[str, Any]]

    @property
    def has_poses(self) -> bool:
        """Whether poses of bodies were stored of the members that have trajectories."""
        return bool(self.trajectories.bodies) or not any(True for _ in self.model.bodies())

    def message(self, member: int) -> str:
        """Error or warning of a member's run; empty if there was none."""
        return str(numbers_in(self.messages[member])[()])

    def messages_of(self, members: np.ndarray) -> list[str]:
        """The same of several members (k,), read at once."""
        return [str(text) for text in numbers_in(self.messages[members])]

    def model_of(self, member: int) -> Model:
        """The model with the parts of a member, before its numbers; the same object for members of the same parts."""
        return next((model for members, model in self._models if member in members), self.model)

    @functools.cached_property
    def _models(self) -> list[tuple[range, Model]]:
        """Members and model of every group."""
        firsts, counts = ([int(group[key]) for group in self.groups] for key in ("first", "members"))
        members = [range(first, first + count) for first, count in zip(firsts, counts, strict=True)]
        return [(k, switched(self.model, group["switches"])) for k, group in zip(members, self.groups, strict=True)]


def contents_of(tree: xr.DataTree, where: str) -> StoreContents:
    """The contents of a store.

    Args:
        where: its name, for messages.

    Raises:
        ModelError: something is missing in it, or a plug-in that it needs.
    """
    try:
        columns = tree["members"].to_dataset()
        count, messages = int(columns.sizes["member"]), columns["message"]
        trajectories = StoredTrajectories(tree["trajectories"].to_dataset())
        source = str(tree.attrs["model_source"])
        settings, report, document = (json.loads(tree.attrs[name]) for name in ("settings", "report", "model"))
        groups = json.loads(tree.attrs.get("groups", "[]"))
        derived = tuple(json.loads(tree.attrs.get("study", "{}")).get("derive", settings.get("derive", ())))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(where, f"an incomplete result ({error})", "a whole one", "Run it again.") from None
    need_plugins(where, tree.attrs)
    model = dataclasses.replace(load(document), source=source, name=Path(source).stem)
    return StoreContents(model, settings, report, count, columns, messages, trajectories, derived, groups)
