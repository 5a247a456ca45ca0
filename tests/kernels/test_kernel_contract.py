"""What `kernels/contract.py` promises, of every backend: the compiled one, JAX, and one from outside the package.

The program is a mass around a centre (closed form: Kepler), with events, a quadrature and an embedded method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftjax.kernels import xla
from shiftjax.kernels.adjoint import AdjointProgram, adjoint_of
from shiftjax.kernels.backends import BACKENDS, make_backward, make_kernel
from shiftjax.kernels.contract import Backward, Group, Kernel, Leg
from shiftjax.kernels.gpu.backward import ReversibleGpuKernel
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.run.programs.integrators import METHODS
from tests.extensions import numpy_backend, rodas4  # noqa: F401
from tests.support.gpus import Gpu
from tests.support.models.sample_programs import BOGACKI, get, orbit, table

pytestmark = pytest.mark.usefixtures("quick_xla")  # test_kernels.py has XLA as users have it
ROUNDING = 1e-12  # a few hundred steps
H = 1e-2  # s
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9)


@pytest.fixture(scope="module", params=[*BACKENDS])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return made(request.param)


def made(name: str) -> Kernel:
    """A kernel of a backend; that of GPUs runs its PTX on the host."""
    return ReversibleGpuKernel("f64", 1, Gpu()) if name == "gpu" else make_kernel(name, "f64", 1)


def fixed(events: bool = False) -> LaneProgram:
    return orbit(events=events)


def started(kernel: Kernel, program: LaneProgram, lanes: int = 4, **rows: Any) -> np.ndarray:
    """Lanes at the apocentre of orbits of different eccentricity, dx and events as a driver leaves them."""
    speed = np.linspace(0.7, 1.0, lanes)
    values = {"q": [1.0, 0.0], "x": [0.0, speed, 0.0], "p": [0.0, 1e-6]} | rows
    out = table(program, lanes, **values)
    kernel.evaluate(program, "project", out, 0.0, H)
    if program.layout.ne:
        kernel.evaluate(program, "events", out, 0.0, H)
    return out


def advance(
    kernel: Kernel,
    program: LaneProgram,
    lanes: np.ndarray,
    until: float | np.ndarray,
    every: int = 0,
    t0: float = 0.0,
    out: np.ndarray | None = None,
    origin: int = 0,
) -> np.ndarray:
    """A copy of the lanes, run; every lane is recorded in its own row of `out`."""
    after, count = lanes.copy(), lanes.shape[1]
    stops = np.broadcast_to(np.asarray(until, float), (count,))
    kernel.advance([Group(program, after, stops, out, np.arange(count))], h=H, t0=t0, every=every, origin=origin)
    return after


def kepler(speed: np.ndarray, t: float) -> np.ndarray:
    """(2, B) place after time t of orbits that begin at (1, 0) with a speed across."""
    a = 1 / (2 - speed**2)
    e, n = 1 / a - 1, a**-1.5  # begins at the apocentre: E = pi
    E = np.pi + n * t
    for _ in range(100):
        E -= (E - e * np.sin(E) - np.pi - n * t) / (1 - e * np.cos(E))
    return np.array([-a * (np.cos(E) - e), -a * np.sqrt(1 - e**2) * np.sin(E)])


def test_it_reaches_the_end_and_the_closed_form(kernel: Kernel) -> None:
    program = fixed()
    lanes = advance(kernel, program, started(kernel, program), 300)
    assert (get(program, lanes, "clock") == 300).all() and (get(program, lanes, "trip") == 0).all()
    assert np.abs(lanes[:2] - kepler(np.linspace(0.7, 1.0, 4), 300 * H)).max() < 1e-6  # RK4
    assert (get(program, lanes, "acc") == 300).all()


def test_every_lane_has_its_own_end(kernel: Kernel) -> None:
    program = fixed()
    begun = started(kernel, program)
    ends = np.array([0.0, 7.0, 55.0, 55.0])
    lanes = advance(kernel, program, begun, ends)
    assert get(program, lanes, "clock").tolist() == ends.tolist()
    for end in set(ends):
        whole = advance(kernel, program, begun, end)
        assert lanes[:, ends == end].tobytes() == whole[:, ends == end].tobytes()
    cut = begun
    for end in (3.0, 3.0, 54.0, 55.0):  # where it is cut into calls changes nothing
        cut = advance(kernel, program, cut, np.minimum(ends, end))
    assert cut.tobytes() == lanes.tobytes()


def test_time_does_not_add_up_rounding(kernel: Kernel) -> None:
    """t = t0 + clock h to the last bit, on the grid and off it."""
    program = fixed()
    lanes = started(kernel, program, fraction=0.375)
    out = np.full((4, 5, 3), np.nan)
    lanes = advance(kernel, program, lanes, 30, every=3, t0=0.1, out=out[:, :, :])
    assert get(program, lanes, "clock").tolist() == [30.0] * 4
    assert out[0, 1:, 2].tolist() == [0.1 + k * H for k in (3, 6, 9, 12)]  # clocks beyond the last tick are left out
    seen = kernel.evaluate(program, "observe", lanes, 0.1, H)
    assert seen is not None and seen[2].tolist() == [0.1 + 30 * H] * 4


def test_ticks_count_from_any_clock(kernel: Kernel) -> None:
    """A run that goes on keeps its clock; what it records begins where it begins."""
    program = fixed()
    begun = advance(kernel, program, started(kernel, program), 10, t0=0.1)
    out, all_ = np.full((4, 5, 3), np.nan), np.full((4, 31, 3), np.nan)
    lanes = advance(kernel, program, begun, 24, every=3, t0=0.1, out=out, origin=10)
    same = advance(kernel, program, started(kernel, program), 24, every=1, t0=0.1, out=all_)
    assert lanes.tobytes() == same.tobytes()
    assert out[:, 1:].tobytes() == all_[:, [13, 16, 19, 22]].tobytes() and np.isnan(out[:, 0]).all()


def test_a_lane_without_a_step_does_not_run(kernel: Kernel) -> None:
    program = fixed()
    lanes = started(kernel, program, fraction=np.array([0.0, -1.0, 1.0, np.nan]))
    assert get(program, advance(kernel, program, lanes, 5), "clock").tolist() == [0.0, 0.0, 5.0, 0.0]


def test_a_tripped_lane_is_left_alone(kernel: Kernel) -> None:
    """A monitor above its limit: the state before the step, the attempt's monitors, and nothing more until cleared."""
    program = fixed()
    begun = started(kernel, program)
    begun[program.layout.rows("limit")[0], 1] = 0.7  # of the radius, which falls from 1 to the pericentre's
    begun[program.layout.rows("armed")[0], 1] = 0.0
    free = advance(kernel, program, begun, 700)
    assert (get(program, free, "trip") == [0, 1, 0, 0]).all(), "it armed itself below its limit and trips above it"
    clock = get(program, free, "clock")[1]
    assert get(program, free, "mon")[1] > 0.7 >= np.hypot(*free[:2, 1]) > 0.69
    before = advance(kernel, program, begun, np.array([0, clock, 0, 0]))
    rows = [k for name in ("q", "x", "dx", "clock", "acc", "armed") for k in program.layout.rows(name)]
    assert free[rows, 1].tobytes() == before[rows, 1].tobytes()
    again = advance(kernel, program, free, 800)
    assert again[:, 1].tobytes() == free[:, 1].tobytes()
    free[program.layout.rows("trip")[0]] = 0.0
    free[program.layout.rows("limit")[0]] = np.inf
    assert (get(program, advance(kernel, program, free, 800), "clock") == 800).all()


