"""Tables that stay on a device: what the host reads of them and sets in them, and how many bytes are moved for it."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from shiftjax import simulate
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Group, evaluated, placed
from shiftjax.kernels.gpu import device_table
from shiftjax.kernels.gpu import kernel as gpu_kernel
from shiftjax.kernels.gpu.device_table import DeviceColumns, DeviceTable
from shiftjax.kernels.gpu.kernel import GpuKernel
from shiftjax.kernels.gpu.moves import Moves
from shiftjax.kernels.lane_program import WRITES, Layout
from shiftjax.kernels.lane_table import ALL, LaneTable
from shiftjax.kernels.llvm.cpu import CpuKernel
from shiftjax.kernels.workers import in_portions
from tests.support.gpus import Gpu
from tests.support.models.sample_programs import orbit, table

H = 1e-2  # s
LAYOUT = Layout(nq=2, nx=3, np=1, nm=4, nr=1, na=5, nc=0, ns=0)
EACH = 100.0  # B of a lane in a call of the kernel, up and down: clocks, trips, stops, and the samples of its accuracy


class Counting(Gpu):
    """Counts the bytes that are moved."""

    up = down = beside = 0

    def load(self, identity: str, ptx: Callable[[], str], name: str, shared: int) -> Any:
        self.beside += threading.current_thread() is not threading.main_thread()
        return super().load(identity, ptx, name, shared)

    def upload(self, array: np.ndarray, address: int) -> None:
        self.up += array.nbytes
        super().upload(array, address)

    def download(self, address: int, array: np.ndarray) -> None:
        self.down += array.nbytes
        super().download(address, array)


class CountingKernel(GpuKernel):
    """Counts the lanes of all its calls."""

    lanes = trips = 0

    def advance(self, groups: Sequence[Group], **numbers: Any) -> None:
        self.lanes += sum(len(group.rows) for group in groups)
        super().advance(groups, **numbers)


class Travelling(CountingKernel):
    """Whose tables go and come with every call."""

    def resident(self, table: LaneTable) -> LaneTable:
        return table


def moved(kind: type[CountingKernel], **options: Any) -> tuple[float, float, Any, Counting]:
    """Bytes up and down for a lane in a call of the kernel, in a run; its result; and its device."""
    device, kernels = Counting(), list[CountingKernel]()

    def made(precision: str, threads: int | None) -> CountingKernel:
        kernels.append(kind(precision, threads, device))
        return kernels[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BACKENDS, "counting", made)
        result = simulate(backend="counting", threads=1, **options)
    calls = sum(kernel.lanes for kernel in kernels)
    assert len(device.memory) <= 6, "no table is left, but room for lists and parts, and for what is searched"
    return device.up / calls, device.down / calls, result, device


@pytest.mark.parametrize("few", [device_table.FEW, 0])
def test_a_run_without_trips_moves_little(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many calls of the kernel: the host asks for clocks and trips, and for what samples of accuracy look at. [F24]"""
    monkeypatch.setattr(device_table, "FEW", few)
    options = {"model": "four_bar", "span": 3.0, "step": 1e-3, "accuracy": "local"}
    options |= {"vary": {"four_bar:coupler.mass": np.linspace(0.8, 1.2, 32)}}
    up, down, ours, _ = moved(CountingKernel, **options)
    assert up < EACH and down < EACH, (up, down)
    up, down, *_ = moved(Travelling, **options)
    assert up > 3 * EACH and down > 3 * EACH, "the whole table, which is what is counted"
    wanted = simulate(backend="cpu", threads=1, **options)
    for key, values in wanted.certificate.items():
        assert np.asarray(ours.certificate[key]).tobytes() == np.asarray(values).tobytes(), key


def test_trips_bring_those_lanes_alone() -> None:
    """Of many lanes a few change their coordinates at a time: the table is not brought for them."""
    speeds = np.append(np.full(30, 0.05), [8.0, 9.0])
    options = {"model": "bricard", "span": 1.0, "step": 5e-3, "accuracy": "local"}
    options |= {"vary": {"bricard:joint1.initial_velocity": speeds}}
    up, down, ours, device = moved(CountingKernel, **options)
    assert len(ours.log) > 30
    assert device.beside >= len({tuple(line["new"]) for line in ours.log}), "partitions are assembled in threads"
    assert up < 3 * EACH and down < 2.5 * EACH, (up, down)  # 400 and 384 where the table travels


