"""A whole study: its members run shard by shard into a store, which is complete, or goes on from where it stands.

The machine runs two shards at once while the one before is written. With an executor of `concurrent.futures`, or of
Dask, shards run in other processes, which write their own chunks of the store; a shard that was lost is run again. The
store is the same to the last bit whichever way it came about, on machines of one kind.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.execution.progress import Count, StudyProgress, Teller, counted
from shiftjax.ensembles.execution.shards import (
    ASSEMBLY,
    Portion,
    columns,
    measured_growth,
    parts,
    probed,
    recorded,
    run_members,
    shard_size,
    together,
)
from shiftjax.ensembles.execution.study_plan import StudyPlan, digest, embedded, opened, resumed, study_digest
from shiftjax.ensembles.store import store, study_store
from shiftjax.ensembles.store.checksums import MEND
from shiftjax.ensembles.store.damage import begun_badly, damaged, origin, put_back
from shiftjax.ensembles.store.extremes import extremes, refuse_unknown
from shiftjax.ensembles.store.folders import CheckedFolder, flush
from shiftjax.ensembles.store.replacing import remove
from shiftjax.ensembles.stored_study import Study
from shiftjax.ensembles.study import study_file
from shiftjax.ensembles.study.definition import Definition, document
from shiftjax.ensembles.study.designs import designs
from shiftjax.ensembles.study.group import GROWTH, total
from shiftjax.ensembles.study.observing import notes
from shiftjax.ensembles.study.run_flags import check_flags
from shiftjax.errors import ModelError, need_count, need_path, wrong
from shiftjax.kernels.workers import refuse_other, submitted
from shiftjax.run.file_integrator import unasked
from shiftjax.run.results.labelled import FORMAT, to_tree
from shiftjax.run.results.result import Result
from shiftjax.shield import interruptible, shielded

SUFFIX = ".zarr"
ATTEMPTS = 3  # at a shard, with an executor
AT_ONCE = 2  # shards that run in this process
OF_A_RUN = ("programs", "compile_s", "wall_s")  # attributes of a result that a study does not have

Rows = tuple[Portion, Any, Any]  # a part, its rows of the table, its trajectories


@interruptible
def sweep(
    study: Definition | str | Path,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    verify: bool = False,
    force: bool = False,
    executor: Executor | None = None,
    threads: int | None = None,
    shard: int | None = None,
    progress: Callable[[StudyProgress], None] = lambda progress: None,
) -> Study:
    """Runs a study, or what is missing of one.

    Args:
        study: the definition, or the path of a study file (.toml).
        out: the store, NAME.zarr; left out, a temporary one that lives as long as the result.
        resume: go on with the study that stands there; where nothing does, begin it.
        verify: of a study that goes on or is complete: check every file against its checksum, and run again the shards
            of which one is damaged.
        force: replace what is there.
        executor: of `concurrent.futures`, or `dask.distributed.Client(...).get_executor()`; its processes must see the
            folder of the store. Left out, shards run here one after the other.
        threads: of the kernel in each process; all cores where left out.
        shard: members of a shard, of a study that begins; as many as take some ten seconds here where left out.
        progress: called now and then, about once a shard and several times in each that runs here.

    Raises:
        ModelError: what the definition, a model or the store make impossible.
        KeyboardInterrupt: Ctrl-C. All shards that were done are in the store, and `resume` goes on.
    """
    threads = check_flags("sweep", resume=resume, verify=verify, force=force, threads=threads, progress=progress)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise wrong("sweep: executor", executor, "an executor, as of concurrent.futures")
    if shard is not None:
        need_count("sweep: shard", shard, 1)
        shard = int(shard)
    if verify and not resume:
        raise ModelError("sweep: verify", "without resume", "a study that is resumed", "Add resume, or leave it out.")
    definition = study if isinstance(study, Definition) else _read(study)
    place, temporary = _place(out)
    source = definition.model if isinstance(definition.model, str) else ""
    definition = embedded(definition)
    check = partial(
        store.check_target,
        place,
        batched=True,
        todo="Resume (--resume) goes on, force (--force) replaces it; or give another name (--out).",
    )
    if not (resume and place.exists()):
        check(force=True)  # without its lock nobody knows whether the name is free
    elif not verify and not study_store.is_running(resumed(definition, place)):
        return Study(place, temporary)
    with study_store.locked(place):
        if resume and place.exists():
            if verify:
                _make_again(definition, place, source)
            resumed(definition, place)
            if verify:
                _mend(place)
            CheckedFolder(place, growing=True, todo=MEND)  # no shard is written by metadata that is damaged
        else:
            check(force=force)
            with study_store.writing(place):
                remove(place)
            _begin(definition, place, source, shard)
        with study_store.writing(place):
            study_store.clean(place)
        _run(opened(str(place)), executor, threads, progress)
    return Study(place, temporary)


def run_shard(folder: str, shard: int, threads: int | None = None) -> tuple[int, Count]:
    """Runs one shard of a study and writes it: what an executor calls.

    Returns:
        the shard, and its members counted.
    """
    plan = opened(folder)
    if study_store.is_done(plan.folder, shard):  # by a worker that was taken for lost
        return shard, _counted(plan, [shard])
    return shard, _write(plan, shard, _run_parts(plan, shard, threads))


def _read(study: str | Path) -> Definition:
    need_path("sweep: study", study)
    return study_file.read(study)


class _Temporary:
    """A folder that goes with the object, or at the end; `tempfile.TemporaryDirectory` would warn of it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="shiftjax-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


