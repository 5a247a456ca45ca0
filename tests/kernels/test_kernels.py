"""The machines that run lane programs: the vector kernel against the reference and against a plain loop."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shiftjax.kernels import xla
from shiftjax.kernels.lane_program import LaneProgram, Layout
from shiftjax.kernels.llvm import cpu
from shiftjax.kernels.llvm.target import host
from shiftjax.run.programs.integrators import METHODS
from tests.extensions import low_storage  # noqa: F401
from tests.support.complete import without
from tests.support.models.sample_programs import advance, get, particle, pendulum, pendulums, piece, slots, table, wheel

ROUNDING = 1e-12  # a few hundred steps of a smooth motion, each off by some rounding errors
SINGLE = 5e-5  # the same in float32
H = 2e-3  # s


@pytest.fixture(scope="module")
def kernel(tmp_path_factory) -> cpu.CpuKernel:
    """One kernel of one thread for the whole file."""
    return cpu.CpuKernel("f64", threads=1, cache=False)


def started(
    kernel: cpu.CpuKernel | xla.XlaKernel, program: LaneProgram, lanes: np.ndarray, t0: float = 0.0
) -> np.ndarray:
    """The table with dx as the driver leaves it."""
    kernel.evaluate(program, "project", lanes, t0, H)
    return lanes


def run(kernel, program, lanes, until=200, every=50, member=None, t0=0.0):
    """Advances a copy; the final table and the recorded channels."""
    lanes = started(kernel, program, lanes.copy(), t0)
    member = np.arange(lanes.shape[1]) if member is None else member
    out = np.full((lanes.shape[1], until // every + 1, program.layout.nc), -7.0, lanes.dtype)
    advance(kernel, [(program, lanes, member)], until, H, t0, every, out)
    return lanes, out


def particles(program: LaneProgram, lanes: int = 9) -> np.ndarray:
    """Particles, some of which pass a limit at different times."""
    rng = np.random.default_rng(2)
    limits = [rng.uniform(0.02, 0.6, lanes), rng.uniform(0.3, 3.0, lanes)]
    drive = [rng.uniform(0.5, 2.0, lanes), 40.0, rng.uniform(5, 30, lanes), rng.uniform(3, 9, lanes)]
    return table(program, lanes, q=0.01, limit=limits, p=drive)


def same(a: np.ndarray, b: np.ndarray, tolerance: float = ROUNDING) -> None:
    """Equal to `tolerance` of the largest number of the row, NaN where the other is NaN."""
    for row, (x, y) in enumerate(zip(a, b, strict=True)):
        scale = max(1.0, np.nanmax(np.abs(np.where(np.isfinite(y), y, 0.0)), initial=0.0))
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale, err_msg=f"row {row}")


# Each of instructions that none of the others has; other files enter tables, which run by those of one of these.
DISTINCT = ("rk4", "euler", "dopri5", "implicit_euler", "rosenbrock", "williamson", "midpoint")
OTHERS = [(make, name) for make in (particle, wheel) for name in METHODS]
OFTEN = [(particle, "rk4"), (particle, "dopri5"), (particle, "rosenbrock"), (wheel, "rk4"), (wheel, "implicit_euler")]
CASES = [
    *without([(pendulum, name) for name in METHODS], [(pendulum, name) for name in METHODS if name not in DISTINCT]),
    *without(OTHERS, [case for case in OTHERS if case not in OFTEN]),
]


@pytest.mark.parametrize(("make", "method"), CASES)
def test_cpu_equals_xla(kernel, make, method, request):
    """The default method in XLA's code as users have it, the others in code that is compiled in 40 % of the time."""
    if method != "rk4":
        request.getfixturevalue("quick_xla")
    program = make(method)
    if make is particle:
        lanes = particles(program)
    elif make is wheel:
        lanes = table(program, 5, q=[1.0, 0.0], x=np.linspace(1, 3, 5), p=np.linspace(-1, 4, 5))
    else:
        lanes = pendulums(program, 11)
        lanes[program.layout.rows("limit")[0], ::3] = 2.0
    ours, channels = run(kernel, program, lanes, t0=0.3)
    reference, expected = run(xla.XlaKernel("f64"), program, lanes, t0=0.3)
    same(ours, reference)
    same(channels.reshape(len(channels), -1).T, expected.reshape(len(expected), -1).T)
    if make is particle:
        assert len(set(get(program, ours, "clock"))) > 3, "lanes were meant to trip at different times"


