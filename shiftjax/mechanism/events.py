"""Events: expressions of channels and time, and what is done where they come to zero. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.errors import ModelError, nearest, shown
from shiftjax.mechanism.frozen_json import FrozenJson, freeze, thaw
from shiftjax.record import record

DIRECTIONS = ("any", "up", "down")
ACTIONS = ("mark", "stop", "set")
CAPACITY = 16  # instants of an event that a member notes, in either direction, where nothing is said
MOST = 64  # the largest capacity: each is a number that every step carries
ALLOWED = (
    "an expression of channels such as 'crank.q - pi', a mapping of `of`, `direction`, `action`, `capacity` and "
    "`values`, or an Event"
)


@record
class Event:
    """An instant at which an expression of channels comes to zero: noted, the end of a member, or of a law.

    An expression that touches zero and goes back is seen where it is zero or beyond at one of the instants that a step
    is looked at; one that begins at zero has not come to it.

    Args:
        of: in the language of metrics, `tip.position[2] - 20 mm`; `a == b` stands for `a - b`.
        direction: in which it comes to zero: "up" from below, "down" from above, "any".
        action: "mark" notes the instant; "stop" ends the member there, too, with the status `event`; "set" gives
            numbers of forces, bodies, joints and frames, or gravity, other values from there on.
        capacity: how many instants a member notes in either direction, 1 to 64; more are counted, and a note says so.
        values: number path -> what it becomes, in SI or as "200 N"; of those that are set.
    """

    of: str
    direction: str = "any"
    action: str = "mark"
    capacity: int = CAPACITY
    values: Mapping[str, float | str] = FrozenJson()

    def __post_init__(self) -> None:
        if isinstance(self.values, Mapping):
            object.__setattr__(self, "values", freeze(self.values))


def event_of(name: str, definition: Any, where: str = "") -> Event:
    """The event of a text, a mapping or an `Event`.

    Args:
        where: it stands, for errors.

    Raises:
        ModelError: what is none, or a name that no metric could name.
    """
    where = where or f"event {name}"
    if not name.isidentifier():
        raise ModelError(where, f"the name {name!r}", "letters, digits and _", "Choose another one.")
    if isinstance(definition, str):
        definition = Event(definition)
    elif isinstance(definition, Mapping):
        known = tuple(Event.__dataclass_fields__)
        if unknown := [key for key in definition if key not in known]:
            hint = nearest(str(unknown[0]), known) or "Leave it out."
            raise ModelError(f"{where}: {unknown[0]}", "an unknown option", ", ".join(known), hint)
        if "of" not in definition:
            raise ModelError(where, "no `of`", ALLOWED, "Write of = 'crank.q - pi'.")
        definition = Event(**definition)
    elif not isinstance(definition, Event):
        raise ModelError(where, shown(definition), ALLOWED, "Write it as a text.")
    for key, words in (("direction", DIRECTIONS), ("action", ACTIONS)):
        if (word := getattr(definition, key)) not in words:
            hint = nearest(str(word), words) or "Choose one of them."
            raise ModelError(f"{where}: {key}", shown(word), ", ".join(words), hint)
    most = definition.capacity
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST:
        raise ModelError(f"{where}: capacity", shown(most), f"a whole number from 1 to {MOST}", "Correct it.")
    values = definition.values
    if not isinstance(values, Mapping) or any(
        isinstance(v, bool) or not isinstance(v, float | int | str) for v in values.values()
    ):
        raise ModelError(
            f"{where}: values", shown(values), "number path -> a number, or a text with a unit", "Correct it."
        )
    if bool(values) != (definition.action == "set"):
        fault = "values" if values else "no values"
        todo = 'Give both, action = "set" and values, or none.'
        raise ModelError(
            where, f"{fault} of the action {definition.action!r}", "values of the action 'set' alone", todo
        )
    return definition


def event_of_words(name: str, words: str) -> Event:
    """The event of a text of the command line: an expression, then perhaps a direction and an action after colons, as
    `slide.q:down:stop`.

    Raises:
        ModelError: what is no event.
    """
    of, stated = words, dict[str, Any]()
    for key, known in (("action", ACTIONS), ("direction", DIRECTIONS)):
        head, colon, last = of.rpartition(":")
        if colon and last.strip() in known:
            of, stated[key] = head, last.strip()
    return event_of(name, {"of": of.strip(), **stated})


def words_of_event(event: Event) -> str:
    """An event as `event_of_words` reads it."""
    return f"{event.of}:{event.direction}:{event.action}"


def written_event(event: Event) -> dict[str, Any]:
    """An event as a mapping."""
    words: dict[str, Any] = {name: getattr(event, name) for name in ("of", "direction", "action", "capacity")}
    return words | ({"values": thaw(event.values)} if event.values else {})


# -- those of a model and those of a run ---------------------------------------------------------------------------


def is_off(definition: Any) -> bool:
    """Whether a definition switches an event of the model off: None, or in files false."""
    return definition is None or definition is False


def of_run(stated: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The definitions of a run's events, by name: those of its model, and those of the caller, which replace them.

    Args:
        stated: of the model. given: by the caller; None or False for one that is switched off.

    Raises:
        ModelError: one that is switched off and is none of the model's.
    """
    for name, definition in (given or {}).items():
        if is_off(definition) and name not in stated:
            allowed = f"an event of the model: {', '.join(stated) or 'it has none'}"
            raise ModelError(f"event {name}", "switched off", allowed, nearest(name, stated) or "Leave it out.")
    return {**stated, **(given or {})}


def events_of(definitions: Mapping[str, Any] | None) -> dict[str, Event]:
    """Those events that are not switched off.

    Raises:
        ModelError: as of `event_of`.
    """
    every = (definitions or {}).items()
    return {name: event_of(name, definition) for name, definition in every if not is_off(definition)}


def written_events(definitions: Mapping[str, Any] | None) -> dict[str, Any]:
    """Events as mappings, False for those that are switched off.

    Raises:
        ModelError: as of `event_of`.
    """
    written = {name: written_event(event) for name, event in events_of(definitions).items()}
    return {name: written.get(name, False) for name in definitions or {}}
