"""Lines of rates, from files that `shiftjax bench --output` wrote, and which of them are of one workload."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shiftjax.errors import ModelError

Line = Mapping[str, Any]
TEXT, NUMBER, COUNT, NOTHING = (str,), (int, float), (int,), (type(None),)
KINDS: dict[str, tuple[type, ...]] = {  # what a line of rates has at least
    **dict.fromkeys(("model", "varied", "precision", "backend", "limit_of", "device", "cpu", "date"), TEXT),
    **dict.fromkeys(("members", "failed", "operations", "cores"), COUNT),
    **dict.fromkeys(("span", "steps_per_s", "stepping_per_s", "stepping_per_cpu_s", "real_time", "real_time_stepping",
                     "limit_per_s", "estimated_bytes_a_member"), NUMBER),
    **dict.fromkeys(("step", "tolerance", "of_limit", "gap", "energy_error", "measured_bytes_a_member"),
                    NUMBER + NOTHING),
    "method": TEXT + NOTHING,
    "threads": COUNT + NOTHING,
    "versions": (dict,),
}  # fmt: skip
FIRST_CALLS = ("cold_compile_s", "cold_call_s", "warm_compile_s", "warm_call_s")  # all of them or none
FILE = "file"  # key of the file that a line comes from
WORKLOAD = (
    "model", "varied", "span", "step", "tolerance", "method", "precision", "backend", "threads", "device", "cpu",
    "cores", "versions", "date", FILE,
)  # fmt: skip
WORDS = {str: "a text", int: "a whole number", float: "a number", dict: "an object", type(None): "null"}
SHOWN = 40  # characters of what is wrong
TODO = "Give a file that `shiftjax bench MODEL --output FILE` wrote."


def lines_of(path: str | Path, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The lines of rates of a file, each with its name under `FILE`; lines of other benchmarks are passed over.

    Args:
        say: is told that the last line is cut off, as where writing was interrupted: it is left out.

    Raises:
        ModelError: it cannot be read, a line is none that was written, or none is of rates.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(str(path), error.strerror or str(error), "a file that can be read", TODO) from error
    except UnicodeDecodeError as error:
        raise ModelError(str(path), "lines that are no figures", "one JSON object a line", TODO) from error
    rows = text.split("\n")
    chosen, notes = [], []
    for number, row in enumerate(rows, start=1):
        where = f"{path}, line {number}"
        try:
            line = json.loads(row, parse_float=_finite, parse_constant=_finite) if row.strip() else None
        except (ValueError, RecursionError) as error:
            if number == len(rows) and row.startswith("{"):  # whole lines end with a line break
                notes.append(f"note: {where}: cut off: it is left out")
                continue
            raise ModelError(where, "lines that are no figures", "one JSON object a line", TODO) from error
        if line is None and not row.strip():
            continue
        if not isinstance(line, dict) or not isinstance(line.get("benchmark"), str):
            raise ModelError(where, "no figures of a benchmark", "a JSON object with `benchmark`", TODO)
        if line["benchmark"] == "bench":
            _check(line, where)
            chosen.append({**line, FILE: str(path)})
    if not chosen:
        raise ModelError(str(path), "no rates", "lines of rates", TODO)
    for note in notes:
        say(note)
    return chosen


def _finite(text: str) -> float:
    """A number of JSON, which knows no NaN and no infinity."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _check(line: Line, where: str) -> None:
    """Raises where a line of rates lacks a figure or has another thing in its place."""
    kinds = {**KINDS, **(dict.fromkeys(FIRST_CALLS, NUMBER) if any(name in line for name in FIRST_CALLS) else {})}
    for name, kind in kinds.items():
        if name not in line:
            raise ModelError(where, f"no `{name}`", "a line of rates", TODO)
        value = line[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            allowed = " or ".join(WORDS[one] for one in kind if one is not int or float not in kind)
            raise ModelError(where, f"`{name}` {json.dumps(value)[:SHOWN]}", allowed, TODO)
    if line["members"] < 1:
        raise ModelError(where, f"`members` {line['members']}", "1 or more", TODO)


def by_workload(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines that differ in the number of members only, together: of one workload on one machine, of one file."""
    groups: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(json.dumps(line.get(key), sort_keys=True) for key in WORKLOAD), []).append(line)
    return list(groups.values())


def differences(groups: Sequence[Sequence[Line]], shown: Iterable[str]) -> list[str]:
    """By what each group of `by_workload` differs, in words, from those that are alike in the keys that are shown."""
    shown, texts = tuple(shown), []
    firsts = [group[0] for group in groups]
    for one in firsts:
        alike = [other for other in firsts if all(other.get(key) == one.get(key) for key in shown)]
        keys = [key for key in WORKLOAD if any(other.get(key) != one.get(key) for other in alike)]
        texts.append(", ".join(f"{key} {_words(one.get(key))}" for key in keys))
    return texts


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {one}" for name, one in value.items())
    return "left out" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
