"""Metrics: every figure against NumPy on the whole trajectory, whatever the model, the backend and the batch."""

from __future__ import annotations

import numpy as np
import pytest

import shiftjax
from shiftjax import ModelError, simulate
from shiftjax.algebra import Vec
from shiftjax.measures.interval import Interval
from shiftjax.measures.metric import MetricKind, Options
from shiftjax.measures.metrics import METRICS
from tests.extensions import numpy_backend  # noqa: F401

SUMS = 1e-12  # of sums of thousands of terms, in other orders
ROUNDED = 1e-13  # of a value computed twice by other code (channels are not metrics' code)
OF_INSTANTS = 1e-9  # s: a rounding over a second difference, 1e-16 / 1e-6, times a step
F32 = 2e-5  # single precision over a thousand steps
SPAN, STEP = 0.5, 1e-3
POINTS = ((0.3, -0.3), (0.5, -0.35), (0.1, 0.2))
TEXTS = {
    "final": "final(X)",
    "low": "minimum(X)",
    "high": "maximum(X)",
    "swing": "peak_to_peak(X)",
    "area": "integral(X)",
    "mean": "mean(X)",
    "rms": "rms(X)",
    "when_low": "time_of_minimum(X)",
    "when_high": "time_of_maximum(X)",
    "at": "value_at(X, time=0.2)",
    "between": "value_at(X, 0.20037)",
}


