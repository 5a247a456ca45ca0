"""A path of drivers as a function of the numbers of designs, with first derivatives. Host code.

Every pose is a root of the closures with drivers where they are, and has its slopes by itself: channels at the poses,
and signals of metrics at their places (`placed_terms`), from which the metrics follow in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from shiftjax.algebra import Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.expressions.evaluation import evaluate
from shiftjax.gradients.doubts import Cause
from shiftjax.gradients.implicit import Answered, Implicit, Solutions
from shiftjax.gradients.transforms import differentiable
from shiftjax.kinematics.measured_answers import MeasuredAnswers
from shiftjax.kinematics.paths.inputs import Inputs, as_drives
from shiftjax.kinematics.paths.placed_instants import PathInstants
from shiftjax.kinematics.paths.placed_terms import PlacedInstant, PlacedTerm, placed_term
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.metric_texts import Metric, Reader
from shiftjax.measures.observed_state import ObservedState
from shiftjax.mechanism.model import Model
from shiftjax.memory_cache import forget_oldest
from shiftjax.run.closing.equations import Equations, closures
from shiftjax.run.options import Options
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import RANK, Block, Partition, blocks_of, complete_pivoting

Array = Any  # of JAX, traced
CLOSED = 1e-11  # residual of a pose, dimensionless
EVALUATED = 2048  # poses at a time
SYSTEMS = 32  # that are kept: one or two of each term, for every partition
CHANNELS = "channels"  # which is no text of a term
PLACE = "place {} {}"  # metric of a path, of a term and the number of its place

Lead = Callable[..., Result]  # `follow` of known numbers, but for its model and its drivers


class PathFunction(MeasuredAnswers):
    """Channels, metrics, status and certificate along a path, of numbers of designs.

    Args:
        lead: `follow` with its drivers, of `channels`, `metrics`, `vary` and `assign`. names: full paths of the
            numbers. given: all others of `follow`.
        warns: whether slopes that are doubtful are said in a `GradientWarning`.

    Raises:
        ModelError: metrics that do not follow from places of the path, and such along an uneven one.
    """

    def __init__(
        self, lead: Lead, model: Model, inputs: Inputs, names: Sequence[str], given: Options, *, warns: bool = True
    ) -> None:
        self.lead, self.model, self.inputs, self.names, self.given = lead, model, inputs, tuple(names), given
        stated = given.changed(drive=as_drives(inputs, 1), metrics=None, channels=())
        self.prepared = prepare(model, self._of_model(), stated)  # with its drivers at the first pose
        self._systems: dict[Hashable, Equations] = {}
        plan, resolve = self.prepared.plan, model.resolve
        self.channels = list(channels_of(plan, given.recording.channels, resolve))
        self.metrics: dict[str, Metric] = {}
        span = min(inputs.parameter), max(inputs.parameter)
        for name, text in (given.recording.metrics or {}).items():
            if callable(text):
                raise ModelError(f"metric {name}", "a function", "a text", "Take it of the channels that come back.")
            reader = Reader(f"metric {name}", lambda paths: channels_of(plan, paths, resolve), span)
            self.metrics[name] = reader.read(text)
        terms = {term.text(): term for one in self.metrics.values() for term in one.terms}
        self.terms = [placed_term(term, inputs.parameter) for term in terms.values()]
        if self.terms and not inputs.even:
            allowed = "a path that rises evenly along straight lines"
            raise ModelError("metrics", "an uneven path", allowed, "Take even places, as np.linspace gives.")
        self._solved = Implicit(self._answers, self._answer, warns=warns)

    # -- what there is -------------------------------------------------------------------------------------------------

    @cached_property
    def static(self) -> Result:
        """The path of the model's own numbers, for what no number decides."""
        led = self._led(self._of_model())
        of_metrics = ("metrics", "metric_units", "metric_texts", "metric_aims")
        asked = {
            of: {name: value for name, value in getattr(led, of).items() if name in self.metrics} for of in of_metrics
        }
        return replace(led, **asked)

    @property
    def recorded(self) -> int:
        """Numbers of the channels, which are the first outputs; the metrics follow, then status and certificate."""
        return sum(one.size for one in self.channels) * self.inputs.count

    @property
    def outputs(self) -> int:
        """Of every member."""
        return self.recorded + len(self.metrics) + 1 + len(self.static.certificate)

    @property
    def _answers(self) -> int:
        """Of every member, before its metrics follow from their terms."""
        return self.recorded + sum(term.size for term in self.terms) + 1 + len(self.static.certificate)

    def split(self, y: Array) -> tuple[dict[str, Array], dict[str, Array], Array, dict[str, Array]]:
        """Channels (B, n, ...) as they are asked for, metrics (B,), status (B,), certificate (B,) of outputs (B, M)."""
        n, first, channels = self.inputs.count, 0, dict[str, Array]()
        for one, text in zip(self.channels, self.given.recording.channels, strict=True):
            values = y[:, first : first + n * one.size].reshape(len(y), n, one.size)
            channels[text] = values[:, :, 0] if one.scalar else values
            first += n * one.size
        metrics = {name: y[:, first + k] for k, name in enumerate(self.metrics)}
        first += len(metrics)
        certificate = {name: y[:, first + 1 + k] for k, name in enumerate(self.static.certificate)}
        return channels, metrics, y[:, first], certificate

    # -- in JAX --------------------------------------------------------------------------------------------------------

    def __call__(self, x: Array) -> Array:
        """The outputs (B, M) of numbers (B, P), which JAX may trace."""
        return self._measured(differentiable(self._solved)(x))

    def _measured(self, y: Array) -> Array:
        """The outputs of the answers (B, ...): metrics in the place of their terms."""
        first, values = self.recorded, dict[str, list[Array]]()
        for placed in self.terms:
            seen = y[:, first : first + placed.size].reshape(len(y), placed.places, placed.width)
            values[placed.term.text()] = [placed.value(seen)]
            first += placed.size
        metrics = [jnp.asarray(evaluate(one.node, values, name)[0], float) for name, one in self.metrics.items()]
        return jnp.concatenate([y[:, : self.recorded], *(one[:, None] for one in metrics), y[:, first:]], axis=1)

    # -- the answers ---------------------------------------------------------------------------------------------------

    def _of_model(self) -> dict[str, np.ndarray]:
        """The numbers as the model has them, (1,) each."""
        known = self.model.numbers()
        return {name: np.full(1, known[name]) for name in self.names}

    def _members(self, vary: Mapping[str, np.ndarray]) -> Prepared:
        """The model with members of numbers (B,); where drivers are is said pose by pose (`_numbers`)."""
        rows = zip(self.prepared.vary, self.prepared.values, strict=True)
        members = len(next(iter(vary.values())))
        return replace(self.prepared, values=np.array([vary.get(path, np.repeat(row, members)) for path, row in rows]))

    def _led(self, vary: Mapping[str, np.ndarray], more: Sequence[str] = ()) -> Result:
        """The path of known numbers, with the places of terms as metrics."""
        recording, metrics = self.given.recording, dict(self.given.recording.metrics or {})
        for k, placed in enumerate(self.terms):
            metrics |= {PLACE.format(k, i): text for i, text in enumerate(placed.searched)}
        asked = [*recording.channels, *more]
        return self.lead(channels=asked, metrics=metrics or None, vary=vary, assign=self.given.design.assign)

    def _answer(self, x: np.ndarray) -> Answered:
        """Of numbers (B, P): channels, signals at the places of terms, status and certificate."""
        vary = dict(zip(self.names, x.T, strict=True))
        every = [f"{path}.q" for path, joint in self.model.joints() if joint.type != "rigid"]
        result = self._led(vary, [one for one in every if one not in self.given.recording.channels])
        prepared = self._members(vary)
        q = np.full((prepared.plan.nq, len(x), self.inputs.count), np.nan)
        at = {joint.path: slice(joint.q, joint.q + joint.nq) for joint in prepared.plan.joints}
        for path in every:
            values = np.asarray(result.channels[path])
            q[at[path[:-2]]] = np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0)
        y, parts = np.zeros((len(x), self._answers)), list[Solutions]()
        first = self._record(result, prepared, q, y, parts)
        good, messages, causes = np.asarray(result.status) <= 0, list(result.messages), list[Cause]()
        for k, placed in enumerate(self.terms):
            places = [result.metrics[PLACE.format(k, i)] for i in range(len(placed.searched))]
            if isinstance(placed, PlacedInstant):
                instants = self._instants(prepared, q, placed, np.array(places), good, y, first)
                parts, causes = [*parts, *instants.parts], [*causes, *instants.causes]
                for member, text in zip(instants.member, instants.lost, strict=True):
                    messages[member] = messages[member] or text
            else:
                places += [np.full(len(x), place) for place in placed.fixed]
                self._take(prepared, q, placed, np.where(good, places, np.nan), y, parts, first)
            first += placed.size
        y[:, first] = result.status
        y[:, first + 1 :] = np.stack([np.asarray(values) for values in result.certificate.values()], axis=1)
        return Answered(y, parts, messages, causes)

    def _record(self, result: Result, prepared: Prepared, q: np.ndarray, y: np.ndarray, parts: list[Solutions]) -> int:
        """Writes the channels, and how they follow from numbers; returns how many columns they take."""
        n, first = self.inputs.count, 0
        for one, text in zip(self.channels, self.given.recording.channels, strict=True):
            y[:, first : first + n * one.size] = np.asarray(result.channels[text]).reshape(len(y), -1)
            first += n * one.size
        if self.channels:
            member, pose = (index.ravel() for index in np.indices((len(y), n)))
            known = np.isfinite(q[:, member, pose]).all(0)
            member, pose = member[known], pose[known]
            starts = np.cumsum([0, *(one.size * n for one in self.channels)])
            columns = [start + pose[:, None] * one.size + np.arange(one.size)
                       for start, one in zip(starts, self.channels, strict=False)]  # fmt: skip
            lines = {path: self._polynomial(path, member, pose) for path in self.inputs.places}
            function = _observed(self.channels, lambda seen: [x for values in seen.values() for x in values])
            outputs = np.concatenate(columns, 1)
            parts += self._solutions(prepared, q[:, member, pose], member, lines, CHANNELS, function, outputs)
        return first

    def _polynomial(self, path: str, member: np.ndarray, pose: np.ndarray) -> np.ndarray:
        """(coefficients, K) of a driver about some poses of some members."""
        parts = (
            (self.inputs.places, 1.0),
            (self.inputs.rates, 1.0),
            (self.inputs.bends, 0.5),
            (self.inputs.turns, 1.0 / 6.0),
        )
        return np.stack(
            [share * self._of(array, path, member, pose) for array, share in parts[: len(self.inputs.numbers) - 1]]
        )

    @staticmethod
    def _of(arrays: Mapping[str, np.ndarray], path: str, member: np.ndarray, pose: np.ndarray) -> np.ndarray:
        values = arrays[path]
        return values[member if len(values) > 1 else np.zeros_like(member), pose]

    def _take(
        self,
        prepared: Prepared,
        q: np.ndarray,
        placed: PlacedTerm,
        places: np.ndarray,
        y: np.ndarray,
        parts: list[Solutions],
        first: int,
    ) -> None:
        """Writes the signal of a term at its places (places, B), NaN of members that have none, and how it follows from
        numbers.

        Args:
            q: (nq, B, n) at the poses. first: its column.
        """
        size = placed.width
        y[:, first : first + placed.size] = np.nan
        number, member = np.nonzero(np.isfinite(places))
        guess, lines = self._at_places(q, member, places[number, member])
        columns = first + number[:, None] * size + np.arange(size)
        signal = placed.term.signal
        function = _observed([one for _, one in signal.channels], lambda seen: signal.value(seen, 0.0))
        for one in self._solutions(prepared, guess, member, lines, placed.term.text(), function, columns):
            y[one.places] = one.equations.values(one.x)[1]
            parts.append(one)

    def _instants(
        self, prepared: Prepared, q: np.ndarray, placed: PlacedInstant, places: np.ndarray, good: np.ndarray,
        y: np.ndarray, first: int,
    ) -> PathInstants:  # fmt: skip
        """Writes a term that is a place of the path, or a count of such, and how it follows from numbers.

        Args:
            q: (nq, B, n) at the poses. places: (2, B) the term, and the range of its signal. good: (B,) members that
                came to the end of the path. first: its column.
        """
        y[:, first] = np.where(good, places[0], np.nan)
        member = np.flatnonzero(good & (placed.condition is not None))
        parameter, range_of_signal = self.inputs.parameter, np.nan_to_num(places[1])
        absent = ~np.isfinite(places[0, member])
        place = np.where(absent, parameter[0], places[0, member])
        guess, lines = self._at_places(q, member, place)
        numbers = self._numbers(prepared, member, lines)
        closing = self._system("", lambda lane, q, _: (_rows(lane, q), []))
        guess, _, _ = closing.solved(guess, numbers)
        instants = PathInstants(
            placed, prepared, numbers, member, guess, place, absent, self._columns(prepared), first,
            (float(parameter[0]), float(parameter[-1])), self.inputs.step,
            float(range_of_signal[member].max(initial=0.0)) or 1.0, len(y),
        )  # fmt: skip
        if len(member):
            signal = placed.term.signal
            observe = _observed([one for _, one in signal.channels], lambda seen: signal.value(seen, 0.0))
            J = closing.slopes(closing.inputs(guess, numbers))[0]
            for partition, some in _partitions(prepared, J):
                instants.take(some, _rows, observe(partition))
        return instants

    def _at_places(
        self, q: np.ndarray, member: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Coordinates (nq, K) near places (K,) of members (K,), and driver -> (coefficients, K) of its line there.

        Args:
            q: (nq, B, n) at the poses.
        """
        place = places - self.inputs.parameter[0]
        share = place / self.inputs.step
        pose = np.clip(share.astype(int), 0, self.inputs.count - 2)
        share -= pose
        guess = (1.0 - share) * q[:, member, pose] + share * q[:, member, pose + 1]
        lines = {}
        for path in self.inputs.places:
            begin, rate = (self._of(a, path, member, 0 * member) for a in (self.inputs.places, self.inputs.rates))
            lines[path] = np.zeros((len(self.inputs.numbers) - 1, len(member)))
            lines[path][:2] = begin + rate * place, rate
        return guess, lines

    def _numbers(self, prepared: Prepared, member: np.ndarray, lines: Mapping[str, np.ndarray]) -> np.ndarray:
        """(P, K) of members (K,), drivers on polynomials (coefficients, K)."""
        plan, numbers = prepared.plan, prepared.values[:, member].copy()
        for path, line in lines.items():
            group = next(
                g for g in plan.constraints if g.prescribes and plan.coordinates[g.coordinates[0]].path == path
            )
            for number, values in zip(self.inputs.numbers, (*line, np.zeros(len(member))), strict=True):
                numbers[prepared.vary.index(f"{group.name}.{number}")] = values
        return numbers

    def _columns(self, prepared: Prepared) -> list[int]:
        """Of the numbers of members, those that vary; -1 of a driver's."""
        return [self.names.index(path) if path in self.names else -1 for path in prepared.vary]

    def _solutions(
        self,
        prepared: Prepared,
        q: np.ndarray,
        member: np.ndarray,
        lines: Mapping[str, np.ndarray],
        what: str,
        function: Callable[[Partition], Any],
        outputs: np.ndarray,
    ) -> list[Solutions]:
        """Answers at poses near q (nq, K) of members (K,), drivers on polynomials (coefficients, K).

        Args:
            what: names the function. outputs: (K, answers) their columns.
        """
        numbers, columns = self._numbers(prepared, member, lines), self._columns(prepared)
        closing = self._system("", lambda lane, q, _: (_rows(lane, q), []))
        q, _, size = closing.solved(q, numbers)
        J = closing.slopes(closing.inputs(q, numbers))[0]
        out: list[Solutions] = []
        for partition, some in _partitions(prepared, J):
            observe = function(partition)
            equations = self._system((what, partition), lambda lane, q, _, o=observe: (_rows(lane, q), o(lane, q)))
            for k in range(0, len(some), EVALUATED):
                rows = some[k : k + EVALUATED]
                x = equations.inputs(q[:, rows], numbers[:, rows])
                out.append(Solutions(equations, x, columns, member[rows], outputs[rows], size[rows] < CLOSED))
        return out

    def _system(self, what: Hashable, function: Any) -> Equations:
        """The equations of a pose and answers to a function there, by what that is called; made once."""
        known = self._systems.get(what)
        if known is None:
            prepared, every = self.prepared, range(self.prepared.plan.nv)
            forget_oldest(self._systems, SYSTEMS - 1)
            known = Equations.of(prepared.setup, prepared.own_numbers, prepared.places, every, function)
            self._systems[what] = known
        return known


def _rows(lane: Lane, q: Vec) -> Vec:
    return closures(lane, q, range(len(lane.plan.substructures)), drivers=True)


def _partitions(prepared: Prepared, J: np.ndarray) -> list[tuple[Partition, np.ndarray]]:
    """Different partitions of poses with Jacobians (K, rows, nv), and whose they are."""
    plan, first, blocks = prepared.plan, 0, list[list[Block]]()
    for block in plan.substructures:
        part = np.ascontiguousarray(J[:, first : first + block.rows][:, :, list(block.columns)])
        blocks.append(list(blocks_of(complete_pivoting(part, RANK), block)))
        first += block.rows
    members: dict[tuple[Block, ...], list[int]] = {}
    for k, one in enumerate(zip(*blocks, strict=True) if blocks else [()] * len(J)):
        members.setdefault(tuple(one), []).append(k)
    return [(Partition(one), np.array(some)) for one, some in members.items()]


def _observed(
    channels: Sequence[Channel], answers: Callable[[Mapping[str, Vec]], Vec]
) -> Callable[[Partition], Callable[[Lane, Vec], Vec]]:
    """Lane code of what follows from channels, of a partition: of a lane and coordinates, drivers on their lines."""

    def of(partition: Partition) -> Callable[[Lane, Vec], Vec]:
        def observe(lane: Lane, q: Vec) -> Vec:
            v = _following(lane, partition, lane.motion(q, None), "nu")
            a = _following(lane, partition, lane.motion(q, v), "gamma")
            state = ObservedState(lane, partition, q, v, [0.0] * lane.plan.ns, lambda: a)
            return answers({one.path: list(one.observe(state)) for one in channels})

        return observe

    return of


def _following(lane: Lane, partition: Partition, motion: Any, side: str) -> Vec:
    """(nv,) speeds or accelerations that follow from those of drivers."""
    out: Vec = [0.0] * lane.plan.nv
    for s, block in enumerate(partition.blocks):
        rows = lane.rows(motion, s)
        for speed, value in lane.solve(block, rows, getattr(rows, side)).particular.items():
            out[speed] = value
    return out
