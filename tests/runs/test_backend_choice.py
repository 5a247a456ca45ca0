"""Which machine runs a call that names none: the rule, and calls where a GPU is, which is one on the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftjax import Result, simulate
from shiftjax.ensembles.store.recipe import of_result
from shiftjax.ensembles.store.store import read
from shiftjax.errors import ModelError
from shiftjax.kernels import choosing
from shiftjax.kernels.choosing import LEAST_MEMBERS, LEAST_STEPS, chosen
from shiftjax.kernels.gpu import kernel
from tests.support.ptx_on_host import PtxOnHost

MASSES = {"four_bar:coupler.mass": np.array([0.9, 1.0, 1.1])}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> PtxOnHost:
    """A machine with a GPU, for which three members are many."""
    device = PtxOnHost()
    monkeypatch.setattr(choosing, "has_bindings", lambda: True)
    monkeypatch.setattr(choosing, "usable_device", lambda: device)
    monkeypatch.setattr(choosing, "LEAST_MEMBERS", 3)
    monkeypatch.setattr(choosing, "LEAST_STEPS", 30)
    monkeypatch.setattr(kernel, "cuda_device", lambda: device)
    monkeypatch.setattr(kernel, "other_devices", lambda first: [])
    return device


def ran(**options: Any) -> Result:
    return simulate("four_bar", 0.01, 1e-3, **{"vary": MASSES, "threads": 1, "accuracy": "local"} | options)


def test_the_rule_looks_at_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members, steps, method; what is named is taken; a device is asked for where all else is for it."""
    asked = []
    monkeypatch.setattr(choosing, "has_bindings", lambda: True)
    monkeypatch.setattr(choosing, "usable_device", lambda: asked.append(1) or PtxOnHost())
    steps = -(-LEAST_STEPS // LEAST_MEMBERS)
    for arguments, words in {
        (LEAST_MEMBERS - 1, 10 * steps, "rk4"): "fewer than 2048 members",
        (LEAST_MEMBERS, steps - 1, "rk4"): "fewer than 1e+08 steps",
        (10 * LEAST_MEMBERS, steps, "rosenbrock"): "of rosenbrock",
    }.items():
        choice = chosen(None, *arguments)
        assert choice.backend == "cpu" and words in choice.why, choice
    assert "of a tolerance" in chosen(None, 10**6, 10**6, "dopri5", controlled=True).why and not asked
    choice = chosen(None, LEAST_MEMBERS, steps, "rk4")
    assert choice.backend == "gpu" and "2048 members over 48829 steps on PTX on the host" in choice.why
    for name in ("cpu", "gpu", "xla"):
        assert chosen(name, 10**6, 10**6, "rk4") == (name, "")
    assert len(asked) == 1


def test_a_gpu_that_cannot_be_used_leaves_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """No driver, or a process that was forked; without its packages nothing is said at all."""

    def refused() -> PtxOnHost:
        raise ModelError("backend 'gpu'", "no GPU that can be used: none", "one", "Buy one.")

    monkeypatch.setattr(choosing, "has_bindings", lambda: True)
    monkeypatch.setattr(choosing, "cuda_device", refused)
    assert chosen(None, 10**6, 10**6, "rk4") == ("cpu", "cpu: no GPU that can be used: none")
    monkeypatch.setattr(choosing, "has_bindings", lambda: False)
    assert chosen(None, 10**6, 10**6, "rk4") == ("cpu", "")
    result = ran()
    assert result.settings["backend"] == "cpu" and "backend_choice" not in result.settings


def test_a_large_call_takes_the_gpu_and_says_so(gpu: PtxOnHost) -> None:
    """The bits are those of the processor, which a smaller call takes, and one that names it. [F24]"""
    large, small, named = ran(), ran(vary={k: v[:2] for k, v in MASSES.items()}), ran(backend="cpu")
    assert gpu.launches
    assert large.settings["backend"] == "gpu" and "3 members over 10 steps" in large.settings["backend_choice"]
    assert any("backend: gpu" in note and "same bits" in note for note in large.notes)
    assert small.settings["backend"] == "cpu" and "fewer than 3 members" in small.settings["backend_choice"]
    assert not any("backend" in note for note in small.notes)
    assert named.settings["backend"] == "cpu" and "backend_choice" not in named.settings
    for key, values in named.certificate.items():
        assert np.asarray(large.certificate[key]).tobytes() == np.asarray(values).tobytes(), key


def test_a_stored_run_asks_for_no_machine_that_nobody_named(
    gpu: PtxOnHost, tmp_path: Path, shell: Callable[..., tuple[int, str, str]]
) -> None:
    """On the command line as in Python; where it is repeated, the choice is made again."""
    for words, backend in (((), "gpu"), (("--backend", "cpu"), "cpu")):
        store, values = tmp_path / f"{backend}.zarr", "four_bar:coupler.mass=0.9:1.1:3"
        code, out, err = shell(
            "sweep", "four_bar", "--vary", values, "--span", "0.01", "--accuracy", "local", "--out", store, *words
        )  # fmt: skip
        assert code == 0, out + err
        asked = json.loads(read(store).attrs["settings"])
        assert asked["backend"] == backend and ("backend_choice" in asked) == (backend == "gpu")
        recipe = of_result(read(store), [0], str(store))
        assert recipe.settings["backend"] == (None if backend == "gpu" else "cpu")
