"""simulate(): numbers by path against models with the number written in, clocks, going on, words and errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.run.info import info
from shiftjax.run.live import Live
from shiftjax.run.programs.integrators import METHODS
from shiftjax.run.results.result import CERTIFICATE
from shiftjax.run.simulate import simulate
from shiftjax.run.step_function import compile
from tests.support.models.mechanisms import four_bars, pendulum, rod
from tests.support.models.sample_programs import BOGACKI

ROUNDING = 1e-11  # a varied number is a lane value, a written one a folded constant: other roundings, grown in 0.3 s
GOING_ON = 1e-12  # the start is projected once more; nothing else differs
METHOD_ERROR = 1e-4  # semi-implicit Euler at 0.1 ms over half a second, first order


def sprung_slider_crank() -> Model:
    """A slider-crank with every kind of number: springs, dampers, joint polynomials, turned frames, free axes."""
    builder = ModelBuilder(gravity=(0.3, 0.1, -9.81))
    builder.frame("guide", T=(0.1, 0.0, 0.02), rotation=(0.0, 0.05, 0.0))
    a = builder.assembly("a")
    a.body("crank", **rod(0.2)).body("rod", **rod(0.5, 0.7))
    a.body("slider", mass=0.4, inertia=(1e-3, 1e-3, 1e-3), frames={"pin": (0.0, 0.0, 0.01)})
    a.joint("pivot", "revolute", child="crank", axis=(0, 1, 0), initial_displacement=-0.7, initial_velocity=6.0,
            damping=(0.0, 0.02))  # fmt: skip
    a.joint("pin", "Ry", parent=("crank", "tip"), child="rod", initial_displacement=1.0)
    a.joint("slide", "prismatic", parent=("fixed", "guide"), child="slider", axis=(1.0, 0.0, 0.1),
            initial_displacement=0.5, stiffness=(0.0, 8.0))  # fmt: skip
    a.joint("wrist", "Ry", parent=("rod", "tip"), child=("slider", "pin"))
    a.restraint("stop", "spring", joint="slide", knot_points=(0.45,), coefficients=((0.0,), (90.0, -40.5)))
    a.restraint("tie", "damper", frames=(("crank", "tip"), "slider"), coefficients=((0.5, 0.1, 0.0),))
    return builder.build()


CHANGES = {  # path -> change
    "crank.mass": 0.5,
    "rod.inertia.Iyy": 1e-4,  # a thin rod has no room for more
    "rod.center_of_mass[2]": 0.03,
    "crank:tip.T[0]": 0.02,
    "crank:tip.rotation[1]": 0.2,
    "fixed:guide.T[2]": 0.03,
    "fixed:guide.rotation[1]": 0.1,
    "slide.axis[2]": 0.1,
    "slide.stiffness[1]": 5.0,
    "pivot.damping[1]": 0.05,
    "stop.coefficients[1][0]": 30.0,
    "stop.knot_points[0]": -0.05,
    "tie.coefficients[0][1]": 0.4,
    "model_parameters.gravity[0]": 2.0,
    "pivot.initial_displacement": -0.3,
    "pivot.initial_velocity": 2.0,
}


def test_varied_numbers_are_those_of_the_file() -> None:
    """Contract, D14: masses, lengths, springs, gravity, directions, starts varied = the same written into the model."""
    model = sprung_slider_crank()
    numbers = model.numbers()
    paths = {path: model.resolve(path) for path in CHANGES}
    vary = {path: np.full(len(CHANGES) + 1, numbers[full]) for path, full in paths.items()}
    for k, (path, change) in enumerate(CHANGES.items()):
        vary[path][k + 1] += change
    channels = ["rod:tip.position", "pin.q"]
    settings: dict[str, Any] = {"span": 0.3, "step": 1e-3, "output_step": 0.1, "channels": channels}
    ensemble = simulate(model, vary=vary, **settings)
    jumps = 1 + list(CHANGES).index("stop.coefficients[1][0]")  # it does not begin with zero at its knot any more
    assert np.flatnonzero(ensemble.status).tolist() == [jumps] and ensemble.status[jumps] == Outcome.inaccurate
    assert ensemble.programs == 1
    assert ensemble.certificate["energy_error"][0] < 1e-5
    for k, (path, change) in enumerate(CHANGES.items()):
        written = simulate(model.replace({path: numbers[paths[path]] + change}), **settings)
        moved = 0.0
        for channel, recorded in ensemble.channels.items():
            assert np.abs(written.channels[channel] - recorded[k + 1]).max() < ROUNDING, path
            moved = max(moved, np.abs(recorded[k + 1] - recorded[0]).max())
        assert moved > 1e-5, path


def test_design_table_and_shapes() -> None:
    """Contract: a member axis in front with `vary`, none without; full paths in the design table."""
    values = np.array([0.18, 0.2, 0.22])
    channels = ["bar0:pivot.q", "bar0:rocker:tip.velocity", "energy.total"]
    many = simulate(four_bars(), span=0.1, output_step=0.05, vary={"crank:tip.T[0]": values}, channels=channels)
    assert list(many.design) == ["bar0:crank:tip.T[0]"]
    assert np.array_equal(many.design["bar0:crank:tip.T[0]"], values)
    assert many.time.tolist() == [0.0, 0.05, 0.1]
    assert [many.channels[path].shape for path in channels] == [(3, 3), (3, 3, 3), (3, 3)]
    assert all(many.certificate[name].shape == (3,) for name in CERTIFICATE)
    assert many.status.shape == (3,) and many.messages == ("", "", "")
    single = simulate(four_bars(), span=0.1, output_step=0.05, channels=channels)
    assert [single.channels[path].shape for path in channels] == [(3,), (3, 3), (3,)]
    assert all(np.ndim(single.certificate[name]) == 0 for name in CERTIFICATE)
    assert single.status == 0 and single.messages == ("",)
    assert set(single.certificate) == set(CERTIFICATE)


def test_poses_of_kept_members() -> None:
    """A kept member's poses are those of its own numbers, quaternions of length one."""
    values = np.array([0.18, 0.2, 0.22])
    channels = ["coupler.position", "coupler.orientation"]
    settings: dict[str, Any] = {"span": 0.1, "output_step": 0.05, "channels": channels}
    result = simulate(four_bars(), vary={"crank:tip.T[0]": values}, keep=2, **settings)
    assert result.kept.tolist() == [0, 2]
    assert set(result.poses) == {f"bar0:{name}" for name in ("crank", "coupler", "rocker")}
    pose = result.poses["bar0:coupler"]
    assert pose.shape == (2, 3, 7)
    assert np.abs(pose[..., :3] - result.channels["coupler.position"][[0, 2]]).max() < 1e-14
    assert np.abs(pose[..., 3:] - result.channels["coupler.orientation"][[0, 2]]).max() < 1e-14


