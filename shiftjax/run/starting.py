"""Where the members of a run start: on the file's branch, on another one that is named, or where a run has ended."""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.errors import ModelError
from shiftjax.run.assemblies.branch_starts import on_branch
from shiftjax.run.beginning import start_from
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.singular_starts import with_ways
from shiftjax.run.start.stated import Start
from shiftjax.run.start.undriven import undriven_pose


def start_on_branch(
    prepared: Prepared, start: Result | None, faulty: Mapping[int, str], t0: float = 0.0, *, massless: bool = False
) -> Start:
    """As `start_from`, of members that begin on the branch of a name there.

    Raises:
        ModelError: as of `start_from` and `on_branch`; a branch beside a result to go on from.
    """
    if not prepared.branch:
        return start_from(prepared, start, faulty, t0, massless=massless)
    if start is not None:
        todo = "Leave one of them out: the end of the earlier run is on a branch."
        raise ModelError("branch", "with a start to go on from", "one of them", todo)
    began = start_from(prepared, None, faulty, massless=massless)
    return with_ways(prepared, on_branch(prepared, began, undriven_pose(prepared), faulty))
