"""From the accumulators of a finished run to the history of its events. Host code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.measures.accumulators import Accumulators
from shiftjax.measures.events import ReadEvent
from shiftjax.run.advance.numbers_set import NumbersSet
from shiftjax.run.results.event_history import SIGNS, EventHistory

NOBODY: Mapping[str, Collection[int]] = {}
CLOSED = 1e-9  # m or rad: loops that numbers leave closed
NAMED = 4  # members in a note


def history_of(
    events: Mapping[str, ReadEvent], measured: Accumulators, rows: np.ndarray, stopped: np.ndarray, *, batched: bool
) -> EventHistory | None:
    """The history of a run; None where it has no events.

    Args:
        rows: (k, B) accumulators of `measured`. stopped: (B,) which of the events that stop has; -1 for none.
    """
    if not events:
        return None
    members, names = rows.shape[1], list(events)
    count = np.zeros((members, len(events)), int)
    times, which, ways = ([np.zeros((0, members))] for _ in range(3))
    for k, one in enumerate(events.values()):
        for term in one.terms:
            *latest, number = measured.of_term(term, rows.astype(float))
            known = np.arange(len(latest))[:, None] < number
            times.append(np.where(known, latest[::-1], np.nan))
            which.append(np.where(known, k, -1))
            ways.append(np.where(known, SIGNS[str(term.stated["direction"])], 0))
            count[:, k] += number.astype(int)
    time, event, direction = (np.concatenate(parts).T for parts in (times, which, ways))
    order = np.argsort(time, axis=1, kind="stable")  # those that are no number come last
    n = int((event >= 0).sum(1).max(initial=0))
    time, event, direction = (np.take_along_axis(part, order, axis=1)[:, :n] for part in (time, event, direction))
    by_stop = np.array([names.index(one.name) for one in measured.guarded] + [-1])
    parts: dict[str, Any] = {
        "time": time, "event": event.astype(int), "direction": direction.astype(int), "count": count,
        "stopped": by_stop[stopped],
    }  # fmt: skip
    return EventHistory(
        {name: one.event for name, one in events.items()},
        **{name: part if batched else part[0] for name, part in parts.items()},
    )


def notes_of_events(
    history: EventHistory | None,
    skipped: Mapping[str, Collection[int]] = NOBODY,
    late: Mapping[str, Collection[int]] = NOBODY,
    sets: Sequence[NumbersSet] = (),
) -> list[str]:
    """What a user would miss: instants beyond a capacity, and members that passed an event at which nothing was done,
    or not at once.

    Args:
        skipped: event -> members that passed it in steps off a pose; late: in a step across one, behind which it acted.
        sets: what events have set.
    """
    out = list[str]()
    for k, (name, event) in enumerate(history.definitions.items() if history is not None else ()):
        assert history is not None
        count, stopped = np.atleast_2d(history.count)[:, k], np.atleast_1d(history.stopped)
        if len(more := np.flatnonzero(count > (np.atleast_2d(history.event) == k).sum(1))):
            out.append(
                f"event {name}: {_named(more)} had more than the {event.capacity} instants in a direction that are "
                f"noted, up to {int(count.max())}; those are the first ones: state a larger capacity"
            )
        passed = np.flatnonzero((count > 0) & (stopped < 0)) if event.action == "stop" else np.zeros(0, int)
        if len(passed):
            out.append(
                f"event {name}: {_named(passed)} passed it in steps that were moved off a singular pose, and did "
                "not stop: take another step"
            )
        if event.action == "set" and name in skipped:
            out.append(
                f"event {name}: {_named(np.sort([*skipped[name]]))} passed it in steps that were moved off a singular "
                "pose, and its numbers were not set there: take another step"
            )
        if name in late:
            out.append(
                f"event {name}: {_named(np.sort([*late[name]]))} passed it in a step across a singular pose, and it "
                "acted where that step ended: take another tolerance"
            )
        if jumps := [one for one in sets if one.name == name and one.mechanism and len(one.members)]:
            out.append(f"event {name}: {_jumped(jumps)}")
    return out


def _jumped(jumps: Sequence[NumbersSet]) -> str:
    """By what the mechanisms of members have jumped where an event set their numbers."""
    members = np.unique(np.concatenate([one.members for one in jumps]))
    gap = max(float(one.gap.max()) for one in jumps)
    least, most = min(float(one.energy.min()) for one in jumps), max(float(one.energy.max()) for one in jumps)
    loops = f"loops that were open by up to {gap:.3g} (m or rad) were closed again, " if gap > CLOSED else ""
    gains = f"{least:+.3g}" if least == most else f"{least:+.3g} to {most:+.3g}"
    return f"its numbers make {_named(members)} jump: {loops}energies changed by {gains} J"


def _named(members: np.ndarray) -> str:
    shown = ", ".join(map(str, members[:NAMED])) + (" ..." if len(members) > NAMED else "")
    return f"{len(members)} members ({shown})"
