"""Lane code of events, with how fast a lane comes to their zeros.

The values at both ends of a step do not tell whether it has been beyond a zero and back; with their rates they do
(`kernels.guards.turn`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shiftjax.algebra import Scalar, Vec
from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.forces import FORCES
from shiftjax.forces.kind import MotionView
from shiftjax.lanes.composed import Composed, Traced, Values
from shiftjax.lanes.graph import Graph
from shiftjax.run.programs.setup import Setup
from shiftjax.topology.plan import Plan

LaneFunction = Callable[[list[Scalar]], Vec]


def switches(plan: Plan, motion: MotionView) -> Vec:
    """Where forces go from one law to another: the argument less the knot of every switch."""
    return [switch.beyond for force in plan.forces for switch in FORCES[force.kind].switches(force, motion)]


def values_and_rates(setup: Setup, sizes: Mapping[str, int], function: LaneFunction) -> Graph:
    """The values of a function of the state and the accelerations, then their rates a second.

    0 stands for the rate of what depends on accelerations, whose rates nobody knows, and of what has no derivative;
    states of forces are taken to rest.

    Args:
        sizes: of the lists of the state, "q", "v" and "t" among them, as the function reads them one after the other.
    """
    sizes = {**sizes, "a": setup.plan.nv}

    def values(lists: Values) -> Values:
        return {"value": function([one for some in lists.values() for one in some])}

    def drift(lists: Values) -> Values:
        return {"qdot": coordinate_rates(setup.plan, lists["q"], lists["v"])}

    of, coordinates = Traced(values, sizes, setup.precision), Traced(drift, sizes, setup.precision)
    composed = Composed(sizes, [of.graph, coordinates.graph])
    inputs, zero = composed.inputs, composed.graph.const(0.0)
    out = composed.values(of, ["value"], inputs)["value"]
    qdot = composed.values(coordinates, ["qdot"], inputs)["qdot"]
    try:
        along = {"q": qdot, "v": inputs["a"], "t": [composed.graph.const(1.0)]}
        rates = composed.tangents(of, ["value"], [along], inputs)[0]["value"]
    except NotImplementedError:
        rates = [zero] * len(out)
    unknown = _accelerated(of)
    return composed.finished([*out, *(zero if k in unknown else rate for k, rate in enumerate(rates))])


def _accelerated(of: Traced) -> set[int]:
    """Which values depend on accelerations."""
    places = of.places("a")
    return {
        k
        for k, ref in enumerate(of.outputs["value"])
        if any(node[0] == "in" and node[1] in places for node in of.of([ref]).nodes)
    }
