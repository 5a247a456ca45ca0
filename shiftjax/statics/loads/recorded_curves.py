"""What is recorded at the poses of all curves of equilibria along a load. Host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.outcome import REMEDY, Outcome
from shiftjax.record import record
from shiftjax.run.derive import full_path
from shiftjax.run.options import Options
from shiftjax.run.results.result import Result
from shiftjax.statics.loads.branching import Branching
from shiftjax.statics.loads.load_paths import CriticalPose, LoadPath, PassedEvent
from shiftjax.statics.loads.stated_loads import StatedLoads
from shiftjax.statics.posed import posed


@record
class LoadSlopes:
    """What goes with the load, and with numbers of the design.

    Attributes:
        by_load, by_number: of channels and coordinates, as `LoadPath` has them. of_critical: of each critical pose.
            of_events: of the events of each curve.
    """

    by_load: dict[str, np.ndarray]
    by_number: dict[str, dict[str, np.ndarray]]
    of_critical: list[dict[str, dict[str, Any]]]
    of_events: list[list[dict[str, dict[str, Any]]]]


class RecordedCurves:
    """What is recorded at the poses of all curves.

    Args:
        given: with `vary` of the first load. slopes: that were asked for.
    """

    def __init__(self, stated: StatedLoads, given: Options, every: Branching, slopes: LoadSlopes) -> None:
        self.model, self.given, self.every = stated.model, given, every
        self.names, self.slopes = stated.names, slopes
        self.plan, self.courses = every.search.prepared.plan, every.courses
        self.count = len(self.courses[0].factor)

    def rows(self, name: str) -> np.ndarray:
        """(C, n, ...) of all courses, as it is of each; frequencies of members with fewer freedoms NaN behind."""
        rows = [getattr(course, name) for course in self.courses]
        if name == "squared":
            most = max(row.shape[1] for row in rows)
            rows = [np.pad(row, ((0, 0), (0, most - row.shape[1])), constant_values=np.nan) for row in rows]
        return np.array(rows)

    def path(self, begun: Result) -> LoadPath:
        """The outcome, of what was begun under the first load."""
        every, plan = self.every, self.plan
        member = np.array(every.member, int)
        factor, q = self.rows("factor"), self.rows("q")
        numbers = {plan.numbers[place].path: k for k, place in enumerate(every.loading.places)}
        loads = {path: self._values(k, member, factor) for path, k in numbers.items()}
        result, extra = self._result(begun, member, numbers, loads), {"load_factor": factor}
        return LoadPath(
            member=member, begins=np.array(every.begins, int), factor=factor,
            loads={name: loads[path] for path, name in self.names.items() if path in loads},
            arclength=self.rows("length"),
            q=plan.by_coordinate(q),
            stability=self.rows("stability"), squared_frequencies=self.rows("squared"),
            residual=self.rows("residual"), potential=self.rows("potential"),
            critical=tuple(self._critical(k, numbers) for k in range(len(every.critical))),
            watched=tuple(every.watched.names), events=tuple(self._events(numbers)),
            ends=tuple(course.end for course in self.courses),
            channels=dict(result.channels), slopes=self.slopes.by_load, design_slopes=self.slopes.by_number,
            units={**plan.coordinate_units(), **{path: result.units[path] for path in result.channels}},
            result=replace(result, channels={**result.channels, **extra}, units={**result.units, "load_factor": "1"}),
        )  # fmt: skip

    def _loads_at(self, numbers: Mapping[str, int], member: int, factor: float) -> dict[str, float]:
        """Of one pose, those that follow from others included."""
        one, at = np.array([member]), np.array([[factor]])
        return {self.names.get(path, path): float(self._values(k, one, at)[0, 0]) for path, k in numbers.items()}

    def _place(self, q: np.ndarray) -> dict[str, Any]:
        """Coordinate -> its place in one pose (nq,)."""
        return {path: x if np.ndim(x) else float(x) for path, x in self.plan.by_coordinate(q).items()}

    def _events(self, numbers: Mapping[str, int]) -> Iterator[PassedEvent]:
        for curve, course in enumerate(self.courses):
            member = self.every.member[curve]
            for number, (at, length, one) in enumerate(course.passed):
                factor = float(one.pose.factor[0])
                yield PassedEvent(
                    name=self.every.watched.names[one.which], direction=one.direction, curve=curve, member=member,
                    pose=at, arclength=length, factor=factor, loads=self._loads_at(numbers, member, factor),
                    q=self._place(one.pose.q[:, 0]), slopes=self.slopes.of_events[curve][number],
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
            loads=self._loads_at(numbers, member, pose.factor), q=self._place(pose.q),
            direction={name: float(x) for name, x in zip(plan.speed_names(), speeds / largest * units, strict=True)},
            slopes=self.slopes.of_critical[number],
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
            if course.interrupted:
                status[k], texts[k] = Outcome.interrupted, REMEDY[Outcome.interrupted]
            elif not course.count:
                status[k], texts[k] = begun.status[self.every.member[k]], begun.messages[self.every.member[k]]
            elif len(bad):
                status[k], texts[k] = each[k, bad[0]], f"pose {bad[0]}: {messages[k * n + bad[0]]}"
            elif course.lost:
                status[k], texts[k] = Outcome.no_equilibrium, course.end
        return status, tuple(texts)
