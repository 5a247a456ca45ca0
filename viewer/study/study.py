"""A stored study: its model, the metrics of all members, poses of the kept ones at any time. NumPy and xarray, no jax.

Opening reads names and shapes only: a million members open as fast as one. A column over all members is read on
first use and kept; trajectories are read member by member into a cache of limited size.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from shiftjax.ensembles.store import store
from shiftjax.ensembles.study.switching import switched
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.markup import html_table
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED
from shiftjax.plugins import need_plugins
from shiftjax.poses import continuous, held
from shiftjax.run.results.labelled import to_tree
from shiftjax.run.results.result import Result
from shiftjax.viewer.members.choice import Choices, resolved
from shiftjax.viewer.members.study_like import NOBODY, Drawable, Placed
from shiftjax.viewer.motion.between import Between, Tracks
from shiftjax.viewer.study.resimulation import MOST, Resimulation, Simulated

CACHE_BYTES = 256 << 20  # of trajectories; 200 members of 10 bodies and 1000 instants take 120 MB
GROUND_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
KEEP = "Run again with --keep all, or --keep N for N members (keep= in Python)."


class Columns(Mapping[str, np.ndarray]):
    """Name -> (members,) array, read from the store on first use; xarray caches it."""

    def __init__(self, dataset: xr.Dataset, variables: Mapping[str, str]) -> None:
        self._dataset, self._variables = dataset, variables
        self._whole: set[str] = set()  # those that were read
        self._entries: dict[tuple[str, int], float] = {}  # of others

    def __getitem__(self, name: str) -> np.ndarray:
        self._whole.add(name)
        return _values(self._dataset[self._variables[name]])

    def of(self, name: str, member: int) -> float:
        """One number; a column that was not read yet is not read whole for it."""
        if name in self._whole:
            return float(self[name][member])
        if (name, member) not in self._entries:
            self._entries[name, member] = float(_values(self._dataset[self._variables[name]][member])[()])
        return self._entries[name, member]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def unit(self, name: str) -> str:
        return str(self._dataset[self._variables[name]].attrs.get("units", "1"))


class ViewedStudy:
    """A result to view.

    Attributes:
        where: the store's name, for messages.
        model: the model that was run.
        source: the file the model was read from, "" where it was built.
        report: the topology report of `shiftjax info --json`.
        settings: span, step, method ... as they were used.
        members: how many there are.
        kept: (K,) the members that have trajectories of bodies.
        time: (n,) stored instants [s].
        nodes: "fixed" and the bodies, in the order of poses.
        design: varied path -> (members,).
        metrics: name of a metric, or of the certificate -> (members,).
        channels: path -> unit of what was recorded.
        revision: see `StudyLike`; constant for a stored study.
        at_instants: True shows the nearest stored instant and nothing between them.
        titles: (members,) what members are called beside their number; empty where by that only.
    """

    revision = 0
    at_instants = False
    titles: Sequence[str] = ()
    growing = False  # all instants are stored

    def __init__(self, tree: xr.DataTree, where: str, cache_bytes: int = CACHE_BYTES) -> None:
        self.where = where
        try:
            self._members = tree["members"].to_dataset()
            self._trajectories = tree["trajectories"].to_dataset()
            self.members = int(self._members.sizes["member"])
            stored = _values(self._trajectories["member"]).astype(np.int64)
            self.time = _values(self._trajectories["time"]).astype(float)
            bodies = tuple(str(body) for body in self._trajectories["body"].values)
            self._pose = self._trajectories["pose"]
            self._message = self._members["message"]
            self.source = str(tree.attrs["model_source"])
            self.settings: dict[str, Any] = json.loads(tree.attrs["settings"])
            self.report: dict[str, Any] = json.loads(tree.attrs["report"])
            document = json.loads(tree.attrs["model"])
            self._groups: list[dict[str, Any]] = json.loads(tree.attrs.get("groups", "[]"))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(where, f"an incomplete result ({error})", "a whole one", "Run it again.") from None
        need_plugins(where, tree.attrs)
        self.model: Model = dataclasses.replace(load(document), source=self.source, name=Path(self.source).stem)
        bare = not bodies and any(True for _ in self.model.bodies())  # no pose of any member was stored
        self.nodes: tuple[str, ...] = (FIXED, *([path for path, _ in self.model.bodies()] if bare else bodies))
        self.kept = stored[:0] if bare else stored
        self._recorded, self._order = stored, np.argsort(stored)
        self._channel_names = _by_path(self._trajectories, {"pose"})
        self.channels = {path: str(self._trajectories[n].attrs["units"]) for path, n in self._channel_names.items()}
        design, metrics = _columns_of(self._members)
        self.design, self.metrics = Columns(self._members, design), Columns(self._members, metrics)
        self._columns = Columns(self._members, {**metrics, **design, "status": "status", "member": "member"})
        self._choices = Choices(self.members, self.kept, self._columns)
        self._cache: OrderedDict[tuple[str, int], np.ndarray] = OrderedDict()
        self._room = cache_bytes
        self._ends: dict[int, float] = {}
        self._again: Resimulation | None = None

    def __repr__(self) -> str:
        name = self.model.name or "unnamed"
        with_poses = f"{len(self.kept)} with poses at {len(self.time)} instants"
        return f"Study({self.where}: {name}, {self.members} members, {with_poses})"

    def _repr_html_(self) -> str:
        rows = [("varied", path, self.design.unit(path)) for path in self.design]
        rows += [("figure", name, self.metrics.unit(name)) for name in self.metrics]
        rows += [("channel", path, unit) for path, unit in self.channels.items()]
        return html_table(repr(self), ("", "name", "unit"), rows)

    @classmethod
    def open(cls, path: str | Path, cache_bytes: int = CACHE_BYTES) -> ViewedStudy:
        """What `run --out` or `sweep --out` wrote, .zarr or .json.

        Args:
            path: of the store.
            cache_bytes: size of the cache of trajectories; it holds at least one.

        Raises:
            ModelError: no result there, or one of a newer version.
        """
        study = cls(store.read(path), str(path), cache_bytes)
        study._again = Resimulation(str(path))
        return study

    @classmethod
    def of(cls, result: Result, cache_bytes: int = CACHE_BYTES) -> ViewedStudy:
        """A result in memory."""
        return cls(to_tree(result), "result", cache_bytes)

    @property
    def status(self) -> np.ndarray:
        """(members,) `Outcome` of every member."""
        return self._columns["status"]

    def title(self, member: int) -> str:
        """What a member is called in pictures."""
        return self.titles[member] if self.titles else f"member {member}"

    def message(self, member: int) -> str:
        """Error or warning of a member's run; empty if there was none."""
        return str(_values(self._message[self._choices.member(member)])[()])

    def model_of(self, member: int) -> Model:
        """The model with the numbers of a member; initial values are in its poses."""
        model = self.base_of(member)
        numbers = model.numbers() if self.design else {}
        return model.replace({path: float(self.design[path][member]) for path in self.design if path in numbers})

    @functools.cached_property
    def _models(self) -> list[tuple[int, int, Model]]:
        """First member of every group of a study, the one after its last, and its model: parts are switched in it."""
        groups = [(int(group["first"]), int(group["members"]), group["switches"]) for group in self._groups]
        return [(first, first + members, switched(self.model, switches)) for first, members, switches in groups]

    def base_of(self, member: int) -> Model:
        """The model with the parts of a member, before its numbers."""
        member = self._choices.member(member)
        return next((m for first, last, m in self._models if first <= member < last), self.model)

    def value(self, name: str, member: int) -> float:
        """A varied number or a figure of a member."""
        return (self.design if name in self.design else self.metrics).of(name, member)

    def unit(self, name: str) -> str:
        """Of a figure, a varied number or a channel."""
        known = resolved(name, [*self.metrics, *self.design, *self.channels], self.where)
        return self.channels[known] if known in self.channels else self._columns.unit(known)

    # -- choosing ----------------------------------------------------------------------------------------------------

    def choose(self, text: str) -> np.ndarray:
        """(k,) members chosen by an expression, see `choice`."""
        return self._choices.choose(text)

    def drawable(self, ids: Sequence[int] | np.ndarray) -> Drawable:
        """Splits members into those that can be drawn and those that cannot, with the reason."""
        wanted = np.asarray(ids, np.int64).reshape(-1)
        for member in wanted[(wanted < 0) | (wanted >= self.members)]:
            self._choices.member(int(member))
        drawn = np.isin(wanted, self.kept)
        candidates = np.flatnonzero(drawn)[self.status[wanted[drawn]] > 0]  # only a failed member can lack its start
        if len(candidates):
            rows = self._rows(wanted[candidates])
            first = _values(self._pose.isel(member=rows, time=slice(0, 1)))
            drawn[candidates] = np.any(np.all(np.isfinite(first), axis=3), axis=(1, 2))
        rest = wanted[~drawn]
        never = rest[np.isin(rest, self.kept) | self._never(rest)]
        again = self._to_simulate(rest, any_stored=bool(drawn.any()))
        can = drawn | np.isin(wanted, [*self.simulated, *again])
        lacking = wanted[~can & ~np.isin(wanted, never)]
        sentences = []
        if len(again):
            sentences.append(f"No trajectory was kept of {len(again)} of them ({_some(again)}): simulated again.")
        if len(lacking):
            sentences.append(
                f"No trajectory was kept of {len(lacking)} of them ({_some(lacking)}). {self._why(lacking)}"
            )
        if len(never):
            sentences.append(f"{len(never)} never started ({_some(never)}).")
        return Drawable(wanted[can], wanted[~can], " ".join(sentences), again)

    def _never(self, members: np.ndarray) -> np.ndarray:
        """(k,) whether members have not made a step nor begun one, as their figures say."""
        wanted = ("velocity_gap", "steps")
        if not len(members) or not {*wanted} <= {*self.metrics}:
            return np.zeros(len(members), bool)
        gap, steps = (np.asarray(self.metrics[name], float)[members] for name in wanted)
        return (self.status[members] > 0) & np.isnan(gap) & ~(steps > 0)

    def _to_simulate(self, lacking: np.ndarray, *, any_stored: bool) -> np.ndarray:
        """Those of some members without a trajectory that are simulated again: of more than `MOST` the first of them,
        and none where others of the choice are stored."""
        if self._again is None:
            return NOBODY
        able = [k for k in lacking.tolist() if not self._again.failed(k)]
        new = np.setdiff1d(able, np.append(self.simulated, lacking[self._never(lacking)]))
        new = lacking[np.isin(lacking, new)]
        return new[:MOST] if len(new) <= MOST or not any_stored else NOBODY

    def _why(self, lacking: np.ndarray) -> str:
        """Why members without a trajectory are not simulated again, and what to do."""
        if self._again is None:
            return KEEP
        failed = next((k for k in lacking.tolist() if self._again.failed(k)), None)
        if failed is None:
            return f"More than {MOST} are not simulated again at once: choose fewer."
        try:
            self._again.result(failed)
        except ModelError as error:
            return str(error)
        return ""

    # -- members without a trajectory ---------------------------------------------------------------------------------

    @property
    def simulated(self) -> np.ndarray:
        """(k,) members that were simulated again, in memory."""
        return NOBODY if self._again is None else self._again.members

    def request(self, members: Sequence[int] | np.ndarray) -> None:
        """Has members simulated again whose trajectories were not kept, in another process; does not wait for them."""
        if self._again is not None:
            self._again.request(k for k in map(int, members) if k not in self.kept)

    def awaited(self, members: Sequence[int] | np.ndarray) -> bool:
        """Whether some of the members are being simulated again; while none is, `poses` does not wait."""
        return self._again is not None and self._again.outstanding(map(int, members))

    def news(self) -> tuple[str, list[str]]:
        """What is being simulated again and how far it is, "" for nothing; messages since the last call."""
        return ("", []) if self._again is None else (self._again.text(), self._again.notes())

    def prepare(self, members: Sequence[int] | np.ndarray, tell: Callable[[float], None] = lambda done: None) -> None:
        """Waits until members have poses, simulated again where they were not kept; Ctrl-C ends that.

        Args:
            tell: called with the fraction done.

        Raises:
            ModelError: one that cannot be simulated again.
        """
        lacking = [k for k in map(int, members) if k not in self.kept]
        if self._again is not None and lacking:
            self._again.wait(lacking, tell)
        elif lacking:
            self._check(lacking[0], self.kept)

    def close(self) -> None:
        """Ends the process that simulates members again, if there is one; what it gave stays, and it starts anew."""
        if self._again is not None:
            self._again.close()

    def _simulate(self, members: Sequence[int]) -> None:
        """Simulates members that have no trajectory, and waits for them; what failed once fails at once."""
        for member in members:
            if self._again is None:
                self._check(member, self.kept)
            else:
                self._again.result(member)
        self.prepare(members)

    # -- trajectories ------------------------------------------------------------------------------------------------

    def poses(self, member: int, t: float | np.ndarray) -> np.ndarray:
        """(nodes, 7) at time t [s], or (m, nodes, 7) at times (m,): the stored ones at stored instants, between them as
        of `between`; constant before the first and after the last instant.
        """
        times = np.asarray(t, float)
        which = np.zeros(times.size, np.int64)
        return self._placed([int(member)], which, times.reshape(-1)).poses.reshape(*times.shape, len(self.nodes), 7)

    def poses_of(self, members: Sequence[int] | np.ndarray, t: float) -> np.ndarray:
        """(k, nodes, 7) of several members at one time [s]."""
        return self.placed(members, t).poses

    def near(self, time: float, count: int) -> ViewedStudy:
        """The study itself: its instants do not move on."""
        return self

    def placed(self, members: Sequence[int] | np.ndarray, t: float) -> Placed:
        """The poses of several members at one time [s], and which of them are those of the nearest stored instant."""
        numbers = [int(member) for member in members]
        if not numbers:
            return Placed(np.zeros((0, len(self.nodes), 7)), np.zeros(0, bool))
        return self._placed(numbers, np.arange(len(numbers)), np.full(len(numbers), float(t)))

    def _placed(self, members: list[int], which: np.ndarray, t: np.ndarray) -> Placed:
        tracks = self._tracks(members)
        last = np.searchsorted(self.time, [self._ends[member] for member in members], side="right") - 1
        what = Tracks(self.time, tracks, last, np.array(members), which, t)
        return self._between.at(what, snap=self.at_instants)

    @functools.cached_property
    def _between(self) -> Between:
        return Between(self)

    def track(self, member: int) -> np.ndarray:
        """(n, nodes, 7) all poses of a member at the stored instants, ground first; read-only.

        A quaternion has the sign that is nearer to the one before. A member that ended early stays where it ended.

        Raises:
            ModelError: no such member, it never started, or its trajectory was not kept and cannot be simulated again.
        """
        return self._tracks([int(member)])[0]

    def end(self, member: int) -> float:
        """Time [s] of the last instant at which a member has a pose."""
        self.track(member)
        return self._ends[int(member)]

    def channel(self, path: str, member: int) -> np.ndarray:
        """(n, ...) a recorded channel of a member; NaN after it ended early.

        Raises:
            ModelError: not recorded, or not of this member.
        """
        known = resolved(path, self.channels, f"channel of {self.where}")
        key = (known, self._choices.member(member))
        values = self._remembered(key)
        if values is not None:
            return values
        if key[1] in self._recorded:
            row = self._rows([key[1]])[0]
            return self._remember(key, _values(self._trajectories[self._channel_names[known]][row]))
        again = self._simulated(key[1], self._recorded)
        return self._remember(key, again.channels.get(known, np.full(len(self.time), np.nan)))

    def _simulated(self, member: int, stored: np.ndarray) -> Simulated:
        """A member that is simulated again, since it is not among those stored."""
        if self._again is None:
            self._check(member, stored)
        self._simulate([member])
        simulated = self._again and self._again.result(member)
        assert simulated is not None, "what was waited for is there"
        return simulated

    def _rows(self, members: Sequence[int] | np.ndarray) -> np.ndarray:
        """(k,) rows of the trajectories of members in the store; each must have one."""
        return self._order[np.searchsorted(self._recorded, members, sorter=self._order)]

    def _check(self, member: int, available: np.ndarray) -> int:
        """The member; ModelError if it has no trajectory among `kept`."""
        if self._choices.member(member) in available:
            return member
        allowed = f"one of the members kept ({_some(available)})" if len(available) else "nothing, no member was kept"
        raise ModelError(f"{self.where}: member {member}", "no stored trajectory", allowed, KEEP)

    def _stored(self, members: Sequence[int]) -> list[np.ndarray]:
        """(n, bodies, 7) of each, as stored or simulated again; one read, since a chunk may hold many members."""
        in_store = [member for member in members if self._choices.member(member) in self.kept]
        self._simulate([member for member in members if member not in self.kept])
        rows = _values(self._pose.isel(member=self._rows(in_store))).astype(float) if in_store else ()
        poses = dict(zip(in_store, rows, strict=True))
        return [poses[k] if k in poses else self._poses_again(k) for k in members]

    def _poses_again(self, member: int) -> np.ndarray:
        """(n, bodies, 7) of a member that is simulated again, NaN for bodies that its model does not have."""
        again = self._simulated(member, self.kept)
        poses = np.full((len(again.time), len(self.nodes) - 1, 7), np.nan)
        for k, body in enumerate(again.bodies):
            poses[:, self.nodes.index(body) - 1] = again.pose[:, k]
        return poses

    def _tracks(self, members: Sequence[int]) -> list[np.ndarray]:
        """The tracks of several members, those not cached are read together as far as the cache has room."""
        tracks = {member: self._remembered(("", member)) for member in members}
        missing = [member for member, track in tracks.items() if track is None]
        at_once = max(1, self._room // (56 * len(self.time) * len(self.nodes)))  # seven doubles a pose
        for first in range(0, len(missing), at_once):
            block = missing[first : first + at_once]
            for member, stored in zip(block, self._stored(block), strict=True):
                tracks[member] = self._remember(("", member), self._whole(member, stored))
        return [track for member in members if (track := tracks[member]) is not None]

    def _whole(self, member: int, stored: np.ndarray) -> np.ndarray:
        """(n, nodes, 7) from (n, bodies, 7): ground in front, no gaps, signs continuous."""
        finite = np.all(np.isfinite(stored), axis=2)  # (n, bodies); a body that the member's model has not never is
        stored = np.where(np.any(finite, axis=0)[:, None], stored, GROUND_POSE)
        known = np.all(np.isfinite(stored), axis=(1, 2)) & np.any(finite, axis=1)
        if not known.any():
            why = self.message(member) or "no reason is stored"
            raise ModelError(f"{self.where}: member {member}", "no pose at any time", "a member that started", why)
        self._ends[member] = float(self.time[np.flatnonzero(known)[-1]])
        ground = np.broadcast_to(GROUND_POSE, (len(stored), 1, 7))
        return continuous(np.concatenate([ground, stored[held(known)]], axis=1))

    def _remembered(self, key: tuple[str, int]) -> np.ndarray | None:
        values = self._cache.get(key)
        if values is not None:
            self._cache.move_to_end(key)
        return values

    def _remember(self, key: tuple[str, int], values: np.ndarray) -> np.ndarray:
        """Adds an array to the cache and evicts the least recently used."""
        values.flags.writeable = False
        self._cache[key] = values
        while len(self._cache) > 1 and sum(array.nbytes for array in self._cache.values()) > self._room:
            self._cache.popitem(last=False)
        return values


def _by_path(dataset: xr.Dataset, without: set[str] | None = None) -> dict[str, str]:
    """Path -> name in the store, which differs for long names and those with a slash."""
    return {str(v.attrs.get("path", n)): str(n) for n, v in dataset.data_vars.items() if n not in (without or ())}


def _columns_of(members: xr.Dataset) -> tuple[dict[str, str], dict[str, str]]:
    """Name -> name in the store of what is varied, and of metrics with the certificate behind them."""
    design: dict[str, str] = {}
    metrics: dict[str, str] = {}
    certificate: dict[str, str] = {}
    for path, name in _by_path(members, {"status", "message"}).items():
        about = members[name].attrs
        if about.get("role") == "metric" or "metric" in about:
            metrics[path] = name
        elif "path" in about:
            design[path] = name
        else:
            certificate[path] = name
    return design, metrics | dict(sorted(certificate.items()))


def _values(array: xr.DataArray) -> np.ndarray:
    """The numbers of a stored array, read-only."""
    try:
        values = np.asarray(array.values)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            str(array.name), f"numbers that cannot be read ({error})", "a whole store", "Run again."
        ) from None
    values = values.view()
    values.flags.writeable = False
    return values


def _some(members: np.ndarray) -> str:
    first = ", ".join(str(member) for member in members[:8])
    return first if len(members) <= 8 else f"{first}, ... ({len(members)} in all)"