def test_going_on_from_a_result() -> None:
    """Contract: start=Result goes on from its end, time included; a member that ended early stays ended."""
    vary = {"bar0:coupler:tip.T[0]": np.array([0.48, 1.2, 0.52])}  # the second is too long
    settings: dict[str, Any] = {"vary": vary, "step": 1e-3, "channels": ["bar0:pivot.q"]}
    whole = simulate(four_bars(), span=1.0, output_step=0.25, **settings)
    first = simulate(four_bars(), span=0.6, output_step=0.25, **settings)  # the end is no output instant
    second = simulate(four_bars(), span=0.4, output_step=0.2, start=first, **settings)
    assert np.allclose(second.time, [0.6, 0.8, 1.0], rtol=0, atol=1e-15)
    assert second.status.tolist() == [0, Outcome.not_assembled, 0]
    assert whole.final is not None and second.final is not None
    good = [0, 2]
    for name in ("q", "v"):
        assert np.abs(whole.final[name][good] - second.final[name][good]).max() < GOING_ON
    q = second.channels["bar0:pivot.q"][good, -1]
    assert np.abs(q - whole.channels["bar0:pivot.q"][good, -1]).max() < GOING_ON
    with pytest.raises(ModelError, match=r"start: found 3 members; allowed: 1"):
        simulate(four_bars(), span=0.1, start=first)
    with pytest.raises(ModelError, match="start: found a result of another mechanism"):
        simulate(pendulum(), span=0.1, start=first, vary={"rod.mass": np.ones(3)})


