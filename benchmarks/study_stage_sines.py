"""What sines and cosines of stage angles would cost by the addition theorem, where an angle has moved little.

A step of RK4 takes sines and cosines of every angle at three stages, at its end before the projection and after it.
With those of its beginning at hand, s0 and c0 of q0, the others are, for d = q - q0 of at most `NEAR`,

    sin q = s0 + (s0 (cos d - 1) + c0 sin d),    cos q = c0 + (c0 (cos d - 1) - s0 sin d)

with series of three terms. The pieces of a real program are rewritten so and compiled by the same emitter: the angles
of the stages by those of the beginning, the projected ones by those before the projection, which stay whole, so that
nothing adds up over steps. Printed are instructions of a step, nanoseconds of its pieces for a vector of lanes, by
turns and the smallest of many slices, and the errors of both ways against long doubles. It is a bound from below:
`NEAR` is compared, but no cold path for larger angles is in the code.

    PYTHONPATH=. python benchmarks/study_stage_sines.py
"""

from __future__ import annotations

import argparse
import ctypes
import time
from dataclasses import replace
from typing import Any

import bench_kernel
import jax
import numpy as np

from shiftjax.bench.operations import pieces_of_a_step
from shiftjax.bench.timing import emit
from shiftjax.kernels.lane_program import Piece
from shiftjax.kernels.llvm.objects import Loader, compile_text
from shiftjax.kernels.llvm.piece_code import piece_name, piece_text, support_text
from shiftjax.kernels.llvm.target import Target, host
from shiftjax.lanes.code import Code
from shiftjax.lanes.graph import Graph, copied, without_dead_code

NEAR = 2.0**-5  # rad: 62 rad/s at half a step of 1 ms
SINE = (-1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0)  # of d^7, d^5, d^3: the next term is 5e-20
COSINE = (-1.0 / 720.0, 1.0 / 24.0, -0.5)  # of d^6, d^4, d^2: the next one is 2e-17
CALLS = 2000  # of a piece in a slice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(bench_kernel.MODELS), default=list(bench_kernel.MODELS))
    parser.add_argument("--slices", type=int, default=400)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    emit("stage_sines", errors())
    for name in options.models:
        emit("stage_sines", {"model": name, **compared(name, options.slices)})


def compared(name: str, slices: int) -> dict[str, Any]:
    """Instructions and times of a step as it is, and with stage angles by the addition theorem."""
    target = host("f64")
    _, program, _, worst = bench_kernel.running(name)
    assert worst["gap"] < 1e-9 and worst["energy_error"] < 1e-6, worst
    out: dict[str, Any] = {"instructions": 0, "instructions_near": 0, "ns": 0.0, "ns_near": 0.0}
    for times, piece in pieces_of_a_step(program):
        pair = (apart(piece), near(piece))
        for tail, one in zip(("", "_near"), pair, strict=True):
            out[f"instructions{tail}"] += times * sum(bench_kernel.instructions_of(one, target).values())
        for tail, took in zip(("", "_near"), quickest(pair, target, slices), strict=True):
            out[f"ns{tail}"] += times * took
    out["fewer_instructions"] = 1.0 - out["instructions_near"] / out["instructions"]
    out["less_time"] = 1.0 - out["ns_near"] / out["ns"]
    return out


def apart(piece: Piece, graph: Graph | None = None, inputs: int = 0, outputs: int = 0) -> Piece:
    """A piece that writes no slot that it reads, with so many inputs and outputs more."""
    count = len(piece.inputs) + inputs
    slots = tuple(range(count + len(piece.outputs) + outputs))
    written = piece.graph if graph is None else graph
    return replace(piece, code=Code(lambda: written), inputs=slots[:count], outputs=slots[count:], repeats=())


