"""`simulate` under JAX: what the front door makes of traced numbers, with runs differentiated by differences."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.constraints import Harmonic
from shiftjax.errors import ModelError
from shiftjax.gradients.simulate import front_door
from shiftjax.mechanism.model import Model
from shiftjax.run.options import Options
from shiftjax.run.simulate import simulate as run_simulate
from tests.support.differences import Differences

SAME = 1e-12  # relative: the same differences, in other batches
ORDER_4 = 1e-7  # of differences of order 4 by steps of a thousandth, and the rounding of what they subtract
MASS, LENGTH, ANGLE = "four_bar:coupler.mass", "four_bar:coupler:tip.T[0]", "rocker_pivot.q"
SHORT: dict[str, Any] = {"span": 0.02, "step": 2e-3, "channels": [ANGLE], "hold": ["crank_pivot"]}
MASSES = np.array([0.8, 1.0, 1.3])


class Making:
    """`simulate` with derivatives by differences; `runs` are those that were made."""

    def __init__(self) -> None:
        self.runs: list[Differences] = []
        self.simulate = front_door(run_simulate, self._make)

    def _make(self, model: Model, vary: tuple[str, ...], options: Options, traced: tuple[str, ...]) -> Differences:
        self.runs.append(Differences(model, vary, options))
        return self.runs[-1]

    def calls(self) -> list[tuple[str, int]]:
        return [call for run in self.runs for call in run.calls]

    def last_angle(self, **more: Any) -> Callable[[Any], Any]:
        """The sum over members of the last angle, as a function of masses."""
        given = {**SHORT, **more}
        return lambda m: self.simulate("four_bar", **given, vary={MASS: m}).channels[ANGLE][:, -1].sum()


def by_hand(masses: Any = MASSES, h: float = 1e-3) -> np.ndarray:
    """The derivative of the last angle by differences of plain runs: both sums are those of `Differences`."""
    last = lambda m: run_simulate("four_bar", **SHORT, vary={MASS: m}).channels[ANGLE][:, -1]  # noqa: E731
    masses = np.asarray(masses)
    step = h * np.maximum(masses, 1.0)
    return sum(w * last(masses + k * step) for k, w in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))) / step


def test_the_gradient_of_the_contract() -> None:
    """Issue 12: a traced mass, the gradient of the last angle, one value a member."""
    making = Making()
    found = jax.grad(making.last_angle())(jnp.asarray(MASSES))
    assert isinstance(found, jax.Array) and found.shape == (3,)
    assert np.abs(np.asarray(found) - by_hand()).max() <= SAME * np.abs(by_hand()).max()
    assert making.calls() == [("run", 3), ("adjoint", 3)]


def descent(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Two steps down the gradient."""
    return lambda m: jax.lax.scan(lambda m, _: (m - 0.1 * jax.grad(f)(m), None), m, None, length=2)[0]


@pytest.mark.parametrize(
    ("transformed", "calls"),
    [
        (lambda f: jax.jit(jax.grad(f)), ["adjoint"]),
        (lambda f: lambda m: jax.vmap(jax.grad(f))(jnp.stack([m, m]))[1], ["run", "adjoint"]),
        (lambda f: lambda m: jax.jacfwd(f)(m), ["run", "tangent"]),
        (lambda f: lambda m: jax.jvp(lambda s: f(s * m), (1.0,), (1.0,))[1] * jnp.ones(3) / 3, ["run", "tangent"]),
        (lambda f: lambda m: (m - jax.jit(descent(f))(m)) / 0.2, ["adjoint", "adjoint"]),
    ],
    ids=["jit", "vmap", "jacfwd", "jvp", "scan"],
)
def test_transformations(transformed: Callable[[Any], Callable[[Any], Any]], calls: list[str]) -> None:
    """Each composes with the run as with any JAX function; the toy's tests compare values of all of them."""
    making = Making()
    found = np.asarray(transformed(making.last_angle())(jnp.asarray(MASSES)))
    assert found.shape == (3,) and np.isfinite(found).all() and (found != 0).all()
    assert [name for name, _ in making.calls()] == calls and len(making.runs) == 1


