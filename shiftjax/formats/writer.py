"""A Model as a document of the v2.0 dialect, field by field as the table says; what equals its default is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftjax.field import Field
from shiftjax.formats.sections.geometry import written as shape_entry
from shiftjax.mechanism.events import Event, event_of
from shiftjax.mechanism.fields import element, label_of, value_of
from shiftjax.mechanism.frozen_json import FrozenJson, thaw
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import parts, split
from shiftjax.mechanism.records import FIXED, STARTS, Assembly, Element, FrameRef, Placement, WantedValue, walk

VERSION = "2.0"


def to_dict(model: Model) -> dict[str, Any]:
    """The document of a model; `load` of it gives an equal model.

    Numbers that follow from others are written as expressions, in SI.
    """
    settings, model = model.settings, model.with_values(model.expressions)
    parameters = {
        "version": VERSION,
        "units": dict(model.units),
        "gravity": list(model.gravity),
        "include_directories": list(model.include_directories),
        "solvers": thaw(settings.solvers),
        "integrators": thaw(settings.integrators),
        "loggers": thaw(settings.loggers),
    }
    document = {
        "comment": model.comment or None,
        "model_parameters": _there(parameters),
        "frames": [entry(frame, "a frame") for frame in model.frames],
        "lights": [entry(light, "a light") | thaw(light.options) for light in model.lights],
        "terrain": [entry(terrain, "a terrain") | thaw(terrain.options) for terrain in model.terrain],
        "parameters": {item.name: entry(item, "a parameter") for item in model.parameters},
        # what follows a point stands in the file as expressions, so that nothing is to be searched for
        "points": {item.name: {**entry(item, "a point"), "frames": []} for item in model.points},
        "sublinkages": {one.name: entry(one, "a sublinkage") for one in model.sublinkages},
        "events": {name: _event(event_of(name, words)) for name, words in model.events.items()},
    }
    return {**_there(document), "assemblies": _assemblies(model.assemblies)}


def _assemblies(assemblies: tuple[Assembly, ...]) -> list[dict[str, Any]]:
    roots: list[dict[str, Any]] = []
    inside: dict[str, list[dict[str, Any]]] = {"": roots}
    for path, assembly, _ in walk(assemblies):
        document = entry(assembly, "an assembly")
        inside[path.rpartition(":")[0]].append(document)
        if assembly.assemblies:
            document["assemblies"] = inside[path] = []
    return roots


def _event(event: Event) -> str | dict[str, Any]:
    """What differs from the defaults; of an event that only marks its expression."""
    stated = entry(event, "an event")
    return event.of if stated.keys() == {"of"} else stated


def _there(values: dict[str, Any]) -> dict[str, Any]:
    """The values that say something."""
    return {key: value for key, value in values.items() if value is not None and value not in ([], {})}


def entry(item: Any, label: str) -> dict[str, Any]:
    """The object of one record: its name, then what differs from its default; parts of a group stand together."""
    document: dict[str, Any] = {}
    default: dict[str, bool] = {}  # group -> whether everything in it has its default
    fields = [field for field in element(label) if field.written and (field.shape in WRITE or field.of in LISTS)]
    for field in sorted(fields, key=lambda field: field.name != "name"):
        value = item.start(field.name) if field.name in STARTS else value_of(item, field.name)
        group, _, key = field.key.rpartition(".")
        if value is None:
            continue
        plain = repr(value) == repr(field.default)  # -0.0 is not the default 0.0
        if group:
            default[group] = default.get(group, True) and plain
            document.setdefault(group, {})[key] = _written(value, field)
        elif not plain:
            document[key] = _written(value, field)
    return {key: value for key, value in _there(document).items() if not default.get(key)}


def _written(value: Any, field: Field) -> Any:
    if field.of:
        return [LISTS[field.of](item) for item in value]
    return WRITE[field.shape](value)


def _element(what: str) -> Callable[[Element], dict[str, Any]]:
    def write(item: Element) -> dict[str, Any]:
        return entry(item, label_of(what, {"type": item.type}))

    return write


def _ref(ref: FrameRef) -> list[Any]:
    return [[FIXED] if ref.body == FIXED else parts(ref.body), ref.frame]


def _joint(path: str) -> list[str]:
    joint, coordinate = split(path)
    *outer, name = parts(joint)
    return [*outer, name + coordinate]


def _listed(value: Any) -> Any:
    if isinstance(value, FrozenJson):  # of the coordinates of a joint
        return {name: _listed(item) for name, item in value.items() if item != ()}
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _wanted(value: WantedValue) -> Any:
    """A number where that is all."""
    stated = entry(value, "a wanted value")
    return stated["value"] if stated.keys() == {"value"} else stated


WRITE: dict[str, Callable[[Any], Any]] = {  # shape of a field -> what a file holds
    **dict.fromkeys(("number", "expression", "text", "comment", "flag", "choice", "name"), lambda value: value),
    "displacement": lambda value: (
        (entry(value, "a placement") or 0) if isinstance(value, Placement) else _listed(value)
    ),
    **dict.fromkeys(("vector", "matrix", "axis", "numbers", "points", "ascending", "polynomial"), _listed),
    **dict.fromkeys(("pieces", "rows", "velocity", "limits", "lock"), _listed),
    "wanted": lambda value: (
        {name: _wanted(one) for name, one in value.items()} if isinstance(value, FrozenJson) else _wanted(value)
    ),
    **dict.fromkeys(("values by path", "data"), thaw),
    "reference": _ref,
    "references": lambda refs: [_ref(ref) for ref in refs],
    "joint": _joint,
    "joints": lambda paths: [_joint(path) for path in paths],
}
LISTS: dict[str, Callable[[Any], dict[str, Any]]] = {  # label of what a list holds -> the object of one of them
    "a frame": lambda item: entry(item, "a frame"),
    "a geometry": shape_entry,
    "a body": lambda item: entry(item, "a body"),
    "a joint": lambda item: entry(item, label_of("a joint", {"type": item.type})),
    "a restraint": lambda item: entry(item, "a restraint"),
    "a constraint": _element("a constraint"),
    "a driver": _element("a driver"),
    "a force module": _element("a force module"),
}