def near(piece: Piece) -> Piece:
    """The piece with angles by the addition theorem; a projection writes sines and cosines of its end, too."""
    old, count = piece.graph, len(piece.inputs)
    new = Graph()
    copies: list[int] = []
    pairs: dict[int, tuple[int, int]] = {}  # node of an angle -> its sine and cosine
    angles = [node[1] >> 1 for node in old.nodes if node[0] in ("sin", "cos")]
    bases = {k: _base(old, k) for k in dict.fromkeys(angles)}
    projects = any(base is not None for base in bases.values())
    more = 0
    total = new.const(0.0)
    for name, *arguments in old.nodes:
        if name == "in":
            copies.append(new.node("in", arguments[0]))
        elif name not in ("sin", "cos"):
            copies.append(copied(new, name, arguments, lambda ref: copies[ref >> 1] ^ (ref & 1)))
        else:
            angle = arguments[0] >> 1
            if angle not in pairs and projects and bases[angle] is None:
                pairs[angle] = new.sin(copies[angle]), new.cos(copies[angle])
            elif angle not in pairs:
                if (base := bases[angle]) is not None:
                    before = copies[base]
                    sine, cosine = new.sin(before), new.cos(before)
                else:
                    before, sine, cosine = (new.node("in", count + more + place) for place in range(3))
                    more += 3
                d = new.add(copies[angle], before ^ 1)
                total = new.add(total, new.mul(d, d))
                pairs[angle] = _turned(new, sine, cosine, d)
            copies.append(pairs[angle][name == "cos"])
    new.outputs = [copies[ref >> 1] ^ (ref & 1) for ref in old.outputs]
    further = [ref for angle, pair in pairs.items() if projects and bases[angle] is not None for ref in pair]
    if pairs:
        further.append(new.select(new.compare("lt", total, new.const(NEAR**2)), new.const(0.0), new.const(1.0)))
    new.outputs += further
    return apart(piece, without_dead_code(new), more, len(further))


def _base(graph: Graph, angle: int) -> int | None:
    """The input to which an angle adds a correction; None of an input itself."""
    name, *terms = graph.nodes[angle]
    if name == "in":
        return None
    return next(ref >> 1 for ref in terms if graph.nodes[ref >> 1][0] == "in" and not ref & 1)


def _turned(new: Graph, sine: int, cosine: int, d: int) -> tuple[int, int]:
    """Sine and cosine of an angle d further."""
    square = new.mul(d, d)

    def series(coefficients: tuple[float, ...]) -> int:
        value = new.const(coefficients[0])
        for c in coefficients[1:]:
            value = new.add(new.mul(value, square), new.const(c))
        return value

    far = new.add(new.mul(new.mul(square, d), series(SINE)), d)
    short = new.mul(square, series(COSINE))
    return (
        new.add(sine, new.add(new.mul(sine, short), new.mul(cosine, far))),
        new.add(cosine, new.add(new.mul(cosine, short), new.mul(sine, far) ^ 1)),
    )


def quickest(pieces: tuple[Piece, ...], target: Target, slices: int) -> list[float]:
    """Nanoseconds of one call of each piece, by turns, the smallest of all slices."""
    calls = [_called(piece, target) for piece in pieces]
    best = [np.inf] * len(pieces)
    for _ in range(slices):
        for k, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            best[k] = min(best[k], (time.perf_counter() - begun) / (CALLS * target.interleave) * 1e9)
    return best


def _called(piece: Piece, target: Target) -> Any:
    """A slice: a piece called again and again, on numbers between 0.5 and 0.52, of which all results are numbers."""
    name, loop = piece_name(piece), f"loop_{piece_name(piece)}"
    text = f"""
declare void @{name}(ptr, i32)
define void @{loop}(ptr %slots, i64 %count) {{
entry:
  br label %again
again:
  %k = phi i64 [ 0, %entry ], [ %next, %again ]
  call void @{name}(ptr %slots, i32 {target.interleave})
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}}"""
    loader = Loader(target)
    for one in (support_text(target), piece_text(piece, target), text):
        loader.add(compile_text(one, target, optimize=False))
    loader.finish()
    code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(loader.address(loop))
    slot, size = target.lanes * target.bytes, (len(piece.inputs) + len(piece.outputs)) * target.lanes
    memory = np.random.default_rng(0).uniform(0.5, 0.52, size + target.lanes)
    address = -(-memory.ctypes.data // slot) * slot
    return lambda alive=(memory, loader): code(address, CALLS)


def errors() -> dict[str, float]:
    """The largest errors of sines of turned angles and of NumPy's, in units of 2^-53."""
    rng = np.random.default_rng(0)
    q0, d = rng.uniform(-4.0, 4.0, 1_000_000), rng.uniform(-NEAR, NEAR, 1_000_000)
    q = q0 + d
    d = q - q0
    square = d * d
    far, short = np.polyval(SINE, square) * square * d + d, np.polyval(COSINE, square) * square
    sine, cosine = np.sin(q0), np.cos(q0)
    exact = np.sin(q.astype(np.longdouble))
    turned = sine + (sine * short + cosine * far)
    return {name: float(np.abs(x - exact).max() * 2.0**53) for name, x in (("turned", turned), ("whole", np.sin(q)))}


if __name__ == "__main__":
    main()