def test_cpu_equals_a_plain_loop(kernel):
    """RK4 of the driven particle with its work, lanes frozen before the step that passes a limit."""
    program = particle()
    lanes = particles(program)
    ours, _ = run(kernel, program, lanes, t0=0.1)
    for lane in range(lanes.shape[1]):
        m, k, f, w = lanes[list(program.layout.rows("p")), lane]
        limits = lanes[list(program.layout.rows("limit")), lane]

        def rate(y, t, m=m, k=k, f=f, w=w):
            force = f * np.cos(w * t)
            return np.array([y[1], (force - k * y[0]) / m, force * y[1]])

        y, clock, trip = np.array([0.01, 0.0, 0.0]), 0, 0
        while clock < 200 and not trip:
            t = 0.1 + clock * H
            k1 = rate(y, t)
            stages = [y + H / 2 * k1]
            k2 = rate(stages[0], t + H / 2)
            stages.append(y + H / 2 * k2)
            k3 = rate(stages[1], t + H / 2)
            stages.append(y + H * k3)
            new = y + H / 6 * (k1 + 2 * k2 + 2 * k3 + rate(stages[2], t + H))
            most = np.abs([*stages, new])[:, :2].max(0)
            trip = next((i + 1 for i in range(2) if not most[i] <= limits[i]), 0)
            if not trip:
                y, clock = new, clock + 1
        np.testing.assert_allclose(ours[[0, 1, 2], lane], y, atol=ROUNDING)
        assert (get(program, ours, "clock")[lane], get(program, ours, "trip")[lane]) == (clock, trip)
        np.testing.assert_allclose(ours[list(program.layout.rows("mon")), lane], most, atol=ROUNDING)


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_depend_on_nothing_else(threads):
    """The same lane gives the same bits in every batch, at every place, with every thread count, observed or not."""
    program = pendulum()
    machine = cpu.CpuKernel("f64", threads)
    whole, channels = run(machine, program, pendulums(program, 1000))
    for size in (1, 7, 64):
        part, ticks = run(machine, program, pendulums(program, size))
        assert part.tobytes() == whole[:, :size].tobytes()
        assert ticks.tobytes() == channels[:size].tobytes()
    shifted, _ = run(machine, program, np.roll(pendulums(program, 1000), 3, axis=1))
    assert np.roll(shifted, -3, axis=1).tobytes() == whole.tobytes()
    blind = pendulum(observed=False)
    unseen = started(machine, blind, pendulums(blind, 1000))
    advance(machine, [(blind, unseen, np.arange(1000))], 200, H)
    assert unseen.tobytes() == whole.tobytes()


def test_chunks_of_steps_change_no_bit(kernel):
    program = pendulum()
    whole, _ = run(kernel, program, pendulums(program, 9))
    lanes = started(kernel, program, pendulums(program, 9))
    for until in (1, 2, 77, 200):
        advance(kernel, [(program, lanes, np.arange(9))], until, H)
    assert lanes.tobytes() == whole.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_lane_trips_alone(kernel, bad):
    program = pendulum()
    clean, _ = run(kernel, program, pendulums(program, 13))
    lanes = pendulums(program, 13)
    lanes[0, 5] = lanes[0, 6] = bad
    lanes[program.layout.rows("armed")[0], 5] = 0.0
    dirty, _ = run(kernel, program, lanes)
    others = ~np.isin(np.arange(13), (5, 6))
    assert dirty[:, others].tobytes() == clean[:, others].tobytes()
    assert list(get(program, dirty, "trip")[5:7]) == [program.layout.nm + 1, 1], "not finite, and a NaN monitor"
    assert list(get(program, dirty, "clock")[5:7]) == [0, 0]


