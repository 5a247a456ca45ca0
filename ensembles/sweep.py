"""A whole study: its members run shard by shard into a store, which is complete, or goes on from where it stands.

The machine runs one shard while the one before is written. With an executor of `concurrent.futures`, or of Dask,
shards run in other processes, which write their own chunks of the store; a shard that was lost is run again. The store
is the same to the last bit whichever way it came about, on machines of one kind.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles import study_file, study_store
from shiftjax.ensembles.definition import Definition, document, from_document
from shiftjax.ensembles.designs import designs
from shiftjax.ensembles.extremes import extremes
from shiftjax.ensembles.group import Group
from shiftjax.ensembles.replacing import refuse_unwritable, remove
from shiftjax.ensembles.shards import (
    ASSEMBLY,
    Part,
    parts,
    run_members,
    shard_size,
    simulated,
    table,
    total,
    trajectories,
)
from shiftjax.ensembles.study import Study
from shiftjax.errors import ModelError, need_path, wrong
from shiftjax.formats.files import load
from shiftjax.formats.writer import to_dict
from shiftjax.record import record
from shiftjax.run.labelled import FORMAT, to_tree
from shiftjax.run.memory import Need
from shiftjax.shield import shielded
from shiftjax.version import VERSION

SUFFIX = ".zarr"
OF_A_RUN = ("programs", "compile_s", "wall_s")  # attributes of a result that a study does not have


@record
class Progress:
    """Where a study stands.

    Attributes:
        members: of the study. done: members that are done, with those that were before. running: members' worth of
            work that is under way. failed: members that ended early. repartitioned: members that changed coordinates.
        seconds: since this call began. rate: steps a second since then.
    """

    members: int
    done: int
    running: float
    failed: int
    repartitioned: int
    seconds: float
    rate: float


@record
class Plan:
    """A study as its store defines it: what every process that runs a shard of it must know."""

    folder: Path
    definition: Definition
    groups: tuple[Group, ...]
    size: int  # of a shard
    kept: tuple[int, ...]  # members whose trajectories are written with their shard

    @property
    def shards(self) -> int:
        return -(-total(self.groups) // self.size)


def sweep(
    study: Definition | str | Path,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Study:
    """Runs a study, or what is missing of one.

    Args:
        study: the definition, or the path of a study file (.toml).
        out: the store, NAME.zarr; left out, a temporary one that lives as long as the result.
        resume: go on with the study that stands there; where nothing does, begin it.
        force: replace what is there.
        executor: of `concurrent.futures`, or `dask.distributed.Client(...).get_executor()`; its processes must see the
            folder of the store. Left out, shards run here one after the other.
        threads: of the kernel in each process; all cores where left out.
        progress: called now and then, about once a shard and several times in each that runs here.

    Raises:
        ModelError: what the definition, a model or the store make impossible.
        KeyboardInterrupt: Ctrl-C. All shards that were done are in the store, and `resume` goes on.
    """
    definition = study if isinstance(study, Definition) else _read(study)
    place, temporary = _place(out, resume=resume, force=force)
    definition = _embedded(definition)
    if not place.exists():
        _begin(definition, place)
    elif json.loads(study_store.about_of(place)["study"]) != document(definition):
        todo = "Resume it with its own study, or choose another name."
        raise ModelError(str(place), "the store of another study", "that of this one", todo)
    with study_store.locked(place):
        study_store.clean(place)
        _run(opened(str(place)), executor, threads, progress)
    return Study(place, temporary)


def run_shard(folder: str, shard: int, threads: int | None = None) -> tuple[int, int, int]:
    """Runs one shard of a study and writes it: what an executor calls.

    Returns:
        the shard, members that ended early, members that changed coordinates.
    """
    plan = opened(folder)
    found = [_run_part(plan, part, threads) for part in parts(plan.groups, shard, plan.size)]
    return shard, *_write(plan, shard, found)


@lru_cache(maxsize=4)
def opened(folder: str) -> Plan:
    """The plan of a store."""
    about = study_store.about_of(Path(folder))
    if about["shiftjax_version"] != VERSION:
        found, todo = f"a study of version {about['shiftjax_version']}", f"Go on with that version; this is {VERSION}."
        raise ModelError(folder, found, f"one of version {VERSION}", todo)
    definition = from_document(json.loads(about["study"]), about["study_folder"])
    groups = designs(definition)
    keep = definition.kept
    stated = keep.stated(total(groups)) if not (keep.worst or keep.best) else np.zeros(0, np.int64)
    return Plan(Path(folder), definition, groups, int(about["shard_size"]), tuple(stated.tolist()))


def _read(study: str | Path) -> Definition:
    need_path("sweep: study", study)
    return study_file.read(study)


def _place(out: str | Path | None, *, resume: bool, force: bool) -> tuple[Path, Any]:
    """The folder of the store, and what keeps a temporary one."""
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="shiftjax-")
        return Path(temporary.name) / f"study{SUFFIX}", temporary
    need_path("sweep: out", out)
    place = Path(out)
    if place.suffix != SUFFIX:
        raise ModelError(str(out), f"suffix {place.suffix!r}", SUFFIX, "Studies are stored as NAME.zarr.")
    if not place.absolute().parent.is_dir():
        raise ModelError(str(out), "no such folder", "a folder that exists", f"Make {place.parent} first.")
    refuse_unwritable(place)
    if place.exists() and not resume:
        if not force:
            raise ModelError(str(out), "something of that name", "a new name", "Use resume to go on, force to replace.")
        if not (place / "zarr.json").is_file():
            raise ModelError(str(out), "something else of that name", "a result to replace", "Move it away yourself.")
        remove(place)
    return place, None


def _embedded(definition: Definition) -> Definition:
    """The definition with its model in it, so that its store needs no other file."""
    words = document(definition)
    if isinstance(definition.model, str):
        file = definition.model_file
        words["model"] = to_dict(load(definition.model if file is None else file))
    return from_document(json.loads(json.dumps(words)), definition.folder)


def _begin(definition: Definition, place: Path) -> None:
    """The empty store of a study. One member of each group is run before: what cannot run is refused at once."""
    groups = designs(definition)
    count, needs = total(groups), list[Need]()
    first, rows = None, None
    for group in groups:
        part = Part(group, 0, 1)
        result = simulated(part, definition, {"announce": needs.append})
        rows = table(result, part) if rows is None else rows
        first = first or result
    if first is None or rows is None:
        raise wrong("study", "no members", "one or more")
    steps = ASSEMBLY if definition.assemble_only else round(first.settings["span"] / first.settings["step"])
    size = shard_size(max(needs, key=lambda need: need.total), steps)
    about = {str(key): value for key, value in to_tree(first, "none").attrs.items() if key not in OF_A_RUN}
    listed = [{"switches": dict(g.switches), "first": g.first, "members": g.members} for g in groups]
    about |= {**FORMAT, "study": json.dumps(document(definition)), "study_folder": definition.folder}
    about |= {"groups": json.dumps(listed)}
    draft = place.with_name(f".{place.name}.begun")
    remove(draft)
    study_store.create(draft, about, rows, count, size)
    kept = definition.kept
    if not (kept.worst or kept.best) and len(stated := kept.stated(count)):
        part = Part(groups[0], 0, 1)
        _, some = run_members(part, definition, np.zeros(1, np.int64))
        assert some is not None
        study_store.create_trajectories(draft, some, stated)
    draft.rename(place)


def _run(plan: Plan, executor: Executor | None, threads: int | None, progress: Callable[[Progress], None]) -> None:
    """Runs the shards that are not done, then what is chosen from all of them."""
    ready = study_store.done(plan.folder)
    todo = [shard for shard in range(plan.shards) if shard not in ready]
    count = total(plan.groups)
    told = _Teller(count, sum(_members(plan, shard) for shard in ready), progress)
    told.begin()
    if executor is None:
        _run_here(plan, todo, threads, told)
    else:
        futures = [executor.submit(run_shard, str(plan.folder), shard, threads) for shard in todo]
        try:
            for future in as_completed(futures):
                shard, *counts = future.result()
                told.shard(_members(plan, shard), *counts)
        finally:
            for future in futures:
                future.cancel()
    if study_store.is_running(study_store.about_of(plan.folder)):
        _keep_extremes(plan, threads)
        with shielded():
            study_store.finish(plan.folder)


def _members(plan: Plan, shard: int) -> int:
    return min(plan.size, total(plan.groups) - shard * plan.size)


def _run_here(plan: Plan, todo: Sequence[int], threads: int | None, told: _Teller) -> None:
    """One shard after the other; each is written while the next one runs."""
    with _writer() as write:
        for shard in todo:
            found, before = [], 0
            for part in parts(plan.groups, shard, plan.size):
                told.within(before, part.end - part.begin)
                found.append(_run_part(plan, part, threads, told.part))
                before += part.end - part.begin
            write(lambda shard=shard, found=found: told.shard(_members(plan, shard), *_write(plan, shard, found)))


@contextmanager
def _writer() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Calls what it is given in a thread, one after the other; waits for the one before last, and at the end."""
    pending: list[Future[None]] = []
    pool = ThreadPoolExecutor(1)

    def write(task: Callable[[], None]) -> None:
        while pending:
            pending.pop().result()
        pending.append(pool.submit(task))

    try:
        yield write
    finally:
        with shielded():  # what is being written is finished, also after an interrupt
            pool.shutdown()
    for future in pending:
        future.result()


