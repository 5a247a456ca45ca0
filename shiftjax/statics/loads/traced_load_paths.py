"""Load paths of designs of which JAX traces numbers: first curves, critical poses, with first derivatives.

The host follows the curves, as ever, with their slopes by the numbers that are traced (`path_slopes`,
`critical_slopes`): those of coordinates and channels under the same loads, and those of the loads and poses at which
curves turn or meet. Where along its curve a pose is has none, so that load factors of poses are constants.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.gradients.transforms import differentiable
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.run.derive import full_path, with_derived
from shiftjax.run.options import Options
from shiftjax.statics.loads.load_paths import CriticalPose, LoadPath
from shiftjax.statics.side_by_side import SideBySide

CRITICAL = 8  # critical poses of each curve
FACTOR, ARCLENGTH = "load factor", "arclength"  # parts beside loads, coordinates and channels
Array = Any  # of JAX, traced
Follower = Callable[..., LoadPath]
Following = Callable[[Mapping[str, np.ndarray], Sequence[str], int], LoadPath]
Parts = dict[tuple[str, str], np.ndarray]  # of what, its name -> (B, n or K, ...)


def traced_load_path(
    model: Model, given: Options, loads: Sequence[str], poses: int, refused: Mapping[str, object], follow: Follower
) -> LoadPath:
    """The first curve of each design, of arrays of JAX; see `load_path`.

    Args:
        loads: what goes along the path. refused: names of arguments that say nothing here -> whether they were given.
        follow: the path of a model of known numbers: of what is varied and assigned, paths of numbers by which slopes
            are wanted, and how many poses.

    Raises:
        ModelError: as of `load_path`; an argument that is refused.
    """
    for name, stated in refused.items():
        if stated:
            fault, todo = "with numbers that JAX traces", "Leave it out, or give known numbers."
            raise ModelError(name, fault, "nothing: a traced path is differentiated by JAX", todo)
    _refuse_followers(model, given, loads)
    columns, design = traced_design(model, given.design)
    plain = dataclasses.replace(model, expressions=FrozenJson())  # what follows is among the columns
    wanted = [path for path, values in columns.items() if is_traced(values)]

    def following(vary: Mapping[str, np.ndarray], slopes: Sequence[str], count: int) -> LoadPath:
        return follow(plain, {**vary}, design.assign, slopes, count)

    with jax.ensure_compile_time_eval():
        known, members = model.numbers(), len(next(iter(columns.values())))
        sample = following({path: np.full(members, known[path]) for path in columns}, (), 2)
    host = HostCurves(following, tuple(columns), wanted, sample, poses)
    parts = host.parts(differentiable(host)(jnp.stack([*columns.values()], axis=1)))
    return _shown(parts, sample, poses)


def _refuse_followers(model: Model, given: Options, loads: Sequence[str]) -> None:
    """Raises for loads that others follow, which JAX would have to know at each pose."""
    known, design = model.numbers(), given.design
    for path in (full_path(model, one, known) for one in loads if one in known or model.resolve(one) in known):
        ends = known[path] + np.array([0.0, 1.0])
        following = set(with_derived(model, {path: ends}, design.assign, design.derive)[0] or {}) - {path}
        if following:
            fault = f"a load that {sorted(following)[0]} follows, with numbers that JAX traces"
            todo = "Give known numbers and slopes=[...], or leave the expression out."
            raise ModelError(f"load {path}", fault, "loads that no number follows", todo)


def _shown(parts: Mapping[tuple[str, str], Array], sample: LoadPath, poses: int) -> LoadPath:
    """The record; what JAX cannot trace is left out."""
    members = len(sample.member)
    of = {kind: {name: x for (one, name), x in parts.items() if one == kind} for kind in KINDS}
    critical = tuple(
        CriticalPose(
            kind="", curve=-1, member=-1, pose=-1, arclength=np.nan, factor=of["critical factor"][FACTOR][:, k],
            loads={name: x[:, k] for name, x in of["critical load"].items()},
            q={name: x[:, k] for name, x in of["critical place"].items()}, direction={}, slopes={},
        )
        for k in range(CRITICAL)
    )  # fmt: skip
    lacking: Any = None
    return LoadPath(
        member=np.arange(members), begins=np.full(members, -1), factor=of["factor"][FACTOR], loads=of["load"],
        arclength=of["factor"][ARCLENGTH], q=of["place"], stability=np.full((members, poses), ""),
        squared_frequencies=np.zeros((members, poses, 0)), residual=np.full((members, poses), np.nan),
        potential=np.full((members, poses), np.nan), critical=critical, watched=(), events=(), ends=(),
        channels=of["channel"], slopes={}, design_slopes={}, units=sample.units, result=lacking,
    )  # fmt: skip


KINDS = ("factor", "load", "place", "channel", "critical factor", "critical load", "critical place")


class HostCurves(SideBySide[tuple[str, str]]):
    """`SideBySide` of numbers (B, P) to all parts (B, M), with slopes that come along with the values.

    Args:
        following: the path of numbers. paths: of these. wanted: those that are traced. sample: a path of as many
            members. poses: of a curve.
    """

    def __init__(
        self, following: Following, paths: Sequence[str], wanted: Sequence[str], sample: LoadPath, poses: int
    ) -> None:
        self._following, self.paths, self.wanted, self.poses = following, paths, wanted, poses
        shapes = {key: (poses, *values.shape[2:]) for key, values in _curves(sample)}
        shapes[("critical factor", FACTOR)] = (CRITICAL,)
        shapes |= {("critical load", name): (CRITICAL,) for name in sample.loads}
        shapes |= {("critical place", name): (CRITICAL, *x.shape[2:]) for name, x in sample.q.items()}
        self.shapes = shapes
        self.outputs = sum(int(np.prod(shape)) for shape in self.shapes.values())
        self._last: tuple[bytes, np.ndarray, np.ndarray] | None = None

    def run(self, x: np.ndarray) -> np.ndarray:
        return self._at(x)[0]

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        moves = dx[:, None]
        return np.where(moves != 0.0, self._at(x)[1] * moves, 0.0).sum(2)

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        bars = y_bar[:, :, None]
        return np.where(bars != 0.0, self._at(x)[1] * bars, 0.0).sum(1)

    def _at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (B, M) and slopes (B, M, P); what was asked last is remembered."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            path = self._following({name: x[:, k].copy() for k, name in enumerate(self.paths)}, self.wanted, self.poses)
            values, slopes = self._values(path), np.zeros((len(x), self.outputs, len(self.paths)))
            for number in self.wanted:
                slopes[:, :, self.paths.index(number)] = self._slopes(path, number)
            self._last = key, values, slopes
        return self._last[1:]

    def _flat(self, parts: Parts, members: int, otherwise: float) -> np.ndarray:
        """(B, M) of parts, `otherwise` of those that there are not."""
        rows = [parts.get(key, np.full((members, *shape), otherwise)) for key, shape in self.shapes.items()]
        return np.concatenate([row.reshape(members, -1) for row in rows], axis=1)

    def _values(self, path: LoadPath) -> np.ndarray:
        parts = dict(_curves(path))
        for k, pose in _numbered(path):
            every = {("critical factor", FACTOR): pose.factor}
            every |= {("critical load", name): value for name, value in pose.loads.items()}
            every |= {("critical place", name): value for name, value in pose.q.items()}
            self._put(parts, every, pose.member, k)
        return self._flat(parts, len(path.member), np.nan)

    def _slopes(self, path: LoadPath, number: str) -> np.ndarray:
        """(B, M) by a number."""
        known, parts = path.design_slopes[number], Parts()
        parts |= {("place", name): known[name] for name in path.q}
        parts |= {("channel", name): known[name] for name in path.channels}
        for k, pose in _numbered(path):
            by = pose.slopes[number]
            every = {("critical factor", FACTOR): by["factor"]}
            every |= {("critical load", name): by[name] for name in pose.loads}
            every |= {("critical place", name): by[name] for name in pose.q}
            self._put(parts, every, pose.member, k)
        return self._flat(parts, len(path.member), 0.0)

    def _put(self, parts: Parts, every: Mapping[tuple[str, str], Any], member: int, k: int) -> None:
        """Numbers of the critical pose k of a member into their parts."""
        members = len(next(iter(parts.values())))
        for key, value in every.items():
            if key in self.shapes:
                parts.setdefault(key, np.full((members, *self.shapes[key]), np.nan))[member, k] = value


def _curves(path: LoadPath) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    """What is along curves."""
    yield ("factor", FACTOR), path.factor
    yield ("factor", ARCLENGTH), path.arclength
    for kind, values in (("load", path.loads), ("place", path.q), ("channel", path.channels)):
        for name, x in values.items():
            yield (kind, name), x


def _numbered(path: LoadPath) -> Iterator[tuple[int, CriticalPose]]:
    """Critical poses, each with its number on its curve."""
    counts = [0] * len(path.member)
    for pose in path.critical:
        if counts[pose.curve] < CRITICAL:
            yield counts[pose.curve], pose
        counts[pose.curve] += 1
