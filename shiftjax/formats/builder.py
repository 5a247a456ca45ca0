"""Models from Python: the same records as from a file, by the same reader and its checks.

The methods take what the table of fields lists, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from shiftjax.constraints import CONSTRAINTS
from shiftjax.errors import ModelError, nearest, need_mapping, one_of, refuse_text, shown, wrong
from shiftjax.field import SHAPES, Field
from shiftjax.forces import FORCES
from shiftjax.formats.files import load
from shiftjax.mechanism.fields import INERTIA, element, label_of
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child
from shiftjax.mechanism.records import FIXED, IDENTITY, ORIGIN, ZERO, FrameRef, Inertia

Ref = str | tuple[str, str] | FrameRef  # a body (its origin), (body, frame), or a reference of another model
Numbers = Sequence[float] | np.ndarray


def _ref(ref: Ref) -> list[Any]:
    """A reference as the file writes it; a body is a name of the local assembly or a full path with ":"."""
    if isinstance(ref, FrameRef):
        ref = (ref.body, ref.frame)
    pair = (ref, ORIGIN) if isinstance(ref, str) else ref
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        raise wrong("a reference to a frame", ref, "a body, or (body, frame)")
    body, frame = pair
    return [body.replace("`", "").split(":"), frame]


def _refs(refs: Any) -> list[Any]:
    """A list of references."""
    if not isinstance(refs, tuple | list):
        raise wrong("references to frames", refs, "a list of them")
    return [_ref(ref) for ref in refs]


def _frames(frames: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Frames by name: T alone, or an object of T, R and rotation."""
    need_mapping("frames", frames)
    return [
        {"name": name, **value} if isinstance(value, Mapping) else {"name": name, "T": value}
        for name, value in frames.items()
    ]


def _geometry(geometry: Any) -> list[Any]:
    """Shapes as a file has them: strings alone are one mesh, a single shape is a list of one."""
    if isinstance(geometry, str | Mapping):
        geometry = [geometry]
    if not isinstance(geometry, Sequence) or isinstance(geometry, range):
        raise wrong("geometry", geometry, "a shape or a list of shapes")
    if all(isinstance(item, str) for item in geometry):
        return [{"type": "mesh", "filename": list(geometry)}]
    return list(geometry)


def _inertia(inertia: Numbers | Mapping[str, float] | Inertia) -> dict[str, float]:
    """Ixx, Iyy, Izz and perhaps Ixy, Iyz, Izx, or these by name, or what `shiftjax.solid` found."""
    if isinstance(inertia, Inertia):
        return asdict(inertia)
    if isinstance(inertia, Mapping):
        return dict(inertia)
    if isinstance(inertia, np.ndarray):
        inertia = inertia.ravel().tolist()
    if not isinstance(inertia, Sequence) or isinstance(inertia, str) or not 3 <= len(inertia) <= 6:
        raise wrong("inertia", inertia, "Ixx, Iyy, Izz and perhaps Ixy, Iyz, Izx")
    return dict(zip(INERTIA, inertia, strict=False))


WRITE: dict[str, Callable[[Any], Any]] = {
    "reference": _ref,
    "references": _refs,
    "a frame": _frames,
    "a geometry": _geometry,
}


def arguments(label: str) -> dict[str, Field]:
    """What a builder's method takes, in the order of the table; a group of fields is one argument of its name."""
    fields: dict[str, Field] = {}
    for field in element(label):
        if field.written and field.name != "name":
            fields.setdefault(field.name.partition(".")[0], field)
    return fields


