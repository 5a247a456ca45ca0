"""Backward sweeps in plain JAX: a step of the reference step loop, differentiated by `jax.vjp`.

Nothing is shared with the compiled sweeps but what a step is, so that each checks the other; and it runs on every
device that JAX knows. The states of a leg are computed again from its beginning and kept, then every step is run and
reversed from the last one to the first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.contract import Leg
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kernels.step_loop import Slots, State
from shiftjax.kernels.step_program import Method
from shiftjax.kernels.xla import Kernel, Lane, blocks_of, phases_of, run_of
from shiftjax.kernels.xla_executables import OPTIONS, program_key

STEPS = 64  # of a leg: their states are kept at once
KEPT = 16  # programs whose functions stay for the next run
MOVING = ("q", "x", "dx", "acc")  # groups of rows that a step changes and that have cotangents

Group = dict[str, tuple[Any, ...]]  # numbers of a lane, by group


class _Functions(NamedTuple):
    """Compiled functions of one block of lanes: tables and cotangents are (rows, W)."""

    sweep: Callable[..., Any]  # table, bars, seeds (STEPS, channels, W), h, t0 -> bars
    touch: Callable[..., Any]  # table, bars, seeds (channels, W), h, t0, phase -> bars


class Backward:
    """`contract.Backward` of the backend `xla`."""

    def __init__(self, kernel: Kernel) -> None:
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
            run = _functions(leg.adjoint, self.kernel.precision).sweep
            self._run(run, leg, _due(leg, clock, every, origin), h, t0)

    def touch(
        self, leg: Leg, phase: str, ends: np.ndarray | None = None, *, h: float, t0: float = 0.0, every: int = 1,
        origin: int = 0,
    ) -> None:  # fmt: skip
        """See `contract.Backward.touch`; the end of a projection is computed again."""
        seeds = _due(leg, _clock(leg)[None], every if phase == "observe" else 0, origin)[0]
        run = partial(_functions(leg.adjoint, self.kernel.precision).touch, phase=phase)
        self._run(run, leg, seeds, h, t0)

    def _run(self, run: Callable[..., Any], leg: Leg, seeds: np.ndarray, h: float, t0: float) -> None:
        number = self.kernel.dtype.type
        for block in blocks_of(np.arange(leg.table.shape[1])):
            given = (np.ascontiguousarray(rows[..., block.columns]) for rows in (leg.table, leg.bars, seeds))
            with jax.enable_x64(self.kernel.precision == "f64"):
                found = np.asarray(run(*given, number(h), number(t0)))
            leg.bars[:, block.lanes] = found[:, : len(block.lanes)]


class ReversibleKernel(Kernel):
    """The kernel of the backend `xla`, with its way back."""

    def backward(self) -> Backward:
        """See `contract.Reversible`."""
        return Backward(self)


def _clock(leg: Leg) -> np.ndarray:
    """(B,)"""
    return leg.table[leg.adjoint.program.layout.rows("clock").start]


def _due(leg: Leg, clock: np.ndarray, every: int, origin: int) -> np.ndarray:
    """(n, channels, B) cotangents of what is recorded at clocks (n, B), 0 between output ticks."""
    found = np.zeros((len(clock), leg.adjoint.program.layout.nc, clock.shape[1]), leg.table.dtype)
    if every == 0 or leg.seeds is None:
        return found
    tick = np.floor((clock - origin) / every)
    due = (tick * every + origin == clock) & (tick >= 0) & (tick < leg.seeds.shape[1]) & (leg.rows >= 0)
    at, lane = np.nonzero(due)
    found[at, :, lane] = leg.seeds[leg.rows[lane], tick[due].astype(int)]
    return found


class _Reversed:
    """One lane of an adjoint program."""

    def __init__(self, adjoint: AdjointProgram, precision: str) -> None:
        program, self.layout = adjoint.program, adjoint.layout
        with jax.enable_x64(precision == "f64"):
            self.lane = Lane(program, phases_of(program, precision, barriers=True), np.dtype(DTYPES[precision]))
            self.measure = run_of(adjoint.metrics, precision, barriers=True)

    def split(self, table: Any, bars: Any) -> tuple[Group, State, Group, Any]:
        """What moves and p; the rest of a table; the cotangents of the former; the steps of the leg."""
        layout, rows = self.layout.layout, self.layout.rows
        state = {name: tuple(table[k] for k in layout.rows(name)) for name in layout.columns()}
        moving = {name: state.pop(name) for name in ("q", "x", "dx", "p")}
        moving["acc"] = state["acc"][self.layout.first :]
        own = {name: tuple(bars[k] for k in rows(name)) for name in moving}
        return moving, state, own, bars[rows("steps").start]

    def joined(self, own: Group, steps: Any) -> Any:
        """(rows, W) cotangents."""
        names = [name for name in self.layout.columns() if name != "steps"]
        return jnp.stack([*(bar for name in names for bar in own[name]), steps])

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
        found = lane.evaluate(name, p, whole, h, t0)
        seen = found.pop("chan", ())
        return {**moving, **{name: found[name] for name in ("q", "x", "dx") if name in found}}, seen

    def measured(self, slots: Slots) -> tuple[Any, ...]:
        """The accumulators of metrics after they have run."""
        self.measure(slots)
        return tuple(slots[k] for k in self.layout.accumulators())

    def sweep(self, table: Any, bars: Any, seeds: Any, h: Any, t0: Any) -> Any:
        """Cotangents (rows, W) over the steps of each lane."""
        moving, state, own, steps = self.split(table, bars)
        count = lax.convert_element_type(jnp.max(steps), np.int32)
        begin, size = state["clock"][0], state["fraction"][0]
        p = {"p": moving["p"]}

        def at(k: Any) -> State:
            return {**state, "clock": (begin + lax.convert_element_type(k, size.dtype) * size,)}

        def step(moving: Group, state: State) -> tuple[Group, tuple[Any, ...]]:
            return jax.vmap(self.step, in_axes=(0, 0, None, None))(moving, state, h, t0)

        def ahead(k: Any, carry: tuple[Group, Group]) -> tuple[Group, Group]:
            now, kept = carry
            kept = jax.tree.map(lambda all, one: lax.dynamic_update_index_in_dim(all, one, k, 0), kept, now)
            after = step({**now, **p}, at(k))[0]
            return {name: after[name] for name in now}, kept

        def back(k: Any, own: Group) -> Group:
            k = count - 1 - k
            now = jax.tree.map(lambda all: lax.dynamic_index_in_dim(all, k, 0, keepdims=False), kept)
            _, pulled = jax.vjp(lambda m: step(m, at(k)), {**now, **p})
            (found,) = pulled((own, tuple(lax.dynamic_index_in_dim(seeds, k, 0, keepdims=False))))
            return jax.tree.map(
                lambda new, old: jnp.where(lax.convert_element_type(k, steps.dtype) < steps, new, old), found, own
            )

        first = {name: moving[name] for name in MOVING}
        room = jax.tree.map(lambda one: jnp.zeros((STEPS, *one.shape), one.dtype), first)
        _, kept = lax.fori_loop(0, count, ahead, (first, room))
        return self.joined(lax.fori_loop(0, count, back, own), steps)

    def touch(self, table: Any, bars: Any, seeds: Any, h: Any, t0: Any, *, phase: str) -> Any:
        """Cotangents (rows, W) before a phase."""
        moving, state, own, steps = self.split(table, bars)
        _, pulled = jax.vjp(
            lambda m: jax.vmap(partial(self.phase, phase), in_axes=(0, 0, None, None))(m, state, h, t0), moving
        )
        (found,) = pulled((own, tuple(seeds) if phase == "observe" else ()))
        return self.joined(found, steps)


_shared: OrderedDict[tuple, _Functions] = OrderedDict()


def _functions(adjoint: AdjointProgram, precision: str) -> _Functions:
    """Those of an adjoint program, the same for programs of equal code; compiled when they are first called."""
    key = (*program_key(adjoint.program, precision), adjoint.layout.first)
    found = _shared.pop(key, None)
    if found is None:
        made = _Reversed(adjoint, precision)
        options = OPTIONS.get(jax.default_backend())
        found = _Functions(
            jax.jit(made.sweep, compiler_options=options),
            jax.jit(made.touch, static_argnames="phase", compiler_options=options),
        )
    _shared[key] = found
    while len(_shared) > KEPT:
        _shared.popitem(last=False)
    return found
