"""`FreeMotions`: what a mechanism can do at a pose, to first order: the tangents that its loops and locks leave. Host
code.

Motions are sums of f columns. One freedom has one motion but for its size; of several it is that of a joint, with all
others changing as little as may be (least sum of squares, dimensionless), or the last one that was made. Where loops
lose rank there are more columns than freedoms, and not each sum of them is a motion that the mechanism makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from shiftjax.editing.velocities.ellipsoids import VelocityEllipsoid, ellipsoid_of
from shiftjax.editing.velocities.screws import STILL, BodyScrew, screw_of
from shiftjax.errors import ModelError, shown
from shiftjax.mechanism.paths import listed, matching, split
from shiftjax.mechanism.records import FIXED
from shiftjax.numerics.real_arrays import three_numbers
from shiftjax.record import record

APART = 1e-6  # of a unit change of coordinates: a rate that is less follows from others, or is none
NEVER = 1e-7  # of the largest velocity: what a point has less of in a direction, a hundredth of a radian from any loss
STILL_NONE = "nothing can move"
UNKNOWN = "{} freedoms: drag a body, or pick a joint that leads"
LOST = "loops lose rank here: {} motions to first order, of {} freedom{}"
STUCK = "{} cannot move from here"
GOES = "; shown is the way it came"


@record
class BodyTwists:
    """Bodies at a pose, and how they move.

    Attributes:
        rotations: (nb, 3, 3). origins: (nb, 3) in the world [m].
        twists: (nb, 6, f) angular velocity [rad], and velocity of the origin [m], of each motion, along the world's
            axes.
    """

    rotations: np.ndarray
    origins: np.ndarray
    twists: np.ndarray

    def velocities(self, row: int, point: np.ndarray) -> np.ndarray:
        """(3, f) of a point (3,) [m, in the world] of a body."""
        twist = self.twists[row]
        return twist[3:] + np.cross(twist[:3].T, point - self.origins[row]).T

    def largest(self, length: float) -> float:
        """Velocity [m] beside which small ones are rounding, of a mechanism of that length [m]."""
        turning = np.linalg.norm(self.twists[:, :3], axis=(1, 2)) * length
        return float(max(turning.max(), np.linalg.norm(self.twists[:, 3:], axis=(1, 2)).max()))


@record
class LedMotion:
    """One of the motions.

    Attributes:
        weights: (f,) of the columns; None where no single motion is known. text: which motion it is, or why none is.
        lead: coordinate or speed that goes by one unit [rad or m], "" where none does.
    """

    weights: np.ndarray | None
    text: str
    lead: str = ""


class FreeMotions:
    """The motions of a mechanism at a pose.

    Attributes:
        bodies: path -> its row in the arrays, of ground, too. origins: (nb, 3) of bodies in the world [m].
        twists: (nb, 6, f) angular velocity [rad], and velocity of the origin [m], of each column, along the world's
            axes. rates: name of a speed -> (f,) [rad or m]; coordinates of one number have their paths for names.
        units: name of a speed -> "rad" or "m", ground's joints first.
        freedoms: how many the mechanism has beside this pose. length: of it [m].
        aside: bodies at a pose beside this one, at which no rank is lost; None where none was reached.
        last: (f,) the columns' weights in the last motion that was made, or None; last_text: what it was.
    """

    def __init__(
        self, bodies: Mapping[str, int], here: BodyTwists, rates: Mapping[str, np.ndarray], units: Mapping[str, str],
        freedoms: int, length: float, aside: BodyTwists | None, last: np.ndarray | None, last_text: str,
    ) -> None:  # fmt: skip
        self.bodies, self.origins, self.twists, self._here, self.aside = bodies, here.origins, here.twists, here, aside
        self.rates, self.units, self.freedoms, self.length = rates, units, freedoms, length
        self.last, self.last_text = last, last_text

    @property
    def columns(self) -> int:
        """How many independent motions there are to first order."""
        return self.twists.shape[2]

    @property
    def lost(self) -> bool:
        """Whether loops lose rank here."""
        return self.columns > self.freedoms

    @cached_property
    def joints(self) -> Mapping[str, tuple[str, ...]]:
        """Path of a joint that has speeds -> their names."""
        out: dict[str, tuple[str, ...]] = {}
        for name in self.units:
            joint = split(name)[0]
            out[joint] = (*out.get(joint, ()), name)
        return out

    @cached_property
    def normal(self) -> np.ndarray | None:
        """(3,) unit vector across the plane in which all bodies move; None where there is none."""
        w = self.twists[:, :3].transpose(0, 2, 1).reshape(-1, 3) * self.length
        u = self.twists[:, 3:].transpose(0, 2, 1).reshape(-1, 3)
        largest = float(np.linalg.norm(np.vstack([w, u]), axis=1).max(initial=0.0))
        if np.linalg.norm(w, axis=1).max(initial=0.0) <= STILL * largest:
            return None
        n = np.linalg.svd(w, full_matrices=False)[2][0]
        n = n if n[np.abs(n).argmax()] > 0.0 else -n
        off = max(np.linalg.norm(w - np.outer(w @ n, n), axis=1).max(initial=0.0), np.abs(u @ n).max(initial=0.0))
        return n if off <= STILL * largest else None

    def led(self, joint: str = "") -> LedMotion:
        """The motion that is meant.

        Args:
            joint: that leads where several freedoms are there, by the path of the joint or of a coordinate, or the end
                of it; "" for the last motion that was made.

        Raises:
            ModelError: no such joint.
        """
        moving = [name for name in (self.speeds_of(joint) if joint else ()) if self._size(name) > APART]
        if not self.columns:
            return LedMotion(None, STILL_NONE)
        if self.lost:
            text = LOST.format(self.columns, self.freedoms, "" if self.freedoms == 1 else "s")
            return LedMotion(None, text) if self.last is None else self._scaled(self.last, text + GOES, moving)
        if self.columns == 1:
            return self._scaled(np.ones(1), "of one freedom", moving)
        if moving:
            row = self.rates[moving[0]]
            text = f"of {moving[0]}, all else as little as may be"
            return LedMotion(row / (row @ row), text, moving[0])
        if joint:
            return LedMotion(None, STUCK.format(joint))
        if self.last is not None:
            return self._scaled(self.last, self.last_text, ())
        return LedMotion(None, UNKNOWN.format(self.columns))

    def screw(self, body: str, motion: LedMotion, relative: str = FIXED) -> BodyScrew:
        """How a body moves in one of the motions, as another body sees it.

        Raises:
            ModelError: no such body; no motion that is known.
        """
        if motion.weights is None:
            todo = "Drag a body, or name a joint that leads, as led(joint)."
            raise ModelError("screw: motion", motion.text, "one motion", todo)
        every = self.twists @ motion.weights
        largest = float((np.linalg.norm(every[:, :3], axis=1) * self.length).max(initial=0.0))
        largest = max(largest, float(np.linalg.norm(every[:, 3:], axis=1).max(initial=0.0)))
        one, other = self._row(body, "screw: body"), self._row(relative, "screw: relative")
        twist, way = every[one] - every[other], self.origins[one] - self.origins[other]
        twist[3:] -= np.cross(every[other, :3], way)
        return screw_of(twist, self.origins[one], self.length, largest)

    def ellipsoid(self, body: str, point: np.ndarray, inputs: Sequence[str] = ()) -> VelocityEllipsoid | None:
        """How a point of a body (3,) [m, in the world] goes for inputs of unit size; None where nothing can move, or
        loops lose rank.

        Args:
            inputs: joints that are to be inputs, by their paths, before those of ground and others; what of them
                follows from those before it is none.

        Raises:
            ModelError: no such body or joint; no place.
        """
        row, place = self._row(body, "ellipsoid: body"), three_numbers("ellipsoid: point", point)
        chosen = () if self.lost else self.inputs(inputs)
        if not chosen:
            return None
        inverse = np.linalg.inv(np.stack([self.rates[name] for name in chosen]))
        J, by_inputs = self._here.velocities(row, place) @ inverse, self.twists @ inverse
        largest = BodyTwists(self._here.rotations, self.origins, by_inputs).largest(self.length)
        units = {name: self.units[name] for name in chosen}
        return ellipsoid_of(units, place, J, self._reach(row, place), largest)

    def inputs(self, first: Sequence[str] = ()) -> tuple[str, ...]:
        """As many speeds as there are motions, none of which follows from the others: those of some joints first."""
        every, wanted = [*self.units], [name for path in first for name in self.speeds_of(path)]
        chosen, rows = list[str](), np.zeros((0, self.columns))
        for name in dict.fromkeys([*wanted, *every]):
            if len(chosen) < self.columns:
                row = self.rates[name] / self._unit(name)
                rest = row - rows.T @ (rows @ row)
                if (size := float(np.linalg.norm(rest))) > APART:
                    rest = rest - rows.T @ (rows @ rest)
                    chosen.append(name)
                    rows = np.vstack([rows, rest / max(float(np.linalg.norm(rest)), 0.5 * size)])
        return tuple(chosen) if len(chosen) == self.columns else ()

    def speeds_of(self, joint: str) -> tuple[str, ...]:
        """Names of the speeds of a joint, or of a coordinate, by its path or the end of it.

        Raises:
            ModelError: no such joint, or several.
        """
        known = {**{name: (name,) for name in self.units}, **self.joints}
        paths = [joint] if joint in known else matching(known, joint)
        if len(paths) != 1:
            fault = f"{joint}, of which there are {len(paths)}" if paths else shown(joint)
            raise ModelError("free motions: joint", fault, listed(self.joints), "Name a joint that moves, in full.")
        return known[paths[0]]

    def _row(self, body: str, where: str) -> int:
        paths = [body] if body in self.bodies else matching(self.bodies, body)
        if len(paths) != 1:
            raise ModelError(where, shown(body), listed([*self.bodies]), "Name a body, in full.")
        return self.bodies[paths[0]]

    def _reach(self, row: int, point: np.ndarray) -> int:
        """In how many directions a point of a body moves at the pose beside this one."""
        if (there := self.aside) is None:
            return min(2 if self.normal is not None else 3, self.columns)
        arm = there.rotations[row] @ self._here.rotations[row].T @ (point - self.origins[row])
        sizes = np.linalg.svd(there.velocities(row, there.origins[row] + arm), compute_uv=False)
        return int((sizes > NEVER * there.largest(self.length)).sum())

    def _unit(self, name: str) -> float:
        return 1.0 if self.units[name] == "rad" else self.length

    def _size(self, name: str) -> float:
        """Of a rate, dimensionless."""
        return float(np.linalg.norm(self.rates[name])) / self._unit(name)

    def _scaled(self, weights: np.ndarray, text: str, first: Sequence[str]) -> LedMotion:
        """A motion by which the first speed of those that move at all goes by one unit."""
        sizes = {name: abs(float(self.rates[name] @ weights)) / self._unit(name) for name in self.rates}
        least = APART * float(np.linalg.norm(weights))
        lead = next((name for name in (*first, *self.units) if sizes[name] > least), "")
        rate = float(self.rates[lead] @ weights) if lead else float(np.linalg.norm(weights))
        return LedMotion(weights / rate, text, lead)