def test_a_number_that_is_not_finite_trips_last_of_all(kernel: Kernel) -> None:
    program = fixed()
    begun = started(kernel, program)
    begun[0, 2], begun[program.layout.rows("armed")[0], 2] = np.nan, 0.0
    begun[0, 3] = np.inf
    lanes = advance(kernel, program, begun, 5)
    assert get(program, lanes, "trip").tolist() == [0, 0, program.layout.nm + 1, 1]


def test_events_freeze_before_the_step_in_which_they_happen(kernel: Kernel) -> None:
    """y = 0 at half a turn and at a whole one; another lane's radius passes 0.9 first."""
    program = fixed(events=True)
    begun = started(kernel, program, p=[np.array([0.0, 0.9, 0.0, 0.0]), 1e-6])
    lanes = advance(kernel, program, begun, 2000)
    n = program.layout.nm
    assert get(program, lanes, "trip").tolist() == [n + 3, n + 4, n + 3, n + 3]
    half = np.pi * (2 - np.linspace(0.7, 1.0, 4) ** 2) ** -1.5
    clocks = get(program, lanes, "clock")
    assert (clocks[[0, 2, 3]] == np.floor(half[[0, 2, 3]] / H)).all()
    assert (lanes[1, [0, 2, 3]] > 0).all() and np.hypot(*lanes[:2, 1]) > 0.9
    assert (get(program, lanes, "event")[[0, 2, 3]] == lanes[1, [0, 2, 3]]).all(), "values of the last accepted state"
    # stepping over it: the host clears the trip and takes the sign behind it
    lanes[program.layout.rows("trip")[0]] = 0.0
    lanes[program.layout.rows("event")[0]] = -1.0
    lanes[program.layout.rows("event")[1]] = np.inf
    lanes = advance(kernel, program, lanes, 2000)
    assert (get(program, lanes, "trip") == n + 3).all()
    assert (get(program, lanes, "clock")[[0, 2, 3]] == np.floor(2 * half / H)[[0, 2, 3]]).all()


