"""`shiftjax bench`: how fast and how exact models run on this machine, and what the machine lacks.

Exit codes: 0; 3 where members failed, or with --doctor where the backend that is asked for cannot run; 2 bad input.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TextIO

from shiftjax.bench import card, doctor, figure, rate_lines, rates, tables
from shiftjax.bench.first_calls import first_calls
from shiftjax.bench.rivals.race import RIVALS, raced
from shiftjax.bench.timing import line, today
from shiftjax.bench.workload import SPAN, Workload, workload
from shiftjax.cli import common, parsing
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.ensembles import picture
from shiftjax.errors import ModelError, one_of
from shiftjax.kernels.backends import BACKENDS
from shiftjax.kernels.forks import cores
from shiftjax.models import names

MODES = ("doctor", "rivals", "card", "read")
MEMBERS, MEMBERS_OF_GPU, MEMBERS_OF_RIVALS = 4096, 1 << 20, 1024
SECONDS, SECONDS_OF_CARD = 20.0, 240.0
ROUNDS = 5
SHOWN = ("model", "backend", "precision", "span", "step", "tolerance")  # in the first line of a table
OF_RUNS = ("span", "step", "tolerance", "method")
ALLOWED = {  # what a mode has no use for
    "doctor": ("models", "members", "precision", "threads", "seconds", "plot", "no_start", "rival", "rounds", *OF_RUNS),
    "rivals": ("seconds", "plot", "no_start", "tolerance", "method"),
    "card": ("members", "precision", "backend", "plot", "no_start", "rival", "rounds", *OF_RUNS),
    "read": ("models", "members", "precision", "backend", "threads", "seconds", "no_start", "rival", "rounds",
             "output", *OF_RUNS),
    "": ("rival", "rounds"),
}  # fmt: skip


def define(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    line = "names in the library (see `shiftjax models`) or paths of files; left out, four_bar, with --card all"
    add("models", metavar="MODEL", nargs="*", help=line)
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--doctor", action="store_true", help="say what this machine lacks for each backend; no MODEL")
    line = "in turn with other codes, those that are installed, on the same mechanism of hinges"
    modes.add_argument("--rivals", action="store_true", help=line)
    line = "the report card: every model in f64 and f32, with speed, gap, energy and gradient error"
    modes.add_argument("--card", action="store_true", help=line)
    modes.add_argument("--read", action="append", metavar="FILE", help="show what --output wrote; may be repeated")
    line = f"up to so many, from 1 by factors of {rates.FACTOR}; {MEMBERS}, with backend gpu {MEMBERS_OF_GPU}"
    add("--members", type=parsing.count, metavar="N", help=line)
    add("--backend", metavar="NAME", help="cpu, gpu or xla; left out, cpu")
    add("--precision", choices=list(card.PRECISIONS), help="left out, f64")
    add("--span", type=parsing.seconds, metavar="T", help=f"duration of the motion [s]; left out, {SPAN:g}")
    add("--step", type=parsing.seconds, metavar="H", help="step [s]; left out, 1 ms")
    add("--tolerance", type=parsing.positive, metavar="X", help="what a step may be off by [rad], in place of --step")
    add("--method", metavar="NAME", help="as of `shiftjax run`")
    add("--threads", type=parsing.count, metavar="N", help="of the processor; left out, all")
    line = f"for each model, {SECONDS:g}, or for the whole card, {SECONDS_OF_CARD:g}: what does not fit is left out"
    add("--seconds", type=parsing.seconds, metavar="S", help=line)
    add("--no-start", action="store_true", help="do not time first calls in processes of their own")
    add("--rival", action="append", metavar="NAME", help=f"with --rivals: only this one of {', '.join(RIVALS)}")
    add("--rounds", type=parsing.count, metavar="N", help=f"with --rivals: timed calls of each; {ROUNDS}")
    add("--output", metavar="FILE", help="write one JSON line a measurement")
    add("--plot", metavar="FILE", help="draw rates against members, as .png, .svg or .pdf; also of files of --read")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print the lines as JSON in place of tables")


def call(options: argparse.Namespace) -> int:
    mode = next((name for name in MODES if getattr(options, name)), "")
    common.refuse(options, ALLOWED[mode], f"with --{mode}" if mode else "without --rivals", "what has a meaning there")
    one_of("--backend", options.backend or "cpu", BACKENDS)
    if options.step is not None and options.tolerance is not None:
        raise ModelError("--tolerance", "beside --step", "one of them", "Leave one of them out.")
    if options.plot is not None:
        picture.check_target(options.plot, force=options.force)
        _check_apart(options)
    if mode == "read":
        return _read(options)
    with _lines(options) as write:
        measure = {"doctor": _doctor, "rivals": _rivals, "card": _card, "": _rates}[mode]
        return measure(options, write)


def _check_apart(options: argparse.Namespace) -> None:
    """Raises where the picture would replace the lines that it is drawn of."""
    for name, files in (("output", [options.output]), ("read", options.read or [])):
        if any(file is not None and Path(file).resolve() == Path(options.plot).resolve() for file in files):
            fault = f"the file of --{name}"
            raise ModelError(f"--plot {options.plot}", fault, "a file of its own", "Choose another name.")


class _Lines:
    """Lines of figures: into a file as soon as they are there, and printed where that is asked for.

    All have the date on which the command began, so that those of a series over midnight stand together.
    """

    def __init__(self, file: TextIO | None, *, printed: bool) -> None:
        self._file, self.printed, self._date = file, printed, today()

    def add(self, benchmark: str, figures: Mapping[str, Any]) -> None:
        """One line."""
        text = line(benchmark, figures, self._date)
        if self._file is not None:
            try:
                self._file.write(text + "\n")
                self._file.flush()
            except OSError as error:
                raise _unwritten(self._file.name, error) from error
        if self.printed:
            common.put_json(json.loads(text))


@contextmanager
def _lines(options: argparse.Namespace) -> Iterator[_Lines]:
    """Where lines go; refuses a file that cannot be written before any time is spent."""
    if options.output is None:
        yield _Lines(None, printed=options.json)
        return
    target, todo = Path(options.output), "Use --force to replace it."
    if target.exists() and not (options.force and target.is_file()):
        raise ModelError(f"--output {target}", "something of that name", "a new name", todo)
    try:
        file = target.open("w", encoding="utf-8")
    except OSError as error:
        raise _unwritten(target, error) from error
    try:
        yield _Lines(file, printed=options.json)
    finally:
        with suppress(OSError):  # every line is on its way already: where one is not, `add` has said so
            file.close()
    common.say(f"written: {target}")


def _unwritten(target: str | Path, error: OSError) -> ModelError:
    """The error of lines that cannot be written."""
    why = error.strerror or str(error)
    return ModelError(f"--output {target}", why, "a file that can be written", "Choose another place.")


def _works(options: argparse.Namespace) -> list[Workload]:
    """The workloads that are asked for, all read before the first is measured."""
    settings = {name: getattr(options, name) for name in (*OF_RUNS, "precision", "backend", "threads")}
    settings = {name: value for name, value in settings.items() if value is not None}
    chosen = [(name, common.open_model(options, name)) for name in options.models or ["four_bar"]]
    return [replace(workload(model, **settings), name=name) for name, model in chosen]


def _rates(options: argparse.Namespace, lines: _Lines) -> int:
    """Rates against the number of members."""
    failed, drawn = 0, []
    for work in _works(options):
        most = options.members or (MEMBERS_OF_GPU if work.backend == "gpu" else MEMBERS)
        start = {} if options.no_start else first_calls(work)
        measured = []
        for figures in rates.rates(work, rates.series(most), options.seconds or SECONDS):
            lines.add("bench", {**figures, **start})
            measured.append({**figures, **start})
            failed += figures["failed"]
        drawn += measured
        if not lines.printed:
            _show_rates(measured)
        if measured[-1]["members"] < most:
            common.say(f"note: {work.name}: larger ensembles do not fit into the time: give more --seconds")
    _plot(options, drawn)
    return SOME_FAILED if failed else 0


def _show_rates(lines: Sequence[Mapping[str, Any]], apart: str = "") -> None:
    """A model's rates as a person reads them.

    Args:
        apart: by what they differ from others that are shown, beside what the first line has of all.
    """
    first = lines[0]
    steps = f"tolerance {first['tolerance']:g}" if first["step"] is None else f"steps of {first['step']:g} s"
    settings = (first["backend"], first["precision"], f"{first['span']:g} s", steps, *filter(None, [apart]))
    common.put(f"{first['model']}: {', '.join(settings)}")
    if "cold_compile_s" in first:
        for kind, words in (("cold", "first call, nothing compiled"), ("warm", "compiled code on disk")):
            compile_s, call_s = first[f"{kind}_compile_s"], first[f"{kind}_call_s"]
            common.put(f"{words}: compiling {compile_s:.3g} s, all {call_s:.3g} s")
    common.put()
    common.table(*tables.rates_table(lines), left=())
    common.put()
    alone = [one for one in lines if one["members"] == 1]
    if alone:
        factors = (tables.rate(alone[0][name]) for name in ("real_time", "real_time_stepping"))
        common.put("real time, one member: {} times as a whole call, {} times in the step loop".format(*factors))
    most = max(lines, key=lambda one: one["real_time"])
    if most["members"] > 1:
        common.put(f"real time, {most['members']} members together: {tables.rate(most['real_time'])} times")
    if first["limit_per_s"]:
        limit, whose = tables.rate(first["limit_per_s"]), first["limit_of"]
        common.put(f"limit: {limit} multiplications a second of one {whose}; a step has {first['operations']}")


def _card(options: argparse.Namespace, lines: _Lines) -> int:
    """The report card; what is measured until an error or Ctrl-C ends it is shown, too."""
    rows, chosen = [], [*(options.models or names())]
    try:
        for figures in card.card(chosen, options.threads, options.seconds or SECONDS_OF_CARD):
            lines.add("card", figures)
            rows.append(figures)
    finally:
        rows.sort(key=lambda row: chosen.index(row["model"]))
        if rows and not lines.printed:
            common.table(*tables.card_table(rows), left=(0, 1))
    return SOME_FAILED if any("refused" in row or row["failed"] for row in rows) else 0


def _rivals(options: argparse.Namespace, lines: _Lines) -> int:
    """All codes in turn."""
    chosen = options.rival or list(RIVALS)
    for name in chosen:
        one_of("--rival", name, RIVALS)
    for work in _works(options):
        members, threads = options.members or MEMBERS_OF_RIVALS, options.threads or cores()
        rows, stopped = raced(work, members, threads, options.rounds or ROUNDS, chosen, common.say)
        for row in rows:
            lines.add("rivals", {**work.settings(), **row})
        if not lines.printed:
            common.put(f"{work.name}: steps of {work.step:g} s over {work.span:g} s, {threads} threads; ours by RK4")
            common.put()
            common.table(*tables.rivals_table(rows), left=(0, 1, 11))
        if stopped is not None:
            raise stopped
    return 0


def _doctor(options: argparse.Namespace, lines: _Lines) -> int:
    """What this machine has and lacks."""
    findings = doctor.doctor()
    for finding in findings:
        lines.add("doctor", asdict(finding))
    backend = options.backend or ""
    if not lines.printed:
        common.table(*tables.doctor_table(findings), left=range(5))
        common.put()
        able = [name for name in ("cpu", "gpu", "xla") if doctor.can_run(findings, name)]
        common.put(f"backends that can run here: {', '.join(able) or 'none'}")
    if backend and not doctor.can_run(findings, backend):
        common.say(f"backend {backend} cannot run here")
        return SOME_FAILED
    return 0


def _read(options: argparse.Namespace) -> int:
    """What files have, as tables or as a picture."""
    lines = [one for path in options.read for one in rate_lines.lines_of(path, common.say)]
    if options.json:
        for one in lines:
            common.put_json({name: value for name, value in one.items() if name != rate_lines.FILE})
    elif options.plot is None:
        groups = rate_lines.by_workload(lines)
        for group, apart in zip(groups, rate_lines.differences(groups, SHOWN), strict=True):
            _show_rates(group, apart)
    _plot(options, lines)
    return 0


def _plot(options: argparse.Namespace, lines: Sequence[Mapping[str, Any]]) -> None:
    if options.plot is not None:
        figure.draw(lines, Path(options.plot))
        common.say(f"drawn: {options.plot}")
