"""The reference backend: the step loop in JAX, one lane as a plain function, lanes by `jax.vmap`.

A lane is a tuple of scalars, never stacked inside a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core, lax

from shiftjax.kernels.contract import WRITES
from shiftjax.kernels.lane_program import DTYPES, PHASES, LaneProgram, Method
from shiftjax.kernels.simplify import check_jaxpr
from shiftjax.kernels.step_loop import Phases, Slots, State, StepLoop, TickLoop
from shiftjax.shield import shielded

SLICE = 0.1  # s of one call of XLA, which Ctrl-C waits for
FIRST = 64.0  # steps of the first one


def _phases(program: LaneProgram, precision: str) -> Phases:
    """For each phase a function that updates a list of slots in place; the pieces are traced here."""

    def phase(name: str) -> Callable[[Slots], None]:
        traced = [(piece, piece.trace()) for piece in program.phase(name)]
        for _, closed in traced:
            check_jaxpr(closed, precision)

        def run(slots: Slots) -> None:
            for piece, closed in traced:
                code = partial(core.eval_jaxpr, closed.jaxpr, closed.consts)
                runs = list(piece.runs())
                if len(runs) == 1:
                    found = [code(*(slots[k] for k in piece.inputs))]
                else:  # one code for all runs
                    inputs = [jnp.stack([slots[run[0][k]] for run in runs]) for k in range(len(piece.inputs))]
                    found = zip(*jax.vmap(code)(*inputs), strict=True)
                for (_, outputs), values in zip(runs, found, strict=True):
                    for slot, value in zip(outputs, values, strict=True):
                        slots[slot] = value

        return run

    return {name: phase(name) for name in PHASES}


class _Lane(StepLoop):
    """One traced lane."""

    def __init__(self, program: LaneProgram, phases: Phases, dtype: np.dtype) -> None:
        super().__init__(program, phases, jnp, dtype)

    def attempt(self, p: Sequence[Any], state: State, size: Any, h: Any, t0: Any) -> tuple[Slots, tuple[Any, ...]]:
        """All stages, the end and its projection: the slots, and the largest monitors.

        The stages are a `scan` whose body selects stage or end: with inlined stages XLA's fusion recomputes across
        phases without bound (a four-bar's step had not compiled after ten minutes; with a scan it takes 5 s).
        """
        method, stages = self.method, self.method.stages
        slots, (clock,) = self.slots(p, state), state["clock"]
        zeros = {name: tuple(self.number(0.0) * v for v in state[name]) for name in ("q", "x")}
        self.phases["drift"](slots)
        carry = (
            tuple(slots),
            (state["dx"], *[zeros["x"]] * (stages - 1)),
            (self.get(slots, "qdot"), *[zeros["q"]] * (stages - 1)),
            tuple(lax.neg(self.number(np.inf)) + self.number(0.0) * clock for _ in state["mon"]),
        )

        def placed(carry: Any, table: dict[str, Any]) -> tuple[Slots, list[Any], list[Any]]:
            slots, dxs, qdots = (list(part) for part in carry[:3])
            self.place(slots, state, size, h, t0, table["x"], table["q"], table["c"], dxs, qdots)
            return slots, dxs, qdots

        def stage(carry: Any, table: dict[str, Any]) -> Any:
            slots, dxs, qdots = placed(carry, table)
            self.phases["drift"](slots)
            self.phases["accelerate"](slots)
            maxima = self.choose(table["needs"], self.larger(carry[3], self.get(slots, "mon")), carry[3])
            for k in range(1, stages):
                for rates, name in ((dxs, "dx"), (qdots, "qdot")):
                    rates[k] = self.choose(table["stage"] == k, self.get(slots, name), rates[k])
            return tuple(slots), tuple(dxs), tuple(qdots), maxima

        def end(carry: Any, table: dict[str, Any]) -> Any:
            slots, dxs, qdots = placed(carry, table)
            self.estimate(slots, size * h, method.error, dxs, qdots)
            maxima = self.end(slots, carry[3])
            return tuple(slots), carry[1], carry[2], maxima

        def body(carry: Any, table: dict[str, Any]) -> Any:
            return lax.cond(table["stage"] < stages, stage, end, carry, table), None

        slots, _, _, maxima = lax.scan(body, carry, self.tables(method))[0]
        return list(slots), maxima

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


def step_function(program: LaneProgram, precision: str = "f64") -> Callable[..., State]:
    """`step(p, state, h, t0) -> state` of one lane, plain JAX.

    `p` is a tuple of scalars; `state` maps the groups of rows of the table but p to tuples of scalars. A lane that
    trips keeps its old values, with `trip` set and `mon` of the attempted step.
    """
    with jax.enable_x64(precision == "f64"):
        phases = _phases(program, precision)
    lane = _Lane(program, phases, np.dtype(DTYPES[precision]))
    return lambda p, state, h, t0: lane.step(p, state, h, t0, lane.number(np.inf))


class Kernel(TickLoop):
    """`contract.Kernel` in JAX."""

    def __init__(self, precision: str = "f64", threads: int | None = None, *, cache: bool = True) -> None:
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
            def running(s: State) -> Any:
                runs = lax.bitwise_and(lax.eq(s["trip"][0], lane.number(0.0)), lax.lt(s["clock"][0], stop))
                return lax.bitwise_and(runs, lax.gt(s["fraction"][0], lane.number(0.0)))

            return lax.while_loop(running, lambda s: lane.step(p, s, h, t0, stop), state)

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

    def run(self, program: LaneProgram, table: np.ndarray, stop: np.ndarray, h: float, t0: float) -> None:
        """Steps of all lanes, each to its stop."""
        step_until = self.prepare(program)[1]
        clock, trip, fraction = (table[program.layout.rows(name)[0]] for name in ("clock", "trip", "fraction"))
        part = np.inf if program.layout.controlled else FIRST  # a stop on the way would change the size of steps
        while (running := (trip == 0) & (clock < stop) & (fraction > 0)).any():
            begun = time.perf_counter()
            until = np.minimum(stop, clock + part).astype(self.dtype)
            with jax.enable_x64(self.precision == "f64"):
                p, state = self._split(program, table)
                self._merge(program, table, step_until(p, state, until, *self._times(h, t0)), running)
            part *= 0.5 if time.perf_counter() - begun > SLICE else 2.0

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
        jax.block_until_ready(state)
        with shielded():  # a lane has all rows of one step
            for name, values in state.items():
                for row, value in zip(program.layout.rows(name), values, strict=True):
                    table[row, lanes] = np.asarray(value)[lanes]
