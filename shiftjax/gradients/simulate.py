"""The public `simulate`: a plain run where every varied number is known, what JAX differentiates where one is not."""

from __future__ import annotations

import functools
import inspect
import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.gradients.derived import derived
from shiftjax.gradients.differentiable_run import DifferentiableRun
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import design_of, refuse_assigned, traced_drives
from shiftjax.gradients.transforms import Differentiable, Same, differentiable
from shiftjax.measures.run_metrics import check_name, text_of_function
from shiftjax.mechanism.model import Model
from shiftjax.run.arguments import check_arguments, stated_settings
from shiftjax.run.file_integrator import completed
from shiftjax.run.options import Options, options_of
from shiftjax.run.programs.precision import need_x64
from shiftjax.run.results.result import Result, members_to_keep
from shiftjax.run.simulate import simulate as run_simulate
from shiftjax.shield import interruptible

Array = Any  # of JAX, traced
P = ParamSpec("P")
KEPT = 8  # runs that are remembered; each may hold tapes
COUNTS = ("repartitions", "steps", "rejected", "jumps")  # of the certificate: whole numbers


class TracedRun(Differentiable, Protocol):
    """A run whose varied numbers are not known yet.

    Attributes:
        static: fields of the `Result` that no varied number changes: time, units, model, report, settings,
            metric_units, metric_texts.
    """

    @property
    def static(self) -> Mapping[str, Any]: ...

    def split(self, y: Array) -> tuple[dict[str, Array], dict[str, Array], Array, dict[str, Array]]:
        """What the outputs (B, M) are, by slices and reshapes alone: y may be traced.

        Returns:
            channel path -> (B, n, ...); name of a metric -> (B,); status (B,); number of the certificate -> (B,). The
            tangents of the latter two are zero and their cotangents are ignored.
        """
        ...


# Of the model, the full paths of the varied numbers, all other options, and the paths of the numbers that are traced.
Make = Callable[[Model, tuple[str, ...], Options, tuple[str, ...]], TracedRun]


