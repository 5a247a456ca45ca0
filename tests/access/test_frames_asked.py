"""Frames of a configuration (D17, D18): any relative to any, along the axes of any, against differences of poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import shiftjax
from shiftjax.access.lane_state import LaneState
from shiftjax.algebra import Vec, cos, sin
from shiftjax.run.closing import host_evaluation as host
from tests.mechanics.test_identities import mechanism
from tests.reference.rotations import rotation

SEED = 2  # with floats, balls, sliders and reversed joints among it
COMPOSED = 1e-12  # m and rad of poses of some metres: products of three matrices
STEP = 1e-4  # s
DIFFERENCE = 1e-6  # relative to squared speeds: central differences of O(h^2)
OFFSET = (0.3, -0.7, 0.5)


def skewed(w: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), w)


@dataclass(frozen=True)
class Turntable(shiftjax.FrameKind):
    """A user's kind: a table that turns at a rate about z of its base, with time."""

    base: Any = "world"
    rate: float = 0.0

    def numbers(self) -> list[float]:
        return [self.rate]

    def motion(self, numbers: Vec, at: LaneState) -> tuple[Any, ...]:
        (rate,) = numbers
        c, s, still = cos(rate * at.t), sin(rate * at.t), [0.0, 0.0, 0.0]
        return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], still, [0.0, 0.0, rate], still, still, still

    def key(self) -> Any:
        return Turntable


def moving(t: float = 0.0) -> Any:
    """A frame that moves in a body, at an instant."""
    w, alpha = np.array([0.4, -1.1, 0.7]), np.array([0.3, 0.5, -0.2])
    u, acc = np.array([0.2, 0.6, -0.5]), np.array([1.0, -2.0, 0.4])
    turn = rotation(t * w + t**2 / 2 * alpha) @ rotation(np.array([0.5, 0.1, -0.4]))
    return shiftjax.MovingFrame(
        "b5", T=np.array(OFFSET) + t * u + t**2 / 2 * acc, R=turn, velocity=u + t * acc, angular_velocity=w + t * alpha,
        acceleration=acc, angular_acceleration=alpha,
    )  # fmt: skip


def frames(t: float = 0.0) -> list[Any]:
    """Of the model, fixed on it, moving on it, and of a user's kind on a moving one."""
    tool = shiftjax.FrameOn("b3", T=OFFSET, R=rotation(np.array([0.2, -0.9, 0.3])))
    return ["b0", "b2:f2", tool, moving(t), Turntable(moving(t), 1.5), "world"]


@pytest.fixture(scope="module")
def states() -> tuple[Any, Any, Any]:
    """Configurations of four closed, moving members now, and a little later and before by their accelerations."""
    document, _, prepared, q, v = mechanism(SEED)
    model = shiftjax.load(document)
    now = shiftjax.configuration(model, q=q.T, v=v.T, time=0.0)
    a = now.accelerations().T

    def at(h: float) -> Any:
        moved = host.retract(prepared.plan, q, h * v + h**2 / 2 * a)
        return shiftjax.configuration(model, q=moved.T, v=(v + h * a).T, time=h)

    return now, at(STEP), at(-STEP)


def test_transforms_compose_d17(states: tuple[Any, Any, Any]) -> None:
    """X_AC = X_AB X_BC, and X_AB X_BA = 1; along other axes the same vectors, turned."""
    at, every = states[0], frames()
    for a in every:
        for b in every[1::2]:
            c = every[2]
            ab, bc = at.pose(a, relative_to=b), at.pose(b, relative_to=c)
            assert np.abs(bc @ ab - at.pose(a, relative_to=c)).max() < COMPOSED
            assert np.abs(at.pose(b, relative_to=a) @ ab - np.eye(4)).max() < COMPOSED
            seen = at.pose(a, relative_to=b, axes=c)
            assert np.abs(seen[:, :3] - bc[:, :3, :3] @ ab[:, :3]).max() < COMPOSED
            turned = np.einsum("bij,bj->bi", bc[:, :3, :3], at.twist(a, relative_to=b)[:, 3:])
            assert np.abs(at.twist(a, relative_to=b, axes=c)[:, 3:] - turned).max() < COMPOSED
    assert np.abs(at.orientation("world", relative_to="world") - np.eye(4)[0]).max() == 0.0


