"""A model: names and numbers of a mechanism, without any index; read by `formats`, made by `builder`."""

from __future__ import annotations

import dataclasses
import math
import numbers as abstract_numbers
from collections.abc import Iterator, Mapping
from typing import Any

from shiftjax.errors import ModelError, nearest, need, need_mapping, refuse_traced, shown
from shiftjax.field import Role
from shiftjax.joints import KINDS
from shiftjax.markup import html_table
from shiftjax.mechanism.edit import changed, changed_assembly, rebuilt
from shiftjax.mechanism.fields import LABELS, kinds_with, numbers_of, role_of, unit_of
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.overview import BODY_HEAD, JOINT_HEAD, body_rows, joint_rows
from shiftjax.mechanism.parameters import BLOCKS, NamedNumbers, Parameter, Point, path_of_name, recomputed
from shiftjax.mechanism.paths import Steps, child, listed, parts, shortened, split, text_of
from shiftjax.mechanism.physical import refuse_replaced
from shiftjax.mechanism.posing import unread_by_runs
from shiftjax.mechanism.records import (
    FIXED,
    IDENTITY,
    ORIGIN,
    ZERO,
    Assembly,
    Body,
    Element,
    Frame,
    FrameRef,
    Geometry,
    Inertia,
    Joint,
    Light,
    Matrix,
    Placement,
    Restraint,
    RunSettings,
    Terrain,
    Vector,
    is_on,
    walk,
)
from shiftjax.mechanism.sublinkages import Sublinkage, unread_sublinkages
from shiftjax.mechanism.worked_out import WorkedOut, once
from shiftjax.memory_cache import forget_oldest
from shiftjax.quantities import in_si
from shiftjax.record import record
from shiftjax.viewing import view

__all__ = [
    "FIXED",
    "IDENTITY",
    "ORIGIN",
    "ADDED",
    "SI",
    "ZERO",
    "Assembly",
    "Body",
    "Element",
    "Frame",
    "FrameRef",
    "Geometry",
    "Inertia",
    "Joint",
    "FrozenJson",
    "Light",
    "Matrix",
    "Model",
    "Number",
    "Parameter",
    "Placement",
    "Point",
    "Restraint",
    "RunSettings",
    "Terrain",
    "Vector",
    "complete",
]

SI = FrozenJson(angle="radians", length="meters", mass="kilograms", time="seconds")

ADDED = "added because nothing joins this body to ground"  # comment of such a joint
STARTS = {".q": ".initial_displacement", ".v": ".initial_velocity"}  # the numbers at which these channels begin
PATHS = 1024  # that were resolved, and are known
GLOBAL = {"energy", "substructure", "model_parameters"}  # objects that belong to the whole model


@record
class Number:
    """A number of a model: its value in SI, the unit, what it means to physics, a sentence of the table of fields."""

    value: float
    unit: str
    role: Role
    doc: str


