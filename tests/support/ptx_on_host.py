"""A GPU that is none: PTX run on the host, so that tests see what a kernel does instruction by instruction.

Each instruction becomes a line of LLVM text: registers are variables, labels are blocks, memory of any space is host
memory, one call runs one thread to its end. It knows the instructions that lane kernels use and refuses all others,
operations without a rounding mode and those that flush denormal numbers among them. No barriers, no atomics: threads
of a lane kernel do not talk to each other.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from shiftjax.kernels.gpu.device import Launch

FLOAT = {"f64": "double", "f32": "float"}
COMPARE = {  # of floats; of integers the name is that of LLVM
    "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "one",
    "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "equ": "ueq", "neu": "une", "num": "ord", "nan": "uno",
}  # fmt: skip
ROUNDED = ("add", "sub", "mul", "div", "fma", "rcp", "sqrt")
FLOATING = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
CALLS = {"fma": "fma", "abs": "fabs", "sqrt": "sqrt", "max": "maxnum", "min": "minnum"}
INTEGER = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
SPACES = ("shared", "param", "const", "local", "global")
SPECIAL = ("%ctaid.x", "%ntid.x", "%tid.x")
OF_THREAD = "i32 %ctaidx, i32 %ntidx, i32 %tidx, ptr %shared"  # what every function of a thread is given
ONE = "0x3FF0000000000000"


def bits_of(kind: str) -> int:
    """The width of a type, as of b64."""
    return int(re.sub(r"\D", "", kind))


class Translation:
    """One PTX function as LLVM text: `void name(ptr result, ptr parameters..., special registers and shared memory)`.

    Args:
        symbols: variables of the module -> their space.
    """

    def __init__(self, name: str, parameters: list[str], body: str, symbols: dict[str, str]) -> None:
        self.name, self.parameters, self.symbols = name, parameters, symbols
        self.count, self.lines, self.head = 0, [], []  # type: ignore[var-annotated]
        self.kinds = {"%SP": "i64", "%SPL": "i64"}
        self.buffers = {p: f"%arg.{p}" for p in parameters} | {"func_retval0": "%result"}
        tables = re.findall(r"(\S+): \.branchtargets\s*([^;]+);", body)
        self.targets = {name: re.findall(r"[^,\s$]+", labels) for name, labels in tables}
        for raw in re.sub(r"\S+: \.branchtargets[^;]+;", "", body).splitlines():
            line = raw.split("//")[0].strip().rstrip(";").strip()
            if line and line not in "{}":
                self.statement(line)

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def statement(self, line: str) -> None:
        if line.startswith("."):
            self.declaration(line)
        elif line.endswith(":"):
            label = line[:-1].replace("$", "").strip()
            self.lines.append(f"  br label %{label}\n{label}:")
        else:
            self.instruction(line)

    def instruction(self, line: str) -> None:
        guard = re.match(r"@(!?)(%p\d+)\s+(.*)", line)
        condition = None
        if guard:
            condition, line = self.get(guard[2], "i1"), guard[3]
            if guard[1]:
                condition = self.new(f"xor i1 {condition}, true")
        op, *rest = line.split(None, 1)
        parts = op.split(".")
        arguments = re.findall(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s]+", rest[0] if rest else "")
        if parts[0] == "barrier":  # each thread runs to its end alone
            return
        if parts[0] == "brx":
            self.jump_by_table(*arguments)
        elif parts[0] in ("bra", "ret"):
            self.jump(parts[0], arguments, condition)
        elif guard:
            raise NotImplementedError(line)
        else:
            self.plain(parts, arguments, line)

    def declaration(self, line: str) -> None:
        if line.startswith(".pragma"):
            return
        if many := re.match(r"\.reg \.(\w+)\s+(%\w+?)<(\d+)>", line):
            kind = "i1" if many[1] == "pred" else f"i{bits_of(many[1])}"
            for k in range(int(many[3])):
                self.kinds[f"{many[2]}{k}"] = kind
                self.head.append(f"  %v{many[2][1:]}{k} = alloca {kind}")
        elif one := re.match(r"\.reg \.b64\s+(%SPL?)$", line):
            self.head.append(f"  %v{one[1][1:]} = alloca i64")
        elif local := re.match(r"\.local .*?(__local_depot\d+)\[(\d+)\]", line):
            self.head.append(f"  %{local[1]} = alloca [{local[2]} x i8], align 64")
            self.buffers[local[1]] = f"%{local[1]}"
        elif parameter := re.match(r"\.param .*?(\w+?)(?:\[(\d+)\])?$", line):
            name = parameter[1]
            if not self.buffers.get(name, "").startswith("%call."):
                self.head.append(f"  %call.{name} = alloca [16 x i8], align 16")
                self.buffers[name] = f"%call.{name}"
        else:
            raise NotImplementedError(line)

    def jump(self, op: str, arguments: list[str], condition: str | None) -> None:
        self.count += 1
        after, where = f"after{self.count}", "leave" if op == "ret" else arguments[0].replace("$", "")
        how = f"label %{where}" if condition is None else f"i1 {condition}, label %{where}, label %{after}"
        self.lines.append(f"  br {how}\n{after}:")

    def jump_by_table(self, register: str, table: str) -> None:
        self.count += 1
        labels = self.targets[table]
        places = " ".join(f"i32 {k}, label %{label}" for k, label in enumerate(labels))
        place = self.get(register, "i32")
        self.lines.append(f"  switch i32 {place}, label %{labels[0]} [ {places} ]\nafter{self.count}:")

    # -- values --------------------------------------------------------------------------------------------------------

    def get(self, text: str, kind: str) -> str:
        """A register or a number as an LLVM value of a kind."""
        if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", text):
            return f"0x{text[2:].upper()}" if kind == "double" else str(int(text[2:], 16))
        if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", text):
            if kind != "float":
                return str(int(text[2:], 16))
            value = struct.unpack(">f", bytes.fromhex(text[2:]))[0]
            return f"0x{struct.pack('>d', value).hex().upper()}"
        if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", text):
            return str(int(text, 0))
        if text in SPECIAL:
            return f"%{text[1:].replace('.', '')}"
        if self.symbols.get(text) == "shared":
            return "0"  # shared addresses count from the block's memory
        if text in self.buffers or text in self.symbols:
            return self.new(f"ptrtoint ptr {self.buffers.get(text) or f'@{text}'} to i64")
        register = self.kinds[text]
        return self.cast(self.new(f"load {register}, ptr %v{text[1:]}"), register, kind)

    def cast(self, value: str, from_kind: str, kind: str) -> str:
        if from_kind == kind:
            return value
        if {kind, from_kind} & {"double", "float"}:
            return self.new(f"bitcast {from_kind} {value} to {kind}")
        how = "trunc" if int(from_kind[1:]) > int(kind[1:]) else "zext"
        return self.new(f"{how} {from_kind} {value} to {kind}")

    def put(self, register: str, value: str, kind: str) -> None:
        target = self.kinds[register]
        self.lines.append(f"  store {target} {self.cast(value, kind, target)}, ptr %v{register[1:]}")

    def address(self, text: str, space: str) -> str:
        base, _, offset = text.strip("[]").partition("+")
        if base in self.buffers:
            pointer = self.buffers[base]
        elif base in self.symbols:
            pointer = f"@{base}" if self.symbols[base] != "shared" else "%shared"
        elif space == "shared":
            pointer = self.new(f"getelementptr i8, ptr %shared, i64 {self.get(base, 'i64')}")
        else:
            pointer = self.new(f"inttoptr i64 {self.get(base, 'i64')} to ptr")
        return self.new(f"getelementptr i8, ptr {pointer}, i64 {int(offset)}") if offset else pointer

    # -- instructions --------------------------------------------------------------------------------------------------

    def plain(self, parts: list[str], a: list[str], line: str) -> None:
        op, kind = parts[0], parts[-1]
        if op in ("ld", "st"):
            self.memory(parts, a)
        elif op == "call":
            self.call(a)
        elif op in ("mov", "cvta"):
            self.move(a)
        elif op == "setp":
            self.put(a[0], self.compare(parts[1], kind, a[1], a[2]), "i1")
        elif op == "cvt":
            self.convert(parts, a)
        elif op == "selp":
            f = self.type_of(kind)
            one, two, which = self.get(a[1], f), self.get(a[2], f), self.get(a[3], "i1")
            self.put(a[0], self.new(f"select i1 {which}, {f} {one}, {f} {two}"), f)
        else:
            f = self.type_of(kind)
            values = [self.get(x, f) for x in a[1:]]
            value = self.floating(parts, f, values, line) if kind in FLOAT else self.integer(parts, f, values, line)
            self.put(a[0], value, "i64" if "wide" in parts else f)

    def type_of(self, kind: str) -> str:
        return FLOAT.get(kind) or ("i1" if kind == "pred" else f"i{bits_of(kind)}")

    def move(self, a: list[str]) -> None:
        if a[1].startswith("{"):
            low, high = (self.new(f"zext i32 {self.get(x.strip(), 'i32')} to i64") for x in a[1].strip("{}").split(","))
            self.put(a[0], self.new(f"or i64 {low}, {self.new(f'shl i64 {high}, 32')}"), "i64")
        elif a[0].startswith("{"):
            value = self.get(a[1], "i64")
            for name, shift in zip(a[0].strip("{}").split(","), (0, 32), strict=True):
                if name.strip() != "_":
                    part = self.new(f"trunc i64 {self.new(f'lshr i64 {value}, {shift}')} to i32")
                    self.put(name.strip(), part, "i32")
        elif self.symbols.get(a[1]) == "shared":
            self.put(a[0], "0", self.kinds[a[0]])
        else:
            kind = self.kinds[a[0]]
            value = self.get(a[1], kind)
            self.put(a[0], value, "i64" if a[1] in self.buffers or a[1] in self.symbols else kind)

    def floating(self, parts: list[str], f: str, v: list[str], line: str) -> str:
        op, kind = parts[0], parts[-1]
        if "ftz" in parts or "approx" in parts or (op in ROUNDED and "rn" not in parts):
            raise NotImplementedError(line)
        if op in FLOATING:
            return self.new(f"{FLOATING[op]} {f} {v[0]}, {v[1]}")
        if op == "rcp":
            return self.new(f"fdiv {f} {ONE}, {v[0]}")
        if op == "neg":
            return self.new(f"fneg {f} {v[0]}")
        if op == "copysign":  # PTX has the sign first
            return self.new(f"call {f} @llvm.copysign.{kind}({f} {v[1]}, {f} {v[0]})")
        if op in CALLS:
            return self.new(f"call {f} @llvm.{CALLS[op]}.{kind}({', '.join(f'{f} {x}' for x in v)})")
        raise NotImplementedError(line)

    def integer(self, parts: list[str], f: str, v: list[str], line: str) -> str:
        op, kind = parts[0], parts[-1]
        signed, bits = kind.startswith("s"), bits_of(kind) if kind != "pred" else 1
        if op in ("addc", "subc") or (op in ("add", "sub") and "cc" in parts):
            return self.carry(op, v, bits)
        if op in INTEGER:
            return self.new(f"{INTEGER[op]} {f} {v[0]}, {v[1]}")
        if op in ("min", "max"):
            less = self.new(f"icmp {'s' if signed else 'u'}{'lt' if op == 'min' else 'gt'} {f} {v[0]}, {v[1]}")
            return self.new(f"select i1 {less}, {f} {v[0]}, {f} {v[1]}")
        if op in ("shl", "shr"):
            return self.shift("shl" if op == "shl" else "ashr" if signed else "lshr", f, v, bits)
        if op == "neg":
            return self.new(f"sub {f} 0, {v[0]}")
        if op == "not":
            return self.new(f"xor {f} {v[0]}, -1")
        if op in ("mul", "mad"):
            product = self.product(parts, f, v, signed=signed, bits=bits)
            return self.new(f"add {'i64' if 'wide' in parts else f} {product}, {v[2]}") if op == "mad" else product
        if op == "clz":
            return self.new(f"call {f} @llvm.ctlz.{f}({f} {v[0]}, i1 false)")
        if op == "bfe" and not signed:
            shifted = self.new(f"lshr {f} {v[0]}, {v[1]}")
            return self.new(f"and {f} {shifted}, {(1 << int(v[2])) - 1}")
        if op == "shf" and "wrap" in parts:
            which = "fshl" if parts[1] == "l" else "fshr"
            return self.new(f"call i32 @llvm.{which}.i32(i32 {v[1]}, i32 {v[0]}, i32 {v[2]})")
        raise NotImplementedError(line)

    def shift(self, name: str, f: str, v: list[str], bits: int) -> str:
        """An amount of all bits or more shifts all of them out."""
        many = self.new(f"icmp uge {f} {v[1]}, {bits}")
        amount = self.new(f"select i1 {many}, {f} {bits - 1}, {f} {v[1]}")
        value = self.new(f"{name} {f} {v[0]}, {amount}")
        return value if name == "ashr" else self.new(f"select i1 {many}, {f} 0, {f} {value}")

    def product(self, parts: list[str], f: str, v: list[str], *, signed: bool, bits: int) -> str:
        wide, extend = f"i{2 * bits}", "sext" if signed else "zext"
        if not {"wide", "hi"} & {*parts}:
            return self.new(f"mul {f} {v[0]}, {v[1]}")
        x, y = (self.new(f"{extend} {f} {value} to {wide}") for value in v[:2])
        whole = self.new(f"mul {wide} {x}, {y}")
        return whole if "wide" in parts else self.new(f"trunc {wide} {self.new(f'lshr {wide} {whole}, {bits}')} to {f}")

    def carry(self, op: str, v: list[str], bits: int) -> str:
        """add.cc and its like, in one bit more."""
        wide, name = f"i{bits + 1}", op[:3]
        x, y = (self.new(f"zext i{bits} {value} to {wide}") for value in v)
        before = self.new(f"zext i1 {self.new('load i1, ptr %carry')} to {wide}")
        total = self.new(f"{name} {wide} {x}, {y}")
        if op.endswith("c"):
            total = self.new(f"{name} {wide} {total}, {before}")
        top = self.new(f"trunc {wide} {self.new(f'lshr {wide} {total}, {bits}')} to i1")
        self.lines.append(f"  store i1 {top}, ptr %carry")
        return self.new(f"trunc {wide} {total} to i{bits}")

    def compare(self, how: str, kind: str, x: str, y: str) -> str:
        f = self.type_of(kind)
        if kind in FLOAT:
            return self.new(f"fcmp {COMPARE[how]} {f} {self.get(x, f)}, {self.get(y, f)}")
        how = how if how in ("eq", "ne") else ("s" if kind.startswith("s") else "u") + how
        return self.new(f"icmp {how} {f} {self.get(x, f)}, {self.get(y, f)}")

    def convert(self, parts: list[str], a: list[str]) -> None:
        to, source = parts[-2], parts[-1]
        f, g = self.type_of(to), self.type_of(source)
        value = self.get(a[1], g)
        if {"ftz", "sat", "rni", "rm", "rp"} & {*parts}:
            raise NotImplementedError(".".join(parts))
        if to in FLOAT and source in FLOAT:
            if "rmi" in parts:
                value = self.new(f"call {f} @llvm.floor.{to}({f} {value})")
            elif "rpi" in parts:
                value = self.new(f"call {f} @llvm.ceil.{to}({f} {value})")
            elif f == g:
                raise NotImplementedError(".".join(parts))
            else:
                value = self.new(f"{'fpext' if f == 'double' else 'fptrunc'} {g} {value} to {f}")
        elif to in FLOAT:
            value = self.new(f"{'sitofp' if source.startswith('s') else 'uitofp'} {g} {value} to {f}")
        elif source in FLOAT:
            value = self.new(f"{'fptosi' if to.startswith('s') else 'fptoui'} {g} {value} to {f}")
        elif bits_of(to) > bits_of(source):
            value = self.new(f"{'sext' if source.startswith('s') else 'zext'} {g} {value} to {f}")
        elif bits_of(to) < bits_of(source):
            value = self.new(f"trunc {g} {value} to {f}")
        self.put(a[0], value, f)

    def memory(self, parts: list[str], a: list[str]) -> None:
        kind = f"i{bits_of(parts[-1])}"
        space = next((s for s in SPACES if s in parts), "generic")
        place, registers = (a[1], a[0]) if parts[0] == "ld" else (a[0], a[1])
        pointer = self.address(place, space)
        for k, name in enumerate(x.strip() for x in registers.strip("{}").split(",")):
            at = self.new(f"getelementptr i8, ptr {pointer}, i64 {k * bits_of(parts[-1]) // 8}") if k else pointer
            if parts[0] == "ld":
                self.put(name, self.new(f"load {kind}, ptr {at}, align 4"), kind)
            else:
                self.lines.append(f"  store {kind} {self.get(name, kind)}, ptr {at}, align 4")

    def call(self, a: list[str]) -> None:
        returns = a[0].startswith("(")
        result, rest = self.buffers[a[0].strip("()")] if returns else "null", a[1:] if returns else a
        values = [self.buffers[x.strip()] for x in rest[1].strip("()").split(",")] if len(rest) > 1 else []
        given = ", ".join(f"ptr {x}" for x in (result, *values))
        self.lines.append(f"  call void @{rest[0]}({given}, {OF_THREAD})")

    def text(self) -> str:
        head = ["ptr %result", *(f"ptr %arg.{p}" for p in self.parameters), OF_THREAD]
        body = "\n".join([*self.head, "  %carry = alloca i1", *self.lines])
        body = f"entry:\n{body}\n  br label %leave\nleave:\n  ret void"
        return f"define void @{self.name}({', '.join(head)}) {{\n{body}\n}}\n"


def translated(ptx: str) -> tuple[str, int]:
    """The LLVM text of a PTX module, and how many parameters its kernel has."""
    ptx = re.sub(r"//[^\n]*", "", ptx)
    symbols: dict[str, str] = {}
    lines = []
    for space, name, size, values in re.findall(
        r"\.(global|const) \.align \d+ \.b8 (\w+)\[(\d+)\] = \{([^}]*)\};", ptx
    ):
        symbols[name] = space
        numbers = [int(x) for x in values.split(",")]
        numbers += [0] * (int(size) - len(numbers))
        lines.append(f"@{name} = global [{size} x i8] [{', '.join(f'i8 {x}' for x in numbers)}], align 64")
    for name in re.findall(r"\.extern \.shared .*?(\w+)\[\];", ptx):
        symbols[name] = "shared"
    parameter_count = 0
    for kind, name, parameters, body in re.findall(
        r"\.(entry|func)\s*(?:\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)\s*(?:\.\w+[^{;]*)*\{(.*?)\n\}", ptx, re.DOTALL
    ):
        names = re.findall(r"(\w+)\s*(?:,|$)", parameters.strip())
        lines.append(Translation(name, names, body, symbols).text())
        parameter_count = len(names) if kind == "entry" else parameter_count
    for s, f in FLOAT.items():
        lines.append(f"declare {f} @llvm.fma.{s}({f}, {f}, {f})")
        lines += [f"declare {f} @llvm.{name}.{s}({f})" for name in ("fabs", "sqrt", "floor", "ceil")]
        lines += [f"declare {f} @llvm.{name}.{s}({f}, {f})" for name in ("maxnum", "minnum", "copysign")]
    lines += [f"declare {i} @llvm.ctlz.{i}({i}, i1)" for i in ("i32", "i64")]
    lines += [f"declare i32 @llvm.{name}.i32(i32, i32, i32)" for name in ("fshl", "fshr")]
    return "\n".join(lines), parameter_count


class LoadedPtx(NamedTuple):
    """A kernel on the host; its engine owns the code."""

    code: Any
    engine: Any
    shared: Any  # memory of a block


def _compiled(text: str) -> Any:
    """An engine with a module."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)  # in the global context, which outlives the engine
    module.verify()
    generator = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, codemodel="large"
    )
    builder = llvm.create_pass_builder(generator, llvm.create_pipeline_tuning_options(speed_level=1))
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.add_simplify_cfg_pass()
    manager.add_aggressive_dce_pass()
    manager.run(module, builder)
    engine = llvm.create_mcjit_compiler(module, generator)
    engine.finalize_object()
    return engine


