"""Solver, integrator and logger blocks of the three dialects, brought to the lists of v2.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shiftjax.formats.values.entry import Entry, opened
from shiftjax.formats.values.node import Node
from shiftjax.formats.values.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import OFF, RunSettings, csv_name, is_csv

BLOCKS = {"solvers": "a solver", "integrators": "an integrator", "loggers": "a logger"}
# v0.2 simulation block -> list of v2.0 and key there, where it is not a key of integrators
SIMULATION = {
    "integration_type": ("integrators", "type"),
    "infinity_norm_multiplier": ("solvers", "infinity_norm_multiplier"),
    "contact_detection": ("solvers", "contact_detection"),
    "out_file": ("loggers", "csv_logfile"),
}
STABILISATION = ("omega_n", "integral_gain", "omega_n_max")  # of constraints (Baumgarte 1972), kept in `integrators`
SOLVER = "rnca"  # what public files call theirs
FLAGS = (*OFF, True, "true", "on")


def settings(parameters: Node, units: Units) -> RunSettings:
    """The run settings of `model_parameters`."""
    blocks: dict[str, list[FrozenJson]] = {name: [] for name in BLOCKS}
    if parameters.has("simulation"):
        for name, values in _of_simulation(opened(parameters["simulation"], "simulation"), units).items():
            blocks[name].append(FrozenJson(values))
    for name, kind in BLOCKS.items():
        for key in (name[:-1], name):  # the transition of 2019 wrote the singular
            value = parameters[key]
            nodes = [value] if isinstance(value.value, Mapping) else list(value.items())
            blocks[name] += [FrozenJson(_values(opened(node, kind), kind, units)) for node in nodes]
    for text in _unused(blocks):
        parameters.warn(text)
    return RunSettings(**{name: tuple(numbers) for name, numbers in blocks.items()})


def _unused(blocks: Mapping[str, list[FrozenJson]]) -> Iterator[str]:
    """What is read of the blocks and has no effect, a sentence each."""
    for name in ("solvers", "integrators"):
        seen: set[str] = set()
        for block in blocks[name]:
            given = {key for key in block if key not in ("comment", *STABILISATION)}
            if twice := [key for key in block if key in given & seen]:
                yield f"{', '.join(twice)} of further {name}: not used, those of the first count"
            seen |= given
    if keys := [key for key in STABILISATION if any(key in block for block in blocks["integrators"])]:
        yield f"{', '.join(keys)}: not used, constraints need no stabilisation here: every step ends with closed loops"
    for block in blocks["solvers"]:
        if (kind := block.get("type")) not in (None, SOLVER):
            yield f"solver {kind!r}: not known, the solver here does what {SOLVER} of other files does"
    for block in blocks["loggers"]:
        yield from _unused_of_logger(block)


def _unused_of_logger(block: FrozenJson) -> Iterator[str]:
    kind, flag = block.get("type"), block.get("timestamp_logfile")
    name = next((block[key] for key in ("csv_logfile", "filename", "logfile") if block.get(key)), None)
    what = f"logger {name!r}" if name else "logger"
    if not is_csv(block):
        yield f"{what} of type {kind!r}: not written, `shiftjax run --out NAME.zarr` stores a run with all its settings"
        return
    if not csv_name(block):
        yield f"{what}: not written, it has no csv_logfile"
    elif block.get("logfile"):
        yield f"logfile {block['logfile']!r} of {what}: not used, its csv_logfile counts"
    if block.get("csv_logfile") and block.get("filename"):
        yield f"filename {block['filename']!r} of {what}: not used, its csv_logfile counts"
    if flag not in FLAGS:
        yield f"timestamp_logfile {flag!r} of {what}: taken for true, the time of a run is added to the name"


def _of_simulation(node: Node, units: Units) -> dict[str, dict[str, Any]]:
    """The v0.2 block, key by key into the lists of v2.0."""
    blocks: dict[str, dict[str, Any]] = {}
    values = _values(node, "simulation", units)
    for key, value in values.items():
        if key == "comment":
            blocks.setdefault("integrators", {})["comment"] = value
            continue
        block, name = SIMULATION.get(key, ("integrators", key))
        if block == "loggers":
            blocks.setdefault(block, {})["type"] = "csv"
        blocks.setdefault(block, {})[name] = value
    return blocks


def _values(node: Node, label: str, units: Units) -> dict[str, Any]:
    """The checked values of a block, times in seconds."""
    entry, out = Entry(node, label, units), dict[str, Any]()
    for key in node.value:
        if node[key].value is None:
            continue
        out[key], field = entry(key), entry.fields[key]
        too_small = field.least is not None and out[key] < field.least
        if too_small or (field.above is not None and out[key] <= field.above):
            node[key].refuse("a positive number", "Correct it.")
    return out