@record
class Model:
    """A mechanism as the user wrote it, in SI units; equality ignores name, version, source and warnings."""

    assemblies: tuple[Assembly, ...] = ()
    frames: tuple[Frame, ...] = ()  # of ground
    gravity: Vector = (0.0, 0.0, 9.81)  # acceleration [m/s^2]; +z is down in most files
    lights: tuple[Light, ...] = ()
    terrain: tuple[Terrain, ...] = ()
    settings: RunSettings = RunSettings()
    include_directories: tuple[str, ...] = ()
    units: FrozenJson = SI
    name: str = dataclasses.field(default="", compare=False)
    version: str = dataclasses.field(default="2.0", compare=False)
    source: str = dataclasses.field(default="", compare=False)  # file it was read from
    warnings: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    comment: str = ""
    parameters: tuple[Parameter, ...] = ()
    points: tuple[Point, ...] = ()
    expressions: FrozenJson = FrozenJson()  # path of a number -> the text in SI that it follows from
    events: FrozenJson = FrozenJson()  # name -> words of an `Event` of every run
    sublinkages: tuple[Sublinkage, ...] = ()  # in which order joints are posed
    origin: Model | None = dataclasses.field(default=None, compare=False, repr=False)  # before the first `replace`
    replaced: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)  # paths, by `replace`
    worked_out: WorkedOut = dataclasses.field(default_factory=WorkedOut, init=False, compare=False, repr=False)

    def __repr__(self) -> str:
        counts = f"{sum(1 for _ in self.bodies())} bodies, {sum(1 for _ in self.joints())} joints"
        where = f", from {self.source}" if self.source else ""
        return f"Model({self.name or 'unnamed'}: {counts}{where})"

    def _repr_html_(self) -> str:
        bodies = html_table(repr(self), BODY_HEAD, body_rows(self.bodies()))
        return bodies + html_table("joints", JOINT_HEAD, joint_rows(self.joints()))

    def view(self, *, height: int = 480) -> Any:
        """A picture of the model as its loops close at the start, turned by hand: a page for a notebook, as
        `Result.view` gives one of a motion. `shiftjax view MODEL` opens a window.

        Args:
            height: of the frame in the notebook [pixels].

        Raises:
            ModelError: the loops cannot be closed; no packages of the viewer.
        """
        return view(self, height=height)

    @once(by_kinds=False)
    def bodies(self) -> Iterator[tuple[str, Body]]:
        """Path and record of every active body, depth first in file order."""
        for path, assembly, active in walk(self.assemblies):
            if active:
                yield from ((child(path, b.name), b) for b in assembly.bodies if b.active)

    @once(by_kinds=False)
    def joints(self) -> Iterator[tuple[str, Joint]]:
        """Path and record of every active joint between active bodies or ground."""
        bodies = self._active_bodies()
        for path, joint in self._active("joints"):
            if joint.parent.body in bodies and joint.child.body in bodies:
                yield path, joint

    @once(by_kinds=True)
    def coordinate_units(self) -> dict[str, str]:
        """Unit of every coordinate of the active joints, "rad" or "m", by its path: the joint's, or `JOINT.NAME`."""
        kinds = [(path, KINDS[joint.type]) for path, joint in self.joints()]
        return {
            kind.path_of(path, k): coordinate.unit
            for path, kind in kinds
            for k, coordinate in enumerate(kind.coordinates)
        }

    @once(by_kinds=True)
    def restraints(self) -> Iterator[tuple[str, Restraint]]:
        """Path and record of every active restraint on active joints or bodies."""
        bodies = self._active_bodies()
        acting = self.coordinate_units()
        for path, restraint in self._active("restraints"):
            if restraint.joint in acting or (
                restraint.frames is not None and all(ref.body in bodies for ref in restraint.frames)
            ):
                yield path, restraint

    def force_modules(self) -> Iterator[tuple[str, Element]]:
        """Path and record of every active force module on active joints or bodies."""
        yield from self._acting("force_modules")

    def constraints(self) -> Iterator[tuple[str, Element]]:
        """Path and record of every active constraint between active joints or bodies."""
        yield from self._acting("constraints")

    def drivers(self) -> Iterator[tuple[str, Element]]:
        """Path and record of every active driver of an active joint."""
        yield from self._acting("drivers")

    @once(by_kinds=True)
    def _acting(self, kind: str) -> Iterator[tuple[str, Element]]:
        bodies, acting = self._active_bodies(), set(self.coordinate_units())
        for path, item in self._active(kind):
            if acting.issuperset(item.joints) and all(ref.body in bodies for ref in item.frames):
                yield path, item

    def idle_drivers(self) -> Iterator[tuple[str, Element]]:
        """Path and record of every active driver whose joint is not active."""
        moving = {path for path, _ in self.drivers()}
        yield from ((path, item) for path, item in self._active("drivers") if path not in moving)

    def acting(self) -> Iterator[tuple[str, Element]]:
        """Path and record of every active force module, constraint and driver."""
        yield from self.force_modules()
        yield from self.constraints()
        yield from self.drivers()

    def dangling(self) -> tuple[str, ...]:
        """Paths of active joints, forces, constraints and drivers that refer to an inactive element."""
        unconnected: list[str] = []
        for kind in ("joints", "restraints", "force_modules", "constraints", "drivers"):
            used = {path for path, _ in getattr(self, kind)()}
            unconnected += [path for path, _ in self._active(kind) if path not in used]
        return tuple(unconnected)

    def unsupported(self) -> tuple[tuple[str, str], ...]:
        """Path and kind of every active element that is stored but cannot be simulated yet."""
        if not self.settings.contact_detection:
            return ()
        return tuple((f"terrain:{item.name}", "terrain contact") for item in self.terrain)

    def ignored(self) -> tuple[str, ...]:
        """What the file asks for and a run leaves out, a sentence each."""
        shaped = [path for path, body in self.bodies() if is_on(body.collision_geometry)]
        asked = ["contact_detection is on in the file"] if self.settings.contact_detection else []
        asked += [f"collision_geometry of {listed(shaped)} is kept"] if shaped else []
        passing = [f"{', '.join(asked)}: bodies pass through each other, contacts are not simulated"] if asked else []
        return (*passing, *unread_by_runs(self), *unread_sublinkages(self.sublinkages))

    def undrawn(self) -> tuple[str, ...]:
        """What the file asks for of its terrains and no picture has, a sentence each."""
        return tuple(filter(None, (item.undrawn() for item in self.terrain)))

    def elements(self) -> Iterator[tuple[str, Any]]:
        """Path and record of every active element that may have numbers, in the order of the file."""
        yield "model_parameters", self
        yield from self._elements_within()

    @once(by_kinds=True)
    def _elements_within(self) -> Iterator[tuple[str, Any]]:
        yield from self.named_numbers()
        yield from ((child(FIXED, frame.name), frame) for frame in self.frames)
        for path, body in self.bodies():
            yield path, body
            yield from ((child(path, frame.name), frame) for frame in body.frames)
        yield from self.joints()
        yield from self.restraints()
        yield from self.acting()

    def named_numbers(self) -> Iterator[tuple[str, NamedNumbers]]:
        """Path and contents of the blocks of parameters and of points, where there are any."""
        for path, items in zip(BLOCKS, (self.parameters, self.points), strict=True):
            if items:
                yield path, NamedNumbers(items)

    @once(by_kinds=True)
    def numbers(self) -> dict[str, float]:
        """Every number of the active parts by its path, in the order of the file."""
        return {path + text_of(keys): number for path, item in self.elements() for _, keys, number in numbers_of(item)}

    def number_units(self) -> dict[str, str]:
        """The unit of every number by its path. All numbers are SI, whatever the file's own units were."""
        return {path: number.unit for path, number in self.described().items()}

    @once(by_kinds=True)
    def described(self) -> dict[str, Number]:
        """What is known of every number, by its path."""
        units, numbers = self.coordinate_units(), dict[str, Number]()
        for path, item in self.elements():
            along = item.joint if isinstance(item, Restraint | Element) else None
            x = units[along] if along else "m"
            for field, keys, value in numbers_of(item):
                unit, role = unit_of(field, keys, item, x), role_of(field, keys, item)
                numbers[path + text_of(keys)] = Number(value, unit, role, field.doc)
        return numbers

    def matrices(self) -> dict[str, Matrix]:
        """Every constant rotation matrix R of the active parts, by its path."""
        rotations = {f"{child(FIXED, frame.name)}.R": frame.R for frame in self.frames}
        for path, body in self.bodies():
            rotations.update({f"{child(path, frame.name)}.R": frame.R for frame in body.frames})
        for path, joint in self.joints():
            if isinstance(joint.initial_displacement, Placement):
                rotations[f"{path}.initial_displacement.R"] = joint.initial_displacement.R
        return rotations

    def replace(self, values: Mapping[str, float | str]) -> Model:
        """The model with other numbers at some paths (the leading assembly may be left out where unique).

        It remembers where it comes from: a run closes its loops by walking from there, as it does for varied numbers.
        Numbers that are expressions of replaced parameters and points follow.

        Args:
            values: by path, in SI, or texts with a unit, as "200 mm".

        Raises:
            ModelError: no such number, or one that is an expression; values that are not finite, of another unit, or
                that a file could not have.
        """
        need_mapping("replace", values)
        known, units = self.numbers(), self.number_units() if any(isinstance(v, str) for v in values.values()) else {}
        given: dict[str, float] = {}
        for path, value in values.items():
            full = self._number(path, known)
            number = in_si(value, units[full], full) if isinstance(value, str) else value
            given[full] = _finite(full, number)
        if self.expressions:
            given |= recomputed(self.expressions, known, given)
        model = dataclasses.replace(
            self.with_values(given),
            origin=self.origin or self,
            replaced=tuple(dict.fromkeys((*self.replaced, *(path for path in given if path in known)))),
        )
        refuse_replaced(((path, item, numbers_of(item)) for path, item in model.elements()), given)
        return model

    def with_values(self, values: Mapping[str, Any]) -> Model:
        """The model with other numbers at full paths, active or not, as they are: nothing is asked of them, and nothing
        follows from them."""
        grouped: dict[str, dict[str, Any]] = {}
        for path, value in values.items():
            target, field = split(path)
            grouped.setdefault(target, {})[field] = value
        gravity = list(self.gravity)
        for field, value in grouped.pop("model_parameters", {}).items():
            gravity[int(field[-2])] = value
        named = {path: grouped.pop(path, {}) for path in BLOCKS}
        model = dataclasses.replace(
            self,
            gravity=(gravity[0], gravity[1], gravity[2]),
            frames=tuple(changed(frame, child(FIXED, frame.name), grouped) for frame in self.frames),
            parameters=tuple(item.changed(named["parameters"]) for item in self.parameters),
            points=tuple(item.changed(named["points"]) for item in self.points),
        )
        if not grouped:
            return model
        return dataclasses.replace(
            model, assemblies=rebuilt(self.assemblies, lambda a, path: changed_assembly(a, path, grouped))
        )

    def resolve(self, path: str) -> str:
        """The full form of a path of an object, number or channel; ModelError where it is unknown or ambiguous."""
        need("path", path, str, "a text, as `shiftjax info MODEL --paths` lists them")
        known = self.worked_out.of("paths", dict[str, str])
        if path not in known:
            forget_oldest(known, PATHS - 1)
            known[path] = self._resolved(path)
        return known[path]

    def _resolved(self, path: str) -> str:
        target, field = split(path)
        if target in GLOBAL:
            return target + field
        if target in BLOCKS and field:
            return target + field
        kinds = kinds_with(field.lstrip(".").split("[")[0].split(".")[0])
        objects = [(full, kind) for full, kind in self._objects() if kind in kinds]
        if any(full == target for full, _ in objects):
            return target + field
        matches = {full for full, kind in objects if shortened(full, target, 2 if kind == "frame" else 1)}
        if len(matches) == 1:
            return matches.pop() + field
        if not matches and any(path_of_name(path) == block + text_of(keys) for block, keys in self._named()):
            return path_of_name(path)
        if matches:
            raise ModelError(
                path, f"{len(matches)} objects of this name", listed(sorted(matches)), "Write the path in full."
            )
        objects = objects[:2000]  # the search for close matches is slow
        short = [full.split(":", 1)[-1] for full, _ in objects if ":" in full and not full.startswith("fixed:")]
        named = [".".join(map(str, keys)) for _, keys in self._named()]
        hint = nearest(path[:80], named) or nearest(target[:80], [full for full, _ in objects] + short)
        raise ModelError(
            path,
            f"no active {' or '.join(sorted(kinds))} called {target[:80]!r}",
            "paths 'assembly:name' and 'assembly:body:frame'",
            hint or "`shiftjax info MODEL` lists the names.",
        )

    def kind_of(self, path: str) -> str:
        """What the full path of an object names, as "body" or "parameter"; "" of none."""
        named = {block: block.removesuffix("s") for block in BLOCKS} | {"model_parameters": "number of the whole model"}
        return named.get(path) or dict(self._objects()).get(path, "")

    def _number(self, path: str, known: Mapping[str, float]) -> str:
        """The full path of a number."""
        full = self.resolve(path)
        if full in known:
            return full
        target, field = split(full)
        numbers = [p for p in known if split(p)[0] == target]
        start = STARTS.get(field, "")
        hint = f"Write {target}{start}." if target + start in numbers else nearest(full[:120], numbers)
        raise ModelError(path, f"no number {field or 'there'!r}", listed(numbers) or "nothing", hint or "Choose one.")

    def _named(self) -> Iterator[tuple[str, Steps]]:
        """Block and steps of every named number."""
        yield from ((block, keys) for block, item in self.named_numbers() for _, keys, _ in item.numbers())

    @once(by_kinds=True)
    def _objects(self) -> Iterator[tuple[str, str]]:
        """Path and kind of every object that a path can name."""
        yield from ((child(FIXED, name), "frame") for name in (ORIGIN, *(f.name for f in self.frames)))
        for path, body in self.bodies():
            yield path, "body"
            yield from ((child(path, name), "frame") for name in (ORIGIN, *(f.name for f in body.frames)))
        for kind in ("joint", "restraint", "force module", "constraint", "driver"):
            yield from ((path, kind) for path, _ in getattr(self, f"{kind.replace(' ', '_')}s")())

    def _active_bodies(self) -> set[str]:
        return {FIXED, *(path for path, _ in self.bodies())}

    def _active(self, kind: str) -> Iterator[tuple[str, Any]]:
        for path, assembly, active in walk(self.assemblies):
            if active:
                yield from ((child(path, item.name), item) for item in getattr(assembly, kind) if item.active)


