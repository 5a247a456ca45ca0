"""The sections `parameters` and `points` of a file, and the numbers of it that are expressions of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from shiftjax.errors import ModelError, nearest
from shiftjax.formats.values.entry import named, opened
from shiftjax.formats.values.node import NUMERAL, Node
from shiftjax.formats.values.scope import Expressed, Scope, has_names, text_in_si
from shiftjax.mechanism.edit import everything_on
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.parameters import AXES, Parameter, Point, asked_by, determined, value_of_text
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.physical import faults
from shiftjax.quantities import BASE, unit_in_si

KINDS = {**BASE, "force": "N", "number": "1"}  # word of a parameter's unit -> the unit
BASES = ("rad", "m", "kg", "s", "N", "J", "W", "Pa", "1")  # words of other units


@dataclasses.dataclass
class Section:
    """What a file says of its named numbers: text in SI or value in SI by path, and where it stands."""

    parameters: dict[str, tuple[Node, Parameter]] = dataclasses.field(default_factory=dict)
    points: dict[str, tuple[Node, Point]] = dataclasses.field(default_factory=dict)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)  # path -> expression in SI
    nodes: dict[str, Node] = dataclasses.field(default_factory=dict)  # path -> where its value stands


def read(root: Node, scope: Scope) -> Section:
    """Reads both sections, and enters their numbers into the scope.

    Raises:
        ModelError: names that cannot be, units that are none, a circle of expressions, values beyond bounds.
    """
    section = Section()
    for name, node in named(root["parameters"], "a parameter"):
        block = opened(_as_object(node, "value"), "a parameter")
        unit = _unit(block["unit"])
        factor = scope.units.factor(unit)
        low, high = (block[key].number(None, factor) for key in ("minimum", "maximum"))
        parameter = Parameter(name, 0.0, unit, low, high, block["description"].text(""))
        section.parameters[name] = node, parameter
        section.nodes[f"parameters.{name}"] = block["value"] if isinstance(node.value, Mapping) else node
        scope.factors[f"parameters.{name}"] = factor
    for name, node in named(root["points"], "a point"):
        block = opened(_as_object(node, "position"), "a point")
        items = list(block["position"].items())
        if len(items) != 3:
            block["position"].refuse("a list of 3 numbers", "Write [x, y, z].")
        section.points[name] = block, Point(name, (0.0, 0.0, 0.0), block["description"].text(""))
        for axis, item in zip(AXES, items, strict=True):
            section.nodes[f"points.{name}.{axis}"] = item
            scope.factors[f"points.{name}.{axis}"] = scope.units.length
    for path, node in section.nodes.items():
        factor = scope.factors[path]
        if isinstance(node.value, str) and not NUMERAL.fullmatch(node.value):
            section.texts[path] = text_in_si(node.value, node.where, factor, scope.units, scope.factors)
        else:
            scope.values[path] = node.number(scale=factor)
    _evaluate(section, scope)
    return section


def _as_object(node: Node, key: str) -> Node:
    """An entry that is an object, or stands for one that has this key only."""
    if isinstance(node.value, Mapping):
        return node
    return Node({key: node.value}, node.where, node.warnings, node.scope)


def _unit(node: Node) -> str:
    """The unit that a parameter is in, in SI."""
    text = node.text("number")
    if text in KINDS:
        return KINDS[text]
    words = [word.partition("^")[0] for word in text.replace("/", " ").split()]
    if not words or not all(word in BASES for word in words):
        allowed = f"one of {', '.join(KINDS)}, or a product or quotient of {', '.join(BASES)}, as N/m"
        todo = "It says what the number measures, of which the value is in the file's own units: N/m, also in a file "
        node.refuse(allowed, todo + 'in mm. A value in another unit is an expression, "20 N / (1 mm)".')
    unit_in_si(text, node.where)
    return text


def _evaluate(section: Section, scope: Scope) -> None:
    """Enters the values of the section's own expressions, each after those that it asks for."""
    waiting = {path: asked_by(text, section.nodes[path].where) for path, text in section.texts.items()}
    while waiting:
        ready = [path for path, asked in waiting.items() if not asked & waiting.keys()]
        if not ready:
            path = next(iter(waiting))
            circle = [path]
            while (path := next(iter(sorted(waiting[path] & waiting.keys())))) not in circle:
                circle.append(path)
            around = " <- ".join([*circle[circle.index(path) :], path])
            section.nodes[path].refuse("numbers that follow from others", "Break it.", f"a circle: {around}")
        for path in ready:
            where = section.nodes[path].where
            scope.values[path] = value_of_text(section.texts[path], where, scope.values)
            del waiting[path]


