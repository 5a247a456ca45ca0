"""`Live`: one design that runs as long as somebody watches, while its numbers change and its bodies are pulled.

The same kernel, steps and repartitions as `simulate`, in small runs of steps. Between them numbers may change (loops
are closed again from where the mechanism stands, with the least move), and a body may be pulled by a spring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import shiftjax.run.advance.driver as driver
from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need, need_mapping, need_number, one_of, refuse_text
from shiftjax.formats.files import load
from shiftjax.kernels.backends import BACKENDS, make_kernel
from shiftjax.kernels.lane_table import ALL
from shiftjax.measures.channels import channels as channels_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.records import FIXED
from shiftjax.numerics.real_arrays import three_numbers
from shiftjax.outcome import REMEDY, Outcome
from shiftjax.poses import rotate
from shiftjax.record import record
from shiftjax.run.advance.accuracy import accumulated, energy_errors
from shiftjax.run.advance.first_lanes import begin
from shiftjax.run.advance.settings import Settings
from shiftjax.run.arguments import check_arguments
from shiftjax.run.closing.closer import CLOSED
from shiftjax.run.closing.host_evaluation import StartLane
from shiftjax.run.closing.walks import LaneOf
from shiftjax.run.derive import Formula, derived_columns, refuse_determined
from shiftjax.run.options import options_of
from shiftjax.run.programs.integrators import check_method
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.driven.drives import Drivable, covered, driven
from shiftjax.run.start.following import follow
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.physical import refuse_impossible
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.refusals import refuse_massless_motion, refuse_open_welds
from shiftjax.run.start.singular_starts import with_ways
from shiftjax.run.start.stated import Start
from shiftjax.run.topology_report import topology_report

PULL_RATE = 20.0  # rad/s of the spring: a body that nothing else holds hangs g / rate^2 = 2.5 cm below the hand
PULL_TIME = 8e-3  # s over which a pull is constant, or one step: short beside 1 / rate, so that its damping acts as one
IMMOBILE = 1e-12  # 1/kg: below, a point cannot be moved by a pull
WRENCH = 6  # numbers of a wrench from outside: force, moment
BODY = ("position", "orientation", "velocity", "angular_velocity")
WIDTH = 13  # numbers of `BODY`


@record
class LiveInstant:
    """A state to which a run can be set back."""

    time: float
    q: np.ndarray  # (nq,)
    v: np.ndarray  # (nv,)
    states: np.ndarray  # (ns,) of forces


@record
class Pull:
    """A spring from a point of a body to a point of the world."""

    body: str
    point: np.ndarray  # (3,) in the body [m]
    target: np.ndarray  # (3,) in the world [m]


class Live:
    """A running simulation of one design.

    Attributes:
        model: as it was given; values: path -> number now, of those that may change and those that follow from them.
        step: seconds; time: how far the run is [s].
        nodes: "fixed" and the bodies, in the order of poses; units: of the channels.
        report: the topology report of `shiftjax info --json`.
        pull: the spring that pulls now, or None; ended: what stopped the run, "" while it goes.
    """

    def __init__(
        self,
        model: Model | str,
        vary: Sequence[str] = (),
        *,
        step: float = 1e-3,
        channels: Sequence[str] = (),
        drive: Mapping[str, Drivable] | None = None,
        tie: Mapping[str, CoordinateFunction | str] | None = None,
        derive: Mapping[str, Formula] | None = None,
        method: str = "rk4",
        backend: str | None = None,
    ) -> None:
        """Compiles the model and puts it at its start.

        Args:
            model: a Model, a library name or a path. vary: paths of the numbers that may change.
            step: seconds. channels: paths to observe. method: "rk4" or "euler".
            drive: joint -> its motion, as of `simulate`, of one design. tie: as of `simulate`.
            derive: number path -> what it follows from, as of `simulate`; worked out at every change.

        Raises:
            ModelError: anything the model or the arguments make impossible.
        """
        check_arguments(derive=derive, tie=tie)
        check_method(method)
        one_of("backend", "cpu" if backend is None else backend, BACKENDS)
        refuse_text("vary", vary)
        refuse_text("channels", channels)
        need_number("step", step, "a positive number of seconds", above=0.0)
        model = model if isinstance(model, Model) else load(model)
        model, arrays, functions = driven(model, {} if drive is None else drive)
        if arrays:
            raise ModelError("drive", f"arrays for {listed(arrays)}", "one design", "Give one number each.")
        numbers = model.numbers()
        bodies = [path for path, _ in model.bodies()]
        seen = [f"{body}.{what}" for body in bodies for what in BODY]
        self.model, self._derive = model, dict(derive or {})
        wanted = {path: [numbers.get(model.resolve(path), 0.0)] for path in vary}
        refuse_determined(model, map(model.resolve, vary), "vary")
        options = options_of(method=method, drive=functions, tie=tie)
        prepared = prepare(model, self._derived(wanted), options, pulled=True)
        every = channels_of(prepared.plan, [*seen, *channels], model.resolve)
        refuse_open_welds(prepared)
        refuse_massless_motion(prepared, prepared.file_start)
        refuse_impossible(prepared.model, prepared.vary, prepared.values, strict=False)
        self._free = tuple(model.resolve(path) for path in vary)
        self.step, self.nodes = float(step), (FIXED, *bodies)
        self.report: dict[str, Any] = topology_report(prepared)
        self._prepared, self._programs = prepared, Programs(prepared.setup, every)
        ends = np.cumsum([0, *(channel.size for channel in every)])
        self._places = {one.path: slice(*ends[k : k + 2]) for k, one in enumerate(every)}
        self._channels = channels_of(prepared.plan, channels, model.resolve)
        self._pulled = [force.path for force in prepared.plan.forces if force.kind == "external_wrench"]
        self._kernel = make_kernel(backend, "f64", threads=1)
        self._wrench = np.zeros(WRENCH * len(bodies))
        self.units = {channel.path: channel.unit for channel in self._channels}
        self.pull: Pull | None = None
        self.restart()

    # -- the run -----------------------------------------------------------------------------------------------------

    @property
    def values(self) -> dict[str, float]:
        """Path -> value of every number that may change or follows from others."""
        return {path: float(value[0]) for path, value in zip(self._prepared.vary, self._prepared.values, strict=True)}

    def restart(self, values: Mapping[str, float] | None = None) -> None:
        """From the model's start, with other numbers where given.

        Raises:
            ModelError: no such number, or loops that do not close with them; the run is then as it was.
        """
        given = {} if values is None else values
        prepared = self._with(given)
        start = with_ways(prepared, start_of(prepared))
        if not start.closed[0]:
            raise _open(_described(given), float(start.gap[0]))
        self.pull, self._wrench = None, np.zeros_like(self._wrench)
        self._begin(prepared, start, 0.0)

    def change(self, values: Mapping[str, float]) -> None:
        """Goes on with other numbers from where the mechanism stands; those of a start count at the next one.

        Raises:
            ModelError: as of `restart`.
        """
        self._stand(self._with(values), self.instant(), _described(values))

    def set_back(self, instant: LiveInstant) -> None:
        """Goes on from an instant of this run, with the numbers as they are now.

        Raises:
            ModelError: loops that these numbers do not close there; the run is then as it was. No such instant.
        """
        need("Live.set_back: instant", instant, LiveInstant, "an instant that `instant()` gave")
        self._stand(self._prepared, instant, f"the instant at {instant.time:g} s")

    def advance(self, seconds: float) -> None:
        """Runs on for about that long [s], at least a step; a run that has ended stays.

        Raises:
            ModelError: no finite number.
        """
        need_number("Live.advance: seconds", seconds, "a finite number of seconds")
        left = max(1, round(seconds / self.step))
        while left > 0 and not self.ended:
            steps = left
            if self.pull is not None:
                steps = min(left, max(1, round(PULL_TIME / self.step)))
                self._push(self._spring(self.pull))
            if np.isfinite(self._until):
                steps = min(steps, round((self._until - self.time) / self.step))
            if steps < 1:
                self.ended = f"the table of {self._shortest} ends at {self._until:g} s"
                break
            driver.run_to(self._lanes, steps)
            done = int(self._lanes.clock_of()[0])
            self._lanes.settings.t0 += done * self.step
            self._lanes.table.set("clock", 0.0)
            self._lanes.tried_at[:] = -1.0
            left -= done
            self.ended = REMEDY[Outcome(int(self._lanes.status[0]))] if self._lanes.status[0] > 0 else ""
        self._observe()

    @property
    def time(self) -> float:
        """[s]"""
        return self._lanes.settings.t0

    def instant(self) -> LiveInstant:
        """The state now."""
        plan, table = self._prepared.plan, self._lanes.table
        q, x = (table.rows(name)[:, 0].astype(float) for name in ("q", "x"))
        return LiveInstant(self.time, q, x[: plan.nv], x[plan.nv : plan.nv + plan.ns])

    # -- what is seen ------------------------------------------------------------------------------------------------

    def poses(self) -> np.ndarray:
        """(nodes, 7): position [m] and quaternion, w first; ground is the first."""
        ground = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
        return np.concatenate([ground, self._seen[: WIDTH * (len(self.nodes) - 1)].reshape(-1, WIDTH)[:, :7]])

    def channels(self) -> dict[str, np.ndarray]:
        """Channel -> () or its own shape."""
        values = {channel.path: self._seen[self._places[channel.path]] for channel in self._channels}
        return {one.path: values[one.path][0] if one.scalar else values[one.path] for one in self._channels}

    def certificate(self) -> dict[str, float]:
        """Largest loop gap [m] and smallest pivot ratio since the run began or its numbers changed, and the
        error of the energy balance in parts of the largest energy."""
        acc = {name: float(value) for name, (value,) in accumulated(self._lanes).items()}
        (energy,) = energy_errors(self._lanes)
        ratio = max(acc["squared_condition"], 1.0) ** -0.5
        return {"gap": acc["gap"], "pivot_ratio": ratio, "energy_error": float(energy)}

    # -- pulling -----------------------------------------------------------------------------------------------------

    def grab(self, body: str, point: np.ndarray, target: np.ndarray) -> None:
        """Pulls a body's point (3,) [m, in the body] towards a point of the world (3,) [m], until `let_go`.

        The spring is critically damped with the rate `PULL_RATE` for the point's mass, which is the least that the
        mechanism shows there in any direction: 1 / largest eigenvalue of J M^-1 J^T (Khatib 1987, operational space).

        Raises:
            ModelError: no such body, or no points.
        """
        one_of("body to pull", body, self.nodes[1:])
        places = (("point", point), ("target", target))
        self.pull = Pull(body, *(three_numbers(f"pull of {body}: {name}", given) for name, given in places))

    def let_go(self) -> None:
        """Ends the pull."""
        self.pull = None
        self._push(np.zeros(len(self._wrench)))

    def _spring(self, pull: Pull) -> np.ndarray:
        """All wrenches for a pull now; at a dead point, where its mass has no bound, it is that of all bodies."""
        now, rate = self.values, PULL_RATE * min(1.0, PULL_TIME / self.step)
        whole = sum(now.get(f"{path}.mass", body.mass) for path, body in self.model.bodies())
        mass = min(self._mass_at(pull), whole)
        arm, speed = self._point(pull)
        gap = pull.target - self._body(pull)[:3] - arm
        force = mass * (rate**2 * gap - 2 * rate * speed)
        return self._on(pull, force, arm)

    def _mass_at(self, pull: Pull) -> float:
        """Mass [kg] that a point shows, from what unit forces on it add to the accelerations; 0 where it is fixed."""
        v, table = slice(self._prepared.plan.nv), self._lanes.table
        before, wrench = table.copy(), self._wrench
        arm, _ = self._point(pull)
        answers = []
        for force in (np.zeros(3), *np.eye(3)):
            self._push(self._on(pull, force, arm))
            answers.append(table.rows("dx", within=v)[:, 0].copy())
        mobility = np.zeros((3, 3))
        for k, answer in enumerate(answers[1:]):
            table.set("x", (answer - answers[0])[:, None], within=v)  # as speeds, which are seen at the point
            mobility[:, k] = self._point(pull)[1]
        table.put(ALL, before)
        self._wrench = wrench
        largest = float(np.linalg.eigvalsh(0.5 * (mobility + mobility.T))[-1])
        return 1.0 / largest if largest > IMMOBILE else 0.0

    def _point(self, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
        """Arm from the body's origin to the pulled point [m] and the point's velocity [m/s], in the world."""
        self._observe()
        seen = self._body(pull)
        arm = rotate(seen[:7], pull.point)
        return arm, seen[7:10] + np.cross(seen[10:], arm)

    def _body(self, pull: Pull) -> np.ndarray:
        """(13,) what was seen of the pulled body, in the order of `BODY`."""
        at = self.nodes.index(pull.body) - 1
        return self._seen[WIDTH * at : WIDTH * (at + 1)]

    def _on(self, pull: Pull, force: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """All wrenches, of which one is not zero: a force at the pulled point."""
        out = np.zeros_like(self._wrench)
        first = WRENCH * self._pulled.index(pull.body)
        out[first : first + WRENCH] = [*force, *np.cross(arm, force)]
        return out

    def _push(self, wrench: np.ndarray) -> None:
        """Sets all wrenches, and the accelerations that they make."""
        self._wrench = wrench
        self._lanes.table.set("p", wrench[:, None], within=slice(-len(wrench), None))
        if not self.ended:
            self._lanes.evaluate("accelerate", np.arange(1))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _with(self, values: Mapping[str, float]) -> Prepared:
        """What was prepared, with other numbers."""
        need_mapping("numbers to change", values)
        now = self.values
        for path, value in values.items():
            full = self.model.resolve(path)
            one_of("number to change", full, self._free)
            need_number(full, value, "a finite number")
            now[full] = float(value)
        every = self._derived({path: [now[path]] for path in self._free})
        new = np.array([every[path] for path in self._prepared.vary], float).reshape(-1, 1)
        refuse_impossible(self.model, self._prepared.vary, new, strict=False)
        return replace(self._prepared, values=new)

    def _derived(self, free: Mapping[str, list[float]]) -> Mapping[str, Any]:
        """The numbers of this design, (1,) each, with those that follow from others."""
        if not (self._derive or self.model.expressions):
            return free
        every = derived_columns(self.model, free, self._derive)
        for path, (value,) in every.items():
            if not np.isfinite(value):
                raise ModelError(f"derive {path}", f"{value:g}", "a finite number", "Correct it, or change less.")
        return every

    def _between(self, prepared: Prepared, time: float) -> LaneOf:
        """Members and fraction -> the lane so far from the numbers of now to those of `found`, at a time."""

        def lane_of(members: np.ndarray, fraction: float | np.ndarray) -> StartLane:
            numbers = list(prepared.lane_of(members, 1.0).params.numbers)
            for place, old, new in zip(prepared.places, self._prepared.values, prepared.values, strict=True):
                numbers[place] = old[members] + fraction * (new - old)[members]
            return replace(prepared.with_numbers(numbers), t=time)

        return lane_of

    def _stand(self, prepared: Prepared, instant: LiveInstant, where: str) -> None:
        """Goes on from an instant, its loops closed again with the least move."""
        q, gap = follow(prepared.plan, self._between(prepared, instant.time), instant.q[:, None])
        if not gap[0] <= CLOSED * max(1.0, prepared.setup.length):
            raise _open(where, float(gap[0]))
        start = Start.standing(q, instant.v[:, None], instant.states[:, None], np.ones(1, bool), gap)
        self._begin(prepared, start, instant.time)

    def _begin(self, prepared: Prepared, start: Start, time: float) -> None:
        """A fresh lane at a start; speeds are projected onto the loops there."""
        multiplier = self.model.settings.infinity_norm_multiplier
        forever = 1 << 40  # steps: there is no end before which steps could not be moved, and no recording inside
        settings = Settings(self.step, forever, forever, time, multiplier)
        blocks = partitions(prepared, start, multiplier)
        numbers = dict(zip(prepared.places, prepared.values[:, 0], strict=True))
        read = prepared.setup.varied[: len(prepared.setup.varied) - len(self._wrench)]
        p = np.concatenate([[numbers[place] for place in read], self._wrench])[:, None]
        everyone = [(self._programs, np.arange(1))]
        self._lanes = begin(self._kernel, settings, start, p, start.closed, blocks, everyone)
        self._prepared = prepared
        _, self._until, self._shortest, _ = covered(prepared.plan, prepared.lane_of(np.arange(1), 1.0))
        self.ended = REMEDY[Outcome(int(self._lanes.status[0]))] if self._lanes.status[0] > 0 else ""
        self._observe()

    def _observe(self) -> None:
        self._lanes.evaluate("observe", np.arange(1))
        self._seen = self._lanes.recordings[0].out[0, 0].astype(float)


def _described(values: Mapping[str, float]) -> str:
    return ", ".join(f"{path} = {float(value):g}" for path, value in values.items()) or "the start"


def _open(where: str, gap: float) -> ModelError:
    return ModelError(where, f"loops that stay open by {gap:.3g} (m or rad)", "loops that close", "Take other numbers.")


__all__ = ["LiveInstant", "Live", "Pull"]
