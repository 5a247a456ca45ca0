"""Compiled objects on disk."""

import hashlib
import os
import platform
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from jax import lax

from shiftjax import disk_cache
from shiftjax.errors import ModelError
from shiftjax.kernels import object_cache
from shiftjax.kernels.backends import make_kernel
from shiftjax.kernels.lane_program import LaneProgram
from shiftjax.kernels.llvm import cpu, long_wait
from shiftjax.kernels.llvm.objects import compile_text, object_key
from shiftjax.kernels.llvm.piece_code import piece_text, support_text
from shiftjax.kernels.llvm.target import host
from shiftjax.run.assemblies import start_roots
from shiftjax.run.assemblies.skeleton import LOOP, PLANAR, TURN, Closure, Skeleton
from tests.support.models.sample_programs import advance, pendulum, pendulums, piece, slots, untraceable


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of its own for every test."""
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def result(kernel: cpu.CpuKernel, program: LaneProgram) -> bytes:
    lanes = pendulums(program, 5)
    kernel.evaluate(program, "project", lanes, 0.0, 1e-3)
    advance(kernel, [(program, lanes, np.arange(5))], 20, 1e-3)
    return lanes.tobytes()


def test_a_warm_load_compiles_and_traces_nothing():
    cold = cpu.CpuKernel("f64", 1)
    expected = result(cold, pendulum())
    assert cold.compiled == 5
    warm = cpu.CpuKernel("f64", 1)
    start = time.perf_counter()
    assert result(warm, untraceable(pendulum())) == expected
    assert warm.compiled == 0
    assert time.perf_counter() - start < 5.0, "a generous bound on a busy machine; about 10 ms"


def test_a_long_compilation_is_reported(monkeypatch, caplog):
    """Before it is done, and only where something is compiled."""
    result(cpu.CpuKernel("f64", 1), pendulum())
    assert not caplog.records
    monkeypatch.setattr(long_wait, "LONG", 0.0)
    result(cpu.CpuKernel("f64", 1), pendulum())
    assert not caplog.records
    result(cpu.CpuKernel("f64", 1, cache=False), pendulum())
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        f"compiling: {k} of 5 pieces written" for k in range(1, 5)
    ]


def test_damaged_files_are_compiled_anew(folder):
    expected = result(cpu.CpuKernel("f64", 1), pendulum())
    files = sorted(folder.rglob("*.o"))
    assert len(files) == 7, "five pieces, the step loop, the support"
    files[0].write_bytes(b"")
    files[1].write_bytes(files[1].read_bytes()[:-7])
    files[2].write_bytes(b"x" * 5000)
    whole = files[3].read_bytes()
    files[3].write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    assert result(cpu.CpuKernel("f64", 1), pendulum()) == expected
    assert result(cpu.CpuKernel("f64", 1), untraceable(pendulum())) == expected, "and written again"
    assert not list(folder.rglob(".new-*"))


def test_what_changes_the_code_changes_the_key():
    kernel = cpu.CpuKernel("f64", 1)
    kernel.prepare(pendulum())
    kernel.prepare(pendulum("euler"))
    assert kernel.compiled == 5, "another method is another step loop, no other piece"
    single = cpu.CpuKernel("f32", 1)
    single.prepare(pendulum(precision="f32"))
    assert single.compiled == 5
    assert object_cache.key("a", "b") != object_cache.key("b", "a") != object_cache.key("ab")


def test_a_change_of_the_gpus_code_keeps_the_objects_of_the_processor(tmp_path):
    """Sources are part of a key but for the rooms of other machines."""
    for name in ("llvm/cpu.py", "gpu/kernel.py", "gpu/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def keys() -> tuple[str, str]:
        disk_cache.sources.cache_clear()
        return disk_cache.sources(tmp_path), disk_cache.sources(tmp_path, ("gpu", "wasm"))

    every, ours = keys()
    (tmp_path / "gpu/kernel.py").write_text("another")
    changed, kept = keys()
    assert changed != every and kept == ours
    (tmp_path / "llvm/cpu.py").write_text("another")
    assert keys()[1] != ours
    assert object_key("a", "b", host("f64")) == object_cache.key(
        "a", "b", host("f64").identity(), without=("gpu", "wasm")
    )


def test_equal_keys_at_other_slots_are_other_code():
    program = pendulum()
    layout = program.layout
    moved = piece("pendulum moved", lambda a, v: (lax.max(a, v),), slots(layout, "acc", "dx"), slots(layout, "acc"))
    assert moved.key == program.accumulate[0].key
    assert moved.identity() != program.accumulate[0].identity()


def test_without_the_cache_nothing_is_written(folder):
    kernel = cpu.CpuKernel("f64", 1, cache=False)
    kernel.prepare(pendulum())
    assert kernel.compiled == 5 and not folder.exists()


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(blocked))
    kernel = cpu.CpuKernel("f64", 1)
    kernel.prepare(pendulum())
    assert kernel.compiled == 5


def test_what_another_user_wrote_is_compiled_anew(folder, monkeypatch):
    """Objects are native code: in a shared folder anybody could lay theirs."""
    expected = result(cpu.CpuKernel("f64", 1), pendulum())
    files = sorted(folder.rglob("*.o"))
    assert {path.parent.stat().st_mode & 0o777 for path in files} == {folder.stat().st_mode & 0o777} == {0o700}
    before = [path.stat().st_mtime_ns for path in files]
    monkeypatch.setattr(os, "geteuid", lambda: files[0].stat().st_uid + 1)
    kernel = cpu.CpuKernel("f64", 1)
    assert result(kernel, pendulum()) == expected
    assert kernel.compiled == 5
    assert [path.stat().st_mtime_ns for path in files] == before, "nothing is laid into another user's folder"


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("SHIFTJAX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert disk_cache.folder() == tmp_path / "shiftjax"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert disk_cache.folder() == tmp_path / ".cache" / "shiftjax"


def entries(folder, count: int, kilobytes: int = 64):
    """So many entries, the first of them used the longest time ago, all of them days before now."""
    paths = [object_cache.path(hashlib.sha256(bytes([k])).hexdigest()) for k in range(count)]
    for k, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(1024 * kilobytes))
        os.utime(path, (1e9 + k, 1e9 + k))
    return paths


def test_what_was_not_used_for_the_longest_time_is_removed(folder, monkeypatch):
    """20 entries of 64 KiB and one more in 1 MiB: four fifths of it are left, that which was read among them."""
    monkeypatch.setenv("SHIFTJAX_CACHE_LIMIT", "1")
    paths = entries(folder, 20)
    others = [folder / "recent_studies.json", folder / "aa" / "notes.o", folder / "tests-xla" / paths[0].name]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_bytes(bytes(1 << 20))
    half, fresh = folder / ".new-dead", folder / ".new-growing"
    half.touch()
    fresh.touch()
    os.utime(half, (1e9, 1e9))
    assert disk_cache.read(paths[0]) == bytes(1 << 16)
    object_cache.write("f" * 64, b"code")
    assert [path for path in paths if path.exists()] == [paths[0], *paths[9:]]
    assert object_cache.read("f" * 64) == b"code"
    assert all(other.exists() for other in others) and fresh.exists() and not half.exists()
    entries(folder, 20)
    object_cache.write("e" * 64, b"code")
    assert all(path.exists() for path in paths), "sizes are not added up for each entry"


def test_roots_of_mechanisms_are_entries_as_code_is(folder, monkeypatch):
    """Those of a four-bar with its crank held, which do not come with the package: computed once, under the limit."""
    four_bar = Skeleton((TURN,) * 3, (Closure(LOOP, ((0, 1), (2,))),), PLANAR)
    start_roots.start_roots.cache_clear()
    expected = start_roots.start_roots(four_bar)
    (path,) = folder.rglob("*.npz")
    assert expected[1].shape[0] == 2 and disk_cache.ENTRY.fullmatch(path.name)
    assert disk_cache.ROOM.fullmatch(path.parent.name) and path.parent.parent == folder
    start_roots.start_roots.cache_clear()
    monkeypatch.setattr(start_roots, "by_monodromy", None)
    for value, before in zip(start_roots.start_roots(four_bar), expected, strict=True):
        np.testing.assert_array_equal(value, before)
    start_roots.start_roots.cache_clear()


def test_a_cache_without_a_limit_grows(folder, monkeypatch):
    monkeypatch.setenv("SHIFTJAX_CACHE_LIMIT", "none")
    paths = entries(folder, 20)
    object_cache.write("f" * 64, bytes(1 << 20))
    assert all(path.exists() for path in paths) and not (folder / ".swept").exists()


@pytest.mark.parametrize("text", ["0", "-3", "2GB", "nan", "\u0663"])
def test_a_limit_of_the_cache_that_is_none(monkeypatch, text):
    monkeypatch.setenv("SHIFTJAX_CACHE_LIMIT", text)
    with pytest.raises(ModelError, match=r"SHIFTJAX_CACHE_LIMIT: found .*whole number of MiB above 0, or none"):
        make_kernel("cpu", "f64", 1)


def test_processes_that_share_a_cache_hold_its_limit(folder):
    """Three that write 3 MiB each into 1 MiB, and read what the others may have removed."""
    code = """if True:
        import hashlib, sys
        from shiftjax.kernels import object_cache
        for k in range(48):
            name = hashlib.sha256(f"{sys.argv[1]} {k}".encode()).hexdigest()
            object_cache.write(name, bytes([k]) * (1 << 16))
            for other in range(3):
                name = hashlib.sha256(f"{other} {k // 2}".encode()).hexdigest()
                assert object_cache.read(name) in (None, bytes([k // 2]) * (1 << 16))
    """
    environment = {**os.environ, "SHIFTJAX_CACHE_LIMIT": "1"}
    started = [subprocess.Popen([sys.executable, "-c", code, str(k)], env=environment) for k in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    size = sum(path.stat().st_size for path in folder.rglob("*.o"))
    assert 0.5 * (1 << 20) < size < 1.7 * (1 << 20), "each may have written a fifth since it added up sizes"


def test_a_run_needs_nothing_of_what_was_removed(folder):
    expected = result(cpu.CpuKernel("f64", 1), pendulum())
    for path in sorted(path for path in folder.rglob("*") if path.is_file())[::2]:
        path.unlink()
    assert result(cpu.CpuKernel("f64", 1), pendulum()) == expected


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 relocations")
def test_objects_can_be_placed_anywhere() -> None:
    """No 32-bit relative address in compiled pieces: the loader may put their parts more than 2 GiB apart."""
    target = host("f64")
    program = pendulum()
    for own in program.pieces():
        assert not relative_addresses(compile_text(piece_text(own, target), target, optimize=False)), own.name
    assert not relative_addresses(compile_text(support_text(target), target, optimize=False))


def relative_addresses(code: bytes) -> list[int]:
    """Types of the 32-bit relative relocations (R_X86_64_PC32, PLT32, GOTPCREL ...) of an ELF64 object."""
    start, size, count = *struct.unpack_from("<Q", code, 0x28), *struct.unpack_from("<HH", code, 0x3A)
    found = []
    for k in range(count):
        kind, offset, length = (
            struct.unpack_from("<I", code, start + k * size + 4)[0],
            *struct.unpack_from("<QQ", code, start + k * size + 24),
        )
        if kind == 4:  # SHT_RELA: offset, info, addend
            kinds = [struct.unpack_from("<I", code, offset + at + 8)[0] for at in range(0, length, 24)]
            found += [kind for kind in kinds if kind in (2, 4, 9, 41, 42)]
    return found
