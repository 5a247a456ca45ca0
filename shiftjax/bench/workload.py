"""What is measured: an ensemble of one model, of which one number varies, and how it is run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.record import record
from shiftjax.run.file_integrator import completed
from shiftjax.run.options import NumericsOptions
from shiftjax.run.programs.integrators import FILE
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import DEFAULT_STEP, simulate

SPREAD = 0.2  # of the number that varies, to both sides
SPAN = 1.0  # s
WHOLE = 1e-6  # of a step: a span this near to whole steps has no part of one


@record
class Workload:
    """Runs of one model; see `simulate` for what they are told.

    Attributes:
        name: of the library, or a path. varied: the path of the number that varies over members. value: the file's.
        span: seconds. step: seconds, of fixed steps; None where a tolerance chooses them.
    """

    name: str
    model: Model
    varied: str
    value: float
    span: float = SPAN
    step: float | None = DEFAULT_STEP
    tolerance: float | None = None
    method: str | None = None
    precision: str = "f64"
    backend: str = "cpu"
    threads: int | None = None

    def values(self, members: int) -> np.ndarray:
        """(members,) of the number that varies; one member has the file's."""
        return self.value * (np.linspace(1.0 - SPREAD, 1.0 + SPREAD, members) if members > 1 else np.ones(1))

    def run(self, members: int, **more: Any) -> Result:
        """A whole call: so many members, first and last instant recorded, errors by the estimates of single runs, so
        that no member is run twice."""
        given = {
            "step": self.step, "tolerance": self.tolerance, "method": self.method, "precision": self.precision,
            "backend": self.backend, "threads": self.threads, "accuracy": "local", "output_step": self.span, **more,
        }  # fmt: skip
        return simulate(self.model, self.span, vary={self.varied: self.values(members)}, **given)

    def on(self, backend: str) -> Workload:
        """The same by another backend."""
        return replace(self, backend=backend)

    def settings(self) -> dict[str, Any]:
        """What figures depend on beside the machine."""
        names = ("varied", "span", "step", "tolerance", "method", "precision", "backend", "threads")
        return {"model": self.name, **{name: getattr(self, name) for name in names}}


def workload(source: str | Model, varied: str = "", **settings: Any) -> Workload:
    """A workload of a model.

    Args:
        source: a name of the library, a path, or a model. varied: the path of the number that varies; left out, that of
            `moving_mass`. settings: attributes of `Workload`; left out, the span is 1 s and
            the step 1 ms, or those of the file where these are smaller; of that span whole steps. The method "file" is
            what the integrator of the file asks for, with its tolerance.

    Raises:
        ModelError: no such model, none of its bodies has a mass, a span of a part of a step, no span, or the method
            "file" of a file that asks for none.
    """
    model = source if isinstance(source, Model) else load(source)
    name = source if isinstance(source, str) else model.name or "model"
    varied = varied or moving_mass(model, f"bench {name}")
    if settings.get("method") == FILE:
        given = {one: settings[one] for one in ("step", "tolerance", "method", "precision") if one in settings}
        numerics = completed(NumericsOptions(**given), model.settings)
        settings |= {"tolerance": numerics.tolerance, "method": numerics.method}
    span, step = settings.get("span"), settings.get("step")
    if step is None and settings.get("tolerance") is None:
        steps = (DEFAULT_STEP, model.settings.output_step, model.settings.span if span is None else None)
        step = min(one for one in steps if one)
    if span is None:
        span = whole_steps(_usual_span(model, name), step)
    settings |= {"span": span, "step": step}
    if step is not None and (span < step or abs(span / step - round(span / step)) > WHOLE):
        todo = "Change one of them."
        raise ModelError(f"bench {name}", f"a span of {span:g} s", f"whole steps of {step:g} s", todo)
    return Workload(name, model, varied, float(model.numbers()[varied]), **settings)


def _usual_span(model: Model, name: str) -> float:
    """The span where none is asked for [s].

    Raises:
        ModelError: that of the file is 0.
    """
    if model.settings.span == 0.0:
        todo = "Write a longer one into the file, or give --span."
        raise ModelError(f"bench {name}", "a time_span of 0 s in the file", "a span above 0 s", todo)
    return min(SPAN, model.settings.span or SPAN)


def whole_steps(span: float, step: float | None) -> float:
    """The longest span of whole steps that is no longer [s]; the span itself where a tolerance chooses steps, and where
    it is shorter than a step."""
    count = 0 if step is None else math.floor(span / step + WHOLE)
    return span if step is None or not count or abs(span / step - count) <= WHOLE else count * step


def moving_mass(model: Model, where: str) -> str:
    """The path of a mass that matters: that of the last body which no joint holds to ground, since its centre moves
    however it turns; else of the last one whose centre is away from its origin, else of the last.

    Raises:
        ModelError: no body has a mass.
    """
    bodies = {path: body for path, body in model.bodies() if body.mass > 0}
    if not bodies:
        raise ModelError(where, "no body with a mass", "a model that moves", "Give a body a mass.")
    ends = [(joint.parent.body, joint.child.body) for _, joint in model.joints()]
    on_ground = {one for pair in ends if "fixed" in pair for one in pair}
    carried = [path for path in bodies if path not in on_ground]
    away = [path for path, body in bodies.items() if any(body.center_of_mass)]
    return f"{(carried or away or [*bodies])[-1]}.mass"
