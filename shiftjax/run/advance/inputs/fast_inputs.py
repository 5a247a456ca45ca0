"""Inputs that change faster than the steps. Host code.

A step sees a load at its stages only. What happens between them is in no stage, and so neither in the motion nor in the
work that is balanced against it: the error cancels in the energy. It follows from the input alone:

* a sine of angular frequency w is integrated by Simpson's rule, which RK4 is for a function of time, with a relative
  error of (w h)^4 / 2880 a step (Hairer, Norsett, Wanner, Solving ODEs I, section II.1); above w h = 0.5 what resonates
  with it is wrong before that;
* drives by tables, and functions of the user's, are in `fast_drives`, forces of the user's kinds in `fast_forces`,
  springs that steps go past in `passed_springs`;
* straight lines are integrated exactly but where a knot of a table lies inside a step: there the impulse that the
  stages see is compared with the one that the table says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shiftjax.constraints import CONSTRAINTS
from shiftjax.constraints.pose_laws import HarmonicPoseLaw, TabulatedPoseLaw
from shiftjax.forces import FORCES
from shiftjax.forces.loads import JointLoad, TableWrench
from shiftjax.plan_elements import RowGroup
from shiftjax.run.advance.accuracy import moves_freely
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.advance.inputs import fast_drives
from shiftjax.run.advance.inputs.fast_forces import fast_forces
from shiftjax.run.advance.inputs.passed_springs import passed_springs
from shiftjax.run.start.prepared import Prepared
from shiftjax.time_laws import AccelerationTable, Harmonic, Table

FASTEST = 0.5  # angular frequency times step
MISSED = 0.1  # of the energy limit: part of an impulse; an energy goes with its square, and angles add up
INSIDE = 1e-9  # of a step: nearer to its ends a knot is at the end
REMEDY = "its times should be ends of steps; or take smaller steps, or a tolerance, whose steps end at its knots"
MOST_KNOTS = 100_000  # of a table that repeats


def fast_inputs(prepared: Prepared, lanes: Ensemble) -> dict[int, list[str]]:
    """Member -> what of its inputs the steps do not see, a sentence each."""
    out: dict[int, list[str]] = {}
    members = np.flatnonzero(lanes.status <= 0)
    if not len(members) or not moves_freely(lanes):
        return out
    if lanes.settings.tolerance is not None:  # steps end at knots, and sines are seen by their estimate
        for group in fast_drives.functions(prepared):
            for k, sentence in fast_drives.in_long_steps(prepared, lanes, group):
                out.setdefault(k, []).append(f"{group.name} {sentence}")
    else:
        lane = prepared.lane_of(members, 1.0)
        for path, sine, n in _inputs(prepared, lane):
            sentences = _of_sine(n, lanes, len(members)) if sine else _of_table(n, lanes, len(members))
            for k, sentence in sentences:
                out.setdefault(int(members[k]), []).append(f"{path} {sentence}")
        for path, k, sentence in _of_drives(prepared, lanes, lane, len(members)):
            out.setdefault(int(members[k]), []).append(f"{path} {sentence}")
        for path, k, sentence in passed_springs(prepared, lanes):
            out.setdefault(k, []).append(f"{path} {sentence}")
    for path, k, sentence in fast_forces(prepared, lanes):
        out.setdefault(k, []).append(f"{path} {sentence}")
    return out


def _of_drives(prepared: Prepared, lanes: Ensemble, lane: Any, members: int) -> Iterator[tuple[str, int, str]]:
    """Path, member and what is said of drives by tables, and by functions of the user's."""
    for group in fast_drives.functions(prepared):
        if sentence := fast_drives.of_function(prepared, lanes, group):
            yield from (
                (group.name, k, f"{sentence}: take smaller steps, or a smoother function") for k in range(members)
            )
    for group, times in _tables_of_drives(prepared, lanes, lane, Table | AccelerationTable):
        numbers = _rows([lane.params.numbers[place] for place in fast_drives.places_of(group)], members)
        varied = bool(np.ptp(numbers, axis=1).any())
        for k in range(members if varied else 1):
            drive = fast_drives.Drive(prepared, group, numbers[:, k].tolist())
            if sentence := fast_drives.of_table(drive, lanes, times[:, k], INSIDE):
                yield from ((group.name, j, f"{sentence}: {REMEDY}") for j in ([k] if varied else range(members)))