def test_an_event_that_is_beyond_zero_within_one_step_alone_freezes_before_it(kernel: Kernel) -> None:
    """The radius is below the parameter near the pericentre, at both ends of the step above it; nobody watches y."""
    program, speed = fixed(events=True), 0.7
    pericentre = 2.0 / (2.0 - speed**2) - 1.0
    far = pericentre + np.array([1e-6, -1e-6])  # the step is off by 1e-8 there, and its ends are 1e-5 above
    begun = started(kernel, program, 2, p=[far, 1e-6], x=[0.0, speed, 0.0], watched=[0.0, 1.0])
    half = np.pi * (2 - speed**2) ** -1.5
    lanes = advance(kernel, program, begun, np.ceil(half / H) + 5)
    assert get(program, lanes, "trip").tolist() == [program.layout.nm + 4, 0]
    assert get(program, lanes, "clock")[0] == np.floor(half / H)


def test_an_event_that_begins_at_zero_has_not_happened(kernel: Kernel) -> None:
    program = fixed(events=True)
    begun = started(kernel, program)
    assert (get(program, begun, "event") == 0).all(), "y is 0 at the start"
    assert (get(program, advance(kernel, program, begun, 20), "trip") == 0).all()


def test_an_error_estimate_controls_the_step(kernel: Kernel) -> None:
    """Each lane has a tolerance of its own: the error falls with it, and the steps grow and shrink along the orbit."""
    program = orbit(BOGACKI, events=False)
    begun = started(kernel, program, x=[0.0, 0.7, 0.0], p=[0.0, np.array(TOLERANCES)], fraction=30.0)
    lanes = advance(kernel, program, begun, 400.25)
    assert (get(program, lanes, "clock") == 400.25).all(), "exactly, though no step is a whole one"
    assert (get(program, lanes, "trip") == 0).all()
    off = np.abs(lanes[:2] - kepler(np.full(4, 0.7), 400.25 * H)).max(0)
    assert (off[1:] < off[:-1] / 20).all() and off[-1] < 1e-6
    steps = get(program, lanes, "acc")
    assert (steps[1:] > 2 * steps[:-1]).all() and steps[0] < 60, "accepted steps"
    size = get(program, lanes, "fraction")
    assert ((0 < size) & (size < 100)).all()


