"""Where a joint begins, as a function of numbers: loops close, and what is stated stands where it is stated. Host code.

Joints that stand where they are stated take what freedom there is; their places are numbers, too. A start that they do
not decide, as the nearest one to what a file states, and one that the loops do not allow as stated, have no slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftjax.algebra import Vec
from shiftjax.dynamics.lane import Lane
from shiftjax.gradients.implicit import Solutions
from shiftjax.run.closing.equations import Equations, closures
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start


@dataclass(frozen=True)
class JointBeginning:
    """Where a coordinate begins, of the members of a model that nothing leads.

    Attributes:
        prepared, stated: the model, and how members begin there. path: of the coordinate.
    """

    prepared: Prepared
    stated: Start
    path: str

    def solutions(self, q: np.ndarray, members: np.ndarray, order: Sequence[str]) -> Solutions:
        """How the place follows from numbers, of some members that begin at (nq, K); answer 0 of each.

        Args:
            order: paths of the numbers of all members, as columns.
        """
        prepared, plan = self.prepared, self.prepared.plan
        moved = next(one for one in plan.coordinates if one.path == self.path)
        every = [(s, plan.coordinates[k]) for s, joints in enumerate(self.stated.held_positions) for k in joints]
        within = [s for s, block in enumerate(plan.substructures) if moved.v in block.columns]
        resting = [one for s, one in every if s in within] or ([] if within else [moved])
        still = {speed for one in resting for speed in range(one.v, one.v + one.nv)}
        unknown = [speed for s in within for speed in plan.substructures[s].columns if speed not in still]

        def function(lane: Lane, at: Vec, _: Vec) -> tuple[Vec, Vec]:
            return closures(lane, at, within, drivers=True), [at[moved.q]]

        columns = [order.index(path) if path in order else -1 for path in prepared.vary]
        of_number = dict(zip(prepared.places, columns, strict=True))
        standing = [one for one in resting if one.nq == 1]
        equations = Equations.of(
            prepared.setup,
            prepared.own_numbers,
            prepared.places,
            unknown,
            function,
            standing=[one.q for one in standing],
        )
        columns += [of_number.get(one.start[0], -1) for one in standing]
        turned = any(place in of_number for one in resting if one.nq > 1 for place in one.start)
        stands = np.full(len(members), not turned)
        for s in within:
            stands &= self.stated.holds[s, members] == len(self.stated.held_positions[s])
        x = equations.inputs(q, prepared.values[:, members])
        return Solutions(equations, x, columns, members, [0], stands)