def _tables_of_drives(
    prepared: Prepared, lanes: Ensemble, lane: Any, laws: Any
) -> Iterator[tuple[RowGroup, np.ndarray]]:
    """The drives by tables, whose laws are these, with the times (n, B) of their knots."""
    for group in prepared.plan.constraints:
        if isinstance(getattr(CONSTRAINTS[group.kind], "law", None), laws):
            times = _rows(_at(lane, dict(group.numbers)["times"]), prepared.members)
            yield group, _all_times(times, dict(group.words)["outside"], lanes)


def _all_times(times: np.ndarray, outside: str, lanes: Ensemble) -> np.ndarray:
    """Times (n, B) of the knots of tables, of those that repeat as often as they do in a run."""
    settings = lanes.settings
    span = settings.t0 + settings.h * settings.before, settings.t0 + settings.h * settings.end
    return _repeated(times, *span) if outside == "repeat" else times


def knots_of_tables(prepared: Prepared, lanes: Ensemble) -> np.ndarray:
    """(n, B) clocks of the knots of all tables that lie within a run; not numbers where a member has less.

    An error estimate sees a step of the method, and no pulse between its stages: there steps must end.
    """
    settings, members = lanes.settings, np.arange(prepared.members)
    begin, end = settings.t0 + settings.h * settings.before, settings.t0 + settings.h * settings.end
    clocks: list[np.ndarray] = [np.zeros((0, prepared.members))]
    lane = prepared.lane_of(members, 1.0)
    loads = ((_rows(n["times"], prepared.members), n) for _, sine, n in _inputs(prepared, lane) if not sine)
    every = [_all_times(times, n["outside"], lanes) for times, n in loads]
    laws = Table | AccelerationTable | TabulatedPoseLaw
    every += [times for _, times in _tables_of_drives(prepared, lanes, lane, laws)]
    for times in every:
        clocks.append(np.where((times > begin) & (times < end), (times - settings.t0) / settings.h, np.nan))
    out = np.concatenate(clocks)
    return out[~np.isnan(out).all(1)]


