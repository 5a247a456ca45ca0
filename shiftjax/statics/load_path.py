"""`load_path`: equilibria followed along a load, through the poses at which a mechanism snaps or buckles. Host code.

Every member begins at its equilibrium under the first load (`equilibrium`) and is followed by arclength
(`followed_curves`), all members at once; where another curve meets, it is followed to both sides. What is recorded is
that of the mechanism assembled at all these poses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need_count, need_mapping, need_number, shown
from shiftjax.formats.files import load as load_model
from shiftjax.markup import html_lines
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.derive import Formula, full_path
from shiftjax.run.options import Options, options_of
from shiftjax.run.results.result import Result
from shiftjax.run.results.summary import load_summary
from shiftjax.run.start.drives import Drivable
from shiftjax.run.start.prepared import Prepared
from shiftjax.statics.branching import Branching
from shiftjax.statics.load_curves import Loading
from shiftjax.statics.load_plot import plot
from shiftjax.statics.posed import posed
from shiftjax.statics.search import Search

STARTS = ("initial_displacement", "initial_velocity")
STRAIGHT = 1e-9  # of the size of a number: derived numbers bend less between the ends of a load


@record
class CriticalPose:
    """A pose at which a mechanism snaps through or buckles, to some 1e-12 of its place.

    Attributes:
        kind: "limit": the load turns round, and the mechanism snaps; "branch": another curve of equilibria meets, as
            where a column buckles; "multiple": more than one other does.
        curve, member: whose. pose: the last one recorded before it. arclength: of the curve.
        factor: of the load; loads: number path -> its value there.
        q: coordinate -> its place [rad or m], of a ball its numbers. direction: speed -> its share of the motion in
            which it snaps or buckles, the largest one 1, metres in parts of the model's length.
    """

    kind: str
    curve: int
    member: int
    pose: int
    arclength: float
    factor: float
    loads: dict[str, float]
    q: dict[str, Any]
    direction: dict[str, float]


@record
class LoadPath:
    """Curves of equilibria of one design or of many: C curves of n poses at most.

    Attributes:
        member: (C,) whose curves they are, those that begin under the first load before all others. begins: (C,) the
            number in `critical` of the pose where a curve branches off, -1 of those first ones.
        factor: (C, n) of the load: 0 is the first load, 1 the last; NaN after a curve has ended, as all other numbers.
        loads: number path -> (C, n) its values. arclength: (C, n) of curves, radians, parts of the model's length and
            of the load factor alike.
        q: coordinate -> (C, n) its place [rad or m], of a ball (C, n, 4) or (C, n, 3).
        stability: (C, n) "stable", "unstable" or "neutral", "" after a curve has ended.
        squared_frequencies: (C, n, k) of undamped motions about the poses, ascending [rad^2/s^2].
        residual: (C, n) the largest generalized force that is left [N m]. potential: (C, n) of gravity and springs [J].
        critical: where members snap or buckle, curve by curve. ends: (C,) why curves end.
        channels: path -> (C, n, ...) what was asked to be recorded. units: coordinate or channel path -> unit.
        result: of the mechanism assembled at the poses, a member a curve: its parameter is the number of the pose, and
            "load_factor" is among its channels.
    """

    member: np.ndarray
    begins: np.ndarray
    factor: np.ndarray
    loads: dict[str, np.ndarray]
    arclength: np.ndarray
    q: dict[str, np.ndarray]
    stability: np.ndarray
    squared_frequencies: np.ndarray
    residual: np.ndarray
    potential: np.ndarray
    critical: tuple[CriticalPose, ...]
    ends: tuple[str, ...]
    channels: dict[str, np.ndarray]
    units: dict[str, str]
    result: Result

    def __repr__(self) -> str:
        return "\n".join(load_summary(self))

    def _repr_html_(self) -> str:
        return html_lines(load_summary(self))

    @property
    def status(self) -> np.ndarray:
        """(C,) `Outcome` of every curve."""
        return self.result.status

    def plot(self, coordinate: str = "") -> Any:
        """The load factor over a coordinate, or a channel of one number, as a figure of matplotlib: full lines where
        poses are stable, dashed ones elsewhere, dots where members snap, squares where they buckle.

        Raises:
            ModelError: no matplotlib; no such coordinate or channel.
        """
        return plot(self, coordinate)


def load_path(
    model: Model | str,
    load: Mapping[str, tuple[Any, Any]],
    *,
    poses: int = 101,
    distance: float = 0.05,
    limits: tuple[float, float] = (-1.0, 1.0),
    branches: int = 1,
    unstable: bool = False,
    channels: Sequence[str] = (),
    keep: int | str | Sequence[int] = "none",
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    drive: Mapping[str, Drivable] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    backend: str | None = None,
    precision: str = "f64",
    threads: int | None = None,
) -> LoadPath:
    """Equilibria followed along a load, through snaps and buckling, of one design or of many.

    Args:
        model: a Model, a library name or a path.
        load: number path -> its first and last value, numbers or (B,) arrays: a force, a stiffness, gravity, a length.
            All go together, linearly in the load factor, from 0 on.
        poses: n, of a curve at most. distance: between them, as arclength: of radians, parts of the model's length and
            of the load factor alike.
        limits: of the load factor, where curves end.
        branches: how often a curve may branch off from one that has branched off: 0 follows the first ones alone.
        unstable: whether curves may begin at an equilibrium of any kind, as that of `equilibrium`.
        channels: paths to record at the poses, as `joint.reaction_force`.
        keep: the curves that have the poses of all bodies recorded, to view them: "all", "none", how many, or a list.
        vary, assign, derive, drive, tie: as those of `equilibrium`.
        backend, precision, threads: as those of `simulate`, for what is recorded.

    Raises:
        ModelError: anything the model or the arguments make impossible; a load that is no pair of known numbers, or by
            which derived numbers do not go linearly; one that is varied, too, or where a joint begins.
    """
    model = model if isinstance(model, Model) else load_model(model)
    need_count("poses", poses, 2)
    need_count("branches", branches, 0)
    need_number("distance", distance, "a positive number, the arclength between poses", above=0.0)
    ends = real_array(limits)
    if ends is None or ends.shape != (2,) or not ends[0] <= 0.0 < ends[1]:
        raise ModelError("limits", shown(limits), "(low, high) around 0, where curves begin", "Correct them.")
    given = options_of(
        channels=channels, keep=keep, vary=vary, assign=assign, derive=derive, drive=drive, tie=tie, backend=backend,
        precision=precision, threads=threads,
    )  # fmt: skip
    first, last = _ends(model, given, load)
    search = Search(unstable=unstable)
    plain = given.changed(channels=(), keep="none")
    begun = search.result(model, plain.changed(vary=first))
    every = Branching(search, _loading(model, plain, search.prepared, first, last), distance, poses, (ends[0], ends[1]))
    every.follow(np.atleast_1d(begun.status) <= 0, branches)
    return _Recorded(model, given.changed(vary=first), every).path(begun, [*load])


def _ends(model: Model, given: Options, load: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """`vary` of the first and of the last load."""
    need_mapping("load", load)
    known = model.numbers()
    vary = _columns(given.design.vary)
    varied = {full_path(model, path, known) for path in vary}
    pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for path, pair in load.items():
        allowed = "a pair (first, last) of numbers, or of arrays (B,)"
        both = [real_array(x) for x in pair] if isinstance(pair, Iterable) and not isinstance(pair, Mapping) else []
        ends = [np.atleast_1d(x) for x in both if x is not None and x.ndim < 2 and x.size and np.isfinite(x).all()]
        if len(ends) != 2 or len(both) != 2:
            raise ModelError(f"load {path}", shown(pair), allowed, "Write (0.0, 100.0).")
        full = full_path(model, path, known)
        if full in varied or full in pairs:
            other = "that varies, too" if full in varied else "that is a load twice"
            raise ModelError(f"load {path}", f"a number {other}", "each number once", "Leave one of them out.")
        if any(f".{start}" in full for start in STARTS):
            fault = "a number that says where a joint begins, which bears nothing"
            todo = "Take a force, a stiffness or a length, or the number of a driver."
            raise ModelError(f"load {path}", fault, "numbers on which equilibria depend", todo)
        pairs[full] = ends[0], ends[1]
    if not pairs:
        raise ModelError("load", "no number", "number path -> (first, last)", "Name what grows.")
    sizes = {len(x) for pair in pairs.values() for x in pair} | {len(values) for values in vary.values()}
    if len(sizes - {1}) > 1:
        raise ModelError("members", f"lengths {sorted(sizes)}", "one number of members", "Give all as many.")
    count = max(sizes)
    if 1 in {len(values) for values in vary.values()} and count > 1:
        raise ModelError("vary", "one member", f"{count}, as the load has", "Give as many values.")
    return tuple(vary | {path: np.broadcast_to(pair[k], count).copy() for path, pair in pairs.items()} for k in (0, 1))  # type: ignore[return-value]


def _columns(vary: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """What varies, as arrays (B,)."""
    columns = dict[str, np.ndarray]()
    need_mapping("vary", {} if vary is None else vary)
    for path, values in (vary or {}).items():
        array = real_array(values)
        if array is None or array.ndim != 1 or not len(array):
            raise ModelError(f"vary {path}", shown(values), "one value a member, shape (B,)", "Write [value].")
        columns[path] = array
    return columns


def _loading(model: Model, given: Options, prepared: Prepared, first: dict[str, Any], last: dict[str, Any]) -> Loading:
    """The numbers that go with the load factor, derived ones included."""
    middle = {path: 0.5 * (np.asarray(first[path], float) + np.asarray(last[path], float)) for path in first}
    ends = [given.changed(vary=vary).design.worked_out(model).vary or {} for vary in (first, middle, last)]
    known = model.numbers()
    values = [{full_path(model, path, known): np.asarray(x, float) for path, x in vary.items()} for vary in ends]
    places, low, high = [], [], []
    for path, place in zip(prepared.vary, prepared.places, strict=True):
        one, half, two = (vary[path] for vary in values)
        if np.abs(0.5 * (one + two) - half).max() > STRAIGHT * np.abs([one, half, two]).max():
            fault = f"{path}, which does not go linearly with the load"
            raise ModelError("load", fault, "numbers that go linearly", "Name that number itself as the load.")
        if not np.array_equal(one, two):
            places.append(place)
            low.append(one)
            high.append(two)
    if not places:
        raise ModelError("load", "the same first and last values", "two different ones", "Correct them.")
    return Loading(tuple(places), np.array(low), np.array(high))


class _Recorded:
    """What is recorded at the poses of all curves.

    Args:
        given: with `vary` of the first load.
    """

    def __init__(self, model: Model, given: Options, every: Branching) -> None:
        self.model, self.given, self.every = model, given, every
        self.plan, self.courses = every.search.prepared.plan, every.courses
        self.count = len(self.courses[0].factor)

    def rows(self, name: str) -> np.ndarray:
        """(C, n, ...) of all courses, as it is of each; frequencies of members with fewer freedoms NaN behind."""
        rows = [getattr(course, name) for course in self.courses]
        if name == "squared":
            most = max(row.shape[1] for row in rows)
            rows = [np.pad(row, ((0, 0), (0, most - row.shape[1])), constant_values=np.nan) for row in rows]
        return np.array(rows)

    def path(self, begun: Result, asked: Sequence[str]) -> LoadPath:
        """The outcome.

        Args:
            begun: under the first load. asked: the numbers that were given.
        """
        every, plan = self.every, self.plan
        member = np.array(every.member, int)
        factor, q = self.rows("factor"), self.rows("q")
        numbers = {plan.numbers[place].path: k for k, place in enumerate(every.loading.places)}
        loads = {path: self._values(k, member, factor) for path, k in numbers.items()}
        result, extra = self._result(begun, member, numbers, loads), {"load_factor": factor}
        named = {self.model.resolve(path) for path in asked}
        return LoadPath(
            member=member, begins=np.array(every.begins, int), factor=factor,
            loads={path: values for path, values in loads.items() if path in named},
            arclength=self.rows("length"),
            q=plan.by_coordinate(q),
            stability=self.rows("stability"), squared_frequencies=self.rows("squared"),
            residual=self.rows("residual"), potential=self.rows("potential"),
            critical=tuple(self._critical(k, numbers) for k in range(len(every.critical))),
            ends=tuple(course.end for course in self.courses),
            channels=dict(result.channels),
            units={**plan.coordinate_units(), **{path: result.units[path] for path in result.channels}},
            result=replace(result, channels={**result.channels, **extra}, units={**result.units, "load_factor": "1"}),
        )  # fmt: skip

    def _values(self, k: int, member: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """(C, n) of a number that goes with the load."""
        first, last = self.every.loading.first[k][member], self.every.loading.last[k][member]
        return first[:, None] + factor * (last - first)[:, None]

    def _critical(self, number: int, numbers: Mapping[str, int]) -> CriticalPose:
        every, plan = self.every, self.plan
        curve, at, length, pose = every.critical[number]
        member, speeds = every.member[curve], pose.way[:-1]
        largest = speeds[np.abs(speeds).argmax()] if np.abs(speeds).any() else 1.0
        units = np.asarray(every.search.prepared.file_lane().units)
        return CriticalPose(
            kind=pose.kind, curve=curve, member=member, pose=at, arclength=length, factor=pose.factor,
            loads={path: float(self._values(k, np.array([member]), np.array([[pose.factor]]))[0, 0])
                   for path, k in numbers.items()},
            q={path: x if np.ndim(x) else float(x) for path, x in plan.by_coordinate(pose.q).items()},
            direction={name: float(x) for name, x in zip(plan.speed_names(), speeds / largest * units, strict=True)},
        )  # fmt: skip

    def _result(
        self, begun: Result, member: np.ndarray, numbers: Mapping[str, int], loads: Mapping[str, np.ndarray]
    ) -> Result:
        """Of the mechanism assembled at all poses: members are curves, poses instants."""
        C, n = len(self.courses), self.count
        counts = np.array([course.count for course in self.courses], int)
        rows = np.arange(C)[:, None], np.minimum(np.arange(n), np.maximum(counts[:, None] - 1, 0))
        q, states = (self.rows(name)[rows] for name in ("q", "states"))  # after its end a curve stays
        vary = {path: np.repeat(np.asarray(values, float)[member][:, None], n, axis=1)
                for path, values in (self.given.design.vary or {}).items()}  # fmt: skip
        full = {full_path(self.model, path, self.model.numbers()): path for path in vary}
        vary |= {full[path]: np.where(np.isnan(x), vary[full[path]], x) for path, x in
                 ((path, loads[path][rows]) for path in numbers if path in full)}  # fmt: skip

        past = np.arange(n) >= counts[:, None]
        whole, each, messages = posed(self.model, self.given, vary, q, states, past)
        status, texts = self._statuses(begun, np.where(past, 0, each), messages)
        design = {path: x for path, x in whole.design.items() if path not in numbers}
        return replace(whole, status=status, messages=texts, design=design, notes=(*begun.notes, *self._notes()))

    def _notes(self) -> list[str]:
        """What was not looked for."""
        curves = [str(k) for k, course in enumerate(self.courses) if course.neutral]
        cause = "a motion has no stiffness at all, so that poses where it buckles are not sought: hold it by a driver"
        return [f"curve {', '.join(curves)}: {cause}"] if curves else []

    def _statuses(self, begun: Result, each: np.ndarray, messages: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
        """Of curves: that of their members where they do not begin, the first bad one of their poses (C, n), or that
        they could not be followed to an end."""
        C, n = each.shape
        status, texts = np.zeros(C, int), [""] * C
        for k, course in enumerate(self.courses):
            bad = np.flatnonzero(each[k] > 0)
            if not course.count:
                status[k], texts[k] = begun.status[self.every.member[k]], begun.messages[self.every.member[k]]
            elif len(bad):
                status[k], texts[k] = each[k, bad[0]], f"pose {bad[0]}: {messages[k * n + bad[0]]}"
            elif course.lost:
                status[k], texts[k] = Outcome.no_equilibrium, course.end
        return status, tuple(texts)
