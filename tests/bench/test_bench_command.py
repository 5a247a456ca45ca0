"""`shiftjax bench`: what it measures is what was run, files and refusals. Real commands, in this process."""

import io
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftjax.bench import card, first_calls, rates, timing
from shiftjax.bench.machine import machine
from shiftjax.bench.tables import rates_table
from shiftjax.bench.watched_kernel import watched
from shiftjax.bench.workload import workload
from shiftjax.cli import common, main
from shiftjax.errors import ModelError
from shiftjax.kernels.backends import BACKENDS
from shiftjax.models import path

EXACT = 1e-12  # m: gap of a four-bar in f64
SLOPES, SLOPES_F32 = 1e-8, 1e-3  # of a slope: differences of fourth order, f32 over a hundred steps
SHORT = ("--span", "0.02", "--no-start", "--threads", "1")


def test_s17_figures_are_those_of_the_runs(shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "ROUNDS_S", 0.05)
    days = iter(f"2026-11-{day}" for day in range(10, 31))  # a midnight before each measurement
    monkeypatch.setattr(timing.time, "strftime", lambda _: next(days))
    target = tmp_path / "figures.jsonl"
    code, out, err = shell("bench", "four_bar", "--members", "6", *SHORT, "--json", "--output", str(target))
    lines = [json.loads(text) for text in out.splitlines()]
    assert code == 0 and err == f"written: {target}\n"
    assert [json.loads(text) for text in target.read_text().splitlines()] == lines
    assert [line["members"] for line in lines] == [1, 4, 6]
    for line in lines:
        assert line["benchmark"] == "bench" and line["cores"] == machine()["cores"] and line["date"] == "2026-11-10"
        assert line["member_steps"] == 20 * line["members"]
        assert line["steps_per_s"] == pytest.approx(line["member_steps"] / line["call_s"])
        assert line["real_time"] == pytest.approx(0.02 * line["members"] / line["call_s"])
        assert line["real_time_stepping"] > line["real_time"], "the step loop is a part of the call"
        assert 0.0 < line["of_limit"] < 1.0, "no loop does more than its units can"
        assert line["gap"] < EXACT and line["failed"] == 0 and line["lane_bytes"] % 8 == 0
        assert line["estimated_bytes_a_member"] > line["lane_bytes"]
    code, out, _ = shell("bench", "--read", str(target))
    assert code == 0 and out.startswith("four_bar: cpu, f64, 0.02 s, steps of 0.001 s\n")
    assert [row.split()[0] for row in out.splitlines()[3:6]] == ["1", "4", "6"] and "real time, one member" in out


def test_a_file_with_a_tolerance_in_f32(shell, tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(path("pendulum").read_text(encoding="utf-8"), encoding="utf-8")
    settings = ("--tolerance", "1e-6", "--method", "dopri5", "--precision", "f32")
    code, out, _ = shell("bench", str(file), "--members", "1", *SHORT, *settings, "--json")
    (line,) = map(json.loads, out.splitlines())
    assert code == 0 and (line["model"], line["step"], line["precision"]) == (str(file), None, "f32")
    assert (line["tolerance"], line["method"]) == (1e-6, "dopri5") and 0 < line["member_steps"] < 20


def test_fast_models_have_steps_and_spans_of_their_files() -> None:
    fast, usual = workload("andrews"), workload("pendulum")
    assert (fast.span, fast.step, usual.span, usual.step) == (0.05, 1e-5, 1.0, 1e-3)
    assert workload("andrews", span=0.1, step=1e-4).step == 1e-4 and workload("pendulum", tolerance=1e-6).step is None


def test_only_motion_that_members_make_counts(shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "ROUNDS_S", 0.0)
    code, out, _ = shell("bench", "four_bar", "--step", "0.5", "--span", "1", *SHORT[2:], "--members", "1")
    assert code == 3 and "real time, one member: 0 times as a whole call, 0 times in the step loop" in out
    assert "  0%  " in out.splitlines()[3], "a limit was measured, and no step was done"
    document = json.loads(path("pendulum").read_text(encoding="utf-8"))
    document["events"] = {"half": {"of": "t - 10.5 ms", "action": "stop"}}
    (tmp_path / "stopped.json").write_text(json.dumps(document), encoding="utf-8")
    for settings in ((), ("--tolerance", "1e-6")):
        words = ("bench", str(tmp_path / "stopped.json"), "--members", "1", *SHORT, *settings, "--json")
        line = json.loads(shell(*words)[1])
        assert line["real_time"] == pytest.approx(0.0105 / line["call_s"], rel=1e-6), "not the span"


def test_a_limit_that_is_not_measured_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "limit_of", lambda work: (0.0, "not measured"))
    (line,) = rates.rates(workload("pendulum", span=0.01, threads=1), [1], 0.0)
    assert line["of_limit"] is None and rates_table([line])[1][0][4] == "not measured"


