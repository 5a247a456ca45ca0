"""LLVM text of backward sweeps: cotangents carried from the end of a leg of steps to its beginning.

    sweep(job, base, first, last)    blocks first <= k < last of W lanes, each over its own number of steps
    touch(job, base, first, last)    one list of reverse pieces on the same blocks

The stack of a leg (`leg_builder`) is in the thread's own memory, so long that it fits into the cache.
"""

from __future__ import annotations

from collections.abc import Callable

from shiftjax.kernels.adjoint import AdjointLayout, AdjointProgram
from shiftjax.kernels.llvm.ir_builder import JOB, WorkspaceLayout
from shiftjax.kernels.llvm.leg_builder import LegBuilder, private_slots, record_slots
from shiftjax.kernels.llvm.stepper import HEAD, Stepper, copies, timed
from shiftjax.kernels.llvm.target import Target
from shiftjax.kernels.llvm.templates import LOAD_ROWS, RUN, SAVE_ROWS, fill
from shiftjax.kernels.step_program import Method

STACK = 2**20  # bytes of the stack of a leg: it stays in a core's own cache


def longest_leg(adjoint: AdjointLayout, method: Method, target: Target) -> int:
    """Steps of a leg whose stack fits into the cache."""
    step = record_slots(adjoint, method) * target.lanes * target.bytes
    return max(8, STACK // step - 1)


def sweep_slots(adjoint: AdjointLayout, method: Method, target: Target) -> int:
    """The workspace of one block, its stack included."""
    workspace = WorkspaceLayout(adjoint.layout, method, private_slots(adjoint, method))
    stack = (longest_leg(adjoint, method, target) + 1) * record_slots(adjoint, method)
    return workspace.private + adjoint.slot_count + stack


def sweeper_identity(adjoint: AdjointProgram) -> str:
    """What decides the text of a sweep."""
    program = adjoint.program
    return f"sweep {adjoint.layout!r}|{program.method!r}|{timed(program)}|{program.drift.identity()}"


def sweeper_text(adjoint: AdjointProgram, name: str, target: Target) -> str:
    """The module with `NAME_sweep` and `NAME_touch`."""
    program = adjoint.program
    made = _Sweeper(adjoint.layout, program.method, target, copies(program, target), timed(program))
    return made.module(name)


class _Sweeper(LegBuilder, Stepper):
    """Emits both functions."""

    def module(self, name: str) -> str:
        """All functions of the module."""
        t, v = self.t, self.v
        bars = self.bar_pairs()
        tables = self.pair_tables({"loads": self.space.loads(), "bars": bars, "saved": bars[:-1], "ends": self._ends()})
        declared = f"""
declare {v} @llvm.fma.{t.suffix}({v}, {v}, {v})
declare {v} @llvm.floor.{t.suffix}({v})
declare i1 @llvm.vector.reduce.and.v{t.width}i1({self.i1})
declare i1 @llvm.vector.reduce.or.v{t.width}i1({self.i1})
declare {t.scalar} @llvm.vector.reduce.fmax.{t.suffix}({v})
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
        helper = "(ptr %job, ptr %ws, i64 %lane) nounwind noinline"
        return "\n".join(
            (
                tables,
                declared,
                RUN,
                self.function(f"internal void @load{helper}", lambda: self._rows("@loads", 0, self.space.loads())),
                self.function(
                    f"internal void @load_bars{helper}", lambda: self._rows("@bars", JOB.index("bars"), bars)
                ),
                self.function(
                    f"internal void @load_ends{helper}", lambda: self._rows("@ends", JOB.index("ends"), self._ends())
                ),
                self.function(
                    "internal void @save_bars(ptr %job, ptr %ws, i64 %lane, i64 %lanes) nounwind noinline",
                    lambda: self._rows("@saved", JOB.index("bars"), bars[:-1], save=True),
                ),
                self.function(f"internal void @seeds{helper}", self.seeds),
                self.function(f"void @{name}_sweep{HEAD}", lambda: self.blocks(self.sweep)),
                self.function(f"void @{name}_touch{HEAD}", lambda: self.blocks(self.touch)),
            )
        )

    def _rows(self, name: str, table: int, pairs: list[tuple[int, int]], *, save: bool = False) -> None:
        self.lines.extend(fill(SAVE_ROWS if save else LOAD_ROWS, self.t, table=table, name=name, pairs=len(pairs)))

    def _ends(self) -> list[tuple[int, int]]:
        """(row, slot) of the state at the end of a projection."""
        rows = [row for name in ("q", "x", "dx") for row in self.adjoint.layout.rows(name)]
        return list(zip(rows, self.adjoint.end, strict=True))

    # -- a leg -------------------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """The steps of one block forward, then backward."""
        longest = self._begin()
        self._loop("ahead", longest, self.ahead)
        self.rec = self.step_at(longest)
        self.record(0)
        self._loop("back", longest, lambda k: self._back(self._backward_index(longest, k)))
        self._end()

    def touch(self) -> None:
        """The pieces of `list_phase`, with the cotangents of channels where there are any."""
        self._begin()
        self.emit("call void @load_ends(ptr %job, ptr %ws, i64 %lane)")
        self.set_time(0.0)
        self.store_mask(self._there())
        self.emit("call void @seeds(ptr %job, ptr %ws, i64 %lane)")
        self.call_list("phase")
        self._end()

    def _begin(self) -> str:
        """Loads states and cotangents; returns the steps of the longest lane."""
        t, w = self.t, self.w
        self.emit("call void @load(ptr %job, ptr %ws, i64 %lane)")
        bars = w.line(f"getelementptr {self.v}, ptr %ws, i64 {self.adjoint.stride}")

        def clear(k: int | str) -> None:
            self.emit(f"store {self.v} zeroinitializer, ptr {w.line(f'getelementptr {self.v}, ptr {bars}, i64 {k}')}")

        self.each(str(self.adjoint.stride), clear)
        self.emit("call void @load_bars(ptr %job, ptr %ws, i64 %lane)")
        self.set_vectors(self.bits(self._there()))
        steps = self.load("steps")
        most = w.line(f"call {t.scalar} @llvm.vector.reduce.fmax.{t.suffix}({self.v} {steps})")
        self.set_flag(0, self.reduce("or", self.compare("one", steps, self.splat(most))))
        self.store(w.op("fmul", self.load(self.size), self.splat(self.field("h"))), "hl")
        return w.line(f"fptosi {t.scalar} {most} to i64")

    def _there(self) -> str:
        """Lanes of the block that exist."""
        places = ", ".join(f"i64 {k}" for k in range(self.t.width))
        kind = f"<{self.t.width} x i64>"
        index = self.w.op("add", self.splat("%lane", "i64"), f"<{places}>", kind)
        return self.w.line(f"icmp slt {kind} {index}, {self.splat(self.field('lanes'), 'i64')}")

    def _end(self) -> None:
        self.emit(f"call void @save_bars(ptr %job, ptr %ws, i64 %lane, i64 {self.bits(self._there())})")

    def _loop(self, name: str, count: str, body: Callable[[str], None]) -> None:
        """`body` for every index below a count, which may be 0."""
        head, inside, latch, after, before = (
            self.label(f"{name}_{part}") for part in ("head", "inside", "latch", "after", "before")
        )
        index = f"%{head}.k"
        self.emit(f"br label %{before}\n{before}:\n  br label %{head}\n{head}:")
        self.emit(f"{index} = phi i64 [ 0, %{before} ], [ {index}.next, %{latch} ]")
        self.emit(f"{index}.more = icmp slt i64 {index}, {count}")
        self.emit(f"br i1 {index}.more, label %{inside}, label %{after}\n{inside}:")
        body(index)
        self.emit(f"br label %{latch}\n{latch}:")
        self.emit(f"{index}.next = add nuw i64 {index}, 1\n  br label %{head}\n{after}:")

    def _backward_index(self, count: str, k: str) -> str:
        return self.w.line(f"sub i64 {self.w.line(f'sub i64 {count}, 1')}, {k}")

    # -- the stack ---------------------------------------------------------------------------------------------------

    def step_at(self, k: str) -> str:
        """Where step k is on the stack."""
        slot = self.w.line(f"mul i64 {k}, {record_slots(self.adjoint, self.method)}")
        slot = self.w.line(f"add i64 {slot}, {self.space.offset['stack']}")
        return self.w.line(f"getelementptr {self.v}, ptr %ws, i64 {slot}")

    def keep(self, rec: str, number: int | str, region: str, count: int) -> None:
        self._copy(self._number_at(rec, number), self.at(region), count)

    def recall(self, region: str, rec: str, number: int | str, count: int) -> None:
        self._copy(self.at(region), self._number_at(rec, number), count)

    def recalled(self, rec: str, number: int) -> str:
        return self.w.line(f"load {self.v}, ptr {self._number_at(rec, number)}")

    def _number_at(self, rec: str, number: int | str) -> str:
        return self.w.line(f"getelementptr {self.v}, ptr {rec}, i64 {number}")

    def _copy(self, target: str, source: str, slots: int) -> None:
        if slots:
            one = self.t.lanes * self.t.bytes
            ends = f"ptr align {one} {target}, ptr align {one} {source}"
            self.emit(f"call void @llvm.memcpy.p0.p0.i64({ends}, i64 {slots * one}, i1 false)")

    # -- lanes of a block with numbers of steps of their own -----------------------------------------------------------

    def _back(self, k: str) -> None:
        """A step back of the lanes that have it."""
        self._keep_old()
        self.back(k)
        self._restore_old()

    def add_seeds(self, k: str) -> None:
        number = self.w.line(f"sitofp i64 {k} to {self.t.scalar}")
        self.store_mask(self.logic("and", self._there(), self.compare("ogt", self.load("steps"), self.splat(number))))
        self.emit("call void @seeds(ptr %job, ptr %ws, i64 %lane)")

    def _keep_old(self) -> None:
        """Keeps the cotangents where some lane of the block has fewer steps."""
        keep, go = self.label("keep"), self.label("go")
        self.emit(f"br i1 {self.get_flag(0)}, label %{keep}, label %{go}\n{keep}:")
        for name, size in self.carried.items():
            self._copy(self.at(f"old_{name}"), self.at(f"bar_{name}"), size)
        self.emit(f"br label %{go}\n{go}:")

    def _restore_old(self) -> None:
        """Lanes that have no such step keep their cotangents."""
        keep, go = self.label("restore"), self.label("go")
        self.emit(f"br i1 {self.get_flag(0)}, label %{keep}, label %{go}\n{keep}:")
        runs = self.mask()
        for name, size in self.carried.items():
            self.each(
                size,
                lambda k, n=name: self.store(
                    self.select(runs, self.load(f"bar_{n}", k), self.load(f"old_{n}", k)), f"bar_{n}", k
                ),
            )
        self.emit(f"br label %{go}\n{go}:")

    # -- cotangents of channels --------------------------------------------------------------------------------------

    def seeds(self) -> None:
        """Adds the cotangents of channels at the output tick of the clock of the lanes that are `active`."""
        wanted, some = self.label("wanted"), self.label("some")
        used = self.w.line(f"icmp sgt i64 {self.field('channels')}, 0")
        self.emit(f"br i1 {used}, label %{wanted}, label %none\n{wanted}:")
        clock, period = self.load("clock"), self.period()
        periods = self.periods(clock, period)
        on_tick = self.compare("oeq", self.w.op("fadd", self.w.op("fmul", periods, period), self.origin()), clock)
        due = self.logic("and", self.mask(), on_tick)
        self.store(periods, "sum")
        self.emit(f"br i1 {self.reduce('or', due)}, label %{some}, label %none\n{some}:")
        bits = self.bits(due)
        self.each(str(self.t.width), lambda i: self._seed(i, bits))
        self.call_list("back_observe")
        self.emit("br label %none\nnone:\n  ret void")

    def _seed(self, i: int | str, bits: str) -> None:
        """Those of one lane, from the array (rows, ticks, channels)."""
        w, t = self.w, self.t
        skip, yes, ok, go = (self.label(name) for name in ("skip", "yes", "ok", "go"))
        due = w.line(f"trunc i64 {w.line(f'lshr i64 {bits}, {i}')} to i1")
        self.emit(f"br i1 {due}, label %{yes}, label %{skip}\n{yes}:")
        place = w.line(f"add i64 %lane, {i}")
        pointer = w.line(f"getelementptr i64, ptr {self.field('member')}, i64 {place}")
        row = w.line(f"load i64, ptr {pointer}")
        self.emit(f"br i1 {w.line(f'icmp sge i64 {row}, 0')}, label %{ok}, label %{skip}\n{ok}:")
        periods = self.at("sum")
        number = w.line(f"load {t.scalar}, ptr {w.line(f'getelementptr {t.scalar}, ptr {periods}, i64 {i}')}")
        number = w.line(f"fptosi {t.scalar} {number} to i64")
        ticks, count = self.field("ticks"), self.field("channels")
        self.emit(f"br i1 {w.line(f'icmp slt i64 {number}, {ticks}')}, label %{go}, label %{skip}\n{go}:")
        line = w.line(f"add i64 {w.line(f'mul i64 {row}, {ticks}')}, {number}")
        first = w.line(f"mul i64 {line}, {count}")
        source = w.line(f"getelementptr {t.scalar}, ptr {self.field('out')}, i64 {first}")
        target = self.at("bar_chan")

        def copy(c: int | str) -> None:
            value = w.line(f"load {t.scalar}, ptr {w.line(f'getelementptr {t.scalar}, ptr {source}, i64 {c}')}")
            slot = w.line(f"add i64 {w.line(f'mul i64 {c}, {t.width}')}, {i}")
            self.emit(f"store {t.scalar} {value}, ptr {w.line(f'getelementptr {t.scalar}, ptr {target}, i64 {slot}')}")

        self.each(count, copy)
        self.emit(f"br label %{skip}\n{skip}:")
