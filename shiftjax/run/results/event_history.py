"""What happened of the events of a run, member by member, in the order of time. Host only, no jax."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.mechanism.events import Event, events_of
from shiftjax.record import record
from shiftjax.run.results.plain_values import MISSING_TEXT

SIGNS = {"up": 1, "down": -1}
WORDS = {1: "up", -1: "down"}


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

    def without_members(self) -> EventHistory:
        """That of the only member, without the member axis.

        Raises:
            ModelError: several members.
        """
        if np.size(self.stopped) != 1:
            raise ModelError("events", f"{np.size(self.stopped)} members", "one", "Take `of(member)`.")
        if np.ndim(self.stopped) == 0:
            return self
        parts = (self.time, self.event, self.direction, self.count, self.stopped)
        return EventHistory(self.definitions, *(part[0] for part in parts))


# -- as texts, one a member: `high down 0.3193; ground down 0.6386 stop; beat counted 31` ------------------------------


def texts_of(history: EventHistory) -> list[str]:
    """The history of every member as a text from which `history_of_texts` makes it again, to the last bit."""
    members, counts, stopped = len(np.atleast_1d(history.stopped)), np.atleast_2d(history.count), history.stopped
    out = list[str]()
    for k in range(members):
        parts = [f"{one.name} {one.direction} {one.time!r}" for one in history.of(k)]
        noted = Counter(one.name for one in history.of(k))
        more = zip(history.names, counts[k].tolist(), strict=True)
        parts += [f"{name} counted {count}" for name, count in more if count > noted[name]]
        if (which := int(np.atleast_1d(stopped)[k])) >= 0:
            parts.append(f"{history.names[which]} stopped")
        out.append("; ".join(parts))
    return out


def history_of_texts(texts: Sequence[str], definitions: Mapping[str, Event]) -> EventHistory:
    """The history of members from their texts.

    Raises:
        ModelError: a text that is none.
    """
    names = list(definitions)
    instants, count = list[list[tuple[float, int, int]]](), np.zeros((len(texts), len(names)), int)
    stopped = np.full(len(texts), -1)
    for k, text in enumerate(texts):
        instants.append([])
        for part in filter(None, text.split("; ")):
            try:
                name, word, *number = part.split()
                if word in SIGNS:
                    instants[k].append((float(number[0]), names.index(name), SIGNS[word]))
                    count[k, names.index(name)] += 1
                elif word == "counted":
                    count[k, names.index(name)] = int(number[0])
                elif word == "stopped":
                    stopped[k] = names.index(name)
                else:
                    raise ValueError(word)
            except (ValueError, IndexError):
                raise ModelError("events", repr(part)[:80], "what a run has written", "Run it again.") from None
    n = max(map(len, instants), default=0)
    rows = np.array([[*row, *[(np.nan, -1, 0)] * (n - len(row))] for row in instants]).reshape(len(texts), n, 3)
    time, event, direction = np.moveaxis(rows, 2, 0)
    return EventHistory(dict(definitions), time, event.astype(int), direction.astype(int), count, stopped)


def history_in(tree: Any) -> EventHistory | None:
    """The instants of events of all members of a stored result, a tree of `store.read`; None where none were asked for.

    Of members of a study that are not done it has nothing.
    """
    members = tree["members"].to_dataset()
    if "events" not in members:
        return None
    asked = json.loads(tree.attrs["settings"])["events"]
    texts = ["" if text == MISSING_TEXT else str(text) for text in members["events"].values]
    return history_of_texts(texts, events_of(asked))