def with_integrator(folder: Path, **integrator: Any) -> str:
    """A file of a pendulum whose integrator says so."""
    document = json.loads(path("pendulum").read_text(encoding="utf-8"))
    document["model_parameters"]["integrators"] = [integrator]
    (folder / "own.json").write_text(json.dumps(document), encoding="utf-8")
    return str(folder / "own.json")


def test_the_method_of_a_file_is_measured(shell, tmp_path: Path) -> None:
    euler = workload(with_integrator(tmp_path, type="euler", time_span=10, time_step=0.01), method="file")
    assert (euler.method, euler.step, euler.tolerance) == ("euler", 1e-3, None)
    name = with_integrator(tmp_path, type="ode113", relative_error=1e-7, time_span=10, time_step=0.01)
    words = ("bench", name, "--members", "1", *SHORT, "--method", "file")
    line = json.loads(shell(*words, "--json")[1])
    assert (line["method"], line["tolerance"], line["step"]) == ("dopri5", 1e-7, None) and line["failed"] == 0
    assert "found 0.001 beside method='file'" in shell(*words, "--step", "0.001")[2]


def test_spans_left_out_are_whole_steps(tmp_path: Path) -> None:
    whole = workload(with_integrator(tmp_path, type="rk4", time_span=0.5, time_step=3e-4))
    assert (whole.step, whole.span) == (3e-4, pytest.approx(1666 * 3e-4, rel=1e-12))
    brief = workload(with_integrator(tmp_path, type="rk4", time_span=4e-4, time_step=0.01))
    assert (brief.step, brief.span) == (4e-4, 4e-4)
    assert workload("pendulum", step=0.3).span == pytest.approx(0.9)
    name = with_integrator(tmp_path, type="rk4", time_span=0, time_step=0.01)
    with pytest.raises(ModelError, match="found a time_span of 0 s in the file; allowed: a span above 0 s"):
        workload(name)
    assert workload(name, span=0.1).span == 0.1


def test_rates_end_where_their_time_does(shell) -> None:
    code, out, err = shell("bench", "four_bar", "--members", "64", *SHORT, "--seconds", "1e-9")
    head, row, after = out.splitlines()[2:5]
    assert code == 0 and head.split()[0] == "members" and row.split()[0] == "1" and not after
    assert "do not fit into the time" in err
    assert rates.series(64) == [1, 4, 16, 64] and rates.series(5) == [1, 4, 5] and rates.series(1) == [1]


def test_a_model_that_does_not_start_says_why(shell, tmp_path: Path) -> None:
    document = json.loads(path("four_bar").read_text(encoding="utf-8"))
    document["frames"][0]["T"] = [5.0, 0.0, 0.0]  # m: the ground is longer than all links
    (tmp_path / "open.json").write_text(json.dumps(document), encoding="utf-8")
    code, out, err = shell("bench", str(tmp_path / "open.json"), *SHORT)
    assert (code, out) == (2, "") and "no member that runs: " in err and "not_assembled" not in out


def test_a_watched_backend_is_there_for_a_while_only() -> None:
    before = set(BACKENDS)
    with watched("cpu", copied=2) as watch:
        work = workload("four_bar", span=0.01, threads=1)
        plain, seen = work.run(3), work.on(watch.backend).run(3)
    assert set(BACKENDS) == before
    np.testing.assert_array_equal(plain.certificate["gap"], seen.certificate["gap"])
    assert watch.lanes == 3 and watch.table.shape == (watch.program.layout.row_count, 2)
    assert 0.0 < watch.stepping.wall_s < seen.wall_s
    varied = watch.table[[*watch.program.layout.rows("p")]]
    assert np.isin(work.values(3)[:2], varied).all(), "lanes are copied as they are before they are stepped"


