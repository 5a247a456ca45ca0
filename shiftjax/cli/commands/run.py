"""`shiftjax run`: one model, one run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from shiftjax.cli import common, parsing, result_tables, running
from shiftjax.cli.file_logs import FileLogs
from shiftjax.run.results.result import Result
from shiftjax.run.simulate import simulate

# options that say what a stored study says
OF_STUDY = "span step method tolerance output_step metric set derive drive tie hold branch strict_start".split()
OF_STUDY += "backend precision no_logger event strict_inertia energy_limit gap_limit angle_limit".split()
OF_STUDY += ["accuracy", "singular"]


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    parsing.add_run(parser)
    line = "of a stored study, given instead of MODEL: run this member again, as it was; a number, or a choice, as "
    line += "best:1:swing, of which the first"
    parser.add_argument("--member", metavar="K", help=line)
    line = "do not write the CSV files that loggers of the model's file name"
    parser.add_argument("--no-logger", action="store_true", help=line)
    parser.add_argument("--log", action="store_true", help="print every change of coordinates")
    parser.add_argument("--log-jacobian", action="store_true", help="the same with the Jacobian block at that instant")


def call(options: argparse.Namespace) -> int:
    if options.member is not None:
        return _again(options)
    model = common.open_model(options)
    wanted = "none" if options.out is None else "all"
    given = {**common.arguments(options, model), "keep": wanted, "log_jacobian": options.log_jacobian}
    logs = FileLogs(model, options)
    given["channels"] = (*options.channel, *logs.channels)
    return _run(options, partial(simulate, model, **given), logs=logs)


def _again(options: argparse.Namespace) -> int:
    """`shiftjax run STORE --member K`: the motion of the study, to the bit; channels may be added.

    Their extremes are measured in the same code as metrics, so that these may be rounded otherwise.
    """
    from shiftjax.cli import chosen
    from shiftjax.ensembles.stored_study import Study, lone

    mistake = "with --member, which runs as it did in its study"
    common.refuse(options, OF_STUDY, mistake, "--channel, --threads, --log, --log-jacobian, --out, --json")
    more = {"extremes": True, "threads": options.threads, "log_jacobian": options.log_jacobian}
    study = Study(options.model)
    member = chosen.first_of(study, options.member, "--member")
    return _run(options, partial(study.again, member, options.channel, **more), lone)


def _run(
    options: argparse.Namespace,
    run: Callable[..., Result],
    lone: Callable[[Result], Result] | None = None,
    logs: FileLogs | None = None,
) -> int:
    """Runs, prints and writes what came of it; the exit code.

    Args:
        run: what simulates one member, with all but its hooks given. lone: takes the axis of members away. logs: those
            that the model's file asks for.
    """
    running.check_target(options)
    result, stop = running.simulated(run, options)
    result = lone(result) if lone and result.batched else result
    common.report_outcomes(result)
    recorded, result = result, logs.shown(result) if logs else result
    if options.json:
        common.put_json(result.document())
    else:
        result_tables.show(result, options)
    running.save(result, options)
    if logs:
        logs.save(recorded)
    return running.exit_code(result, stop)
