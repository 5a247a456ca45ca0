"""The JSON Schema of the dialect that is written, made from the table of fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftjax.field import Field
from shiftjax.joints import KINDS
from shiftjax.mechanism.fields import GEOMETRIES, SHAPED, element, labels
from shiftjax.quantities import FACTORS

EXACTLY_ONE = {"a restraint": ("joint", "body_frame_pair")}
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
VECTOR = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}
NUMBERS = {"type": "array", "items": NUMBER}
EXPRESSION = {"type": ["number", "string"]}  # a number of the mechanism
NAMED = {"type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": {"const": "pi"}}}
NUMBERS_BY_NAME = {"type": "object", "additionalProperties": NUMBER}  # of coordinates
ENDS = {"type": ["array", "null"], "items": {"anyOf": [NUMBER, {"type": "null"}]}, "minItems": 2, "maxItems": 2}
OTHERS = {"not": {"enum": ["value", "weight", "level"]}}  # names of coordinates
WANTED = [NUMBER, {"$ref": "#/$defs/wanted value"}]
RADIUS = {"type": "number", "exclusiveMinimum": 0}
REFERENCE = {
    "type": "array",
    "prefixItems": [{"type": "array", "items": TEXT, "minItems": 1}, TEXT],
    "minItems": 2,
    "maxItems": 2,
}
SHAPES: dict[str, dict[str, Any]] = {
    "number": NUMBER,
    "vector": VECTOR,
    "axis": {"anyOf": [VECTOR, {"enum": ["x", "y", "z"]}]},
    "numbers": NUMBERS,
    "ascending": NUMBERS,
    "pieces": {"type": "array", "minItems": 1, "items": {**NUMBERS, "minItems": 1}},
    "rows": {"type": "array", "items": NUMBERS},
    "polynomial": {"anyOf": [NUMBERS, {"type": "object", "additionalProperties": NUMBERS}]},
    "displacement": {"anyOf": [NUMBER, {"$ref": "#/$defs/placement"}, NUMBERS_BY_NAME, NUMBERS]},
    "velocity": {"anyOf": [NUMBER, NUMBERS, NUMBERS_BY_NAME]},
    "limits": {"anyOf": [ENDS, {"type": "object", "additionalProperties": ENDS}, {"type": "array", "items": ENDS}]},
    "wanted": {"anyOf": [*WANTED, {"type": "array", "items": {"anyOf": [*WANTED, {"type": "null"}]}},
                         {"type": "object", "additionalProperties": {"anyOf": WANTED}, "propertyNames": OTHERS}]},
    "lock": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": TEXT}]},
    "pair": {**NUMBERS, "minItems": 2, "maxItems": 2},
    "colour": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}, "minItems": 3, "maxItems": 4},
    "points": {"type": "array", "items": VECTOR},
    "spheres": {"type": "array", "items": {"type": "array", "prefixItems": [NUMBER, NUMBER, NUMBER, RADIUS],
                                           "minItems": 4, "maxItems": 4}},
    "matrix": {"type": "array", "items": VECTOR, "minItems": 3, "maxItems": 3},
    "name": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^:`]+$"},
    "text": TEXT,
    "comment": TEXT,
    "flag": {"type": "boolean"},
    "choice": TEXT,
    "texts": {"type": "array", "items": TEXT},
    "reference": REFERENCE,
    "references": {"type": "array", "items": REFERENCE},
    "joint": {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]},
    "joints": {"type": "array"},
    "expression": EXPRESSION,
    "parameters": {**NAMED, "additionalProperties": {"anyOf": [EXPRESSION, {"$ref": "#/$defs/parameter"}]}},
    "named points": {**NAMED, "additionalProperties": {"anyOf": [{**VECTOR, "items": EXPRESSION},
                                                                 {"$ref": "#/$defs/point"}]}},
    "events": {**NAMED, "additionalProperties": {"anyOf": [TEXT, {"$ref": "#/$defs/event"}]}},
    "sublinkages": {"type": "object", "propertyNames": {"pattern": "^[^:`]+$"},
                    "additionalProperties": {"$ref": "#/$defs/sublinkage"}},
    "values by path": {"type": "object", "additionalProperties": EXPRESSION},
    "object": {"type": "object"},
    "list": {"type": "array"},
    "anything": {},
    "data": {},
}  # fmt: skip
READ_ONLY = ("$schema", "include", "parent", "parameters")  # keys of dialect 2.0 that a writer has no use for
RESERVED = {"a body": "fixed", "an assembly": "fixed", "a frame": "origin"}


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a file; what is registered now is part of it."""
    definitions = {_plain(label): _object(label) for label in labels() if not label.startswith("a geometry")}
    shared = {field.key: _value(field) for field in SHAPED}
    kinds = [_of_type("type", kind, fields) for kind, fields in GEOMETRIES.items()]
    definitions["geometry"] = {"type": "object", "properties": shared, "oneOf": kinds, "unevaluatedProperties": False}
    joints = [f"joint of type {kind}" for kind in KINDS]
    definitions["joint"]["properties"]["type"] = {"enum": [k for k, kind in KINDS.items() if not kind.fields]}
    definitions["any joint"] = {"anyOf": [_ref("joint"), *(_ref(name) for name in joints if name in definitions)]}
    for what in ("force module", "constraint", "driver"):
        kinds = [name for name in definitions if name.startswith(f"{what} of type ")]
        definitions[what] = {"anyOf": [_ref(name) for name in kinds]} if kinds else {"not": {}}
    definitions["units"]["properties"] = {kind: {"enum": list(known)} for kind, known in FACTORS.items()}
    root = definitions.pop("the root")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://shiftjax.invalid/schema/shift-2.0.json",
        "title": "Shift JSON model, dialect 2.0 as shiftjax writes it",
        **root,
        "$defs": definitions,
    }