def test_vmap_makes_members() -> None:
    """Two studies of three members are one run of six."""
    making = Making()
    found = jax.vmap(jax.grad(making.last_angle()))(jnp.stack([MASSES, 2 * MASSES]))
    assert making.calls() == [("run", 6), ("adjoint", 6)]
    wanted = by_hand(np.concatenate([MASSES, 2 * MASSES])).reshape(2, 3)
    assert np.abs(np.asarray(found) - wanted).max() <= SAME * np.abs(wanted).max()


@pytest.mark.parametrize("values", [MASSES, list(MASSES), jnp.asarray(MASSES)], ids=["numpy", "list", "jax"])
def test_known_numbers_make_a_plain_run(values: Any) -> None:
    making = Making()
    result = making.simulate("four_bar", **SHORT, vary={MASS: values})
    plain = run_simulate("four_bar", **SHORT, vary={MASS: MASSES})
    assert not making.runs and type(result.channels[ANGLE]) is np.ndarray and len(result.messages) == 3
    assert np.array_equal(result.channels[ANGLE], plain.channels[ANGLE])
    assert making.simulate("four_bar", **SHORT).channels[ANGLE].ndim == 1


def test_the_traced_result() -> None:
    """Channels and metrics carry derivatives, status and certificate none; what cannot be known is empty."""
    making, seen = Making(), []

    def outputs(m: Any) -> Any:
        metrics = {"top": "maximum(rocker_pivot.q)", "mean": lambda t, c: c[ANGLE].mean(1), "rms": f"rms({ANGLE})"}
        result = making.simulate("four_bar", **SHORT, output_step=1e-2, vary={MASS: m}, metrics=metrics)
        seen.append(result)
        text = repr(result)
        assert "3 members, traced by JAX" in text and "four_bar:coupler.mass (3,), traced" in text
        return dict(result.channels), dict(result.metrics), result.status, dict(result.certificate)

    tangents = jax.jit(lambda m: jax.jvp(outputs, (m,), (jnp.ones(3),)))
    (channels, metrics, status, certificate), (slopes, slopes_of_metrics, none, flat) = tangents(jnp.asarray(MASSES))
    plain = run_simulate(
        "four_bar", **SHORT, output_step=1e-2, vary={MASS: MASSES},
        metrics={"top": f"maximum({ANGLE})", "mean": lambda t, c: c[ANGLE].mean(1), "rms": f"rms({ANGLE})"},
    )  # fmt: skip
    (result,) = seen
    assert np.array_equal(channels[ANGLE], plain.channels[ANGLE]) and slopes[ANGLE].shape == (3, 3)
    assert list(result.metrics) == list(plain.metrics) == ["top", "mean", "rms"]
    assert np.allclose(metrics["mean"], plain.metrics["mean"], rtol=SAME, atol=0.0)
    assert np.array_equal(metrics["rms"], plain.metrics["rms"])
    assert all(np.any(np.asarray(values) != 0) for values in slopes_of_metrics.values())
    assert np.array_equal(status, plain.status) and status.dtype == int and none.dtype == jax.dtypes.float0
    for name, values in plain.certificate.items():
        assert np.array_equal(certificate[name], values) and certificate[name].dtype == values.dtype
        assert flat[name].dtype == jax.dtypes.float0 or not np.asarray(flat[name]).any()
    assert np.array_equal(result.time, plain.time) and type(result.time) is np.ndarray
    for name in ("units", "model", "report", "metric_units", "metric_texts", "settings"):
        assert getattr(result, name) == getattr(plain, name), name
    assert (result.messages, result.notes, result.log, result.poses, result.kept.size) == ((), (), (), {}, 0)
    assert result.schedule is result.final is result.ending is result.branch is None