def test_twists_and_accelerations_are_differences_d17(states: tuple[Any, Any, Any]) -> None:
    """As an observer sees them who moves himself, so with all Coriolis and Euler terms."""
    at, after, before = states
    for k, (frame, late, early) in enumerate(zip(frames(), frames(STEP), frames(-STEP), strict=True)):
        for other, late_other, early_other in list(zip(frames(), frames(STEP), frames(-STEP), strict=True))[k % 3 :: 3]:
            ends = [
                x.pose(f, relative_to=o, point=OFFSET)
                for x, f, o in ((after, late, late_other), (before, early, early_other))
            ]
            rate = (ends[0] - ends[1]) / (2 * STEP)
            pose, twist = (getattr(at, what)(frame, relative_to=other, point=OFFSET) for what in ("pose", "twist"))
            bound = DIFFERENCE * max(1.0, np.abs(twist).max()) ** 3
            assert np.abs(rate[:, :3, 3] - twist[:, 3:]).max() < bound
            assert np.abs(rate[:, :3, :3] - np.array([skewed(w) for w in twist[:, :3]]) @ pose[:, :3, :3]).max() < bound
            ends = [
                x.twist(f, relative_to=o, point=OFFSET)
                for x, f, o in ((after, late, late_other), (before, early, early_other))
            ]
            acceleration = at.acceleration(frame, relative_to=other, point=OFFSET)
            bound = DIFFERENCE * max(1.0, np.abs(acceleration).max(), np.abs(twist).max() ** 2) * 10
            assert np.abs((ends[0] - ends[1]) / (2 * STEP) - acceleration).max() < bound


def test_spatial_acceleration_is_the_rate_of_the_twist_along_its_axes_d17(states: tuple[Any, Any, Any]) -> None:
    """Along the axes of the frame itself the six numbers of the twist change by the spatial acceleration."""
    at = states[0]
    for frame in frames()[:4]:
        spatial = at.acceleration(frame, axes=frame, spatial=True)
        assert at.rate("twist", frame, axes=frame) == pytest.approx(spatial, rel=1e-9, abs=1e-9)
        assert at.rate("twist", frame) == pytest.approx(at.acceleration(frame), rel=1e-9, abs=1e-9)


def test_kinds_of_frames_d18(states: tuple[Any, Any, Any]) -> None:
    """A fixed one never moves on its base; the world is where it is; one offset is put in place of another."""
    at = states[0]
    tool = shiftjax.FrameOn("b3", T=OFFSET)
    assert not at.twist(tool, relative_to="b3").any() and not at.acceleration(tool, relative_to="b3").any()
    assert (at.pose("world") == np.eye(4)).all() and not at.twist("world").any()
    assert (at.pose("fixed") == np.eye(4)).all()
    other = replace(tool, T=(0.0, 0.1, 0.0))
    assert at.pose(other, relative_to="b3")[0, :3, 3].tolist() == [0.0, 0.1, 0.0]
    of_members = shiftjax.FrameOn("b3", T=np.arange(12.0).reshape(4, 3))  # an offset each
    assert at.pose(of_members, relative_to="b3")[:, :3, 3].tolist() == np.arange(12.0).reshape(4, 3).tolist()


def test_moving_frames_by_four_vectors_or_by_twists_d18(states: tuple[Any, Any, Any]) -> None:
    """The classic four at once are what it does in its base; `spatial` takes six numbers and their rates."""
    at, one = states[0], moving()
    seen = at.twist(one, relative_to="b5")[0], at.acceleration(one, relative_to="b5")[0]
    given = [one.angular_velocity, one.velocity, one.angular_acceleration, one.acceleration]
    assert np.concatenate(seen) == pytest.approx(np.concatenate(given), abs=COMPOSED)
    twist, rate = np.array([0.1, -0.3, 0.5, 1.0, 2.0, -1.0]), np.array([0.7, 0.2, -0.4, 0.3, -0.6, 0.9])
    spatial = shiftjax.MovingFrame.spatial("b5", T=OFFSET, R=one.R, twist=twist, rate=rate)
    assert at.twist(spatial, relative_to="b5", axes=spatial)[0] == pytest.approx(twist, abs=COMPOSED)
    again = at.acceleration(spatial, relative_to="b5", axes=spatial, spatial=True)[0]
    assert again == pytest.approx(rate, abs=COMPOSED)


def test_what_is_no_frame_is_refused_d18(states: tuple[Any, Any, Any]) -> None:
    at = states[0]
    with pytest.raises(shiftjax.ModelError, match="b17"):
        at.pose("b17")
    with pytest.raises(shiftjax.ModelError, match="off a rotation"):
        at.pose(shiftjax.FrameOn("b3", R=2 * np.eye(3)))
    with pytest.raises(shiftjax.ModelError, match=r"an array of \(3,\)"):
        at.pose(shiftjax.FrameOn("b3", T=(1.0, 2.0)))
    with pytest.raises(shiftjax.ModelError, match=r"point: found"):
        at.pose("b3", point=(1.0, 2.0))
    with pytest.raises(shiftjax.ModelError, match="the path of a body or a frame"):
        at.pose(3)
    around = Turntable(None, 1.0)
    object.__setattr__(around, "base", around)
    with pytest.raises(shiftjax.ModelError, match="its own base"):
        at.pose(around)