def _repeated(times: np.ndarray, begin: float, end: float) -> np.ndarray:
    """(m, B) knots of tables that repeat, from (n, B) of one period, at most `MOST_KNOTS`."""
    period = times[-1] - times[0]
    first = np.floor((begin - times[0]) / period)
    turns = int(np.clip(np.max(np.ceil((end - times[0]) / period) - first), 1, MOST_KNOTS // len(times)))
    return np.concatenate([times[:-1] + (first + k) * period for k in range(turns)])


def _inputs(prepared: Prepared, lane: Any) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Path, whether it is a sine, and numbers and words of every input that is a sine or a table of a load."""
    groups = [(group.name, CONSTRAINTS[group.kind], group) for group in prepared.plan.constraints]
    for path, kind, element in (*groups, *((f.path, FORCES[f.kind], f) for f in prepared.plan.forces)):
        sine = isinstance(getattr(kind, "law", None), Harmonic | HarmonicPoseLaw)
        numbers = dict(element.numbers)
        if sine or (isinstance(kind, JointLoad | TableWrench) and "times" in numbers):
            yield path, sine, {name: _at(lane, places) for name, places in numbers.items()} | dict(element.words)


def _at(lane: Any, places: Any) -> Any:
    """The numbers at places, in their nesting: a number, or (B,) of them, each."""
    return [_at(lane, inner) for inner in places] if isinstance(places, tuple) else lane.params.at(places)


def _of_sine(n: dict[str, Any], lanes: Ensemble, members: int) -> Iterator[tuple[int, str]]:
    """Member and what is said of a sine that is too fast for the steps."""
    h = lanes.settings.h
    sizes = [_rows(value, members) for name, value in n.items() if name.endswith("amplitude")]
    acts = np.any([(size != 0.0).any(0) for size in sizes], axis=0)
    (frequency,) = np.abs(_rows(n["frequency"], members))
    for k in np.flatnonzero(acts & (frequency * h > FASTEST)):
        step = 0.5 * FASTEST / frequency[k]
        yield (
            int(k),
            (
                f"is a sine of {frequency[k]:.6g} rad/s, too fast for steps of {1e3 * h:g} ms (frequency times step "
                f"{frequency[k] * h:.3g}, limit {FASTEST:g}): take steps of about {1e3 * step:.2g} ms"
            ),
        )


def _of_table(n: dict[str, Any], lanes: Ensemble, members: int) -> Iterator[tuple[int, str]]:
    """Member and what is said of a table whose knots lie inside of steps."""
    settings = lanes.settings
    limit = MISSED * settings.energy_limit
    if "values" in n:
        columns = [n["values"]]
    else:  # a wrench: every component of its vectors
        columns = [list(column) for name in ("forces", "moments") for column in zip(*n[name], strict=True)]
    times = _rows(n["times"], members)
    end = settings.t0 + settings.h * settings.end
    worst = np.zeros(members)
    for values in (_rows(column, members) for column in columns):
        varied = (np.ptp(times, axis=1) > 0).any() or (np.ptp(values, axis=1) > 0).any()
        for k in range(members if varied else 1):
            missed = missed_impulse(times[:, k], values[:, k], settings.t0, end, settings.h, str(n["outside"]))
            alike = k if varied else slice(None)
            worst[alike] = np.maximum(worst[alike], missed)
    for k in np.flatnonzero(worst > limit):
        seen = f"the impulse that they see of it is off by {worst[k]:.2g} of the whole (limit {limit:g})"
        yield int(k), f"changes within steps: {seen}: {REMEDY}"


def missed_impulse(times: np.ndarray, values: np.ndarray, begin: float, end: float, h: float, outside: str) -> float:
    """By how much the integral of straight lines through knots is missed by Simpson's rule in steps.

    Args:
        times, values: (n,) the knots. begin, end: of the run, h: of a step [s]. outside: what holds before and after.

    Returns:
        the largest error of the integral from `begin` on, over that of the amount from `begin` to `end`.
    """
    if outside == "repeat":
        period, gain = times[-1] - times[0], values[-1] - values[0]
        first = np.floor((begin - times[0]) / period)
        last = min(np.ceil((end - times[0]) / period), first + MOST_KNOTS // len(times))
        turns = np.arange(first, last + 1)[:, None]
        times, values = (times[:-1] + turns * period).ravel(), (values[:-1] + turns * gain).ravel()
    place = (times - begin) / h
    inside = (np.abs(place - np.rint(place)) > INSIDE) & (times > begin) & (times < end)
    if not inside.any():
        return 0.0
    starts = begin + h * np.unique(np.floor(place[inside]))
    at_start, at_middle, at_end = (np.interp(starts + part * h, times, values) for part in (0.0, 0.5, 1.0))
    seen = h * (at_start + 4.0 * at_middle + at_end) / 6.0
    error = np.abs(np.cumsum(seen - (_integral(starts + h, times, values) - _integral(starts, times, values)))).max()
    instants = np.concatenate([[begin], times[(times > begin) & (times < end)], [end]])
    amounts = np.abs(np.interp(instants, times, values))
    whole = float((0.5 * (amounts[1:] + amounts[:-1]) * np.diff(instants)).sum())
    return float(error) / whole if whole > 0.0 else 0.0


def _integral(t: np.ndarray, times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Integral from the first knot to instants t, of lines between the knots and constants outside."""
    whole = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(times))])
    k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)
    return whole[k] + 0.5 * (values[k] + np.interp(t, times, values)) * (t - times[k])


def _rows(value: Any, members: int) -> np.ndarray:
    """(n, B) of a number, or a list of them."""
    columns = value if isinstance(value, list) else [value]
    return np.stack([np.broadcast_to(np.asarray(one, float), (members,)) for one in columns])