LABELS[Model] = "model_parameters"


def _finite(path: str, value: object) -> float:
    """The value as a finite float."""
    refuse_traced(path, value, f"Use vary={{{path!r}: [value]}} of `simulate`, one value a member.")
    try:
        number = float(value) if isinstance(value, abstract_numbers.Real) and not isinstance(value, bool) else math.nan
    except (OverflowError, TypeError):  # an integer beyond all floats; seconds of NumPy, which call themselves integers
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(
            path, shown(value), "one finite number", 'Give a number, or a text with its unit, as "200 mm".'
        )
    return number


def complete(model: Model) -> Model:
    """The model with one float joint for every connected component of bodies without a path to ground.

    The root of a component is its body of largest mass, ties by smallest path; the joint is called
    `<body>_float` (suffixed where taken) and stands in the assembly of that body.
    """
    group: dict[str, str] = {FIXED: FIXED, **{path: path for path, _ in model.bodies()}}

    def find(path: str) -> str:
        while group[path] != path:
            group[path] = group[group[path]]
            path = group[path]
        return path

    for _, joint in model.joints():
        group[find(joint.parent.body)] = find(joint.child.body)
    roots: dict[str, tuple[float, str]] = {}
    for path, body in model.bodies():
        if find(path) != find(FIXED):
            key = find(path)
            roots[key] = min(roots.get(key, (math.inf, "")), (-body.mass, path))
    if not roots:
        return model
    added: dict[str, list[str]] = {}
    for _, path in roots.values():
        added.setdefault(path.rpartition(":")[0], []).append(path)

    def with_floats(assembly: Assembly, path: str) -> Assembly:
        taken = {joint.name for joint in assembly.joints}
        joints = list(assembly.joints)
        for body in added.get(path, ()):
            name = unused(f"{parts(body)[-1]}_float", taken)
            taken.add(name)
            joints.append(
                Joint(
                    name,
                    "float",
                    FrameRef(FIXED),
                    FrameRef(body),
                    initial_displacement=Placement(),
                    initial_velocity=(0.0,) * 6,
                    comment=ADDED,
                )
            )
        return dataclasses.replace(assembly, joints=tuple(joints))

    return dataclasses.replace(model, assemblies=rebuilt(model.assemblies, with_floats))


def unused(name: str, taken: set[str]) -> str:
    """The name, or the name with the first suffix _2, _3 ... that is not taken."""
    free, k = name, 1
    while free in taken:
        k += 1
        free = f"{name}_{k}"
    return free
