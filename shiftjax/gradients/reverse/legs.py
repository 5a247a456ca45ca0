"""The lanes of a run on their way back, and what carries their cotangents over steps. Host code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.gradients.reverse.tape import Notes
from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.contract import Backward, Group, Leg
from shiftjax.kernels.guards import disarm
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.run.advance.ensemble import METRICS, Ensemble
from shiftjax.topology.partition import Partition


class Legs:
    """Lanes of which legs of steps are gone back over.

    Args:
        lanes: at the end of the run. back: what runs adjoint programs; program: that of a partition. layout: of them.

    Attributes:
        bars: cotangents of the lanes where they stand.
    """

    def __init__(
        self, lanes: Ensemble, back: Backward, program: Callable[[Partition], AdjointProgram], layout: AdjointLayout
    ) -> None:
        self.lanes, self.back, self.program, self.layout = lanes, back, program, layout
        self.settings = lanes.settings
        self.bars = LaneTable.zeros(self.layout, lanes.table.lanes, lanes.table.dtype)

    def partition(self, choice: np.ndarray) -> Partition:
        """That of choices (S,) of substructures."""
        return Partition(tuple(self.lanes.known[s][c] for s, c in enumerate(choice)))

    def table_of(self, notes: Notes) -> LaneTable:
        """The lanes of notes, with no limits."""
        lanes = self.lanes.table
        table, changing = LaneTable.zeros(lanes.layout, len(notes.members), lanes.dtype), self.lanes.set_rows
        state, numbers = lanes.states, len(notes.columns) - len(changing)
        table.set_state(notes.columns[:state])
        table.set("acc", notes.columns[state:numbers], within=METRICS)
        table.set("p", lanes.rows("p", notes.members))
        for row, values in zip(changing, notes.columns[numbers:], strict=True):
            table.set("p", values, within=row)
        table.set("clock", notes.clock)
        table.set("fraction", 1.0)
        return table

    def ahead(self, program: AdjointProgram, lanes: LaneTable, steps: np.ndarray | int) -> LaneTable:
        """Lanes some steps further on."""
        further, clock = lanes.copy(), lanes.row("clock")
        until = np.where(np.asarray(steps) > 0, clock + (steps - 0.5) * lanes.row("fraction"), clock)
        disarm(further)
        group = Group(program.program, further.array, until, None, np.full(lanes.lanes, -1))
        self.lanes.kernel.advance([group], h=self.settings.h, t0=self.settings.t0)
        return further

    def sweep(
        self,
        program: AdjointProgram,
        table: LaneTable,
        steps: np.ndarray,
        members: np.ndarray,
        seeds: np.ndarray | None,
    ) -> None:
        bars = self.bars.take(members)
        bars.set("steps", steps)
        leg = self._leg(program, table, bars, members, seeds)
        s = self.settings
        self.back.sweep([leg], h=s.h, t0=s.t0, every=s.every if seeds is not None else 0, origin=s.before)
        self.bars.put(members, bars)

    def touch(
        self,
        program: AdjointProgram,
        table: LaneTable,
        members: np.ndarray,
        phase: str,
        seeds: np.ndarray | None,
        ends: LaneTable | None = None,
    ) -> None:
        bars, s = self.bars.take(members), self.settings
        leg = self._leg(program, table, bars, members, seeds)
        array = None if ends is None else ends.array
        self.back.touch(leg, phase, array, h=s.h, t0=s.t0, every=s.every, origin=s.before)
        self.bars.put(members, bars)

    def _leg(
        self,
        program: AdjointProgram,
        table: LaneTable,
        bars: LaneTable,
        members: np.ndarray,
        seeds: np.ndarray | None,
    ) -> Leg:
        rows = np.full(len(members), -1) if seeds is None else members
        return Leg(program, table.array, bars.array, seeds, rows)
