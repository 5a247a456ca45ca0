"""Systems of equations F(x, p) = 0 of a mechanism, and answers y(x, p): values, slopes, solutions of many members.

Problem: what is asked of a mechanism often is a solution of smooth equations: a pose of closures, the end of a travel
of closures and of a multiplier of each. Unknowns are displacements of some speeds from given coordinates, so that
balls need no equation more, and other numbers beside them; what the equations depend on are numbers of the model and
places of coordinates that are no unknowns. Written once, as lane code, a system has its slopes by its graph: those by
unknowns make Newton's method, those by numbers make slopes of answers (`gradients.implicit`).

From a system others are made: where an answer is `stationary` on the equations (Lagrange), and where several answers
lose rank together on them (`singular`), which is a curve where the answers are two and the freedoms, too.

Host code. All is dimensionless but the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shiftjax.algebra import Scalar, Vec
from shiftjax.constraints import scales
from shiftjax.dynamics.kinematics import Parameters, retract, speed_units
from shiftjax.dynamics.lane import Lane
from shiftjax.lanes.building import graph_of
from shiftjax.lanes.forward import forward
from shiftjax.lanes.graph import Graph, copy_into, without_dead_code
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.lanes.reverse import reverse
from shiftjax.run.closing.closer import STEP_ANGLE
from shiftjax.run.closing.host_evaluation import retract as retracted
from shiftjax.run.programs.setup import Setup, with_values
from shiftjax.topology.partition import RANK
from shiftjax.topology.plan import Plan

SOLVED = 1e-13  # of residuals
ITERATIONS = 30
Function = Callable[[Lane, Vec, Vec], tuple[Vec, Vec]]  # lane, coordinates, other unknowns -> equations, answers


@dataclass(frozen=True)
class SystemLayout:
    """The inputs of the graph of a system, in this order.

    Attributes:
        plan: of nq coordinates. length: of the model [m]. places: of the numbers that may differ, in the plan's.
        columns: speeds that are unknown. others: how many unknowns there are beside them. standing: coordinates by
            which answers have slopes, too; no unknowns.
    """

    plan: Plan
    length: float
    places: tuple[int, ...]
    columns: tuple[int, ...]
    others: int
    standing: tuple[int, ...] = ()
    given: int = 0

    @property
    def first(self) -> int:
        """Of the unknowns."""
        return self.plan.nq + len(self.places) + self.given

    @property
    def unknowns(self) -> int:
        return len(self.columns) + self.others

    @property
    def count(self) -> int:
        return self.first + self.unknowns

    @property
    def parameters(self) -> list[int]:
        """Inputs by which answers have slopes: the numbers, those that are given, then coordinates that stand."""
        return [*range(self.plan.nq, self.first), *self.standing]

    @property
    def units(self) -> list[float]:
        """Of the speeds that are unknown."""
        every = scales(speed_units(self.plan), self.length)
        return [every[k] for k in self.columns]


class Equations:
    """A system; made by `of`.

    Attributes:
        graph: of the inputs of the layout; its outputs are `rows` equations, then answers.
    """

    def __init__(self, layout: SystemLayout, graph: Graph, rows: int) -> None:
        self.layout, self.graph, self.rows = layout, graph, rows
        self.answers = len(graph.outputs) - rows

    @classmethod
    def of(
        cls,
        setup: Setup,
        numbers: Sequence[float],
        places: Sequence[int],
        columns: Sequence[int],
        function: Function,
        *,
        others: int = 0,
        standing: Sequence[int] = (),
        given: int = 0,
    ) -> Equations:
        """The system of a lane function of a lane, coordinates (nq,) and other unknowns, behind which the numbers stand
        that are given.

        Args:
            numbers: of the model, in the order of the plan's. places, columns, others, standing, given: of the layout.
        """
        layout = SystemLayout(setup.plan, setup.length, tuple(places), tuple(columns), others, tuple(standing), given)
        rows: list[int] = []

        def whole(x: list[Scalar]) -> Vec:
            plan, moved = layout.plan, x[layout.first : layout.first + len(layout.columns)]
            last = plan.nq + len(layout.places)
            every = with_values(numbers, layout.places, x[plan.nq : last])
            lane = Lane(plan, Parameters(every, setup.matrices), setup.length, setup.functions, 0.0)
            change = {k: unit * d for k, unit, d in zip(layout.columns, layout.units, moved, strict=True)}
            q = retract(plan, x[: plan.nq], change)
            others = [*x[layout.first + len(layout.columns) :], *x[last : layout.first]]
            equations, answers = function(lane, q, others)
            rows[:] = [len(equations)]
            return [*equations, *answers]

        graph = graph_of(whole, layout.count)
        return cls(layout, graph, rows[0])

    # -- other systems ------------------------------------------------------------------------------------------------

    def stationary(self, answer: int) -> Equations:
        """Where an answer is stationary on the equations: its slopes by the unknowns are multiples of theirs.

        A multiplier of each equation is an unknown more; grad y = sum lambda grad F.
        """
        return self._with_multipliers(lambda new, k: new.const(float(k == answer)), {}, normed=False, sign=1)

    def singular(self, answers: Sequence[int]) -> Equations:
        """Where some answers lose rank together with the equations: sum w grad (F, y) = 0 of a unit vector w.

        The numbers of w are unknowns: those of the equations, then those of the answers.
        """
        weights = {k: self.rows + i for i, k in enumerate(answers)}
        return self._with_multipliers(lambda new, _: new.const(0.0), weights, normed=True, sign=0)

    def holding(self, answers: Sequence[int]) -> Equations:
        """With some answers, that stay answers, as equations more: they vanish."""
        equations, every = self.graph.outputs[: self.rows], self.graph.outputs[self.rows :]
        return self._with_outputs([*equations, *(every[k] for k in answers)], every)

    def answering(self, answers: Sequence[int]) -> Equations:
        """With some of the answers alone."""
        equations, every = self.graph.outputs[: self.rows], self.graph.outputs[self.rows :]
        return self._with_outputs(equations, [every[k] for k in answers])

    def _with_outputs(self, equations: Sequence[int], answers: Sequence[int]) -> Equations:
        new = Graph(signed_zeros=self.graph.signed_zeros)
        copies = copy_into(new, self.graph)
        new.outputs = [copies[ref >> 1] ^ (ref & 1) for ref in (*equations, *answers)]
        return Equations(self.layout, without_dead_code(new), len(equations))

    def _with_multipliers(
        self, known: Callable[[Graph, int], int], weights: dict[int, int], *, normed: bool, sign: int
    ) -> Equations:
        """Equations beside which the cotangents of the unknowns vanish.

        Args:
            known: the cotangent of an answer that is no unknown; weights: answer -> which unknown more its cotangent
                is. normed: whether the squares of the unknowns that are new add up to 1. sign: 1 where cotangents of
                equations are minus the unknowns.
        """
        old, count = self.layout, self.rows + len(weights)
        layout = replace(old, others=old.others + count)
        new = Graph(signed_zeros=self.graph.signed_zeros)
        w = [new.node("in", old.count + k) for k in range(count)]

        def input_of(k: int) -> int:
            if k < old.count:
                return new.node("in", k)
            row = k - old.count
            if row < self.rows:
                return w[row] ^ sign
            answer = row - self.rows
            return w[weights[answer]] if answer in weights else known(new, answer)

        values = copy_into(new, self.graph)
        outputs = [values[ref >> 1] ^ (ref & 1) for ref in self.graph.outputs]
        back = reverse(self.graph, old.count, range(old.first, old.count))
        copies = copy_into(new, back, input_of)
        slopes = [copies[ref >> 1] ^ (ref & 1) for ref in back.outputs]
        norm: list[int] = []
        if normed:
            total = new.const(-1.0)
            for one in w:
                total = new.add(total, new.mul(one, one))
            norm = [total]
        new.outputs = [*slopes, *outputs[: self.rows], *norm, *outputs[self.rows :]]
        return Equations(layout, without_dead_code(new), len(slopes) + self.rows + len(norm))

    # -- values and slopes --------------------------------------------------------------------------------------------

    def inputs(self, q: np.ndarray, p: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
        """(count, B) at coordinates (nq, B), numbers (P, B), those that are given behind them, and other unknowns,
        displacements zero."""
        x = np.zeros((self.layout.count, q.shape[1]))
        x[: len(q)], x[len(q) : self.layout.first] = q, p
        if others is not None:
            x[self.layout.count - self.layout.others :] = others
        return x

    def values(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations (B, E) and answers (B, M) at inputs (count, B)."""
        out = self._run(self._values, x, len(self.graph.outputs))
        return out[: self.rows].T, out[self.rows :].T

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By the unknowns: (B, E, U) and (B, M, U)."""
        E, M, U, B = self.rows, self.answers, self.layout.unknowns, x.shape[1]
        out = self._run(self._by_unknowns, x, U * (E + M)).reshape(U, E + M, B)
        return out[:, :E].transpose(2, 1, 0).copy(), out[:, E:].transpose(2, 1, 0).copy()

    def tangent(self, x: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, E) and (B, M) changes with parameters (T, B), unknowns as they are."""
        out = self._run(self._along, np.concatenate([x, change]), len(self.graph.outputs))
        return out[: self.rows].T, out[self.rows :].T

    def adjoint(self, x: np.ndarray, bars: np.ndarray) -> np.ndarray:
        """(T, B) cotangents of parameters from those (E + M, B) of equations and answers, unknowns as they are."""
        return self._run(self._back, np.concatenate([x, bars]), len(self.layout.parameters))

    @staticmethod
    def _run(code: InNumpy, x: np.ndarray, outputs: int) -> np.ndarray:
        out = np.empty((outputs, x.shape[1]))
        code.into(list(x), list(out))
        return out

    @cached_property
    def _values(self) -> InNumpy:
        return InNumpy(self.graph)

    @cached_property
    def _by_unknowns(self) -> InNumpy:
        layout, every = self.layout, range(len(self.graph.outputs))
        U, unknowns = layout.unknowns, range(layout.first, layout.count)
        tangents = forward(self.graph, layout.count, unknowns, every, U)
        new = Graph(signed_zeros=tangents.signed_zeros)

        def input_of(k: int) -> int:
            """Directions are those of single unknowns, so that most of what they meet is zero."""
            if k < layout.count:
                return new.node("in", k)
            direction, unknown = divmod(k - layout.count, U)
            return new.const(float(direction == unknown))

        copies = copy_into(new, tangents, input_of)
        new.outputs = [copies[ref >> 1] ^ (ref & 1) for ref in tangents.outputs[len(every) :]]
        return InNumpy(without_dead_code(new))

    @cached_property
    def _along(self) -> InNumpy:
        every = range(len(self.graph.outputs))
        tangents = forward(self.graph, self.layout.count, self.layout.parameters, every, 1)
        tangents.outputs = tangents.outputs[len(every) :]
        return InNumpy(without_dead_code(tangents))

    @cached_property
    def _back(self) -> InNumpy:
        return InNumpy(reverse(self.graph, self.layout.count, self.layout.parameters))

    # -- solutions ----------------------------------------------------------------------------------------------------

    def solved(
        self, q: np.ndarray, p: np.ndarray, others: np.ndarray | None = None, iterations: int = ITERATIONS
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Newton's method of least changes from coordinates (nq, B) and other unknowns, numbers (P, B).

        Returns:
            coordinates (nq, B), other unknowns and the largest residual (B,), infinite where it is no number. A member
            that does not come nearer any more stays where it was nearest.
        """
        x, n = self.inputs(q, p, others), len(self.layout.columns)
        best, size = x.copy(), np.full(x.shape[1], np.inf)
        going = np.arange(x.shape[1])
        for _ in range(iterations):
            F, _ = self.values(x[:, going])
            now = np.where(np.isfinite(F).all(1), np.abs(F).max(1, initial=0.0), np.inf)
            better = now < size[going]
            best[:, going[better]], size[going[better]] = x[:, going[better]], now[better]
            stuck = ~better & (now <= 1e3 * SOLVED)
            going = going[np.isfinite(now) & (now > SOLVED) & ~stuck]
            if not len(going):
                break
            F = self.values(x[:, going])[0]
            step = -least_change(self.slopes(x[:, going])[0], F)
            step /= np.maximum(np.abs(step[:, :n]).max(1, initial=0.0) / STEP_ANGLE, 1.0)[:, None]
            x[:, going] = self.moved(x[:, going], step)
        return best[: self.layout.plan.nq], best[self.layout.count - self.layout.others :], size

    def moved(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Inputs (count, B) after a change of the unknowns (B, U), displacements zero again."""
        layout, n = self.layout, len(self.layout.columns)
        out, change = x.copy(), np.zeros((layout.plan.nv, x.shape[1]))
        change[list(layout.columns)] = step[:, :n].T * np.asarray(layout.units)[:, None]
        out[: layout.plan.nq] = retracted(layout.plan, x[: layout.plan.nq], change)
        out[layout.count - layout.others :] += step[:, n:].T
        return out


def least_change(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(B, U) the least x of the least |J x - right|, of (B, E, U) and (B, E)."""
    J = np.where(np.isfinite(J).all((1, 2), keepdims=True), J, 0.0)
    return (np.linalg.pinv(J, rcond=RANK) @ right[:, :, None])[:, :, 0]


def closures(lane: Lane, q: Vec, indices: Sequence[int], *, drivers: bool) -> Vec:
    """The rows of some substructures at coordinates (nq,), dimensionless, with or without those of drivers; lane code.

    Smooth where they vanish, as rotation vectors are not.
    """
    motion, out = lane.motion(q, None), list[Scalar]()
    for index in indices:
        rows = lane.rows(motion, index)
        groups = [lane.plan.constraints[k] for k in lane.plan.substructures[index].groups]
        leads = [group.prescribes for group in groups for _ in range(group.rows)]
        units = scales(rows.unit, lane.length)
        out += [phi / unit for phi, unit, led in zip(rows.phi, units, leads, strict=True) if drivers or not led]
    return out