END = 100  # ticks of the clock: some 1 000 steps of the finest tolerance


def test_every_controlled_step_is_recorded_and_calls_change_no_result(kernel: Kernel) -> None:
    """Output ticks change no step; a lane stops where its room is full, and goes on in the next call."""
    program = orbit(BOGACKI, events=False)
    begun = started(kernel, program, x=[0.0, 0.7, 0.0], p=[0.0, np.array(TOLERANCES)], fraction=30.0)
    plain, out = advance(kernel, program, begun, END), np.full((4, 1100, 3), np.nan)
    lanes = advance(kernel, program, begun, END, every=20, out=out)
    assert lanes.tobytes() == plain.tobytes()
    steps = get(program, lanes, "acc").astype(int)
    assert np.isfinite(out).all(2).sum(1).tolist() == steps.tolist() and (out[:, 0] != out[:, 1]).any()
    for k, count in enumerate(steps):
        assert (np.diff(out[k, :count, 2]) > 0).all() and out[k, count - 1, 2] == END * H
        assert out[k, count - 1, :2].tolist() == lanes[:2, k].tolist()
    cut, parts = begun, []
    while (get(program, cut, "clock") < END).any():
        parts.append(np.full((4, 100, 3), np.nan))
        cut = advance(kernel, program, cut, END, out=parts[-1])
    assert cut.tobytes() == lanes.tobytes()
    for k, count in enumerate(steps):
        rows = np.concatenate([part[k] for part in parts])
        assert rows[np.isfinite(rows).all(1)].tobytes() == out[k, :count].tobytes()


def test_lanes_do_not_see_each_other(kernel: Kernel) -> None:
    """Of forty lanes of controlled steps, which accept and reject at different times, each is as it is alone."""
    program = orbit(BOGACKI)
    random = np.random.default_rng(4)
    drawn = {"x": [0.0, random.uniform(0.6, 1.1, 40), 0.0], "fraction": 10 ** random.uniform(-1, 3, 40)}
    begun = started(kernel, program, 40, p=[0.0, 10 ** random.uniform(-9, -2, 40)], **drawn)
    ends = random.uniform(1, 200, 40)
    lanes = advance(kernel, program, begun, ends)
    for k in (0, 7, 21, 39):
        alone = advance(kernel, program, np.ascontiguousarray(begun[:, [k]]), ends[[k]])
        np.testing.assert_allclose(alone[:5, 0], lanes[:5, k], rtol=0, atol=ROUNDING)  # infinite where it is infinite
        assert isinstance(kernel, xla.XlaKernel) or alone[:, 0].tobytes() == lanes[:, k].tobytes()


def test_a_rejected_step_is_tried_again_with_a_smaller_one(kernel: Kernel) -> None:
    """Far too large a first step: nothing but the size changes until one is accepted."""
    program = orbit(BOGACKI, events=False)
    begun = started(kernel, program, x=[0.0, 0.7, 0.0], fraction=np.array([1e4, 1e30, 100.0, 1.0]))
    lanes = advance(kernel, program, begun, 100)
    assert (get(program, lanes, "clock") == 100).all() and (get(program, lanes, "trip") == 0).all()
    assert np.abs(lanes[:2] - kepler(np.full(4, 0.7), 1.0)).max() < 1e-5
    steps = get(program, lanes, "acc")
    assert (steps < 60).all() and (steps > 5).all()


