"""Forces that jump or bend on the way of a run, where its gradient needs what `passages` adds. Host code.

Problem: a step goes over the instant at which a force jumps, and its derivative is that of the smooth pieces. Right is
it where the instant does not move; else a part is missing that no smaller step brings, and nothing else shows it.
Found: the run of a model with a force that may jump, or bends, counts, at the ends of its steps, how often its argument
passes a knot at which the force, or its slope, on both sides differs for the member's numbers; and tables of drives
whose end, where the acceleration jumps, is a number that is differentiated. Not seen: two passages of one knot within a
step.
What is missing is added by `passages`, where it can be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from shiftjax.constraints import CONSTRAINTS
from shiftjax.field import filled
from shiftjax.forces import FORCES
from shiftjax.gradients.jumps.passages import Knot, KnotForce, Passages, few
from shiftjax.measures.channels import knot_units
from shiftjax.mechanism.paths import parts
from shiftjax.run.beginning import Begun
from shiftjax.run.closing.host_evaluation import motion_of, per_member
from shiftjax.run.start.prepared import Prepared
from shiftjax.time_laws import AccelerationTable
from shiftjax.topology.plan import Plan

PLAIN = re.compile(r"[A-Za-z_]\w*")  # names that need no backticks
HIDDEN = "jumps: "  # how the names of the metrics begin that count them; no user's metric is called so


class Place(NamedTuple):
    """A knot of a force, or the end of a table of a drive.

    Attributes:
        path: of the force or the drive. knot: which. unit: of the jump. jumps: whether it may, and does not only bend.
    """

    path: str
    knot: int
    unit: str
    jumps: bool = True

    @property
    def signal(self) -> str:
        """What is compared with the knot."""
        return f"{quoted(self.path)}.knots[{self.knot}]"

    @property
    def counter(self) -> str:
        """The metric that counts passages."""
        return f"{HIDDEN}{self.signal}"

    @property
    def first(self) -> str:
        """The metric of the first of them."""
        return f"{self.counter} first"


class Met(NamedTuple):
    """What B members met of jumps.

    Attributes:
        count: (B,) how often. first: (B,) when, NaN where never. where: (B,) sentences on the first, "" where none.
        jumps: (places, B) whether a force jumps at a knot. bends: (places, B) whether it bends where it is passed.
        kinks: (B,) how often members pass such.
    """

    count: np.ndarray
    first: np.ndarray
    where: tuple[str, ...]
    jumps: np.ndarray
    bends: np.ndarray
    kinks: np.ndarray


class Jumps:
    """Where forces of a model may jump or bend, and the metrics by which its runs tell whether they did.

    Args:
        begun: a run of it. traced: paths of the numbers that are differentiated. vary: of those that vary.

    Attributes:
        places: knots of forces; of a run with a tolerance, whose steps end at kinks, those of jumps alone.
        sure: path and knot of those at which the force jumps, whatever varies.
        ends: those of tables of drives that vary, with the place of the number.
    """

    def __init__(self, begun: Begun, vary: Collection[str], traced: Collection[str]) -> None:
        plan = self._plan = begun.prepared.plan
        self.places: list[Place] = []
        self.sure: list[tuple[str, int]] = []
        self._numbers: list[tuple[int, int]] = []  # force and knot of every place
        bending = begun.lanes.settings.tolerance is None
        for k, forces in _forces_at_knots(begun).items():
            element = plan.forces[k]
            moving = any(path.startswith(f"{element.path}.") for path in vary)
            along = plan.coordinates[element.coordinates[0]].unit if element.coordinates else "m"
            for knot, side in enumerate(forces):
                jumps = bool(moving or side.jumps.any())
                if jumps or (bending and side.bends.any() and _constants(plan, k)):
                    self.places.append(Place(element.path, knot, filled("{f}", along, 0), jumps))
                    self._numbers.append((k, knot))
                if side.jumps.all() and not moving:
                    self.sure.append((element.path, knot))
        self.ends = _ends_of_tables(begun.prepared, traced)

    @property
    def constants(self) -> tuple[str, ...]:
        """Paths of the numbers by which derivatives follow the jumps; the runs vary them."""
        plan = self._plan
        places = (place for k in dict.fromkeys(k for k, _ in self._numbers) for place in _constants(plan, k))
        return tuple(plan.numbers[place].path for place in places)

    def passages(self, begun: Begun, met: Met) -> Passages:
        """Those that derivatives of a run follow, which has the metrics `metrics` and varies `constants`."""
        plan, varied = begun.prepared.plan, begun.prepared.setup.varied
        knots = [
            Knot(k, knot, tuple(varied.index(number) for number in _constants(plan, k)), place.counter)
            for place, (k, knot) in zip(self.places, self._numbers, strict=True)
        ]
        lanes = begun.lanes
        clock = lanes.settings.begin, lanes.settings.h
        follows = (met.jumps & few(met.count)) | (met.bends & few(met.kinks))
        return Passages(
            begun.prepared.setup, knots, begun.measured, lanes.measured_of(), clock, follows, ~few(met.kinks)
        )

    @property
    def metrics(self) -> dict[str, str]:
        """name -> text: how often each knot is passed, and when first."""
        texts = {}
        for place in self.places:
            texts[place.counter] = f"sign_changes({place.signal})"
            if place.jumps:
                texts[place.first] = f"first_crossing({place.signal})"
        return texts

    def jumping(self, met: Met) -> dict[tuple[str, int], np.ndarray]:
        """Path and knot -> (B,) whether the force jumps there."""
        return {(place.path, place.knot): jumps for place, jumps in zip(self.places, met.jumps, strict=True)}

    @property
    def listed(self) -> list[dict[str, Any]]:
        """What a report says of them."""
        forces = [{"force": place.path, "knot": place.knot} for place in self.places if place.jumps]
        return [*forces, *({"drive": place.path, "end": place.knot} for place, _ in self.ends)]

    def met(self, begun: Begun, measured: Mapping[str, np.ndarray]) -> Met:
        """What the members of a run met.

        Args:
            measured: its metrics by name, `metrics` among them.
        """
        members = begun.prepared.members
        counts, times, sizes = [], [], []
        forces = _forces_at_knots(begun) if self.places else {}
        jumps, passed, bends = (np.zeros((len(self.places), members), kind) for kind in (bool, float, bool))
        for n, (place, (k, knot)) in enumerate(zip(self.places, self._numbers, strict=True)):
            side = forces[k][knot]
            jumps[n], bends[n], passed[n] = side.jumps, side.bends, np.nan_to_num(measured[place.counter])
            counts.append(np.where(jumps[n], passed[n], 0.0))
            times.append(np.where(jumps[n], measured[place.first], np.nan) if place.jumps else np.full(members, np.nan))
            sizes.append(side.after - side.before)
        bends &= (passed > 0) & ~jumps
        kinks = np.where(bends, passed, 0.0).sum(0)
        settings = begun.lanes.settings
        for _, row in self.ends:
            at = begun.prepared.values[row]
            inside = (at > settings.begin) & (at < settings.begin + settings.h * settings.steps)
            counts.append(inside.astype(float))
            times.append(np.where(inside, at, np.nan))
            sizes.append(np.full(members, np.nan))
        if not counts:
            none = np.zeros(members, int)
            return Met(none, np.full(members, np.nan), ("",) * members, jumps, bends, kinks)
        every = np.stack(times)
        which = np.where(np.isnan(every), np.inf, every).argmin(0)
        first = every[which, np.arange(members)]
        places = [*self.places, *(place for place, _ in self.ends)]
        where = tuple(
            "" if np.isnan(t) else _sentence(places[n], sizes[n][b], t)
            for b, (n, t) in enumerate(zip(which.tolist(), first.tolist(), strict=True))
        )
        return Met(np.sum(counts, axis=0).astype(int), first, where, jumps, bends, kinks)


def _sentence(place: Place, size: float, t: float) -> str:
    if np.isnan(size):
        return f"the acceleration of the drive {place.path} jumps at its table's end, t = {t:.6g} s"
    return f"{place.path} jumps by {abs(size):.3g} {place.unit} at t = {t:.6g} s"


def _forces_at_knots(begun: Begun) -> dict[int, list[KnotForce]]:
    """Index of a force with knots -> (B,) what it is at each of them."""
    prepared = begun.prepared
    plan, members = prepared.plan, prepared.members
    forces: dict[int, list[KnotForce]] = {}
    jumping = [k for k in range(len(plan.forces)) if knot_units(plan, k)]
    if not jumping:
        return forces
    motion, values = motion_of(prepared.lane_of(np.arange(members), 1.0), begun.start.q, begun.start.v)
    for k in jumping:
        element = plan.forces[k]
        switches = FORCES[element.kind].switches(element, motion)
        forces[k] = [KnotForce(*per_member(values.numbers([*switch]), members)) for switch in switches]
    return forces


def _constants(plan: Plan, force: int) -> tuple[int, ...]:
    element = plan.forces[force]
    return FORCES[element.kind].constants(element)


def _ends_of_tables(prepared: Prepared, traced: Collection[str]) -> list[tuple[Place, int]]:
    """Ends of tables of drives that are differentiated and hold what follows, with their rows of `values`."""
    ends = []
    rows = {place: k for k, place in enumerate(prepared.places)}
    for group in prepared.plan.constraints:
        numbers, words = dict(group.numbers), dict(group.words)
        goes_on = isinstance(getattr(CONSTRAINTS[group.kind], "law", None), AccelerationTable)
        if goes_on or words.get("outside") not in ("hold", "linear"):
            continue
        times: Any = numbers["times"]
        for end in (0, -1):
            row = rows.get(times[end])
            if row is not None and prepared.vary[row] in traced:
                ends.append((Place(group.name, end % len(times), ""), row))
    return ends


def quoted(path: str) -> str:
    """A path as expressions read it."""
    return ":".join(part if PLAIN.fullmatch(part) else f"`{part}`" for part in parts(path))