class PtxOnHost:
    """`kernels.gpu.device.Device` without a GPU; threads run one after the other.

    Attributes:
        launches: how many there were. size: bytes of its memory.
    """

    name, arch = "PTX on the host", "sm_90"

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.launches, self.size = 0, 1 << 40

    def free_bytes(self) -> int:
        return self.size - sum(map(ctypes.sizeof, self.memory.values()))

    def allocate(self, size: int) -> int:
        block = ctypes.create_string_buffer(size + 64)
        address = (ctypes.addressof(block) + 63) & ~63
        self.memory[address] = block
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def upload(self, array: np.ndarray, address: int) -> None:
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: np.ndarray) -> None:
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def load(self, identity: str, ptx: Callable[[], str], name: str, shared: int) -> LoadedPtx:
        text, count = translated(ptx())
        engine = _compiled(text)
        types = [*[ctypes.c_void_p] * (count + 1), *[ctypes.c_int32] * 3, ctypes.c_void_p]
        code = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address(name))
        return LoadedPtx(code, engine, ctypes.create_string_buffer(shared + 64))

    def launch(self, function: LoadedPtx, size: Launch, arguments: Sequence[int | float]) -> None:
        self.launches += 1
        cells = [ctypes.c_double(one) if isinstance(one, float) else ctypes.c_int64(one) for one in arguments]
        places = [ctypes.addressof(cell) for cell in cells]
        shared = (ctypes.addressof(function.shared) + 63) & ~63
        for block in range(size.blocks):
            for thread in range(size.threads):
                function.code(None, *places, block, size.threads, thread, shared)

    def wait(self) -> None:
        """Nothing runs beside the host."""
