"""The adjoint programs of one setup, one a partition, each built when it is first needed."""

from __future__ import annotations

from shiftjax.gradients.reverse.kkt_adjoints import projection_piece, stage_piece
from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram, adjoint_of
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.topology.islands import islands
from shiftjax.topology.partition import Partition


class AdjointPrograms:
    """Adjoints of the lane programs of a run."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self._built: dict[Partition, AdjointProgram] = {}

    @property
    def layout(self) -> AdjointLayout:
        """Of the mirrored workspace; that of a program reversed piece by piece may have more slots for copies."""
        return AdjointLayout(self.programs.layout, len(ACCUMULATORS))

    def of(self, partition: Partition) -> AdjointProgram:
        """The adjoint of the lane program of one partition."""
        if partition not in self._built:
            setup = self.programs.setup
            program = self.programs.of(partition)
            given = {}
            # equal parts share the code of their pieces, reversed one by one; loads that follow from accelerations
            # are no KKT system
            if len(islands(setup.plan)) == 1 and not setup.plan.bears:
                pieces = {"accelerate": stage_piece, "project": projection_piece}
                given = {phase: (make(self.programs, partition),) for phase, make in pieces.items()}
            self._built[partition] = adjoint_of(
                program, setup.precision, len(ACCUMULATORS), still=len(setup.quadratures), given=given
            )
        return self._built[partition]
