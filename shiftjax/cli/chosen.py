"""The member of a stored study that a command runs again: a number, or the first of a choice."""

from __future__ import annotations

import numpy as np
import xarray as xr

from shiftjax.cli import common
from shiftjax.ensembles.store.members import members_of
from shiftjax.ensembles.stored_study import Study
from shiftjax.errors import ModelError
from shiftjax.viewer.members.choice import Choices


def choices_of(tree: xr.DataTree) -> Choices:
    """What may be chosen of a stored study."""
    members = members_of(tree)
    columns = {column.name: column.values for column in members.columns}
    columns |= {"status": members.status, "member": members.numbers}
    trajectories = tree["trajectories"].to_dataset() if "trajectories" in tree.children else {}
    recorded = np.asarray(trajectories["member"].values if "pose" in trajectories else [], np.int64)
    senses = {column.name: column.good for column in members.columns if column.good}
    units = {column.name: column.unit for column in members.columns}
    return Choices(len(members.numbers), recorded, columns, senses, lambda name: units.get(name, ""))


def first_of(study: Study, text: str, option: str) -> int:
    """The first member that a choice means; a note says what it assumes, and which member it is.

    Raises:
        ModelError: no such member, a choice that is none or means nobody.
    """
    if text.strip().isdecimal():
        return int(text)
    choices = choices_of(study.xarray)
    chosen = choices.choose(text)
    if not len(chosen):
        raise ModelError(f"{option} {text}", "no member", "one at least", "Choose others.")
    if note := choices.assumed(text):
        common.say(f"note: {option} {text}: {note}")
    common.say(f"note: {option} {text}: member {chosen[0]}")
    return int(chosen[0])
