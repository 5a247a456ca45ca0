"""Curves over time that were recorded, and those that follow from poses: the same names, units and numbers."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shiftjax.ensembles.store import store
from shiftjax.errors import ModelError
from shiftjax.outcome import Outcome
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from shiftjax.viewer.motion.curves import Curve, curve, names
from shiftjax.viewer.motion.joint_tracks import rates
from shiftjax.viewer.study.study import ViewedStudy

LENGTH = "coupler:tip.T[0]"
RECORDED = {  # channel -> error allowed, in parts of the largest value
    "four_bar:crank_pivot.q": 1e-14,
    "four_bar:rocker_pin.q": 1e-12,  # a joint that closes the loop, which is closed to 1e-12
    "four_bar:coupler:tip.position": 1e-14,
    "four_bar:coupler.orientation": 1e-14,
    "four_bar:crank_pivot.v": 5e-3,  # of five instants 0.01 s apart, one-sided at the ends
    "four_bar:coupler:tip.velocity": 5e-3,
    "four_bar:coupler.angular_velocity": 5e-3,
    "energy.potential": 1e-12,
    "energy.total": 5e-3,
}


def run(step: float = 0.01, channels: tuple[str, ...] = ()) -> Result:
    return simulate("four_bar", vary={LENGTH: np.array([0.45, 0.5, 0.55])}, span=0.5, step=1e-3, output_step=step,
                    keep="all", channels=channels)  # fmt: skip


@pytest.fixture(scope="module")
def recorded() -> ViewedStudy:
    return ViewedStudy.of(run(channels=tuple(RECORDED)))


@pytest.fixture(scope="module")
def bare() -> ViewedStudy:
    return ViewedStudy.of(run())


@pytest.mark.parametrize(("name", "allowed"), RECORDED.items())
def test_a_curve_from_poses_is_the_channel(recorded: ViewedStudy, bare: ViewedStudy, name: str, allowed: float) -> None:
    for member in (0, 2):  # their couplers differ
        known, found = curve(recorded, member, name), curve(bare, member, name)
        assert found.unit == known.unit == recorded.channels[name] and found.labels == known.labels
        np.testing.assert_array_equal(found.time, recorded.time)
        largest = np.abs(known.values).max()
        np.testing.assert_allclose(found.values, known.values, rtol=0, atol=allowed * largest)


def test_speeds_have_an_error_of_the_fourth_order() -> None:
    name = "four_bar:crank_pivot.v"
    errors = []
    for step in (0.01, 0.005):
        result = run(step, (name,))
        known = np.asarray(result.channels[name])[1]
        studied = ViewedStudy.of(dataclasses.replace(result, channels={}, units={}))
        inside = (result.time > 0.03) & (result.time < 0.47)  # where polynomials are centred
        errors.append(np.abs(curve(studied, 1, name).values[:, 0] - known)[inside].max())
    assert 11 < errors[0] / errors[1] < 22  # 16


def test_recorded_curves_are_returned_as_they_are(recorded: ViewedStudy) -> None:
    found = curve(recorded, 1, "crank_pivot.v")
    np.testing.assert_array_equal(found.values[:, 0], recorded.channel("crank_pivot.v", 1))


def test_a_short_path_is_the_same_curve() -> None:
    """Channels are recorded under the path that was asked for; such a curve is not listed a second time."""
    study = ViewedStudy.of(run(channels=("crank_pivot.q",)))
    assert list(names(study)).count("crank_pivot.q") == 1 and "four_bar:crank_pivot.q" not in names(study)
    np.testing.assert_array_equal(curve(study, 0, "four_bar:crank_pivot.q").values[:, 0],
                                  study.channel("crank_pivot.q", 0))  # fmt: skip


def test_every_name_gives_a_curve(bare: ViewedStudy, recorded: ViewedStudy) -> None:
    listed = names(bare)
    assert len(set(listed)) == len(listed) > 20
    assert list(names(recorded))[: len(RECORDED)] == list(RECORDED) and set(names(recorded)) == set(listed)
    for name in listed:
        found: Curve = curve(bare, 0, name)
        assert found.values.shape == (len(bare.time), len(found.labels)), name
        assert np.isfinite(found.values).all() and found.unit, name


def test_a_ball_joint_turns_as_recorded() -> None:
    """Quaternions, and speeds in the axes of the child."""
    model = "double_wishbone"
    known = [
        name for name in names(ViewedStudy.of(simulate(model, span=0.01, keep="all"))) if name.endswith((".q", ".v"))
    ]
    balls = [name for name in known if name[:-2] + ".q" in known]
    result = simulate(model, span=0.2, output_step=0.005, keep="all", channels=balls)
    studied = ViewedStudy.of(dataclasses.replace(result, channels={}, units={}))
    assert any(np.asarray(result.channels[name]).ndim > 1 for name in balls)
    for name in balls:
        values = np.asarray(result.channels[name]).reshape(len(result.time), -1)
        allowed = 1e-9 if name.endswith("q") else 2e-2 * max(np.abs(values).max(), 1e-6)
        np.testing.assert_allclose(curve(studied, 0, name).values, values, rtol=0, atol=allowed, err_msg=name)


def test_a_member_that_ended_early_has_no_values_after(bare: ViewedStudy) -> None:
    result, last = run(), 20
    poses = {body: np.array(pose) for body, pose in result.poses.items()}
    for pose in poses.values():
        pose[1, last + 1 :] = np.nan
    status = np.array(result.status)
    status[1] = Outcome.stuck
    found = curve(ViewedStudy.of(dataclasses.replace(result, poses=poses, status=status)), 1, "crank_pivot.v").values
    whole = curve(bare, 1, "crank_pivot.v").values
    assert np.isnan(found[last + 1 :]).all()
    np.testing.assert_array_equal(found[: last - 1], whole[: last - 1])
    np.testing.assert_allclose(found[last - 1 : last + 1], whole[last - 1 : last + 1], rtol=2e-2)


def test_rates_stop_at_an_impact() -> None:
    """Two instants at one time: the slope jumps there, and neither side knows of the other."""
    time = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8])
    values = np.where(np.arange(10) < 5, time**3, 2.0 - time**2)
    found = rates(time, values[None])[0]
    np.testing.assert_allclose(found, np.where(np.arange(10) < 5, 3 * time**2, -2 * time), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(rates(np.array([0.3]), np.ones((1, 1))), np.zeros((1, 1)))


def test_what_is_no_curve_is_told(bare: ViewedStudy, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"curve of result.*'crank_pivt\.q'.*Did you mean"):
        curve(bare, 0, "crank_pivt.q")
    without = ViewedStudy.open(store.write(run(channels=("crank_pivot.q",)), tmp_path / "none.zarr", keep="none"))
    assert list(names(without)) == ["crank_pivot.q"]


def test_of_a_mechanism_that_an_event_changes_there_are_the_recorded_curves_alone() -> None:
    """D12: coordinates follow from poses by the numbers of the start, which are no longer those of the mechanism; laws
    of forces are none of it."""
    for path, alone in ((LENGTH, True), ("model_parameters.gravity[2]", False)):
        events = {"e": {"of": "t - 0.25", "action": "set", "values": {path: 0.45}}}
        result = simulate(
            "four_bar", 0.5, 1e-3, output_step=0.1, keep="all", channels=("crank_pivot.q",), events=events,
            accuracy="local",
        )  # fmt: skip
        assert (list(names(ViewedStudy.of(result))) == ["crank_pivot.q"]) == alone
