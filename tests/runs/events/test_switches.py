"""Steps of a run with a tolerance end where a force goes from one law to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.mechanism.model import Model
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate
from tests.gradients.test_gradient_passages import slider

KNOT, PULL, STIFFNESS = 0.02, 5.0, 100.0  # m, N, N/m: of a mass of 1 kg
X0, V0 = -0.1, 1.0  # where `slider` begins
SPAN = 2.0  # s
ERROR = 50.0  # tolerances, at the end of 2 s of an oscillation of 10 rad/s; 70 to 300 where steps pass the switches


def pull(knot: float = KNOT) -> Model:
    """A mass on a spring, drawn back by 5 N wherever it is beyond a knot."""
    return slider("spring", (0.0, PULL, knot))


def closed_form(span: float) -> tuple[float, list[float]]:
    """Where the mass is after a span, and when it has passed the knot, each part an oscillation about its own rest."""
    w, t, x, v, passed = np.sqrt(STIFFNESS), 0.0, X0, V0, list[float]()
    while True:
        beyond = x > KNOT or (x == KNOT and v > 0)
        rest = -PULL / STIFFNESS if beyond else 0.0
        size, phase = np.hypot(x - rest, v / w), np.arctan2(-v / w, x - rest)  # x = rest + size cos(w s + phase)
        turn = np.arccos((KNOT - rest) / size)
        after = [(sign * turn - phase) % (2 * np.pi) / w for sign in (1.0, -1.0)]
        s = min(time if time > 1e-9 else time + 2 * np.pi / w for time in after)
        if t + s > span:
            return float(rest + size * np.cos(w * (span - t) + phase)), passed
        t, x, v = t + s, KNOT, float(-size * w * np.sin(w * s + phase))
        passed.append(t)


def run(model: Model, tolerance: float, **options: Any) -> Result:
    return simulate(model, SPAN, tolerance=tolerance, output_step=0.5, channels=["slide.q"], **options)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_the_error_goes_with_the_tolerance_where_a_force_jumps(tolerance: float) -> None:
    place, _ = closed_form(SPAN)
    assert abs(run(pull(), tolerance).channels["slide.q"][-1] - place) < ERROR * tolerance


def test_steps_end_just_past_the_switches() -> None:
    result, (_, passed) = run(pull(), 1e-9), closed_form(SPAN)
    assert result.schedule is not None and len(passed) > 5
    ends = result.schedule.ends * result.schedule.step
    for time in passed:
        assert np.abs(ends - time).min() < 1e-7, "of the tolerance's order"


def test_members_do_not_depend_on_each_other_and_a_replay_is_the_same() -> None:
    knots = np.array([0.01, 0.02, 0.05, 5.0])
    vary = {"rub.knot_points[0]": knots}
    whole = run(pull(), 1e-7, vary=vary)
    again = run(pull(), 1e-7, vary=vary, schedule=whole.schedule)
    assert again.channels["slide.q"].tobytes() == whole.channels["slide.q"].tobytes()
    assert (whole.certificate["rejected"] > 0).tolist() == [True, True, True, False]
    for k in range(len(knots)):
        alone = run(pull(), 1e-7, vary={"rub.knot_points[0]": knots[[k]]})
        assert alone.channels["slide.q"][0].tobytes() == whole.channels["slide.q"][k].tobytes()
        assert alone.certificate["steps"][0] == whole.certificate["steps"][k]


def test_a_lane_that_slides_along_a_switch_goes_on() -> None:
    """Friction of 0 and 5 N at 0.5 m/s holds the mass at that speed for a while, by thousands of small steps; some are
    to shortly before the knot, so that the jump does not act before it."""
    result = run(slider("friction", (0.0, PULL, 0.5)), 1e-6, accuracy="local")  # repeats take 32 times the steps
    assert result.status == 0 and result.certificate["steps"] > 3000 and result.certificate["rejected"] < 200
