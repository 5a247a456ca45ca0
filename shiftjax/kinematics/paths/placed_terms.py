"""Terms of metrics along a path that follow from their signal at places of it, and so have slopes by numbers.

The extreme of a curve has the slope of the curve at its place, whether inside or at an end: there the curve is level or
the place stays (envelope theorem; Milgrom, Segal, Econometrica 70 (2002) 583). So has the distance of a point from a
path. Integrals are those of Gauss and Legendre between the poses, whose places stay, too. The place of an extreme or
of a crossing is an instant: where the signal is level, or vanishes (`placed_instants`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.algebra import Scalar
from shiftjax.errors import ModelError
from shiftjax.expressions.expression import names
from shiftjax.measures.terms import Term
from shiftjax.mechanism.paths import listed
from shiftjax.record import record

Array = Any  # of JAX, traced
Definition = str | Mapping[str, Any]  # of a metric
LEVEL = "level"
ORDER = 4  # places between two poses of an integral: exact for degree 7
NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)


@record
class PlacedTerm:
    """A term, by values of its signal.

    Attributes:
        searched: metrics, each of which is a place that depends on the design. fixed: places that do not.
        value: of the signal (B, places, size) at those and these, what the term is (B,).
    """

    term: Term
    searched: tuple[Definition, ...]
    fixed: tuple[float, ...]
    value: Callable[[Array], Array]

    @property
    def places(self) -> int:
        return len(self.searched) + len(self.fixed)

    @property
    def width(self) -> int:
        """Of what is known at each place: its signal."""
        return self.term.signal.size

    @property
    def size(self) -> int:
        """Of its signal at all places."""
        return self.places * self.width


@record
class PlacedInstant:
    """A term that is a place of the path itself, or a count of such places, whose slopes are 0.

    Attributes:
        searched: the term as a metric, and how far its signal goes up and down along the path. condition: which answer
            of a signal is level, or vanishes, at the place: `LEVEL`, or a function of a number of the signal; None of a
            count.
    """

    term: Term
    searched: tuple[Definition, ...]
    condition: str | Callable[[Scalar], Scalar] | None

    places = width = size = 1

    @property
    def text(self) -> str:
        """As a user writes it."""
        options = "".join(f", {name}={value}" for name, value in self.term.options)
        return f"{self.term.name}({self.term.signal.text}{options})"

    @property
    def level(self) -> bool:
        """Whether the signal is level there: an extreme."""
        return self.condition == LEVEL

    @staticmethod
    def value(seen: Array) -> Array:
        """What the term is (B,), of its place (B, 1, 1)."""
        return seen[:, 0, 0]


def placed_term(term: Term, parameter: np.ndarray) -> PlacedTerm | PlacedInstant:
    """How a term follows from places of a path with a parameter (n,).

    Raises:
        ModelError: a kind that does not; a signal that names the parameter.
    """
    if term.name not in _PLACED and term.name not in _INSTANTS:
        allowed = f"{listed([*_PLACED, *_INSTANTS])}, where a metric has slopes"
        raise ModelError("metrics", term.name, allowed, "Take it of the channels that come back.")
    if any(one.text == "t" for one in names(term.signal.node)):
        raise ModelError("metrics", "t, in a metric that has slopes", "channels", "Take the channel of the driver.")
    if term.name in _INSTANTS:
        whole = {"kind": term.name, "of": term.signal.text, **term.stated}
        range_of_signal = {"kind": "peak_to_peak", "of": term.signal.text}
        return PlacedInstant(term, (whole, range_of_signal), _INSTANTS[term.name](term.stated))
    searched, fixed, value = _PLACED[term.name](term, parameter)
    return PlacedTerm(term, tuple(searched), tuple(map(float, fixed)), value)


Placed = tuple[list[str], Any, Callable[[Array], Array]]


def _extreme(kind: str) -> Callable[[Term, np.ndarray], Placed]:
    return lambda term, _: ([f"time_of_{kind}({term.signal.text})"], (), lambda seen: seen[:, 0, 0])


def _peak_to_peak(term: Term, _: np.ndarray) -> Placed:
    searched = [f"time_of_{kind}({term.signal.text})" for kind in ("maximum", "minimum")]
    return searched, (), lambda seen: seen[:, 0, 0] - seen[:, 1, 0]


def _at(time: Callable[[Mapping[str, Any], np.ndarray], float]) -> Callable[[Term, np.ndarray], Placed]:
    return lambda term, parameter: ([], (time(term.stated, parameter),), lambda seen: seen[:, 0, 0])


def _integral(of: Callable[[Array], Array], value: Callable[[Array, float], Array]) -> Callable[..., Placed]:
    """Of a function of the signal, by Gauss's rule; `value` makes the term of it and of the length of the path."""

    def placed(_: Term, parameter: np.ndarray) -> Placed:
        half = 0.5 * np.diff(parameter)
        places = (parameter[:-1] + half)[:, None] + half[:, None] * NODES
        weights, length = (half[:, None] * WEIGHTS).ravel(), float(parameter[-1] - parameter[0])
        return [], places.ravel(), lambda seen: value(of(seen[:, :, 0]) @ weights, length)

    return placed


def _path_distance(term: Term, _: np.ndarray) -> Placed:
    points = _points(term.stated)
    searched = []
    for point in points:
        parts = [f"(({term.signal.text})[{k}] - ({x!r}))**2" for k, x in enumerate(point.tolist())]
        searched.append(f"time_of_minimum({' + '.join(parts)})")
    return searched, (), lambda seen: _root(jnp.mean(_squares(seen, points), axis=1))


def _tracking_error(term: Term, _: np.ndarray) -> Placed:
    points = _points(term.stated)
    return [], term.stated["times"], lambda seen: _root(jnp.mean(_squares(seen, points), axis=1))


def _points(stated: Mapping[str, Any]) -> np.ndarray:
    """(points, size)"""
    return np.array([point if isinstance(point, tuple) else (point,) for point in stated["points"]], float)


def _squares(seen: Array, points: np.ndarray) -> Array:
    """(B, points) squared distances."""
    return jnp.sum((seen - points[None]) ** 2, axis=2)


def _root(square: Array) -> Array:
    """A square root that has no slope at 0."""
    positive = square > 0.0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), square)


_PLACED: dict[str, Callable[[Term, np.ndarray], Placed]] = {
    "minimum": _extreme("minimum"),
    "maximum": _extreme("maximum"),
    "peak_to_peak": _peak_to_peak,
    "final": _at(lambda _, parameter: float(parameter[-1])),
    "value_at": _at(lambda stated, _: stated["time"]),
    "integral": _integral(lambda x: x, lambda total, _: total),
    "mean": _integral(lambda x: x, lambda total, length: total / length),
    "rms": _integral(lambda x: x * x, lambda total, length: _root(total / length)),
    "path_distance": _path_distance,
    "tracking_error": _tracking_error,
}

Condition = str | Callable[[Scalar], Scalar] | None


def _passed(stated: Mapping[str, Any]) -> Condition:
    return lambda x: x - stated["level"]


def _entered(stated: Mapping[str, Any]) -> Condition:
    """Of both edges of a band."""
    return lambda x: (x - stated["target"]) * (x - stated["target"]) - stated["within"] ** 2


_INSTANTS: dict[str, Callable[[Mapping[str, Any]], Condition]] = {
    "time_of_minimum": lambda _: LEVEL,
    "time_of_maximum": lambda _: LEVEL,
    "first_crossing": _passed,
    "passing_time": _passed,
    "settling_time": _entered,
    "passings": lambda _: None,
    "sign_changes": lambda _: None,
}
