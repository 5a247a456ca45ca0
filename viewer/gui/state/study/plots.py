"""The curves of an item: of the current member, of others, and the band of all kept ones. NumPy only."""

from __future__ import annotations

import math
import time as clock
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.paths import split
from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.record import record
from shiftjax.viewer.members.distributions import Band, band
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.members.typical import Typical, nearest_curves
from shiftjax.viewer.motion import curves
from shiftjax.viewer.motion.curves import Curve

MOST = 6  # plots at once
CACHED = 512  # curves
MINUTE = 60.0  # s: seconds of a run that goes on may be asked for before it has them
BAND_BYTES = 128 << 20  # of the curves of a band; of more members evenly spaced ones are taken
LEAST_IN_BAND = 3  # members


@record
class Line:
    """A curve of a member, ready to be drawn."""

    study: StudyLike
    member: int
    curve: Curve


@record
class MemberBand:
    """The band of the kept members of a study."""

    band: Band
    members: np.ndarray  # (k,) whose curves it is of
    without: np.ndarray  # (m,) that have no such curve: they never started
    skipped: int  # of very many members, those between evenly spaced ones
    typical: tuple[Typical, ...] = ()  # whose curves are nearest to its edges and its middle


class PlotCurves:
    """Curves by name and member, and bands, which are collected a few members a frame.

    Attributes:
        limits: plot -> its limits in the last frame; span: of the time axes of all plots, None before the first.
        follows: whether the axes show the seconds before the time cursor; width: how many, 0 for all.
        reference: whose curves all others are drawn against, a member by its number or a word of `shown_curves`; "" for
            none. readout: whether the numbers at the cursor are listed.
        moved: whether the mouse moved the axes, which then stay where they are until `follow`.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, str, int, int], Curve] = OrderedDict()
        self._bands: dict[tuple[int, str], _Collected] = {}
        self._names: tuple[tuple[int, str | None], list[str]] = ((0, None), [])
        self.limits: dict[str, tuple[float, float]] = {}
        self.span: tuple[float, float] | None = None
        self.follows, self.width, self.moved = False, 0.0, False
        self.reference, self.readout = "", False

    def names(self, study: StudyLike, pick: str | None) -> list[str]:
        """The curves of an item, see `curves_of`."""
        key = (id(study), pick)
        if self._names[0] != key:
            self._names = (key, curves_of(study, pick))
        return self._names[1]

    def get(self, study: StudyLike, member: int, name: str) -> Curve:
        """A curve of a member; ModelError as of `curves.curve`."""
        if study.growing:
            return curves.curve(study, member, name)
        key = (id(study), name, member, study.revision)
        curve = self._known.pop(key, None)
        curve = curves.curve(study, member, name) if curve is None else curve
        self._known[key] = curve  # the latest is last
        while len(self._known) > CACHED:
            self._known.popitem(last=False)
        return curve

    def lines(self, members: Sequence[tuple[StudyLike, int]], name: str) -> list[Line]:
        """The curves of several members, of one study or several; those that have none are left out."""
        lines = []
        for study, member in members:
            try:
                lines.append(Line(study, member, self.get(study, member, name)))
            except ModelError:
                continue
        return lines

    def band(self, study: StudyLike, name: str, seconds: float) -> MemberBand | None:
        """Quantiles over all kept members; None until they are collected, for which every call takes some time.

        Args:
            seconds: of wall time that a call takes at most, but for one curve.
        """
        if study.growing or len(study.kept) < LEAST_IN_BAND:
            return None
        key = (id(study), name)
        if key not in self._bands:
            self._bands[key] = _Collected(study, name)
        return self._bands[key].advance(seconds)

    def ends(self, whole: tuple[float, float], now: float, *, growing: bool) -> tuple[float, float]:
        """Ends of the time axes of all plots [s]: the seconds before the cursor, all of a run that goes on, or where
        the mouse moved them.

        Args:
            whole: first and last instant [s]; now: the time cursor [s].
        """
        if self.moved and self.span is not None:
            return self.span
        if self.follows and 0.0 < self.width < whole[1] - whole[0]:
            start = min(max(now - self.width, whole[0]), whole[1] - self.width)
            self.span = start, start + self.width
        elif self.span is None or growing or self.follows:
            self.span = whole
        return self.span

    def follow(self, width: float) -> None:
        """Shows so many seconds before the time cursor from now on; 0 for all."""
        self.follows, self.width, self.moved = width > 0, width, False
        self.span = None

    def shown(self, before: tuple[float, float], after: tuple[float, float]) -> None:
        """Notes the ends of the time axes [s] that a plot was given and those it has: others where the mouse moved."""
        near = 1e-9 * max(abs(before[1] - before[0]), 1e-12)  # rounding of the plots' own arithmetic
        if max(abs(one - other) for one, other in zip(before, after, strict=True)) > near:
            self.moved, self.span = True, after

    def collecting(self, study: StudyLike, name: str) -> bool:
        """Whether a band takes more calls."""
        collected = self._bands.get((id(study), name))
        return collected is not None and collected.band is None and bool(collected.left)


def widths(whole: float, *, growing: bool = False) -> list[float]:
    """Round numbers of seconds that the axes may show of a run of so many, rising, a few."""
    whole = max(whole, MINUTE) if growing else whole
    if not whole > 0:
        return []
    power = math.floor(math.log10(whole))
    return [width for k in (power - 2, power - 1, power) for part in (1, 2, 5) if (width := part * 10.0**k) < whole]


class _Collected:
    """A band that is being collected: curves of members, the first of which says how many there may be."""

    def __init__(self, study: StudyLike, name: str) -> None:
        self.study, self.name = study, name
        self.curves: list[np.ndarray] = []
        self.members: list[int] = []
        self.without: list[int] = []
        self.skipped = 0
        self.band: MemberBand | None = None
        self.left: list[int] = study.kept[::-1].tolist()  # members, last first
        self.limited = False  # whether `left` was cut to what there is room for

    def advance(self, seconds: float) -> MemberBand | None:
        """Collects for some time."""
        until = clock.perf_counter() + seconds
        while self.band is None and self.left:
            self._add(self.left.pop())
            if self.curves and not self.limited:
                self._limit()
            if clock.perf_counter() > until:
                break
        if self.band is None and not self.left and self.curves:
            who, without = (np.array(ids, np.int64) for ids in (self.members, self.without))
            every = np.stack(self.curves)
            edges = band(every)
            typical = nearest_curves(every, who, (edges.low, edges.middle, edges.high))
            self.band = MemberBand(edges, who, without, self.skipped, typical)
            self.curves = []
        return self.band

    def _add(self, member: int) -> None:
        try:
            self.curves.append(curves.curve(self.study, member, self.name).values)
        except ModelError:  # it never started
            self.without.append(member)
            return
        self.members.append(member)

    def _limit(self) -> None:
        """Of too many members evenly spaced ones are left."""
        self.limited = True
        most = max(BAND_BYTES // max(self.curves[0].nbytes, 1), LEAST_IN_BAND)
        if len(self.left) > most:
            self.skipped = len(self.left) - most
            self.left = [self.left[k] for k in evenly_spaced(len(self.left), most)]


def curves_of(study: StudyLike, pick: str | None) -> list[str]:
    """The recorded channels of an item and of its children, then what follows from its poses; the first few.

    Without an item, of what was recorded, or of the joints if nothing was.
    """
    if study.growing:
        return channels_of(study, pick)
    recorded = list(study.channels) if pick is None else channels_of(study, pick)
    if pick is None:
        return (recorded or [name for name in curves.computed(study) if name.endswith(".q")])[:MOST]
    more = [name for name in curves.computed(study) if split(name)[0] == pick]
    have = {curves.full_name(study, name) for name in recorded}
    return [*recorded, *(name for name in more if name not in have)][:MOST]


def channels_of(study: StudyLike, path: str | None) -> list[str]:
    """The recorded channels of an item and of its children; the first few of all without a pick."""
    if path is None:
        return list(study.plotted or study.channels)[:MOST]
    belonging = [channel for channel in study.channels if _belongs(curves.owner_of(study, channel), path)]
    return belonging[:MOST]


def _belongs(owner: str, path: str) -> bool:
    return owner == path or owner.startswith(path + ":")


def at(curve: Curve, time: float) -> np.ndarray:
    """(k,) values of a curve at a time [s], linear between its instants."""
    return np.array([np.interp(time, curve.time, curve.values[:, k]) for k in range(curve.values.shape[1])])
