"""How much memory a run takes, estimated before it begins, and how much there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.measures.channel import Channel
from shiftjax.record import record
from shiftjax.run.advance.schedule import ROOM
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.run.start.prepared import Prepared

NUMBER = 8  # bytes
POSE = 7  # numbers
# Copies that exist at once at the largest, measured with up to 300 000 members and 10^7 poses: the table and the parts
# of it that run; Jacobians while the starts are sought; what is recorded, by the kernel and in the result; poses as
# frames (12 numbers), as quaternions and stacked for the store.
TABLES, JACOBIANS, RECORDS, POSES = 2.0, 4.0, 2.0, 3.5
TIMES = 3.0  # arrays of instants
STEPS, GUESSED_AT = 250.0, 1e-8  # of these a second, at that tolerance; 160 were measured
ENDS, STATES = 6.0, 2.0  # copies of what is noted of a step, and of the states of the steps between two looks
MEMINFO = Path("/proc/meminfo")
GROUPS = (  # limit and use of a container, of both versions of Linux' control groups
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


@record
class Need:
    """Bytes that a run takes at its largest, and that a store of it takes on disk before compression.

    Of one that another backend does much faster, `faster` says so.
    """

    lanes: float  # all members' numbers
    recorded: float  # channels of all members
    poses: float  # of the members that are kept
    stored: float
    faster: str = ""

    @property
    def total(self) -> float:
        return self.lanes + self.recorded + self.poses


def need_of(prepared: Prepared, observed: Sequence[Channel], posed: int, ticks: int, noted: float = 0.0) -> Need:
    """The memory of a run.

    Args:
        posed: members whose poses are recorded. ticks: output instants. noted: bytes of a member, see `notes_of`.
    """
    plan, setup, members = prepared.plan, prepared.setup, prepared.members
    item = np.dtype(DTYPES[setup.precision]).itemsize
    jacobian = max((block.rows * len(block.columns) for block in plan.substructures), default=0)
    width, bodies = sum(channel.size for channel in observed), sum(not node.virtual for node in plan.nodes[1:])
    lane = TABLES * item * setup.layout().row_count + NUMBER * JACOBIANS * (jacobian + plan.nq + len(plan.numbers))
    return Need(
        lanes=members * (lane + noted),
        recorded=ticks * NUMBER * TIMES + members * ticks * width * (item + (RECORDS - 1.0) * NUMBER),
        poses=posed * ticks * NUMBER * (POSES * POSE * bodies + plan.nq),
        stored=NUMBER * (posed * ticks * (width + POSE * bodies) + members * (len(prepared.vary) + 10)),
    )


def notes_of(prepared: Prepared, seconds: float, tolerance: float, measured: int) -> float:
    """Bytes of a member that a run notes whose steps a tolerance chooses: the ends of all, and the states of the last.

    How many steps there will be is a guess, from four-bars and slider-cranks that turn once or twice a second.

    Args:
        measured: accumulators of metrics.
    """
    layout, method = prepared.setup.layout(), METHODS[prepared.setup.method]
    steps = STEPS * seconds * (GUESSED_AT / tolerance) ** (1.0 / order_of(method))
    return NUMBER * (ENDS * steps + STATES * ROOM * (2 + layout.nq + 2 * layout.nx + measured))


def refuse_too_much(need: Need) -> None:
    """Raises where a run takes more memory than is free; where that is unknown, nothing is refused."""
    free = free_memory()
    if need.total > free:
        members, recorded, poses = size(need.lanes), size(need.recorded), size(need.poses)
        parts = f"{members} for the members, {recorded} for instants and channels, {poses} for poses"
        todo = "Take a larger output step, keep fewer trajectories, record fewer channels, or run it in portions."
        raise ModelError("memory", f"a run that takes about {size(need.total)} ({parts})", f"{size(free)}, free", todo)


def free_memory() -> float:
    """Bytes that this process can have; infinite where the system does not tell."""
    limits = [math.inf]
    try:
        lines = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
        limits.append(1024.0 * float(lines["MemAvailable"].split()[0]))
    except (OSError, ValueError, KeyError):
        pass
    for limit, used in GROUPS:
        try:
            limits.append(float(Path(limit).read_text()) - float(Path(used).read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return min(limits)


def size(number: float) -> str:
    """Bytes as a person reads them."""
    return f"{number / 1e9:.1f} GB" if number >= 1e8 else f"{number / 1e6:.1f} MB"