def _place(out: str | Path | None) -> tuple[Path, Any]:
    """The folder of the store, and what keeps a temporary one; workers have working folders of their own."""
    if out is None:
        temporary = _Temporary()
        return temporary.folder / f"study{SUFFIX}", temporary
    need_path("sweep: out", out)
    return Path(out).absolute(), None


def _begin(definition: Definition, place: Path, source: str, shard: int | None) -> None:
    """The empty store of a study."""
    with _begun(definition, place, source, shard) as draft:
        draft.rename(place)
        flush([place.parent])


@contextmanager
def _begun(definition: Definition, place: Path, source: str, shard: int | None) -> Iterator[Path]:
    """The draft of an empty store, beside its place. One member of each group is run before: what cannot run is refused
    at once."""
    groups = [group.with_growth(measured_growth(group, definition)) for group in designs(definition)]
    count, probes = total(groups), [probed(group, definition) for group in groups]
    first, rows = probes[0][0], columns([row for _, _, row, _ in probes], groups)
    refuse_unknown((str(v.attrs.get("path", name)) for name, v in rows.data_vars.items()), definition.kept)
    steps = (0.0 if definition.assemble_only else _steps(first)) + (0.0 if definition.simulated else ASSEMBLY)
    size = shard or shard_size(max((need for _, need, _, _ in probes), key=lambda need: need.total), steps)
    about = {str(key): value for key, value in to_tree(first, "none").attrs.items() if key not in OF_A_RUN}
    listed = [
        {"switches": dict(g.switches), "first": g.first, "members": g.members, GROWTH: g.settings.get(GROWTH)}
        for g in groups
    ]
    about |= {**FORMAT, "study": json.dumps(document(definition)), "study_folder": definition.folder}
    about |= {"groups": json.dumps(listed), "designs": digest(groups), "model_source": source}
    about[study_store.STUDY_DIGEST] = study_digest(definition, groups)
    unlike = () if not definition.simulated else unasked(groups[0].model.settings, definition)
    about["notes"] = json.dumps([*unlike, *notes(groups)])  # messages tell of each member
    stated = definition.kept.at_once(count)
    draft = place.with_name(f".{place.name}.begun")
    try:
        with study_store.writing(place, draft) as files:
            remove(draft)
            study_store.create(files, about, rows, count, size)
            study_store.create_trajectories(files, together([some for _, _, _, some in probes]), stated)
            study_store.list_contents(files)
            files.settle()
            yield draft
    finally:
        with shielded():
            remove(draft)


def _steps(first: Result) -> float:
    """How many steps a member takes, by the first one, whose tolerance chooses them."""
    if first.settings["tolerance"] is not None:
        return float(first.certificate["steps"][0])
    return round(first.settings["span"] / first.settings["step"])


