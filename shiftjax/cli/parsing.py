"""The options that several commands share."""

from __future__ import annotations

import argparse
import math

from shiftjax.ensembles.study.keeping import extreme_words
from shiftjax.run.advance.repeats import ACCURACIES
from shiftjax.run.advance.settings import SINGULAR

CHANGES = ("set", "derive", "drive", "tie", "hold")  # options of what a run changes of its model


def positive(text: str) -> float:
    """An option's finite number above zero."""
    value = float(text)
    if not (math.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number above zero")
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
        help="what `run --out`, `sweep --out` or `optimize --out` wrote (.zarr, .json), or a model, run first",
    )
    add("--span", type=positive, metavar="T", help="of a model: duration of its run [s]")
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


def add_channel(parser: argparse.ArgumentParser, what: str = "record this") -> None:
    line = f"{what}, as crank.q or energy.total"
    parser.add_argument("--channel", action="append", default=[], metavar="PATH", help=line)


def add_set(parser: argparse._ActionsContainer) -> None:
    line = "change a number: 0.5, or 30deg"
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help=line)


def add_branch(parser: argparse._ActionsContainer) -> None:
    line = "begin on this assembly branch, as shiftjax branches names it: --branch=+-"
    parser.add_argument("--branch", metavar="NAME", help=line)


def add_equation(parser: argparse._ActionsContainer) -> None:
    """`--tie` of poses, which know no time."""
    line = "an equation of places of joints that always holds, as a gear: gear='left.q == -2 * right.q'"
    parser.add_argument("--tie", action="append", default=[], metavar="NAME=EQUATION", help=line)


def add_metric(parser: argparse.ArgumentParser, over: str = "steps") -> None:
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
        help="let a number follow from others, paths in braces: 'rod.mass=7.8*{rod:tip.T[0]}'; may be repeated",
    )
    line = (
        "move this joint: at a constant speed, or by harmonic(amplitude=.3,frequency=2), polynomial(...), table(...); "
        "a ball or floating one by pose_harmonic(...), pose_uniform(...), pose_table(...)"
    )
    add("--drive", action="append", default=[], metavar="JOINT=MOTION", help=line)
    line = "an equation of places of joints and the time t that always holds, as a gear: gear='left.q == -2 * right.q'"
    add("--tie", action="append", default=[], metavar="NAME=EQUATION", help=line)
    add(
        "--hold",
        action="append",
        default=[],
        metavar="JOINT",
        help="keep this joint as written when loops are closed, where varied and set ones leave it free",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """The options that `run` and `sweep` share."""
    add = parser.add_argument
    add("--span", type=positive, metavar="T", help="duration [s]; left out, the file's")
    add("--step", type=positive, metavar="H", help="step [s]; left out, 1 ms or a whole fraction of the output step")
    tolerance = "what a step may be off by [rad], in place of --step: steps are as large as it allows"
    add("--tolerance", type=positive, metavar="X", help=tolerance)
    method = "rk4 (default) or euler (semi-implicit); with a tolerance dopri5; file: what the model's file asks for"
    add("--method", metavar="NAME", help=method)
    add("--output-step", type=positive, metavar="S", help="time between stored instants [s]; a multiple of the step")
    add_channel(parser)
    add_metric(parser)
    line = (
        "note when an expression comes to zero, 'ground=tip.position[2]'; with :up or :down in that direction alone, "
        "with :stop end there; NAME=off for one of the model's file"
    )
    add("--event", action="append", default=[], metavar="NAME=EXPR[:WAY][:stop]", help=line)
    add_changes(parser)
    add_branch(parser)
    add("--strict-start", action="store_true", help="do not run members whose stated start the loops do not allow")
    add("--strict-inertia", action="store_true", help="do not run members with moments of inertia that no body has")
    add("--singular", choices=SINGULAR, help="what is done at singular poses; left out, they are passed")
    add("--backend", metavar="NAME", help="cpu, gpu or xla; left out, cpu, or a GPU for large ensembles")
    add("--precision", choices=["f64", "f32"], help="left out, f64")
    add("--energy-limit", type=positive, metavar="X", help="energy error above which a run is inaccurate; 1e-3")
    add(
        "--gap-limit",
        type=positive,
        metavar="X",
        help="the same for the gap, in parts of the model's length; 1e-6, in f32 1e-5",
    )
    add("--angle-limit", type=positive, metavar="X", help="the same for the error of coordinates [rad]; 1e-3")
    line = "what that error rests on: an estimate (local), a run of every member at half the step (all), or such of a "
    add("--accuracy", choices=ACCURACIES, help=line + "sample and of members that are doubted (sampled); sampled")
    add("--threads", type=count, metavar="N", help="of the processor; left out, all")
    add("--out", metavar="FILE", help="write the result to FILE")
    add("--force", action="store_true", help="replace FILE where it exists")
    add("--json", action="store_true", help="print the result as JSON")