def numbered(lanes: int, dtype: str, device: Gpu | None) -> LaneTable:
    """Every number another one; on a device if there is one."""
    count = LAYOUT.row_count * lanes
    array = np.arange(count, dtype=dtype).reshape(LAYOUT.row_count, lanes)
    return LaneTable(LAYOUT, array) if device is None else DeviceTable(LAYOUT, array, Moves(device, np.dtype(dtype)))


def stepped(both: Sequence[LaneTable], random: np.random.Generator) -> None:
    """What a kernel does: some groups change, on the device of the one, in the array of the other."""
    names = random.permutation([*LAYOUT.columns()])[:4].tolist()
    for one in both:
        if isinstance(one, DeviceTable):
            address, bytes_ = one.on_device(), one.shown.nbytes
            one.stepped(names)
            numbers = np.empty_like(one.shown)
            one.moves.device.download(address, numbers)
        else:
            numbers, address, bytes_ = one.array, 0, 0
        for name in names:
            rows = [*LAYOUT.rows(name)]
            numbers[rows] = numbers[rows] * 0.5 + 3.0
        if isinstance(one, DeviceTable):
            assert bytes_ == numbers.nbytes
            one.moves.device.upload(numbers, address)


def read_in_portions(table: LaneTable, name: str) -> np.ndarray:
    """A group of rows, by several threads."""
    with table.reading_all():
        return np.concatenate(in_portions(lambda portion: table.rows(name, portion), table.lanes, 10, 4), axis=1)


def some(random: np.random.Generator, lanes: int) -> Any:
    """Numbers of members, few or many, in any order; a mask, all of them, none."""
    count = int(random.integers(0, lanes + 1))
    chosen = random.permutation(lanes)[:count]
    return [chosen, np.sort(chosen), np.isin(np.arange(lanes), chosen), ALL, np.arange(lanes)][random.integers(5)]


