"""What several commands share: the model and the settings of a run from the command line, and what is printed of it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shiftjax.constraints.drives import Drive
from shiftjax.constraints.pose_drives import PoseDrive
from shiftjax.ensembles.study.motion_words import parse_drive
from shiftjax.ensembles.study.spec import parse_set, split_assignment
from shiftjax.errors import ModelError, printable
from shiftjax.formats.files import load
from shiftjax.markup import text_table
from shiftjax.mechanism.events import Event, event_of_words
from shiftjax.mechanism.model import Model
from shiftjax.outcome import Outcome
from shiftjax.quantities import check_unit
from shiftjax.run.results.result import Result, remedy
from shiftjax.run.results.summary import how_run

NOT_ASCII = re.compile(r"[^\x20-\x7e\n]")  # a line break is between the lines of a document only
LISTED = 8  # members named in a list of failures


def open_model(options: argparse.Namespace, name: str = "") -> Model:
    """The model of the command line, or of that name; its warnings go to stderr."""
    model = load(name or options.model)
    for warning in model.warnings:
        say(f"warning: {warning}")
    return model


def refuse(options: argparse.Namespace, names: Iterable[str], fault: str, allowed: str) -> None:
    """Raises where one of some options is given, since it would say nothing."""
    for name in names:
        if getattr(options, name) not in (None, False, []):
            raise ModelError(f"--{name.replace('_', '-')}", fault, allowed, "Leave it out.")


def assigned(options: argparse.Namespace, model: Model) -> dict[str, float]:
    """The numbers of `--set`, in SI."""
    changes: dict[str, float] = {}
    units: dict[str, str] = {}
    for text in options.set:
        path, value, unit = parse_set(text)
        if path in changes:
            raise ModelError(f"--set {path}", "the path twice", "each path once", "Leave one of them out.")
        changes[path], units[path] = value, unit
    check_units(model, units, "--set")
    return changes


def check_units(model: Model, units: Mapping[str, str], option: str) -> None:
    """Raises where a unit of the command line, "" for none, measures something else than the number of its path."""
    if any(units.values()):
        units_of = model.number_units()
        for path, unit in units.items():
            if unit and (full := model.resolve(path)) in units_of:
                check_unit(unit, units_of[full], f"{option} {path}")


def entries(texts: Iterable[str], option: str) -> dict[str, str]:
    """PATH=WORDS of an option that may be repeated, by path."""
    words_of: dict[str, str] = {}
    for text in texts:
        path, words = split_assignment(text, option)
        if path in words_of:
            raise ModelError(f"{option} {path}", "the path twice", "each path once", "Leave one of them out.")
        words_of[path] = words
    return words_of


def metrics(options: argparse.Namespace) -> dict[str, str]:
    """The texts of `--metric`, each by its name or its own text."""
    texts: dict[str, str] = {}
    for text in options.metric:
        named = re.fullmatch(r"\s*(\w+)\s*=(?!=)(.*)", text, re.DOTALL)
        name, metric = (named[1], named[2].strip()) if named else (text.strip(), text)
        if name in texts:
            raise ModelError(f"--metric {name}", "the name twice", "each name once", "Leave one of them out.")
        texts[name] = metric
    return texts


def events(options: argparse.Namespace) -> dict[str, Event | None]:
    """The events of `--event`, by name; None for one of the model's file that is switched off."""
    every = entries(options.event, "--event").items()
    return {name: None if words.strip() == "off" else event_of_words(name, words) for name, words in every}


def drives(options: argparse.Namespace) -> dict[str, Drive | PoseDrive]:
    """The motions of `--drive`."""
    motions: dict[str, Drive | PoseDrive] = {}
    for text in options.drive:
        joint, motion = parse_drive(text)
        if joint in motions:
            raise ModelError(f"--drive {joint}", "the joint twice", "each joint once", "Leave one of them out.")
        motions[joint] = motion
    return motions


def stated(options: argparse.Namespace, model: Model) -> dict[str, Any]:
    """What `--set` and `--tie` say; None for nothing."""
    return {"assign": assigned(options, model) or None, "tie": entries(options.tie, "--tie") or None}


