"""Solver, integrator and logger blocks of the three dialects, brought to the lists of v2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.formats.keys import SIMULATION
from shiftjax.formats.node import Node
from shiftjax.formats.units import Units
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.records import RunSettings

BLOCKS = {"solvers": "a solver", "integrators": "an integrator", "loggers": "a logger"}
POSITIVE = {"time_step", "infinity_norm_multiplier"}
NUMBERS = {
    "time_span", "time_step", "relative_error", "absolute_error", "omega_n", "integral_gain", "omega_n_max",
    "infinity_norm_multiplier",
}  # fmt: skip


def settings(parameters: Node, units: Units) -> RunSettings:
    """The run settings of `model_parameters`."""
    blocks: dict[str, list[FrozenJson]] = {name: [] for name in BLOCKS}
    if parameters.has("simulation"):
        for name, values in _of_simulation(parameters["simulation"].object("simulation"), units).items():
            blocks[name].append(FrozenJson(values))
    for name, kind in BLOCKS.items():
        for key in (name[:-1], name):  # the transition of 2019 wrote the singular
            value = parameters[key]
            nodes = [value] if isinstance(value.value, Mapping) else list(value.items())
            blocks[name] += [FrozenJson(_values(node.object(kind), units)) for node in nodes]
    return RunSettings(**{name: tuple(found) for name, found in blocks.items()})


def _of_simulation(node: Node, units: Units) -> dict[str, dict[str, Any]]:
    """The v0.2 block, key by key into the lists of v2.0."""
    found: dict[str, dict[str, Any]] = {}
    values = _values(node, units)
    for key, value in values.items():
        if key == "comment":
            found.setdefault("integrators", {})["comment"] = value
            continue
        block, name = SIMULATION[key]
        if block == "loggers":
            found.setdefault(block, {})["type"] = "csv"
        found.setdefault(block, {})[name] = value
    return found


def _values(node: Node, units: Units) -> dict[str, Any]:
    """The checked values of a block, times in seconds."""
    out: dict[str, Any] = {}
    for key in node.value:
        field = node[key]
        if field.value is None:
            continue
        if key in NUMBERS:
            time = units.time if key.startswith("time_") else 1.0 / units.time if key.startswith("omega") else 1.0
            out[key] = field.number(scale=time)
            if out[key] < 0 or (key in POSITIVE and out[key] == 0):
                field.refuse("a positive number", "Correct it.")
        elif key == "contact_detection":
            out[key] = field.frozen()
        else:
            out[key] = field.text()
    return out
