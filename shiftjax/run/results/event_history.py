"""What happened of the events of a run, member by member, in the order of time. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.measures.accumulators import Accumulators
from shiftjax.measures.events import Event, ReadEvent
from shiftjax.record import record

SIGNS = {"up": 1, "down": -1}
WORDS = {1: "up", -1: "down"}
NAMED = 4  # members in a note


class Happening(NamedTuple):
    """One instant of an event: name, time [s], and the direction in which zero was passed, "up" or "down"."""

    name: str
    time: float
    direction: str


@record
class EventHistory:
    """The instants of all events of a run, of B members; without `vary` the member axis is absent.

    Attributes:
        definitions: name -> `Event`, in the order in which they were given.
        time: (B, n) [s], rising, NaN behind the last one of a member.
        event: (B, n) which event, counted in the order of `definitions`; -1 behind the last one.
        direction: (B, n) 1 where zero was passed upwards, -1 downwards, 0 behind the last one.
        count: (B, events) how often each happened, those beyond its capacity too, of which no time is known.
        stopped: (B,) which event has stopped a member, -1 where none has.
    """

    definitions: Mapping[str, Event]
    time: np.ndarray
    event: np.ndarray
    direction: np.ndarray
    count: np.ndarray
    stopped: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Of the events."""
        return tuple(self.definitions)

    def of(self, member: int = 0) -> tuple[Happening, ...]:
        """What happened to a member, in the order of time.

        Raises:
            ModelError: no such member.
        """
        members = len(np.atleast_1d(self.stopped))
        if not -members <= member < members:
            raise ModelError("events", f"member {member}", f"0 to {members - 1}", "Correct it.")
        time, event, direction = (np.atleast_2d(row)[member] for row in (self.time, self.event, self.direction))
        return tuple(
            Happening(self.names[k], float(t), WORDS[int(way)])
            for t, k, way in zip(time, event, direction, strict=True)
            if k >= 0
        )

    def lines(self) -> dict[str, np.ndarray]:
        """All instants as columns (lines,): time [s], member, event, direction; member by member."""
        time, event, direction = map(np.atleast_2d, (self.time, self.event, self.direction))
        member, place = np.nonzero(event >= 0)
        chosen = (member, place)
        return {"time": time[chosen], "member": member, "event": event[chosen], "direction": direction[chosen]}


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
    by_stop = np.array([names.index(one.name) for one in measured.stops] + [-1])
    parts: dict[str, Any] = {
        "time": time, "event": event.astype(int), "direction": direction.astype(int), "count": count,
        "stopped": by_stop[stopped],
    }  # fmt: skip
    return EventHistory(
        {name: one.event for name, one in events.items()},
        **{name: part if batched else part[0] for name, part in parts.items()},
    )


def overflow_notes(history: EventHistory | None) -> list[str]:
    """A sentence for every event that happened more often than its instants are noted."""
    out = list[str]()
    if history is None:
        return out
    for k, (name, event) in enumerate(history.definitions.items()):
        count = np.atleast_2d(history.count)[:, k]
        noted = (np.atleast_2d(history.event) == k).sum(1)
        more = np.flatnonzero(count > noted)
        if len(more):
            shown = ", ".join(map(str, more[:NAMED])) + (" ..." if len(more) > NAMED else "")
            out.append(
                f"event {name}: {len(more)} members ({shown}) had more than the {event.capacity} instants in a "
                f"direction that are noted, up to {int(count.max())}; those are the first ones: state a larger capacity"
            )
    return out