def entry(label: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a file that arguments stand for.

    Raises:
        ModelError: an argument that the table does not know.
    """
    for what, kinds, older in (("a force module", FORCES, ("tire",)), ("a constraint", CONSTRAINTS, ())):
        if label.startswith(f"{what} of type "):
            listed = [word for word, kind in kinds.items() if kind.listed]
            one_of(f"{what} {shown(name)}: type", values.get("type"), [*listed, *older])
    known = arguments(label)
    document: dict[str, Any] = {"name": name}
    for argument, value in values.items():
        if argument not in known:
            todo = nearest(argument, known) or "Leave it out."
            raise ModelError(f"{label} {name!r}", f"argument {argument!r}", ", ".join(known), todo)
        if value is None or (argument == "geometry" and isinstance(value, str | Sequence) and not value):
            continue
        field = known[argument]
        group, _, key = field.key.rpartition(".")
        if argument == group:
            document.setdefault(group, {}).update(_inertia(value))
        elif group:
            document.setdefault(group, {})[key] = value
        else:
            document[key] = WRITE.get(field.of or field.shape, lambda same: same)(value)
    return document


def _method(key: str, what: str, positional: tuple[str, ...] = (), **defaults: Any) -> Callable[..., AssemblyBuilder]:
    """A method that adds one element to the list `key`; its signature and help are made from the table."""

    def add(self: AssemblyBuilder, name: str, *args: Any, **values: Any) -> AssemblyBuilder:
        if len(args) > len(positional):
            fault, most = f"{len(args) + 1} positional arguments", f"{len(positional) + 1}"
            raise ModelError(f"{what} {name!r}", fault, most, "Name the others.")
        values = {**defaults, **dict(zip(positional, args, strict=False)), **values}
        label = what if what == "a body" or what == "a restraint" else label_of(what, values)
        self.entry.setdefault(key, []).append(entry(label, name, values))
        return self

    known = {} if what in ("a force module", "a constraint", "a driver") else arguments(what)
    places = [
        Parameter(word, Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(word, Parameter.empty))
        for word in ("self", "name", *positional)
    ]
    named = [
        Parameter(word, Parameter.KEYWORD_ONLY, default=defaults.get(word, field.default))
        for word, field in known.items() if word not in positional
    ]  # fmt: skip
    more = [] if known else [Parameter("values", Parameter.VAR_KEYWORD)]
    add.__signature__ = Signature([*places, *named, *more])  # type: ignore[attr-defined]
    lines = [f"    {word}: {_helped(word, field)}" for word, field in known.items()]
    text = "\n        ".join(["Args:", "    name: unique in its list.", *lines])
    add.__doc__ = f"Adds {what}.\n\n        {text}\n"
    add.__name__ = what.partition(" ")[2]
    return add


def _helped(word: str, field: Field) -> str:
    """A line of help: sentence, shape and unit."""
    if word == "inertia":
        return (_inertia.__doc__ or "").rstrip(".") + "; about the centre of mass along body axes [kg m^2]."
    if field.of:
        return f"{field.doc}; {'T by name, or T, R, rotation by name' if word == 'frames' else 'as in a file'}."
    unit = field.unit.replace("{x}", "(rad or m)").replace("{f}", "(N m or N)")
    return f"{field.doc}; {SHAPES[field.shape]}" + (f" [{unit}]." if unit != "1" else ".")


class AssemblyBuilder:
    """An assembly being made; every method returns the builder, but `assembly` the new inner one."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry

    body = _method("bodies", "a body")
    joint = _method("joints", "a joint", ("type",), parent=FIXED)
    restraint = _method("restraints", "a restraint", ("type",))
    constraint = _method("constraints", "a constraint", ("type",))
    driver = _method("drivers", "a driver", ("type",))

    force = _method("force_modules", "a force module", ("type",))

    def force_module(self, type: str, **values: Any) -> AssemblyBuilder:
        """Adds a tire or pid as files of the source tool write it."""
        self.entry.setdefault("force_modules", []).append({"type": type, **values})
        return self

    def include(
        self,
        name: str,
        file: str,
        *,
        parent: Ref | None = None,
        active: bool = True,
        parameters: Mapping[str, float | str] | None = None,
    ) -> AssemblyBuilder:
        """Adds the assemblies of a file; its ground becomes the parent frame, its parameters get these values."""
        values = {"name": name, "include": file, "parent": None if parent is None else _ref(parent), "active": active}
        values["parameters"] = parameters
        self.entry.setdefault("assemblies", []).append({k: v for k, v in values.items() if v is not None})
        return self

    def assembly(self, name: str, *, active: bool = True, comment: str | None = None) -> AssemblyBuilder:
        """Adds an inner assembly and returns its builder."""
        entry = {"name": name, "active": active} | ({} if comment is None else {"comment": comment})
        self.entry.setdefault("assemblies", []).append(entry)
        return AssemblyBuilder(entry)


class ModelBuilder:
    """A model being made; `build` reads it as a file is read, with the same errors.

    Args:
        gravity: acceleration; +z is down in most files [m/s^2].
        comment: a text.
        units: of all numbers given, as in a file: {"angle": "degrees"}; SI where left out. What `solid` finds is SI.
    """

    def __init__(
        self,
        *,
        gravity: Numbers = (0.0, 0.0, 9.81),
        comment: str | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.parameters: dict[str, Any] = {"version": "2.0", "gravity": gravity}
        if units is not None:
            self.parameters["units"] = units
        self.document: dict[str, Any] = {"model_parameters": self.parameters, "assemblies": []}
        if comment is not None:
            self.document["comment"] = comment

    def settings(
        self,
        *,
        span: float | None = None,
        output_step: float | None = None,
        infinity_norm_multiplier: float | None = None,
        integrator: str = "rk4",
        **more: float,
    ) -> ModelBuilder:
        """Sets the defaults of a run: span [s], output step [s], multiplier of the repartition rule."""
        self.parameters["integrators"] = [{"type": integrator, "time_span": span, "time_step": output_step, **more}]
        if infinity_norm_multiplier is not None:
            self.parameters["solvers"] = [{"type": "rnca", "infinity_norm_multiplier": infinity_norm_multiplier}]
        return self

    def parameter(
        self,
        name: str,
        value: float | str,
        *,
        unit: str = "number",
        minimum: float | str | None = None,
        maximum: float | str | None = None,
        description: str | None = None,
    ) -> ModelBuilder:
        """Adds a named number, of which others are expressions: `mass="2.4 * L"`.

        Args:
            name: of letters, digits and _. value: in the builder's units, or an expression of other parameters.
            unit: what it measures: length, angle, mass, time, force, number, or a unit such as "N/m".
            minimum, maximum: what it may be. description: a sentence.
        """
        bounds = {"minimum": minimum, "maximum": maximum, "description": description}
        entry = {"value": value, "unit": unit, **{key: given for key, given in bounds.items() if given is not None}}
        self.document.setdefault("parameters", {})[name] = entry
        return self

    def point(
        self,
        name: str,
        position: Sequence[float | str] | np.ndarray,
        *,
        frames: Sequence[Ref] | None = None,
        description: str | None = None,
    ) -> ModelBuilder:
        """Adds a point of the world, which the frames that stand there in the drawn pose follow.

        Args:
            name: of letters, digits and _. position: [x, y, z], each a number or an expression of parameters.
            frames: those that follow it, in place of all that stand there. description: a sentence.
        """
        entry: dict[str, Any] = {"position": position}
        if frames is not None:
            entry["frames"] = _refs(list(frames))
        if description is not None:
            entry["description"] = description
        self.document.setdefault("points", {})[name] = entry
        return self

    def event(
        self,
        name: str,
        of: str,
        *,
        direction: str | None = None,
        action: str | None = None,
        capacity: int | None = None,
        values: Mapping[str, float | str] | None = None,
    ) -> ModelBuilder:
        """Adds an event that every run of the model has.

        Args:
            name: of letters, digits and _. of: an expression of channels and the time t, in SI or with units.
            direction, action, capacity, values: as of `Event`.
        """
        more = {"direction": direction, "action": action, "capacity": capacity, "values": values}
        entry = {"of": of, **{key: given for key, given in more.items() if given is not None}}
        self.document.setdefault("events", {})[name] = entry
        return self

    def sublinkage(
        self, name: str, joints: Sequence[str] = (), *, disposition: str | None = None, within: str | None = None
    ) -> ModelBuilder:
        """Adds a sublinkage: joints that are posed together.

        Args:
            joints: full paths, as "assembly:joint". disposition: "driving", "driven" or "simultaneous" to what it is
                `within`, another one or the whole linkage.
        """
        refuse_text(f"sublinkage {name}: joints", joints)
        entry: dict[str, Any] = {"joints": [path.replace("`", "").split(":") for path in joints]}
        more = {"disposition": disposition, "within": within}
        entry |= {key: given for key, given in more.items() if given is not None}
        self.document.setdefault("sublinkages", {})[name] = entry
        return self

    def frame(
        self, name: str, *, T: Numbers = ZERO, R: Sequence[Numbers] = IDENTITY, rotation: Numbers = ZERO
    ) -> ModelBuilder:
        """Adds a frame of ground."""
        self.document.setdefault("frames", []).append({"name": name, "T": T, "R": R, "rotation": rotation})
        return self

    def light(self, name: str, type: str = "point", *, parent: Ref = FIXED, **values: Any) -> ModelBuilder:
        """Adds a light (Ka, Kd, Ks, cone)."""
        entry = {"name": name, "type": type, "parent": _ref(parent), **values}
        self.document.setdefault("lights", []).append(entry)
        return self

    def terrain(self, name: str, *, parent: Ref = FIXED, **values: Any) -> ModelBuilder:
        """Adds a terrain, kept as given."""
        self.document.setdefault("terrain", []).append({"name": name, "parent": _ref(parent), **values})
        return self

    def assembly(self, name: str, *, active: bool = True, comment: str | None = None) -> AssemblyBuilder:
        """Adds an assembly and returns its builder."""
        return AssemblyBuilder(self.document).assembly(name, active=active, comment=comment)

    def include(
        self,
        name: str,
        file: str,
        *,
        parent: Ref | None = None,
        parameters: Mapping[str, float | str] | None = None,
    ) -> ModelBuilder:
        """Adds the assemblies of a file; its ground becomes the parent frame, its parameters get these values."""
        AssemblyBuilder(self.document).include(name, file, parent=parent, parameters=parameters)
        return self

    def build(self) -> Model:
        """The model; its warnings name the bodies of which no mass or inertia was given.

        Raises:
            ModelError: something does not fit.
        """
        model = load(self.document)
        return replace(model, warnings=(*model.warnings, *_without_inertia(self.document, "")))


def _without_inertia(group: Mapping[str, Any], path: str) -> Iterator[str]:
    """A warning for every body whose mass or inertia was left out; `mass=0` alone says that it is massless."""
    for body in group.get("bodies", ()):
        given = body.get("inertia", {})
        mass = given.get("mass")
        shaped = any(entry in given for entry in INERTIA)
        if body.get("virtual"):
            continue
        where = child(path, str(body["name"]))
        if mass is None and not shaped:
            yield f"{where}: neither mass nor inertia given, it is massless; give them, or say mass=0"
        elif mass is None:
            yield f"{where}: inertia but no mass given, its mass is 0; give mass=, or say mass=0"
        elif not shaped and mass != 0:
            yield f"{where}: mass but no inertia given, it is a point mass; give inertia=, or say inertia=(0, 0, 0)"
    for inner in group.get("assemblies", ()):
        yield from _without_inertia(inner, child(path, str(inner["name"])))
