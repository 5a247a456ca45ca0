"""The adjoint programs of one setup, one a partition, each built when it is first needed."""

from __future__ import annotations

from dataclasses import replace

from shiftjax.gradients.kkt import projection_piece, stage_piece
from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram, adjoint_of
from shiftjax.run.lane_program import Programs
from shiftjax.run.setup import ACCUMULATORS
from shiftjax.topology.islands import islands
from shiftjax.topology.partition import Partition


class AdjointPrograms:
    """Adjoints of the lane programs of a run."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self._built: dict[Partition, AdjointProgram] = {}

    @property
    def layout(self) -> AdjointLayout:
        """Of the mirrored workspace; that of a program may have more slots for copies."""
        return AdjointLayout(self.programs.layout, len(ACCUMULATORS))

    def of(self, partition: Partition) -> AdjointProgram:
        """The adjoint of the lane program of one partition."""
        if partition not in self._built:
            setup = self.programs.setup
            program = self.programs.of(partition)
            found = adjoint_of(program, setup.precision, len(ACCUMULATORS), still=len(setup.quadratures))
            if len(islands(setup.plan)) == 1:  # else equal parts share the code of their pieces, reversed one by one
                stage, end = (make(self.programs, partition) for make in (stage_piece, projection_piece))
                found = replace(found, accelerate=(stage,), project=(end,))
            self._built[partition] = found
        return self._built[partition]
