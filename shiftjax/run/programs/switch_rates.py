"""Where forces go from one law to another, and how fast a lane comes there: lane code of all switches and their rates.

The values at both ends of a step do not tell whether it has been beyond a switch and back; with their rates they do
(`kernels.guards.turn`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.dynamics.kinematics import coordinate_rates
from shiftjax.forces import FORCES
from shiftjax.lanes.composed import Composed, Traced, Values
from shiftjax.lanes.graph import Graph
from shiftjax.run.programs.setup import Setup


def switch_graph(setup: Setup, sizes: Mapping[str, int]) -> Graph:
    """The values of all switches, then their rates a second.

    A switch that changes with time itself at a pose that rests has a rate that leaves this out.

    Args:
        sizes: of the lists of the state; "q", "v", "p", "t" are read. After them the accelerations come in.
    """
    plan = setup.plan

    def switches(values: Values) -> Values:
        motion = setup.lane(values["p"], values["t"][0]).motion(values["q"], values["v"])
        every = (switch for force in plan.forces for switch in FORCES[force.kind].switches(force, motion))
        return {"beyond": [switch.beyond for switch in every]}

    def drift(values: Values) -> Values:
        return {"qdot": coordinate_rates(plan, values["q"], values["v"])}

    of, rates = Traced(switches, sizes, setup.precision), Traced(drift, sizes, setup.precision)
    composed = Composed({**sizes, "a": plan.nv}, [of.graph, rates.graph])
    inputs = composed.inputs
    beyond = composed.values(of, ["beyond"], inputs)["beyond"]
    qdot = composed.values(rates, ["qdot"], inputs)["qdot"]
    (change,) = composed.tangents(of, ["beyond"], [{"q": qdot, "v": inputs["a"]}], inputs)
    return composed.finished([*beyond, *change["beyond"]])