@pytest.mark.parametrize("use", ["failed", "outcomes", "to_xarray", "to_pandas", "plot", "document"])
def test_what_needs_numbers_says_so(use: str) -> None:
    def traced(m: Any) -> Any:
        result = Making().simulate("four_bar", **SHORT, vary={MASS: m})
        found = getattr(result, use)
        return found() if callable(found) else found

    with pytest.raises(ModelError, match=r"result: found arrays that JAX traces; .*channels or metrics"):
        jax.jit(traced)(jnp.asarray(MASSES))


def test_a_traced_result_is_shown() -> None:
    """Outside of jit, too, where JAX knows some of the arrays."""
    shown: list[str] = []

    def last(m: Any) -> Any:
        result = Making().simulate("four_bar", **SHORT, vary={MASS: m})
        shown.extend((repr(result), result._repr_html_()))
        return result.channels[ANGLE][:, -1].sum()

    jax.grad(last)(jnp.asarray(MASSES))
    assert all("four_bar:coupler.mass (3,), traced" in text and "3 members" in text for text in shown)


def test_a_member_that_ends_early() -> None:
    """Its channels and its metrics are not numbers, and its status says why."""
    making = Making()

    @jax.jit
    def outputs(lengths: Any) -> Any:
        given = {**SHORT, "metrics": {"top": "maximum(rocker_pivot.q)", "last": lambda t, c: 0 * c[ANGLE][:, -1] + 1.0}}
        result = making.simulate("four_bar", **given, vary={LENGTH: lengths})
        return result.status, result.channels[ANGLE], result.metrics

    nominal = float(shiftjax.load("four_bar").numbers()[LENGTH])
    status, angle, metrics = outputs(jnp.asarray([nominal, 50.0]))
    assert status.tolist() == [0, int(shiftjax.Outcome.not_assembled)]
    assert np.isfinite(angle[0]).all() and np.isnan(angle[1]).all()
    assert all(np.isnan(values).tolist() == [False, True] for values in metrics.values())


def test_the_same_arguments_share_a_run() -> None:
    """What was compiled for a run is used again wherever the same is asked for, and nowhere else."""
    making = Making()
    trace = lambda **given: jax.eval_shape(making.last_angle(**given), jnp.asarray(MASSES))  # noqa: E731
    model = shiftjax.load("four_bar")
    heavy = model.replace({"crank.mass": 2.0})
    for same in ({}, {"span": 0.02}, {"hold": ("crank_pivot",)}, {"method": "rk4"}, {"assign": {}}):
        trace(**same)
    jax.eval_shape(lambda m: making.simulate(model, **SHORT, vary={MASS: m}).status, jnp.asarray(MASSES[:2]))
    jax.eval_shape(lambda m: making.simulate(model, **SHORT, vary={"coupler.mass": m}).status, jnp.asarray(MASSES))
    assert len(making.runs) == 2  # `assign={}` is not `assign=None`
    for other in ({"span": 0.04}, {"hold": []}, {"method": "euler"}, {"assign": {"crank.mass": 1.5}}, {"threads": 1}):
        trace(**other)
        trace(**other)
    jax.eval_shape(lambda m: making.simulate(heavy, **SHORT, vary={MASS: m}).status, MASSES)
    assert len(making.runs) == 8
    assert making.calls() == []  # nothing is run to know the shapes


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"start": run_simulate("four_bar", 2e-3, 2e-3)}, r"start: found a call that JAX traces.*whole span in one"),
        ({"schedule": run_simulate("four_bar", 2e-3, 2e-3).schedule}, r"schedule: found a call that JAX traces"),
        ({"derive": {"crank.mass": "2 * {coupler.mas}"}}, r"coupler\.mass"),
        ({"derive": {MASS: "2"}}, r"derive four_bar:coupler\.mass: found the same number in vary, too"),
        (
            {"derive": {"crank.mass": lambda n: np.sqrt(n[MASS])}},
            r"derive four_bar:crank\.mass: found a function made o",
        ),
        ({"extremes": True}, r'extremes: .*"minimum\(\.\.\.\)"'),
        ({"log_jacobian": True}, r"log_jacobian: found a call that JAX traces"),
        ({"keep": "all"}, r"keep: found a call that JAX traces.*poses carry no derivatives"),
        ({"keep": [7]}, r"keep: found \[7\]; allowed: whole numbers from 0 to 2"),
        ({"metrics": {"status": lambda t, c: c[ANGLE][:, 0]}}, r"metrics: found the name 'status'"),
        (
            {"metrics": {"top": lambda t, c: np.max(np.asarray(c[ANGLE]), 1)}},
            r"metric top: found a function made of nu",
        ),
        ({"metrics": {"top": lambda t, c: c[ANGLE]}}, r"metric top: found shape \(3, 3\); allowed: one number a mem"),
        ({"channels": ["rocker.q"]}, r"rocker"),
        ({"span": -1.0}, r"span"),
        ({"hold": "crank_pivot"}, r"hold: found 'crank_pivot'; allowed: a list of paths"),
    ],
)
def test_arguments_that_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        jax.grad(Making().last_angle(**given))(jnp.asarray(MASSES))


