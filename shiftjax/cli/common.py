"""What several commands share: the model and the settings of a run from the command line, and what is printed of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection
from typing import Any

from shiftjax.ensembles.spec import parse_set
from shiftjax.errors import ModelError
from shiftjax.formats.files import load
from shiftjax.mechanism.model import Model
from shiftjax.run.result import Result, remedy

LISTED = 8  # members named in a list of failures


def open_model(options: argparse.Namespace, name: str = "") -> Model:
    """The model of the command line, or of that name; its warnings go to stderr."""
    model = load(name or options.model)
    for warning in model.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    wanted = model.settings.integration_type
    if hasattr(options, "method") and wanted and wanted != (options.method or "rk4"):
        print(f"note: the file asks for {wanted}; this is run with {options.method or 'rk4'}", file=sys.stderr)
    return model


def assigned(options: argparse.Namespace) -> dict[str, float]:
    """The numbers of `--set`."""
    changes: dict[str, float] = {}
    for text in options.set:
        path, value = parse_set(text)
        if path in changes:
            raise ModelError(f"--set {path}", "the path twice", "each path once", "Leave one of them out.")
        changes[path] = value
    return changes


def arguments(options: argparse.Namespace) -> dict[str, Any]:
    """The keywords of `simulate` that the command line gives; what is left out keeps its default there."""
    names = ("span", "step", "method", "output_step", "backend", "precision", "threads")
    given = {name: getattr(options, name) for name in names}
    given["assign"] = assigned(options) or None
    given["hold"] = options.hold or None
    given["channels"] = options.channel or None
    return {name: value for name, value in given.items() if value is not None}


def table(
    head: tuple[str, ...],
    rows: list[tuple[str, ...]],
    show: Callable[[str], None] = print,
    *,
    left: Collection[int] = (0,),
) -> None:
    """Prints columns, those of `left` to the left, the others to the right."""
    widths = [max(len(line[k]) for line in [head, *rows]) for k in range(len(head))]
    for line in [head, *rows]:
        cells = [
            f"{cell:<{w}}" if k in left else f"{cell:>{w}}"
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        show("  ".join(cells).rstrip())


def report_outcomes(result: Result) -> None:
    """What did not end well, on stderr: which members, what happened, what to do."""
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    for outcome, members in result.outcomes():
        if outcome == 0:
            continue
        todo = remedy(outcome)
        print(f"{outcome.name}: {todo}", file=sys.stderr)
        for member in members[:LISTED]:
            message = result.messages[member] if len(result.messages) > member else ""
            own = message.replace(todo, "").strip(" :")  # what is special about this member
            name = f"member {member}" if result.batched else "run"
            print(f"  {name}: {own}" if own else f"  {name}", file=sys.stderr)
        if len(members) > LISTED:
            print(f"  ... and {len(members) - LISTED} more", file=sys.stderr)


def about(result: Result) -> str:
    """One line: how it was run and what it cost."""
    used = result.settings
    words = [
        f"{used[key]:g} s" if key == "span" else f"{used[key] * 1e3:g} ms" for key in ("span", "step") if key in used
    ]
    words += [str(used[key]) for key in ("method", "backend", "precision") if used.get(key)]
    cost = f"{result.programs} programs compiled in {result.compile_s:.2f} s, all in {result.wall_s:.2f} s"
    return f"{', '.join(words)}; {cost}"
