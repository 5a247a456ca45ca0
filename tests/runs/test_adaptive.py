"""Runs with a tolerance: steps as large as an error estimate allows, on the way and along a schedule."""

from __future__ import annotations

import json
import tracemalloc
from functools import cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shiftjax.cli import main
from shiftjax.ensembles.store import store
from shiftjax.ensembles.store.recipe import of_result
from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.gradients.simulate import simulate as traceable
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.advance.driver import handle_trips
from shiftjax.run.beginning import Begun
from shiftjax.run.memory import Need
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.extensions import numpy_backend  # noqa: F401
from tests.gradients.test_gradient_passages import CASES as CASES_OF_JUMPS
from tests.gradients.test_gradient_passages import PATHS, slider
from tests.support.models.mechanisms import pendulum

GAP = 1e-13  # m or rad: each step ends with a projection
TOLERANCES = (1e-6, 1e-8, 1e-10)
# A span, a step of RK4 whose error is below that of the smallest tolerance, and the largest error in tolerances: how
# much the errors of single steps grow on the way.
CASES = {
    "four_bar": (1.0, 1e-4, 100.0),
    "bricard": (1.0, 2e-4, 100.0),
    "slider_crank": (1.0, 1e-4, 100.0),
    "andrews": (0.02, 2e-6, 1000.0),
}
each = pytest.mark.parametrize("name", CASES)


@cache
def model(name: str) -> tuple[Model, list[str]]:
    """A model of the library, and the coordinates of its joints."""
    found = load(name)
    return found, [f"{path}.q" for path, joint in found.joints() if joint.type not in ("weld", "float", "ball")]


@cache
def run(name: str, tolerance: float | None, output_step: float | None = None) -> Result:
    """With a tolerance, or with fixed steps of RK4."""
    found, channels = model(name)
    span, step, _ = CASES[name]
    output = span / 10 if output_step is None else output_step
    how = {"step": step} if tolerance is None else {"tolerance": tolerance}
    return simulate(found, span, output_step=output, channels=channels, **how)  # type: ignore[arg-type]


def apart(a: Result, b: Result) -> float:
    """The largest difference of recorded coordinates [rad or m]."""
    assert a.time.shape == b.time.shape
    return max(float(np.abs(a.channels[path] - b.channels[path]).max()) for path in a.channels)


def same(a: Result, b: Result) -> bool:
    """Whether all that two runs say of a motion is equal to the last bit."""
    figures = all(np.array_equal(a.certificate[name], b.certificate[name], equal_nan=True) for name in a.certificate)
    channels = all(a.channels[path].tobytes() == b.channels[path].tobytes() for path in a.channels)
    assert a.final is not None and b.final is not None
    return figures and channels and all(np.array_equal(a.final[key], b.final[key]) for key in a.final)


@each
def test_the_error_falls_with_the_tolerance(name: str) -> None:
    """Against a tight run of RK4, loops closed, energy kept; steps grow as the fifth root."""
    found = [run(name, tolerance) for tolerance in TOLERANCES]
    errors = [apart(result, run(name, None)) for result in found]
    for result, error, tolerance in zip(found, errors, TOLERANCES, strict=True):
        assert result.status == 0 and result.settings["tolerance"] == tolerance
        assert error < CASES[name][2] * tolerance
        assert result.certificate["gap"] < GAP
        assert result.certificate["energy_error"] < CASES[name][2] * tolerance
    assert errors[2] < 1e-2 * errors[0], "four digits of tolerance are two digits at least"
    steps = [int(result.certificate["steps"]) for result in found]
    growth = np.log(steps[2] / steps[0]) / np.log(TOLERANCES[0] / TOLERANCES[2])
    assert 0.12 < growth < 0.25, "a fifth for order five"


@each
def test_fewer_steps_than_rk4(name: str) -> None:
    """At an error that RK4 has with its step, by less than a third of the steps; each costs 1.75 of RK4's."""
    fixed = run(name, None)
    assert 3 * run(name, 1e-10).certificate["steps"] < fixed.certificate["steps"]