@pytest.mark.parametrize(
    ("vary", "match"),
    [
        (
            lambda m: {MASS: m.sum()},
            r"vary four_bar:coupler.mass: found shape \(\); allowed: one value a member, shape.*Write \[value\]",
        ),
        (lambda m: {MASS: m[:, None]}, r"found shape \(3, 1\); allowed: one value a member"),
        (lambda m: {MASS: m, LENGTH: [1.0]}, r"vary: found lengths .*allowed: one length for all"),
        (lambda m: {MASS: m, "coupler.mass": m}, r"vary coupler.mass: found the same number twice"),
        (lambda m: {MASS: m[:0]}, r"vary: found no members"),
        (lambda m: {"coupler.mas": m}, r"coupler\.mass"),
        (lambda m: {MASS: m, LENGTH: ["a", "b", "c"]}, r"allowed: real numbers, one a member"),
    ],
)
def test_values_that_are_refused(vary: Callable[[Any], Any], match: str) -> None:
    """With the words of a plain run."""
    with pytest.raises(ModelError, match=match):
        jax.grad(lambda m: Making().simulate("four_bar", **SHORT, vary=vary(m)).status.sum())(jnp.asarray(MASSES))


def test_a_traced_number_for_all_members_is_refused() -> None:
    with pytest.raises(
        ModelError, match=r"assign coupler\.mass: found a number that JAX traces.*vary=\{'coupler\.mass'"
    ):
        jax.grad(lambda m: Making().simulate("four_bar", **SHORT, assign={"coupler.mass": m}).channels[ANGLE][-1])(1.0)


def test_traced_numbers_in_a_list_and_beside_known_ones() -> None:
    """A list of scalars is an array; what is not traced is a constant."""
    making = Making()

    def last(one: Any) -> Any:
        vary = {MASS: [one, 1.0, 2 * one], "four_bar:crank.mass": np.array([1.0, 2.0, 3.0])}
        return making.simulate("four_bar", **SHORT, vary=vary).channels[ANGLE][:, -1].sum()

    slope = float(jax.grad(last)(1.0))
    h = 1e-4
    assert slope == pytest.approx((float(last(1.0 + h)) - float(last(1.0 - h))) / (2 * h), rel=1e-5)  # h^2 and rounding


def test_drives() -> None:
    """A drive's arrays, one value a member, are varied numbers, too: a batch axis of JAX repeats them."""
    making = Making()
    speeds = np.array([1.0, 2.0, 3.0])
    given: dict[str, Any] = {"span": 0.02, "step": 2e-3, "channels": [ANGLE, "crank_pivot.drive_load"]}
    load = "crank_pivot.drive_load"

    def loads(motion: Any) -> Callable[[Any], Any]:
        drive = {"crank_pivot": motion}
        return lambda m: making.simulate("four_bar", **given, vary={MASS: m}, drive=drive).channels[load]

    for motion in (speeds, Harmonic(amplitude=speeds, frequency=4.0), lambda t: 0.1 * jnp.sin(t)):
        found = jax.vmap(loads(motion))(jnp.stack([MASSES, 2 * MASSES]))
        plain = run_simulate("four_bar", **given, vary={MASS: 2 * MASSES}, drive={"crank_pivot": motion})
        assert np.array_equal(found[1], plain.channels[load])
        assert np.array_equal(jax.jit(loads(motion))(2 * jnp.asarray(MASSES)), plain.channels[load])
    assert len(making.runs) == 3

    def angle(speed: Any) -> Any:
        vary = {"crank_pivot_drive.speed": speed}
        return making.simulate("four_bar", **given, vary=vary, drive={"crank_pivot": 0.0}).channels[ANGLE][:, -1].sum()

    slope = jax.grad(angle)(jnp.asarray(speeds))
    assert np.isfinite(slope).all() and (np.abs(slope) > 1e-3).all()  # 0.02 s of turning, geared by about 1


