"""Metrics of workspaces, as `area()` or `radius() / 0.1`: expressions of what `workspace` answers. Host only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.expressions.dialects import LANES
from shiftjax.expressions.expression import FunctionCall, written
from shiftjax.kinematics.term_metrics import TermMetric, TermWords, term_metrics
from shiftjax.kinematics.workspaces.space_words import without_grid
from shiftjax.measures.expression_units import MIXED
from shiftjax.record import record

TERMS = ("area", "volume", "radius", "side", "dexterous_area")
EXAMPLE = "area(), or radius() / 0.1"


@record
class SpaceTerm:
    """One of `TERMS`, and its unit."""

    name: str
    unit: str

    def text(self) -> str:
        """What tells it from others."""
        return self.name


def space_metrics(
    wanted: Mapping[str, Any] | None, asked: Mapping[str, Any], units: tuple[str, ...]
) -> dict[str, TermMetric[SpaceTerm]]:
    """The metrics of workspaces.

    Args:
        wanted: name -> a text, or a mapping of it as `of` and of what is good of it. asked: keywords of `workspace`.
        units: of the coordinates.

    Raises:
        ModelError: what is no such metric; a term of what is not asked for.
    """
    of_terms = _units(units)

    def term(call: FunctionCall, where: str) -> SpaceTerm:
        _refuse(call, where, asked, len(units))
        return SpaceTerm(call.function, of_terms[call.function])

    return term_metrics(wanted, TermWords(TERMS, "workspaces", EXAMPLE, term, _outside))


def _units(units: tuple[str, ...]) -> dict[str, str]:
    """Unit of each term, of coordinates of these units."""
    alike = len({*units}) == 1
    size = f"{units[0]}^{len(units)}" if alike else MIXED
    length = units[0] if alike else MIXED
    return {"area": size, "volume": size, "dexterous_area": size, "radius": length, "side": length}


def _outside(name: str, where: str) -> Exception:
    todo = f"Write {name}()." if name in TERMS else f"Write it like {EXAMPLE}."
    return LANES.refused(where, name, f"calls of {', '.join(TERMS)}", todo)


def _refuse(call: FunctionCall, where: str, asked: Mapping[str, Any], coordinates: int) -> None:
    """Raises for a call with arguments, and for one of what a workspace of these keywords does not have."""
    name = call.function
    if call.arguments or call.options:
        raise LANES.refused(where, written(call), f"{name}()", "Leave out what stands in brackets.")
    fault = todo = ""
    if name == "area" and coordinates != 2:
        fault, todo = f"of {coordinates} coordinates", "Write volume()."
    elif name == "volume" and coordinates != 3:
        fault, todo = f"of {coordinates} coordinates", "Write area()."
    elif name == "side" and not asked.get("inscribed"):
        fault, todo = "without inscribed", "Add inscribed = true to [workspace]."
    elif name == "radius" and not asked.get("inscribed") and without_grid(asked):
        fault, todo = (
            "without inscribed, and without a grid",
            "Add inscribed = true, or box and points, to [workspace].",
        )
    elif name == "dexterous_area" and not asked.get("orientations"):
        fault, todo = "without orientations", "Add orientations = 24 to [workspace]."
    if fault:
        raise LANES.refused(where, f"{name}() {fault}", "what is asked for", todo)