@pytest.mark.parametrize(("dtype", "few"), [("float64", 0), ("float32", device_table.FEW)])
def test_a_table_on_a_device_is_one_on_the_host(dtype: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any of its operations in any order each number is the same. [F24]"""
    monkeypatch.setattr(device_table, "FEW", few)
    random, device = np.random.default_rng(7), Gpu()
    names = [name for name in LAYOUT.columns() if len(LAYOUT.rows(name))]
    both = [numbered(37, dtype, None), numbered(37, dtype, device)]
    for _ in range(250):
        members, name = some(random, 37), names[random.integers(len(names))]
        count, size = len(np.arange(37)[members]), len(LAYOUT.rows(name))
        within: Any = [ALL, int(random.integers(size)), slice(0, 1), slice(0, None, 2)][random.integers(4)]
        shape = np.arange(size)[within].shape
        shapes: list[tuple[int, ...]] = [(), (*shape, count), (*shape, 1)]
        values = random.normal(size=shapes[random.integers(3)])
        what = int(random.integers(8))
        if what == 0:
            stepped(both, random)
        elif what == 1:
            ours, wanted = (one.rows(name, members, within) for one in both)
            assert np.array_equal(ours, wanted)
            ours, wanted = (one.state(members) for one in both)
            assert np.array_equal(ours, wanted)
        elif what in (2, 3):
            for one in both:
                (one.set if what == 2 else one.add)(name, values, members, within)
        elif what == 4:
            parts = [one.take(members) for one in both]
            stepped(parts, random)
            for part in parts:
                part.set(name, 1.5)
            for one, part in zip(both, parts, strict=True):
                one.put(members, part)
        elif what == 5:
            parts = [one.batch(np.arange(37)[members]) for one in both]
            for one, part in zip(both, parts, strict=True):
                part.changing([name])[[*LAYOUT.rows(name)]] += 1.0
                one.put(np.arange(37)[members], part, [name])
        elif what == 6:
            ours, wanted = (read_in_portions(one, name) for one in both)
            assert np.array_equal(ours, wanted)
        else:
            both = [one.copy() for one in both]
    assert isinstance(both[1], DeviceTable)
    assert both[1].on_host().array.tobytes() == both[0].array.tobytes() == both[1].array.tobytes()


def test_memory_is_given_back_with_the_table() -> None:
    device = Gpu()
    lanes = numbered(5, "float64", device)
    lanes.set("q", 1.0, np.array([3]))
    assert isinstance(lanes, DeviceTable) and lanes.on_device() in device.memory
    part = lanes.take(np.array([1]))
    assert len(device.memory) > 1
    del lanes, part
    gc.collect()
    assert not device.memory


def advanced(device: Gpu, until: float, place: bool = True) -> tuple[LaneTable, np.ndarray]:
    """Orbits some steps further, recorded, in a table that may stay on a device."""
    program, kernel = orbit(events=False), GpuKernel("f64", 1, device)
    begun = table(program, 6, q=[1.0, 0.0], x=[0.0, np.linspace(0.7, 1.0, 6), 0.0], p=[0.0, 1e-6])
    lanes, out = LaneTable(program.layout, begun), np.full((6, 31, 3), np.nan)
    lanes = placed(kernel, lanes) if place else lanes
    while not (lanes.row("clock") >= until).all():
        stops = np.minimum(lanes.row("clock") + 70.0, until)
        kernel.advance([Group(program, lanes.shown, stops, out, np.arange(6), lanes.resident)], h=H, every=10)
    return lanes, out


def test_ticks_come_back_when_they_are_recorded() -> None:
    """Each call moves those of its span; all calls together have them all."""
    wanted, ticks = advanced(Gpu(), 300.0, place=False)
    device = Counting()
    lanes, out = advanced(device, 300.0)
    assert lanes.resident is not None and out.tobytes() == ticks.tobytes() and np.isfinite(out[:, 1:]).all()
    assert lanes.on_host().array.tobytes() == wanted.array.tobytes()
    assert device.down < 2 * (out.nbytes + wanted.array.nbytes), "five calls"


def test_what_does_not_fit_beside_a_table_goes_portion_by_portion() -> None:
    """Less free memory than a table asks for at once, or than what is recorded beside it: the bits are the same."""
    wanted, ticks = advanced(Gpu(), 300.0)
    small, crowded = Counting(), Counting()
    small.size = 6 * wanted.array.nbytes
    assert advanced(small, 300.0)[0].resident is None
    program, kernel = orbit(events=False), GpuKernel("f64", 1, crowded)
    begun = table(program, 6, q=[1.0, 0.0], x=[0.0, np.linspace(0.7, 1.0, 6), 0.0], p=[0.0, 1e-6])
    lanes, out = placed(kernel, LaneTable(program.layout, begun)), np.full((6, 31, 3), np.nan)
    assert lanes.resident is not None
    crowded.size = begun.nbytes + 1000
    group = Group(program, lanes.shown, np.full(6, 300.0), out, np.arange(6), lanes.resident)
    kernel.advance([group], h=H, every=10)
    assert lanes.array.tobytes() == wanted.array.tobytes() and out.tobytes() == ticks.tobytes()


def test_copies_that_do_not_fit_are_made_on_the_host() -> None:
    """A device with no room left: what is taken, and where it is put, is as everywhere."""
    device = Gpu()
    lanes, wanted = numbered(8, "float64", device), numbered(8, "float64", None)
    other = numbered(8, "float64", device)
    assert isinstance(lanes, DeviceTable) and isinstance(other, DeviceTable)
    lanes.on_device()
    lanes.stepped(["q", "acc"])  # changed there alone, to what it was

    def full(size: int) -> int:
        raise MemoryError

    device.allocate = full
    part = lanes.take(np.array([5, 2]))
    assert part.resident is None and part.array.tobytes() == wanted.take(np.array([5, 2])).array.tobytes()
    lanes.stepped(["q", "acc"])
    other.set("q", 0.0)
    other.put(np.arange(8), lanes)
    assert other.array.tobytes() == wanted.array.tobytes()


def test_an_interrupt_leaves_lanes_on_the_device_at_a_step() -> None:
    """With all that they have recorded on the way; they go on from there."""

    class Interrupted(Gpu):
        def wait(self) -> None:
            if self.launches == 1:
                signal.raise_signal(signal.SIGINT)

    wanted, ticks = advanced(Gpu(), 300.0)
    program, kernel = orbit(events=False), GpuKernel("f64", 1, Interrupted())
    begun = table(program, 6, q=[1.0, 0.0], x=[0.0, np.linspace(0.7, 1.0, 6), 0.0], p=[0.0, 1e-6])
    lanes, out = placed(kernel, LaneTable(program.layout, begun)), np.full((6, 31, 3), np.nan)
    group = Group(program, lanes.shown, np.full(6, 300.0), out, np.arange(6), lanes.resident)
    with pytest.raises(KeyboardInterrupt):
        kernel.advance([group], h=H, every=10)
    clock = lanes.row("clock").copy()
    assert (clock > 0).all() and (clock < 300).all()
    for k in range(6):
        assert (
            np.isfinite(out[k, 1 : int(clock[k]) // 10 + 1]).all() and np.isnan(out[k, int(clock[k]) // 10 + 1 :]).all()
        )
    kernel.advance([group], h=H, every=10)
    assert lanes.array.tobytes() == wanted.array.tobytes() and out.tobytes() == ticks.tobytes()


def test_other_kernels_leave_tables_on_the_host() -> None:
    lanes = numbered(3, "float64", None)
    assert placed(CpuKernel("f64", 1), lanes) is lanes


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_single_phases_run_where_the_table_is(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table on a device no number travels but what a phase gives beside it; bits as on the host. [F24]"""
    monkeypatch.setattr(gpu_kernel, "THERE", 5)
    program, device = orbit(events=True, precision=precision), Counting()
    host, kernel = CpuKernel(precision, 1), GpuKernel(precision, 1, device)
    speeds = np.array([0.7, 0.8, np.nan, np.inf, -0.0, 1e3])
    wanted = table(program, 6, precision, q=[1.0, 0.0], x=[0.0, speeds, 0.0], p=[0.0, 1e-6])
    wanted[program.layout.rows("clock")[0]] = np.arange(6)
    lanes = placed(kernel, LaneTable(program.layout, wanted.copy()))
    assert isinstance(lanes, DeviceTable)
    lanes.on_device()
    phases = [phase for phase in WRITES if any(piece.outputs for piece in program.phase(phase))]
    assert len(phases) >= 5
    for phase in phases:
        device.up = device.down = 0
        given = evaluated(kernel, program, phase, lanes, 0.3, H)
        expected = host.evaluate(program, phase, wanted, 0.3, H)
        assert (given is None) == (expected is None) and device.up == 0
        assert device.down == (0 if given is None else given.nbytes)
        if given is not None:
            assert np.array_equal(given, np.asarray(expected), equal_nan=True), phase
    assert np.array_equal(lanes.on_host().array, wanted, equal_nan=True)
    batch, which = lanes.batch(np.array([4, 1, 3, 0, 5])), [4, 1, 3, 0, 5]
    assert isinstance(batch, DeviceColumns) and batch.resident is batch
    evaluated(kernel, program, "project", batch, 0.7, H)
    lanes.put(batch.members, batch, WRITES["project"])
    part = np.ascontiguousarray(wanted[:, which])
    host.evaluate(program, "project", part, 0.7, H)
    wanted[:, which] = part
    assert np.array_equal(lanes.on_host().array, wanted, equal_nan=True), "lanes are evaluated where they stand"
    batch.set("q", 3.0, within=0)
    batch.add("q", 1.0, np.array([1]), within=0)
    lanes.put(batch.members, batch)
    wanted[program.layout.rows("q")[0], which] = [3.0, 4.0, 3.0, 3.0, 3.0]
    assert np.array_equal(lanes.on_host().array, wanted, equal_nan=True), "of what is set a copy is taken back"
    few = lanes.take(np.arange(4))
    assert evaluated(kernel, program, "accelerate", few, 0.3, H) is None and device.down > 0, "few come to the host"