def front_door(simulate: Callable[P, Result], make: Make) -> Callable[P, Result]:
    """`simulate`, which JAX may trace with respect to the values of `vary`.

    Where no value of `vary` is traced, it is `simulate` itself. Where one is, each traced value is a (B,) array, and
    the result's channels and metrics are JAX arrays that carry first derivatives with respect to them; its status and
    certificate are JAX arrays without. What cannot exist before the numbers are known is empty: messages, notes,
    poses, log, branch, final state, schedule. Metrics that are functions of recorded channels are called with the
    traced channels.

    Args:
        simulate: of `run.simulate`.
        make: the run of a model; the same model and arguments share one, and what was compiled for it.

    Raises:
        ModelError: as of `simulate`; an argument that has no meaning before the numbers are known; f64 while JAX
            computes in f32.
    """
    signature = inspect.signature(simulate)
    of = functools.lru_cache(KEPT)(lambda key: make(*key.wanted))

    @interruptible
    @functools.wraps(simulate, assigned=("__name__", "__qualname__", "__doc__", "__annotations__"))
    def traceable(*args: P.args, **kwargs: P.kwargs) -> Result:
        refuse_assigned(kwargs.get("assign"))
        asked = [kwargs.get(name) for name in ("vary", "drive")]
        if not any(is_traced(values) for group in asked if isinstance(group, Mapping) for values in group.values()):
            return simulate(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        return _traced(of, given.pop("model"), options_of(**given))

    return traceable


def _traced(of: Callable[[_Key], TracedRun], model: Model | str, options: Options) -> Result:
    """The result of a run whose numbers are not known yet."""
    begun = clock.perf_counter()
    check_arguments(**options.flat())
    precision, asked = options.numerics.precision, options.recording.metrics or {}
    need_x64(precision)
    model = model if isinstance(model, Model) else load(model)
    design, assign, motions = options.design.vary or {}, options.design.assign, options.motion.drive
    with jax.ensure_compile_time_eval():  # what follows from known numbers alone is known, also inside of jax.jit
        if options.design.derive or model.expressions:
            design, assign = derived(model, design_of(model, design), assign, options.design.derive or {})
        model, columns, drive = traced_drives(model, motions or {})
    design = design_of(model, {**design, **columns})
    _refuse(len(next(iter(design.values()))), options)
    functions = {name: metric for name, metric in asked.items() if callable(metric)}
    texts = {name: metric for name, metric in asked.items() if name not in functions}
    numerics = completed(options.numerics, model.settings)  # left out, it is the same run as with what it stands for
    others = options.changed(
        vary=None, derive=None, assign=assign, drive=drive, metrics=texts, method=numerics.method,
        tolerance=numerics.tolerance,
    )  # fmt: skip
    with jax.ensure_compile_time_eval():
        run = of(_Key(model, tuple(design), others, tuple(path for path in design if is_traced(design[path]))))
    y = differentiable(run, precision=precision)(jnp.stack([*design.values()], axis=1))
    channels, metrics, status, certificate = run.split(y)
    status = _count(status)
    metrics |= _measured(functions, run.static["time"], channels, status)
    static = dict(run.static)
    static["metric_texts"] = {**static["metric_texts"], **{name: text_of_function(f) for name, f in functions.items()}}
    static["metric_units"] = {**static["metric_units"], **dict.fromkeys(functions, "1")}
    static["settings"] = {**static["settings"], **stated_settings(options, ["drive"])}
    return Result(
        **static,
        channels=channels,
        metrics={name: metrics[name] for name in asked},
        status=status,
        certificate={
            name: _count(values) if name in COUNTS else jax.lax.stop_gradient(values)
            for name, values in certificate.items()
        },
        design=design,
        messages=(),
        poses={},
        kept=np.zeros(0, int),
        wall_s=clock.perf_counter() - begun,
    )


def _refuse(members: int, options: Options) -> None:
    """Refuses arguments that have no meaning before the numbers are known."""
    todo = {
        "start": "Run the whole span in one call.",
        "schedule": "Leave it out: the adjoint repeats the run's own.",
        "extremes": 'Ask for metrics: "minimum(...)" and "maximum(...)".',
        "log_jacobian": "Ask for it in a call with numbers.",
    }
    given = options.flat()
    for name, instead in todo.items():
        if given[name]:
            raise ModelError(
                name, "a call that JAX traces", "a call with numbers, without jax.grad or jax.jit", instead
            )
    if len(members_to_keep(given["keep"], members)):
        instead = 'Record channels, such as "BODY:FRAME.position".'
        raise ModelError("keep", "a call that JAX traces", '"none": poses carry no derivatives', instead)


def _measured(
    functions: Mapping[str, Callable[..., Any]], time: np.ndarray, channels: Mapping[str, Array], status: Array
) -> dict[str, Array]:
    """The metrics (B,), not numbers where a member ended early."""
    metrics = {}
    for name, function in functions.items():
        check_name(name)
        try:
            values = jnp.asarray(function(time, channels), float)
        except jax.errors.TracerArrayConversionError as error:
            allowed = "a function made of operators and jax.numpy, since JAX traces the channels"
            raise ModelError(f"metric {name}", "a function made of numpy", allowed, "Write jnp. for np.") from error
        if values.shape != status.shape:
            allowed = f"one number a member, shape {status.shape}"
            raise ModelError(f"metric {name}", f"shape {values.shape}", allowed, "Correct the function.")
        metrics[name] = jnp.where(status > 0, jnp.full_like(values, jnp.nan), values)
    return metrics


def _count(values: Array) -> Array:
    return jax.lax.stop_gradient(values).astype(int)


class _Key:
    """A model and arguments, equal to others that make the same run."""

    def __init__(self, model: Model, vary: tuple[str, ...], others: Options, traced: tuple[str, ...]) -> None:
        self.wanted = model, vary, others, traced
        named = (model.name, model.version, model.source, model.warnings, model.replaced, model.origin)
        self._frozen = model, named, vary, traced, _frozen(others.flat())
        self._hash = hash(self._frozen)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._frozen == self._frozen

    def __hash__(self) -> int:
        return self._hash


def _frozen(value: Any) -> Any:
    """An argument as something that can be hashed; what cannot is told by its identity."""
    if isinstance(value, Mapping):
        return tuple((key, _frozen(inner)) for key, inner in value.items())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_frozen(inner) for inner in value)
    try:
        hash(value)
    except TypeError:
        return Same(value)
    return type(value), value


simulate = front_door(run_simulate, DifferentiableRun)
