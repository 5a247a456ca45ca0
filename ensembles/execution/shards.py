"""A study in portions: which members each has, and what comes of running one. Pure functions of the study, no files.

Problem: a study of a million members neither fits into memory nor may be lost as a whole. Properties: a shard is the
members from k S up to (k + 1) S, of one model or of several; what comes of a member does not depend on its shard, so
that shards may run anywhere, in any order, and again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.study.definition import Definition
from shiftjax.ensembles.study.group import GROWTH, MemberGroup
from shiftjax.ensembles.study.posed import posed
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record
from shiftjax.run.advance.repeats import sample_size
from shiftjax.run.assemble import assemble
from shiftjax.run.memory import Need, free_memory
from shiftjax.run.results.labelled import ORDER, disk_name, to_tree
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

STEPS = 4e8  # of a shard's members together: ten seconds of four-bars on two cores, of which starts take a tenth
ASSEMBLY = 2e4  # steps of a four-bar take as long as one assembly of random lengths: 0.4 ms
LEAST, MOST = 256, 1 << 16  # members of a shard
OF_MOTION = ("output_step", "progress", "accuracy", GROWTH)  # keywords that mean nothing where nothing moves
SHARE = 0.125  # of the free memory: two shards run while one is written, and all are counted generously


@record
class Portion:
    """Members of one group in a shard: `begin` up to `end` in the group."""

    group: MemberGroup
    begin: int
    end: int

    @property
    def first(self) -> int:
        """Number of the first of them in the study."""
        return self.group.first + self.begin

    @property
    def members(self) -> np.ndarray:
        return np.arange(self.first, self.group.first + self.end)


def parts(groups: Sequence[MemberGroup], shard: int, size: int) -> Iterator[Portion]:
    """The members of a shard, of every group that has some."""
    low, high = shard * size, (shard + 1) * size
    for group in groups:
        begin, end = max(low - group.first, 0), min(high - group.first, group.members)
        if begin < end:
            yield Portion(group, begin, end)


def shard_size(need: Need, steps: float) -> int:
    """Members of a shard: a power of two, as many as keep the machine busy for a while and fit into the memory.

    Args:
        need: memory of one member. steps: of one member.
    """
    fitting = SHARE * free_memory() / max(need.total, 1.0)
    wanted = min(max(STEPS / max(steps, 1), LEAST), MOST, max(fitting, 1.0))
    return 1 << int(np.log2(wanted))


def run_members(
    part: Portion,
    definition: Definition,
    recorded_members: np.ndarray,
    progress: Callable[[float], None] = lambda done: None,
    threads: int | None = None,
) -> tuple[xr.Dataset, xr.Dataset | None]:
    """Simulates the members of a part.

    Args:
        recorded_members: (K,) numbers in the study of those whose trajectories are kept.

    Returns:
        the rows of the table of members, and the trajectories of those of them that are kept, None where none are.
    """
    places = np.intersect1d(recorded_members, part.members) - part.first
    every = 2 * len(places) > part.end - part.begin  # then what is not kept is recorded in passing
    given = {"keep": places.tolist()} if every else {"channels": [], "output_step": None}
    result = simulated(part, definition, {**given, "progress": progress, "threads": threads})
    rows = table(result, part)
    if not len(places):
        return rows, None
    if every:
        return rows, trajectories(result, part, places)
    return rows, recorded(part, definition, places, lambda done: progress(1.0), threads)


def recorded(
    part: Portion,
    definition: Definition,
    places: np.ndarray,
    progress: Callable[[float], None] = lambda done: None,
    threads: int | None = None,
) -> xr.Dataset:
    """Trajectories of some members of a part, which run alone.

    Args:
        places: (K,) of the members in the part.
    """
    few = {path: values[places] for path, values in part.group.vary(part.begin, part.end).items()}
    more = {"channels": part.group.settings.get("channels", []), "keep": "all", "vary": few}
    more |= {"progress": progress, "threads": threads, "accuracy": "local", GROWTH: None}
    return trajectories(simulated(part, definition, more), part, places)


def measured_growth(group: MemberGroup, definition: Definition) -> float | None:
    """By what estimates of the errors of a group's members are multiplied, as a sample of them shows it.

    Measured once, at the beginning of a study, so that what is said of a member does not depend on its shard. None
    where nothing is estimated.
    """
    if not definition.simulated or definition.accuracy not in (None, "sampled"):
        return None
    places = evenly_spaced(group.members, sample_size(group.members))
    few = {path: values[places] for path, values in group.vary().items()}
    more = {"channels": [], "metrics": {}, "output_step": None, "accuracy": "all", "vary": few}
    growth = simulated(Portion(group, 0, 1), definition, more).settings[GROWTH]
    return 1.0 if growth is None else growth


def probed(group: MemberGroup, definition: Definition) -> tuple[Result, Need, xr.Dataset, xr.Dataset]:
    """The first member of a group, run with all that may be recorded of one.

    Returns:
        its result, the memory of a member whose poses are not recorded, its row of the table, its trajectories.
    """
    part, needs = Portion(group, 0, 1), list[Need]()
    result = simulated(part, definition, {"keep": "all", "announce": needs.append})
    need = dataclasses.replace(needs[-1], poses=0.0)
    return result, need, table(result, part), trajectories(result, part, np.zeros(1, np.int64))


def simulated(part: Portion, definition: Definition, more: Mapping[str, Any]) -> Result:
    """The result of the members of a part, or of those whose numbers stand in `more`: simulated, posed as the kind of
    the study says, or only assembled."""
    given = {**part.group.settings, "vary": part.group.vary(part.begin, part.end), **more}
    if definition.assemble_only:
        return assemble(part.group.model, **{k: value for k, value in given.items() if k not in OF_MOTION})
    if not part.group.moves:
        return posed(part.group.kind, part.group.model, given)
    if given.get("output_step", 0) is None:  # nothing is recorded but the ends
        given["output_step"] = given.get("span") or part.group.model.settings.span
    return simulate(part.group.model, **given)


def table(result: Result, part: Portion) -> xr.Dataset:
    """The rows of the members of a part: designs of the whole study, switches, metrics, status, certificate."""
    rows = to_tree(result, keep="none")["members"].to_dataset()
    members = part.end - part.begin
    nothing, group = np.full(members, np.nan), part.group
    lost = [("design", path) for path in group.absent] + [("metric", name) for name in group.unmeasured]
    none = {
        disk_name(path, set()): ("member", nothing, {"role": role, "units": "1", "path": path}) for role, path in lost
    }
    switches = {
        path: ("member", np.full(members, on, np.int8), {"role": "switch", "units": "1", "path": path})
        for path, on in ((f"{element}.active", on) for element, on in group.switches.items())
    }
    if "events" in group.settings and "events" not in rows:  # what they are of is switched off
        none["events"] = ("member", np.full(members, "", object), {"role": "events", "units": "1"})
    more = xr.Dataset({**none, **switches}, coords={"member": rows["member"]})
    return rows.merge(more, compat="override").assign_coords(member=("member", part.members, {"units": "1"}))


def columns(rows: Sequence[xr.Dataset], groups: Sequence[MemberGroup]) -> xr.Dataset:
    """The row of one member of every group as one that says of each column what those say which have it."""

    def having(name: Any) -> xr.Dataset:
        path = rows[0][name].attrs.get("path", name)
        there = (row for row, group in zip(rows, groups, strict=True) if path not in (*group.absent, *group.unmeasured))
        return next(there, rows[0])

    return rows[0].assign({name: values.assign_attrs(having(name)[name].attrs) for name, values in rows[0].items()})


def together(some: Sequence[xr.Dataset]) -> xr.Dataset:
    """Trajectories of one member of every model of a study: one dataset that has the channels and bodies of all."""
    bodies = list(dict.fromkeys(str(body) for one in some for body in one["body"].values))
    whole = [one.reindex(body=bodies).assign_coords(member=[0]) for one in some]
    joined = whole[0]
    for one in whole[1:]:
        joined = joined.assign({name: one[name] for name in one.data_vars if name not in joined})
    joined["body"].attrs.update(some[0]["body"].attrs)
    names = [str(name) for name in joined.data_vars if name != "pose"]
    return joined.assign_attrs({ORDER: [*names, "pose"]})


def trajectories(result: Result, part: Portion, places: np.ndarray) -> xr.Dataset:
    """Channels and poses of the members that a result has kept, numbered as in the study.

    Args:
        places: (K,) of the members in the part.
    """
    paths = to_tree(result)["trajectories"].to_dataset()
    return paths.assign_coords(member=("member", part.first + places, {"units": "1"}))
