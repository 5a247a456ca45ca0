"""The limit of arithmetic of a device, measured: how many fused multiply-adds a second its units do for one lane each.

The probe is a loop of chains a <- a x + b that do not wait for each other, so many that their units are never idle. A
processor without fused multiply-adds does a product and a sum for each, as compiled lane programs do there.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from shiftjax.kernels.gpu.cuda_device import CudaDevice
from shiftjax.kernels.gpu.device import Device, Launch
from shiftjax.kernels.gpu.target import gpu, ptx
from shiftjax.kernels.llvm.objects import Loader, compile_text
from shiftjax.kernels.llvm.target import Target, host

FUSED = 64  # operations of each chain in a round
CHAINS, CHAINS_OF_GPU = 10, 16  # latency 4 or 5 times two units; 16 registers of AVX2 hold ten, the factor and the sum
X = 0.999  # the factor: chains stay finite and never settle
BURST, BURSTS = 2e-3, 25  # s: short enough that some of them meet no other process; the fastest counts
ROUNDS_OF_GPU, LAUNCHES = 500, 6
THREADS, BLOCKS = 256, 8  # of a block; blocks a multiprocessor


def chains(target: Target, kind: str, suffix: str, count: int, *, fused: bool) -> str:
    """Lines of the loop and of what follows it, where %total is the sum of all chains after %rounds rounds.

    Chain k begins with k; %x, %b are the factor and what is added. Blocks are %entry, %loop and %done.

    Args:
        kind, suffix: LLVM's type of a number, or of a vector of them, and its name in intrinsics.
    """
    zero = "zeroinitializer" if kind.startswith("<") else "0.0"
    begin = [
        target.splat(k) if kind.startswith("<") else target.number(k) if k else zero for k in map(float, range(count))
    ]
    heads = "\n".join(f"  %a{k} = phi {kind} [ {begin[k]}, %entry ], [ %a{k}.{FUSED}, %loop ]" for k in range(count))
    lines, names = [], {k: f"%a{k}" for k in range(count)}
    for n in range(1, FUSED + 1):
        for k in range(count):
            after = f"%a{k}.{n}"
            if fused:
                lines.append(f"  {after} = call {kind} @llvm.fma.{suffix}({kind} {names[k]}, {kind} %x, {kind} %b)")
            else:
                lines.append(f"  %p{k}.{n} = fmul {kind} {names[k]}, %x")
                lines.append(f"  {after} = fadd {kind} %p{k}.{n}, %b")
            names[k] = after
    total, sums = names[0], []
    for k in range(1, count):
        sums.append(f"  %sum{k} = fadd {kind} {total}, {names[k]}")
        total = f"%sum{k}"
    return "\n".join(
        [
            "  br label %loop",
            "loop:",
            "  %round = phi i64 [ 0, %entry ], [ %next, %loop ]",
            heads,
            *lines,
            "  %next = add i64 %round, 1",
            "  %more = icmp slt i64 %next, %rounds",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *sums,
            f"  %total = fadd {kind} {total}, {zero}",
        ]
    )


def host_probe(target: Target) -> Callable[[int], np.ndarray]:
    """The probe of a processor: rounds -> (width,) sums of the chains of each lane; b is 1."""
    kind = target.vector
    text = f"""
declare {kind} @llvm.fma.{target.suffix}({kind}, {kind}, {kind})
define void @probe(ptr %out, ptr %numbers, i64 %rounds) {{
entry:
  %x = load {kind}, ptr %numbers, align {target.bytes}
  %second = getelementptr {kind}, ptr %numbers, i64 1
  %b = load {kind}, ptr %second, align {target.bytes}
{chains(target, kind, target.suffix, CHAINS, fused=target.fused)}
  store {kind} %total, ptr %out, align {target.bytes}
  ret void
}}"""
    loader = Loader(target)
    loader.add(compile_text(text, target, optimize=False))
    loader.finish()
    code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loader.address("probe"))
    dtype = np.float64 if target.precision == "f64" else np.float32

    def run(rounds: int) -> np.ndarray:
        out = np.empty(target.width, dtype)
        numbers = np.repeat(np.array([X, 1.0], dtype), target.width)
        code(out.ctypes.data, numbers.ctypes.data, rounds)
        return out

    run.__dict__["loader"] = loader  # the code lives as long as the function
    return run


def peak_of_core(precision: str) -> float:
    """Fused multiply-adds of numbers a second of one core: the fastest of short bursts."""
    target = host(precision)
    run, rounds = host_probe(target), 64
    while _seconds(partial(run, rounds)) < BURST:
        rounds *= 2
    best = min(_seconds(partial(run, rounds)) for _ in range(BURSTS))
    return rounds * CHAINS * FUSED * target.width / best


def peak_of_gpu(device: CudaDevice, precision: str) -> float:
    """Fused multiply-adds of numbers a second of a GPU, all its multiprocessors busy."""
    size = Launch(device.processors * BLOCKS, THREADS, 0)
    with_room = device.allocate(8)
    try:
        best = min(
            _seconds(lambda: launch_probe(device, precision, size, ROUNDS_OF_GPU, with_room)) for _ in range(LAUNCHES)
        )
    finally:
        device.free(with_room)
    return size.blocks * size.threads * ROUNDS_OF_GPU * CHAINS_OF_GPU * FUSED / best


def launch_probe(device: Device, precision: str, size: Launch, rounds: int, out: int) -> None:
    """Runs the probe in all threads, and waits; each writes its sum to `out`; b is the number of the thread."""
    target = gpu(precision, device.arch)
    function = device.load(f"probe of {target!r}", lambda: ptx(probe_of_gpu(target), target), "probe", 0)
    device.launch(function, size, [out, rounds, X])
    device.wait()


def probe_of_gpu(target: Target) -> str:
    """LLVM text of the probe, a thread at a time."""
    s, suffix = target.scalar, target.precision
    return f"""
declare {s} @llvm.fma.{suffix}({s}, {s}, {s})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @probe(ptr addrspace(1) %out, i64 %rounds, double %wide) {{
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = sitofp i32 %thread to {s}
  %x = {"fptrunc double %wide to float" if target.precision == "f32" else "fadd double %wide, -0.0"}
{chains(target, s, suffix, CHAINS_OF_GPU, fused=True)}
  store {s} %total, ptr addrspace(1) %out
  ret void
}}
"""


def _seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun
