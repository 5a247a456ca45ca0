"""A run as functions of NumPy arrays: its outputs, their tangents and their cotangents, of the varied numbers.

Reverse mode goes back along the steps that were taken (`tape`, `backward`), then through the assembled start (`start`).
The tapes of the last runs are remembered, by the numbers of the run; where one is missing, the run is repeated.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.gradients.derivative_programs import DerivativePrograms
from shiftjax.gradients.doubts import Cause, Doubts, doubts_of, warn
from shiftjax.gradients.event_refusals import refuse_acting, refuse_changed_loops
from shiftjax.gradients.forward.tangents import Directions, Forward
from shiftjax.gradients.jumps.crossings import Jumps, Met
from shiftjax.gradients.jumps.stops import Stops, changes
from shiftjax.gradients.measured import MeasuredAdjoint, causes_of
from shiftjax.gradients.reverse.backward import WayBack
from shiftjax.gradients.reverse.tape import ByMember, Tape, spacing, states_of
from shiftjax.gradients.singular_poses import causes_at_poses
from shiftjax.gradients.start.assembled_start import StartDerivative
from shiftjax.kernels.backends import make_backward
from shiftjax.kernels.contract import Kernel
from shiftjax.mechanism.model import Model
from shiftjax.run.advance.ensemble import Ensemble
from shiftjax.run.beginning import Begun
from shiftjax.run.memory import free_memory
from shiftjax.run.options import Options
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import run_with

REMEMBERED = 4  # runs whose tapes are kept
SHARE = 0.25  # of the free memory, for all tapes


@dataclass
class _Taped:
    """A finished run and what it left behind."""

    begun: Begun
    tape: Tape
    result: Result
    met: Met | None = None
    jumping: np.ndarray | None = None  # (terms, B) of metrics whose slopes lack what a jump of their expressions adds
    missed: np.ndarray | None = None  # (B,) members with kinks that slopes do not follow

    @cached_property
    def notes(self) -> ByMember:
        """Those of the tape, which serve all directions, as its programs do."""
        return ByMember(self.tape.notes)


class _Ran(NamedTuple):
    """Members of a derivative: which of all, their run, jumps that were followed, what makes slopes doubtful."""

    members: np.ndarray
    met: Met
    messages: tuple[str, ...]
    followed: np.ndarray
    causes: tuple[Cause, ...]


_Finer = Callable[["DifferentiableRun", np.ndarray], list[np.ndarray]]  # of a run, for some members, groups of slopes


class DifferentiableRun:
    """`simulate` of one model with some varied numbers, for `transforms.differentiable`.

    Args:
        vary: full paths of the P varied numbers.
        options: all others of `simulate`; `tape_memory` is that of the tapes. traced: those of `vary` that must have a
            derivative; all where left out.
        warns: whether a derivative that tells less than it seems warns, once a call. refines: whether slopes of members
            that pass a stop in few steps are taken again at smaller ones.

    Attributes:
        outputs: M numbers a member: channels at all instants, metrics, status, certificate, `jumps`.
        static: fields of a `Result` that no varied number changes.
        doubts: of the last derivative, of all its members.
    """

    directions = True  # K changes, or cotangents, at the same numbers

    def __init__(
        self,
        model: Model,
        vary: Sequence[str],
        options: Options,
        traced: Sequence[str] | None = None,
        *,
        warns: bool = True,
        refines: bool = True,
    ) -> None:
        self.model, self.vary = model, tuple(vary)
        self.traced = self.vary if traced is None else tuple(traced)
        self.options, self._warns = options, warns
        self.doubts: Doubts | None = None
        self._refused = False  # asked once whether a derivative is
        self._known: OrderedDict[bytes, _Taped] = OrderedDict()
        self._constants: dict[str, float] = {}  # numbers that vary, too, by which jumps are followed
        self._derivatives: DerivativePrograms | None = None
        self._start: StartDerivative | None = None
        numbers = model.numbers()
        x = np.array([[numbers.get(path, 0.0) for path in self.vary]])
        nominal = self._simulated(x, np.inf)
        self._begun, result = nominal.begun, nominal.result
        self._jumps = Jumps(nominal.begun, self.vary, self.traced)
        if options.numerics.tolerance is not None and self._jumps.metrics:
            jumping = f"a derivative where forces jump ({', '.join(self._jumps.metrics)})"
            raise ModelError("tolerance", jumping, "fixed steps there", "Give a step in place of the tolerance.")
        method = METHODS[nominal.begun.lanes.setup.method]
        if method.gamma and self._jumps.metrics:
            jumping = f"{method.name!r} in a derivative where forces jump or bend ({', '.join(self._jumps.metrics)})"
            raise ModelError("method", jumping, "an explicit one there, or a tolerance where they bend", "Take rk4.")
        self._stops = Stops(nominal.begun, self._jumps.sure)
        self._refines = refines and options.numerics.tolerance is None and bool(self._stops.knots)
        self._asked, self._finer = options, dict[int, DifferentiableRun]()
        hidden = {**self._jumps.metrics, **(self._stops.metrics if self._refines else {})}
        names = ("time", "units", "model", "settings", "metric_units", "metric_texts", "metric_aims")
        self.static = {name: getattr(result, name) for name in names}
        self.static["report"] = {**result.report, "jumps": self._jumps.listed}
        self._shapes = {path: np.shape(values)[1:] for path, values in result.channels.items()}
        self._metrics, self._certificate = tuple(result.metrics), (*result.certificate,)
        self.recorded = sum(int(np.prod(shape)) for shape in self._shapes.values())
        self.outputs = self.recorded + len(self._metrics) + 2 + len(self._certificate)
        self._constants = {path: numbers[path] for path in self._jumps.constants if path not in self.vary}
        if hidden:
            self.options = options.changed(metrics={**(options.recording.metrics or {}), **hidden})
            self._begun = self._simulated(x, np.inf).begun

    @property
    def begun(self) -> Begun:
        """A run of the model's own numbers at its start."""
        return self._begun

    def split(self, y: Any) -> tuple[dict[str, Any], dict[str, Any], Any, dict[str, Any]]:
        """Channels (B, n, ...), metrics (B,), status (B,), certificate (B,) of outputs (B, M)."""
        channels, at = {}, 0
        for path, shape in self._shapes.items():
            size = int(np.prod(shape))
            channels[path] = y[:, at : at + size].reshape((y.shape[0], *shape))
            at += size
        metrics = {name: y[:, at + k] for k, name in enumerate(self._metrics)}
        at += len(metrics)
        certificate = {name: y[:, at + 1 + k] for k, name in enumerate((*self._certificate, "jumps"))}
        return channels, metrics, y[:, at], certificate

    def refuse(self) -> None:
        """Raises where a number has no derivative at the model's own numbers, before others are known."""
        refuse_changed_loops(self._begun)
        if not self._refused and (self._begun.lanes.status <= 0).all():
            StartDerivative(self._begun.prepared, self._begun.start, self.traced)
        self._refused = True

    # -- the three functions -------------------------------------------------------------------------------------------

    def run(self, x: np.ndarray) -> np.ndarray:
        """The outputs (B, M) for varied numbers (B, P)."""
        taped = self._taped(x)
        result = taped.result
        members = len(x)
        columns = [np.reshape(result.channels[path], (members, -1)) for path in self._shapes]
        columns += [np.reshape(result.metrics[name], (members, 1)) for name in self._metrics]
        columns += [np.reshape(result.status, (members, 1))]
        columns += [np.reshape(result.certificate[name], (members, 1)) for name in self._certificate]
        columns += [np.reshape(self._met(taped).count, (members, 1))]
        return np.concatenate(columns, axis=1).astype(float)

    def tangent(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Changes (K, B, M) of the outputs along changes (K, B, P) of the numbers (B, P)."""
        refuse_changed_loops(self._begun)
        refuse_acting(self._begun)
        taped = self._taped(x)
        begun, result = taped.begun, taped.result
        prepared, lanes = begun.prepared, begun.lanes
        start = self._start_of(begun)
        changes = [self._of_values(begun, change) for change in dx]
        dq, dv, dstates = (np.stack(parts, -1) for parts in zip(*map(start.tangent, changes), strict=True))
        row = {place: k for k, place in enumerate(prepared.places)}
        read = [row[place] for place in prepared.setup.varied]
        relative = np.abs(dx / np.where(x == 0.0, 1.0, x)).max(2).T[None]
        directions = Directions(dq, dv, dstates, np.stack(changes, -1)[read], relative)
        programs = self._programs(begun)
        assert result.schedule is not None
        forward = Forward(prepared, programs.kernel, programs.tangents, begun.measured)
        met = self._met(taped)
        passages = self._jumps.passages(begun, met)
        tangents = forward.run(result.schedule, lanes.settings, begun.start, directions, passages=passages)
        taped.jumping, taped.missed = passages.uncertain, passages.missed
        out, at, place = np.zeros((len(dx), len(x), self.outputs)), 0, 0
        recorded = np.moveaxis(tangents.channels, -1, 0)
        for shape in self._shapes.values():
            size, width = int(np.prod(shape)), int(np.prod(shape[1:]))
            out[:, :, at : at + size] = recorded[..., place : place + width].reshape(len(dx), len(x), size)
            at, place = at + size, place + width
        out[:, :, at : at + len(self._metrics)] = np.moveaxis(tangents.metrics, -1, 0)[:, :, : len(self._metrics)]
        lost = (lanes.status > 0) | np.isnan(dq).any((0, 2)) | np.isnan(dv).any((0, 2))
        causes = self._causes(taped, np.ones((len(x), self.outputs), bool))
        causes += self._refined(
            taped, x, self._groups(out), lambda run, some: self._groups(run.tangent(x[some], dx[:, some]))
        )
        ran = _Ran(np.arange(len(x)), met, result.messages, tangents.followed[:, 0], causes)
        self._doubt([ran], lost, tangents.growth.T)
        return out

    def adjoint(self, x: np.ndarray, y_bar: np.ndarray) -> np.ndarray:
        """Cotangents (K, B, P) of the numbers from those (K, B, M) of the outputs; NaN for members that ended
        early or whose cotangent asks for a metric that is none, but for those of which nothing is asked."""
        refuse_changed_loops(self._begun)
        out, growth, runs = np.empty((len(y_bar), *x.shape)), np.full(y_bar.shape[:2], np.nan), list[_Ran]()

        def finer(members: np.ndarray) -> _Finer:
            def slopes(run: DifferentiableRun, some: np.ndarray) -> list[np.ndarray]:
                which = members[some]
                return [self._scaled(x[which], run.adjoint(x[which], y_bar[:, which]))]

            return slopes

        for members, taped in self._ways(x):
            followed = np.zeros(len(members), int)
            for k, bars in enumerate(y_bar):
                out[k, members], growth[k, members], followed = self._adjoint(taped, bars[members])
            causes = self._causes(taped, (y_bar[:, members] != 0.0).any(0))
            causes += self._refined(taped, x[members], [self._scaled(x[members], out[:, members])], finer(members))
            runs.append(_Ran(members, self._met(taped), taped.result.messages, followed, causes))
        asked = np.isin(self.vary, self.traced)  # others have no derivative, and need none
        self._doubt(runs, np.asarray(np.isnan(out[:, :, asked]).any((0, 2))), growth)
        return out

    def _ways(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, _Taped]]:
        """Members and their runs, of which as many as there is room for have tapes at once."""
        known = self._known.get(_key(x))
        if known is not None and not known.tape.full:
            yield np.arange(len(x)), known
            return
        parts = list(self._batches(len(x)))
        while parts:
            members = parts.pop()
            taped = self._simulated(x[members], self._left())
            if taped.tape.full and len(members) > 1:
                parts.extend(np.array_split(members, 2))
                continue
            if taped.tape.full:
                raise _too_little(self.memory, taped.tape.used)
            yield members, taped

    def _adjoint(self, taped: _Taped, y_bar: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cotangents (B, P) of the numbers, the growth (B,) of those that were carried back, and jumps (B,) on the way
        that were followed."""
        begun = taped.begun
        prepared, lanes = begun.prepared, begun.lanes
        good, lost = np.flatnonzero(lanes.status <= 0), lanes.status > 0
        passages = self._jumps.passages(begun, self._met(taped))
        programs = self._programs(begun)
        way = WayBack(lanes, taped.notes, programs.backward, programs.adjoints, passages)
        seeds = self._seeds(y_bar, begun)
        count = len(begun.measured.units)
        measured = MeasuredAdjoint(begun.measured, lanes.settings.begin) if count else None
        if measured is not None:
            bars = np.zeros((count, len(y_bar)))  # those that count jumps have none
            bars[: len(self._metrics)] = y_bar[:, self.recorded :][:, : len(self._metrics)].T
            none = ~np.isfinite([*taped.result.metrics.values()]) & (bars != 0.0)  # as no crossing, which is no number
            way.bars.set("acc", measured.of_rows(lanes.measured_of(), np.where(lost | none, 0.0, bars)))
            lost = lost | none.any(0)
        lost = lost | _beyond_stops(lanes, seeds)
        way.go(seeds, good)
        taped.jumping, taped.missed = passages.uncertain, passages.missed
        way.begin(_unprojected(begun), seeds, good, measured)
        nv, ns = prepared.plan.nv, prepared.plan.ns
        q_bar, x_bar, p_bar = map(way.bars.rows, ("q", "x", "p"))
        start = self._start_of(begun)
        bars_of_numbers = start.adjoint(q_bar, x_bar[:nv], x_bar[nv : nv + ns])
        row = {place: k for k, place in enumerate(prepared.places)}
        for k, place in enumerate(prepared.setup.varied):
            if place in row:  # others are set by events alone
                bars_of_numbers[row[place]] += p_bar[k]
        asked = (y_bar != 0.0).any(1)  # nothing follows from what is masked out, whatever became of the member
        bars_of_numbers[:, lost] = np.where(asked[lost], np.nan, 0.0)
        order = {path: k for k, path in enumerate(prepared.vary)}
        return bars_of_numbers[[order[path] for path in self.vary]].T, way.growth, way.followed

    def _met(self, taped: _Taped) -> Met:
        """What the members of a run met of jumps."""
        if taped.met is None:
            taped.met = self._jumps.met(taped.begun, taped.result.metrics)
        return taped.met

    def _causes(self, taped: _Taped, asked: np.ndarray) -> tuple[Cause, ...]:
        """What makes slopes doubtful, of those outputs (B, M) of members that are asked for."""
        begun = taped.begun
        at_poses = causes_at_poses(begun, asked, self.recorded)
        of = {name: asked[:, self.recorded + k] for k, name in enumerate(self._metrics)}
        of_metrics = causes_of(begun.measured, begun.lanes.measured_of(), taped.jumping, of) if of else ()
        return (*of_metrics, *at_poses)

    def _groups(self, changes: np.ndarray) -> list[np.ndarray]:
        """Changes (K, B, M) of outputs, channel by channel and metric by metric."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes.values()] + [1] * len(self._metrics))
        return np.split(changes, ends, axis=2)[:-1]

    def _scaled(self, x: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Slopes (K, B, P) by parts of the numbers (B, P) that are differentiated; a part of 0 is 1."""
        with np.errstate(all="ignore"):  # a slope of 0 by an infinite number, or 1e200 by 1e200
            scaled = slopes * np.where(x == 0.0, 1.0, np.abs(x))
        return scaled[:, :, np.isin(self.vary, self.traced)]

    def _refined(self, taped: _Taped, x: np.ndarray, slopes: list[np.ndarray], at: _Finer) -> tuple[Cause, ...]:
        """Members whose slopes change at smaller steps, of those that pass a stop in few steps."""
        if not self._refines:
            return ()

        def finer(part: int, members: np.ndarray) -> list[np.ndarray]:
            if part not in self._finer:
                settings = self._begun.lanes.settings
                given = self._asked.changed(step=settings.h / part, output_step=settings.h * settings.every)
                self._finer[part] = DifferentiableRun(
                    self.model, self.vary, given, self.traced, warns=False, refines=False
                )
            return at(self._finer[part], members)

        stay = self._stops.stay(taped.result.metrics, self._jumps.jumping(self._met(taped)))
        return changes(stay, np.zeros(len(x), bool) if taped.missed is None else taped.missed, slopes, finer)

    def _doubt(self, runs: Sequence[_Ran], lost: np.ndarray, growth: np.ndarray) -> None:
        """Notes what a derivative does not tell by itself, and warns.

        Args:
            runs: that have all members. lost: (B,) that have none. growth: (K, B).
        """
        (count, ignored), where, messages_of_runs = np.zeros((2, len(lost)), int), [""] * len(lost), [""] * len(lost)
        causes = list[Cause]()
        for members, met, messages, followed, some in runs:
            count[members], ignored[members] = met.count, met.count - followed
            for cause in some:
                whole = np.zeros(len(lost), bool)
                whole[members] = cause.members
                causes.append(Cause(whole, cause.text))
            for k, member in enumerate(members.tolist()):
                where[member], messages_of_runs[member] = met.where[k], messages[k]
        greatest = np.fmax.reduce(growth, axis=0) if len(growth) else np.full(len(lost), np.nan)
        precision = self.static["settings"]["precision"]
        self.doubts = doubts_of(lost, messages_of_runs, ignored, count, where, greatest, precision, causes)
        if self._warns:
            warn(self.doubts)

    def _start_of(self, begun: Begun) -> StartDerivative:
        """That of a run; the last one is kept, since it serves all directions."""
        if self._start is None or self._start.start is not begun.start:
            self._start = StartDerivative(begun.prepared, begun.start, self.traced)
        return self._start

    def _of_values(self, begun: Begun, x: np.ndarray) -> np.ndarray:
        """(count, B) of `Prepared.values` from (B, P) of the varied numbers."""
        order = {path: k for k, path in enumerate((*self.vary, *self._constants))}
        whole = np.concatenate([x.T, np.zeros((len(self._constants), len(x)))])
        return np.ascontiguousarray(whole[[order[path] for path in begun.prepared.vary]])

    def _seeds(self, y_bar: np.ndarray, begun: Begun) -> np.ndarray:
        """(B, n, c) cotangents of what was recorded, 0 for members that ended early."""
        ended, parts, at = begun.lanes.status > 0, [], 0
        for shape in self._shapes.values():
            size = int(np.prod(shape))
            parts.append(y_bar[:, at : at + size].reshape(len(y_bar), shape[0], -1))
            at += size
        ticks = begun.lanes.settings.steps // begun.lanes.settings.every + 1
        seeds = np.concatenate([*parts, np.zeros((len(y_bar), ticks, 0))], axis=2)
        seeds[ended] = 0.0
        return np.ascontiguousarray(seeds, begun.lanes.table.dtype)

    # -- runs and their tapes ------------------------------------------------------------------------------------------

    @cached_property
    def memory(self) -> float:
        """Bytes that tapes may take."""
        memory = self.options.machine.tape_memory
        return SHARE * free_memory() if memory is None else float(memory)

    def _taped(self, x: np.ndarray) -> _Taped:
        """The run of some numbers; its tape may be full."""
        key = _key(x)
        if key not in self._known:
            while len(self._known) >= REMEMBERED:
                self._known.popitem(last=False)
            self._known[key] = self._simulated(x, self._left())
        self._known.move_to_end(key)
        return self._known[key]

    def _left(self) -> float:
        """Bytes for another tape, at least half of all: the oldest ones are forgotten for it."""
        while (used := sum(known.tape.size for known in self._known.values())) > self.memory / 2:
            self._known.popitem(last=False)
        return self.memory - used

    def _simulated(self, x: np.ndarray, memory: float) -> _Taped:
        watched: list[tuple[Begun, Tape]] = []

        def watch(begun: Begun) -> None:
            lanes = begun.lanes
            tape = Tape(self._spacing(begun, memory), memory)
            lanes.tape = tape
            tape.note(lanes, np.flatnonzero(lanes.status <= 0))
            watched.append((begun, tape))

        vary = {path: np.ascontiguousarray(x[:, k]) for k, path in enumerate(self.vary)}
        vary |= {path: np.full(len(x), number) for path, number in self._constants.items()}
        backend = self.options.machine.backend or "cpu"  # goes back there, and notes states for it on the way
        given = self.options.judged_by_estimates().changed(vary=vary, watch=watch, backend=backend)
        result = run_with(self.model, given)
        begun, tape = watched[0]
        tape.note(begun.lanes, np.arange(len(x)))
        return _Taped(begun, tape, result)

    def _spacing(self, begun: Begun, memory: float) -> int:
        """Steps between two notes of a lane: a leg's, or so many that all notes fit."""
        lanes = begun.lanes
        programs = self._programs(begun)
        longest = programs.backward.longest_of(programs.adjoints.layout, METHODS[lanes.setup.method])
        one = states_of(lanes) * lanes.table.dtype.itemsize * lanes.table.lanes
        return spacing(longest, one, lanes.settings.steps, memory)

    def _batches(self, members: int) -> Iterator[np.ndarray]:
        """Members in batches whose tapes have room for a few notes of each."""
        one = states_of(self._begun.lanes) * self._begun.lanes.table.dtype.itemsize
        size = int(max(1, min(members, self.memory / (8 * one))))
        for first in range(0, members, size):
            yield np.arange(first, min(first + size, members))

    def _programs(self, begun: Begun) -> DerivativePrograms:
        """The programs of derivatives of a run; the last ones are kept, since all runs of one code share them."""
        programs = begun.lanes.recordings[0].programs
        assert isinstance(programs, Programs)
        if self._derivatives is None or not self._derivatives.serve(programs):
            self._derivatives = self._built(programs, begun.lanes.kernel)
        return self._derivatives

    def _built(self, programs: Programs, kernel: Kernel) -> DerivativePrograms:
        """Programs of derivatives on a kernel; ModelError for a backend without."""
        backward = make_backward(kernel, self.options.machine.tape_memory)
        if backward is None:
            backend = repr(str(self.options.machine.backend))
            raise ModelError("backend", backend, '"cpu", "gpu" or "xla" for derivatives', "Leave backend out.")
        return DerivativePrograms(programs, kernel, backward)


def _key(x: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(x, float).tobytes()).digest() + str(x.shape).encode()


def _beyond_stops(lanes: Ensemble, seeds: np.ndarray) -> np.ndarray:
    """(B,) members of which something is asked after an event has stopped them, where it is no number; those cotangents
    (B, n, c) are taken away."""
    s = lanes.settings
    tick = np.arange(seeds.shape[1]) * s.every + s.before
    clock = lanes.clock_of()[:, None]  # fixed steps record nothing where an event is at their end
    beyond = (lanes.stopped >= 0)[:, None] & ((tick >= clock) if s.tolerance is None else (tick > clock))
    asked = (seeds != 0.0).any(2) & beyond
    seeds[beyond] = 0.0
    return np.asarray(asked.any(1))


def _too_little(memory: float, needed: float) -> ModelError:
    return ModelError(
        "tape_memory", f"{memory:.0f} bytes for the way back of a member", f"at least {needed:.0f}", "Give more."
    )


def _unprojected(begun: Begun) -> np.ndarray:
    """(nq + nx, B) coordinates and x of the assembled start."""
    start, quadratures = begun.start, len(begun.prepared.setup.quadratures)
    return np.concatenate([start.q, start.v, start.states, np.zeros((quadratures, start.q.shape[1]))])