def test_output_changes_no_step() -> None:
    """Instants between steps are of the method's order, with closed loops, and the run is the same without them."""
    coarse, fine = run("four_bar", 1e-8), run("four_bar", 1e-8, 1e-3)
    assert fine.time.shape == (1001,) and np.isfinite(fine.channels["four_bar:crank_pivot.q"]).all()
    assert coarse.schedule is not None and fine.schedule is not None
    assert coarse.schedule.ends.tobytes() == fine.schedule.ends.tobytes()
    for path, values in coarse.channels.items():
        assert values.tobytes() == fine.channels[path][::100].tobytes()
    found, channels = model("four_bar")
    exact = simulate(found, 1.0, 1e-4, output_step=1e-3, channels=channels)
    assert apart(fine, exact) < 1e-6


@each
def test_a_replay_is_the_same_to_the_bit(name: str) -> None:
    result, (found, channels), (span, _, _) = run(name, 1e-8), model(name), CASES[name]
    again = simulate(found, span, tolerance=1e-8, output_step=span / 10, channels=channels, schedule=result.schedule)
    assert same(again, result) and again.schedule is not None and result.schedule is not None
    assert again.schedule.ends.tobytes() == result.schedule.ends.tobytes()


def test_in_f32_the_error_falls_down_to_rounding() -> None:
    """As with fixed steps, in far fewer; steps are noted and repeated to the bit, and a batch is its members."""
    found, channels = model("four_bar")
    given = {"output_step": 0.1, "channels": channels, "precision": "f32"}
    results = [simulate(found, 1.0, tolerance=tolerance, **given) for tolerance in (1e-4, 1e-6)]  # type: ignore[arg-type]
    errors = [apart(result, run("four_bar", None)) for result in results]
    assert errors[0] < 1e-2 and errors[1] < 1e-5 and errors[1] < 0.05 * errors[0]
    assert results[1].certificate["steps"] < 100 and results[1].certificate["gap"] < 1e-6
    again = simulate(found, 1.0, tolerance=1e-6, schedule=results[1].schedule, **given)  # type: ignore[arg-type]
    assert same(again, results[1])
    speeds = {"crank_pivot.initial_velocity": [found.numbers()["four_bar:crank_pivot.initial_velocity"], 9.0]}
    batch = simulate(found, 1.0, tolerance=1e-6, vary=speeds, **given)  # type: ignore[arg-type]
    assert all(batch.channels[c][0].tobytes() == results[1].channels[c].tobytes() for c in channels)


@pytest.mark.parametrize("name", ["n_four_bar_2", "n_four_bar_5"])
def test_singular_poses_are_passed_by_shorter_steps(name: str) -> None:
    """Chains of four-bars pass their flat pose, where a step would trip, as with fixed steps; a replay does, too."""
    found, span = load(name), 2.0
    channels, output = ["pivot_0.q"], {"output_step": 0.2}
    result = simulate(found, span, tolerance=1e-9, channels=channels, **output)  # type: ignore[arg-type]
    fixed = simulate(found, span, 2.5e-4, channels=channels, **output)  # type: ignore[arg-type]
    assert result.status == 0 and result.certificate["rejected"] > 0 and result.certificate["gap"] < GAP
    assert apart(result, fixed) < 1e-7
    again = simulate(found, span, tolerance=1e-9, channels=channels, schedule=result.schedule, **output)  # type: ignore[arg-type]
    assert same(again, result)