def test_nan_in_a_monitor_trips_it(kernel):
    """A monitor that was NaN at any stage is not at most its limit, and its row says NaN."""
    n = Layout(nq=0, nx=1, np=0, nm=2, nr=0, na=0, nc=0, ns=0)

    def monitors(x, t):
        return 1.0 + 0.0 * x, lax.select(lax.gt(t, 0.1051), lax.sqrt(-t), t), x

    program = LaneProgram(
        n,
        METHODS["rk4"],
        piece("nan drift", lambda x: (), slots(n, "x"), ()),
        (piece("nan accelerate", monitors, slots(n, "x", "t"), (*n.slots("dx"), *n.slots("mon"))),),
        (piece("nan project", lambda x: (x, 1.0 + 0.0 * x, x, x), slots(n, "x"), slots(n, "x", "dx", "mon")),),
        (),
        (),
    )
    lanes = table(program, 3, dx=1.0)
    lanes[program.layout.rows("limit")[0], 1] = 0.0495
    for machine in (kernel, xla.XlaKernel("f64")):
        after = lanes.copy()
        advance(machine, [(program, after, np.arange(3))], 100, H)
        assert list(get(program, after, "trip")) == [1, 1, 1]
        assert list(get(program, after, "clock")) == [52, 24, 52]
        assert np.isnan(get(program, after, "mon")[0])


