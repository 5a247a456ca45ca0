"""`shiftjax bench --backend gpu` whole, on PTX that runs on the host: there is no GPU where tests run."""

import json

import pytest

from shiftjax.bench import probe, rates
from shiftjax.cli import main
from shiftjax.kernels.gpu import devices, kernel
from tests.support.ptx_on_host import PtxOnHost


class WholeGpu(PtxOnHost):
    """A device with one multiprocessor."""

    processors = 1


def test_rates_of_a_gpu_are_set_against_its_limit(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    device, second = WholeGpu(), WholeGpu()
    monkeypatch.setattr(devices, "FULL", 2)  # lanes, so that four of them are divided over both devices
    monkeypatch.setattr(kernel, "other_devices", lambda first: [second])
    for module in (kernel, rates):
        monkeypatch.setattr(module, "cuda_device", lambda: device)
    for name, value in {"ROUNDS_OF_GPU": 2, "LAUNCHES": 2, "THREADS": 4, "BLOCKS": 1}.items():
        monkeypatch.setattr(probe, name, value)
    monkeypatch.setattr(rates, "ROUNDS_S", 0.0)
    words = ["--members", "4", "--span", "0.01", "--no-start", "--backend", "gpu", "--threads", "1", "--json"]
    assert main(["bench", "pendulum", *words]) == 0
    one, four = map(json.loads, capsys.readouterr().out.splitlines())
    assert (one["members"], four["members"], four["backend"], four["limit_of"]) == (1, 4, "gpu", "device")
    assert four["of_limit"] == pytest.approx(four["stepping_per_s"] * four["operations"] / (2 * four["limit_per_s"]))
    assert (one["devices"], four["devices"]) == (1, 2) and second.launches > 0
    assert four["member_steps"] == 40 and four["failed"] == 0 and four["energy_error"] < 1e-9
    assert not device.memory and not second.memory, "nothing is left on the device"
