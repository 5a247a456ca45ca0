"""Metrics of a path of poses: accumulated from pose to pose, with the parameter of the path for the time. Host code.

Between two poses coordinates follow the curve of the fifth degree through both, their rates and second derivatives
(`measures.step_path`), so that extremes, crossings and integrals are as exact as it, to the sixth power of a stride.
Along even paths the kernel takes every stride; along others it knows the rates of the line between two poses only, so
that the metrics take the poses alone, with the rates of the path there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from shiftjax.errors import ModelError
from shiftjax.kinematics.paths.inputs import Inputs
from shiftjax.measures.run_metrics import Definition, Metrics
from shiftjax.measures.step_path import StepPath
from shiftjax.run.advance.ensemble import CERTIFICATE, Ensemble
from shiftjax.topology.plan import Plan

# Of the strides that lead a path, those that are measured along an even one: 2.5 degrees of a driver. The swing of a
# rocker of 39 degrees, a turn of its crank in 73 poses, is off by 2e-10 degrees; in strides of 5 by 1e-8.
MEASURED = 0.25
ORDER = 2  # of the derivatives that the motion between two poses is made of


def path_metrics(
    wanted: Mapping[str, Definition] | None,
    plan: Plan,
    resolve: Callable[[str], str],
    inputs: Inputs,
    precision: str = "f64",
    order: int = ORDER,
) -> Metrics:
    """The metrics of a path.

    Raises:
        ModelError: what is no metric; texts of paths without accelerations, or whose parameter goes to and fro; values
            at a place of a parameter that falls.
    """
    begin, end = float(inputs.parameter[0]), float(inputs.parameter[-1])
    span = (min(begin, end), max(begin, end))
    measured = Metrics(
        wanted, plan, resolve, span, path=StepPath(plan, precision), unit_of_time=inputs.unit_of_rates
    )  # fmt: skip
    if not measured.terms:
        return measured
    name = f"metric {next(iter(measured.texts))}"
    if order < ORDER:
        fault = f"a text, with order={order}"
        raise ModelError(name, fault, f"order={ORDER}, by whose rates poses are joined", "Leave order out.")
    steps = np.diff(inputs.parameter)
    if not (steps > 0.0).all() and not (steps < 0.0).all():
        todo = f"Lead it one way, or give times, as np.linspace(0, 1, {inputs.count})."
        raise ModelError(name, f"a path along which {inputs.name} goes to and fro", "one that rises or falls", todo)
    placed = [term.name for term in measured.terms.values() if {"time", "times"} & term.stated.keys()]
    if placed and not (steps > 0.0).all():
        todo = "Lead it the other way round."
        raise ModelError(name, f"{placed[0]} along a path on which {inputs.name} falls", "a parameter that rises", todo)
    return measured


def begin_metrics(lanes: Ensemble, members: np.ndarray) -> None:
    """The metrics of some members begin at the pose where they stand; the certificate stays as it is."""
    certificate = lanes.certificate_of(members).copy()
    lanes.begin_metrics(members)
    lanes.table.set("acc", certificate, members, CERTIFICATE)


def take_pose(lanes: Ensemble, members: np.ndarray) -> None:
    """The metrics of some members go on to the pose where they stand; the certificate stays as it is."""
    certificate = lanes.certificate_of(members).copy()
    lanes.evaluate("accumulate", members)
    lanes.table.set("acc", certificate, members, CERTIFICATE)
