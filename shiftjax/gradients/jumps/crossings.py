"""Forces that jump on the way of a run: there its gradient needs what the shift of the jump's instant adds. Host code.

Problem: a step goes over the instant at which a force jumps, and its derivative is that of the smooth pieces. Right is
it where the instant does not move; else a part is missing that no smaller step brings, and nothing else shows it.
Found: the run of a model with a force that may jump counts, at the ends of its steps, how often its argument passes a
knot at which the force on both sides differs for the member's numbers; and tables of drives whose end, where the
acceleration jumps, is a number that is differentiated. Not seen: two passages of one knot within a step.
What is missing is added by `passages`, where it can be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from shiftjax.field import filled
from shiftjax.forces import FORCES
from shiftjax.forces.kind import Switch
from shiftjax.gradients.jumps.passages import Knot, Passages, differ
from shiftjax.measures.channels import knot_units
from shiftjax.mechanism.paths import parts
from shiftjax.run.beginning import Begun
from shiftjax.run.closing.host_evaluation import motion_of, per_member
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.plan import Plan

PLAIN = re.compile(r"[A-Za-z_]\w*")  # names that need no backticks
HIDDEN = "jumps: "  # how the names of the metrics begin that count them; no user's metric is called so


class Place(NamedTuple):
    """A knot of a force, or the end of a table of a drive.

    Attributes:
        path: of the force or the drive. knot: which. unit: of the jump.
    """

    path: str
    knot: int
    unit: str


class Met(NamedTuple):
    """What B members met of jumps.

    Attributes:
        count: (B,) how often. first: (B,) when, NaN where never. where: (B,) sentences on the first, "" where none.
    """

    count: np.ndarray
    first: np.ndarray
    where: tuple[str, ...]


class Jumps:
    """Where forces of a model may jump, and the metrics by which its runs tell whether they did.

    Args:
        begun: a run of it. traced: paths of the numbers that are differentiated. vary: of those that vary.

    Attributes:
        places: knots of forces. ends: those of tables of drives that vary, with the place of the number.
    """

    def __init__(self, begun: Begun, vary: Collection[str], traced: Collection[str]) -> None:
        plan = self._plan = begun.prepared.plan
        self.places: list[Place] = []
        self._numbers: list[tuple[int, int]] = []  # force and knot of every place
        for k, sides in _sides(begun).items():
            element = plan.forces[k]
            moving = any(path.startswith(f"{element.path}.") for path in vary)
            along = plan.coordinates[element.coordinates[0]].unit if element.coordinates else "m"
            for knot, (before, after) in enumerate(sides):
                if moving or differ(before, after).any():
                    self.places.append(Place(element.path, knot, filled("{f}", along, 0)))
                    self._numbers.append((k, knot))
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
        names = [*self.metrics]
        knots = [
            Knot(k, knot, tuple(varied.index(place) for place in _constants(plan, k)), names[2 * n])
            for n, (k, knot) in enumerate(self._numbers)
        ]
        lanes = begun.lanes
        clock = lanes.settings.begin, lanes.settings.h
        return Passages(begun.prepared.setup, knots, begun.measured, lanes.measured_of(), clock, met.count)

    @property
    def metrics(self) -> dict[str, str]:
        """name -> text: how often each knot is passed, and when first."""
        texts = {}
        for path, knot, _ in self.places:
            signal = f"{quoted(path)}.knots[{knot}]"
            texts[f"{HIDDEN}{signal}"] = f"sign_changes({signal})"
            texts[f"{HIDDEN}{signal} first"] = f"first_crossing({signal})"
        return texts

    @property
    def listed(self) -> list[dict[str, Any]]:
        """What a report says of them."""
        forces = [{"force": place.path, "knot": place.knot} for place in self.places]
        return [*forces, *({"drive": place.path, "end": place.knot} for place, _ in self.ends)]

    def met(self, begun: Begun, measured: Mapping[str, np.ndarray]) -> Met:
        """What the members of a run met.

        Args:
            measured: its metrics by name, `metrics` among them.
        """
        members = begun.prepared.members
        counts, times, sizes = [], [], []
        sides = _sides(begun) if self.places else {}
        names = [*self.metrics]
        for n, (k, knot) in enumerate(self._numbers):
            before, after = sides[k][knot]
            jumps = differ(before, after)
            counts.append(np.where(jumps, np.nan_to_num(measured[names[2 * n]]), 0.0))
            times.append(np.where(jumps, measured[names[2 * n + 1]], np.nan))
            sizes.append(after - before)
        settings = begun.lanes.settings
        for _, row in self.ends:
            at = begun.prepared.values[row]
            inside = (at > settings.begin) & (at < settings.begin + settings.h * settings.steps)
            counts.append(inside.astype(float))
            times.append(np.where(inside, at, np.nan))
            sizes.append(np.full(members, np.nan))
        if not counts:
            return Met(np.zeros(members, int), np.full(members, np.nan), ("",) * members)
        every = np.stack(times)
        which = np.where(np.isnan(every), np.inf, every).argmin(0)
        first = every[which, np.arange(members)]
        places = [*self.places, *(place for place, _ in self.ends)]
        where = tuple(
            "" if np.isnan(t) else _sentence(places[n], sizes[n][b], t)
            for b, (n, t) in enumerate(zip(which.tolist(), first.tolist(), strict=True))
        )
        return Met(np.sum(counts, axis=0).astype(int), first, where)


def _sentence(place: Place, size: float, t: float) -> str:
    if np.isnan(size):
        return f"the acceleration of the drive {place.path} jumps at its table's end, t = {t:.6g} s"
    return f"{place.path} jumps by {abs(size):.3g} {place.unit} at t = {t:.6g} s"


def _sides(begun: Begun) -> dict[int, list[tuple[np.ndarray, np.ndarray]]]:
    """Index of a force with knots -> (B,) its force before and after each of them."""
    prepared = begun.prepared
    plan, members = prepared.plan, prepared.members
    sides: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    jumping = [k for k in range(len(plan.forces)) if knot_units(plan, k)]
    if not jumping:
        return sides
    motion, values = motion_of(prepared.lane_of(np.arange(members), 1.0), begun.start.q, begun.start.v)
    for k in jumping:
        element = plan.forces[k]
        switches: list[Switch] = [*FORCES[element.kind].switches(element, motion)]
        both = [per_member(values.numbers([one.before, one.after]), members) for one in switches]
        sides[k] = [(before, after) for before, after in both]
    return sides


def _constants(plan: Plan, force: int) -> tuple[int, ...]:
    element = plan.forces[force]
    return FORCES[element.kind].constants(element)


def _ends_of_tables(prepared: Prepared, traced: Collection[str]) -> list[tuple[Place, int]]:
    """Ends of tables of drives that are differentiated and hold what follows, with their rows of `values`."""
    ends = []
    rows = {place: k for k, place in enumerate(prepared.places)}
    for group in prepared.plan.constraints:
        numbers, words = dict(group.numbers), dict(group.words)
        if words.get("outside") not in ("hold", "linear"):
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
