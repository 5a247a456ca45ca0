"""The metrics of a run, as `rms(tip.velocity[0]) / mean(crank.v)`: what the lanes accumulate, and what it comes to.

A function of arrays is called with what was recorded instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, shown, wrong
from shiftjax.expressions.evaluation import evaluate
from shiftjax.lanes.member_values import MemberValues
from shiftjax.measures.accumulators import Accumulators, Watched
from shiftjax.measures.aims import NO_AIM, Aim
from shiftjax.measures.certificate import TAKEN
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels
from shiftjax.measures.metric_texts import Metric, Reader
from shiftjax.measures.metrics import METRICS
from shiftjax.measures.step_path import StepPath
from shiftjax.measures.terms import Signal, Term
from shiftjax.mechanism.events import events_of
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.topology.plan import Plan

Recorded = Callable[[np.ndarray, Mapping[str, np.ndarray]], Any]
Definition = str | Mapping[str, Any] | Recorded


@record
class Measured:
    """The metrics of all members.

    Attributes:
        values: name -> (B,), not numbers where a member ended early. units, texts: name -> unit, and what it is.
        extremes: channel path -> (B, 2, size) the smallest and the largest value over all steps.
        aims: name -> what is good of it, of those that say so.
    """

    values: Mapping[str, np.ndarray]
    extremes: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    texts: Mapping[str, str]
    aims: Mapping[str, Aim]


class Metrics(Accumulators):
    """All metrics of a run; those that are functions of arrays are in `functions_of_arrays`.

    Args:
        wanted: name -> text, mapping of kind, of and options, or function of times (n,) and channels by path.
        resolve: completes a short path. span: first and last time [s].
        extremes: channels of which the smallest and the largest value are accumulated, too.
        path: the motion within a step. watched: beside the metrics. long: as of `Accumulators`.
        events: name -> an expression, a mapping or an `Event`, whose instants are noted.
        unit_of_time: of what stands for the time, as the parameter of a path of poses does.

    Raises:
        ModelError: what is no metric, unknown channels, times outside of the run.
    """

    def __init__(
        self,
        wanted: Mapping[str, Definition] | None,
        plan: Plan,
        resolve: Callable[[str], str],
        span: tuple[float, float],
        extremes: Sequence[Channel] = (),
        path: StepPath | None = None,
        watched: Sequence[Watched] = (),
        *,
        long: bool = True,
        events: Mapping[str, Any] | None = None,
        unit_of_time: str = "s",
    ) -> None:
        def by_path(paths: Sequence[str]) -> Sequence[Channel]:
            return channels(plan, paths, resolve)

        self.events = {
            name: Reader(f"event {name}", by_path, span).read_event(name, event)
            for name, event in events_of(events).items()
        }
        self._names = tuple(wanted or ())
        self._metrics: dict[str, Metric] = {}
        self.functions_of_arrays: dict[str, Recorded] = {}
        for name, definition in (wanted or {}).items():
            check_name(name)
            if isinstance(definition, str | Mapping):
                reader = Reader(f"metric {name}", by_path, span, self.events, unit_of_time=unit_of_time)
                self._metrics[name] = reader.read(definition)
            elif callable(definition):
                self.functions_of_arrays[name] = definition
            else:
                raise wrong(f"metric {name}", definition, "a text, a mapping with `kind` and `of`, or a function")
        self._extremes = {  # channel path -> both terms of every number
            channel.path: [
                tuple(Term(name, Signal.of_number(channel, k), ()) for name in ("minimum", "maximum"))
                for k in range(channel.size)
            ]
            for channel in extremes
        }
        of_extremes = [term for pairs in self._extremes.values() for pair in pairs for term in pair]
        of_metrics = (term for metric in self._metrics.values() for term in metric.terms)
        of_events = (term for one in self.events.values() for term in one.terms)
        # Long steps end at marks, too: a mark of q**3 within one of 0.6 s of a fall was off by 2 ms.
        guarded = [one for one in self.events.values() if long or one.event.action != "mark"]
        super().__init__([*of_metrics, *of_extremes, *of_events], path, watched, guarded, long=long)

    def refuse_of_motions(self) -> None:
        """Raises where a metric says nothing of one pose."""
        allowed = ", ".join(f"{name}(...)" for name, kind in METRICS.items() if kind.of_an_instant)
        for name, metric in self._metrics.items():
            for term in metric.terms:
                if not term.kind.of_an_instant:
                    fault = f"{term.name}, which is taken over a motion"
                    raise ModelError(f"metric {name}", fault, f"{allowed}: nothing moves", "Change it or leave it out.")

    def values(
        self, rows: np.ndarray, t0: float, ended: np.ndarray, time: np.ndarray, channels: Mapping[str, np.ndarray]
    ) -> Measured:
        """What the metrics come to.

        Args:
            rows: (k, B) accumulators. t0: when they began [s]. ended: (B,) members that ended early, which have none.
            time: (n,) instants. channels: path -> (B, n, ...) what was recorded, for functions of arrays.

        Raises:
            ModelError: a function that does not give one number a member.
        """
        members = rows.shape[1:]
        with np.errstate(all="ignore"):  # what is not finite is told per member
            terms = dict(zip(self.terms, self.values_of_terms(rows.astype(float), t0), strict=True))
            of_texts = self.of_terms([*terms.values()])
        values = {name: np.broadcast_to(np.asarray(value, float), members) for name, value in of_texts.items()}
        for name, function in self.functions_of_arrays.items():
            given = function(time, channels)
            array = real_array(given)
            if array is None or array.shape != members:
                fault = shown(given) if array is None else f"shape {array.shape}"
                raise ModelError(
                    f"metric {name}", fault, f"one number a member, shape {members}", "Correct the function."
                )
            values[name] = array
        values = {name: np.where(ended, np.nan, values[name]) for name in self._names}
        extremes = {
            path: np.array([[terms[term.text()] for term in pair] for pair in pairs])
            for path, pairs in self._extremes.items()
        }
        extremes = {path: np.where(ended, np.nan, ends).transpose(2, 1, 0) for path, ends in extremes.items()}
        return Measured(values, extremes, self.units, self.texts, self.aims)

    def of_terms(self, values: Sequence[Any]) -> dict[str, Any]:
        """The metrics but functions of arrays, from the values (B,) of their terms, arrays of NumPy or JAX."""
        members = MemberValues()
        by_text = {text: [value] for text, value in zip(self.terms, members.lane_values(values), strict=True)}
        metrics = [evaluate(metric.node, by_text, f"metric {name}")[0] for name, metric in self._metrics.items()]
        return dict(zip(self._metrics, members.numbers(metrics), strict=True))

    def names_of(self, terms: np.ndarray) -> dict[str, np.ndarray]:
        """Name -> (B,) whether a metric has one of some terms (t, B)."""
        order = {text: k for k, text in enumerate(self.terms)}
        places = {name: [order[term.text()] for term in metric.terms] for name, metric in self._metrics.items()}
        return {name: np.any(terms[which], axis=0) for name, which in places.items()}

    def unresolved_of(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Name -> (B,) whether steps are too coarse for a derivative of a metric; accumulators (k, B)."""
        of_terms, none = self.unresolved(rows.astype(float)), np.zeros(rows.shape[1], bool)
        return self.names_of(np.array([of_terms.get(text, none) for text in self.terms]))

    @property
    def texts(self) -> dict[str, str]:
        """name -> what it is, as the user wrote it."""
        return {name: metric.text for name, metric in self._metrics.items()} | {
            name: text_of_function(function) for name, function in self.functions_of_arrays.items()
        }

    @property
    def aims(self) -> dict[str, Aim]:
        """name -> what is good of it, of those that say so."""
        return {name: metric.aim for name, metric in self._metrics.items() if metric.aim != NO_AIM}

    @property
    def units(self) -> dict[str, str]:
        of_texts = {name: metric.unit for name, metric in self._metrics.items()}
        return of_texts | dict.fromkeys(self.functions_of_arrays, "1")


def check_name(name: str) -> None:
    """Raises where a metric cannot have a name."""
    if not name.strip() or name in TAKEN:
        raise ModelError("metrics", f"the name {name!r}", "a name of its own", "Choose another one.")


def text_of_function(function: Recorded) -> str:
    """What a metric is that is a function of recorded channels."""
    return f"{getattr(function, '__name__', 'function')} of recorded channels"
