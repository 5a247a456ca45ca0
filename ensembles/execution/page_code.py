"""The lane programs of a run for a page, which records the poses of bodies beside what the run records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shiftjax.kernels.lane_program import LaneProgram, on_slots
from shiftjax.kernels.wasm.lane_runs import Combination
from shiftjax.measures.channels import channels as channels_of
from shiftjax.run.beginning import Begun
from shiftjax.run.programs.lane_program import Programs
from shiftjax.topology.partition import Partition


class PageCode:
    """The lane programs of a run that record poses, too.

    These are a piece of their own: sums that they had in common with what else is recorded would round that otherwise.
    """

    def __init__(self, run: Begun, bodies: Sequence[str], points: Sequence[str]) -> None:
        setup, self.lanes, self.bodies = run.prepared.setup, run.lanes, len(bodies)
        poses = [f"{body}:origin.{quantity}" for body in bodies for quantity in ("position", "orientation")]
        poses += [f"{point}.position" for point in points]
        self.recorded = run.lanes.recordings[0].programs
        # one by one: a place that is asked for twice is recorded twice
        self.posed = Programs(setup, [channels_of(setup.plan, [p], run.prepared.model.resolve)[0] for p in poses])
        assert isinstance(self.recorded, Programs)
        self.places, at = dict[str, tuple[int, int]](), 0
        for channel in self.recorded.channels:
            self.places[channel.path] = (at, channel.size)
            at += channel.size

    def program(self, combination: Combination) -> LaneProgram:
        """That of a combination of partitions."""
        return self.of(self._partition(combination))

    def of(self, partition: Partition) -> LaneProgram:
        """That of a partition."""
        program, poses, shift = self.recorded.of(partition), self.posed.of(partition).observe, self.recorded.width
        layout = replace(program.layout, nc=shift + self.posed.width)
        places = {slot: slot for slot in range(self.posed.layout.slot_count)}
        places |= dict(zip(self.posed.layout.slots("chan"), layout.slots("chan")[shift:], strict=True))
        moved = tuple(on_slots(piece, places) for piece in poses)
        return replace(program, layout=layout, observe=(*program.observe, *moved))

    def poses_at(self, start: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """(K, bodies, 7) of lanes (rows, K) at their start, with their partitions (S, K)."""
        settings, out = self.lanes.settings, np.zeros((start.shape[1], self.posed.width))
        for combination in {tuple(one) for one in choice.T.tolist()} if self.posed.width else ():
            alike = np.flatnonzero((choice == np.array(combination)[:, None]).all(0))
            program, lanes = self.posed.of(self._partition(combination)), np.ascontiguousarray(start[:, alike])
            seen = self.lanes.kernel.evaluate(program, "observe", lanes, settings.t0, settings.h)
            out[alike] = np.asarray(seen).T
        return out[:, : 7 * self.bodies].reshape(len(out), -1, 7)

    def _partition(self, combination: Combination) -> Partition:
        return Partition(tuple(known[k] for known, k in zip(self.lanes.known, combination, strict=True)))