def _plain(label: str) -> str:
    """A label without its article."""
    return label.removeprefix("an ").removeprefix("a ")


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _of_type(key: str, kind: str, fields: Sequence[Field]) -> dict[str, Any]:
    properties = {key: {"const": kind}, **{field.key: _value(field) for field in fields}}
    wanted = [field.key for field in fields if field.required]
    return {"properties": properties, "required": [key, *wanted]} if wanted else {"properties": properties}


def _object(label: str) -> dict[str, Any]:
    """What an object may hold; fields of a group stand in an object of their own."""
    definition: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
    for field in element(label):
        group, _, key = field.key.rpartition(".")
        if group:
            inner: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
            definition["properties"].setdefault(group, inner)["properties"][key] = _value(field)
        elif field.written or key in READ_ONLY:
            definition["properties"][key] = _value(field)
    kind = label.partition(" of type ")[2]
    if kind:
        definition["properties"]["type"] = {"const": kind}
    if label in RESERVED:
        definition["properties"]["name"] = {**SHAPES["name"], "not": {"const": RESERVED[label]}}
    wanted = [field.key for field in element(label) if field.required and field.written]
    if wanted:
        definition["required"] = wanted
    if label in EXACTLY_ONE:
        definition["oneOf"] = [{"required": [key]} for key in EXACTLY_ONE[label]]
    return definition


def _or_quoted(definition: Any) -> Any:
    """The same where each number may be an expression in quotes."""
    if definition == NUMBER:
        return dict(EXPRESSION)
    if isinstance(definition, list):
        return [_or_quoted(item) for item in definition]
    return {key: _or_quoted(item) for key, item in definition.items()} if isinstance(definition, dict) else definition


def _value(field: Field) -> dict[str, Any]:
    """What a key may hold."""
    definition: dict[str, Any] = _or_quoted(SHAPES[field.shape]) if field.numeric else dict(SHAPES[field.shape])
    if field.choices:
        written = [word for word in field.choices if not word.startswith("0.")]  # old versions are read only
        definition = {"enum": written}
    if field.shape == "list":
        definition["items"] = _ref("any joint" if field.of == "a joint" else _plain(field.of))
    elif field.of:
        definition = dict(_ref(_plain(field.of)))
    bounds = {"minimum": field.least, "exclusiveMinimum": field.above}
    bounds = {word: bound for word, bound in bounds.items() if bound is not None}
    if bounds and field.shape == "number":
        definition |= bounds
    elif bounds:
        definition["items"] = {**definition["items"], **bounds}
    if field.fewest:
        definition["minItems"] = field.fewest
    unit = f" [{field.unit}]" if field.unit != "1" else ""
    return {"description": f"{field.doc}{unit}", **definition}
