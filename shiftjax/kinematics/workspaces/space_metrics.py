"""Metrics of workspaces, as `area()` or `radius() / 0.1`: expressions of what `workspace` answers. Host only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftjax.errors import nearest, shown
from shiftjax.expressions.dialects import FUNCTIONS, LANES
from shiftjax.expressions.evaluation import evaluate
from shiftjax.expressions.expression import Expression, FunctionCall, Name, replaced, written
from shiftjax.expressions.grammar import parse
from shiftjax.kinematics.workspaces.space_words import without_grid
from shiftjax.measures.aims import NO_AIM, Aim, aim_of, text_without_aim
from shiftjax.measures.expression_units import MIXED, unit_of
from shiftjax.measures.run_metrics import check_name
from shiftjax.record import record

TERMS = ("area", "volume", "radius", "side", "dexterous_area")
EXAMPLE = "area(), or radius() / 0.1"


@record
class SpaceMetric:
    """An expression of terms, which stand in it by their names; and which of its values are good."""

    text: str
    node: Expression
    terms: tuple[str, ...]
    unit: str
    aim: Aim = NO_AIM


def space_metrics(
    wanted: Mapping[str, Any] | None, asked: Mapping[str, Any], units: tuple[str, ...]
) -> dict[str, SpaceMetric]:
    """The metrics of workspaces.

    Args:
        wanted: name -> a text, or a mapping of it as `of` and of what is good of it. asked: keywords of `workspace`.
        units: of the coordinates.

    Raises:
        ModelError: what is no such metric; a term of what is not asked for.
    """
    out, of_terms = dict[str, SpaceMetric](), _units(units)
    for name, words in (wanted or {}).items():
        check_name(name)
        where, terms = f"metric {name}", list[str]()
        text = text_without_aim(words, where, EXAMPLE)

        def term(call: FunctionCall, where: str = where, terms: list[str] = terms) -> Name:
            _refuse(call, where, asked, len(units))
            terms.append(call.function)
            return Name(call.function)

        node = _over_terms(parse(text, where, LANES), where, term)
        if not terms:
            raise LANES.refused(where, shown(text), f"a call of {', '.join(TERMS)}", f"Write it like {EXAMPLE}.")
        if (size := len(evaluate(node, {one: [1.0] for one in terms}, where))) != 1:
            raise LANES.refused(where, f"{size} numbers", "one number", "Make a metric of each.")
        unit = unit_of(node, of_terms) or "1"
        aim = aim_of(words, where, "" if unit == MIXED else unit)
        out[name] = SpaceMetric(text, node, tuple(dict.fromkeys(terms)), unit, aim)
    return out


def _units(units: tuple[str, ...]) -> dict[str, str]:
    """Unit of each term, of coordinates of these units."""
    alike = len({*units}) == 1
    size = f"{units[0]}^{len(units)}" if alike else MIXED
    length = units[0] if alike else MIXED
    return {"area": size, "volume": size, "dexterous_area": size, "radius": length, "side": length}


def _over_terms(node: Expression, where: str, term: Callable[[FunctionCall], Name]) -> Expression:
    """The expression with the name of a term for every call of one."""
    if isinstance(node, FunctionCall) and node.function in TERMS:
        return term(node)
    if isinstance(node, FunctionCall) and node.function not in FUNCTIONS:
        hint = nearest(node.function, (*TERMS, *FUNCTIONS))
        raise LANES.refused(where, f"{node.function}(...), of workspaces", ", ".join(TERMS), hint)
    if isinstance(node, Name) and node.text != "pi":
        hint = f"Write {node.text}()." if node.text in TERMS else f"Write it like {EXAMPLE}."
        raise LANES.refused(where, node.text, f"calls of {', '.join(TERMS)}", hint)
    return replaced(node, lambda inner: _over_terms(inner, where, term))


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