def test_a_tripped_lane_keeps_its_last_good_step(kernel):
    program = pendulum()
    lanes = pendulums(program, 9)
    lanes[program.layout.rows("limit")[0], 4] = 1.0
    after, ticks = run(kernel, program, lanes)
    stop = int(get(program, after, "clock")[4])
    free, _ = run(kernel, program, pendulums(program, 9), until=stop, every=stop)
    rows = [k for name in ("q", "x", "dx", "clock", "acc", "rep") for k in program.layout.rows(name)]
    assert after[rows, 4].tobytes() == free[rows, 4].tobytes()
    assert get(program, after, "mon")[4] > 1.0 >= abs(get(program, after, "x")[4])
    assert (ticks[4, stop // 50 + 1 :] == -7.0).all()
    again = after.copy()
    advance(kernel, [(program, again, np.arange(9))], 300, H)
    assert again[:, 4].tobytes() == after[:, 4].tobytes(), "a tripped lane stays as it is"


def test_monitors_arm_again(kernel):
    """A lane above its limit runs on while unarmed, arms below it, and trips when it comes up again."""
    program = pendulum()
    lanes = table(program, 2, q=0.0, x=2.0, p=[9.81, 1.0], limit=[1.5], armed=[0.0])
    lanes[program.layout.rows("armed")[0], 1] = 1.0
    for machine in (kernel, xla.XlaKernel("f64")):
        after, _ = run(machine, program, lanes, until=1000)
        assert list(get(program, after, "trip")) == [1, 1]
        assert get(program, after, "clock")[1] == 0
        q, v = get(program, after, "q")[0], get(program, after, "x")[0]
        assert -1.5 <= v < -1.48 and q > 0, "down again at nearly the limit"
        assert get(program, after, "armed")[0] == 1


def test_ticks_of_lanes_at_different_clocks(kernel):
    program = particle()
    lanes = table(program, 5, q=0.01, p=[1.0, 40.0, 5.0, 3.0], clock=np.array([0, 7, 20, 40, 60.0]))
    lanes[program.layout.rows("fraction")[0], 1] = 0.25
    member = np.array([4, 3, -1, 1, 0])
    for machine in (kernel, xla.XlaKernel("f64")):
        after, out = run(machine, program, lanes, until=60, every=10, member=member)
        assert list(get(program, after, "clock")) == [60] * 5
        time = out[..., 1]
        np.testing.assert_allclose(time[4, 1:], np.arange(10, 61, 10) * H, atol=ROUNDING)
        np.testing.assert_allclose(time[3, 1:], np.arange(10, 61, 10) * H, atol=ROUNDING)
        np.testing.assert_allclose(time[1, 5:], [0.1, 0.12], atol=ROUNDING)
        untouched = [(4, 0), (3, 0), *((1, k) for k in range(5)), *((m, k) for m in (0, 2) for k in range(7))]
        assert all((out[m, k] == -7.0).all() for m, k in untouched)


def test_fractions_of_steps(kernel):
    """A step in parts of 0.375 and 0.625 ends on the grid, at the same point as two shorter steps by hand."""
    program = pendulum()
    lanes = started(kernel, program, pendulums(program, 6))
    by_hand = lanes.copy()
    for part, clock in ((0.375, 0.375), (0.625, 1.0)):
        lanes[program.layout.rows("fraction")[0]] = part
        advance(kernel, [(program, lanes, np.arange(6))], clock, H)
        by_hand[program.layout.rows("clock")[0]] = 0
        advance(kernel, [(program, by_hand, np.arange(6))], 1, part * H)
        np.testing.assert_allclose(lanes[:3], by_hand[:3], rtol=1e-15)
    assert (get(program, lanes, "clock") == 1.0).all()
    stuck = lanes.copy()
    stuck[program.layout.rows("fraction")[0]] = 0.0
    advance(kernel, [(program, stuck, np.arange(6))], 10, H)
    assert (get(program, stuck, "clock") == 1.0).all(), "a lane without a step does not run"


def test_huge_angles_share_a_vector(kernel):
    """An angle beyond the fast range reduction is right and changes no bit of its neighbours."""
    program = pendulum()
    clean, _ = run(kernel, program, pendulums(program, 9), until=1, every=1)
    lanes = pendulums(program, 9)
    turns = 1e12
    lanes[0, 2] = turns
    dirty, _ = run(kernel, program, lanes, until=1, every=1)
    others = np.arange(9) != 2
    assert dirty[:, others].tobytes() == clean[:, others].tobytes()
    start = started(kernel, program, lanes.copy())
    g, length = start[list(program.layout.rows("p")), 2]
    assert get(program, start, "dx")[2] == pytest.approx(-g / length * np.sin(turns), rel=1e-14)


def test_single_precision():
    program = pendulum(precision="f32")
    machine = cpu.CpuKernel("f32", 1, cache=False)
    lanes, channels = run(machine, program, pendulums(program, 21, "f32"))
    double = pendulum()
    expected, ticks = run(xla.XlaKernel("f64"), double, pendulums(double, 21))
    assert lanes.dtype == np.float32
    same(lanes, expected, SINGLE)
    np.testing.assert_allclose(channels, ticks, atol=10 * SINGLE)
    reference, _ = run(xla.XlaKernel("f32"), program, pendulums(program, 21, "f32"))
    same(lanes, reference, SINGLE)


def test_other_processors(kernel, monkeypatch):
    """Other widths give the same bits; a processor without fused multiply-adds the same numbers."""
    program = particle()
    expected, ticks = run(kernel, program, particles(program, 21))
    here = host("f64")
    for width, interleave in ((2 * here.width, 1), (here.width, 4), (2, 2)):
        monkeypatch.setattr(
            cpu, "host", lambda _, w=width, n=interleave: dataclasses.replace(here, width=w, interleave=n)
        )
        lanes, channels = run(cpu.CpuKernel("f64", 1, cache=False), program, particles(program, 21))
        assert lanes.tobytes() == expected.tobytes() and channels.tobytes() == ticks.tobytes()
    if here.triple.startswith("x86_64"):
        plain = dataclasses.replace(here, width=2, fused=False, features="", cpu="x86-64")
        monkeypatch.setattr(cpu, "host", lambda _: plain)
        lanes, _ = run(cpu.CpuKernel("f64", 1, cache=False), program, particles(program, 21))
        same(lanes, expected)


def test_groups_share_pieces(kernel):
    """Two programs with the same pieces but one run in one call; only what differs is compiled."""
    program = pendulum()
    kernel.prepare(program)
    before = kernel.compiled
    faster = dataclasses.replace(
        program,
        accumulate=(
            piece(
                "another",
                lambda a, v: (a + 0.0 * v + 1.0,),
                slots(program.layout, "acc", "x"),
                slots(program.layout, "acc"),
            ),
        ),
    )
    lanes = [
        started(kernel, program, pendulums(program, 5)),
        started(kernel, faster, pendulums(program, 12)[:, 5:].copy()),
    ]
    out = np.zeros((12, 5, 2))
    advance(kernel, [(program, lanes[0], np.arange(5)), (faster, lanes[1], np.arange(5, 12))], 200, H, 0.0, 50, out)
    assert kernel.compiled == before + 1
    alone, ticks = run(kernel, program, pendulums(program, 12))
    assert np.hstack(lanes)[:3].tobytes() == alone[:3].tobytes()
    assert out[:, 1:].tobytes() == ticks[:, 1:].tobytes()
    assert (get(program, lanes[1], "acc") == 200).all()


def test_phases_one_by_one(kernel):
    program = pendulum()
    for machine in (kernel, xla.XlaKernel("f64")):
        lanes = table(program, 6, q=np.linspace(0, 1, 6), x=2.0, p=[9.81, 1.0], acc=[1.0])
        channels = machine.evaluate(program, "observe", lanes, 0.0, H)
        assert channels is not None
        np.testing.assert_allclose(channels, [np.sin(lanes[0]), lanes[1]], atol=ROUNDING)
        assert (machine.evaluate(program, "drift", lanes, 0.0, H) == 2.0).all()
        machine.evaluate(program, "accelerate", lanes, 0.0, H)
        np.testing.assert_allclose(get(program, lanes, "dx"), -9.81 * np.sin(lanes[0]), atol=ROUNDING)
        machine.evaluate(program, "accumulate", lanes, 0.0, H)
        assert (get(program, lanes, "acc") == 2.0).all() and (get(program, lanes, "mon") == 2.0).all()


def test_long_regions_are_loops(kernel):
    """Programs with more slots than are written out one by one."""
    n = Layout(nq=60, nx=60, np=0, nm=0, nr=50, na=0, nc=0, ns=0)
    half = tuple(range(60))

    def project(*s):
        return *s, *(-x for x in s[:60]), *s[:50]

    program = LaneProgram(
        n,
        METHODS["rk4"],
        piece(
            "long drift",
            lambda *x: tuple(0.5 * v if k % 2 else v for k, v in enumerate(x)),
            slots(n, "x"),
            slots(n, "qdot"),
        ),
        (piece("long accelerate", lambda *q: tuple(-x for x in q), half, slots(n, "dx")),),
        (piece("long project", project, slots(n, "q", "x"), slots(n, "q", "x", "dx", "rep")),),
        (),
        (),
    )
    lanes = table(program, 3, q=list(np.linspace(0.1, 1.0, 60)))
    ours, _ = run(kernel, program, lanes)
    angle = 200 * H * np.sqrt(np.where(np.arange(60) % 2, 0.5, 1.0))
    np.testing.assert_allclose(ours[:60, 1], lanes[:60, 1] * np.cos(angle), atol=1e-11)


OPERATIONS = {
    "algebra": lambda x, y: (x + y, x - y, y - x, x * y, x / y, -x, -x - y, (-x) * y + 1.0, x / 2.0, 3.0 - x),
    "functions": lambda x, y: (lax.sqrt(lax.abs(x)), lax.exp(x), lax.log(lax.abs(y)), lax.tanh(x), lax.atan2(x, y)),
    "powers": lambda x, y: (x**3, x**-2, lax.square(y), lax.rsqrt(lax.abs(y)), lax.pow(lax.abs(x), y), x**0 + y),
    "tan": lambda x, y: (lax.tan(x), lax.sin(-x), lax.cos(-y)),
    "order": lambda x, y: (lax.max(x, y), lax.min(x, y), lax.max(x, 0.5 + 0 * y), lax.sign(x), jnp.clip(x, -1.0, 1.0)),
    "choice": lambda x, y: (
        lax.select(lax.lt(x, y), x, y),
        lax.select(lax.bitwise_or(lax.ge(x, y), lax.eq(x, x * 1.0)), x, -y),
        lax.select(lax.bitwise_and(lax.le(x, y), lax.bitwise_not(lax.gt(y, 1.0))), x, y),
        lax.convert_element_type(lax.ne(x, y), x.dtype),
    ),
    "inlined": lambda x, y: (jnp.where(x > y, x, y), jax.jit(lambda a: a * y)(x), jax.nn.relu(x), jnp.hypot(x, y)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation(kernel, name):
    """Each primitive on ordinary numbers, zeros and NaN, against JAX one operation at a time."""
    n = Layout(nq=2, nx=0, np=0, nm=0, nr=0, na=0, nc=12, ns=0)
    function = OPERATIONS[name]
    x = np.array([0.3, -2.0, 1.5, 0.0, np.nan, 2.5, -0.7, 4.0])
    y = np.array([1.3, -0.4, 1.5, 1.0, 2.0, np.nan, 3.0, -2.0])
    expected = [np.asarray(v) for v in jax.vmap(function)(x, y)]
    outputs = tuple(n.slots("chan"))[: len(expected)]
    program = LaneProgram(
        n, METHODS["rk4"], piece("no drift", lambda: (), (), ()), (), (), (piece(name, function, (0, 1), outputs),), ()
    )
    lanes = table(program, 8, q=[x, y])
    ours = kernel.evaluate(program, "observe", lanes, 0.0, H)
    assert ours is not None
    for k, values in enumerate(expected):
        np.testing.assert_allclose(ours[k], values, rtol=1e-14, atol=1e-15, err_msg=f"{name}[{k}]")


def test_common_subexpressions_and_dead_code():
    """Equal products up to order and sign are one, unused code vanishes."""

    def function(x, y):
        lax.exp(x)
        return x * y + (-y) * x * 2.0, lax.sin(x) * lax.sin(-x), (x * y) * 1.0 + 0.0

    graph = piece("cse", function, (0, 1), (2, 3, 4)).graph
    operations = [node[0] for node in graph.nodes if node[0] not in ("in", "const")]
    assert sorted(operations) == ["add", "mul", "mul", "mul", "sin"]


REFUSED = {
    "cumsum": (lambda x: (jnp.cumsum(jnp.stack([x, x]))[1],), NotImplementedError, "primitive"),
    "erf": (lambda x: (lax.erf(x),), NotImplementedError, "'erf' is not part of the scalar language"),
    "truth": (lambda x: (x > 0,), TypeError, "boolean"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_scalar_code_is_refused(name):
    function, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        _ = piece(f"refused {name}", function, (0,), (1,)).graph


def test_single_precision_code_in_a_double_kernel_is_refused(kernel):
    program = pendulum(precision="f32")
    for machine in (kernel, xla.XlaKernel("f64")):
        with pytest.raises(TypeError, match="traced in float32"):
            machine.evaluate(program, "project", pendulums(program, 2), 0.0, 1e-3)


def test_wrong_arrays_are_refused(kernel):
    program = pendulum()
    lanes = pendulums(program, 4)
    with pytest.raises(ValueError, match="a table is C-contiguous float64 of 13 rows"):
        advance(kernel, [(program, lanes[:-1], np.arange(4))], 1, H)
    with pytest.raises(ValueError, match="member has one entry a lane"):
        advance(kernel, [(program, lanes, np.arange(3))], 1, H)
    with pytest.raises(ValueError, match="member 3 has no row in out"):
        advance(kernel, [(program, lanes, np.arange(4))], 1, H, 0.0, 1, np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match=r"out is C-contiguous float64 \(members, ticks, 2\)"):
        advance(kernel, [(program, lanes, np.arange(4))], 1, H, 0.0, 1, np.zeros((4, 2, 3)))
    with pytest.raises(ValueError, match="does not fit float32: restart it"):
        single = pendulum(precision="f32")
        far = [(single, pendulums(single, 4, "f32"), np.arange(4))]
        advance(cpu.CpuKernel("f32", cache=False), far, 2**24, H)
