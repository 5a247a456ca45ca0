"""`shiftjax travel`: how far a joint of a model can go."""

from __future__ import annotations

import argparse
import math

from shiftjax.cli import common, parsing
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.kinematics.ranges.travel import travel
from shiftjax.mechanism.sublinkages import travel_notes


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    line = "a joint whose position determines all others of its loops (hold more freedoms by --tie); several, each by "
    line += "itself"
    add("joint", metavar="JOINT", nargs="+", help=line)
    parsing.add_set(parser)
    parsing.add_equation(parser)
    parsing.add_branch(parser)
    add("--together", action="store_true", help="close all loops at once, whatever sublinkages of the model say")
    add("--json", action="store_true", help="print the ends as JSON, null where there is none")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    given = {**common.stated(options, model), "branch": options.branch, "together": options.together}
    every = [travel(model, joint, **given) for joint in options.joint]
    numbers = [{"begin": float(one.begin), "low": float(one.low), "high": float(one.high)} for one in every]
    margins = [None if one.turning_margin is None else float(one.turning_margin) for one in every]
    if options.json:
        ends = [{key: x if math.isfinite(x) else None for key, x in row.items()} for row in numbers]
        known = zip(every, ends, margins, strict=True)
        common.put_json(
            [
                {"joint": one.coordinate, "unit": one.unit, "assembled": bool(one.assembled), **row,
                 "turning_margin": None if margin is None or math.isnan(margin) else margin}
                for one, row, margin in known
            ]
        )  # fmt: skip
    else:
        rows = [
            (one.coordinate, *(f"{x:.9g}" if math.isfinite(x) else "none" for x in row.values()), one.unit,
             "" if margin is None else f"{margin:.6g} m")
            for one, row, margin in zip(every, numbers, margins, strict=True)
        ]  # fmt: skip
        head = ("joint", "begins at", "lower end", "upper end", "unit", "turning margin")
        used = len(head) if any(row[-1] for row in rows) else len(head) - 1
        common.table(head[:used], [row[:used] for row in rows])
        for note in () if options.together else travel_notes(model.sublinkages):
            common.say(f"note: {note}")
        for one in every:
            if not one.assembled:
                common.say(
                    f"warning: the loops of {one.coordinate} do not close where it begins, so that it has no ends"
                )
    return 0 if all(one.assembled for one in every) else SOME_FAILED