def _make_again(definition: Definition, place: Path, source: str) -> None:
    """Puts files back that a study begins with, where they are lost or damaged.

    Raises:
        ModelError: so much is damaged that nothing says whether the store is of this study.
    """
    if not begun_badly(place):
        return
    begun = origin(place)
    if begun is None:
        todo = "Take a copy, or run anew."
        raise ModelError(f"{place}: zarr.json", "metadata that is lost or damaged", "that of this study", todo)
    if begun[0] != study_digest(definition, designs(definition)):
        todo = "Resume it with its own study, or choose another name."
        raise ModelError(str(place), "the store of another study", "that of this one", todo)
    with _begun(definition, place, source, begun[1]) as draft, study_store.writing(place):
        put_back(place, draft, late=bool(definition.kept.extremes))


def _mend(place: Path) -> None:
    """Takes back the marks of the shards that are damaged."""
    plan = opened(str(place))
    shards, late = damaged(place, plan.size, at_once=not plan.late)
    if shards or late:
        with study_store.writing(place) as files:
            study_store.reopen(files, shards)


def _run(
    plan: StudyPlan, executor: Executor | None, threads: int | None, progress: Callable[[StudyProgress], None]
) -> None:
    """Runs the shards that are not done, then what is chosen from all of them."""
    ready = study_store.done(plan.folder)
    todo = [shard for shard in range(plan.shards) if shard not in ready]
    teller = Teller(plan.groups, _counted(plan, sorted(ready)), progress)
    teller.begin()
    if executor is None:
        _run_here(plan, todo, threads, teller)
    else:
        _run_there(plan, todo, threads, teller, executor)
    if study_store.is_running(study_store.about_of(plan.folder)):
        _keep_extremes(plan, threads)
        with shielded(), study_store.writing(plan.folder) as files:
            study_store.finish(files)


def _counted(plan: StudyPlan, shards: Sequence[int]) -> Count:
    """The members of shards that are done."""
    return counted(plan.groups, study_store.read_rows(plan.folder, ("status", "repartitions"), shards, plan.size))


def _run_here(plan: StudyPlan, todo: Sequence[int], threads: int | None, teller: Teller) -> None:
    """Shards in this process; each is written while the next ones run."""
    with _writer() as write, closing(_computed(plan, todo, threads, teller)) as shards:
        for shard, rows in shards:
            write(lambda shard=shard, rows=rows: teller.shard(shard, _write(plan, shard, rows)))


def _computed(
    plan: StudyPlan, todo: Sequence[int], threads: int | None, teller: Teller
) -> Generator[tuple[int, list[Rows]]]:
    """What comes of each shard, in order.

    Two run at once where there are cores: what one thread does of a shard, as its starts, a third of the processor's
    time with four-bars of 1000 steps, is done beside the steps of the other. Ctrl-C waits until both tell how far they
    are, so that what never tells, assembly and paths, stays in this thread.
    """
    if len(todo) < 2 or (threads or os.cpu_count()) == 1 or not plan.definition.simulated:
        yield from ((shard, _run_parts(plan, shard, threads, partial(teller.part, shard))) for shard in todo)
        return
    stopped, waiting = threading.Event(), deque[tuple[int, Future[list[Rows]]]]()
    pool = ThreadPoolExecutor(AT_ONCE)

    def tell(shard: int, first: int, done: float) -> None:
        if stopped.is_set():
            raise CancelledError
        teller.part(shard, first, done)

    try:
        for shard in todo:
            try:
                waiting.append((shard, pool.submit(_run_parts, plan, shard, threads, partial(tell, shard))))
            except RuntimeError as error:
                refuse_other(error)
                remedy = "Raise the limit of memory or of threads (`ulimit`), or give threads=1; resume goes on."
                raise ModelError("sweep", "a system that starts no more threads", "two", remedy) from error
            if len(waiting) == AT_ONCE:
                first, future = waiting.popleft()
                yield first, future.result()
        for shard, future in waiting:
            yield shard, future.result()
    finally:
        stopped.set()
        with shielded():  # they end when they next tell how far they are
            pool.shutdown(cancel_futures=True)