def test_a_step_that_cannot_be_made_small_enough_trips(kernel: Kernel) -> None:
    """No step meets a tolerance of 0 away from rest, nor one from a state that is not a number."""
    program = orbit(BOGACKI, events=False)
    begun = started(kernel, program, p=[0.0, np.array([0.0, 1e-6, 1e-6, 1e-6])], clock=3.0)
    begun[0, 1] = np.nan
    lanes = advance(kernel, program, begun, 10)
    assert get(program, lanes, "trip").tolist() == [program.layout.nm + 2] * 2 + [0, 0]
    assert get(program, lanes, "clock").tolist() == [3, 3, 10, 10]
    rows = [k for name in ("q", "x", "dx", "acc", "clock") for k in program.layout.rows(name)]
    assert lanes[rows][:, :2].tobytes() == begun[rows][:, :2].tobytes()


def test_quadratures_are_integrals_of_the_method(kernel: Kernel) -> None:
    """The integral of the radius over a circle, and over half an ellipse, where it is pi a^(5/2) (1 + e^2 / 2)."""
    program = fixed()
    speed = np.array([1.0, 0.8, 0.9, 0.95])
    begun = started(kernel, program, x=[0.0, speed, 0.0])
    a = 1 / (2 - speed**2)
    half = np.pi * a**1.5
    lanes = advance(kernel, program, begun, np.floor(half / H))
    lanes[program.layout.rows("fraction")[0]] = half / H - np.floor(half / H)
    lanes = advance(kernel, program, lanes, half / H)
    exact = np.pi * a**2.5 * (1 + (1 / a - 1) ** 2 / 2)
    assert np.abs(lanes[program.layout.rows("x")[2]] - exact).max() < 1e-7


def test_all_backends_give_the_same_numbers() -> None:
    """Fixed and controlled steps, with events: to rounding of each other, trips and clocks equal."""
    for program, until in ((fixed(events=True), 90), (orbit(BOGACKI), 90)):
        found = []
        for name in BACKENDS:
            machine = made(name)
            begun = started(machine, program, p=[np.array([0.0, 0.9, 0.0, 0.95]), 1e-5])
            found.append(advance(machine, program, begun, until))
        for other in found[1:]:
            running = get(program, other, "trip") == 0
            assert np.abs(found[0][:5] - other[:5])[:, running].max() < 1e-9
            for row in ("trip", "acc"):
                assert (get(program, other, row) == get(program, found[0], row)).all()


def test_steps_of_a_linearly_implicit_method(kernel: Kernel) -> None:
    """y + h (1 - h J)^-1 f, the time integral of the radius with it, beside the same in matrices."""
    program = orbit(METHODS["backward"], events=False)
    begun = started(kernel, program)
    lanes = advance(kernel, program, begun, 5)
    for k in range(lanes.shape[1]):
        y = begun[:5, k].copy()  # x, y, their speeds, the integral
        for _ in range(5):
            r, radius = y[:2], np.hypot(*y[:2])
            f = np.array([*y[2:4], *(-r / radius**3), radius])
            J = np.zeros((5, 5))
            J[:2, 2:4], J[4, :2] = np.eye(2), r / radius
            J[2:4, :2] = 3 * np.outer(r, r) / radius**5 - np.eye(2) / radius**3
            y += H * np.linalg.solve(np.eye(5) - H * J, f)
        assert np.abs(lanes[:5, k] - y).max() < ROUNDING


# -- the way back ------------------------------------------------------------------------------------------------------

DIFFERENCES = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))  # of order 4
SMALL = 1e-3  # step of theirs
SLOPES = 1e-9  # SMALL**4 of derivatives of order 5, which are some hundred here, and rounding of 1e-16 over SMALL


@pytest.fixture(scope="module")
def back(kernel: Kernel) -> Backward:
    carries = make_backward(kernel)
    if carries is None:
        pytest.skip("a backend without a way back")
    return carries


