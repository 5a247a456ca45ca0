"""The command `shiftjax`. A command's file is loaded when it is called, so that help and lists come up at once.

Exit codes: 0 all members good, 3 some members failed, 2 bad input, 130 ended by Ctrl-C, 143 by SIGTERM, 1 anything
else.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from shiftjax.cli.ending import SIGNALLED, exit_code, stoppable
from shiftjax.cli.examples import FIRST_STEPS, shown_examples
from shiftjax.errors import ModelError, installing, printable
from shiftjax.plugins import load_plugin
from shiftjax.version import VERSION

COMMANDS = {
    "info": "what a model is made of: bodies, joints, loops, substructures, rank, degrees of freedom",
    "check": "validate a model or a study file: syntax, loops, masses, the start, likely mistakes",
    "run": "simulate one model",
    "follow": "kinematics: move input joints along a path; poses, velocities, mobility, the end of travel",
    "branches": "all assembly modes of a model at given input positions, by name",
    "travel": "range of motion of a joint: how far it can go before its loops no longer close",
    "ik": "inverse kinematics: the pose that meets goals of frames and joints, by priority and within limits",
    "workspace": "what a frame of a model can reach: boundary curves, areas, points of a grid",
    "load": "static equilibria along a load path: snap-through, buckling, and the curves that branch off",
    "equilibrium": "static equilibrium of a model, its stability, and the modes of small oscillations about it",
    "edit": "change bodies and joints of a model step by step, without moving anything",
    "sweep": "simulate many variants of one model",
    "optimize": "find the best designs of a study, from many starts at once, with gradients",
    "sensitivity": "derivatives of every metric of a study by every varied number, for each member",
    "models": "list the models of the library",
    "view": "look at a stored study, or at a model, in a window, or by --web in a browser",
    "render": "draw a picture or a movie of a study, with or without a display",
    "report": "explain a stored study on one page: what moves its metrics, best and worst members, failures",
    "top": "list the members of a stored study that are largest, smallest, best or worst by a metric",
    "export": "write a study as a table, as NetCDF, as an animated glTF or as one page that plays in any browser",
    "bench": "measure speed and accuracy on this machine, beside other codes, and say what it lacks",
    "docs": "open the documentation in a browser",
}
BAD_INPUT, ANYTHING_ELSE = 2, 1
PLUGIN = "load a module with parts of your own first, or the Python file of this path; may be given several times"
PLACED = {"--branch=--": "--branch= --"}  # argparse takes two minus signs for the end of all options
DRAWING = ("view", "render", "export")  # commands that need the packages of the extra `viewer`

__all__ = ["entry", "main"]


def entry() -> NoReturn:
    """The command as a process. One that was ended by a signal does not wait for a compilation in a thread."""
    code = main()
    if code > SIGNALLED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    raise SystemExit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; never raises for what a user can get wrong."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with stoppable():
            return _call(words)
    except KeyboardInterrupt as stop:
        return _fail("interrupted", exit_code(stop), False)


def _call(words: list[str]) -> int:
    """One command, everything but signals turned into an exit code."""
    if not words:
        parser(words).print_help(sys.stderr)
        return BAD_INPUT
    try:
        for name in _plugins(words):  # their formats, methods and kinds may stand in what follows
            load_plugin(name)
        options = parser(words).parse_args([PLACED.get(word, word) for word in words])
    except SystemExit as stop:  # argparse leaves this way for --help, --version and bad usage
        return int(stop.code or 0)
    except ModelError as error:
        return _fail(f"error: {error}", BAD_INPUT, "--traceback" in words)
    try:
        return options.call(options)
    except ModelError as error:
        return _fail(f"error: {error}", BAD_INPUT, options.traceback)
    except ModuleNotFoundError as error:
        if (lacking := _lacking(options.command, error)) is None:
            return _internal(error, options)
        return _fail(f"error: {lacking}", BAD_INPUT, options.traceback)
    except BrokenPipeError:  # the reader of a pipe has gone: `shiftjax models | head -1`
        sys.stderr.close()
        return ANYTHING_ELSE
    except Exception as error:
        return _internal(error, options)


class _CommandParser(argparse.ArgumentParser):
    """A parser whose errors show words of the line as all errors do; its commands' are of this class, too."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the whole line; only the command that stands in `words` brings its own options."""
    top = _CommandParser(
        prog="shiftjax", description="Mechanisms with exact loops, thousands at a time.", allow_abbrev=False,
        epilog=FIRST_STEPS, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"shiftjax {VERSION}")
    top.add_argument("--traceback", action="store_true", help="show where an error arose")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    called = next((word for word in words if not word.startswith("-")), None)
    for name, line in COMMANDS.items():
        command = commands.add_parser(
            name, help=line, description=textwrap.fill(line, 79), allow_abbrev=False,
            epilog=shown_examples(name), formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        if name == called:
            command.add_argument(
                "--traceback", action="store_true", default=argparse.SUPPRESS, help="show where an error arose"
            )
            command.add_argument("--plugin", action="append", metavar="MODULE", help=PLUGIN)
            module = _loaded(name)
            module.define(command)
            command.set_defaults(call=module.call, command=name)
    return top


def _plugins(words: Sequence[str]) -> list[str]:
    """The modules that a line names to be loaded, in their order."""
    alone = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    alone.add_argument("--plugin", action="append", default=[])
    return alone.parse_known_args(words)[0].plugin


def _loaded(name: str) -> ModuleType:
    """The file of a command; a missing package of the viewer is named with its cure."""
    try:
        return import_module(f"shiftjax.cli.commands.{name}")
    except ModuleNotFoundError as error:
        if (lacking := _lacking(name, error)) is None:
            raise
        raise lacking from None


def _lacking(name: str, error: ModuleNotFoundError) -> ModelError | None:
    """The error of a package of the viewer that a command needs and that is not installed, None of any other."""
    if name not in DRAWING or (error.name or "").startswith("shiftjax"):
        return None
    lacking, allowed = f"no Python package {error.name!r}", "the viewer's packages"
    if (error.name or "").partition(".")[0] == "tornado":
        return ModelError(f"shiftjax {name} --web", lacking, "the packages of a served page", installing("web"))
    return ModelError(f"shiftjax {name}", lacking, allowed, installing("viewer"))


def _internal(error: Exception, options: argparse.Namespace) -> int:
    """What no user can cause: the error in one line."""
    words = " ".join(str(error).split()) or "no message"
    text = f"internal error: {type(error).__name__}: {words} (run again with --traceback to see where)"
    return _fail(text, ANYTHING_ELSE, options.traceback)


def _fail(message: str, code: int, with_traceback: bool) -> int:
    if with_traceback:
        traceback.print_exc()
    print(printable(f"shiftjax: {message}"), file=sys.stderr)
    return code
