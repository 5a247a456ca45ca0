"""The programs of derivatives of many runs of one model: built and loaded once for all runs of the same code.

Host code. Built anew for every derivative, the graphs of a delta robot took 2 s of processor time a call.
"""

from __future__ import annotations

from shiftjax.gradients.forward.tangent_programs import TangentFamily
from shiftjax.gradients.reverse.adjoint_programs import AdjointPrograms
from shiftjax.kernels.contract import Backward, Kernel
from shiftjax.run.programs.lane_program import Programs


class DerivativePrograms:
    """Tangents and adjoints of the programs of a run, and what has loaded them.

    Args:
        programs, kernel: of the run. backward: of the kernel.
    """

    def __init__(self, programs: Programs, kernel: Kernel, backward: Backward) -> None:
        self.plain, self.kernel, self.backward = programs, kernel, backward
        self.tangents, self.adjoints = TangentFamily(programs), AdjointPrograms(programs)
        self._decided = _decided_by(programs)

    def serve(self, programs: Programs) -> bool:
        """Whether another run, whose programs are these, is certain to have the same code."""
        return programs is self.plain or (self._decided is not None and self._decided == _decided_by(programs))


def _decided_by(programs: Programs) -> tuple[object, ...] | None:
    """What decides the code of programs beside the partition; None where nothing is certain.

    Forces and functions from outside are told by the digest of their physics, which is in the identity; channels and
    metrics from outside have none.
    """
    metrics, paths = programs.metrics, tuple(channel.path for channel in programs.channels)
    if any(channel.foreign for channel in programs.channels) or not (metrics is None or metrics.of_the_package):
        return None
    accumulated = () if metrics is None else metrics.decides_code
    return programs.identity, programs.setup.method, paths, accumulated