def turned(program: LaneProgram, lanes: np.ndarray) -> tuple[AdjointProgram, np.ndarray, np.ndarray]:
    """An adjoint, random cotangents of lanes, and a direction in which their rows (q, x, dx, p) are moved."""
    adjoint, random = adjoint_of(program, "f64", 1), np.random.default_rng(6)
    shape = (adjoint.layout.row_count, lanes.shape[1])
    return adjoint, random.standard_normal(shape), random.standard_normal(shape)


def difference(adjoint: AdjointProgram, lanes: np.ndarray, direction: np.ndarray, value: Any) -> np.ndarray:
    """(B,) the derivative of a function of lanes along a direction."""
    total, here, there = np.zeros(lanes.shape[1]), adjoint.program.layout.rows, adjoint.layout.rows
    for k, weight in DIFFERENCES:
        moved = lanes.copy()
        for name in ("q", "x", "dx", "p"):
            moved[[*here(name)]] += k * SMALL * direction[[*there(name)]]
        total += weight / SMALL * value(moved)
    return total


def weighed(adjoint: AdjointProgram, bars: np.ndarray, lanes: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """(B,) rows of lanes times their cotangents."""
    here, there = adjoint.program.layout.rows, adjoint.layout.rows
    return np.sum([(bars[[*there(name)]] * lanes[[*here(name)]]).sum(0) for name in names], axis=0)


def test_cotangents_of_steps_are_those_of_what_advance_does(kernel: Kernel, back: Backward) -> None:
    """Each lane over its own number of steps, with cotangents of its end and of what it recorded on the way."""
    program = fixed()
    begun, steps = started(kernel, program, clock=2.0), np.array([7, 0, 4, 9])
    adjoint, bars, direction = turned(program, begun)
    seeds = np.random.default_rng(7).standard_normal((4, 5, 3))
    seeds[:, 0] = 0.0  # clock 0, before the beginning

    def value(lanes: np.ndarray) -> np.ndarray:
        out = np.zeros((4, 5, 3))
        end = advance(kernel, program, lanes, 2.0 + steps, every=3, out=out)
        return weighed(adjoint, bars, end, ("q", "x", "dx", "p")) + (seeds * out).sum((1, 2))

    wanted = difference(adjoint, begun, direction, value)
    found = bars.copy()
    found[adjoint.layout.rows("steps").start] = steps
    assert steps.max() <= back.longest(adjoint)
    back.sweep([Leg(adjoint, begun, found, seeds, np.arange(4))], h=H, every=3)
    assert np.array_equal(found[:-1, 1], bars[:-1, 1]), "of no step"
    found[adjoint.layout.rows("steps").start] = 0.0
    assert np.abs((found * direction).sum(0) - wanted).max() < SLOPES * np.abs(found * direction).sum(0).max()


@pytest.mark.parametrize("phase", ["project", "observe"])
def test_cotangents_of_one_phase(kernel: Kernel, back: Backward, phase: str) -> None:
    program = fixed()
    begun = started(kernel, program)
    adjoint, bars, direction = turned(program, begun)
    seeds = np.random.default_rng(7).standard_normal((4, 1, 3))

    def value(lanes: np.ndarray) -> np.ndarray:
        after = lanes.copy()
        seen = kernel.evaluate(program, phase, after, 0.0, H)
        own = weighed(adjoint, bars, after, ("q", "x", "dx", "p"))
        return own if seen is None else own + (seeds[:, 0].T * seen).sum(0)

    wanted, ends, found = difference(adjoint, begun, direction, value), begun.copy(), bars.copy()
    kernel.evaluate(program, "project", ends, 0.0, H)
    leg = Leg(adjoint, begun, found, seeds if phase == "observe" else None, np.arange(4))
    back.touch(leg, phase, ends, h=H, every=1)
    found[adjoint.layout.rows("steps").start] = 0.0
    assert np.abs((found * direction).sum(0) - wanted).max() < SLOPES * np.abs(found * direction).sum(0).max()
