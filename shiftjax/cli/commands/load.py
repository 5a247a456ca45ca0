"""`shiftjax load`: equilibria of a model along a load, where it snaps through or buckles, and what it does then."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.cli.ending import exit_code as code_of_signal
from shiftjax.ensembles import picture
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.quantities import in_si
from shiftjax.run.results.interrupted import Interrupted
from shiftjax.statics.loads.load_path import load_path
from shiftjax.statics.loads.load_paths import CriticalPose, LoadPath, PassedEvent


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    line = "a number of the model, or a joint's coordinate, that goes from one value to another, 'push.load=0:-500N'; "
    line += "may be repeated"
    add("--load", action="append", default=[], metavar="PATH=FROM:TO", required=True, help=line)
    add("--poses", type=parsing.count, default=101, metavar="N", help="of a curve at most; left out, 101")
    add("--distance", type=parsing.positive, default=0.05, metavar="D", help="of poses, arclength; left out, 0.05")
    add("--branches", type=int, default=1, metavar="N", help="how often curves branch off; left out, once")
    add("--unstable", action="store_true", help="begin at the nearest equilibrium of any kind")
    line = (
        "note where an expression comes to zero, 'tips=support_margin(body:left, body:right)'; with :up or :down in "
        "that direction alone, with :stop end there"
    )
    add("--event", action="append", default=[], metavar="NAME=EXPR[:WAY][:stop]", help=line)
    add(
        "--range",
        metavar="NAME",
        help="print between which first loads this event has not happened, once joints have met an end of their way",
    )
    parsing.add_channel(parser)
    add("--slopes", action="store_true", help="with --json: how channels go with the first load, too")
    line = (
        "show by how much critical loads and events go with this number of the model, and with --json all channels and "
    )
    line += "coordinates, in place of --slopes; may be repeated"
    add("--slopes-by", action="append", default=[], metavar="PATH", help=line)
    parsing.add_set(parser)
    parsing.add_equation(parser)
    add("--picture", metavar="FILE", help="draw the load over a coordinate (.png, .svg, .pdf)")
    add("--over", default="", metavar="COORDINATE", help="of the picture; left out, the first one")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print all curves as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    target = None
    if options.picture:
        target = picture.check_target(options.picture, force=options.force)
    path, stop = _followed(
        model, _loads(options, model), poses=options.poses, distance=options.distance, branches=options.branches,
        unstable=options.unstable, channels=options.channel, events=common.events(options),
        slopes=options.slopes_by or options.slopes, **common.stated(options, model),
    )  # fmt: skip
    common.report_outcomes(path.result)
    if options.json:
        common.put_json(_document(path, options.range))
    else:
        _show(path)
        _show_events(path, options.range)
        _show_slopes(path)
    if target is not None:
        path.plot(options.over).savefig(target)
        common.say(f"{options.picture}: {len(path.member)} curves")
    if stop is not None:
        return code_of_signal(stop)
    return SOME_FAILED if (path.status > 0).any() else 0


def _followed(*args: Any, **given: Any) -> tuple[LoadPath, Interrupted | None]:
    """The path, or as much of it as there is when an interrupt comes."""
    try:
        return load_path(*args, **given), None
    except Interrupted as stop:
        path = stop.result
        common.say(f"interrupted: {int(np.isfinite(path.factor).sum())} poses are there")
        return path, stop


def _loads(options: argparse.Namespace, model: Model) -> dict[str, tuple[float, float]]:
    units, loads = model.number_units() | model.coordinate_units(), dict[str, tuple[float, float]]()
    for path, words in common.entries(options.load, "--load").items():
        ends = words.split(":")
        if len(ends) != 2:
            raise ModelError(f"--load {path}", repr(words), "FROM:TO", "Write push.load=0:-500.")
        unit = units.get(model.resolve(path))
        first, last = (in_si(text, unit, f"--load {path}") for text in ends)
        loads[path] = first, last
    return loads


def _show(path: LoadPath) -> None:
    rows = []
    for k, end in enumerate(path.ends):
        here = np.isfinite(path.factor[k])
        words = [word for word in ("stable", "neutral", "unstable") if (path.stability[k] == word).any()]
        begin = "the first load" if path.begins[k] < 0 else f"critical pose {path.begins[k]}"
        rows.append((str(k), begin, str(int(here.sum())), ", ".join(words), end))
    common.table(("curve", "begins at", "poses", "stability", "ends"), rows)
    if path.critical:
        loads = path.critical[0].loads
        names = [*loads, *(name for name, q in path.critical[0].q.items() if np.ndim(q) == 0 and name not in loads)]
        rows = [(str(k), one.kind, str(one.curve), f"{one.factor:.9g}", *_numbers(one, names))
                for k, one in enumerate(path.critical)]  # fmt: skip
        common.table(("critical", "kind", "curve", "factor", *names), rows)


def _show_events(path: LoadPath, ranged: str | None) -> None:
    if path.events:
        plain = [name for name, q in path.events[0].q.items() if np.ndim(q) == 0 and name not in path.loads]
        names = [*path.loads, *plain]
        rows = [(one.name, one.direction, str(one.curve), f"{one.factor:.9g}", *_numbers(one, names))
                for one in path.events]  # fmt: skip
        common.table(("event", "way", "curve", "factor", *names), rows)
    if ranged:
        load = next(iter(path.loads))
        for curve, (low, high) in enumerate(path.range(ranged)):
            common.put(f"curve {curve}: {load} from {low:.9g} to {high:.9g}")


def _show_slopes(path: LoadPath) -> None:
    """How critical poses and events go with numbers of the design."""
    poses = [(f"critical {k}", one) for k, one in enumerate(path.critical)]
    poses += [(one.name, one) for one in path.events]
    rows = [(name, number, *(f"{x:.9g}" for x in slopes.values() if np.ndim(x) == 0))
            for name, one in poses for number, slopes in one.slopes.items()]  # fmt: skip
    if rows:
        names = [name for name, x in next(iter(poses[0][1].slopes.values())).items() if np.ndim(x) == 0]
        common.table(("slopes of", "by", *names), rows)


def _slopes_of(pose: CriticalPose | PassedEvent) -> dict[str, Any]:
    """As JSON has them, where they were asked for."""
    every = {number: {name: _finite(np.atleast_1d(x)) if np.ndim(x) else _finite(np.atleast_1d(x))[0]
                      for name, x in slopes.items()} for number, slopes in pose.slopes.items()}  # fmt: skip
    return {"slopes": every} if every else {}


def _numbers(pose: CriticalPose | PassedEvent, names: list[str]) -> list[str]:
    return [f"{(pose.loads | pose.q)[name]:.9g}" for name in names]


def _document(path: LoadPath, ranged: str | None) -> dict[str, Any]:
    return {
        "curves": [
            {"begins": int(path.begins[k]), "ends": path.ends[k],
             "stability": [word for word in path.stability[k] if word], "factor": path.factor[k][here].tolist(),
             **{name: {key: _finite(values[k][here]) for key, values in group.items()}
                for name, group in (("loads", path.loads), ("q", path.q), ("channels", path.channels),
                                 ("slopes", path.slopes))},
             **({"design_slopes": {number: {key: _finite(values[k][here]) for key, values in group.items()}
                                   for number, group in path.design_slopes.items()}} if path.design_slopes else {})}
            for k, here in enumerate(np.isfinite(path.factor))
        ],
        "critical": [
            {"kind": one.kind, "curve": one.curve, "pose": one.pose, "factor": one.factor, "loads": one.loads,
             "q": {name: np.asarray(q).tolist() for name, q in one.q.items()}, "direction": one.direction,
             **_slopes_of(one)}
            for one in path.critical
        ],
        "events": [
            {"name": one.name, "direction": one.direction, "curve": one.curve, "pose": one.pose, "factor": one.factor,
             "loads": one.loads, "q": {name: np.asarray(q).tolist() for name, q in one.q.items()}, **_slopes_of(one)}
            for one in path.events
        ],
        **({"range": _finite(path.range(ranged))} if ranged else {}),
    }  # fmt: skip


def _finite(values: np.ndarray) -> list[Any]:
    """As JSON has them, with null for what is no number."""
    entries = values.astype(object)
    entries[~np.isfinite(values)] = None
    return entries.tolist()