def test_a_free_rotor() -> None:
    """About its middle axis it turns over; energy is kept, and orientations go with the tolerance."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.assembly("a").body("top", mass=1.0, inertia=(1.0, 2.0, 2.5)).joint(
        "float", "float", child="top", initial_velocity=(0.1, 0.0, 0.0, 0.1, 5.0, 0.0)
    )
    rotor, recorded = builder.build(), {"channels": ["top.orientation", "top.angular_velocity"], "output_step": 0.5}
    fixed = simulate(rotor, 5.0, 5e-4, **recorded)  # type: ignore[arg-type]
    _, x, _, z = fixed.channels["top.orientation"].T
    assert (1 - 2 * (x * x + z * z)).min() < -0.5, "the axis points the other way"
    found = [simulate(rotor, 5.0, tolerance=tolerance, **recorded) for tolerance in TOLERANCES]  # type: ignore[arg-type]
    errors = [apart(result, fixed) for result in found]
    for result, error, tolerance in zip(found, errors, TOLERANCES, strict=True):
        assert error < 1000 * tolerance and result.certificate["energy_error"] < 1000 * tolerance
    assert errors[2] < 1e-2 * errors[0] and 5 * found[2].certificate["steps"] < fixed.certificate["steps"]


def test_a_member_alone_is_that_of_a_batch() -> None:
    """Each member has steps of its own; neither they nor the results depend on the others."""
    found, channels = model("four_bar")
    speeds = np.linspace(1.0, 9.0, 21)
    arguments = {
        "tolerance": 1e-7,
        "output_step": 0.1,
        "channels": channels,
        "metrics": {"far": "maximum(abs(crank_pin.q))"},
    }
    path = "crank_pivot.initial_velocity"
    whole = simulate(found, 1.0, vary={path: speeds}, **arguments)  # type: ignore[arg-type]
    assert (whole.status == 0).all() and len(set(whole.certificate["steps"])) > 5
    for k in (0, 10, 20):
        alone = simulate(found, 1.0, vary={path: speeds[[k]]}, **arguments)  # type: ignore[arg-type]
        for channel in channels:
            assert alone.channels[channel][0].tobytes() == whole.channels[channel][k].tobytes()
        assert all(alone.certificate[name][0] == whole.certificate[name][k] for name in whole.certificate)
        assert alone.metrics["far"][0] == whole.metrics["far"][k]


def test_cpu_equals_the_plain_step_loop() -> None:
    found, channels = model("four_bar")
    ours, plain = (
        simulate(found, 0.1, tolerance=1e-6, output_step=0.02, channels=channels, backend=backend)
        for backend in ("cpu", "numpy")
    )
    assert ours.certificate["steps"] == plain.certificate["steps"] and apart(ours, plain) < 1e-12


def test_what_a_tolerance_does_not_go_with_is_refused() -> None:
    for arguments, match in (
        ({"tolerance": 0.0}, "tolerance: found 0"),
        ({"tolerance": "fine"}, "tolerance: found 'fine'"),
        ({"tolerance": 1e-6, "step": 1e-3}, "step: found 0.001 s and a tolerance; allowed: one of them"),
        ({"tolerance": 1e-15}, "tolerance: found 1e-15; allowed: a number of at least 1e-14 in f64"),
        ({"tolerance": 1e-7, "precision": "f32"}, "tolerance: found 1e-07; allowed: a number of at least 1e-06 in f32"),
        (
            {"tolerance": 1e-6, "method": "rk4"},
            "method: found 'rk4', whose steps are fixed, with a tolerance; allowed: dopri5",
        ),
        ({"method": "dopri5"}, "method: found 'dopri5', which controls its step size; allowed: rk4"),
    ):
        with pytest.raises(ModelError, match=match):
            simulate(pendulum(), 0.1, **arguments)  # type: ignore[arg-type]


def test_a_motion_that_no_step_can_follow_ends_with_a_clear_outcome() -> None:
    """A drive whose speed grows without bound towards half a second, after which it is no number; and the bare trip."""
    seen: list[Begun] = []
    result = simulate(pendulum(), 1.0, tolerance=1e-6, drive={"pivot": lambda t: jnp.sqrt(0.5 - t)}, watch=seen.append)
    assert result.status == Outcome.locked and result.messages[0].startswith("at 0.5 s")
    lanes = seen[0].lanes
    lanes.table.set("trip", lanes.setup.monitors + 2.0)
    handle_trips(lanes, lanes.table.trips())
    assert lanes.status.tolist() == [Outcome.too_small]


def test_the_memory_that_is_told_counts_the_notes_of_steps() -> None:
    """What the run takes at its largest, as Python counts it, is at most what was told and more than a third of it."""
    found, _ = model("four_bar")
    needs: list[Need] = []
    speeds, told = {"crank_pivot.initial_velocity": np.linspace(2.0, 9.0, 1000)}, {"announce": needs.append}
    simulate(found, 0.1, vary=speeds, **told)  # type: ignore[arg-type]
    simulate(found, 0.1, tolerance=1e-8, vary={path: values[:2] for path, values in speeds.items()})
    tracemalloc.start()
    try:
        simulate(found, 1.0, tolerance=1e-8, output_step=1.0, vary=speeds, **told)  # type: ignore[arg-type]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert needs[1].total / 3 < most < needs[1].total
    assert needs[1].total > 3 * needs[0].total, "fixed steps note nothing"


GRADIENT = 1e-8  # beside central differences of order 4 along the same steps
GRADIENTS = {"four_bar": ("crank_pivot.initial_velocity", 0.5), "bricard": ("", 2.0)}


@pytest.mark.parametrize("name", GRADIENTS)
def test_derivatives_are_those_of_the_steps_that_were_taken(name: str) -> None:
    """Reverse mode beside differences of runs along the schedule, sizes being constants; through instants between
    steps, a metric, and in the bricard changes of coordinates. Forward mode is the same, fixed steps give nearly it.
    """
    found, channels = model(name)
    path, span = GRADIENTS[name]
    path = found.resolve(path) if path else next(p for p in found.numbers() if p.endswith("initial_velocity"))
    at = found.numbers()[path] or 1.0
    weights = np.random.default_rng(1).normal(size=(len(channels), 6))

    def loss(x, **how):
        given = {"output_step": span / 5, "channels": channels, "metrics": {"mean": f"mean({channels[1]})"}}
        result = traceable(found, span, vary={path: [x]}, **given, **how)
        terms = [(jnp.asarray(w) * result.channels[c][0]).sum() for w, c in zip(weights, channels, strict=True)]
        return sum(terms) + result.metrics["mean"][0]

    reverse = float(jax.grad(partial(loss, tolerance=1e-8))(at))
    taken = simulate(found, span, tolerance=1e-8, output_step=span / 5, vary={path: [at]})
    assert (taken.certificate["repartitions"][0] > 0) == (name == "bricard")
    near, far = (
        (loss(at + h, tolerance=1e-8, schedule=taken.schedule) - loss(at - h, tolerance=1e-8, schedule=taken.schedule))
        / (2 * h)
        for h in (2e-4 * at, 4e-4 * at)
    )
    assert reverse == pytest.approx(float(4 * near - far) / 3, rel=GRADIENT)
    if name == "four_bar":
        forward = float(jax.jvp(partial(loss, tolerance=1e-8), (at,), (1.0,))[1])
        assert forward == pytest.approx(reverse, rel=1e-10)
        fixed = float(jax.grad(partial(loss, step=span / 2000))(at))
        assert fixed == pytest.approx(reverse, rel=1e-5), "of the metric, a sum of trapezoids with fixed steps"


def test_a_derivative_where_forces_jump_is_refused() -> None:
    """The shift of such an instant is followed with fixed steps only."""
    kind, start, numbers = next(iter(CASES_OF_JUMPS.values()))
    jumping = slider(kind, numbers)
    with pytest.raises(ModelError, match="tolerance: found a derivative where forces jump"):
        jax.grad(
            lambda x: traceable(jumping, 0.1, tolerance=1e-6, vary={PATHS[0]: [x]}, channels=["slide.v"]).channels[
                "slide.v"
            ][0, -1]
        )(start[0])


def test_a_run_goes_on_and_is_stored(tmp_path: Path) -> None:
    """A second run from the end of the first stands where one of both spans does; a store has what repeats a run."""
    found, channels = model("four_bar")
    first = simulate(found, 0.5, tolerance=1e-10, channels=channels)
    second = simulate(found, 0.5, tolerance=1e-10, channels=channels, start=first)
    whole = run("four_bar", 1e-10)
    assert max(abs(second.channels[path][-1] - whole.channels[path][-1]) for path in channels) < 1e-8
    store.write(first, tmp_path / "run.zarr")
    again = of_result(store.read(tmp_path / "run.zarr"), [0], "run").run(channels=channels)
    assert again.certificate["steps"] == first.certificate["steps"]
    assert again.settings["tolerance"] == 1e-10


def test_the_command_line_takes_a_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "four_bar", "--span", "0.5", "--tolerance", "1e-6", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert '"dopri5"' in json.dumps(told) and "1e-06" in json.dumps(told)


def test_a_result_says_the_tolerance_in_place_of_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    """A run of chosen steps has no step of 1 ms: neither its line of the command nor its text at a prompt says one."""
    assert main(["run", "pendulum", "--span", "0.5", "--tolerance", "1e-8"]) == 0
    printed = capsys.readouterr().out
    assert "0.5 s, tolerance 1e-08, dopri5" in printed and " ms" not in printed.splitlines()[0]
    assert "tolerance 1e-08, dopri5" in repr(simulate("pendulum", 0.5, tolerance=1e-8))


def test_a_whole_number_is_a_tolerance() -> None:
    assert simulate("pendulum", 0.5, tolerance=1).certificate == simulate("pendulum", 0.5, tolerance=1.0).certificate
