"""`compile`: one step of a model as a plain JAX function of one lane, for users who build their own loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError, need_number, one_of, refuse_text
from shiftjax.formats.files import load
from shiftjax.kernels.backends import BACKENDS, make_kernel
from shiftjax.kernels.lane_program import DTYPES
from shiftjax.kernels.xla import step_function
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.outcome import Outcome
from shiftjax.run.advance.first_lanes import begin
from shiftjax.run.advance.settings import Settings
from shiftjax.run.arguments import check_arguments
from shiftjax.run.derive import Formula, derived_columns, refuse_determined
from shiftjax.run.options import options_of
from shiftjax.run.programs.integrators import check_method
from shiftjax.run.programs.lane_program import Programs
from shiftjax.run.programs.precision import need_x64
from shiftjax.run.programs.setup import ACCUMULATORS
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.driven.drives import Drivable, driven, refuse_beyond_tables
from shiftjax.run.start.partitions import partitions
from shiftjax.run.start.physical import impossible, impossible_inertias, refuse_impossible
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.refusals import refuse_massless_motion
from shiftjax.run.start.singular_starts import with_ways
from shiftjax.topology.partition import MemberBlocks, Partition

GROUPS = (
    *("q", "x", "dx", "clock", "fraction", "limit", "armed", "acc", "rep", "mon", "trip"),
    *("event", "event_rate", "watched"),
)

Params = dict[str, Any]  # varied path -> () a lane, (B,) an ensemble
State = dict[str, Any]  # group of `GROUPS` -> (rows,) a lane, (B, rows) an ensemble


class Simulator:
    """A model compiled for stepping.

    Attributes:
        partition: the nominal partition, that of the file's own assembled start; a lane for which it goes bad trips.
        step_size: seconds. vary: full paths of the numbers that differ between lanes; derived: of those that follow.
    """

    def __init__(
        self, prepared: Prepared, step_size: float, backend: str | None, derive: Mapping[str, Formula]
    ) -> None:
        self.prepared, self.step_size, self.backend = prepared, step_size, backend
        self._derive = derive
        of_file = (path for path in prepared.vary if path in prepared.model.expressions)
        self.derived = (*(prepared.model.resolve(path) for path in derive), *of_file)
        self.vary = tuple(path for path in prepared.vary if path not in self.derived)
        self.precision = prepared.setup.precision
        self._multiplier = prepared.model.settings.infinity_norm_multiplier
        blocks = partitions(prepared, with_ways(prepared, prepared.file_start), self._multiplier)
        self.partition = Partition(tuple(block[0] for block in blocks))
        self._programs = Programs(prepared.setup)
        self._step: Callable[..., Any] | None = None

    def start(self, vary: Mapping[str, Any]) -> tuple[Params, State]:
        """Assembles members on the host, with the nominal partition.

        Args:
            vary: (B,) values for every path given to `compile`; derived numbers follow from them.

        Returns:
            params: path -> (B,); state: (B, rows) of every group.

        Raises:
            ModelError: paths other than those compiled for.
        """
        need_x64(self.precision)
        given = {self.prepared.model.resolve(path): values for path, values in vary.items()}
        if set(given) != set(self.vary):
            raise ModelError("vary", f"{sorted(vary)}", f"{sorted(self.vary)}", "Give values for these paths.")
        setup = self.prepared.setup
        if self._derive or self.prepared.model.expressions:
            given = derived_columns(self.prepared.model, given, self._derive)
        vary = {path: given[path] for path in self.prepared.vary}  # the order of the program's slots
        drive = {group.name: setup.functions[group.function] for group in self.prepared.plan.constraints
                 if group.prescribes and group.function >= 0}  # fmt: skip
        again = prepare(
            self.prepared.model, vary, options_of(method=setup.method, precision=setup.precision, drive=drive)
        )
        began = with_ways(again, start_of(again))
        members = again.members
        settings = Settings(self.step_size, 1, 1, multiplier=self._multiplier)
        blocks = [MemberBlocks.alike(block, members) for block in self.partition.blocks]
        p = again.parameters()
        kernel = make_kernel(self.backend, self.precision)
        lanes = begin(kernel, settings, began, p, began.closed, blocks, [(self._programs, np.arange(members))])
        numbers = again.model, again.vary, again.values
        lanes.end({**impossible_inertias(*numbers), **impossible(*numbers)}, Outcome.unphysical)  # it warns of nothing
        refused = np.flatnonzero(lanes.status)
        lanes.table.set("trip", -lanes.status[refused], refused)
        read = [self.prepared.plan.numbers[place].path for place in setup.varied]
        params = dict(zip(read, (jnp.asarray(row) for row in p.astype(DTYPES[self.precision])), strict=True))
        return params, {name: jnp.asarray(lanes.table.rows(name).T) for name in GROUPS}

    def step(self, params: Params, state: State) -> tuple[State, dict[str, Any]]:
        """One step of one lane; pure, for `jax.jit`, `jax.vmap`, `jax.lax` loops.

        Returns:
            the state, unchanged where the lane tripped; info: `status` (0 good, else what tripped it: 1 + index of a
            monitor, one more than there are for a number that is not finite, negative for a bad start), the running
            `gap`, `velocity_gap`, `pivot_ratio`, and the attempted step's `monitors`.
        """
        need_x64(self.precision)
        if self._step is None:
            self._step = step_function(self._programs.of(self.partition), self.precision)
        dtype = DTYPES[self.precision]
        numbers = self.prepared.plan.numbers
        p = tuple(params[numbers[place].path] for place in self.prepared.setup.varied)
        lane = {name: tuple(state[name][k] for k in range(state[name].shape[0])) for name in GROUPS}
        new = self._step(p, lane, np.asarray(self.step_size, dtype), np.asarray(0.0, dtype))
        frozen = state["trip"][0] != 0.0
        out = {name: jnp.where(frozen, state[name], _stacked(new[name], state[name])) for name in GROUPS}
        acc = dict(zip(ACCUMULATORS, new["acc"], strict=True))
        condition = acc["squared_condition"]
        info = {
            "status": out["trip"][0],
            "gap": acc["gap"],
            "velocity_gap": acc["velocity_gap"],
            "pivot_ratio": jax.lax.rsqrt(jnp.maximum(condition, jnp.ones_like(condition))),
            "monitors": out["mon"],
        }
        return out, info


def _stacked(values: Sequence[Any], like: Any) -> Any:
    return jnp.stack([jnp.asarray(v, like.dtype) for v in values]) if len(values) else like


def compile(
    model: Model | str,
    vary: Sequence[str] = (),
    *,
    step: float = 1e-3,
    method: str = "rk4",
    precision: str = "f64",
    backend: str | None = None,
    drive: Mapping[str, Drivable] | None = None,
    derive: Mapping[str, Formula] | None = None,
) -> Simulator:
    """Compiles one step of a model.

    Args:
        model: a Model, a library name or a path. vary: number paths that will differ between lanes; step: seconds.
        drive: joint -> its motion, as of `simulate`, without arrays: vary the driver's numbers.
        derive: number path -> what it follows from, as of `simulate`; worked out at every `start`.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    check_arguments(derive=derive)
    check_method(method)
    refuse_text("vary", vary)
    one_of("backend", "cpu" if backend is None else backend, BACKENDS)
    one_of("precision", precision, DTYPES)
    need_number("step", step, "a positive number of seconds", above=0.0)
    model = model if isinstance(model, Model) else load(model)
    model, arrays, functions = driven(model, {} if drive is None else drive)
    if arrays:
        raise ModelError("drive", f"arrays for {listed(arrays)}", "one number each", "Name these paths in `vary`.")
    numbers = model.numbers()
    paths = [model.resolve(path) for path in vary]
    refuse_determined(model, paths, "vary")
    nominal: dict[str, Any] = {path: [numbers.get(path, 0.0)] for path in paths}
    if derive or model.expressions:
        nominal = derived_columns(model, nominal, derive)
    prepared = prepare(model, nominal, options_of(method=method, precision=precision, drive=functions))
    refuse_beyond_tables(prepared.plan, prepared.lane_of(np.arange(1), 1.0), 0.0, np.inf)
    refuse_massless_motion(prepared, prepared.file_start)
    refuse_impossible(prepared.model, prepared.vary, prepared.values, strict=True)
    return Simulator(prepared, step, backend, dict(derive or {}))


__all__ = ["Simulator", "compile"]
