"""A stored study: its model, the metrics of all members, poses of the kept ones at any time. NumPy and xarray, no jax.

Opening reads names and shapes only: a million members open as fast as one. A column over all members is read on
first use and kept; trajectories are read member by member into a cache of limited size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from shiftjax.ensembles.store import store
from shiftjax.markup import html_table
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED
from shiftjax.run.results.labelled import to_tree
from shiftjax.run.results.result import Result
from shiftjax.viewer.members.choice import NO_SETS, Choices
from shiftjax.viewer.members.column_names import resolved
from shiftjax.viewer.members.study_like import Drawable, Placed, Trials
from shiftjax.viewer.motion.between import Between, Tracks
from shiftjax.viewer.study.design_trials import TITLE, DesignTrials
from shiftjax.viewer.study.drawable_members import drawable_of
from shiftjax.viewer.study.lacking_members import LackingMembers
from shiftjax.viewer.study.resimulation import Resimulation
from shiftjax.viewer.study.store_columns import Columns, senses_in, variables_of
from shiftjax.viewer.study.store_contents import contents_of
from shiftjax.viewer.study.trajectories import Trajectories

CACHE_BYTES = 256 << 20  # of trajectories; 200 members of 10 bodies and 1000 instants take 120 MB


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
        lacking: the members that have none. trajectories: tracks and channels of all.
        time: (n,) stored instants [s].
        nodes: "fixed" and the bodies, in the order of poses.
        design: varied path -> (members,).
        metrics: name of a metric, or of the certificate -> (members,).
        channels: path -> unit of what was recorded.
        revision: see `StudyLike`; constant for a stored study.
        at_instants: True shows the nearest stored instant and nothing between them.
        titles: (members,) what members are called beside their number; empty where by that only.
        trials: designs beside its members; None of a result in memory.
    """

    revision = 0
    at_instants = False
    titles: Sequence[str] = ()
    growing = False  # all instants are stored
    plotted: Sequence[str] = ()
    trials: Trials | None = None

    def __init__(self, tree: xr.DataTree, where: str, cache_bytes: int = CACHE_BYTES) -> None:
        self.where = where
        self._contents = contents = contents_of(tree, where)
        self.model, self.source, self.members = contents.model, contents.model.source, contents.count
        self.settings, self.report = contents.settings, contents.report
        stored = contents.trajectories
        self.time, self.channels = stored.time, stored.channels
        self.kept = stored.members if contents.has_poses else stored.members[:0]
        bodies = stored.bodies if contents.has_poses else tuple(path for path, _ in self.model.bodies())
        self.nodes: tuple[str, ...] = (FIXED, *bodies)
        design, metrics = variables_of(contents.columns)
        self.design, self.metrics = Columns(contents.columns, design), Columns(contents.columns, metrics)
        self._columns = Columns(contents.columns, {**metrics, **design, "status": "status", "member": "member"})
        senses = senses_in(contents.columns)
        self._choices = Choices(self.members, self.kept, self._columns, senses, self._columns.unit)
        self.lacking = LackingMembers(where, self.kept)
        self.trajectories = Trajectories(stored, self.lacking, self.nodes, self.message, cache_bytes)

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
    def open(cls, path: str | Path, cache_bytes: int = CACHE_BYTES, *, where: str = "") -> ViewedStudy:
        """What `run --out` or `sweep --out` wrote, .zarr or .json.

        Args:
            path: of the store.
            cache_bytes: size of the cache of trajectories; it holds at least one.
            where: what messages call it, "" for the path.

        Raises:
            ModelError: no result there, or one of a newer version.
        """
        study = cls(store.read(path), where or str(path), cache_bytes)
        study.lacking.resimulation = Resimulation(str(path))
        study.trials = DesignTrials(str(path), study.design, study.free_numbers, study.of_a_trial)
        return study

    @classmethod
    def of(cls, result: Result, cache_bytes: int = CACHE_BYTES) -> ViewedStudy:
        """A result in memory."""
        return cls(to_tree(result), "result", cache_bytes)

    def of_a_trial(self, tree: xr.DataTree) -> ViewedStudy:
        """A design that was tried beside the members, as a study of its own."""
        study = type(self)(tree, self.where)
        study.titles = (TITLE,)
        return study

    def free_numbers(self) -> list[str]:
        """Varied numbers that follow from no others."""
        derived = tuple(f":{name}" for name in (*self._contents.derived, *self.model.expressions))
        return [name for name in self.design if not f":{name}".endswith(derived)]  # leading assemblies may be left out

    # -- one member --------------------------------------------------------------------------------------------------

    @property
    def status(self) -> np.ndarray:
        """(members,) `Outcome` of every member."""
        return self._columns["status"]

    def title(self, member: int) -> str:
        """What a member is called in pictures."""
        return self.titles[member] if self.titles else f"member {member}"

    def message(self, member: int) -> str:
        """Error or warning of a member's run; empty if there was none."""
        return self._contents.message(self._choices.member(member))

    def messages(self, members: Sequence[int] | np.ndarray) -> list[str]:
        """The same of several members, read at once."""
        return self._contents.messages_of(self._numbers(members))

    def model_of(self, member: int) -> Model:
        """The model with the numbers of a member; initial values are in its poses."""
        model = self.base_of(member)
        numbers = model.numbers() if self.design else {}
        return model.replace({path: float(self.design[path][member]) for path in self.design if path in numbers})

    def base_of(self, member: int) -> Model:
        """The model with the parts of a member, before its numbers."""
        return self._contents.model_of(self._choices.member(member))

    def value(self, name: str, member: int) -> float:
        """A varied number or a figure of a member."""
        return (self.design if name in self.design else self.metrics).of(name, member)

    def unit(self, name: str) -> str:
        """Of a figure, a varied number or a channel."""
        known = resolved(name, [*self.metrics, *self.design, *self.channels], self.where)
        return self.channels[known] if known in self.channels else self._columns.unit(known)

    # -- which members -----------------------------------------------------------------------------------------------

    def choose(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> np.ndarray:
        """(k,) members chosen by an expression, see `choice`, which may name sets of members (members,) bool."""
        return self._choices.choose(text, sets)

    def assumed(self, text: str, sets: Mapping[str, np.ndarray] = NO_SETS) -> str:
        """What a choice assumes of what is good, where the study says nothing of it; "" where it assumes nothing."""
        return self._choices.assumed(text, sets)

    def sense(self, name: str) -> str:
        """Which values of a column are good, "small" or "large"; "" where the study says nothing of it."""
        return self._choices.sense(name)

    def drawable(self, ids: Sequence[int] | np.ndarray) -> Drawable:
        """Splits members into those that can be drawn and those that cannot, with the reason."""
        return drawable_of(self._numbers(ids), self.status, self.metrics, self._contents.trajectories, self.lacking)

    @property
    def simulated(self) -> np.ndarray:
        """(k,) members that were simulated again, in memory."""
        return self.lacking.simulated

    def request(self, members: Sequence[int] | np.ndarray) -> None:
        """Has members simulated again whose trajectories were not kept, in another process; does not wait for them."""
        self.lacking.request(self._numbers(members).tolist())

    def awaited(self, members: Sequence[int] | np.ndarray) -> bool:
        """Whether some of the members are being simulated again; while none is, `poses` does not wait."""
        return self.lacking.awaited(self._numbers(members).tolist())

    def news(self) -> tuple[str, list[str]]:
        """What is being simulated again and how far it is, "" for nothing; messages since the last call."""
        return self.lacking.news()

    def prepare(self, members: Sequence[int] | np.ndarray, tell: Callable[[float], None] = lambda done: None) -> None:
        """Waits until members have poses, simulated again where they were not kept; Ctrl-C ends that.

        Args:
            tell: called with the fraction done.

        Raises:
            ModelError: one that cannot be simulated again.
        """
        self.lacking.prepare(self._numbers(members).tolist(), tell)

    def close(self) -> None:
        """Ends the processes that simulate members again, and designs; what they gave stays, and they start anew."""
        self.lacking.close()
        if isinstance(self.trials, DesignTrials):
            self.trials.close()

    def _numbers(self, members: Sequence[int] | np.ndarray) -> np.ndarray:
        """(k,) the members as numbers; ModelError where there is no such member."""
        numbers = np.asarray(members, np.int64).reshape(-1)
        for member in numbers[(numbers < 0) | (numbers >= self.members)]:
            self._choices.member(int(member))
        return numbers

    # -- trajectories ------------------------------------------------------------------------------------------------

    def poses(self, member: int, t: float | np.ndarray) -> np.ndarray:
        """(nodes, 7) at time t [s], or (m, nodes, 7) at times (m,): the stored ones at stored instants, between them as
        of `between`; constant before the first and after the last instant.
        """
        times = np.asarray(t, float)
        which = np.zeros(times.size, np.int64)
        return self._placed([member], which, times.reshape(-1)).poses.reshape(*times.shape, len(self.nodes), 7)

    def poses_of(self, members: Sequence[int] | np.ndarray, t: float) -> np.ndarray:
        """(k, nodes, 7) of several members at one time [s]."""
        return self.placed(members, t).poses

    def near(self, time: float, count: int) -> ViewedStudy:
        """The study itself: its instants do not move on."""
        return self

    def placed(self, members: Sequence[int] | np.ndarray, t: float) -> Placed:
        """The poses of several members at one time [s], and which of them are those of the nearest stored instant."""
        if not len(members):
            return Placed(np.zeros((0, len(self.nodes), 7)), np.zeros(0, bool))
        return self._placed(members, np.arange(len(members)), np.full(len(members), float(t)))

    def _placed(self, members: Sequence[int] | np.ndarray, which: np.ndarray, t: np.ndarray) -> Placed:
        numbers = self._numbers(members)
        tracks = self.trajectories.tracks(numbers.tolist())
        last = np.searchsorted(self.time, [self.trajectories.end(k) for k in numbers.tolist()], side="right") - 1
        return self._between.at(Tracks(self.time, tracks, last, numbers, which, t), snap=self.at_instants)

    @functools.cached_property
    def _between(self) -> Between:
        return Between(self)

    def track(self, member: int) -> np.ndarray:
        """(n, nodes, 7) all poses of a member at the stored instants, ground first; read-only.

        A quaternion has the sign that is nearer to the one before. A member that ended early stays where it ended.

        Raises:
            ModelError: no such member, it never started, or its trajectory was not kept and cannot be simulated again.
        """
        return self.trajectories.tracks([self._choices.member(int(member))])[0]

    def end(self, member: int) -> float:
        """Time [s] of the last instant at which a member has a pose."""
        return self.trajectories.end(self._choices.member(int(member)))

    def channel(self, path: str, member: int) -> np.ndarray:
        """(n, ...) a recorded channel of a member; NaN after it ended early.

        Raises:
            ModelError: not recorded, or not of this member.
        """
        known = resolved(path, self.channels, f"channel of {self.where}")
        return self.trajectories.channel(known, self._choices.member(int(member)))
