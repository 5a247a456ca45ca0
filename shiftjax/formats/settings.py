"""Solver, integrator and logger blocks of the three dialects, brought to the lists of v2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.formats.entry import Entry, opened
from shiftjax.formats.node import Node
from shiftjax.formats.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import RunSettings

BLOCKS = {"solvers": "a solver", "integrators": "an integrator", "loggers": "a logger"}
# v0.2 simulation block -> list of v2.0 and key there, where it is not a key of integrators
SIMULATION = {
    "integration_type": ("integrators", "type"),
    "infinity_norm_multiplier": ("solvers", "infinity_norm_multiplier"),
    "contact_detection": ("solvers", "contact_detection"),
    "out_file": ("loggers", "csv_logfile"),
}


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
    return RunSettings(**{name: tuple(numbers) for name, numbers in blocks.items()})


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
