"""The reference machine: the same step loop in JAX, one lane as a plain function, lanes by `jax.vmap`.

Lanes travel as tuples of scalars, never stacked inside a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax

from shiftjax.kernels.contract import WRITES, Group
from shiftjax.kernels.lane_program import DTYPES, PHASES, LaneProgram, Method
from shiftjax.kernels.simplify import check_jaxpr

State = dict[str, tuple[Any, ...]]  # the groups of rows of the layout, each a tuple of scalars
Workspace = dict[str, list[Any]]  # the regions of slots while a step is made


def _phases(program: LaneProgram, precision: str) -> dict[str, Callable[[list[Any]], None]]:
    """For each phase a function that works on a list of slots in place; the pieces are traced here."""

    def phase(name: str) -> Callable[[list[Any]], None]:
        traced = [(piece, piece.trace()) for piece in program.phase(name)]
        for _, closed in traced:
            check_jaxpr(closed, precision)

        def run(slots: list[Any]) -> None:
            for piece, closed in traced:
                values = core.eval_jaxpr(closed.jaxpr, closed.consts, *(slots[k] for k in piece.inputs))
                for slot, value in zip(piece.outputs, values, strict=True):
                    slots[slot] = value

        return run

    return {name: phase(name) for name in PHASES}


class _Lane:
    """The slots of one lane and the arithmetic of one step."""

    def __init__(self, program: LaneProgram, phases: dict[str, Callable[[list[Any]], None]], dtype: np.dtype) -> None:
        self.program, self.layout, self.phases, self.dtype = program, program.layout, phases, dtype

    def number(self, value: float) -> Any:
        return jnp.asarray(value, self.dtype)

    def slots(self, p: Sequence[Any], state: State) -> list[Any]:
        """A workspace filled with the state."""
        slots: list[Any] = [self.number(0.0)] * self.layout.slot_count
        for name in ("q", "x", "dx", "acc", "rep", "mon"):
            self.put(slots, name, state[name])
        self.put(slots, "p", p)
        return slots

    def get(self, slots: list[Any], name: str) -> tuple[Any, ...]:
        """The values of a region."""
        return tuple(slots[k] for k in self.layout.slots(name))

    def put(self, slots: list[Any], name: str, values: Sequence[Any]) -> None:
        """Fills a region."""
        for k, value in zip(self.layout.slots(name), values, strict=True):
            slots[k] = value

    def evaluate(self, phase: str, p: Sequence[Any], state: State, h: Any, t0: Any) -> State:
        """The results of one phase at t0 + clock h."""
        slots = self.slots(p, state)
        self.put(slots, "t", (t0 + state["clock"][0] * h,))
        self.phases[phase](slots)
        return {name: self.get(slots, name) for name in WRITES[phase]}

    def attempt(self, p: Sequence[Any], state: State, h: Any, t0: Any) -> tuple[list[Any], tuple[Any, ...]]:
        """All stages, the end and its projection: the slots, and the largest monitors.

        The stages are a `scan` whose body chooses stage or end: inlined one after the other, XLA's fusion recomputes
        across phases without bound (a four-bar's step had not compiled after ten minutes; 5 s so).
        """
        method, stages = self.program.method, self.program.method.stages
        slots = self.slots(p, state)
        clock, fraction = state["clock"][0], state["fraction"][0]
        step = fraction * h
        zeros = {name: tuple(self.number(0.0) * v for v in state[name]) for name in ("q", "x")}
        self.phases["drift"](slots)
        carry = (
            tuple(slots),
            (state["dx"], *[zeros["x"]] * (stages - 1)),
            (self.get(slots, "qdot"), *[zeros["q"]] * (stages - 1)),
            tuple(lax.neg(self.number(np.inf)) + self.number(0.0) * clock for _ in state["mon"]),
        )

        def blend(base: Sequence[Any], row: Any, rates: Sequence[tuple[Any, ...]]) -> list[Any]:
            return [
                b + step * sum((row[j] * r[k] for j, r in enumerate(rates)), self.number(0.0))
                for k, b in enumerate(base)
            ]

        def place(slots: list[Any], table: dict[str, Any], dxs: Sequence[Any], qdots: Sequence[Any]) -> None:
            self.put(slots, "x", blend(state["x"], table["x"], dxs))
            self.put(slots, "q", blend(state["q"], table["q"], qdots))
            self.put(slots, "t", (t0 + (clock + table["c"] * fraction) * h,))

        def stage(carry: Any, table: dict[str, Any]) -> Any:
            slots, dxs, qdots, most = list(carry[0]), list(carry[1]), list(carry[2]), carry[3]
            place(slots, table, dxs, qdots)
            self.phases["drift"](slots)
            self.phases["accelerate"](slots)
            larger = self.larger(most, self.get(slots, "mon"))
            most = tuple(lax.select(table["needs"], m, old) for m, old in zip(larger, most, strict=True))
            for k in range(1, stages):
                here = table["stage"] == k
                for kept, name in ((dxs, "dx"), (qdots, "qdot")):
                    kept[k] = tuple(
                        lax.select(here, new, old) for new, old in zip(self.get(slots, name), kept[k], strict=True)
                    )
            return tuple(slots), tuple(dxs), tuple(qdots), most

        def end(carry: Any, table: dict[str, Any]) -> Any:
            slots = list(carry[0])
            place(slots, table, carry[1], carry[2])
            self.phases["project"](slots)
            return tuple(slots), carry[1], carry[2], self.larger(carry[3], self.get(slots, "mon"))

        def turn(carry: Any, table: dict[str, Any]) -> Any:
            return lax.cond(table["stage"] < stages, stage, end, carry, table), None

        slots, _, _, most = lax.scan(turn, carry, self.tables(method))[0]
        return list(slots), most

    def tables(self, method: Method) -> dict[str, Any]:
        """Coefficients of stages 1 ... and of the end, one row each, padded with zeros."""
        stages = method.stages

        def padded(rows: Sequence[Sequence[float]]) -> Any:
            return np.array([[*row, *[0.0] * (stages - len(row))] for row in rows], self.dtype)

        return {
            "stage": np.arange(1, stages + 1, dtype=np.int32),
            "x": padded([*method.A[1:], method.b]),
            "q": padded([*method.A_hat[1:], method.b_hat]),
            "c": np.array([*method.c[1:], 1.0], self.dtype),
            "needs": np.array([*method.needs[1:], True]),
        }

    def larger(self, most: tuple[Any, ...] | None, new: tuple[Any, ...]) -> tuple[Any, ...]:
        """Elementwise maximum that propagates NaN."""
        return new if most is None else tuple(lax.max(a, b) for a, b in zip(most, new, strict=True))

    def step(self, p: Sequence[Any], state: State, h: Any, t0: Any) -> State:
        """One step, accepted or frozen; see the words on trips in `LaneProgram`'s machines."""
        one, zero = self.number(1.0), self.number(0.0)
        slots, most = self.attempt(p, state, h, t0)
        fresh = {name: self.get(slots, name) for name in ("q", "x", "dx", "rep")}
        within = [lax.le(m, limit) for m, limit in zip(most, state["limit"], strict=True)]
        total = sum((v for name in ("q", "x", "dx") for v in fresh[name]), zero)
        trip = lax.select(lax.eq(total * zero, zero), zero, self.number(len(most) + 1.0))
        for k in reversed(range(len(most))):
            bad = lax.bitwise_and(lax.ne(state["armed"][k], zero), lax.bitwise_not(within[k]))
            trip = lax.select(bad, self.number(k + 1.0), trip)
        good = lax.eq(trip, zero)
        self.put(slots, "mon", most)
        self.phases["accumulate"](slots)
        fresh["acc"] = self.get(slots, "acc")
        fresh["clock"] = (state["clock"][0] + state["fraction"][0],)
        fresh["armed"] = tuple(lax.select(w, one, a) for w, a in zip(within, state["armed"], strict=True))
        new = {
            name: tuple(lax.select(good, a, b) for a, b in zip(v, state[name], strict=True))
            for name, v in fresh.items()
        }
        return {**state, **new, "mon": most, "trip": (trip,)}


def step_function(program: LaneProgram, precision: str = "f64") -> Callable[..., State]:
    """`step(p, state, h, t0) -> state` of one lane, plain JAX.

    `p` is a tuple of scalars; `state` maps q, x, dx, clock, fraction, limit, armed, acc, rep, mon, trip to tuples of
    scalars, as the rows of the table. A lane that trips keeps its old values, with `trip` set and `mon` as attempted.
    """
    with jax.enable_x64(precision == "f64"):
        phases = _phases(program, precision)
    return _Lane(program, phases, np.dtype(DTYPES[precision])).step


class Kernel:
    """`contract.Kernel` in JAX."""

    def __init__(self, precision: str = "f64", threads: int | None = None, cache: bool = True) -> None:
        self.precision, self.dtype = precision, np.dtype(DTYPES[precision])
        self.compiled, self.compile_s = 0, 0.0
        self._ready: dict[int, tuple[LaneProgram, Any, Any]] = {}

    def prepare(self, program: LaneProgram) -> tuple[LaneProgram, Any, Any]:
        """Traces the pieces; XLA compiles at the first call of each batch size."""
        known = self._ready.get(id(program))
        if known is not None:
            return known
        start = time.perf_counter()
        with jax.enable_x64(self.precision == "f64"):
            lane = _Lane(program, _phases(program, self.precision), self.dtype)
        self.compiled += len(program.pieces())

        def step_until(p: tuple, state: State, stop: Any, h: Any, t0: Any) -> State:
            def going(s: State) -> Any:
                runs = lax.bitwise_and(lax.eq(s["trip"][0], lane.number(0.0)), lax.lt(s["clock"][0], stop))
                return lax.bitwise_and(runs, lax.gt(s["fraction"][0], lane.number(0.0)))

            return lax.while_loop(going, lambda s: lane.step(p, s, h, t0), state)

        def evaluate(phase: str, p: tuple, state: State, h: Any, t0: Any) -> State:
            return jax.vmap(lambda p, s: lane.evaluate(phase, p, s, h, t0))(p, state)

        found = (
            program,
            jax.jit(jax.vmap(step_until, in_axes=(0, 0, 0, None, None))),
            jax.jit(evaluate, static_argnums=0),
        )
        self._ready[id(program)] = found
        self.compile_s += time.perf_counter() - start
        return found

    def advance(
        self,
        groups: Sequence[Group],
        until: float,
        *,
        h: float,
        t0: float = 0.0,
        every: int = 0,
    ) -> None:
        """See `contract.Kernel.advance`; lanes stop at every output tick of theirs."""
        for program, table, out, rows in groups:
            self._advance(program, table, np.asarray(rows), until, h, t0, every if out is not None else 0, out)

    def _advance(
        self,
        program: LaneProgram,
        table: np.ndarray,
        member: np.ndarray,
        until: float,
        h: float,
        t0: float,
        every: int,
        out: np.ndarray | None,
    ) -> None:
        step_until = self.prepare(program)[1]
        layout = program.layout
        clock, trip, fraction = (table[layout.rows(name)[0]] for name in ("clock", "trip", "fraction"))
        while True:
            running = (trip == 0) & (clock < until) & (fraction > 0)
            if not running.any():
                return
            tick = (np.floor(clock / every) + 1) * every if every > 0 else np.full_like(clock, np.inf)
            stop = np.where(running, np.minimum(tick, until), -np.inf).astype(self.dtype)
            with jax.enable_x64(self.precision == "f64"):
                p, state = self._split(program, table)
                self._merge(program, table, step_until(p, state, stop, *self._times(h, t0)), running)
            if every > 0 and out is not None:
                ticks = np.floor(clock / every)
                due = running & (trip == 0) & (ticks * every == clock) & (member >= 0) & (ticks < out.shape[1])
                if due.any():
                    channels = self.evaluate(program, "observe", table, t0, h)
                    assert channels is not None
                    out[member[due], ticks[due].astype(int)] = channels[:, due].T

    def evaluate(self, program: LaneProgram, phase: str, table: np.ndarray, t0: float, h: float) -> np.ndarray | None:
        """See `contract.Kernel.evaluate`."""
        run = self.prepare(program)[2]
        with jax.enable_x64(self.precision == "f64"):
            p, state = self._split(program, table)
            result = run(phase, p, state, *self._times(h, t0))
            if WRITES[phase][0] in program.layout.columns():
                self._merge(program, table, result, np.ones(table.shape[1], bool))
                return None
            (values,) = result.values()
            return np.array(values, self.dtype).reshape(len(values), table.shape[1])

    def _times(self, h: float, t0: float) -> tuple[Any, Any]:
        return self.dtype.type(h), self.dtype.type(t0)

    def _split(self, program: LaneProgram, table: np.ndarray) -> tuple[tuple[Any, ...], State]:
        layout = program.layout
        groups = {name: tuple(jnp.asarray(table[k]) for k in layout.rows(name)) for name in layout.columns()}
        return groups.pop("p"), groups

    def _merge(self, program: LaneProgram, table: np.ndarray, state: State, lanes: np.ndarray) -> None:
        for name, values in state.items():
            for row, value in zip(program.layout.rows(name), values, strict=True):
                table[row, lanes] = np.asarray(value)[lanes]