def _run_parts(
    plan: StudyPlan, shard: int, threads: int | None, tell: Callable[[int, float], None] = lambda first, done: None
) -> list[Rows]:
    """Runs a shard.

    Args:
        tell: called with a member of the group that runs, and how many members' worth of work is done.
    """
    rows, before, recorded_members = list[Rows](), 0, np.array(plan.kept, np.int64)
    for part in parts(plan.groups, shard, plan.size):
        size = part.end - part.begin

        def progress(fraction: float, first: int = part.first, before: int = before, size: int = size) -> None:
            tell(first, before + fraction * size)

        progress(0.0)
        rows.append((part, *run_members(part, plan.definition, recorded_members, progress, threads)))
        before += size
    return rows


def _run_there(plan: StudyPlan, todo: Sequence[int], threads: int | None, teller: Teller, executor: Executor) -> None:
    """Shards in other processes; what is lost with one of them runs again."""
    for attempt in range(1, ATTEMPTS + 1):
        lost: dict[int, BaseException] = {}
        futures: dict[Future[tuple[int, Count]], int] = {}
        try:
            for shard in todo:
                futures[executor.submit(run_shard, str(plan.folder), shard, threads)] = shard
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, ModelError | BrokenExecutor):
                    raise error
                if error is not None:
                    lost[futures[future]] = error
                else:
                    teller.shard(*future.result())
        except BrokenExecutor as error:
            raise _lost(plan, "processes of which one was killed") from error
        except CancelledError as error:  # nobody here cancels a shard that is waited for
            raise _lost(
                plan, f"an executor that gave its shards up, as of a scheduler that is gone ({error})"
            ) from error
        finally:
            for future in futures:
                future.cancel()
        if not lost:
            return
        if attempt == ATTEMPTS:
            shard, error = next(iter(lost.items()))
            raise _lost(plan, f"shard {shard} lost {ATTEMPTS} times ({error!r:.200})") from error
        todo = list(lost)


def _lost(plan: StudyPlan, fault: str) -> ModelError:
    todo = "Resume, with fewer processes if the memory was not enough: the shards that are done stay."
    return ModelError(str(plan.folder), fault, "processes that live as long as the study", todo)


@contextmanager
def _writer() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Calls what it is given in a thread, one after the other; waits for the one before last, and at the end."""
    pending: list[Future[None]] = []
    pool = ThreadPoolExecutor(1)

    def write(task: Callable[[], None]) -> None:
        while pending:
            pending.pop().result()
        pending.append(submitted(pool, task))

    try:
        yield write
    finally:
        with shielded():  # what is being written is finished, also after an interrupt
            pool.shutdown()
    for future in pending:
        future.result()


def _write(plan: StudyPlan, shard: int, portions: Sequence[Rows]) -> Count:
    """Writes a shard, marks it done, and counts its members."""
    recorded_members = np.array(plan.kept, np.int64)
    rows: list[xr.Dataset] = [rows for _, rows, _ in portions]
    joined = xr.concat(rows, dim="member", combine_attrs="override")
    with study_store.writing(plan.folder) as files:
        study_store.write_rows(files, joined, shard * plan.size)
        for _, _, some in portions:
            if some is not None:
                study_store.write_some(files, some, np.searchsorted(recorded_members, some["member"].values))
        study_store.mark(files, shard)
    return counted(plan.groups, joined)


def _keep_extremes(plan: StudyPlan, threads: int | None) -> None:
    """The trajectories of the members that are ranked, and of those that are kept beside them."""
    keep = plan.definition.kept
    if not plan.late:
        return
    tree = Study(plan.folder).xarray
    chosen = np.union1d(keep.stated(total(plan.groups)), extremes(tree["members"].to_dataset(), keep))
    if not len(chosen):
        return
    kinds = together([probed(group, plan.definition)[3] for group in plan.groups])
    with study_store.writing(plan.folder) as files:
        study_store.create_trajectories(files, kinds, chosen)
    for group in plan.groups:
        places = chosen[(chosen >= group.first) & (chosen < group.first + group.members)] - group.first
        if len(places):
            some = recorded(Portion(group, 0, group.members), plan.definition, places, threads=threads)
            with study_store.writing(plan.folder) as files:
                study_store.write_some(files, some, np.searchsorted(chosen, some["member"].values))
