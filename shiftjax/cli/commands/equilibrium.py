"""`shiftjax equilibrium`: where a model stays at rest, what it bears there, and how it swings about that pose."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from shiftjax.cli import common, parsing, running
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.cli.rows import coordinate_rows
from shiftjax.errors import ModelError
from shiftjax.run.options import options_of
from shiftjax.statics.equilibria import Equilibrium, equilibrium_of
from shiftjax.statics.mode_motion import mode_motion
from shiftjax.statics.search import Search
from shiftjax.statics.small_motions import Modes, modes_of


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    parsing.add_channel(parser)
    parsing.add_set(parser)
    parsing.add_equation(parser)
    add("--unstable", action="store_true", help="take the nearest equilibrium of any kind")
    add("--mode", type=parsing.count, metavar="K", help="with --out: the mode that is written, as a motion to view")
    add("--amplitude", type=parsing.positive, default=0.2, metavar="A", help="of that motion; left out, 0.2 rad")
    add("--out", metavar="FILE", help="write the mode as a motion to FILE (.json, .zarr), to view")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print places, modes and channels as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    running.check_target(options)
    if (options.out is None) != (options.mode is None):
        fault = "no --out" if options.mode else "--out without a mode"
        raise ModelError("--mode", fault, "both, or none", "Give --mode K --out FILE.")
    search = Search(unstable=options.unstable)
    result = search.result(model, options_of(channels=options.channel, keep="none", **common.stated(options, model)))
    stand = equilibrium_of(search, result)
    common.report_outcomes(stand.result)
    if stand.status > 0:
        return SOME_FAILED
    swing = modes_of(search, result)
    if options.mode is not None:
        motion = mode_motion(model, options.mode, amplitude=options.amplitude, unstable=options.unstable,
                             channels=options.channel, **common.stated(options, model))  # fmt: skip
        common.report_outcomes(motion)
        running.save(motion, options)
    if options.json:
        common.put_json(_document(stand, swing))
        return 0
    common.put(f"{stand.stability}, residual {stand.residual:.3g} N m")
    common.table(("coordinate", "place", "unit"), [*coordinate_rows(stand.q, stand.units)])
    numbers = enumerate(zip(swing.frequencies, swing.damping_ratios, strict=True), 1)
    common.table(("mode", "Hz", "damping"), [(str(k), f"{f:.6g}", f"{ratio:.4g}") for k, (f, ratio) in numbers])
    rows = [(path, " ".join(f"{x:.6g}" for x in np.ravel(values)), stand.units[path])
            for path, values in stand.channels.items()]  # fmt: skip
    if rows:
        common.table(("channel", "value", "unit"), rows)
    return 0


def _document(stand: Equilibrium, swing: Modes) -> dict[str, Any]:
    return {
        "stability": str(stand.stability),
        "residual": float(stand.residual),
        "q": {path: np.asarray(values).tolist() for path, values in stand.q.items()},
        "frequencies": [float(x) if np.isfinite(x) else None for x in swing.frequencies],
        "damping_ratios": [float(x) if np.isfinite(x) else None for x in swing.damping_ratios],
        "channels": {path: np.asarray(values).tolist() for path, values in stand.channels.items()},
    }
