"""The backend `gpu` on a GPU: bits beside `cpu`, member-steps a second, and how near they come to the device's limit.

    PYTHONPATH=. python benchmarks/bench_gpu.py bits          every bit of lanes after some steps beside `cpu`
    PYTHONPATH=. python benchmarks/bench_gpu.py rates         rates against the number of members, limits, transfers
    PYTHONPATH=. python benchmarks/bench_gpu.py tunings       blocks, shared memory, registers
    PYTHONPATH=. python benchmarks/bench_gpu.py calls         whole warm calls of `simulate` beside other backends
    PYTHONPATH=. python benchmarks/bench_gpu.py gradients     a run and its slopes by reverse mode beside other backends
    PYTHONPATH=. python benchmarks/bench_gpu.py assembled     size of the code, what the assembler makes of it; no GPU
    PYTHONPATH=. python benchmarks/bench_gpu.py golden        the same of some models as the table of the tests

`rates` checks lanes of each run bit by bit beside `cpu` before it prints a number; that the runs of `cpu` are right is
what the tests hold. The limit is that of the units for multiplication and addition: the rate of a loop of independent
fused multiply-adds on the same device over the operations of a step. A fused pair counts as one, a sine with its
cosine as 24, a quotient or a square root as 10; comparisons and what is done with integers are not counted.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import llvmlite
import numpy as np

import shiftjax
from shiftjax.bench import gpu_code
from shiftjax.bench.operations import operations_of_a_step
from shiftjax.bench.probe import peak_of_gpu
from shiftjax.bench.timing import emit
from shiftjax.bench.watched_kernel import watched
from shiftjax.bench.workload import workload
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.contract import Group, placed
from shiftjax.kernels.gpu.backward import GpuBackward, ReversibleGpuKernel
from shiftjax.kernels.gpu.cuda_device import CudaDevice, cuda_device
from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.gpu.kernel import GpuKernel
from shiftjax.kernels.gpu.lane_leg import AHEAD, BACK
from shiftjax.kernels.gpu.places import Tuning
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.lane_table import LaneTable
from shiftjax.kernels.llvm import cpu
from shiftjax.models import SUMMARIES

MODELS = {  # bodies whose mass is varied; of others the first that has one
    "four_bar": "four_bar:coupler",
    "n_four_bar_5": "n_four_bar:coupler_0",
    "bricard": "bricard:rod1",
}
SPEEDS = {"bricard": ("bricard:joint1.initial_velocity", 3.0, 15.0)}  # rad/s, varied in place of a mass
WATCHED = ("slider_crank", "four_bar", "bricard", "n_four_bar_5", "excavator")  # models of `golden`
GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "gpu_code.json"
LEG = (AHEAD, BACK)  # kernels of a sweep
CAPTURED = 64  # lanes that are repeated
H = 1e-3  # s
SECONDS = 0.25  # of a measurement
MOST = 2_000  # steps of it: in f32 lanes begin to trip after some thousand


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("bits", "rates", "tunings", "calls", "gradients", "assembled", "golden"))
    parser.add_argument("--models", nargs="+", default=["four_bar", "bricard", "n_four_bar_5"], help="or: library")
    parser.add_argument("--precisions", nargs="+", default=["f64", "f32"])
    parser.add_argument("--members", nargs="+", type=int, default=[2_048, 16_384, 131_072, 1_048_576])
    parser.add_argument("--steps", type=int, default=300, help="of bits")
    parser.add_argument("--tunings", nargs="+", default=["{}"], help="Python dicts of `Tuning`'s arguments")
    parser.add_argument("--backends", nargs="+", default=["cpu", "gpu"], help="of calls and gradients")
    parser.add_argument("--tolerance", type=float, help="of calls; fixed steps of 1 ms where left out")
    parser.add_argument("--method", help="of calls")
    parser.add_argument("--span", type=float, default=1.0, help="s, of calls and gradients")
    parser.add_argument("--archs", nargs="+", default=["sm_90"], help="of assembled")
    parser.add_argument("--kernels", nargs="+", default=[gpu_code.KERNELS[0]], choices=gpu_code.KERNELS, help="as well")
    options = parser.parse_args()
    options.models = [*SUMMARIES] if options.models == ["library"] else options.models
    if options.what == "assembled":
        for case in itertools.product(options.models, options.precisions, options.archs, options.kernels):
            emit("gpu_assembled", {"model": case[0], "precision": case[1], **gpu_code.assembly(*case)})
        return
    if options.what == "golden":
        golden()
        return
    jax.config.update("jax_enable_x64", True)  # slopes are JAX's, in the precision of the run
    device = cuda_device()
    if options.what == "rates":
        peaks = {precision: peak_of_gpu(device, precision) for precision in options.precisions}
        show(device, "peak", {f"{k}_per_s": v for k, v in peaks.items()})
    for model in options.models:
        for precision in options.precisions:
            if options.what == "calls":
                calls(device, model, precision, options)
                continue
            if options.what == "gradients":
                gradients(device, model, precision, options)
                continue
            program, table = captured(model, precision)
            if options.what == "bits":
                bits(device, model, precision, program, table, options.steps)
            elif options.what == "rates":
                for members in options.members:
                    figures = measured(device, program, table, members, Tuning())
                    limit = peaks[precision] / operations_of_a_step(program)
                    figures |= {"limit_per_s": limit, "of_limit": figures.get("steps_per_s", 0.0) / limit}
                    show(device, "rates", {"model": model, "precision": precision} | figures)
            else:
                for tuning in (Tuning(**ast.literal_eval(text)) for text in options.tunings):
                    figures = measured(device, program, table, max(options.members), tuning)
                    show(device, "tunings", {"model": model, "precision": precision} | figures)


def show(device: CudaDevice, name: str, figures: dict[str, Any]) -> None:
    """One JSON line with the device."""
    about = {"gpu": device.name, "arch": device.arch, "driver": device.driver, "llvmlite": llvmlite.__version__}
    emit(f"gpu_{name}", figures | about)


def captured(model: str, precision: str) -> tuple[LaneProgram, np.ndarray]:
    """The program and the lanes of an ensemble at its first advance, masses varied by a fifth."""
    numbers = shiftjax.load(model).numbers()
    work = workload(model, mass_of(model, numbers), span=0.01, precision=precision)
    with watched("cpu", copied=CAPTURED) as watch:
        work.on(watch.backend).run(CAPTURED)
    return watch.program, watch.table


def stepped(kernel: Any, program: LaneProgram, table: np.ndarray, steps: int) -> None:
    """Some steps more of every lane, in place."""
    lanes = table.shape[1]
    until = table[program.layout.rows("clock")[0]].astype(float) + steps
    kernel.advance([Group(program, table, until, None, np.full(lanes, -1))], h=H)


def bits(device: CudaDevice, model: str, precision: str, program: LaneProgram, table: np.ndarray, steps: int) -> None:
    """Lanes as they are, and odd ones: tripped, not finite, far out, of fractions of a step."""
    odd, layout = table.copy(), program.layout
    row = {name: layout.rows(name).start for name in layout.columns()}
    odd[row["q"], 0] += 1e10 if precision == "f64" else 1e6
    odd[row["q"], 2], odd[row["q"], 9] = np.nan, np.inf
    odd[row["fraction"], 3:6] = 0.375, 0.0, -1.0
    odd[row["trip"], 6], odd[row["armed"], 7] = 1, 0
    odd[row["limit"], 8] = 0.0
    for name, start in {"as they are": table, "odd": odd}.items():
        ours, wanted = start.copy(), start.copy()
        kernel = GpuKernel(precision, device=device)
        stepped(kernel, program, ours, steps)
        stepped(cpu.CpuKernel(precision), program, wanted, steps)
        trips = sorted({float(code) for code in wanted[row["trip"]]})
        figures = {
            "model": model,
            "precision": precision,
            "lanes": name,
            "steps": steps,
            "differing": differing(ours, wanted),
        }
        show(device, "bits", figures | {"trips": trips, "compile_s": kernel.compile_s})
    show(device, "bits", staying(device, precision, program, table, steps) | {"model": model, "precision": precision})


def staying(device: Device, precision: str, program: LaneProgram, table: np.ndarray, steps: int) -> dict[str, Any]:
    """Lanes whose table stays on the device, while the host takes some, sets numbers of others and puts them back."""
    kernels = (GpuKernel(precision, device=device), cpu.CpuKernel(precision))
    ends, chosen = [], np.random.default_rng(1).permutation(table.shape[1])[: table.shape[1] // 3]
    for kernel in kernels:
        lanes = placed(kernel, LaneTable(program.layout, table.copy()))
        for _ in range(4):
            until = lanes.row("clock") + steps / 4
            nowhere = np.full(lanes.lanes, -1)
            kernel.advance([Group(program, lanes.shown, until, None, nowhere, lanes.resident)], h=H)
            some = lanes.take(chosen)
            some.set("limit", np.inf)
            some.add("q", 1e-5 * np.arange(len(chosen)))
            lanes.put(chosen, some)
            lanes.set("trip", 0.0, chosen[:5])
        ends.append(lanes.on_host().array)
        if kernel is kernels[0]:
            assert lanes.resident is not None, "the device has no room for the table"
    return {"lanes": "on the device", "steps": steps, "differing": differing(*ends)}


def differing(ours: np.ndarray, wanted: np.ndarray) -> int:
    """Lanes of which some number has other bits; a NaN is a NaN, whatever its sign and payload, which no GPU keeps."""
    ours, wanted = np.ascontiguousarray(ours), np.ascontiguousarray(wanted)
    kind = f"u{ours.dtype.itemsize}"
    same = (ours.view(kind) == wanted.view(kind)) | (np.isnan(ours) & np.isnan(wanted))
    return int((~same).any(0).sum())


def measured(
    device: CudaDevice, program: LaneProgram, table: np.ndarray, members: int, tuning: Tuning
) -> dict[str, Any]:
    """As `rate`; of lanes that are other than those of cpu, or of code that the device refuses, no figure but why."""
    try:
        return rate(device, program, table, members, tuning)
    except (RuntimeError, AssertionError) as error:
        return {"members": members, "tuning": repr(tuning), "refused": str(error)[:300]}


def rate(device: CudaDevice, program: LaneProgram, table: np.ndarray, members: int, tuning: Tuning) -> dict[str, Any]:
    """Steps a second of so many lanes, the first of which are then checked beside `cpu`."""
    precision = {8: "f64", 4: "f32"}[table.dtype.itemsize]
    kernel = GpuKernel(precision, device=device, tuning=tuning)
    ready = kernel.prepare(program)
    lanes = np.ascontiguousarray(np.tile(table, (1, -(-members // CAPTURED)))[:, :members])
    lanes[[*program.layout.rows("limit")]] = np.inf  # in f32 lanes would stop at the limits of their gaps
    few = lanes[:, :CAPTURED].copy()
    stepped(kernel, program, lanes, 64)  # learns how long launches are
    one = kernel.launched_s / 64
    steps = int(np.clip(SECONDS / one, 64, MOST))
    before = lanes[program.layout.rows("clock")[0]].astype(float)
    launched, begun = kernel.launched_s, time.perf_counter()
    stepped(kernel, program, lanes, steps)
    whole, launched = time.perf_counter() - begun, kernel.launched_s - launched
    stepped(cpu.CpuKernel(precision), program, few, 64)
    stepped(cpu.CpuKernel(precision), program, few, steps)
    odd = differing(lanes[:, : few.shape[1]], few)
    assert not odd, f"{odd} of {few.shape[1]} lanes have other bits than those of cpu"
    clocks = lanes[program.layout.rows("clock")[0]]
    size = Launch(1, tuning.block, ready.shared)
    return {
        "members": members,
        "steps": steps,
        "tripped": int((lanes[program.layout.rows("trip")[0]] != 0).sum()),
        "steps_per_s": float((clocks.astype(float) - before).sum()) / launched,
        "launched_s": launched,
        "whole_call_s": whole,
        "compile_s": kernel.compile_s,
        "shared_bytes_of_a_block": ready.shared,
        "resident_lanes": device.resident(ready.function, size),
        "tuning": repr(tuning),
        **device.properties(ready.function),
    }


def golden() -> None:
    """Writes the table that the tests compare with."""
    table: dict[str, Any] = {"assembler": gpu_code.assembler(), "llvmlite": llvmlite.__version__}
    table |= {"written": {}, "assembled": {}}
    for case in (" ".join(parts) for parts in itertools.product(WATCHED, ("f64", "f32"), gpu_code.KERNELS)):
        write, table["assembled"][case] = gpu_code.code_of(*case.split()), {}
        for arch in gpu_code.ARCHS:
            text, figures = write(arch)
            if arch == "sm_90":
                table["written"][case] = figures
            code = gpu_code.assembled(text, arch)
            table["assembled"][case][arch] = {
                name: code[name] for name in ("registers", "spilled_stores", "spilled_loads")
            }
    GOLDEN.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def calls(device: CudaDevice, model: str, precision: str, options: argparse.Namespace) -> None:
    """Whole calls, start and result included: the second of each backend, its bits beside the first backend's."""
    numbers = shiftjax.load(model).numbers()
    kernels: list[GpuKernel] = []

    def timed(precision: str, threads: int | None) -> GpuKernel:
        kernels.append(GpuKernel(precision, threads, device))
        return kernels[-1]

    BACKENDS["gpu, timed"] = timed
    for members in options.members:
        results: list[shiftjax.Result] = []
        steps: dict[str, Any] = {"step": H} if options.tolerance is None else {"tolerance": options.tolerance}
        steps |= {} if options.method is None else {"method": options.method}
        path, low, high = SPEEDS.get(model, (mass_of(model, numbers), 0.8, 1.2))
        factor = 1.0 if model in SPEEDS else numbers[path]
        varied = {path: factor * np.linspace(low, high, members)}
        for backend in options.backends:
            walls, launched = [], 0.0
            for _ in range(2):
                kernels.clear()
                begun = time.perf_counter()
                result = shiftjax.simulate(
                    model, options.span, **steps, vary=varied, precision=precision,
                    backend="gpu, timed" if backend == "gpu" else backend, output_step=options.span,
                )  # fmt: skip
                walls.append(time.perf_counter() - begun)
                launched = sum(kernel.launched_s for kernel in kernels)
            results.append(result)
            ends = [np.column_stack([*(one.final or {}).values()]).T for one in (result, results[0])]
            figures = {"model": model, "precision": precision, "backend": backend, "members": members, "varied": path}
            figures |= {"steps": round(options.span / H), "first_s": walls[0], "warm_s": walls[1]}
            figures |= {"tolerance": options.tolerance, "method": options.method}
            figures |= {"launched_s": launched, "steps_per_s": members * round(options.span / H) / walls[1]}
            figures |= {"gap": float(np.max(result.certificate["gap"])), "bad": int((result.status != 0).sum())}
            figures |= {"repartitions": len(result.log)}
            show(device, "calls", figures | {"differing": differing(*ends)})
    del BACKENDS["gpu, timed"]