def test_traced_speeds_of_a_drive() -> None:
    """A drive may be an array of traced speeds; one for all members is refused."""
    making = Making()
    given: dict[str, Any] = {"span": 0.02, "step": 2e-3, "channels": [ANGLE]}
    speeds = jnp.asarray([1.0, 2.0])

    def angle(speeds: Any) -> Any:
        return making.simulate("four_bar", **given, drive={"crank_pivot": speeds}).channels[ANGLE][:, -1].sum()

    def named(speeds: Any) -> Any:
        vary = {"crank_pivot_drive.speed": speeds}
        return making.simulate("four_bar", **given, vary=vary, drive={"crank_pivot": 0.0}).channels[ANGLE][:, -1].sum()

    slope = jax.grad(angle)(speeds)
    assert np.array_equal(slope, jax.grad(named)(speeds)) and (np.asarray(slope) != 0).all()
    with pytest.raises(
        ModelError,
        match=r"drive crank_pivot: found traced numbers of shape \(\); allowed: one speed a.*Write \[speed\]",
    ):
        jax.grad(angle)(1.0)


@pytest.mark.parametrize("transformation", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_numbers_that_follow_from_traced_ones(transformation: Any) -> None:
    """`derive` is part of what is differentiated: every function of its expressions, functions of arrays, constants."""
    making = Making()
    words = "sin cos tan sqrt exp log abs atan asin acos".split()
    every = " + ".join(f"{word}({{{MASS}}} / 4)" for word in words)
    derive = {
        "crank.mass": f"1 + ({every}) ** 2 / 100 + atan2({{{MASS}}}, 2) * min({{{MASS}}}, 1) - max({{{MASS}}}, 3) / 9",
        "rocker.mass": lambda numbers: 1.0 + numbers["crank.mass"] ** 2,
        "crank_pivot.initial_velocity": "-(1 + 2) / 3",
    }
    given = {**SHORT, "derive": derive}
    seen = []

    def last(m: Any) -> Any:
        result = making.simulate("four_bar", **given, vary={MASS: m})
        seen.append((list(result.design), result.settings["assign"]))
        return result.channels[ANGLE][:, -1]

    plain = lambda m: run_simulate("four_bar", **given, vary={MASS: m})  # noqa: E731
    masses = MASSES + 0.01  # away from the corner of `min`
    value, slope = transformation(lambda m: jax.jvp(last, (m,), (jnp.ones(3),)))(jnp.asarray(masses))
    result = plain(masses)
    assert seen[0] == (list(result.design), result.settings["assign"])
    assert np.allclose(value, result.channels[ANGLE][:, -1], rtol=SAME, atol=0.0)  # XLA's sines are not NumPy's
    h = 1e-3
    ends = [plain(masses + k * h).channels[ANGLE][:, -1] for k in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
    assert np.abs(np.asarray(slope) - wanted).max() <= ORDER_4 * np.abs(wanted).max()


def test_the_public_function_is_that_of_a_plain_run() -> None:
    """Signature, help and name are the run's, and it travels between processes."""
    assert inspect.signature(shiftjax.simulate) == inspect.signature(run_simulate)
    assert shiftjax.simulate.__doc__ == run_simulate.__doc__ and shiftjax.simulate.__name__ == "simulate"
    assert pickle.loads(pickle.dumps(shiftjax.simulate)) is shiftjax.simulate
