"""The kernel for GPUs without one: its PTX run on the host has the bits of `cpu`, whole runs included."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shiftjax import Result, simulate
from shiftjax.errors import ModelError
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Group
from shiftjax.kernels.gpu import devices, lane_pieces, places
from shiftjax.kernels.gpu.devices import FIRST, FULL, LaunchPace
from shiftjax.kernels.gpu.kernel import GpuKernel
from shiftjax.kernels.gpu.lane_loop import lane_module, program_places
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.gpu.target import gpu
from shiftjax.kernels.llvm.cpu import CpuKernel
from shiftjax.kernels.llvm.slices import GROWTH, SLICE
from shiftjax.mechanism.model import Model
from tests.mechanics.forces import test_bearings as bearings
from tests.support.gpus import Gpu
from tests.support.models.sample_programs import BOGACKI, masses, orbit, particle, pendulum, table, wheel

NAME = "PTX on the host"
H = 1e-2  # s
WAYS = {
    "registers": Tuning(sharing=10**9, lockstep=False),
    "shared memory, blocks of 32": Tuning(block=32, sharing=0),
    "functions": Tuning(inlined=0),
    "functions and shared memory": Tuning(inlined=0, sharing=0, registers=128),
}


@pytest.fixture(scope="module")
def backend() -> Iterator[str]:
    """A backend whose kernels all run on one device."""
    device = Gpu()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, NAME, lambda precision, threads: GpuKernel(precision, threads, device))
        yield NAME


def odd(table_: np.ndarray, layout: Any) -> np.ndarray:
    """Lanes that trip, that stand still, whose coordinates are huge, that are not numbers, that have ended before."""
    lanes, row = table_.copy(), {name: layout.rows(name).start for name in layout.columns()}
    lanes[row["q"], 0] += 1e5
    lanes[row["limit"], 1] = 0.7
    lanes[row["q"], 2], lanes[row["armed"], 2], lanes[row["q"], 3] = np.nan, 0.0, np.inf
    lanes[row["fraction"], 4:7] = 0.375, 0.0, -1.0
    lanes[row["trip"], 7], lanes[row["armed"], 8], lanes[row["clock"], 9] = 1.0, 0.0, 297.5
    return lanes


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal bits; a NaN is a NaN, whose sign and payload no GPU keeps."""
    kind = f"u{one.dtype.itemsize}"
    return bool(((one.view(kind) == other.view(kind)) | (np.isnan(one) & np.isnan(other))).all())


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("way", WAYS)
def test_lanes_have_the_bits_of_the_processor(way: str, precision: str) -> None:
    """Orbits and odd lanes, with events, wherever their numbers live; recorded, in several launches. [F24]"""
    program = orbit(events=True, precision=precision)
    speeds = np.linspace(0.7, 1.0, 12)
    begun = odd(table(program, 12, precision, q=[1.0, 0.0], x=[0.0, speeds, 0.0], p=[0.0, 1e-6]), program.layout)
    seen = []
    for kernel in (CpuKernel(precision, 1), GpuKernel(precision, 1, Gpu(), WAYS[way])):
        lanes, out = begun.copy(), np.full((12, 31, 3), np.nan, begun.dtype)
        kernel.evaluate(program, "events", lanes, 0.0, H)
        kernel.advance([Group(program, lanes, np.full(12, 300.0), out, np.arange(12))], h=H, every=10)
        seen.append((lanes, out))
    assert all(same_bits(*pair) for pair in zip(*seen, strict=True))
    trips = seen[0][0][program.layout.rows("trip").start]
    assert len({*trips.tolist()}) >= 4, "monitors, events and numbers that are not finite tripped some"


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_steps_that_follow_their_error_have_the_bits_of_the_processor(precision: str) -> None:
    """Accepted and rejected steps, each recorded; the power of their error is our own. [F24]"""
    program = orbit(BOGACKI, precision=precision)
    tolerances = np.array([1e-3, 1e-4, 1e-5, 0.0, 1e-3])
    rows: dict[str, Any] = {"q": [1.0, 0.0], "x": [0.0, np.linspace(0.7, 0.9, 5), 0.0], "p": [0.0, tolerances]}
    begun = table(program, 5, precision, fraction=np.array([30.0, 1e4, 1.0, 1.0, np.nan]), **rows)
    seen = []
    for kernel in (CpuKernel(precision, 1), GpuKernel(precision, 1, Gpu())):
        lanes, out = begun.copy(), np.full((5, 12, 3), np.nan, begun.dtype)
        for phase in ("project", "events"):
            kernel.evaluate(program, phase, lanes, 0.0, H)
        kernel.advance([Group(program, lanes, np.full(5, 150.0), out, np.arange(5))], h=H, every=1)
        seen.append((lanes, out))
    assert all(same_bits(*pair) for pair in zip(*seen, strict=True))
    assert np.isfinite(seen[0][1][2]).all() and not np.isfinite(seen[0][1][0]).all(), "one fills its room, one ends"


