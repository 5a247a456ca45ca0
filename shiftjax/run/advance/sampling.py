"""What a run adds up on its way for the estimate of its errors: at instants of samples, or step by step.

Host code above the kernels; `accuracy` makes the estimate of it. At samples, one step is compared with two of half its
size: of order p the difference is (1 - 2^-p) of the error of the step (Hairer, Norsett, Wanner, Solving ODEs I, section
II.4). That counts every coordinate by itself: neither a heavy neighbour nor the speed of a carrier hides a small part,
and a rotation that is off counts though its energy is not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftjax.kernels.contract import callers
from shiftjax.kernels.lane_table import Members
from shiftjax.kernels.workers import host_threads, in_portions
from shiftjax.rotations import quaternion_of_vector
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.samples import Samples, next_samples
from shiftjax.run.programs.integrators import METHODS, order_of
from shiftjax.run.programs.setup import ACCUMULATORS, REPORTS, Setup

SLOWEST = 1e-3  # of the largest kinetic energy: at turning points the speed vanishes, not the error of its square
LEAST = 128  # members of a portion, where copies have room for as many: it costs 0.4 ms beside its steps
ROUNDED = 8.0  # units in the last place of a coordinate, by which the two may differ without an error


def begin_samples(lanes: Ensemble, members: np.ndarray) -> None:
    """What the first step does wrong, of those members of which no step has been looked at."""
    if not lanes.settings.estimates:
        return
    fresh = members[np.isnan(lanes.samples.rate[members])]

    def begin(some: np.ndarray) -> None:
        lanes.samples.rate[some] = _local_errors(lanes, some)

    _in_portions(lanes, fresh, begin)


def sample(lanes: Ensemble, members: np.ndarray) -> None:
    """Adds a sample of those members that have come to the next instant of samples."""
    if not lanes.settings.estimates:
        return
    s = lanes.samples
    here = members[lanes.clock_of(members).astype(float) >= next_samples(s.at[members])]

    def add(some: np.ndarray) -> None:
        clock = lanes.clock_of(some).astype(float)
        steps, rate = clock - s.at[some], _local_errors(lanes, some)

        def share(places: slice) -> None:
            part = some[places]
            _add(s, part, shares_until_now(lanes, part, steps[places]))
            s.drift[part] += steps[places] * (s.rate[part] + rate[places]) / 2
            s.rate[part], s.at[part] = rate[places], clock[places]

        lanes.in_portions(share, some)

    _in_portions(lanes, here, add)


def _in_portions(lanes: Ensemble, members: np.ndarray, call: Callable[[np.ndarray], None]) -> None:
    """Calls something with so many members at once that copies of theirs need little memory, in several threads."""
    threads = min(callers(lanes.kernel), host_threads())
    shared = -(-len(members) // threads)  # of few members each thread has a portion
    size = max(1, min(lanes.table.copied_at_once // lanes.layout.row_count, max(shared, LEAST)))
    in_portions(lambda portion: call(members[portion]), len(members), size, threads)


def sample_step(
    lanes: Ensemble, members: np.ndarray, clock: np.ndarray, speeds: np.ndarray, kinetic: np.ndarray, most: np.ndarray
) -> None:
    """Adds a step whose size was chosen, from what is known at its end.

    Args:
        clock: (n,) at its end. speeds: (nv, n). kinetic: (n,) energy, and the largest of the run so far [J].
    """
    s = lanes.samples
    _add(s, members, _shares(lanes, members, clock - s.at[members], speeds, np.zeros_like(speeds), kinetic, most))
    s.at[members] = clock


def shares_until_now(lanes: Ensemble, members: Members, steps: np.ndarray) -> dict[str, np.ndarray]:
    """What an interval of some steps that ends now adds to sums of `Samples`, by their names."""
    within = slice(lanes.setup.plan.nv)
    speeds, accelerations = (lanes.table.rows(name, members, within).astype(float) for name in ("x", "dx"))
    kinetic = lanes.table.rows("rep", members, REPORTS.index("kinetic")).astype(float)
    largest = lanes.table.rows("acc", members, ACCUMULATORS.index("kinetic")).astype(float)
    return _shares(lanes, members, steps, speeds, accelerations, kinetic, largest)


def _shares(
    lanes: Ensemble,
    members: Members,
    steps: np.ndarray,
    speeds: np.ndarray,
    accelerations: np.ndarray,
    kinetic: np.ndarray,
    largest: np.ndarray,
) -> dict[str, np.ndarray]:
    """As `shares_until_now`.

    Where a motion turns, T vanishes, but an error of the energy moves the place of turning only, by dE over the force,
    and hardly its instant; on the top of a barrier it costs the time of slow passing. The acceleration tells them
    apart: by as much as it exceeds its mean so far, a kinetic energy of the size of the mean takes the place of T.
    """
    s, time = lanes.samples, steps * lanes.settings.h
    unit = np.asarray(lanes.setup.units)[:, None]
    fastest, strongest = (np.abs(rows / unit).max(0, initial=0.0) for rows in (speeds, accelerations))
    duration = s.at[members] * lanes.settings.h + time
    with np.errstate(all="ignore"):  # members that failed may hold what is no number
        action, variation = time * kinetic, time * strongest
        ratio = np.nan_to_num(strongest * duration / (s.variation[members] + variation))
        turning = np.nan_to_num((s.action[members] + action) / duration) * ratio**2
        slow = np.clip(kinetic + turning, SLOWEST * largest, np.maximum(largest, kinetic))
        path, slowness = time * fastest, time / np.where(slow > 0, slow, np.inf)
        lag = path * (s.slowness[members] + slowness / 2)
    return {"path": path, "slowness": slowness, "lag": lag, "action": action, "variation": variation}


def _add(samples: Samples, members: np.ndarray, shares: dict[str, np.ndarray]) -> None:
    for name, share in shares.items():
        getattr(samples, name)[members] += share


def _local_errors(lanes: Ensemble, members: np.ndarray) -> np.ndarray:
    """(n,) largest error of a coordinate that the next step of some members makes; 0 where it comes to no end.

    In rad, or parts of the model's length.
    """
    before = lanes.table.take(members)
    whole, reached = lanes.try_steps(members, before, (1.0,), 1.0)
    halves, reached_by_halves = lanes.try_steps(members, before, (0.5, 0.5), 1.0)
    ends, out = (whole.rows("q"), halves.rows("q")), np.empty(len(members))
    share_of_step = 1.0 - 2.0 ** -order_of(METHODS[lanes.setup.method])

    def compare(some: slice) -> None:
        q, other = (end[:, some] for end in ends)
        rounding = ROUNDED * np.finfo(q.dtype).eps * np.maximum(np.abs(q).max(0, initial=0.0), 1.0)
        with np.errstate(all="ignore"):
            apart = differences(lanes.setup, q, other) - rounding
        ended = np.isfinite(reached[some]) & np.isfinite(reached_by_halves[some]) & np.isfinite(apart)
        out[some] = np.where(ended, np.maximum(apart, 0.0), 0.0) / share_of_step

    in_portions(compare, len(members))
    return out


def differences(setup: Setup, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n,) largest difference of coordinates (nq, n) [rad, or parts of the model's length]; of rotations the angle."""
    units = setup.units
    a, b, out = a.astype(float), b.astype(float), np.zeros(a.shape[1])
    for coordinate in setup.plan.coordinates:
        first, second = a[coordinate.places], b[coordinate.places]
        if coordinate.plain:
            apart = np.abs(first - second)[0] / units[coordinate.v]
        else:  # a quaternion and its negative are one rotation
            if coordinate.vector:
                first, second = (np.array(quaternion_of_vector([*part])) for part in (first, second))
            nearer = np.minimum(*(np.linalg.norm(first - sign * second, axis=0) for sign in (1.0, -1.0)))
            apart = 4.0 * np.arcsin(np.minimum(nearer / 2.0, 1.0))
        out = np.maximum(out, apart)
    return out
