"""`shiftjax ik`: the pose of a model that meets goals, the more important ones first."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import numpy as np

from shiftjax.cli import common, parsing
from shiftjax.cli.ending import SOME_FAILED
from shiftjax.cli.joint_values import joint_values
from shiftjax.cli.rows import coordinate_rows
from shiftjax.errors import ModelError, shown
from shiftjax.kinematics.paths.inputs import units_of
from shiftjax.kinematics.positioning.function_rows import signal_of
from shiftjax.kinematics.positioning.goals import FrameGoal, FunctionGoal, Goal, JointGoal
from shiftjax.kinematics.positioning.inverse_kinematics import inverse_kinematics
from shiftjax.measures.expression_units import MIXED
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.quantities import in_si
from shiftjax.rotations import rotation_of_vector
from shiftjax.run.results.plain_values import plain
from shiftjax.topology.analysis import analyze

FREE = "-"


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_model(parser)
    add = parser.add_argument
    line = "put a frame's origin there, 'tool=0.3,0,200mm'; '-' leaves a component free; may be repeated, as all below"
    add("--place", action="append", default=[], metavar="FRAME=X,Y,Z", help=line)
    line = "turn a frame by this rotation vector of the world, 'tool=0,90deg,0'"
    add("--turn", action="append", default=[], metavar="FRAME=X,Y,Z", help=line)
    add("--joint", action="append", default=[], metavar="JOINT=VALUE", help="move a joint there, 'elbow=30deg'")
    line = "bring an expression of channels there, 'norm(tool.position)=800mm', or 'left.q - right.q=0'"
    add("--of", action="append", default=[], metavar="EXPRESSION=VALUE", help=line)
    line = "as --joint, but below all other goals: what is still free goes there"
    add("--posture", action="append", default=[], metavar="JOINT=VALUE", help=line)
    add("--lock", action="append", default=[], metavar="JOINT", help="a joint that stays where it is, above all goals")
    line = "limits of a joint, above all goals, 'elbow=-90deg:90deg'; '-' for an end that is none"
    add("--limit", action="append", default=[], metavar="JOINT=LOW:HIGH", help=line)
    add(
        "--begin", action="append", default=[], metavar="JOINT=VALUE", help="begin there; left out, where the file does"
    )
    add("--tries", type=parsing.count, default=1, metavar="N", help="begin at N poses until one is reached; 1")
    line = "loops that cannot close open by as little as can be, before anything else is wanted"
    add("--open-loops", action="store_true", help=line)
    parsing.add_set(parser)
    parsing.add_equation(parser)
    add("--json", action="store_true", help="print places, goals and what is missed as JSON")


def call(options: argparse.Namespace) -> int:
    model = common.open_model(options)
    limits = dict(_limits(model, options)) or None
    begin = joint_values(model, options.begin, "--begin") or None
    result = inverse_kinematics(
        model, [*_goals(model, options)], limits=limits, q=begin, tries=options.tries, open_loops=options.open_loops,
        **common.stated(options, model),
    )  # fmt: skip
    failed = not bool(result.reached)
    if options.json:
        common.put_json(
            {
                "reached": bool(result.reached),
                "message": str(result.messages),
                "gap": plain(float(result.gap)),
                "missed": {label: plain(float(x)) for label, x in zip(result.labels, result.by_goal, strict=True)},
                "q": {path: plain(np.asarray(values)) for path, values in result.q.items()},
            }
        )
        return SOME_FAILED if failed else 0
    common.put("reached" if result.reached else f"not reached: {result.messages}")
    rows = [(label, f"{x + 0.0:.3g}") for label, x in zip(result.labels, result.by_goal, strict=True)]  # no "-0"
    common.table(("goal", "missed by"), rows)
    if options.open_loops:
        common.put(f"loops are open by {float(result.gap):.3g} (m or rad)")
    common.table(("coordinate", "place", "unit"), [*coordinate_rows(result.q, result.units)])
    return SOME_FAILED if failed else 0


def _goals(model: Model, options: argparse.Namespace) -> Iterator[Goal]:
    turned = {
        frame: _vector(words, f"--turn {frame}", "rad")
        for frame, words in common.entries(options.turn, "--turn").items()
    }
    for frame, words in common.entries(options.place, "--place").items():
        place, R = _vector(words, f"--place {frame}", "m"), turned.pop(frame, None)
        along = "".join(letter for letter, x in zip("xyz", place, strict=True) if x is not None)
        T = [x or 0.0 for x in place]
        if R is not None and len(along) < 3:  # components are those of the world, not of the goal's axes
            yield FrameGoal(frame, R=_rotation(R, f"--turn {frame}"))
            R = None
        yield FrameGoal(frame, T=T, R=None if R is None else _rotation(R, f"--turn {frame}"), along=along)
    for frame, R in turned.items():
        yield FrameGoal(frame, R=_rotation(R, f"--turn {frame}"))
    for name in ("joint", "posture"):
        for joint, value in joint_values(model, getattr(options, name), f"--{name}").items():
            yield JointGoal(joint, value, level="target" if name == "joint" else name)
    yield from _functions(model, options.of)
    for joint in options.lock:
        yield JointGoal(joint, level="lock")


def _functions(model: Model, texts: Iterable[str]) -> Iterator[Goal]:
    """The goals of `--of`: what stands before the last = is wanted to be what stands behind it."""
    plan = analyze(model) if texts else None
    for text in texts:
        of, sign, value = (part.strip() for part in text.rpartition("="))
        if plan is None or not sign or not of or not value or of.endswith(tuple("=<>!")):
            raise ModelError("--of", shown(text), "EXPRESSION=VALUE", "Write it like norm(tool.position)=800mm.")
        where = f"--of {of}"
        unit = signal_of(model, plan, of, where).unit
        yield FunctionGoal(of, in_si(value, None if unit == MIXED else unit or "1", where))


def _rotation(vector: list[float | None], where: str) -> np.ndarray:
    if None in vector:
        raise ModelError(where, f"{FREE!r}", "three angles", "Give all of them, or turn by a joint.")
    return np.array(rotation_of_vector([x or 0.0 for x in vector]), float)


def _vector(words: str, where: str, unit: str) -> list[float | None]:
    parts = [part.strip() for part in words.split(",")]
    if len(parts) != 3 or all(part == FREE for part in parts):
        raise ModelError(where, shown(words), "X,Y,Z", "Write three values, as in 0.3,0,200mm.")
    return [None if part == FREE else in_si(part, unit, where) for part in parts]


def _limits(model: Model, options: argparse.Namespace) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
    units = units_of(model)
    for joint, words in common.entries(options.limit, "--limit").items():
        ends, where = [part.strip() for part in words.split(":")], f"--limit {joint}"
        if len(ends) != 2:
            raise ModelError(where, shown(words), "LOW:HIGH", "Write -90deg:90deg, or -:90deg for one end.")
        unit = units[plain_coordinate(model, joint, "--limit")]
        low, high = (None if end == FREE else in_si(end, unit, where) for end in ends)
        yield joint, (low, high)