def test_pieces_of_many_runs_are_loops_with_the_same_bits() -> None:
    """A linearly implicit method whose system is solved by operations over a table of slots."""
    program = masses(16, "rosenbrock")
    text = lane_module(program, gpu("f64", "sm_90"), Tuning()).text
    assert text.count("_loop(ptr %ws, ptr %tmp)") >= 1
    begun = table(program, 2, q=[0.1] * 16, x=[0.0] * 16, p=[np.array([100.0, 1e5]), np.array([0.1, 10.0])])
    seen = []
    for kernel in (CpuKernel("f64", 1), GpuKernel("f64", 1, Gpu())):
        lanes = begun.copy()
        kernel.advance([Group(program, lanes, np.full(2, 5.0), None, np.full(2, -1))], h=H)
        seen.append(lanes)
    assert same_bits(*seen) and (seen[0] != begun).any()


PROGRAMS = {  # sines of angles beyond what the fast reduction serves; rates that take arithmetic; laws in time, scratch
    "pendulum": lambda: (pendulum(), {"q": [np.array([0.5, 1e10, 1e300, -(2.0**31)])], "p": [9.81, 1.0]}),
    "pendulum, f32": lambda: (
        pendulum(precision="f32"),
        {"q": [np.array([0.5, 2.0**18, 1e30, -1e6])], "p": [9.81, 1.0]},
    ),
    "wheel": lambda: (wheel(), {"q": [1.0, 0.0], "x": [np.array([0.1, 1.0, 9.0, -3.0])], "p": [0.3]}),
    "particle": lambda: (particle(), {"q": [1.0], "x": [0.0, 0.0], "p": [1.0, 4.0, np.linspace(0, 2, 4), 7.0]}),
}


