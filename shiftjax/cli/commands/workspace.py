"""`shiftjax workspace`: what a frame of a model can reach."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.ensembles import picture
from shiftjax.ensembles.study.sample import sample
from shiftjax.ensembles.study.spec import FORMS, parse_vary
from shiftjax.errors import ModelError, shown
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.kinematics.workspaces.many import ReachableSpaces
from shiftjax.kinematics.workspaces.table import ReachableSpace
from shiftjax.kinematics.workspaces.workspace import workspace
from shiftjax.mechanism.model import Model
from shiftjax.quantities import in_si
from shiftjax.run.results.plain_values import plain

LOST = ("cannot be assembled", "cannot be assembled on the branch")


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    add("coordinates", metavar="FRAME", nargs="+", help="a frame, or two or three of FRAME.x, FRAME.y, FRAME.z, JOINT")
    add("--box", metavar="LOW:HIGH", action="append", help="of a grid, once for each coordinate: -1:800mm, -90deg:1.5")
    add("--points", metavar="N", type=int, default=0, help="of the grid, in each direction")
    add("--no-stops", action="store_true", help="joints do not end at stops and limits of the model")
    add(
        "--inscribed",
        action="store_true",
        help="seek the largest circle and the largest square inside, of two freedoms",
    )
    add("--orientations", metavar="N", type=int, default=0, help="angles with which a point is of the dexterous part")
    add("--vary", action="append", default=[], metavar="PATH=RANGE", help=f"of many designs: {FORMS}; may be repeated")
    add("--samples", type=int, metavar="N", help="how many designs are drawn (at every grid point)")
    add("--seed", type=int, default=0, metavar="K", help="of the draws; default 0")
    parsing.add_set(parser)
    parsing.add_equation(parser)
    parsing.add_branch(parser)
    add("--picture", metavar="FILE", help="draw it (.png, .svg, .pdf)")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print curves, area and grid as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    asked = options.coordinates[0] if len(options.coordinates) == 1 else options.coordinates
    target, design = None, _designs(options, model)
    if options.picture:
        if design:
            raise ModelError("--picture", "many designs", "one", "Leave out --vary, or set one of them by --set.")
        target = picture.check_target(options.picture, force=options.force)
    given: dict[str, Any] = {
        "box": _box(options, model), "points": options.points, "stops": not options.no_stops,
        "inscribed": options.inscribed, "orientations": options.orientations, "branch": options.branch,
        **common.stated(options, model),
    }  # fmt: skip
    if design:
        return _many(workspace(model, asked, vary=design, **given), options)
    reached = workspace(model, asked, **given)
    if options.json:
        common.put_json(reached.to_dict())
    else:
        _show(reached)
    if target is not None:
        reached.plot().figure.savefig(target, dpi=150)
        common.say(f"{options.picture}: {len(reached.curves)} curves")
    return 0


def _designs(options: argparse.Namespace, model: Model) -> dict[str, np.ndarray]:
    """Values of `--vary` by path, one a design; none without it."""
    if not options.vary:
        common.refuse(options, ("samples", "seed"), "without --vary", "with it")
        return {}
    if options.seed < 0:
        raise ModelError("--seed", str(options.seed), "a whole number from 0", "Take another seed.")
    study = [parse_vary(text) for text in options.vary]
    common.check_units(model, {vary.path: vary.unit for vary in study}, "--vary")
    return sample(study, options.samples, options.seed)


def _many(reached: ReachableSpaces, options: argparse.Namespace) -> int:
    """Prints what designs reach."""
    lost = [k for k, one in enumerate(reached) if one is None]
    if options.json:
        common.put_json({**reached.to_dict(), "table": _plain_rows(reached.table())})
    else:
        rows = reached.table()
        head = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        common.table(tuple(head), [tuple(_cell(row[name]) for name in head) for row in rows])
    if lost:
        common.say(
            f"warning: {len(lost)} of {len(reached)} designs {LOST[bool(options.branch)]}, the first of them {lost[0]}"
        )
    noted = dict[str, list[int]]()
    for k, one in enumerate(reached):
        for note in () if one is None else one.notes:
            noted.setdefault(note, []).append(k)
    for note, some in noted.items():
        common.say(f"warning: {len(some)} of {len(reached)} designs: {note}; the first of them {some[0]}")
    return SOME_FAILED if lost else 0


def _plain_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in which what is no number is None."""
    return [{name: plain(x) if isinstance(x, float) else x for name, x in row.items()} for row in rows]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "none"
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:.9g}"


def _show(reached: ReachableSpace) -> None:
    branch = f", branch {reached.branch}" if reached.branch else ""
    common.put(f"{' and '.join(reached.coordinates)}: {reached.freedoms} freedoms{branch}")
    if reached.curves:
        rows = [
            ("boundary" if one.boundary else "within", one.kind, ", ".join(one.joints), one.end,
             f"{one.poses[0]} | {one.poses[1]}") for one in reached.curves
        ]  # fmt: skip
        common.table(("where", "kind", "joints", "end", "poses beside it"), rows)
    size = "volume" if len(reached.coordinates) == 3 else "area"
    if np.isfinite(reached.area):
        common.put(f"{size} {reached.area:.9g}")
    if reached.mask is not None:
        common.put(f"{int(reached.mask.sum())} of {reached.mask.size} points reached")
    if reached.ball is not None:
        what = "ball about a point of the grid" if reached.square is None else "circle"
        common.put(f"largest {what}: radius {reached.ball[1]:.6g} about ({_place(reached.ball[0])})")
    if reached.square is not None:
        common.put(f"largest square: side {reached.square[1]:.6g} about ({_place(reached.square[0])})")
    if reached.dexterous is not None:
        count = int(reached.dexterous.sum())
        common.put(f"{count} points with every orientation: area {reached.dexterous_area:.6g}")
    for note in reached.notes:
        common.put(note)


def _place(centre: np.ndarray) -> str:
    return ", ".join(f"{x:.6g}" for x in centre)


def _box(options: argparse.Namespace, model: Model) -> list[tuple[float, float]] | None:
    """The ends of each LOW:HIGH, in SI; None without any."""
    if options.box is None:
        return None
    units, box = units_of(model), list[tuple[float, float]]()
    for k, text in enumerate(options.box):
        ends = text.split(":")
        if len(ends) != 2:
            raise ModelError("--box", shown(text), "LOW:HIGH", "Write --box=-1:1, or --box=-200mm:1m.")
        asked = options.coordinates[k] if k < len(options.coordinates) > 1 else ""
        of_joint = (unit for path, unit in units.items() if asked and f":{path}".endswith(f":{asked}"))
        unit = next(of_joint, "m")  # places of a frame are lengths
        low, high = (in_si(end, unit, "--box") for end in ends)
        box.append((low, high))
    return box
