"""`shiftjax follow`: the poses of one model along a path of its drivers."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from shiftjax.cli import common, parsing, result_tables, running
from shiftjax.ensembles.study.path_words import places
from shiftjax.kinematics.paths.follow import follow
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.kinematics.trajectory import Trajectory, read_trajectory
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    line = (
        "move this joint through COUNT positions, 'crank=0deg:360deg:73', or through its column of a table of poses, "
        "'crank=poses.csv'; may be repeated, each with the same COUNT; as many as there are degrees of freedom"
    )
    add("--drive", action="append", default=[], metavar="JOINT=FROM:TO:COUNT", help=line)
    add(
        "--duration",
        type=parsing.seconds,
        metavar="T",
        help="time that the path takes: velocities are then by time; left out, by the joint's position",
    )
    parsing.add_channel(parser)
    parsing.add_metric(parser, "poses, and between them")
    parsing.add_set(parser)
    parsing.add_equation(parser)
    parsing.add_branch(parser)
    add("--backend", metavar="NAME", help="cpu, gpu or xla; default cpu")
    add("--precision", choices=["f64", "f32"], help="default f64")
    add("--threads", type=parsing.count, metavar="N", help="processor threads; default all")
    add("--csv", metavar="FILE", help="write the channels, a line a pose (.csv)")
    add("--out", metavar="FILE", help="write the result to FILE (.json, .zarr), to view and export")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(log=False, log_jacobian=False)


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    running.check_target(options)
    target = None
    if options.csv:
        target = running.store().check_target(options.csv, force=options.force, batched=False, suffix=".csv")
    drive = _drive(options, model)
    count = len(next(iter(drive.values()), ()))
    times = np.linspace(0.0, options.duration, count) if options.duration else None
    given = {
        "channels": options.channel, "metrics": common.metrics(options) or None,
        "keep": "none" if options.out is None else "all", "precision": options.precision or "f64",
        "backend": options.backend, "threads": options.threads, "branch": options.branch,
        **common.stated(options, model),
    }  # fmt: skip
    result, stop = running.simulated(partial(follow, model, drive, times, **given), options)
    common.report_outcomes(result)
    if options.json:
        common.put_json(result.document())
    else:
        result_tables.show(result, options)
    if target:
        running.store().write(result, target, keep="none", force=options.force, suffix=".csv")
        common.say(f"{options.csv}: {len(result.time)} poses")
    running.save(result, options)
    return running.exit_code(result, stop)


def _drive(options: argparse.Namespace, model: Model) -> dict[str, np.ndarray]:
    """Places by joint."""
    units, tables, out = units_of(model), dict[str, Trajectory](), dict[str, np.ndarray]()
    for joint, words in common.entries(options.drive, "--drive").items():
        path = plain_coordinate(model, joint, "drive")
        if words.lower().endswith(".csv"):
            if words not in tables:
                tables[words] = read_trajectory(words, model)
            (out[joint],) = tables[words].drive(path).values()
        else:
            out[joint] = places(words, f"--drive {joint}", units[path])
    return out