@pytest.mark.parametrize("way", ["registers", "functions"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_other_shapes_have_the_bits_of_the_processor(name: str, way: str) -> None:
    program, rows = PROGRAMS[name]()
    precision = "f32" if "f32" in name else "f64"
    begun, seen = table(program, 4, precision, **rows), []
    for kernel in (CpuKernel(precision, 1), GpuKernel(precision, 1, Gpu(), WAYS[way])):
        lanes = begun.copy()
        kernel.advance([Group(program, lanes, np.full(4, 40.0), None, np.full(4, -1))], h=H, t0=0.25)
        seen.append(lanes)
    assert same_bits(*seen) and (seen[0] != begun).any()


def test_groups_are_checked_before_any_is_stepped_and_may_be_empty() -> None:
    program = orbit()
    kernel = GpuKernel("f64", 1, Gpu())
    begun = table(program, 2, q=[1.0, 0.0], x=[0.0, 0.9, 0.0], p=[0.0, 1e-6])
    lanes, none = begun.copy(), np.zeros((program.layout.row_count, 0))
    groups = [Group(program, lanes, np.full(2, 3.0), None, np.full(2, -1))]
    with pytest.raises(ValueError, match="C-contiguous"):
        kernel.advance([*groups, Group(program, lanes[:-1], np.full(2, 3.0), None, np.full(2, -1))], h=H)
    assert lanes.tobytes() == begun.tobytes()
    kernel.advance([*groups, Group(program, none, np.zeros(0), None, np.zeros(0, int))], h=H)
    assert (lanes[program.layout.rows("clock").start] == 3).all()


def test_lanes_that_do_not_fit_go_one_portion_after_the_other() -> None:
    """The same bits; what is recorded goes to its rows, others are left alone; a device too small says so."""
    program, count = orbit(), 7
    begun = table(program, count, q=[1.0, 0.0], x=[0.0, np.linspace(0.7, 1.0, count), 0.0], p=[0.0, 1e-6])
    rows, seen = np.array([3, -1, 0, 2, -1, 1, 4]), []
    for size in (1 << 40, 3 * 8 * (len(begun) + 11 * 3 + 3)):
        device = Gpu()
        device.size = size
        lanes, out = begun.copy(), np.full((6, 11, 3), np.nan)
        GpuKernel("f64", 1, device).advance([Group(program, lanes, np.full(count, 100.0), out, rows)], h=H, every=10)
        seen.append((lanes.tobytes(), out.tobytes()))
        assert not device.memory
    assert seen[0] == seen[1] and device.launches > 4, "three portions, each of two launches at least"
    device.size = 100
    with pytest.raises(ModelError, match="a member of"):
        GpuKernel("f64", 1, device).advance([Group(program, lanes, np.full(count, 200.0), out, rows)], h=H, every=10)


def test_shared_memory_and_constant_memory_end_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond is a register, or part of an instruction; the bits are the same."""
    program = orbit()
    monkeypatch.setattr(places, "SHARED", 5 * 32 * 8)
    monkeypatch.setattr(lane_pieces, "BANK", 3 * 8)
    kernel = GpuKernel("f64", 1, Gpu(), Tuning(block=32, sharing=0))
    assert len(program_places(program, kernel.target, kernel.tuning).shared) == 5
    begun = table(program, 2, q=[1.0, 0.0], x=[0.0, np.array([0.7, 0.9]), 0.0], p=[0.0, 1e-6])
    seen = []
    for one in (CpuKernel("f64", 1), kernel):
        lanes = begun.copy()
        one.advance([Group(program, lanes, np.full(2, 50.0), None, np.full(2, -1))], h=H)
        seen.append(lanes)
    assert same_bits(*seen)


def test_a_launch_that_is_too_short_goes_on_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    program = orbit()
    begun = table(program, 3, q=[1.0, 0.0], x=[0.0, np.array([0.7, 0.8, 0.9]), 0.0], p=[0.0, 1e-6])
    seen, launches = [], []
    for steps in (10_000, 7):
        device = Gpu()
        kernel, lanes = GpuKernel("f64", 1, device), begun.copy()
        pace = kernel.prepare(program).pace
        monkeypatch.setattr(pace, "steps", lambda _, steps=steps: steps)
        kernel.advance([Group(program, lanes, np.array([100.0, 20.0, 3.0]), None, np.full(3, -1))], h=H)
        seen.append(lanes.tobytes())
        launches.append(device.launches)
    assert seen[0] == seen[1] and launches == [1, 15]


def test_an_interrupt_leaves_every_lane_at_a_step() -> None:
    """Between two launches the table comes back; from there the run goes on to the same end."""
    program = orbit()
    begun = table(program, 2, q=[1.0, 0.0], x=[0.0, np.array([0.7, 0.9]), 0.0], p=[0.0, 1e-6])

    class Interrupted(Gpu):
        def wait(self) -> None:
            if self.launches == 2:
                signal.raise_signal(signal.SIGINT)

    lanes, whole = begun.copy(), begun.copy()
    until, rows = np.full(2, 2000.0), np.full(2, -1)
    with pytest.raises(KeyboardInterrupt):
        GpuKernel("f64", 1, Interrupted()).advance([Group(program, lanes, until, None, rows)], h=H)
    clock = lanes[program.layout.rows("clock").start]
    assert (clock > 0).all() and (clock < 2000).all()
    for one in (lanes, whole):
        GpuKernel("f64", 1, Gpu()).advance([Group(program, one, until, None, rows)], h=H)
    assert lanes.tobytes() == whole.tobytes()


def test_many_lanes_are_divided_over_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, whatever device has a lane; few lanes stay on the first, and open no other."""
    monkeypatch.setattr(devices, "FULL", 4)
    program, count = orbit(), 14
    begun = table(program, count, q=[1.0, 0.0], x=[0.0, np.linspace(0.7, 1.0, count), 0.0], p=[0.0, 1e-6])
    together = threading.Barrier(3, timeout=60.0)

    class Waiting(Gpu):
        alone = 0  # launches before

        def wait(self) -> None:
            if opened and self.launches == self.alone + 1:  # none takes the portions of another one
                together.wait()

    rows, opened = np.roll(np.arange(count), 3), []
    first, *others = Waiting(), Waiting(), Waiting()
    held = Gpu()
    held.size = 10  # another process has its memory
    kernel = GpuKernel("f64", 1, first, others=lambda device: opened.append(device) or [held, *others])
    few = begun[:, :7].copy()
    kernel.advance([Group(program, few, np.full(7, 100.0), None, np.full(7, -1))], h=H)
    assert not opened and first.launches and kernel.devices_used == 1
    for device in (first, *others):
        device.alone = device.launches
    seen = []
    for one in (kernel, CpuKernel("f64", 1)):
        lanes, out = begun.copy(), np.full((count, 11, 3), np.nan)
        groups = [(slice(0, 5), rows[:5]), (slice(5, count), rows[5:])]
        tables = [np.ascontiguousarray(lanes[:, some]) for some, _ in groups]
        one.advance(
            [Group(program, part, np.full(part.shape[1], 100.0), out, where)
             for part, (_, where) in zip(tables, groups, strict=True)], h=H, every=10,
        )  # fmt: skip
        seen.append((np.concatenate(tables, axis=1), out))
    assert all(same_bits(*pair) for pair in zip(*seen, strict=True)) and np.isfinite(seen[0][1][:, 1:]).all()
    assert not held.launches and opened == [first]
    assert all(device.launches and not device.memory for device in (first, *others))
    assert kernel.launched_s > 0.0 and kernel.devices_used == 3


def test_an_interrupt_ends_the_work_of_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane stands at a step that it has reached, and goes on from there to the same end."""
    monkeypatch.setattr(devices, "FULL", 2)
    program = orbit()
    begun = table(program, 4, q=[1.0, 0.0], x=[0.0, np.linspace(0.7, 1.0, 4), 0.0], p=[0.0, 1e-6])

    class Interrupted(Gpu):
        def wait(self) -> None:
            if self.launches == 2:
                signal.raise_signal(signal.SIGINT)

    lanes, whole, until, rows = begun.copy(), begun.copy(), np.full(4, 1e5), np.full(4, -1)
    kernel = GpuKernel("f64", 1, Interrupted(), others=lambda _: [Gpu()])
    with pytest.raises(KeyboardInterrupt):
        kernel.advance([Group(program, lanes, until, None, rows)], h=H)
    clock = lanes[program.layout.rows("clock").start]
    assert (clock < 1e5).any()
    for one in (lanes, whole):
        CpuKernel("f64", 1).advance([Group(program, one, until, None, rows)], h=H)
    assert lanes.tobytes() == whole.tobytes()


def test_an_interrupt_on_the_way_back_loses_no_tick() -> None:
    """It comes while the table is copied: lanes are where they were, and record the same again."""

    class Interrupted(Gpu):
        armed = True

        def download(self, address: int, array: np.ndarray) -> None:
            if self.armed and array.ndim == 2:
                self.armed = False
                signal.raise_signal(signal.SIGINT)
            super().download(address, array)

    program, device = orbit(), Interrupted()
    begun = table(program, 2, q=[1.0, 0.0], x=[0.0, np.array([0.7, 0.9]), 0.0], p=[0.0, 1e-6])
    lanes, out, whole = begun.copy(), np.full((2, 4, 3), np.nan), np.full((2, 4, 3), np.nan)
    kernel, until, rows = GpuKernel("f64", 1, device), np.full(2, 30.0), np.arange(2)
    with pytest.raises(KeyboardInterrupt):
        kernel.advance([Group(program, lanes, until, out, rows)], h=H, every=10)
    assert lanes.tobytes() == begun.tobytes() and not device.memory
    kernel.advance([Group(program, lanes, until, out, rows)], h=H, every=10)
    GpuKernel("f64", 1, Gpu()).advance([Group(program, begun, until, whole, rows)], h=H, every=10)
    assert lanes.tobytes() == begun.tobytes() and out.tobytes() == whole.tobytes()


def test_launches_are_as_long_as_a_slice() -> None:
    """Of steps that some lane did not end with; of those that all ended, only that they were slow."""
    pace = LaunchPace()
    assert pace.steps(10) == FIRST
    pace.took(FULL, 64, 1e-3, all_done=True)
    assert pace.steps(10) == FIRST
    pace.took(FULL, 64, 0.64e-3, all_done=False)
    assert pace.steps(1) == pace.steps(FULL) == pytest.approx(SLICE / 1e-5, abs=1)
    assert pace.steps(4 * FULL) == pytest.approx(SLICE / 4e-5, abs=1)
    pace.took(FULL, 64, 640.0, all_done=True)
    assert pace.steps(FULL) == 1
    pace.took(FULL, 64, 1e-9, all_done=False)
    assert pace.one == pytest.approx(10.0 / FULL / GROWTH), "of lanes that had mostly ended"


def test_all_memory_is_given_back() -> None:
    program, device = orbit(), Gpu()
    lanes = table(program, 2, q=[1.0, 0.0], x=[0.0, 0.9, 0.0], p=[0.0, 1e-6])
    out = np.zeros((2, 3, 3))
    GpuKernel("f64", 1, device).advance([Group(program, lanes, np.full(2, 2.0), out, np.arange(2))], h=H, every=1)
    assert not device.memory


def whole(model: str | Model, backend: str, **options: Any) -> Result:
    return simulate(model, backend=backend, threads=1, **options)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("slider_crank", {"span": 0.2, "step": 2e-3, "precision": "f32"}),
        ("double_pendulum", {"span": 0.3, "tolerance": 1e-8}),
        (bearings.cranks(), {"span": 0.02, "step": 1e-3, "channels": ["on_guide.friction"]}),
        ("bricard", {"span": 1.5, "step": 5e-3, "vary": {"bricard:joint1.initial_velocity": np.array([3.0, 9.0])}}),
    ],
    ids=["slider_crank", "double_pendulum", "bearings", "bricard"],
)
def test_whole_runs_have_the_bits_of_the_processor(backend: str, model: str | Model, options: dict[str, Any]) -> None:
    """Starts, repartitions in several programs, channels, certificates. [F24]"""
    ours, wanted = (whole(model, name, **options) for name in (backend, "cpu"))
    assert ours.status.tolist() == wanted.status.tolist()
    assert all(same_bits(ours.channels[name], wanted.channels[name]) for name in wanted.channels)
    for key, values in wanted.certificate.items():
        assert np.asarray(ours.certificate[key]).tobytes() == np.asarray(values).tobytes(), key
    if model == "bricard":
        assert len(wanted.log) > 2 and wanted.programs > 1, "the runs change their coordinates"
        again = whole(model, backend, schedule=wanted.schedule, **options)
        assert all(same_bits(again.channels[name], wanted.channels[name]) for name in wanted.channels)


def test_a_spoilt_instruction_is_seen() -> None:
    """The comparison of bits would notice one wrong operation."""

    class Spoilt(Gpu):
        def load(self, identity: str, ptx: Any, name: str, shared: int) -> Any:
            parts = ptx().split("mul.rn.f64")
            middle = len(parts) // 2
            text = "mul.rn.f64".join(parts[:middle]) + "add.rn.f64" + "mul.rn.f64".join(parts[middle:])
            return super().load(identity, lambda: text, name, shared)

    program = orbit(events=False)
    ends = []
    for device in (Gpu(), Spoilt()):
        lanes = table(program, 2, q=[1.0, 0.0], x=[0.0, 0.9, 0.0], p=[0.0, 1e-6])
        GpuKernel("f64", 1, device).advance([Group(program, lanes, np.full(2, 5.0), None, np.full(2, -1))], h=H)
        ends.append(lanes.tobytes())
    assert ends[0] != ends[1]


def test_a_machine_without_a_gpu_says_so() -> None:
    try:
        result = whole("pendulum", "gpu", span=0.01, step=1e-3)
    except ModelError as error:
        assert "no GPU that can be used" in str(error) and "'.[cuda]'" in str(error)
    else:
        assert result.status == 0