Rows = tuple[Part, Any, Any]  # a part, its rows of the table, its trajectories


def _run_part(
    plan: Plan, part: Part, threads: int | None, progress: Callable[[float], None] = lambda done: None
) -> Rows:
    return part, *run_members(part, plan.definition, np.array(plan.kept, np.int64), progress, threads)


def _write(plan: Plan, shard: int, found: Sequence[Rows]) -> tuple[int, int]:
    """Writes a shard and marks it done; counts members that ended early, and that changed coordinates."""
    failed = changed = 0
    kept = np.array(plan.kept, np.int64)
    rows: list[xr.Dataset] = [rows for _, rows, _ in found]
    joined = xr.concat(rows, dim="member", combine_attrs="override")
    study_store.write_rows(plan.folder, joined, shard * plan.size)
    for _, own, some in found:
        failed += int((own["status"].values > 0).sum())
        changed += int((own["repartitions"].values > 0).sum())
        if some is not None:
            study_store.write_some(plan.folder, some, np.searchsorted(kept, some["member"].values))
    study_store.mark(plan.folder, shard)
    return failed, changed


def _keep_extremes(plan: Plan, threads: int | None) -> None:
    """The trajectories of the members that are best and worst, and of those that are kept beside them."""
    keep = plan.definition.kept
    if not (keep.worst or keep.best):
        return
    tree = Study(plan.folder).xarray
    chosen = np.union1d(keep.stated(total(plan.groups)), extremes(tree["members"].to_dataset(), keep))
    made = False
    for group in plan.groups:
        mine = chosen[(chosen >= group.first) & (chosen < group.first + group.members)] - group.first
        if not len(mine):
            continue
        part = Part(group, 0, group.members)
        few = {path: values[mine] for path, values in group.vary().items()}
        given = {"channels": group.settings.get("channels", []), "keep": "all", "vary": few, "threads": threads}
        some = trajectories(simulated(part, plan.definition, given), np.arange(len(mine)), part, mine)
        if not made:
            study_store.create_trajectories(plan.folder, some, chosen)
            made = True
        study_store.write_some(plan.folder, some, np.searchsorted(chosen, some["member"].values))


class _Teller:
    """Counts what is done and tells it."""

    def __init__(self, members: int, before: int, progress: Callable[[Progress], None]) -> None:
        self._members, self._before, self._progress = members, before, progress
        self._done, self._failed, self._changed = before, 0, 0
        self._begun = time.perf_counter()
        self._offset = self._size = 0

    def begin(self) -> None:
        self._tell(0.0)

    def within(self, before: int, members: int) -> None:
        """Of the shard that runs, so many members are done, so many run now."""
        self._offset, self._size = before, members

    def part(self, fraction: float) -> None:
        """Of those that run."""
        self._tell(self._offset + fraction * self._size)

    def shard(self, members: int, failed: int, changed: int) -> None:
        self._done, self._failed, self._changed = self._done + members, self._failed + failed, self._changed + changed
        self._tell(0.0)

    def _tell(self, running: float) -> None:
        seconds = time.perf_counter() - self._begun
        rate = (self._done - self._before + running) / max(seconds, 1e-9)
        self._progress(Progress(self._members, self._done, running, self._failed, self._changed, seconds, rate))
