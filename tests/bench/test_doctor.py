"""`shiftjax bench --doctor`: what is there, what is missing, and the probes that show that code runs and is right."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftjax.bench import doctor, probe
from shiftjax.bench.driver import DriverReport, GpuReport, driver_report
from shiftjax.cli import main
from shiftjax.kernels.gpu.device import Launch
from shiftjax.kernels.llvm.target import host
from tests.support.ptx_on_host import PtxOnHost

GPU = GpuReport("Fast 1000", "9.0", 80_000_000_000, 70_000_000_000)


class FakeDriver:
    """The functions of libcuda that are asked, with one GPU; each returns the code of an error, 0 for none."""

    def __init__(self, refused: int = 0, gpus: int = 1) -> None:
        self.refused, self.gpus = refused, gpus

    def __call__(self, name: str) -> Any:
        put = self._put
        return SimpleNamespace(
            cuDriverGetVersion=lambda out: put(out, 13020),
            cuInit=lambda flags: self.refused,
            cuDeviceGetCount=lambda out: put(out, self.gpus),
            cuDeviceGet=lambda out, number: put(out, number),
            cuDeviceGetName=lambda text, size, device: setattr(text, "value", GPU.name.encode()),
            cuDeviceGetAttribute=lambda out, kind, device: put(out, {75: 9, 76: 0}[kind]),
            cuDeviceTotalMem_v2=lambda out, device: put(out, GPU.memory),
            cuDevicePrimaryCtxRetain=lambda out, device: 0,
            cuCtxSetCurrent=lambda context: 0,
            cuMemGetInfo_v2=lambda free, total: put(free, GPU.free),
            cuDevicePrimaryCtxRelease_v2=lambda device: 0,
        )

    def _put(self, out: Any, value: int) -> int:
        out._obj.value = value
        return 0


def lines_of(part: str, *, driver: DriverReport | None = None) -> dict[str, doctor.CheckUp]:
    """Lines of the backend gpu or xla, by what they are about."""
    make = {"gpu": doctor.of_gpu, "xla": doctor.of_xla}[part]
    return {line.what: line for line in make(driver)}


def test_a_driver_is_asked_without_any_package() -> None:
    report = driver_report(FakeDriver())
    assert report == DriverReport("libcuda.so.1", "13.2", "", (GPU,))
    refused = driver_report(FakeDriver(refused=100))
    assert refused is not None and refused.problem == "error 100, no device" and not refused.gpus
    blind = driver_report(FakeDriver(gpus=0))
    assert blind is not None and blind.problem == "it sees no GPU"

    def none(name: str) -> Any:
        raise OSError(name)

    assert driver_report(none) is None


def test_each_thing_that_is_missing_has_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    versions: dict[str, str] = {}
    monkeypatch.setattr(doctor, "version_of", lambda name: versions.get(name, ""))
    lines = lines_of("gpu")
    assert [line.state for line in lines.values()] == ["missing"] * 3
    assert "driver" in lines["driver"].todo and "cuda-bindings>=13,<14" in lines["cuda-bindings"].todo
    assert "assembles kernels, each time anew" in lines["nvidia-nvjitlink"].todo
    assert not doctor.can_run([*lines.values()], "gpu")
    there = lines_of("gpu", driver=DriverReport("libcuda.so.1", "13.2", "", (GPU,)))
    assert there["driver"].state == "ok" and there["GPU 0"].text.startswith(
        "Fast 1000, compute capability 9.0, 80.0 GB"
    )
    old = lines_of("gpu", driver=DriverReport("libcuda.so.1", "12.8", "", (GPU,)))
    assert old["driver"].state == "missing" and "13.0 or newer" in old["driver"].todo
    hidden = lines_of("gpu", driver=DriverReport("libcuda.so.1", "13.2", "it sees no GPU"))
    assert hidden["GPU"].state == "missing" and "CUDA_VISIBLE_DEVICES" in hidden["GPU"].todo
    jax_lines = lines_of("xla", driver=DriverReport("libcuda.so.1", "13.2", "", (GPU,)))
    assert jax_lines["jax-cuda13-plugin"].state == "missing" and "jax[cuda13]" in jax_lines["jax-cuda13-plugin"].todo
    assert jax_lines["devices"].state == "ok" and jax_lines["GPU"].text == "JAX runs on the CPU"
    assert doctor.can_run([*jax_lines.values()], "xla"), "it runs on the processor"


def test_memory_that_jax_has_taken_is_told_with_what_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(doctor.PREALLOCATE, raising=False)
    after = DriverReport("libcuda.so.1", "13.2", "", (GpuReport("Fast 1000", "9.0", GPU.memory, 17_500_000_000),))
    line = doctor.preallocated(GPU.free, after)
    assert line.state == "note" and "52.5 GB, 75% of what was free" in line.text and not line.needed
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in line.todo
    assert doctor.preallocated(GPU.free, DriverReport("libcuda.so.1", "13.2", "", (GPU,))).state == "ok"


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_probes_do_what_they_are_counted_for(precision: str) -> None:
    """Every chain takes every of its multiplications: nothing is left out by a compiler, on a GPU neither."""
    same = 1e-12 if precision == "f64" else 1e-4  # two hundred roundings
    values = probe.host_probe(host(precision))(doctor.ROUNDS)
    np.testing.assert_allclose(values, doctor.expected(probe.CHAINS, 1.0), rtol=same)
    device, out = PtxOnHost(), np.zeros(1, np.float64 if precision == "f64" else np.float32)
    place = device.allocate(8)
    probe.launch_probe(device, precision, Launch(1, 3, 0), doctor.ROUNDS, place)
    device.download(place, out)
    np.testing.assert_allclose(out, doctor.expected(probe.CHAINS_OF_GPU, 2.0), rtol=same)  # of the last thread


def test_code_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def right() -> doctor.CheckUp:
        return next(line for line in doctor.of_cpu() if line.what == "compiled code")

    assert right().state == "ok"
    monkeypatch.setattr(probe, "X", 0.9990001)
    assert right().state == "missing" and "in place of" in right().text


def test_the_cache_tells_its_place_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SHIFTJAX_CACHE_LIMIT", raising=False)
    (line,) = doctor.of_cache()
    assert line.state == "ok" and "0 files" in line.text
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.o").write_bytes(bytes(2_000_000))
    (line,) = doctor.of_cache()
    assert line.text == f"{tmp_path / 'cache'}: 1 files, 2.0 MB; entries up to 2.1 GB"
    monkeypatch.setenv("SHIFTJAX_CACHE_LIMIT", "none")
    (line,) = doctor.of_cache()
    assert line.text.endswith("2.0 MB; no limit")
    (tmp_path / "file").touch()
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "file"))
    (line,) = doctor.of_cache()
    assert line.state == "missing" and "SHIFTJAX_CACHE_DIR" in line.todo


def test_the_command_ends_by_what_was_asked_for(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path) -> None:
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(doctor, "driver_report", lambda: None)
    assert main(["bench", "--doctor", "--json"]) == 0
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert {line["part"] for line in lines} == {"cpu", "gpu", "xla", "cache", "viewer"}
    assert all(line["todo"] for line in lines if line["state"] == "missing")
    monkeypatch.setattr(doctor, "of_viewer", lambda: iter(()))
    assert main(["bench", "--doctor", "--backend", "cpu"]) == 0
    assert "backends that can run here: cpu, xla" in capsys.readouterr().out
    assert main(["bench", "--doctor", "--backend", "gpu"]) == 3
    assert "backend gpu cannot run here" in capsys.readouterr().err
