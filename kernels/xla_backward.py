"""Backward sweeps in plain JAX: a step of the reference step loop, differentiated by `jax.vjp`.

Nothing is shared with the compiled sweeps but what a step is, so that each checks the other; and it runs on every
device that JAX knows. The states of a leg are computed again from its beginning and kept, then every step is run and
reversed from the last one to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kernels.step_loop import Slots, State
from shiftjax.kernels.step_program import Method
from shiftjax.kernels.xla import TracedLane, XlaKernel, blocks_of, phases_of, run_of
from shiftjax.kernels.xla_executables import Executables, Function, Functions, executables, identity

STEPS = 64  # of a leg: their states are kept at once
MOVING = ("q", "x", "dx", "acc")  # groups of rows that a step changes and that have cotangents

Group = dict[str, tuple[Any, ...]]  # numbers of a lane, by group


class XlaBackward:
    """`contract.Backward` of the backend `xla`."""

    def __init__(self, kernel: XlaKernel) -> None:
        self.kernel = kernel

    def longest(self, adjoint: AdjointProgram) -> int:
        """See `contract.Backward.longest`."""
        return STEPS

    def longest_of(self, layout: AdjointLayout, method: Method) -> int:
        """See `contract.Backward.longest_of`."""
        return STEPS

    def sweep(self, legs: Sequence[Leg], *, h: float, t0: float = 0.0, every: int = 0, origin: int = 0) -> None:
        """See `contract.Backward.sweep`."""
        for leg in legs:
            steps = leg.bars[leg.adjoint.layout.rows("steps").start]
            if steps.max(initial=0) > STEPS:
                raise ValueError(f"a leg of {steps.max():g} steps, at most {STEPS} are kept")
            clock = _clock(leg) + np.arange(1, STEPS + 1)[:, None]
            self._run("sweep", leg, _due(leg, clock, every, origin), h, t0)

    def touch(
        self, leg: Leg, phase: str, ends: np.ndarray | None = None, *, h: float, t0: float = 0.0, every: int = 1,
        origin: int = 0,
    ) -> None:  # fmt: skip
        """See `contract.Backward.touch`; the end of a projection is computed again."""
        seeds = _due(leg, _clock(leg)[None], every if phase == "observe" else 0, origin)[0]
        self._run(phase, leg, seeds, h, t0)

    def _run(self, kind: str, leg: Leg, seeds: np.ndarray, h: float, t0: float) -> None:
        number, executables = self.kernel.dtype.type, self._executables(leg.adjoint)
        for block in blocks_of(np.arange(leg.table.shape[1])):
            run = self.kernel.counted(executables.of(kind, len(block.columns)))
            given = (np.ascontiguousarray(rows[..., block.columns]) for rows in (leg.table, leg.bars, seeds))
            with jax.enable_x64(self.kernel.precision == "f64"):
                bars = np.asarray(run(*given, number(h), number(t0)))
            leg.bars[:, block.lanes] = bars[:, : len(block.lanes)]

    def _executables(self, adjoint: AdjointProgram) -> Executables:
        precision = self.kernel.precision
        text = repr(("backward", STEPS, adjoint.layout.first, identity(adjoint.program, precision)))
        return executables(text, precision, partial(_functions, adjoint, precision), cache=self.kernel.cache)


class ReversibleXlaKernel(XlaKernel):
    """The kernel of the backend `xla`, with its way back."""

    def backward(self, memory: float | None = None) -> XlaBackward:
        """See `contract.Reversible`."""
        return XlaBackward(self)


def _clock(leg: Leg) -> np.ndarray:
    """(B,)"""
    return leg.table[leg.adjoint.program.layout.rows("clock").start]


def _due(leg: Leg, clock: np.ndarray, every: int, origin: int) -> np.ndarray:
    """(n, channels, B) cotangents of what is recorded at clocks (n, B), 0 between output ticks."""
    seeds = np.zeros((len(clock), leg.adjoint.program.layout.nc, clock.shape[1]), leg.table.dtype)
    if every == 0 or leg.seeds is None:
        return seeds
    tick = np.floor((clock - origin) / every)
    due = (tick * every + origin == clock) & (tick >= 0) & (tick < leg.seeds.shape[1]) & (leg.rows >= 0)
    at, lane = np.nonzero(due)
    seeds[at, :, lane] = leg.seeds[leg.rows[lane], tick[due].astype(int)]
    return seeds


class _Reversed:
    """One lane of an adjoint program."""

    def __init__(self, adjoint: AdjointProgram, precision: str) -> None:
        program, self.layout = adjoint.program, adjoint.layout
        self.lane = TracedLane(program, phases_of(program, precision, barriers=True), np.dtype(DTYPES[precision]))
        self.measure = run_of(adjoint.metrics, precision, barriers=True)

    def split(self, table: Any, bars: Any) -> tuple[Group, State, Group, Any]:
        """What moves and p; the rest of a table; the cotangents of the former; the steps of the leg."""
        layout, rows = self.layout.layout, self.layout.rows
        state = {name: tuple(table[k] for k in layout.rows(name)) for name in layout.columns()}
        moving = {name: state.pop(name) for name in ("q", "x", "dx", "p")}
        moving["acc"] = state["acc"][self.layout.first :]
        cotangents = {name: tuple(bars[k] for k in rows(name)) for name in moving}
        return moving, state, cotangents, bars[rows("steps").start]

    def joined(self, cotangents: Group, steps: Any) -> Any:
        """(rows, W) cotangents."""
        names = [name for name in self.layout.columns() if name != "steps"]
        return jnp.stack([*(bar for name in names for bar in cotangents[name]), steps])

    def whole(self, moving: Group, state: State) -> State:
        """A state for the step loop."""
        acc = (*state["acc"][: self.layout.first], *moving["acc"])
        return {**state, **{name: moving[name] for name in ("q", "x", "dx")}, "acc": acc}

    def step(self, moving: Group, state: State, h: Any, t0: Any) -> tuple[Group, tuple[Any, ...]]:
        """What moves after a step, and what is observed there."""
        lane, p = self.lane, moving["p"]
        whole = self.whole(moving, state)
        slots, _ = lane.attempt(p, whole, whole["fraction"][0], h, t0)
        after = {**moving, **{name: lane.get(slots, name) for name in ("q", "x", "dx")}}
        after["acc"] = self.measured(slots)
        clock = (state["clock"][0] + state["fraction"][0],)
        seen = lane.evaluate("observe", p, self.whole(after, {**state, "clock": clock}), h, t0)
        return after, seen["chan"]

    def phase(self, name: str, moving: Group, state: State, h: Any, t0: Any) -> tuple[Group, tuple[Any, ...]]:
        """What moves after one phase, and what is observed by it."""
        lane, p, whole = self.lane, moving["p"], self.whole(moving, state)
        if name == "measure":
            slots = lane.slots(p, whole)
            lane.put(slots, "t", (t0 + state["clock"][0] * h,))
            return {**moving, "acc": self.measured(slots)}, ()
        after = lane.evaluate(name, p, whole, h, t0)
        seen = after.pop("chan", ())
        return {**moving, **{name: after[name] for name in ("q", "x", "dx") if name in after}}, seen

    def measured(self, slots: Slots) -> tuple[Any, ...]:
        """The accumulators of metrics after they have run."""
        self.measure(slots)
        return tuple(slots[k] for k in self.layout.accumulators())

    def sweep(self, table: Any, bars: Any, seeds: Any, h: Any, t0: Any) -> Any:
        """Cotangents (rows, W) over the steps of each lane."""
        moving, state, cotangents, steps = self.split(table, bars)
        count = lax.convert_element_type(jnp.max(steps), np.int32)
        begin, size = state["clock"][0], state["fraction"][0]
        p = {"p": moving["p"]}

        def at(k: Any) -> State:
            return {**state, "clock": (begin + lax.convert_element_type(k, size.dtype) * size,)}

        def step(moving: Group, state: State) -> tuple[Group, tuple[Any, ...]]:
            return jax.vmap(self.step, in_axes=(0, 0, None, None))(moving, state, h, t0)

        def ahead(k: Any, carry: tuple[Group, Group]) -> tuple[Group, Group]:
            now, states = carry
            states = jax.tree.map(lambda all, one: lax.dynamic_update_index_in_dim(all, one, k, 0), states, now)
            after = step({**now, **p}, at(k))[0]
            return {name: after[name] for name in now}, states

        def back(k: Any, cotangents: Group) -> Group:
            k = count - 1 - k
            now = jax.tree.map(lambda all: lax.dynamic_index_in_dim(all, k, 0, keepdims=False), states)
            _, pulled = jax.vjp(lambda m: step(m, at(k)), {**now, **p})
            (before,) = pulled((cotangents, tuple(lax.dynamic_index_in_dim(seeds, k, 0, keepdims=False))))
            return jax.tree.map(
                lambda new, old: jnp.where(lax.convert_element_type(k, steps.dtype) < steps, new, old),
                before,
                cotangents,
            )

        first = {name: moving[name] for name in MOVING}
        room = jax.tree.map(lambda one: jnp.zeros((STEPS, *one.shape), one.dtype), first)
        _, states = lax.fori_loop(0, count, ahead, (first, room))
        return self.joined(lax.fori_loop(0, count, back, cotangents), steps)

    def touch(self, table: Any, bars: Any, seeds: Any, h: Any, t0: Any, *, phase: str) -> Any:
        """Cotangents (rows, W) before a phase."""
        moving, state, cotangents, steps = self.split(table, bars)
        _, pulled = jax.vjp(
            lambda m: jax.vmap(partial(self.phase, phase), in_axes=(0, 0, None, None))(m, state, h, t0), moving
        )
        (before,) = pulled((cotangents, tuple(seeds) if phase == "observe" else ()))
        return self.joined(before, steps)


def _functions(adjoint: AdjointProgram, precision: str) -> Functions:
    """What XLA is given of an adjoint program, for blocks of W lanes: tables and cotangents are (rows, W).

    "sweep": table, bars, seeds (STEPS, channels, W), h, t0 -> bars. A phase: table, bars, seeds (channels, W), h, t0 ->
    bars.
    """
    reversed_lane, layout, dtype = _Reversed(adjoint, precision), adjoint.program.layout, np.dtype(DTYPES[precision])

    def function(kind: str, width: int) -> Function:
        table = jax.ShapeDtypeStruct((layout.row_count, width), dtype)
        bars = jax.ShapeDtypeStruct((adjoint.layout.row_count, width), dtype)
        seeds = jax.ShapeDtypeStruct((*((STEPS,) if kind == "sweep" else ()), layout.nc, width), dtype)
        number = jax.ShapeDtypeStruct((), dtype)
        run = reversed_lane.sweep if kind == "sweep" else partial(reversed_lane.touch, phase=kind)
        return run, (table, bars, seeds, number, number)

    return function
