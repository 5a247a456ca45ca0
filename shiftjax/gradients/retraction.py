"""The way from unprojected to projected coordinates and back, as graphs."""

from __future__ import annotations

from shiftjax.dynamics.kinematics import change_between, retract
from shiftjax.lanes.composed import Traced, Values
from shiftjax.run.programs.setup import Setup


def retraction(setup: Setup) -> Traced:
    """The projected coordinates of a change of the unprojected ones, which is 0 without loops."""
    plan = setup.plan

    def run(s: Values) -> Values:
        return {"q": retract(plan, s["q"], dict(enumerate(s["change"])) if plan.substructures else {})}

    return Traced(run, {"q": plan.nq, "change": plan.nv}, setup.precision)


def change_of_coordinates(setup: Setup) -> Traced:
    """The change from the unprojected to the projected coordinates."""

    def run(s: Values) -> Values:
        return {"change": change_between(setup.plan, s["q"], s["end_q"])}

    return Traced(run, {"q": setup.plan.nq, "end_q": setup.plan.nq}, setup.precision)