def arguments(options: argparse.Namespace, model: Model) -> dict[str, Any]:
    """The keywords of `simulate` that the command line gives; what is left out keeps its default there."""
    names = "span step tolerance method output_step backend precision threads accuracy singular".split()
    names += ["energy_limit", "gap_limit", "angle_limit"]
    given = {name: getattr(options, name) for name in names}
    given |= stated(options, model)
    given["derive"] = entries(options.derive, "--derive") or None
    given["hold"] = options.hold or None
    given["branch"] = options.branch
    given["strict_start"] = options.strict_start or None
    given["strict_inertia"] = options.strict_inertia or None
    given["drive"] = drives(options) or None
    given["channels"] = options.channel or None
    given["extremes"] = bool(options.channel) or None
    given["metrics"] = metrics(options) or None
    given["events"] = events(options) or None
    return {name: value for name, value in given.items() if value is not None}


def table(
    head: tuple[str, ...],
    rows: list[tuple[str, ...]],
    show: Callable[[str], None] | None = None,
    *,
    left: Collection[int] = (0,),
) -> None:
    """Prints columns, those of `left` to the left, the others to the right."""
    for line in text_table(head, rows, left):
        (show or put)(printable(line))


def put(line: str = "") -> None:
    """A line on stdout, in which no name of a file can steer the terminal."""
    print(printable(line))


def put_json(document: Any, indent: int | None = None) -> None:
    """A document as JSON, which escapes what steers a terminal; other characters stand as they are."""
    text = json.dumps(document, indent=indent, allow_nan=False, ensure_ascii=False)
    print(NOT_ASCII.sub(lambda match: _escaped(match[0]), text))


def _escaped(c: str) -> str:
    """A character as JSON may write it."""
    if c.isprintable():
        return c
    return json.dumps(c)[1:-1] if ord(c) > ord("\x7f") else f"\\u{ord(c):04x}"


def say(line: str) -> None:
    """A line on stderr, in which no name of a file can steer the terminal."""
    print(printable(line), file=sys.stderr, flush=True)


def report_outcomes(result: Result) -> None:
    """What did not end well, on stderr: which members, what happened, what to do."""
    for note in result.notes:
        say(f"note: {note}")
    for outcome, members in result.outcomes():
        named = [(f"member {k}" if result.batched else "run", k) for k in members[:LISTED]]
        messages = [(name, result.messages[k] if len(result.messages) > k else "") for name, k in named]
        report_outcome(outcome, len(members), messages)


def report_outcome(outcome: Outcome, members: int, messages: Sequence[tuple[str, str]]) -> None:
    """An outcome of some members, on stderr, unless it is good.

    Args:
        members: how many have it. messages: names of the first of them, and what happened to each.
    """
    if outcome == Outcome.ok:
        return
    todo = remedy(outcome)
    say(f"{outcome.name}: {todo}")
    for name, message in messages:
        parts = (part.strip(" :") for part in (message.replace(todo, "") if todo else message).split(";"))
        special = "; ".join(filter(None, parts))  # what is special about this member
        say(f"  {name}: {special}" if special else f"  {name}")
    if members > len(messages):
        say(f"  ... and {members - len(messages)} more")


def about(result: Result) -> str:
    """One line: how it was run and what it cost."""
    programs = f"{result.programs} program{'s' * (result.programs != 1)}"
    cost = f"{programs} compiled in {result.compile_s:.2f} s, all in {result.wall_s:.2f} s"
    return f"{', '.join(how_run(result.settings))}; {cost}"


def new_file(path: str, suffixes: Sequence[str], *, force: bool) -> Path:
    """The place of a file to be written, refused before any time is spent on it.

    Args:
        suffixes: in small letters, which there may be.
    """
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        known = ", ".join(suffixes)
        raise ModelError(path, f"suffix {target.suffix!r}", known, "The suffix decides the format.")
    if not target.absolute().parent.is_dir():
        raise ModelError(path, "no such folder", "a folder that exists", f"Make {target.parent} first.")
    if target.exists() and not force:
        raise ModelError(path, "something of that name", "a new name", "Use --force to replace it.")
    return target
