"""The members of a stored study as columns: design, metrics, certificate, status. Host only, no jax."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import xarray as xr

from shiftjax.errors import ModelError, nearest
from shiftjax.measures.aims import NO_AIM, Aim, aim_in, sense_of
from shiftjax.measures.certificate import CERTIFICATE
from shiftjax.outcome import GOOD, Outcome
from shiftjax.record import record
from shiftjax.run.results.plain_values import FOLLOWS

ROLES = (
    "design",
    "switch",
    "metric",
    "certificate",
    "status",
    "message",
    "events",
)  # the order in which columns are shown


@record
class Column:
    """One variable of the members.

    Attributes:
        name: path of a number, name of a metric or of a number of the certificate.
        role: one of `ROLES`.
        unit: of its values, "1" where they have none.
        values: (B,) one a member.
        about: of a metric, the expression it was computed from.
        aim: of a metric, what is good of it.
        follows: whether it is a design number that an expression of the model's file gives.
    """

    name: str
    role: str
    unit: str
    values: np.ndarray
    about: str = ""
    aim: Aim = NO_AIM
    follows: bool = False

    @property
    def good(self) -> str:
        """Which of its values are good, "small" or "large"; "" where nothing is stated."""
        return sense_of(self.name, self.aim.good)


@record
class Members:
    """All members of a store.

    Attributes:
        numbers: (B,) the numbers of the members.
        columns: all but status, message and events, in the order of `ROLES`.
        status: (B,) `Outcome` of each.
        messages: (B,) what happened to each, "" when good.
    """

    numbers: np.ndarray
    columns: tuple[Column, ...]
    status: np.ndarray
    messages: np.ndarray

    @property
    def finished(self) -> np.ndarray:
        """(B,) true for members that reached their end, with a warning or without."""
        return self.status <= 0

    @property
    def good(self) -> np.ndarray:
        """(B,) true for members that ended without a warning, at their end or at an event that stops them."""
        return np.isin(self.status, GOOD)

    @property
    def design(self) -> tuple[Column, ...]:
        """Numbers and switches that differ from member to member, or were varied."""
        return self.of("design", "switch")

    @property
    def metrics(self) -> tuple[Column, ...]:
        return self.of("metric")

    @property
    def certificate(self) -> tuple[Column, ...]:
        return self.of("certificate")

    def of(self, *roles: str) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.role in roles)

    def column(self, name: str, where: str) -> Column:
        """The column of that name, or the only one whose path ends in it.

        Raises:
            ModelError: there is none, or there are several.
        """
        known = [column.name for column in self.columns]
        matches = [c for c in self.columns if c.name == name] or [c for c in self.columns if _ends(c.name, name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ModelError(where, repr(name), ", ".join(c.name for c in matches), "Say which of them.")
        todo = nearest(name, known) or "Choose one of them."
        raise ModelError(where, repr(name), listed(known), todo)

    def counts(self) -> dict[Outcome, int]:
        """How many members have each outcome that occurs, good ones first."""
        counts = Counter(self.status.tolist())
        return {Outcome(status): counts[status] for status in sorted(counts, key=lambda s: (s != 0, -s < 0, abs(s)))}


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names with commas, the first ones of many."""
    every = list(names)
    return ", ".join(every[:most]) + (f", ... {len(every) - most} more" if len(every) > most else "")


def _ends(path: str, name: str) -> bool:
    return bool(name) and path.endswith((f":{name}", f".{name}", f"/{name}"))


def role_of(name: str, attrs: dict[str, object]) -> str:
    """The role of a variable; stores of the first versions do not say it."""
    role = attrs.get("role")
    if isinstance(role, str):
        return role
    if name in ("status", "message"):
        return name
    if name in CERTIFICATE:
        return "certificate"
    return "metric" if "metric" in attrs else "design" if "path" in attrs else "certificate"


def variables(tree: xr.DataTree) -> Iterator[tuple[str, str, xr.DataArray]]:
    """Name, role and array (B,) of every variable of the members, in the order of `ROLES`; nothing is loaded."""
    dataset = tree["members"].to_dataset()
    entries = []
    for key, array in dataset.data_vars.items():
        name = str(array.attrs.get("path", key))
        entries.append((name, role_of(name, dict(array.attrs)), array))
    order = {role: k for k, role in enumerate(ROLES)}
    yield from sorted(entries, key=lambda one: order.get(one[1], len(order)))


def members_of(tree: xr.DataTree) -> Members:
    """All members of what `store.read` opened."""
    numbers = np.asarray(tree["members"]["member"].values)
    columns, status, messages = [], np.zeros(len(numbers), np.int64), np.full(len(numbers), "", object)
    for name, role, array in variables(tree):
        if role == "status":
            status = np.asarray(array.values).astype(np.int64)
        elif role == "message":
            messages = np.asarray(array.values).astype(object)
        elif array.ndim == 1 and role != "events":
            values = np.asarray(array.values, np.float64)
            about = str(array.attrs.get("metric", ""))
            unit, aim, follows = str(array.attrs.get("units", "1")), aim_in(array.attrs), FOLLOWS in array.attrs
            columns.append(Column(name, role, unit, values, about, aim, follows))
    return Members(numbers, tuple(columns), status, messages)