def test_first_calls_begin_with_an_empty_cache(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Processes stand in this one here: the folder of compiled code is all that the second has of the first."""
    folders: list[list[Path]] = []

    def run(words: list[str], *, env: dict[str, str], **_: object) -> SimpleNamespace:
        assert words[1:3] == ["-m", "shiftjax.bench.first_calls"]
        monkeypatch.setenv("SHIFTJAX_CACHE_DIR", env["SHIFTJAX_CACHE_DIR"])
        folders.append(list(Path(env["SHIFTJAX_CACHE_DIR"]).rglob("*.o")))
        first_calls.main(words[3])
        return SimpleNamespace(stdout=capsys.readouterr().out)

    monkeypatch.setattr(subprocess, "run", run)
    figures = first_calls.first_calls(workload("pendulum", threads=1))
    assert not folders[0] and folders[1], "the first fills what the second has"
    assert figures["cold_compile_s"] > figures["warm_compile_s"] > 0.0
    assert figures["cold_call_s"] > figures["cold_compile_s"] and figures["warm_call_cpu_s"] > 0.0


def test_a_first_call_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_calls.sys, "executable", os.devnull)
    with pytest.raises(ModelError, match="a first call that does not end well"):
        first_calls.first_calls(workload("pendulum"))
    monkeypatch.setattr(first_calls.sys, "executable", "false")  # a program that ends with 1 and says nothing
    with pytest.raises(ModelError, match="exit status 1"):
        first_calls.first_calls(workload("pendulum"))


def test_f19_the_card_has_both_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "SPAN", 0.05)
    exact, coarse = card.card(["four_bar"], 1, 1e3)
    assert (exact["precision"], coarse["precision"]) == ("f64", "f32")
    assert exact["gap"] < EXACT < 1e3 * EXACT < coarse["gap"] < 1e-5, "f32 closes loops to its own rounding"
    assert exact["gradient_error"] < SLOPES < coarse["gradient_error"] < SLOPES_F32
    assert exact["failed"] == coarse["failed"] == 0 and exact["stepping_per_cpu_s"] > 0
    left_out = [*card.card(["four_bar"], 1, 0.0)]
    assert [line["gradient_left_out"] for line in left_out] == ["no time was left"] * 2
    assert all("gradient_error" not in line for line in left_out)


def test_a_card_goes_on_and_loses_nothing(shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "SPAN", 0.01)
    monkeypatch.setattr(card, "MEMBERS", 2)
    odd = with_integrator(tmp_path, type="rk4", time_span=10, time_step=3e-4)
    target = tmp_path / "card.jsonl"
    words = ("bench", "--card", "no_such", odd, "--threads", "1", "--seconds", "1e-9", "--output", str(target))
    code, out, _ = shell(*words)
    lines = [json.loads(text) for text in target.read_text(encoding="utf-8").splitlines()]
    assert code == 3 and [line["model"] for line in lines] == ["no_such"] * 2 + [odd] * 2
    assert all("no_such" in line["refused"] for line in lines[:2]) and lines[0]["refused"] in out
    assert lines[2]["span"] == pytest.approx(33 * 3e-4) and lines[2]["failed"] == 0

    def ended(pair: card.Pair) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(card, "graded", ended)
    code, out, _ = shell(*words[:3], odd, "--threads", "1", "--json")
    lines = [json.loads(text) for text in out.splitlines()]
    assert code == 130 and [line.get("gradient_left_out") for line in lines[2:]] == ["the card was ended before"] * 2


def test_what_was_measured_is_drawn(shell, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = [line_of(n, method=method, of_limit=None) for method in (None, "dopri5") for n in (1, 8)]
    (tmp_path / "a.svg").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    target = tmp_path / "rates.svg"
    code, _, err = shell("bench", "--read", str(tmp_path / "a.svg"), "--plot", str(target))
    drawn = target.read_text(encoding="utf-8")
    assert code == 0 and err == f"drawn: {target}\n"
    assert "m, cpu, f64, method left out" in drawn and "m, cpu, f64, method dopri5" in drawn
    for words in (("--read", str(tmp_path / "a.svg")), ("m", "--output", str(tmp_path / "b" / ".." / "a.svg"))):
        code, _, err = shell("bench", *words, "--plot", str(tmp_path / "a.svg"), "--force")
        assert code == 2 and f"--plot {tmp_path / 'a.svg'}: found the file of {words[-2]}" in err
    assert len((tmp_path / "a.svg").read_text(encoding="utf-8").splitlines()) == 4, "nothing measured is lost"


def line_of(members: int, **changes: Any) -> dict[str, Any]:
    """A line of rates, as `--output` writes it."""
    texts = dict.fromkeys(("varied", "limit_of", "device", "cpu"), "x")
    names = ("steps_per_s", "stepping_per_s", "stepping_per_cpu_s", "real_time", "real_time_stepping", "limit_per_s",
             "estimated_bytes_a_member")  # fmt: skip
    none = dict.fromkeys(("tolerance", "method", "threads", "gap", "energy_error", "measured_bytes_a_member"))
    line = {**texts, **dict.fromkeys(names, 7.0), **none, "benchmark": "bench", "model": "m", "backend": "cpu",
            "precision": "f64", "members": members, "of_limit": 0.5, "span": 1.0, "step": 1e-3, "failed": 0,
            "operations": 9, "cores": 2, "versions": {"jax": "1"}, "date": "2026-11-26"}  # fmt: skip
    return {**line, **changes}


def test_only_what_differs_in_members_alone_is_one_table(shell, tmp_path: Path) -> None:
    differing = ({}, {"tolerance": 1e-6, "step": None}, {"method": "euler"}, {"varied": "y"}, {"threads": 1},
                 {"cpu": "z"}, {"date": "2026-11-27"}, {"versions": {"jax": "2"}})  # fmt: skip
    lines = [line_of(n, **changes) for n in (1, 4) for changes in (*differing, {"model": "n", "varied": "v"})]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, out, _ = shell("bench", "--read", str(tmp_path / "a.jsonl"), "--read", str(tmp_path / "b.jsonl"))
    heads = [row for row in out.splitlines() if row.startswith("m: cpu, f64, 1 s, ")]
    assert code == 0 and len(heads) == len(set(heads)) == 2 * len(differing), "each says how it differs"
    assert "method euler" in heads[2] and "versions jax 2" in heads[7] and heads[8].endswith(f"{tmp_path / 'b.jsonl'}")
    assert f"n: cpu, f64, 1 s, steps of 0.001 s, file {tmp_path / 'b.jsonl'}\n" in out, "other models are not like it"


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("[1]", "found no figures of a benchmark"),
        ("{", "found lines that are no figures"),
        (json.dumps(line_of(1, span=float("nan"))), "found lines that are no figures"),
        (json.dumps({k: v for k, v in line_of(1).items() if k != "gap"}), "found no `gap`; allowed: a line of rates"),
        (json.dumps(line_of(1, span="1")), 'found `span` "1"; allowed: a number.'),
        (json.dumps(line_of(1, threads=1.5)), "found `threads` 1.5; allowed: a whole number or null."),
        (json.dumps(line_of(0)), "found `members` 0; allowed: 1 or more."),
        (json.dumps(line_of(1, cold_compile_s=1.0)), "found no `cold_call_s`"),
    ],
)
def test_a_line_that_was_not_written_is_named(shell, tmp_path: Path, row: str, text: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join([json.dumps(line_of(1)), row, json.dumps(line_of(4)), ""]), encoding="utf-8")
    code, out, err = shell("bench", "--read", str(file))
    assert (code, out) == (2, "") and f"{file}, line 2: {text}" in err and len(err.splitlines()) == 1


def test_a_line_that_was_cut_off_is_left_out(shell, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(line_of(1)) + "\n" + json.dumps(line_of(4))[:90], encoding="utf-8")
    code, out, err = shell("bench", "--read", str(file), "--json")
    assert code == 0 and json.loads(out) == line_of(1) and err == f"note: {file}, line 2: cut off: it is left out\n"


def test_only_a_file_that_cannot_be_written_is_to_blame(shell, tmp_path: Path, monkeypatch) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    words = ("bench", "pendulum", "--members", "1", *SHORT, "--json")
    monkeypatch.setattr(rates, "ROUNDS_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(common, "put_json", gone)
        patch.setattr("sys.stderr", io.StringIO())  # which the command closes
        assert main([*words, "--output", str(tmp_path / "a.jsonl")]) == 1, "as of all commands whose reader has gone"
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8"))["members"] == 1
    if Path("/dev/full").exists():
        monkeypatch.setattr(Path, "exists", lambda _: False)
        code, _, err = shell(*words, "--output", "/dev/full")
        assert code == 2 and "--output /dev/full: found No space left on device" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("no_such_model",), "no_such_model"),
        (("--backend", "abacus"), "abacus"),
        (("--step", "1e-3", "--tolerance", "1e-6"), "--tolerance: found beside --step"),
        (("--rounds", "3"), "--rounds: found without --rivals"),
        (("--doctor", "--members", "3"), "--members: found with --doctor"),
        (("--card", "--backend", "xla"), "--backend: found with --card"),
        (("--rivals", "--rival", "chalk"), "chalk"),
        (("--read", "nothing.jsonl"), "nothing.jsonl"),
        (("--read", "nonsense.txt"), "lines that are no figures"),
        (("--plot", "rates.doc"), "suffix '.doc'"),
        (("--output", "nonsense.txt"), "something of that name"),
        (("--output", "missing/f.jsonl"), "No such file"),
        (("--method", "abacus", "--no-start"), "abacus"),
        (("--span", "0.0205"), "whole steps of 0.001 s"),
    ],
)
def test_bad_input_gets_one_error(shell, tmp_path: Path, monkeypatch, words: tuple[str, ...], text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nonsense.txt").write_text("nonsense", encoding="utf-8")
    code, out, err = shell("bench", *words)
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and text in err
