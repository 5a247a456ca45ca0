"""`shiftjax workspace`: what a frame of a model can reach."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.errors import ModelError
from shiftjax.kinematics.workspaces.table import ReachableSpace
from shiftjax.kinematics.workspaces.workspace import workspace


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    add("coordinates", metavar="FRAME", nargs="+", help="a frame, or two or three of FRAME.x, FRAME.y, FRAME.z, JOINT")
    add("--box", metavar="LOW:HIGH", action="append", help="of a grid, once for each coordinate, in m and rad")
    add("--points", metavar="N", type=int, default=0, help="of the grid, in each direction")
    add("--no-limits", action="store_true", help="joints do not end at stops of the model")
    add("--plot", metavar="FILE", type=Path, help="draw it into a picture")
    parsing.add_set(parser)
    parsing.add_equation(parser)
    add("--json", action="store_true", help="print curves, area and grid as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    asked = options.coordinates[0] if len(options.coordinates) == 1 else options.coordinates
    box = None if options.box is None else [_ends(text) for text in options.box]
    given = common.stated(options, model)
    reached = workspace(model, asked, box=box, points=options.points, limits=not options.no_limits, **given)
    if options.plot:
        _draw(reached, options.plot)
    if options.json:
        common.put_json(reached.to_dict())
        return 0
    print(f"{' and '.join(reached.coordinates)}: {reached.freedoms} freedoms")
    if reached.curves:
        rows = [
            ("boundary" if one.boundary else "within", one.kind, ", ".join(one.joints), one.end,
             f"{one.poses[0]} | {one.poses[1]}") for one in reached.curves
        ]  # fmt: skip
        common.table(("where", "kind", "joints", "end", "poses beside it"), rows)
    size = "volume" if len(reached.coordinates) == 3 else "area"
    if np.isfinite(reached.area):
        print(f"{size} {reached.area:.9g}")
    if reached.mask is not None:
        print(f"{int(reached.mask.sum())} of {reached.mask.size} points reached")
    if reached.ball is not None:
        centre = ", ".join(f"{x:.6g}" for x in reached.ball[0])
        print(f"largest ball about a point of the grid: radius {reached.ball[1]:.6g} about ({centre})")
    for note in reached.notes:
        print(note)
    return 0


def _ends(text: str) -> tuple[float, float]:
    """The ends of LOW:HIGH."""
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError as error:
        raise ModelError("--box", text, "LOW:HIGH, two numbers", "Write --box=-1:1.") from error
    return low, high


def _draw(reached: ReachableSpace, place: Path) -> None:
    axes = reached.plot()
    axes.figure.savefig(place, dpi=150)