def items_of(section: Section, scope: Scope) -> tuple[tuple[Parameter, ...], tuple[Point, ...]]:
    """The parameters and points with their values.

    Raises:
        ModelError: a value beyond the bounds of its parameter, bounds of which none is between.
    """
    parameters = []
    for name, (node, parameter) in section.parameters.items():
        done = dataclasses.replace(parameter, value=scope.values[f"parameters.{name}"])
        least, most = done.minimum, done.maximum
        if least is not None and most is not None and least > most:
            node.refuse("a minimum up to the maximum", "Correct them.", f"{least:g} and {most:g}")
        for fault in faults(done, done.numbers()):
            if fault.bad[0]:
                node.refuse(fault.allowed, fault.todo, fault.found(0))
        parameters.append(done)
    points = []
    for name, (_, point) in section.points.items():
        x, y, z = (scope.values[f"points.{name}.{axis}"] for axis in AXES)
        points.append(dataclasses.replace(point, position=(x, y, z)))
    return tuple(parameters), tuple(points)


def with_values(part: Model, node: Node, scope: Scope) -> tuple[Model, dict[str, str]]:
    """An included file with the values that its entry states of its parameters.

    Args:
        node: name of a parameter of the file -> a number, or an expression of the document. scope: of the document.

    Returns:
        And the expressions in SI, by those names.

    Raises:
        ModelError: no such parameter, one that follows from others there, a value beyond its bounds.
    """
    values, texts = dict[str, float](), dict[str, str]()
    known = {parameter.name: parameter for parameter in part.parameters}
    for name, item in named(node, "a parameter"):
        if name not in known:
            file = f"parameters of the included file: {listed(known) or 'it has none'}"
            node.refuse(file, nearest(name, known) or "Leave it out.", f"no parameter {name!r}")
        path = f"parameters.{name}"
        if path in part.expressions:
            raise determined(item.where, part.expressions[path])
        value = item.number(scale=scope.units.factor(known[name].unit))
        if isinstance(value, Expressed):
            texts[name] = value.text
            scope.read = [other for other in scope.read if other is not value]  # it is read, and of no element
        try:
            part.replace({path: float(value)})
        except ModelError as error:
            item.refuse(error.allowed, error.todo, error.found)
        values[path] = float(value)
    return (part.replace(values) if values else part), texts


def with_expressions(model: Model, section: Section, scope: Scope, included: Mapping[str, str]) -> Model:
    """The model with its numbers that follow from others noted by their paths.

    Args:
        included: expressions of included files, by path.

    Raises:
        ModelError: an expression where no number of a mechanism stands.
    """
    texts = {path: text for path, text in section.texts.items() if has_names(text, path)}
    on = dataclasses.replace(model, assemblies=everything_on(model.assemblies))
    every = on.numbers() if scope.read else {}
    numbers = {path: value for path, value in every.items() if isinstance(value, Expressed)}
    used = {id(value) for value in numbers.values()} | {value.where for value in numbers.values()}
    for value in scope.read:
        if id(value) not in used and value.where not in used:
            allowed = "expressions for numbers of the mechanism, as `shiftjax info MODEL --paths` lists them"
            raise ModelError(value.where, "an expression", allowed, "Write the number.")
    expressions = FrozenJson({**texts, **included, **{path: value.text for path, value in numbers.items()}})
    plain = model.with_values({path: float(value) for path, value in numbers.items()})
    return dataclasses.replace(plain, expressions=expressions)