def expected(t: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """The figures of X (B, n) at all instants (n,)."""
    between = np.array([np.interp(0.20037, t, row) for row in x])
    return {
        "final": x[:, -1],
        "low": x.min(1),
        "high": x.max(1),
        "swing": np.ptp(x, axis=1),
        "area": np.trapezoid(x, t, axis=1),
        "mean": np.trapezoid(x, t, axis=1) / (t[-1] - t[0]),
        "rms": np.sqrt(np.trapezoid(x**2, t, axis=1) / (t[-1] - t[0])),
        "when_low": t[x.argmin(1)],
        "when_high": t[x.argmax(1)],
        "at": x[:, round(0.2 / STEP)],
        "between": between,
    }


def largest(t: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """The largest of smooth values and its instant: of the cubics through four instants, between the inner two."""
    at = int(np.clip(x.argmax(), 2, len(x) - 3))
    tops = [(float(x.max()), float(t[x.argmax()]))]
    for first in (at - 2, at - 1):
        here = slice(first, first + 4)
        curve = np.poly1d(np.polyfit(t[here] - t[at], x[here], 3))
        roots = np.real(curve.deriv().roots)
        tops += [(curve(r), t[at] + r) for r in roots if t[first + 1] <= t[at] + r <= t[first + 2]]
    return max(tops)


def swept(model: str, path: str, members: int = 5, **more: object) -> shiftjax.Result:
    value = shiftjax.load(model).numbers()[path]
    vary = {path: value * np.linspace(0.9, 1.2, members)}
    return simulate(model, **{"span": SPAN, "step": STEP, "output_step": STEP, "vary": vary, **more})  # type: ignore[arg-type]


def first_of(model: str) -> tuple[str, str]:
    """A mass of a library model, and the coordinate of one of its joints."""
    loaded = shiftjax.load(model)
    mass = next(path for path in loaded.numbers() if path.endswith(".mass"))
    joint = next(path for path, joint in loaded.joints() if joint.type[0] in "RT")
    return mass, f"{joint}.q"


@pytest.mark.parametrize("model", ["four_bar", "bricard", "n_four_bar_2", "slider_crank_turntable", "excavator"])
def test_every_metric_is_what_numpy_makes_of_the_whole_trajectory(model: str) -> None:
    """One substructure, repartitions, several substructures, loops in space, drives: none changes what is measured."""
    mass, channel = first_of(model)
    metrics = {name: text.replace("X", channel) for name, text in TEXTS.items()}
    result = swept(model, mass, channels=[channel], metrics=metrics, extremes=True)
    assert (result.status <= 0).all()
    wanted = expected(result.time, result.channels[channel])
    for name, values in wanted.items():
        scale = max(1.0, np.abs(values).max())
        np.testing.assert_allclose(result.metrics[name], values, rtol=0, atol=SUMS * scale, err_msg=name)
    np.testing.assert_allclose(result.extremes[channel], np.stack([wanted["low"], wanted["high"]], 1), atol=SUMS)


def test_expressions_of_vectors_and_functions() -> None:
    """Differences, norms, products, numbers with units, and metrics of metrics."""
    tip, hub = "coupler:tip.position", "crank:tip.position"
    metrics = {
        "apart": f"maximum(norm({tip} - {hub}))",
        "mixed": "mean(2 * sin(crank_pivot.q) ** 2 + rocker_pivot.v / 3 - 10deg)",
        "ratio": "peak_to_peak(rocker_pivot.q) / (1 + abs(minimum(crank_pivot.v)))",
        "component": f"final({tip}[2])",
        "time": "final(t)",
    }
    channels = [tip, hub, "crank_pivot.q", "crank_pivot.v", "rocker_pivot.v", "rocker_pivot.q"]
    result = swept("four_bar", "four_bar:coupler.mass", channels=channels, metrics=metrics)
    c, t = result.channels, result.time
    q, v = c["rocker_pivot.q"], c["crank_pivot.v"]
    swing = np.array([largest(t, row)[0] + largest(t, -row)[0] for row in q])
    slowest = np.array([-largest(t, -row)[0] for row in v])
    mixed = 2 * np.sin(c["crank_pivot.q"]) ** 2 + c["rocker_pivot.v"] / 3 - np.deg2rad(10)
    wanted = {
        "apart": np.linalg.norm(c[tip] - c[hub], axis=2).max(1),
        "mixed": np.trapezoid(mixed, t, axis=1) / SPAN,
        "ratio": swing / (1 + np.abs(slowest)),
        "component": c[tip][:, -1, 2],
        "time": np.full(5, t[-1]),
    }
    for name, values in wanted.items():
        np.testing.assert_allclose(result.metrics[name], values, rtol=0, atol=SUMS, err_msg=name)
    assert result.metric_units == {"apart": "m", "mixed": "mixed", "ratio": "mixed", "component": "m", "time": "s"}


def crossing(t: np.ndarray, x: np.ndarray, *, up: bool, down: bool) -> float:
    for k in range(len(t) - 1):
        if (up and x[k] < 0 <= x[k + 1]) or (down and x[k] > 0 >= x[k + 1]):
            return t[k] + (t[k + 1] - t[k]) * x[k] / (x[k] - x[k + 1])
    return np.nan


def test_crossings_and_settling_times() -> None:
    """A damped pendulum swings through zero and comes to rest; both times by linear interpolation."""
    builder = shiftjax.ModelBuilder(gravity=(0, 0, 9.81))
    parts = builder.assembly("a")
    parts.body("rod", mass=1.0, center_of_mass=(0.3, 0, 0), inertia=(0.01, 0.01, 0.01))
    parts.joint("pivot", "Ry", child="rod", initial_displacement=0.4, damping=[0, 0.4])
    model = builder.build()
    band = "settling_time(pivot.q, target=-90deg, within=0.05)"
    metrics = {way: f"first_crossing(pivot.q, level=-90deg, direction='{way}')" for way in ("up", "down", "any")}
    metrics |= {"settled": band, "never": "first_crossing(pivot.q, 10)", "outside": "settling_time(pivot.v, 5, 0.1)"}
    result = simulate(model, span=8.0, step=STEP, output_step=STEP, channels=["pivot.q"], metrics=metrics)
    t, x = result.time, result.channels["pivot.q"] + np.pi / 2
    for way in ("up", "down", "any"):
        wanted = crossing(t, x, up=way != "down", down=way != "up")
        assert abs(result.metrics[way] - wanted) < SUMS, way
    out = np.flatnonzero(np.abs(x) > 0.05)[-1]
    entered = t[out] + STEP * (abs(x[out]) - 0.05) / (abs(x[out]) - abs(x[out + 1]))
    assert abs(result.metrics["settled"] - entered) < SUMS
    assert np.isnan(result.metrics["never"]) and np.isnan(result.metrics["outside"])


def to_segments(point: np.ndarray, path: np.ndarray) -> float:
    """Distance of a point to a line through points (n, k)."""
    a, way = path[:-1], np.diff(path, axis=0)
    share = np.clip(((point - a) * way).sum(1) / np.maximum((way**2).sum(1), 1e-300), 0, 1)
    return float(np.linalg.norm(point - a - share[:, None] * way, axis=1).min())


def test_distances_from_a_target_curve_and_from_timed_targets() -> None:
    """Path synthesis: the distance of target points to the path, with and without times."""
    tip, flat = "coupler:tip.position", "[coupler:tip.position[0], coupler:tip.position[2]]"
    times = (0.1, 0.2555, 0.4)
    metrics = {
        "path": f"path_distance({flat}, points=[[0.3, -0.3], [0.5, -0.35], [0.1, 0.2]])",
        "same": {"kind": "path_distance", "of": flat, "points": POINTS},
        "timed": {"kind": "tracking_error", "of": flat, "points": np.array(POINTS), "times": list(times)},
        "one": {"kind": "tracking_error", "of": "crank_pivot.q", "points": [1.0, 2], "times": [0.1, 0.2]},
    }
    result = swept("four_bar", "four_bar:coupler.mass", channels=[tip, "crank_pivot.q"], metrics=metrics)
    for member in range(result.members):
        path = result.channels[tip][member][:, [0, 2]]
        far = [to_segments(np.array(point), path) for point in POINTS]
        assert abs(result.metrics["path"][member] - np.sqrt(np.mean(np.square(far)))) < SUMS
        seen = np.stack([np.interp(times, result.time, path[:, k]) for k in range(2)], 1)
        wanted = np.sqrt(np.mean(((seen - POINTS) ** 2).sum(1)))
        assert abs(result.metrics["timed"][member] - wanted) < SUMS
        q = np.interp([0.1, 0.2], result.time, result.channels["crank_pivot.q"][member])
        assert abs(result.metrics["one"][member] - np.sqrt(np.mean((q - [1.0, 2.0]) ** 2))) < SUMS
    np.testing.assert_array_equal(result.metrics["path"], result.metrics["same"])


def test_metrics_change_no_bit_of_a_run_and_do_not_depend_on_the_batch() -> None:
    """A member alone, in a batch, with other metrics, with poses kept and in other chunks: the same bits."""
    metrics = {name: text.replace("X", "rocker_pivot.q") for name, text in TEXTS.items()}
    model, path = "four_bar", "four_bar:coupler.mass"
    plain = swept(model, path, channels=["rocker_pivot.q"])
    measured = swept(model, path, channels=["rocker_pivot.q"], metrics=metrics, keep="all")
    sparse = swept(model, path, output_step=SPAN, metrics=metrics)
    np.testing.assert_array_equal(plain.channels["rocker_pivot.q"], measured.channels["rocker_pivot.q"])
    for name in metrics:
        np.testing.assert_array_equal(measured.metrics[name], sparse.metrics[name], err_msg=name)
    lone = simulate(model, span=SPAN, step=STEP, vary={path: plain.design[path][3:4]}, metrics={"low": TEXTS["low"]
                    .replace("X", "rocker_pivot.q")})  # fmt: skip
    assert lone.metrics["low"][0] == measured.metrics["low"][3]


@pytest.mark.parametrize(("backend", "precision", "tolerance"), [("numpy", "f64", SUMS), ("cpu", "f32", F32)])
def test_other_backends_and_precisions(backend: str, precision: str, tolerance: float) -> None:
    """The step loop on NumPy accumulates the same; single precision to its rounding."""
    metrics = {name: text.replace("X", "rocker_pivot.q") for name, text in TEXTS.items()}
    given = {"span": 0.21, "metrics": metrics, "output_step": 0.21}
    one = swept("four_bar", "four_bar:coupler.mass", **given)
    other = swept("four_bar", "four_bar:coupler.mass", backend=backend, precision=precision, **given)
    for name in metrics:
        np.testing.assert_allclose(other.metrics[name], one.metrics[name], rtol=0, atol=tolerance, err_msg=name)


def test_a_run_that_goes_on_measures_its_own_span() -> None:
    """Metrics of a run from `start=` begin where it begins."""
    metrics = {
        "mean": "mean(rocker_pivot.q)",
        "low": "minimum(rocker_pivot.q)",
        "when": "time_of_minimum(rocker_pivot.q)",
    }
    first = swept("four_bar", "four_bar:coupler.mass", metrics={"other": "rms(crank_pivot.v)"})
    second = swept("four_bar", "four_bar:coupler.mass", start=first, channels=["rocker_pivot.q"], metrics=metrics)
    t, x = second.time, second.channels["rocker_pivot.q"]
    np.testing.assert_allclose(second.metrics["mean"], np.trapezoid(x, t, axis=1) / SPAN, atol=SUMS)
    low, when = np.array([largest(t, -row) for row in x]).T
    np.testing.assert_allclose(second.metrics["low"], -low, rtol=0, atol=SUMS)
    np.testing.assert_allclose(second.metrics["when"], when, rtol=0, atol=OF_INSTANTS)


def test_members_that_end_early_have_no_metrics() -> None:
    """Half a figure is not a figure."""
    lengths = np.array([0.4, 5.0])
    result = simulate(
        "four_bar", span=0.1, step=STEP, vary={"four_bar:coupler:tip.T[0]": lengths},
        metrics={"final": "final(rocker_pivot.q)"},
    )  # fmt: skip
    assert (np.isnan(result.metrics["final"]) == (result.status > 0)).all() and (result.status > 0).any()


def test_functions_of_what_is_recorded() -> None:
    """A function of arrays is called with times and channels of all members."""

    def loudness(time: np.ndarray, channels: dict[str, np.ndarray]) -> np.ndarray:
        return np.abs(channels["rocker_pivot.v"]).sum(1) / len(time)

    result = swept("four_bar", "four_bar:coupler.mass", channels=["rocker_pivot.v"], metrics={"loud": loudness})
    np.testing.assert_array_equal(result.metrics["loud"], loudness(result.time, dict(result.channels)))
    assert result.metric_texts == {"loud": "loudness of recorded channels"}
    with pytest.raises(ModelError, match="one number a member"):
        swept("four_bar", "four_bar:coupler.mass", metrics={"bad": lambda time, channels: 3.0})


def test_a_kind_from_outside_is_compiled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry of the table: the number of accepted steps, weighted by the value."""

    def update(acc: Vec, interval: Interval, options: Options) -> Vec:
        return [acc[0] + options["weight"] * interval.end.value[0]]

    kind = MetricKind(
        begin=lambda start, _: [np.zeros(np.shape(start.t))],
        update=update,
        value=lambda acc, start, end, _: acc[0],
        meaning="the sum over steps",
        options=(("weight", shiftjax.measures.metric.Option("of every step", 1.0)),),
    )
    monkeypatch.setitem(METRICS, "sum", kind)
    result = swept(
        "four_bar", "four_bar:coupler.mass", channels=["rocker_pivot.q"], metrics={"s": "sum(rocker_pivot.q, weight=2)"}
    )
    np.testing.assert_allclose(result.metrics["s"], 2 * result.channels["rocker_pivot.q"][:, 1:].sum(1), rtol=SUMS)


def test_a_word_may_stand_without_quotes() -> None:
    metrics = {"a": "first_crossing(rocker_pivot.v, 0, up)", "b": "first_crossing(rocker_pivot.v, direction='up')"}
    found = simulate("four_bar", span=1.0, metrics=metrics).metrics
    assert found["a"] == found["b"] > 0


def test_a_metric_may_have_several_lines() -> None:
    metrics = {"a": "maximum(\n rocker_pivot.q)\n  - minimum(rocker_pivot.q)\n", "b": "peak_to_peak(rocker_pivot.q)"}
    found = simulate("four_bar", span=0.1, metrics=metrics).metrics
    assert found["a"] == found["b"] > 0


def test_functions_that_are_undefined_for_some_numbers_are_read_without_a_warning() -> None:
    """The tilt of a body: the sine of an angle is below 1 in a run, though not for every number."""
    tilt = "2 * maximum(asin(norm([coupler.orientation[1], coupler.orientation[2], coupler.orientation[3]])))"
    found = simulate("four_bar", span=0.1, metrics={"tilt": tilt, "none": "log(-1 * maximum(1 + t))"}).metrics
    assert 0 < found["tilt"] < np.pi and np.isnan(found["none"])


WRONG = [
    ("rocker_pivot.q", "outside of a metric"),
    ("max(abs(rocker_pivot.q))", r"Write maximum\(rocker_pivot.q\)"),
    ("peaktopeak(rocker_pivot.q)", "Did you mean 'peak_to_peak'"),
    ("rms(coupler:tip.velocity)", "3 numbers"),
    ("rms(rocker_pivt.q)", "rocker_pivot"),
    ("value_at(rocker_pivot.q, 3)", "times from 0"),
    ("value_at(rocker_pivot.q)", "no time"),
    ("value_at(rocker_pivot.q, when=1)", "option 'when'"),
    ("value_at(rocker_pivot.q, 1, 2)", "arguments"),
    ("first_crossing(rocker_pivot.q, direction='left')", "any, up, down"),
    ("first_crossing(rocker_pivot.q, 0, left)", "any, up, down"),
    ("first_crossing(rocker_pivot.q, up)", "found 'up'"),
    ("path_distance(coupler:tip.position, points=[[1, 2]])", "points of \\[2\\] numbers"),
    ("path_distance(coupler:tip.position, points=3)", "finite numbers in a list"),
    ("tracking_error(rocker_pivot.q, points=[1, 2], times=[0.1])", "one time a point"),
    ("mean(coupler:tip.position[3])", "from 0 to 2"),
    ("mean(coupler:tip.position + rocker_pivot.q)", "vectors of 3 and 1"),
    ("mean(__import__('os').x)", "found"),
    ("mean(lambda: 1)", "found"),
    ("mean(", "found"),
    ("", "found"),
    ("3", "a call of"),
    ("mean((rocker_pivot.q - 1)^2)", r"A power is written x\*\*2"),
    ("mean(rocker_pivot.q) if 1 else 2", "found"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_no_metric_is_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        simulate("four_bar", span=0.1, metrics={"m": text})


@pytest.mark.parametrize("metrics", [{"gap": "final(t)"}, {"m": 3}, {"m": {"of": "t"}}, {"m": {"kind": "mean"}}, ["x"],
                                     {"m": {"kind": "mean", "of": "t", "off": 1}}, {"": "final(t)"}])  # fmt: skip
def test_wrong_kinds_of_metrics_are_refused(metrics: object) -> None:
    with pytest.raises(ModelError):
        simulate("four_bar", span=0.1, metrics=metrics)  # type: ignore[arg-type]


@pytest.mark.parametrize(("precision", "size"), [("f64", "1e160"), ("f32", "1e20")])
def test_a_mean_square_that_overflows_is_infinite(precision: str, size: str) -> None:
    """Was not a number, as of a member that ended early."""
    metrics = {"rms": f"rms({size} * crank_pivot.v)", "mean": f"mean({size} * crank_pivot.v)"}
    result = simulate("four_bar", 0.01, 1e-3, metrics=metrics, precision=precision)
    assert result.status == 0 and np.isinf(result.metrics["rms"]) and np.isfinite(result.metrics["mean"])
