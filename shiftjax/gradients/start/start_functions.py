"""What an assembled start follows from, linearised: stated values, closures and their Jacobians. Host code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

from shiftjax.algebra import Scalar, Vec
from shiftjax.constraints import scales
from shiftjax.gradients.start.linearised import Linearised
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.run.programs.setup import Setup, with_values
from shiftjax.run.start.prepared import Prepared, start_lane

KEPT = 64  # models whose code stays loaded
_made: dict[str, StartFunctions] = {}


class StartFunctions:
    """The functions of one setup, with P of its numbers as lane values.

    Attributes:
        stated: of (P,) numbers: coordinates (nq,), speeds (nv,) and states (ns,) as numbers and drivers say.
        phi: of every substructure: of coordinates (nq,) and numbers (P,), by which it is differentiated: Phi (m,).
        rows: of every substructure: of coordinates and numbers, differentiated by both: J (m, n) by rows, nu (m,).
            Phi, J and nu are dimensionless, as in assembly.
    """

    def __init__(self, setup: Setup, numbers: Sequence[float], places: Sequence[int], text: str) -> None:
        self._setup, self._numbers, self._places = setup, tuple(numbers), tuple(places)
        nq, count, parts = setup.plan.nq, len(places), range(len(setup.plan.substructures))
        self._text, self._count = text, count
        self.phi = [Linearised(f"closure of start {s}", text, partial(self._phi, s), nq + count, count) for s in parts]
        self.rows = [
            Linearised(f"rows of start {s}", text, partial(self._rows, s), nq + count, nq + count) for s in parts
        ]

    @cached_property
    def stated(self) -> Linearised:
        """Of numbers."""
        return Linearised("stated start", self._text, self._stated, self._count, self._count)

    def _lane(self, values: Sequence[Scalar]) -> StartLane:
        return start_lane(self._setup, with_values(self._numbers, self._places, values))

    def _stated(self, values: list[Scalar]) -> Vec:
        lane = self._lane(values)
        return [*lane.coordinates(), *lane.speeds(), *lane.states()]

    def _phi(self, index: int, values: list[Scalar]) -> Vec:
        nq = self._setup.plan.nq
        lane = self._lane(values[nq:])
        rows = lane.rows(lane.motion(values[:nq], None), index)
        return [value / unit for value, unit in zip(rows.phi, scales(rows.unit, lane.length), strict=True)]

    def _rows(self, index: int, values: list[Scalar]) -> Vec:
        nq, columns = self._setup.plan.nq, self._setup.plan.substructures[index].columns
        lane = self._lane(values[nq:])
        rows, units = lane.rows(lane.motion(values[:nq], None), index), lane.units
        row_units = scales(rows.unit, lane.length)
        entries = [
            units[speed] / unit * line.get(speed, 0.0)
            for line, unit in zip(rows.J, row_units, strict=True)
            for speed in columns
        ]
        return [*entries, *(value / unit for value, unit in zip(rows.nu, row_units, strict=True))]


def start_functions_of(prepared: Prepared) -> StartFunctions:
    """Those of a prepared model, made once in a process."""
    setup = replace(prepared.setup, precision="f64")
    constants = [float(number).hex() for number in prepared.own_numbers]
    identity = repr((setup.identity(), constants, prepared.places))
    if identity not in _made:
        if len(_made) >= KEPT:
            del _made[next(iter(_made))]
        _made[identity] = StartFunctions(
            setup, prepared.own_numbers, prepared.places, "" if setup.foreign else identity
        )
    return _made[identity]
