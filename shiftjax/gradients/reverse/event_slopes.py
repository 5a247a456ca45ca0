"""What the instant of an event that stops a lane, or sets its numbers, adds to cotangents. Host code.

Problem: the step to such an event ends where its expression g is zero, an instant that moves with the numbers of the
run: dt = -(g_z dz + g_p dp) / g', with dz at an end that does not move (the saltation of `jumps.passages`, here of the
run itself). What the end, and the beginning of the next step, do by moving is what steps of other sizes do.
The result must: be the derivative of the run as it is taken, step by step.
Used: where a step ends and begins is a variable; the slopes of the step by both are differences of steps a little
longer, of order four and to one side, since a step that ended short of its zero would have passed none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.kernels.lane_table import LaneTable
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.lanes.reverse import reverse
from shiftjax.run.advance.ensemble import METRICS
from shiftjax.run.advance.ensemble import Programs as Observing
from shiftjax.run.programs.lane_program import Programs
from shiftjax.topology.partition import Partition

# Slopes at the first of five points: Fornberg, Mathematics of Computation 51 (1988), table 3.
ONE_SIDED = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)
# Of a step, and at least of a unit of the clock: (100 h w)^4 / 5 of a motion of w is left out of a slope, and rounding
# of 1e-16 is multiplied by 1e3.
APART, LEAST = 0.02, 1e-3
CARRIED = {"q": slice(None), "x": slice(None), "dx": slice(None), "acc": METRICS}

Ahead = Callable[[LaneTable], LaneTable]  # lanes one step further on


class ClockSlopes:
    """Slopes of steps of lanes by the clock at which they end, or begin.

    Attributes:
        of: name of rows -> (rows, K) slopes of what is carried on, a unit of the clock. event: (events, K) of events.
    """

    def __init__(self, table: LaneTable, ahead: Ahead, h: float, *, end: bool) -> None:
        """
        Args:
            table: where the steps begin, with their sizes. h: a unit of the clock [s].
            end: whether their end moves, and not their beginning, with which the time goes that metrics hold of it.
        """
        size, clock = table.row("fraction").astype(float), table.row("clock").astype(float)
        apart = np.maximum(APART * size, LEAST)
        parts: dict[str, np.ndarray | float] = {}
        for k, weight in enumerate(ONE_SIDED):
            longer = table.copy()
            if not end:
                longer.set("clock", clock - k * apart)
                longer.add("acc", -k * apart * h, within=METRICS.start)
            longer.set("fraction", size + k * apart)
            there = ahead(longer)
            for name, within in {**CARRIED, "event": slice(None)}.items():
                parts[name] = parts.get(name, 0.0) + weight * there.rows(name, within=within).astype(float)
        sign = 1.0 if end else -1.0
        slopes = {name: np.asarray(sign * part / apart) for name, part in parts.items()}
        self.event = slopes.pop("event")
        self.of = slopes

    def pulled(self, bars: LaneTable) -> np.ndarray:
        """(K,) cotangent of the clock from those of lanes at the end."""
        out = np.zeros(bars.lanes)
        for name, slopes in self.of.items():
            of = bars.rows(name)
            with np.errstate(all="ignore"):  # of what is not there yet, as an instant
                out += np.where((of != 0.0) & np.isfinite(slopes), of * slopes, 0.0).sum(0)
        return out


class EventSlopes:
    """Slopes of the expressions of guarded events by the state of a lane and its numbers."""

    def __init__(self, programs: Observing) -> None:
        assert isinstance(programs, Programs)
        self._programs = programs
        self._built: dict[tuple[Partition, int], InNumpy] = {}

    def of(self, partition: Partition, k: int, table: LaneTable, t: np.ndarray) -> dict[str, np.ndarray]:
        """Name of rows -> (rows, K) slopes of the expression of event k by q, x, p and dx.

        Args:
            t: (K,) times of the lanes [s].
        """
        builder = self._programs.builder(partition)
        counts = {"q": builder.plan.nq, "x": builder.nx, "p": builder.layout.np, "dx": builder.nv}
        if (partition, k) not in self._built:
            reads = sum(counts.values()) + 1
            graph = graph_of(lambda s: [builder.guarded(s)[k]], reads, builder.setup.precision)
            clock = reads - 1 - builder.nv
            wrt = [place for place in range(reads) if place != clock]
            self._built[partition, k] = InNumpy(reverse(graph, reads, wrt))
        rows = {name: table.rows(name, within=slice(count)).astype(float) for name, count in counts.items()}
        values = [*rows["q"], *rows["x"], *rows["p"], t, *rows["dx"], np.ones(table.lanes)]
        slopes = np.stack([np.broadcast_to(one, (table.lanes,)) for one in self._built[partition, k](values)])
        parts = np.split(slopes, np.cumsum([*counts.values()])[:-1])
        return dict(zip(counts, parts, strict=True))
