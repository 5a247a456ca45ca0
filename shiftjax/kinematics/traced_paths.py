"""The public `follow`: paths of poses, also of designs that JAX traces, with slopes of channels and extremes.

Every pose is a root of the closures with drivers where they are, and has its slopes by itself. The extreme of a curve
has the slope of the curve at its place, whether inside or at an end: there the curve is level or the place stays
(envelope theorem; Milgrom, Segal, Econometrica 70 (2002) 583).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ParamSpec

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.algebra import Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.errors import ModelError
from shiftjax.expressions.evaluation import evaluate
from shiftjax.formats.files import load
from shiftjax.gradients.implicit import Answered, Implicit, Solutions
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.gradients.transforms import differentiable
from shiftjax.kinematics.follow import follow as lead_along
from shiftjax.kinematics.inputs import Inputs, as_drives, inputs_of
from shiftjax.measures.channel import Channel
from shiftjax.measures.channels import channels as channels_of
from shiftjax.measures.metric_texts import Metric, Reader
from shiftjax.measures.observed_state import ObservedState
from shiftjax.measures.terms import Term
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.run.arguments import check_arguments
from shiftjax.run.closing.equations import Equations, closures
from shiftjax.run.options import Options, options_of
from shiftjax.run.results.result import Result
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.topology.partition import RANK, Block, Partition, blocks_of, complete_pivoting

Array = Any  # of JAX, traced
CLOSED = 1e-11  # residual of a pose, dimensionless
EXTREMES = {"minimum": ("minimum",), "maximum": ("maximum",), "peak_to_peak": ("maximum", "minimum")}
EVALUATED = 2048  # poses at a time
UNCHANGED = ("tie", "branch", "strict_start", "backend", "precision", "threads")  # options of every path that is led
P = ParamSpec("P")
Lead = Callable[..., Result]  # `follow` of known numbers, but for its model and its drivers


def front_door(lead: Callable[P, Result]) -> Callable[P, Result]:
    """`follow`, which JAX may trace with respect to the values of `vary`; where none is traced, it is `lead` itself."""
    signature = inspect.signature(lead)

    @functools.wraps(lead, assigned=("__name__", "__qualname__", "__doc__", "__annotations__"))
    def follow(*args: P.args, **kwargs: P.kwargs) -> Result:
        vary = kwargs.get("vary")
        if not isinstance(vary, Mapping) or not any(map(is_traced, vary.values())):
            return lead(*args, **kwargs)
        stated = dict(signature.bind(*args, **kwargs).arguments)
        named = {name: stated.pop(name) for name in ("model", "drive", "times", "order") if name in stated}
        given = options_of(**stated)
        check_arguments(**given.flat())
        model = named["model"] = named["model"] if isinstance(named["model"], Model) else load(named["model"])
        rest = {name: stated[name] for name in UNCHANGED if name in stated}
        inputs = inputs_of(model, named["drive"], named.get("times"))
        return _traced(functools.partial(lead, **named, **rest), model, inputs, given)

    return follow


def _traced(lead: Lead, model: Model, inputs: Inputs, given: Options) -> Result:
    """The path of designs of which JAX traces numbers.

    Args:
        lead: `follow` with its drivers, of `channels`, `metrics`, `vary` and `assign`.

    Raises:
        ModelError: as of `follow`; metrics that are no extremes, and such along an uneven path.
    """
    columns, design = traced_design(model, given.design)
    with jax.ensure_compile_time_eval():
        path = _TracedPath(lead, model, inputs, tuple(columns), replace(given, design=design))
        static = path.static
    y = differentiable(Implicit(path.outputs, path.answer))(jnp.stack([*columns.values()], axis=1))
    n, first, channels = inputs.count, 0, dict[str, Array]()
    for one in path.channels:
        values = y[:, first : first + n * one.size].reshape(len(y), n, one.size)
        channels[one.path] = values[:, :, 0] if one.scalar else values
        first += n * one.size
    terms = {term.text(): [y[:, first + k]] for k, term in enumerate(path.terms)}
    metrics = {name: evaluate(metric.node, terms, name)[0] for name, metric in path.metrics.items()}
    first += len(path.terms)
    certificate = {name: jax.lax.stop_gradient(y[:, first + 1 + k]) for k, name in enumerate(path.certificate)}
    names = {one.path: text for one, text in zip(path.channels, given.recording.channels, strict=True)}
    return replace(
        static, channels={names[name]: values for name, values in channels.items()}, metrics=metrics,
        status=jax.lax.stop_gradient(y[:, first]).astype(int), certificate=certificate, design=columns, messages=(),
        final=None, branch=None, extremes={}, log=(),
    )  # fmt: skip


@dataclass
class _TracedPath:
    """A path of drivers, as a function of the numbers of designs.

    Attributes:
        names: of these numbers. terms: of the metrics, each an extreme.
    """

    lead: Lead
    model: Model
    inputs: Inputs
    names: tuple[str, ...]
    given: Options

    def __post_init__(self) -> None:
        plan, resolve = self.prepared(1, {}).plan, self.model.resolve
        self.channels = list(channels_of(plan, self.given.recording.channels, resolve))
        self.metrics: dict[str, Metric] = {}
        span = min(self.inputs.parameter), max(self.inputs.parameter)
        for name, text in (self.given.recording.metrics or {}).items():
            if callable(text):
                raise ModelError(f"metric {name}", "a function", "a text", "Take it of the channels that come back.")
            reader = Reader(f"metric {name}", lambda paths: channels_of(plan, paths, resolve), span)
            self.metrics[name] = reader.read(text)
        self.terms = list({term.text(): term for one in self.metrics.values() for term in one.terms}.values())
        if others := [term.name for term in self.terms if term.name not in EXTREMES]:
            allowed = f"{listed(list(EXTREMES))}, where JAX traces numbers"
            raise ModelError("metrics", listed(sorted(set(others))), allowed, "Take it of the channels that come back.")
        if self.terms and not self.inputs.even:
            allowed = "a path that rises evenly along straight lines"
            raise ModelError("metrics", "an uneven path", allowed, "Take even places, as np.linspace gives.")

    def prepared(self, members: int, vary: Mapping[str, np.ndarray]) -> Prepared:
        """The model with its drivers at the first pose."""
        given = self.given.changed(drive=as_drives(self.inputs, members), metrics=None, channels=())
        return prepare(self.model, vary, given)

    @cached_property
    def static(self) -> Result:
        """The path of the model's own numbers, for what no number decides."""
        return self.followed({name: np.full(1, self.model.numbers()[name]) for name in self.names})

    @property
    def certificate(self) -> tuple[str, ...]:
        """Names of its numbers."""
        return tuple(self.static.certificate)

    @property
    def outputs(self) -> int:
        """Of every member: channels, terms, status and certificate."""
        recorded = sum(one.size for one in self.channels) * self.inputs.count
        return recorded + len(self.terms) + 1 + len(self.certificate)

    def followed(self, vary: Mapping[str, np.ndarray], more: Sequence[str] = ()) -> Result:
        """The path of known numbers, with the places of extremes as metrics."""
        recording, metrics = self.given.recording, dict(self.given.recording.metrics or {})
        for k, term in enumerate(self.terms):
            for kind in EXTREMES[term.name]:
                metrics[f"extreme {k} {kind}"] = f"time_of_{kind}({term.signal.text})"
        asked = [*recording.channels, *more]
        result = self.lead(channels=asked, metrics=metrics or None, vary=vary, assign=self.given.design.assign)
        if more:
            return result
        asked_for = {name: values for name, values in result.metrics.items() if name in self.metrics}
        return replace(result, metrics=asked_for)

    def answer(self, x: np.ndarray) -> Answered:
        """Of numbers (B, P): all that `outputs` are, and where they come from."""
        vary = dict(zip(self.names, x.T, strict=True))
        every = [f"{path}.q" for path, joint in self.model.joints() if joint.type != "rigid"]
        result = self.followed(vary, [one for one in every if one not in self.given.recording.channels])
        prepared = self.prepared(len(x), vary)
        q = np.full((prepared.plan.nq, len(x), self.inputs.count), np.nan)
        at = {joint.path: slice(joint.q, joint.q + joint.nq) for joint in prepared.plan.joints}
        for path in every:
            values = np.asarray(result.channels[path])
            q[at[path[:-2]]] = np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0)
        y, parts = np.zeros((len(x), self.outputs)), list[Solutions]()
        first = self._recorded(result, prepared, q, y, parts)
        self._extremes(result, prepared, q, y[:, first:], parts, first)
        first += len(self.terms)
        y[:, first] = result.status
        y[:, first + 1 :] = np.stack([np.asarray(result.certificate[name]) for name in self.certificate], axis=1)
        return Answered(y, parts, result.messages)

    def _recorded(
        self, result: Result, prepared: Prepared, q: np.ndarray, y: np.ndarray, parts: list[Solutions]
    ) -> int:
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
            parts += self._solutions(prepared, q[:, member, pose], member, lines, function, np.concatenate(columns, 1))
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

    def _extremes(
        self, result: Result, prepared: Prepared, q: np.ndarray, y: np.ndarray, parts: list[Solutions], first: int
    ) -> None:
        """Writes the terms of metrics, and how they follow from numbers: each at the places of its extremes."""
        parameter = self.inputs.parameter
        for k, term in enumerate(self.terms):
            for sign, kind in zip((1.0, -1.0), EXTREMES[term.name], strict=False):
                place = np.asarray(result.metrics[f"extreme {k} {kind}"])
                member = np.flatnonzero(np.isfinite(place))
                share = (place[member] - parameter[0]) / self.inputs.step
                pose = np.clip(share.astype(int), 0, self.inputs.count - 2)
                share -= pose
                guess = (1.0 - share) * q[:, member, pose] + share * q[:, member, pose + 1]
                lines = {}
                for path in self.inputs.places:
                    begin, rate = (
                        self._of(a, path, member, 0 * member) for a in (self.inputs.places, self.inputs.rates)
                    )
                    lines[path] = np.zeros((len(self.inputs.numbers) - 1, len(member)))
                    lines[path][:2] = begin + rate * (place[member] - parameter[0]), rate
                function = _observed([one for _, one in term.signal.channels], _signal(term, sign))
                some = self._solutions(prepared, guess, member, lines, function, np.array([first + k]))
                for one in some:
                    y[one.members, k] += one.equations.values(one.x)[1][:, 0]
                parts += some
            y[~np.isfinite(result.status) | (np.asarray(result.status) > 0), k] = np.nan

    def _solutions(
        self,
        prepared: Prepared,
        q: np.ndarray,
        member: np.ndarray,
        lines: Mapping[str, np.ndarray],
        function: Callable[[Partition], Any],
        outputs: np.ndarray,
    ) -> list[Solutions]:
        """Answers at poses near q (nq, K) of members (K,), drivers on polynomials (coefficients, K)."""
        plan = prepared.plan
        numbers = prepared.values[:, member].copy()
        for path, line in lines.items():
            group = next(
                g for g in plan.constraints if g.prescribes and plan.coordinates[g.coordinates[0]].path == path
            )
            for number, values in zip(self.inputs.numbers, (*line, np.zeros(len(member))), strict=True):
                numbers[prepared.vary.index(f"{group.name}.{number}")] = values
        columns = [self.names.index(path) if path in self.names else -1 for path in prepared.vary]
        closing = self._equations(prepared, lambda lane, q, _: (_rows(lane, q), []))
        q, _, size = closing.solved(q, numbers)
        J = closing.slopes(closing.inputs(q, numbers))[0]
        out: list[Solutions] = []
        for partition, some in _partitions(prepared, J):
            observe = function(partition)
            equations = self._equations(prepared, lambda lane, q, _, o=observe: (_rows(lane, q), o(lane, q)))
            for k in range(0, len(some), EVALUATED):
                rows = some[k : k + EVALUATED]
                x = equations.inputs(q[:, rows], numbers[:, rows])
                taken = outputs if outputs.ndim == 1 else outputs[rows]
                out.append(Solutions(equations, x, columns, member[rows], taken, size[rows] < CLOSED))
        return out

    @staticmethod
    def _equations(prepared: Prepared, function: Any) -> Equations:
        every = range(prepared.plan.nv)
        return Equations.of(prepared.setup, prepared.own_numbers, prepared.places, every, function)


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


def _signal(term: Term, sign: float) -> Callable[[Mapping[str, Vec]], Vec]:
    """The value of the expression of a term, with a sign."""
    return lambda seen: [sign * x for x in term.signal.value(seen, 0.0)]


def _observed(
    channels: Sequence[Channel], answers: Callable[[Mapping[str, Vec]], Vec]
) -> Callable[[Partition], Callable[[Lane, Vec], Vec]]:
    """Lane code of what follows from channels, of a partition: of a lane and coordinates, drivers on their lines."""

    def of(partition: Partition) -> Callable[[Lane, Vec], Vec]:
        def observe(lane: Lane, q: Vec) -> Vec:
            v = _following(lane, partition, lane.motion(q, None), "nu")
            a = _following(lane, partition, lane.motion(q, v), "gamma")
            state = ObservedState(lane, partition, q, v, [0.0] * lane.plan.ns, a)
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


follow = front_door(lead_along)
