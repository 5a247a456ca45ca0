"""The members of a study that have one model. A record only; `designs` makes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.record import record

GROWTH = "error_growth"  # keyword of `simulate`, and of a group in a store: by what estimates of errors are multiplied


@record
class MemberGroup:
    """The members of a study that have one model.

    Attributes:
        switches: element -> whether it is on; full paths.
        model: with the switches, drives and set numbers of the study.
        first: number of its first member in the study.
        members: how many there are.
        values: full path of a number -> (members,) values in SI; NaN for a number that is switched off.
        absent: paths of `values` that are switched off.
        settings: keywords of `simulate` beside `vary`, of what there is in this model.
        kind: of the study: "run", or one of `posed.POSED`.
        unrecorded, unmeasured: channels and names of metrics of the study that there are not in this model.
    """

    switches: Mapping[str, bool]
    model: Model
    first: int
    members: int
    values: Mapping[str, np.ndarray] = dataclasses.field(compare=False, hash=False)
    absent: tuple[str, ...]
    settings: Mapping[str, Any] = dataclasses.field(compare=False, hash=False)
    kind: str = "run"
    unrecorded: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()

    def vary(self, begin: int = 0, end: int | None = None) -> dict[str, np.ndarray]:
        """What `simulate` is given of the members from `begin` up to `end` of this group.

        With it, `simulate(group.model, vary=group.vary(b, e), **group.settings)` runs them.
        """
        return {path: values[begin:end] for path, values in self.values.items() if path not in self.absent}

    @property
    def led(self) -> bool:
        """Whether its members are led along a path, whose places are the `drive` of the settings."""
        return self.kind == "follow"

    @property
    def moves(self) -> bool:
        """Whether its members move in time."""
        return self.kind == "run"

    def with_growth(self, growth: float | None) -> MemberGroup:
        """The group whose settings say by what estimates of errors are multiplied; None for the group as it is."""
        if growth is None:
            return self
        return dataclasses.replace(self, settings={**self.settings, GROWTH: growth})


def with_growths(groups: Sequence[MemberGroup], listed: Sequence[Mapping[str, Any]]) -> tuple[MemberGroup, ...]:
    """Groups with the growth of errors that a store lists of each."""
    return tuple(group.with_growth(about.get(GROWTH)) for group, about in zip(groups, listed, strict=True))


def total(groups: Sequence[MemberGroup]) -> int:
    """Members of a study."""
    return sum(group.members for group in groups)
