"""The options that several commands share."""

from __future__ import annotations

import argparse
import math

from shiftjax.ensembles.study.keeping import extreme_words
from shiftjax.errors import ModelError
from shiftjax.quantities import in_si
from shiftjax.run.advance.repeats import ACCURACIES
from shiftjax.run.advance.settings import SINGULAR

CHANGES = ("set", "derive", "drive", "tie", "hold")  # options of what a run changes of its model


def positive(text: str) -> float:
    """An option's finite number above zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number above zero")
    return value


def seconds(text: str) -> float:
    """An option's time above zero: 0.005, or 5ms."""
    try:
        value = in_si(text, "s", "time")
    except ModelError:
        value = 0.0
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time above zero: write 0.005, 5ms or 2min")
    return value


def count(text: str) -> int:
    """A whole number from 1."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")


def keep(text: str) -> int | str:
    """all, none, how many members, or the first by a metric."""
    if text in ("all", "none") or extreme_words(text):
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither all, none, a number of members nor worst:K by METRIC, best:, largest: or smallest: alike"
    )


def add_model(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    line = "name in the library (see `shiftjax models`) or path of a file"
    parser.add_argument("model", metavar="MODEL", nargs=None if needed else "?", help=line)


def add_study(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """A study that is looked at or exported, and which of its members."""
    add = parser.add_argument
    add(
        "study",
        metavar="STUDY",
        nargs=None if needed else "?",
        help="what `run --out`, `sweep --out` or `optimize --out` wrote (.zarr, .json), or a model, which is run first",
    )
    add("--span", type=seconds, metavar="T", help="of a model: duration of its run [s], or with a unit")
    add(
        "--start",
        default="",
        metavar="N",
        help="of an optimisation: the designs of start N by iteration, or all: the best design of every start; left "
        "out, those of the best start",
    )
    add(
        "--member",
        default=None,
        metavar="K",
        help="a number or a choice as below, of which the first; left out, the first kept. One that was not kept is "
        "simulated again",
    )
    add(
        "--ghosts",
        metavar="CHOICE",
        help="further members, see-through: 3,7 or worst:5 of kept, kept, energy_error>1e-9",
    )
    add_changes(parser.add_argument_group("of a model"))


def add_channel(parser: argparse._ActionsContainer, what: str = "record this") -> None:
    line = f"{what}, as crank.q or energy.total; may be repeated"
    parser.add_argument("--channel", action="append", default=[], metavar="PATH", help=line)


def add_set(parser: argparse._ActionsContainer) -> None:
    line = "set a number of the model: 0.5 (SI), or 30deg; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help=line)


def add_branch(parser: argparse._ActionsContainer) -> None:
    line = "start in this assembly mode, by its name of `shiftjax branches`: --branch=+-"
    parser.add_argument("--branch", metavar="NAME", help=line)


def add_equation(parser: argparse._ActionsContainer) -> None:
    """`--tie` of poses, which know no time."""
    line = "an equation between joint positions that always holds, as a gear: gear='left.q == -2 * right.q'"
    parser.add_argument("--tie", action="append", default=[], metavar="NAME=EQUATION", help=line)


def add_metric(parser: argparse._ActionsContainer, over: str = "steps") -> None:
    line = f"a number over all {over}: 'peak_to_peak(rocker.q)', 'swing=rms(norm(tip.velocity))'; may be repeated"
    parser.add_argument("--metric", action="append", default=[], metavar="[NAME=]METRIC", help=line)


def add_changes(parser: argparse._ActionsContainer) -> None:
    """The options of `CHANGES`: what a run may change of its model."""
    add = parser.add_argument
    add_set(parser)
    add(
        "--derive",
        action="append",
        default=[],
        metavar="PATH=FORMULA",
        help="compute a number from others, paths in braces: 'rod.mass=7.8*{rod:tip.T[0]}'; may be repeated",
    )
    line = (
        "prescribe the motion of this joint: a constant speed (3, 60rpm), harmonic(amplitude=.3,frequency=2), "
        "polynomial(...), table(...); of a spherical or floating joint pose_harmonic(...), pose_uniform(...), "
        "pose_table(...)"
    )
    add("--drive", action="append", default=[], metavar="JOINT=MOTION", help=line)
    line = "an equation between joint positions and the time t that always holds: gear='left.q == -2 * right.q'"
    add("--tie", action="append", default=[], metavar="NAME=EQUATION", help=line)
    add(
        "--hold",
        action="append",
        default=[],
        metavar="JOINT",
        help="keep the stated position of this joint when the loops are closed at the start; joints that are set or "
        "varied come first",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """The options that `run` and `sweep` share, in groups by what they are about."""
    _add_steps(parser.add_argument_group("time and steps"))
    recorded = parser.add_argument_group("what is recorded and measured")
    add_channel(recorded)
    add_metric(recorded)
    line = (
        "record when an expression crosses zero, 'ground=tip.position[2]'; with :up or :down in that direction alone, "
        "with :stop end the run there; NAME=off switches one of the model's file off"
    )
    recorded.add_argument("--event", action="append", default=[], metavar="NAME=EXPR[:WAY][:stop]", help=line)
    add_changes(parser.add_argument_group("changes of the model"))
    _add_start(parser.add_argument_group("the start, and what may not be run"))
    _add_accuracy(parser.add_argument_group("when a run counts as inaccurate"))
    computed = parser.add_argument_group("how it is computed").add_argument
    computed("--backend", metavar="NAME", help="cpu, gpu or xla; default cpu, or a GPU for large ensembles")
    computed("--precision", choices=["f64", "f32"], help="default f64")
    computed("--threads", type=count, metavar="N", help="processor threads; default all")
    add = parser.add_argument_group("output").add_argument
    add("--out", metavar="FILE", help="write the result to FILE")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print the result as JSON")


def _add_steps(group: argparse._ActionsContainer) -> None:
    add = group.add_argument
    add("--span", type=seconds, metavar="T", help="duration: 2 (seconds), 500ms; default: the file's")
    line = "step, as 0.001 or 1ms; default 1 ms, or a whole fraction of the output step"
    add("--step", type=seconds, metavar="H", help=line)
    line = "steps of variable length in place of --step: the error allowed per step [rad]"
    add("--tolerance", type=positive, metavar="X", help=line)
    line = "rk4 (default), euler (semi-implicit), implicit_euler, rosenbrock, dopri5 (default with a tolerance), or "
    add("--method", metavar="NAME", help=line + "file: what the model's file asks for")
    line = "time between stored instants, as 0.01 or 10ms; a multiple of the step"
    add("--output-step", type=seconds, metavar="S", help=line)


def _add_start(group: argparse._ActionsContainer) -> None:
    add_branch(group)
    add = group.add_argument
    add("--strict-start", action="store_true", help="do not run members whose stated start the loops do not allow")
    add("--strict-inertia", action="store_true", help="do not run members with moments of inertia that no body has")
    add("--singular", choices=SINGULAR, help="pass singular poses (default), or end a member before one")


def _add_accuracy(group: argparse._ActionsContainer) -> None:
    add = group.add_argument
    add("--energy-limit", type=positive, metavar="X", help="energy error above that; default 1e-3")
    line = "loop gap above that, in parts of the model's length; default 1e-6, in f32 1e-5"
    add("--gap-limit", type=positive, metavar="X", help=line)
    add("--angle-limit", type=positive, metavar="X", help="error of coordinates above that [rad]; default 1e-3")
    line = "how the error of coordinates is found: an estimate from the run itself (local); a second run of every "
    line += "member at half the step (all); such a run of a sample, and of members in doubt (sampled, the default)"
    add("--accuracy", choices=ACCURACIES, help=line)
