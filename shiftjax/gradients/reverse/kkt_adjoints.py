"""Pieces that carry cotangents back through one stage and through the projected end of a step, by their KKT systems.

On the mirrored workspace of `kernels.adjoint.AdjointLayout`; the projected end of the step stands in its slots `end`.
Accelerations and the projected end are read, not solved for again;
plain reverse mode of the same pieces has 30 to 75 % more operations (measured in `tests/kernels/test_adjoint.py`).
Multipliers and accelerations enter a Lagrangian as inputs of their own before it is reversed (`lanes.composed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiftjax.dynamics.adjoint import AccelerationAdjoint, CorrectionAdjoint
from shiftjax.dynamics.kkt import System, corrected_coordinates, corrected_speeds
from shiftjax.gradients.retraction import change_of_coordinates, retraction
from shiftjax.kernels.adjoint import AdjointLayout
from shiftjax.kernels.lane_program import Piece
from shiftjax.lanes.code import Code
from shiftjax.lanes.composed import Composed, References, Traced, Values
from shiftjax.lanes.graph import Graph
from shiftjax.run.programs.lane_program import Builder, Programs
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.topology.partition import Partition


def stage_piece(programs: Programs, partition: Partition) -> Piece:
    """The adjoint of `accelerate`, of all substructures in one piece.

    It reads q, x, dx (the derivatives in this state), p, t and the cotangents of dx, adds to those of q, x, p and makes
    those of dx zero. The cotangent of a quadrature is taken for zero.
    """
    return _Adjoint(programs, partition).stage()


def projection_piece(programs: Programs, partition: Partition) -> Piece:
    """The adjoint of `project`, of all substructures in one piece.

    It reads q, x of the unprojected end, p, t, and q, x, dx of the projected one in the slots `end`. The
    cotangents of q, x of the projected end become those of the unprojected one, those of p are added to, those of dx
    become zero; the cotangent of a quadrature is taken for zero.
    """
    return _Adjoint(programs, partition).projection()


class _Adjoint:
    """The pieces of one partition."""

    def __init__(self, programs: Programs, partition: Partition) -> None:
        self.programs, self.partition, self.setup = programs, partition, programs.setup
        self.layout, self.plan = programs.layout, programs.setup.plan
        self.mirrored = AdjointLayout(self.layout, len(ACCUMULATORS))
        self.rows = sum(len(block.primary) for block in partition.blocks)
        self.looped = bool(self.plan.substructures)
        builder = Builder(programs, partition)
        self.sizes, self.state, self._slots = builder.state_sizes, builder.state_slots, builder.slots

    @property
    def multiplier_count(self) -> int:
        """How many multipliers a KKT system and its adjoint have."""
        return self.plan.nv + 2 * self.rows

    def stage(self) -> Piece:
        sizes = self.sizes | {"a": self.plan.nv}
        bars = {name: self.sizes[name] for name in ("q", "v", "states", "p")}
        read = {"a_bar": self.plan.nv, "rates_bar": self.plan.ns} | {f"{name}_bar": n for name, n in bars.items()}

        def build() -> Graph:
            moving = self._moving(speeds=False)
            made = Composed(sizes | read, [moving.graph])
            at = made.inputs
            multipliers = made.values(moving, ["multipliers"], at)["multipliers"]
            one = [made.graph.const(1.0)]
            cotangents = made.cotangents(moving, {"lagrangian": one}, list(bars), at | {"held": multipliers})
            bar = {name: made.sums(at[f"{name}_bar"], cotangents[name]) for name in bars}
            return made.finished([*(ref for refs in bar.values() for ref in refs), *self._nothing(made)])

        return self._piece("stage adjoint", build, [*self.state, *self._slots("dx", self.plan.nv)])

    def projection(self) -> Piece:
        sizes = self.sizes | {"end_q": self.plan.nq, "end_v": self.plan.nv, "a": self.plan.nv}
        bars = {name: self.sizes[name] for name in ("q", "v", "states", "p")}
        read = {"a_bar": self.plan.nv, "rates_bar": self.plan.ns} | {f"{name}_bar": n for name, n in bars.items()}

        def build() -> Graph:
            moving = self._moving(speeds=self.looped)
            pose, moved, change = self._pose(), retraction(self.setup), change_of_coordinates(self.setup)
            made = Composed(sizes | read, [part.graph for part in (moving, pose, moved, change)])
            bar = self._through_end(made, moving)
            bar = self._through_coordinates(made, bar, pose, moved, change)
            return made.finished([*(ref for name in bars for ref in bar[name]), *self._nothing(made)])

        end, nq, nv = self.mirrored.end, self.plan.nq, self.plan.nv
        ends = [*end[: nq + nv], *end[nq + self.layout.nx :][:nv]]
        return self._piece("projection adjoint", build, [*self.state, *ends])

    def _through_end(self, made: Composed, moving: Traced) -> References:
        """Cotangents of the projected q, the unprojected v, the states and p."""
        given = made.inputs
        at = {name: given[name] for name in ("states", "p", "t", "a", "a_bar", "rates_bar")}
        at |= {"q": given["end_q"], "v": given["end_v"]}
        at["held"] = made.values(moving, ["multipliers"], at)["multipliers"]
        seeds = {"lagrangian": [made.graph.const(1.0)]}
        v_bar = made.sums(given["v_bar"], made.cotangents(moving, seeds, ["v"], at)["v"])
        if self.looped:
            at |= {"dv": made.differences(given["end_v"], given["v"]), "end_bar": v_bar}
            speeds = made.values(moving, ["multipliers_of_speeds", "momentum"], at)
            at["held_of_speeds"], v_bar = speeds["multipliers_of_speeds"], speeds["momentum"]
            seeds["lagrangian_of_speeds"] = seeds["lagrangian"]
        rest = ["q", "states", "p"]
        cotangents = made.cotangents(moving, seeds, rest, at)
        return {"v": v_bar} | {name: made.sums(given[f"{name}_bar"], cotangents[name]) for name in rest}

    def _through_coordinates(
        self, made: Composed, bar: References, pose: Traced, moved: Traced, change: Traced
    ) -> References:
        """With the cotangents of the unprojected q in place of those of the projected one."""
        given = made.inputs
        at = {name: given[name] for name in ("q", "p", "t")}
        if self.looped:
            at["change"] = made.values(change, ["change"], given)["change"]
        back = made.cotangents(moved, {"q": bar["q"]}, ["q", "change"], at)
        if not self.looped:
            return bar | {"q": back["q"]}
        at["change_bar"] = back["change"]
        at["held"] = made.values(pose, ["multipliers"], at)["multipliers"]
        cotangents = made.cotangents(pose, {"lagrangian": [made.graph.const(1.0)]}, ["q", "p"], at)
        return bar | {"q": made.sums(back["q"], cotangents["q"]), "p": made.sums(bar["p"], cotangents["p"])}

    def _moving(self, *, speeds: bool) -> Traced:
        """Multipliers and Lagrangians of accelerations, and of speeds that were projected, at one state."""
        nv, ns = self.plan.nv, self.plan.ns
        sizes = self.sizes | {"a": nv, "a_bar": nv, "rates_bar": ns, "held": self.multiplier_count}
        sizes |= {"dv": nv, "end_bar": nv, "held_of_speeds": self.multiplier_count} if speeds else {}

        def run(s: Values) -> Values:
            lane = self.setup.lane(s["p"], s["t"][0])
            system = System(lane, lane.motion(s["q"], s["v"]), self.partition)
            accelerations = AccelerationAdjoint(system, s["states"], s["a"])
            multipliers = accelerations.multipliers(s["a_bar"])
            lagrangian = accelerations.lagrangian(multipliers.held(s["held"]), s["rates_bar"])
            out = {"multipliers": multipliers.all, "lagrangian": [lagrangian]}
            if speeds:
                correction = CorrectionAdjoint(system, s["dv"])
                multipliers, out["momentum"] = correction.multipliers(s["end_bar"])
                closing = corrected_speeds(system, s["v"])
                lagrangian = correction.lagrangian(multipliers.held(s["held_of_speeds"]), closing)
                out |= {"multipliers_of_speeds": multipliers.all, "lagrangian_of_speeds": [lagrangian]}
            return out

        return Traced(run, sizes, self.setup.precision)

    def _pose(self) -> Traced:
        """Multipliers and the Lagrangian of coordinates that were projected, at the pose before."""
        sizes = {name: self.sizes[name] for name in ("q", "p", "t")}
        sizes |= {"change": self.plan.nv, "change_bar": self.plan.nv, "held": self.multiplier_count}

        def run(s: Values) -> Values:
            lane = self.setup.lane(s["p"], s["t"][0])
            system = System(lane, lane.motion(s["q"], None), self.partition)
            coordinates = CorrectionAdjoint(system, s["change"])
            multipliers, _ = coordinates.multipliers(s["change_bar"])
            closing = corrected_coordinates(system, s["change"])
            return {
                "multipliers": multipliers.all,
                "lagrangian": [coordinates.lagrangian(multipliers.held(s["held"]), closing)],
            }

        return Traced(run, sizes, self.setup.precision)

    def _nothing(self, made: Composed) -> list[int]:
        return [made.graph.const(0.0)] * self.layout.nx

    def _piece(self, name: str, build: Callable[[], Graph], reads: Sequence[int]) -> Piece:
        """A piece that reads cotangents of dx too, and reads and writes those of q, x, p."""
        bar, moving = self.mirrored.bar, self.plan.nv + self.plan.ns
        bars = [bar(k) for k in (*self._slots("q"), *self._slots("x", moving), *self._slots("p"))]
        given = [bar(k) for k in self._slots("dx", moving)]
        outputs = [*bars, *(bar(k) for k in self._slots("dx"))]
        text = "" if self.setup.foreign else repr((self.programs.identity, name, self.partition))
        return Piece(name, Code(build, text), (*reads, *given, *bars), tuple(outputs))