def test_clock_of_the_call() -> None:
    """Contract: what is left out of span, step and output_step."""
    model = pendulum()
    with pytest.raises(ModelError, match=r"span: found nothing; .*Give span="):
        simulate(model)
    both = simulate(model, span=0.3, channels=["pivot.q"])
    assert both.time.tolist() == [0.0, 0.3] and both.settings["step"] == 1e-3
    assert both.certificate["steps"] == 300
    fraction = simulate(model, span=0.0625, output_step=0.0125)  # 12.5 ms: thirteen steps an output
    assert fraction.settings["step"] == 0.0125 / 13 and len(fraction.time) == 6
    filed = load("four_bar")
    assert (filed.settings.span, filed.settings.output_step) == (10.0, 0.01)
    short = simulate(filed, span=0.02)
    assert np.allclose(short.time, [0, 0.01, 0.02], rtol=0, atol=1e-15)
    assert simulate(filed, span=0.005).time.tolist() == [0.0, 0.005]
    third = simulate(model, span=1.0, step=0.01, output_step=0.3)
    assert np.allclose(third.time, [0, 0.3, 0.6, 0.9], rtol=0, atol=1e-15) and third.certificate["steps"] == 100


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"span": -1.0}, "span: found -1.0; allowed: a positive number"),
        ({"span": np.nan}, "span: found nan"),
        ({"span": 1.0, "step": 0.0}, "step: found 0.0"),
        ({"span": 1.0, "step": 0.3}, "span: found 1 s with steps of 0.3 s; allowed: a whole number of steps"),
        ({"span": 1.0, "step": 0.01, "output_step": 0.015}, "output_step: .*; allowed: a whole multiple of the step"),
        ({"span": 1.0, "method": "rk5"}, "method: found 'rk5'; allowed: rk4, euler.*Did you mean 'rk4'"),
        ({"span": 1.0, "precision": "f16"}, "precision: found 'f16'; allowed: f64, f32"),
        ({"span": 1.0, "backend": "gpx"}, "backend: found 'gpx'; allowed: "),
        ({"span": 1.0, "vary": {"rod.mas": [1.0]}}, "rod.mass"),
        ({"span": 1.0, "vary": {"rod.mass": 1.0}}, r"vary rod.mass: found shape \(\)"),
        ({"span": 1.0, "vary": {"rod.mass": []}}, "vary: found no members"),
        ({"span": 1.0, "vary": {"rod.mass": [1, 2], "rod.inertia.Iyy": [1]}}, "vary: found lengths"),
        ({"span": 1.0, "hold": ["pivo"]}, "pivot"),
        ({"span": 1.0, "hold": ["rod"]}, "hold a:rod: found a body; allowed: the path of a joint"),
        ({"span": 1.0, "channels": ["pivot.x"]}, "channel pivot.x: found 'x'"),
        ({"span": 1.0, "independent": ["rod"]}, "independent a:rod: found a body"),
    ],
)
def test_arguments_are_refused_by_name(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ModelError, match=match):
        simulate(pendulum(), **settings)


def test_methods_that_control_their_step_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels run them; whole runs, live ones and single steps do not choose a tolerance yet."""
    monkeypatch.setitem(METHODS, "bogacki", BOGACKI)
    calls: list[Callable[..., Any]] = [partial(simulate, span=1.0), compile, Live]
    for call in calls:
        with pytest.raises(ModelError, match="method: found 'bogacki', which controls its step size; allowed: rk4"):
            call(pendulum(), method="bogacki")


def test_methods_and_precisions_agree() -> None:
    """Semi-implicit Euler converges to the same motion; f32 follows f64 to its rounding."""
    model = pendulum()
    fine = simulate(model, span=0.5, step=1e-3, channels=["pivot.q"]).channels["pivot.q"][-1]
    euler = simulate(model, span=0.5, step=1e-4, method="euler", channels=["pivot.q"]).channels["pivot.q"][-1]
    single = simulate(model, span=0.5, step=1e-3, precision="f32", channels=["pivot.q"]).channels["pivot.q"][-1]
    assert 0 < abs(euler - fine) < METHOD_ERROR * 10
    assert abs(single - fine) < 5e-5


def test_progress_and_threads() -> None:
    """S9: progress runs from 0 to 1; the number of threads changes nothing."""
    seen: list[float] = []
    simulate(pendulum(), span=1.0, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0


def test_what_the_loops_do_not_allow_is_told() -> None:
    """Design rule 7: a held place the loops refuse and speeds that contradict them are named in the notes."""
    vary = {"joint1.initial_displacement": [-0.3, -0.9]}  # joint 1 of the Bricard cannot pass -pi/6
    result = simulate("bricard", span=0.01, step=1e-3, vary=vary)
    assert any("displacement of bricard:joint1 could not be kept in 1 member (1)" in note for note in result.notes)
    assert result.status.tolist() == [0, Outcome.start_changed] and result.certificate["start_change"][1] > 0.1
    clean = simulate("four_bar", span=0.01, step=1e-3)
    assert clean.notes == ()


@pytest.mark.parametrize("threads", [-1, 0, 1.5, "2"])
def test_threads_are_a_whole_number(threads: Any) -> None:
    with pytest.raises(ModelError, match=r"threads: found .*whole number from 1"):
        simulate("pendulum", 0.01, threads=threads)


def test_a_number_is_assigned_or_varied() -> None:
    """Not both, of which one would win without a word."""
    path = "model_parameters.gravity[0]"
    with pytest.raises(ModelError, match="a value for all members and varied values"):
        simulate("pendulum", 0.01, vary={path: [0.0, 1.0]}, assign={path: 2.0})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow on the way
@pytest.mark.parametrize(
    ("name", "path"), [("stewart", "fixed:foot_2.T[2]"), ("four_bar", "fixed:rocker_pivot.rotation[0]")]
)
def test_lengths_and_angles_too_large_for_numbers_are_named(name: str, path: str) -> None:
    with pytest.raises(ModelError, match=r"found -1e\+308; allowed: lengths and angles below 1e\+100"):
        info(load(name).replace({path: -1e308}))