class SweptKernel(ReversibleGpuKernel):
    """A kernel that knows what carries cotangents back over its steps."""

    ways: tuple[GpuBackward, ...] = ()

    def backward(self, memory: float | None = None) -> GpuBackward:
        way = super().backward(memory)
        self.ways += (way,)
        return way


def gradients(device: CudaDevice, model: str, precision: str, options: argparse.Namespace) -> None:
    """Whole calls, of a run and of its slopes by one mass: the second of each backend, how long devices ran steps again
    and went back over them, and how many of the first members have other bits than those of `cpu`."""
    path = mass_of(model, numbers := shiftjax.load(model).numbers())
    kernels: list[SweptKernel] = []

    def timed(precision: str, threads: int | None) -> SweptKernel:
        kernels.append(SweptKernel(precision, threads, device))
        return kernels[-1]

    def run(masses: jax.Array, backend: str) -> jax.Array:
        result = shiftjax.simulate(
            model, options.span, step=H, vary={path: masses}, channels=["energy.kinetic"], output_step=options.span,
            precision=precision, backend=backend,
        )  # fmt: skip
        return result.channels["energy.kinetic"][:, -1].sum()

    def launched() -> dict[str, float]:
        return {f"{part}_s": sum(way.launched(part) for kernel in kernels for way in kernel.ways) for part in LEG}

    slopes, steps = jax.grad(run), round(options.span / H)
    BACKENDS["gpu, timed"] = timed
    for members in options.members:
        masses = numbers[path] * np.linspace(0.8, 1.2, members)
        others = jnp.asarray(masses * 1.001)  # what a run leaves for its way back is not there yet
        few = np.asarray(slopes(others[:CAPTURED], "cpu"))
        for backend in options.backends:
            name = "gpu, timed" if backend == "gpu" else backend
            begun = time.perf_counter()
            np.asarray(slopes(jnp.asarray(masses), name))
            first, before, begun = time.perf_counter() - begun, launched(), time.perf_counter()
            float(run(others, name))
            plain, begun = time.perf_counter() - begun, time.perf_counter()
            found = np.asarray(slopes(others, name))
            warm = time.perf_counter() - begun
            figures = {"model": model, "precision": precision, "backend": backend, "members": members, "varied": path}
            figures |= {"steps": steps, "first_s": first, "plain_s": plain, "warm_s": warm, "of_plain": warm / plain}
            figures |= {key: seconds - before[key] for key, seconds in launched().items()}
            figures |= {"member_steps_per_s": members * steps / warm}
            show(device, "gradients", figures | {"differing": differing(found[None, :CAPTURED], few[None])})
    del BACKENDS["gpu, timed"]


def mass_of(model: str, numbers: dict[str, Any]) -> str:
    """The mass that is varied."""
    path = f"{MODELS.get(model, model)}.mass"
    return path if path in numbers else next(p for p in numbers if p.endswith(".mass") and numbers[p] > 0)


if __name__ == "__main__":
    main()
