"""Between stored instants: loops stay closed, poses are those of a denser run, stored instants are exact."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from shiftjax.formats import load
from shiftjax.formats.builder import ModelBuilder
from shiftjax.joints import KINDS
from shiftjax.lanes.in_numpy import InNumpy
from shiftjax.models import SUMMARIES
from shiftjax.outcome import Outcome
from shiftjax.poses import matrices
from shiftjax.rotations import along
from shiftjax.run.closing.host_evaluation import closure
from shiftjax.run.simulate import simulate
from shiftjax.viewer.gui.state import values
from shiftjax.viewer.motion import between
from shiftjax.viewer.motion.live_history import History
from shiftjax.viewer.motion.mechanism import Mechanism, mechanism_from
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.complete import without

CLOSED = 1e-6  # of the model's length: the largest gap that may be drawn
RATE = 1 / 30  # s, of the output of a movie
LENGTH = "coupler:tip.T[0]"
LENGTHS = np.array([0.45, 0.5, 0.55])
PATH = "four_bar:crank:tip.T[0]"
FEW = {"n_four_bar_40": 0.1, "vehicle_chassis": 0.2}  # model -> s, of those that take long


def study_of(name: str, span: float = 0.4, step: float = RATE, **choices: object) -> ViewedStudy:
    return ViewedStudy.of(simulate(load(name), span=span, output_step=step, keep="all", **choices))  # type: ignore[arg-type]


def largest_gap(found: Mechanism, nodes: tuple[str, ...], poses: np.ndarray, first: np.ndarray) -> float:
    """How far the frames of any joint are from where its kind lets them be [m], [rad]; of a weld since the start."""
    at, start = (dict(zip(nodes, np.moveaxis(matrices(p), -3, 0), strict=True)) for p in (poses, first))
    worst = 0.0
    for joint in found.joints.values():
        kind = KINDS[joint.type]
        ends = [at[ref.body] @ found.frames[ref.path] for ref in (joint.parent, joint.child)]
        X = np.linalg.inv(ends[0]) @ ends[1]
        R, p = X[..., :3, :3], X[..., :3, 3]
        axis = np.array(along(kind.primitives[0].axis, joint.axis)) if kind.nv == 1 else np.zeros(3)
        if kind.drawing == "hinge":
            off = [p, R @ axis - axis]
        elif kind.drawing == "slider":
            off = [p - (p @ axis)[..., None] * axis, R - np.eye(3)]
        elif kind.drawing == "ball":
            off = [p]
        elif kind.drawing == "weld":
            before = [start[ref.body] @ found.frames[ref.path] for ref in (joint.parent, joint.child)]
            off = [X - np.linalg.inv(before[0]) @ before[1]]
        else:
            off = []
        worst = max(worst, *(float(np.abs(x).max()) for x in off), 0.0)
    return worst


@pytest.mark.parametrize("name", without(SUMMARIES, ["n_four_bar_40", "vehicle_chassis"]))  # more of the same joints
def test_no_joint_opens_between_instants(name: str) -> None:
    study = study_of(name, FEW.get(name, 0.4))
    times = np.sort(np.random.default_rng(7).uniform(study.time[0], study.time[-1], 60))
    poses = study.poses(0, times)
    mechanism = mechanism_from(study.model)
    assert largest_gap(mechanism, study.nodes, poses, study.poses(0, 0.0)) <= CLOSED * max(mechanism.lane.length, 1.0)
    assert not any(study.placed([0], float(t)).snapped[0] for t in times[::10])


def test_the_crank_and_the_coupler_of_a_coarse_run_meet() -> None:
    """The case of the fault: they stood centimetres apart at 0.45 s."""
    study = study_of("four_bar", 1.0, 0.1)
    mechanism = mechanism_from(study.model)
    assert largest_gap(mechanism, study.nodes, study.poses(0, 0.45), study.poses(0, 0.0)) < 1e-8


@pytest.mark.parametrize(("name", "step"), [("four_bar", 0.0125), ("delta", 0.05), ("double_wishbone", 0.02)])
def test_poses_are_those_of_a_denser_run(name: str, step: float) -> None:
    """Halving the output step divides the error by 16 or more: cubics with rates of the fourth order."""
    dense = study_of(name, 20 * step, step / 4)  # the middle between two instants of either is in it
    errors = []
    for coarse in (step, step / 2):
        found, known = study_of(name, 20 * step, coarse).poses(0, dense.time), dense.track(0)
        inside = (dense.time > 3 * step) & (dense.time < 17 * step)
        errors.append(np.abs(found - known)[inside, :, :3].max())
    assert errors[0] < 2e-4 and errors[0] / errors[1] > 10


def test_stored_instants_are_exact() -> None:
    study = study_of("four_bar", vary={LENGTH: LENGTHS})
    for member in (0, 1, 2):
        for k, t in enumerate(study.time):
            np.testing.assert_array_equal(study.poses(member, float(t)), study.track(member)[k])
            assert not study.placed([member], float(t)).snapped[0]
    np.testing.assert_array_equal(study.poses(1, study.time), study.track(1))


def test_every_member_closes_with_its_own_numbers() -> None:
    study = study_of("four_bar", vary={LENGTH: LENGTHS})
    t = 4.5 * RATE
    poses = study.poses_of([2, 0, 1, 0], t)
    for member, own in zip((2, 0, 1, 0), poses, strict=True):
        mechanism = mechanism_from(study.model_of(member))
        assert largest_gap(mechanism, study.nodes, own, study.poses(member, 0.0)) < 1e-8
        np.testing.assert_allclose(own, study.poses(member, t), rtol=0, atol=1e-9)


def test_a_pose_that_is_none_of_the_mechanism_is_not_led_away_from() -> None:
    """One instant is spoilt: next to it the nearest stored instant is shown, and told."""
    result = simulate(load("four_bar"), span=0.4, output_step=RATE, keep="all")
    poses = {body: np.array(pose) for body, pose in result.poses.items()}
    poses["four_bar:coupler"][5, 0] += 0.05
    study = ViewedStudy.of(dataclasses.replace(result, poses=poses))
    for part, nearest in ((0.3, 4), (0.7, 5)):
        found = study.placed([0], float(study.time[4] + part * RATE))
        assert found.snapped.tolist() == [True]
        np.testing.assert_array_equal(found.poses[0], study.track(0)[nearest])
    assert not study.placed([0], float(study.time[7] + 0.3 * RATE)).snapped[0]


def test_a_closure_that_is_not_found_is_told() -> None:
    mechanism = mechanism_from(load("four_bar"))
    start = 0.3 + 0.01 * np.arange(float(mechanism.plan.nq))[:, None]
    gap = closure(mechanism.lane, start, 0)[0]
    for wanted, way, expected in ((gap + 1e-3, 1.0, True), (gap + 1e-3, 1e-5, False), (gap + 100.0, 1.0, False)):
        wanted[:, [0, 2, 4]] = gap[:, [0, 2, 4]]  # rows out of the plane of motion stay as they are
        assert between.closed_near(mechanism.lane, start, 0, wanted, np.array([way]))[1].tolist() == [expected]


def test_instants_only() -> None:
    study = study_of("four_bar")
    t = float(study.time[3] + 0.4 * RATE)
    moved = study.poses(0, t)
    study.at_instants = True
    assert study.placed([0], t).snapped.tolist() == [True]
    np.testing.assert_array_equal(study.poses(0, t), study.track(0)[3])
    np.testing.assert_array_equal(study.poses_of([0, 0], t + 0.2 * RATE), study.track(0)[[4, 4]])
    study.at_instants = False
    np.testing.assert_array_equal(study.poses(0, t), moved)


def test_a_member_that_ended_early_does_not_slow_down_before_its_end() -> None:
    result = simulate(load("four_bar"), span=0.4, output_step=RATE, keep="all")
    last = 8
    poses = {body: np.array(pose) for body, pose in result.poses.items()}
    for pose in poses.values():
        pose[last + 1 :] = np.nan
    ended = ViewedStudy.of(dataclasses.replace(result, poses=poses, status=np.array(Outcome.stuck)))
    whole = ViewedStudy.of(result)
    t = float(result.time[last - 1] + 0.5 * RATE)
    np.testing.assert_allclose(ended.poses(0, t), whole.poses(0, t), rtol=0, atol=5e-3)  # one-sided rates
    np.testing.assert_array_equal(ended.poses(0, t + RATE), ended.track(0)[last])


def test_instants_at_one_time_are_no_obstacle() -> None:
    """An impact: two instants at one time."""
    study = study_of("four_bar", 1.0)
    history = History(study.model, study.nodes)
    history._block = dataclasses.replace(
        history._block, count=12, time=np.sort(np.append(study.time[:11], study.time[5])),
        poses=study.track(0)[[*range(6), *range(5, 11)]],
    )  # fmt: skip
    for k in (4, 5, 6):
        t = float(study.time[k] + 0.3 * RATE)
        assert not history.placed([0], t).snapped[0]
        np.testing.assert_allclose(history.poses(0, t), study.poses(0, t), rtol=0, atol=2e-2)


def test_a_running_simulation_whose_numbers_changed() -> None:
    """Instants of other numbers are shown as they were."""
    study = study_of("four_bar")
    history = History(study.model, study.nodes)
    for t, poses in zip(study.time, study.track(0), strict=True):
        history.add(float(t), poses)
    t = float(study.time[4] + 0.3 * RATE)
    np.testing.assert_array_equal(history.poses(0, t), study.poses(0, t))
    history.values = {PATH: 0.21}
    assert history.placed([0], t).snapped.tolist() == [True]
    np.testing.assert_array_equal(history.poses(0, t), study.track(0)[4])


def test_degrees_of_freedom_between_instants_are_those_at_instants() -> None:
    """The loops of the excavator leave four freedoms; open ones took three of them away."""
    study = study_of("excavator")
    mechanism = mechanism_from(study.model)
    for t in study.time[:-1] + RATE * np.linspace(0.1, 0.9, len(study.time) - 1):
        poses = dict(zip(study.nodes, study.poses(0, float(t)), strict=True))
        assert sum(values.mobility(mechanism, poses).values()) == pytest.approx(4.0, abs=1e-9)


@pytest.mark.parametrize("of_run", [True, False])
def test_ties_hold_between_instants_too(of_run: bool) -> None:
    """A cam of the run as one of the file: five lobes a turn, recorded 3.1 times a lobe; it was off by 0.16 rad."""
    text, builder = "{0} == 0.1 * (1 - cos({1})) + 0.3 * sin(5 * {1})", ModelBuilder(gravity=(0.0, 0.0, 0.0))
    cam = builder.frame("right", T=(1.0, 0.0, 0.0)).assembly("a")
    for name in ("left", "right"):
        cam.body(name, mass=1.0, inertia=(0.01, 0.02, 0.02))
        parent = "fixed" if name == "left" else ("fixed", "right")
        cam.joint(f"{name}_pivot", "Ry", parent=parent, child=name, initial_displacement=0.0)
    joints, tie = ["right_pivot", "left_pivot"], {"cam": text.format("right_pivot.q", "left_pivot.q")}
    if not of_run:
        cam.constraint("cam", "equation", joints=joints, equation=text.format("q[0]", "q[1]"))
    ties = tie if of_run else None
    result = simulate(builder.build(), 0.2, drive={"left_pivot": 20.0}, output_step=0.02, keep="all", tie=ties)
    study = ViewedStudy.of(result)
    times = np.linspace(0.0, 0.2, 101)
    poses = study.poses(0, times)
    at = [study.nodes.index(f"a:{name}") for name in ("left", "right")]
    left, right = (2.0 * np.arctan2(poses[:, k, 5], poses[:, k, 3]) for k in at)
    off = right - (0.1 * (1.0 - np.cos(left)) + 0.3 * np.sin(5.0 * left))
    assert np.abs(np.sin(off / 2.0)).max() < CLOSED


def test_many_members_cost_no_more_operations_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All poses of a frame are one batch: the number of NumPy operations does not grow with the ghosts."""
    study = study_of("four_bar", vary={LENGTH: np.linspace(0.45, 0.55, 33)})
    made, replay = [0], InNumpy._evaluated

    def counted(run: InNumpy, registers: list[Any], lines: list[Any], values: Sequence[Any]) -> list[Any]:
        made[0] += len(lines)
        return replay(run, registers, lines, values)

    monkeypatch.setattr(InNumpy, "_evaluated", counted)
    count = {}
    for members in (range(1), range(33)):
        for part in (0.2, 0.4, 0.6, 0.8):
            made[0] = 0
            study.poses_of(members, float(study.time[4] + part * RATE))
        count[len(members)] = made[0]
    assert 100 < count[1] < 600 and count[33] < 1.5 * count[1]  # one round of Newton more, at most
