"""The table of the fields of every element of a model.

Numbers and their units, `replace` and `vary`, reader, writer, JSON Schema, the builder's arguments, `info --paths` and
the format reference are derived from it. A new number is one line here, or one of the `fields` of its kind of joint,
force or constraint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from shiftjax.constraints import ANY, CONSTRAINTS, ConstraintKind
from shiftjax.errors import shown
from shiftjax.field import DAMPER, SPRING, Field, Role, filled
from shiftjax.forces import FORCES, ForceKind
from shiftjax.joints import KINDS
from shiftjax.mechanism.events import ACTIONS, CAPACITY, DIRECTIONS
from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.parameters import NamedNumbers
from shiftjax.mechanism.paths import Steps
from shiftjax.mechanism.records import ZERO, Body, Element, Frame, Joint, Placement, Restraint, WantedValue
from shiftjax.mechanism.scene_fields import (
    ACTIVE,
    COMMENT,
    GEOMETRIES,
    LIGHT,
    NAME,
    ROTATION,
    SHAPED,
    SOLVING,
    TERRAIN,
    TIMES,
    TYPE,
    R,
    T,
    kept,
)
from shiftjax.mechanism.sublinkages import DISPOSITIONS, SIMULTANEOUS, WHOLE

INERTIA = ("Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx")


def _inertia(entry: str) -> Field:
    doc = f"entry {entry[1:]} of the inertia matrix about the centre of mass along body axes"
    keys = (f"inertia.{entry}", f"moment_of_inertia.{entry}")
    return Field(f"inertia.{entry}", doc, "number", Role.INERTIA, "kg m^2", 0.0, keys)


ROOT = (
    Field("$schema", "for editors that check the file", "text", written=False),
    COMMENT,
    Field("model_parameters", "of the whole model", "object", of="model_parameters", required=True),
    Field("fixed", "frames, lights and terrain of ground in v0.2", "object", of="fixed", written=False),
    Field("frames", "of ground", "list", of="a frame"),
    Field("lights", "of the scene", "list", of="a light"),
    Field("terrain", "of the scene", "list", of="a terrain"),
    Field("parameters", "named numbers, of which others are expressions in quotes, by name", "parameters"),
    Field("points", "places that positions of frames follow, by name", "named points"),
    Field("events", "of every run: what is marked, or done, where an expression comes to zero, by name", "events"),
    Field(
        "sublinkages",
        "joints in groups, in the order in which posing solves them, by name",
        "sublinkages",
    ),
    Field("assemblies", "groups of bodies and what acts on them", "list", of="an assembly", required=True),
)
PARAMETERS = (
    Field("version", "of the format", "choice", default="2.0", choices=("2.0", "2.0.0", "0.2", "0.2.0"), required=True),
    Field("units", "of the file's numbers; SI where left out", "object", of="units"),
    Field(
        "gravity", "acceleration; +z is down in most files", "vector", Role.ACCELERATION, "m/s^2", (0.0, 0.0, 9.81),
        required=True,
    ),
    Field("include_directories", "where included files are searched", "texts",
          keys=("include_directories", "include_dir")),
    Field("simulation", "solver, integrator and logger in v0.2", "object", of="simulation", written=False),
    Field("solvers", "the first counts", "list", keys=("solvers", "solver"), of="a solver"),
    Field("integrators", "the first counts", "list", keys=("integrators", "integrator"), of="an integrator"),
    Field("loggers", "logs that `shiftjax run` writes", "list", keys=("loggers", "logger"), of="a logger"),
)  # fmt: skip
ASSEMBLY = (
    COMMENT,
    NAME,
    ACTIVE,
    Field("bodies", "rigid bodies", "list", default=(), of="a body"),
    Field("joints", "between two bodies, or a body and ground", "list", default=(), of="a joint"),
    Field("restraints", "springs, dampers and friction", "list", default=(), misspelt=("restraint",), of="a restraint"),
    Field("constraints", "what else ties coordinates together", "list", default=(), of="a constraint"),
    Field("drivers", "motions in time that joints are given", "list", default=(), of="a driver"),
    Field("force_modules", "loads, and forces of other kinds; tires and pids are read as those", "list", default=(),
          of="a force module"),
    Field("assemblies", "inside this one, to any depth", "list", default=(), of="an assembly"),
    Field("include", "a file whose assemblies appear below this name", "text", written=False),
    Field("parent", "what the included file calls fixed", "reference", written=False),
    Field("parameters", "values of those of the included file, by their names there", "parameters", written=False),
)  # fmt: skip
DATA = Field("data", "of the user's, kept as it is; nothing here reads it", "data")
BODY = (
    COMMENT,
    NAME,
    ACTIVE,
    Field("mass", "of the body; 0 where it is massless", "number", Role.MASS, "kg", 0.0,
          ("inertia.mass", "mass", "moment_of_inertia.mass"), least=0.0),
    *map(_inertia, INERTIA),
    Field("center_of_mass", "from the body's origin along its axes", "vector", Role.CENTER, "m", ZERO),
    Field("gravity_scale", "of the gravity that acts on the body: 0 for none",
          "number", Role.NUMBER, "1", 1.0),
    Field("frames", "of the body", "list", default=(), of="a frame"),
    Field("geometry", "shapes that are drawn", "list", default=(), keys=("geometry", "definition"), of="a geometry"),
    Field("lock", "whether it stays where it stands while the mechanism is posed; no run reads it", "flag",
          default=False),
    Field("virtual", "whether it stands for no part: it has no mass, and is drawn translucent", "flag", default=False),
    DATA,
    Field("collision_geometry", "kept: bodies pass through each other, which every run notes of those that have one; "
          "convex_hull, ellipsoid or sphere", "text"),
)  # fmt: skip
FRAME = (COMMENT, NAME, T, R, ROTATION)
JOINT = (
    COMMENT,
    NAME,
    ACTIVE,
    Field("type", "the kind of joint", "choice", required=True),
    Field("parent", "frame on which the joint stands", "reference", required=True),
    Field("child", "frame that it moves", "reference", required=True),
    Field("body_frame_pairs", "parent and child in v0.2", "references", misspelt=("body_frame_pair",), written=False),
    Field("initial_displacement", "where it starts; at zero where left out", "displacement", Role.POSITION, "{x}"),
    Field("initial_velocity", "how fast it starts; at rest where left out", "velocity", Role.SPEED, "{x}/s"),
    Field("stiffness", "Q = -sum c_k q^k", "polynomial", Role.FORCE, SPRING, ()),
    Field("damping", "Q = -sum d_k v^k", "polynomial", Role.FORCE, DAMPER, (), ("damping", "damping_coefficients")),
    Field(
        "cut",
        "whether its loop is cut at this joint, which then leads to no body where another one does",
        "flag",
        default=False,
    ),
    Field(
        "limits",
        "of posing, above all goals; no run reads them, the force of a run is a stop",
        "limits",
        Role.POSING,
        "{x}",
    ),
    Field("lock", "whether it stays where it is while the mechanism is posed; no run reads it", "lock", default=False),
    Field("target", "where posing takes it; no run reads it", "wanted", Role.POSING, "{x}"),
    Field(
        "posture",
        "where posing takes it as far as all targets leave it free; no run reads it",
        "wanted",
        Role.POSING,
        "{x}",
    ),
    Field("virtual", "whether it is drawn translucent; all else is as of other joints", "flag", default=False),
    DATA,
    Field(
        "axis",
        "of revolute, prismatic, cylindrical and screw, in the joint's frames",
        "axis",
        Role.DIRECTION,
        misspelt=("aixs",),
    ),
)
WANTED = (
    Field("value", "of the coordinate", "number", Role.POSING, "{x}", required=True),
    Field("weight", "among goals of its level", default=1.0, above=0.0),
    Field("level", "smaller ones come first; 2 of a target, 3 of a posture where left out"),
)
RESTRAINT = (
    COMMENT,
    NAME,
    ACTIVE,
    Field("type", "spring: by displacement; damper, friction: by its rate", "choice",
          choices=("spring", "damper", "friction"), required=True),
    Field("joint", "the joint along whose motion it acts; this or frames", "joint"),
    Field("frames", "the two frames between which it acts", "references", keys=("body_frame_pair",),
          misspelt=("body_frame_pairs",)),
    Field("distance_type", "the axis of the first frame along which it acts; their distance where left out", "choice",
          choices=("Tx", "Ty", "Tz")),
    Field("coefficients", "of f in Q = -f(x), one list for each piece", "pieces", Role.FORCE, SPRING, required=True),
    Field("knot_points", "ends of the pieces, rising: piece k holds left of knot k", "numbers", Role.KNOT, "{x}", (),
          rising=True),
)  # fmt: skip
MODULE = (COMMENT, NAME, ACTIVE, Field("type", "the kind of force", "choice", required=True))
CONSTRAINT = (COMMENT, NAME, ACTIVE, Field("type", "the kind of constraint", "choice", required=True))
DRIVER = (COMMENT, NAME, ACTIVE, Field("type", "the law of the motion", "choice", required=True))
ELEMENTS: dict[str, tuple[Field, ...]] = {
    "the root": ROOT,
    "model_parameters": PARAMETERS,
    "units": (
        *(Field(kind, "a name of a unit", "text") for kind in ("angle", "length", "mass", "time")),
        Field(
            "force",
            "of forces, also in torques and stiffnesses; where left out mass times length over time squared",
            "text",
        ),
    ),
    "a parameter": (
        Field("value", "a number, or an expression of other parameters", "expression", required=True),
        Field(
            "unit",
            "what it measures: length, angle, mass, time, force, number, or a unit such as N/m",
            "text",
            default="number",
        ),
        Field("minimum", "the least that it may be"),
        Field("maximum", "the most that it may be"),
        Field("description", "a sentence", "text", default=""),
    ),
    "a point": (
        Field(
            "position",
            "in the world of the pose that the file draws; each a number or an expression",
            "vector",
            Role.LENGTH,
            "m",
            required=True,
        ),
        Field("frames", "those that follow it; all that stand there where left out", "references"),
        Field("description", "a sentence", "text", default=""),
    ),
    "an event": (
        Field("of", "an expression of channels and the time t, numbers in SI or with a unit", "text", required=True),
        Field("direction", "in which it comes to zero", "choice", default="any", choices=DIRECTIONS),
        Field("action", "what is done there", "choice", default="mark", choices=ACTIONS),
        Field("capacity", "how many instants are noted in either direction", default=CAPACITY, least=1.0),
        Field("values", "path of a number of a force, or of gravity -> what it becomes", "values by path"),
    ),
    "a sublinkage": (
        Field("joints", "of it, none of another one; all others belong to the whole linkage", "joints", default=()),
        Field(
            "disposition",
            "whether it is posed before what it stands within, after it, or with it",
            "choice",
            default=SIMULTANEOUS,
            choices=DISPOSITIONS,
        ),
        Field("within", "another sublinkage; left out, the whole linkage", "text", default=WHOLE),
    ),
    "fixed": tuple(field for field in ROOT if field.name in ("frames", "lights", "terrain")),
    "an assembly": ASSEMBLY,
    "a body": BODY,
    "a frame": FRAME,
    "a placement": (T, R, ROTATION),
    "a joint": JOINT,
    "a wanted value": WANTED,
    "a restraint": RESTRAINT,
    "a light": LIGHT,
    "a terrain": TERRAIN,
    "a force module of type tire": (
        *MODULE,
        Field("tire_type", "its model", "choice", choices=("fiala", "pac2002"), required=True),
        Field("wheel_body", "the body that it is of, whose y axis is the axle", "anything", required=True),
        Field("definition", "property file (.tir) of a pac2002, beside the model's or in an include directory", "text"),
        Field("use_transient_slip", "whether slips build up over a relaxation length", "flag", default=False),
    ),
    "a force module of type pid": (
        *MODULE,
        *(Field(gain[0], f"{gain} gain") for gain in ("proportional", "integral", "derivative")),
        *kept("target"),
        Field("input", "what it reads", "object", of="a pid's input"),
        Field("output", "what it drives", "object", of="a pid's output"),
    ),
    "a pid's input": kept("type", "body_frame_pair", "dof", "coordinate_system", "target_type", "joint"),
    "a pid's output": kept("type", "joint"),
    "simulation": (
        COMMENT,
        Field("integration_type", "the method, of a run with method file", "text"),
        *TIMES,
        *SOLVING,
        Field("out_file", "CSV file that `shiftjax run` writes, in the folder where it is called or one below", "text"),
    ),
    "a solver": (COMMENT, TYPE, *SOLVING),
    "an integrator": (
        COMMENT,
        Field("type", "the method, of a run with method file", "text"),
        *TIMES,
        Field("integral_gain", "as omega_n", least=0.0),
        Field("omega_n_max", "as omega_n", unit="1/s", least=0.0),
    ),
    "a logger": (
        COMMENT,
        Field("type", "csv; others, as hdf5, are kept and named in a warning", "text"),
        Field(
            "csv_logfile", "CSV file that `shiftjax run` writes, in the folder where it is called or one below", "text"
        ),
        Field("filename", "the same of older files", "text"),
        Field("logfile", "kept: file of a logger of another type", "text"),
        Field("timestamp_logfile", "true: the time of the run is added to the name of the file", "anything"),
    ),
}
# Last words of paths that are no numbers: constant matrices, and channels.
RECORDED = {
    "frame": {"R", "position", "orientation", "velocity", "angular_velocity"},
    "joint": {"q", "v", "a", "reaction_force", "reaction_moment", "drive_load"},
}


def element(label: str) -> tuple[Field, ...]:
    """The fields of the element with the label "a body", "a joint of type screw", "a geometry of type box", ...

    Raises:
        KeyError: none of that name.
    """
    if label in ELEMENTS:
        return ELEMENTS[label]
    what, _, kind = label.partition(" of type ")
    if what == "a geometry":
        return (*SHAPED, *GEOMETRIES[kind])
    if what == "a joint":
        return (*JOINT, *KINDS[kind].fields)
    if what == "a force module":
        return (*MODULE, *references(FORCES[kind]), *FORCES[kind].numbers(), *FORCES[kind].words)
    constraint = CONSTRAINTS[kind]
    return (
        *(DRIVER if what == "a driver" else CONSTRAINT),
        *references(constraint),
        *constraint.numbers(),
        *constraint.words,
    )


def references(kind: ForceKind | ConstraintKind) -> tuple[Field, ...]:
    """The keys by which a kind of force or constraint refers to its joints and frames."""
    keys = []
    if kind.joints:
        several = "the joints" if kind.joints == ANY else f"the {kind.joints} joints"
        shape = ("joint", "the joint") if kind.joints == 1 else ("joints", several)
        keys.append(Field(shape[0], shape[1], shape[0], required=True))
    if kind.frames:
        key, doc = ("frame", "the frame") if kind.frames == 1 else ("frames", f"the {kind.frames} frames")
        keys.append(Field(key, doc, "reference" if kind.frames == 1 else "references", required=True))
    return tuple(keys)


def label_of(what: str, item: Mapping[str, Any]) -> str:
    """The label of an object of a file: "a joint", with its type where that has further keys."""
    kind = item.get("type")
    if what == "a joint":
        has_fields = isinstance(kind, str) and kind in KINDS and KINDS[kind].fields
        return f"a joint of type {kind}" if has_fields else what
    return f"{what} of type {kind if isinstance(kind, str) else shown(kind)}"


def labels() -> list[str]:
    """All labels of `element`, in the order of the reference."""
    joints = [f"a joint of type {name}" for name, kind in KINDS.items() if kind.fields]
    forces = [f"a force module of type {name}" for name, kind in FORCES.items() if kind.listed]
    constraints, drivers = (
        [f"{what} of type {name}" for name, kind in CONSTRAINTS.items() if kind.listed == where]
        for where, what in (("constraints", "a constraint"), ("drivers", "a driver"))
    )
    shapes = [f"a geometry of type {name}" for name in GEOMETRIES]
    return [*ELEMENTS, *joints, *forces, *constraints, *drivers, *shapes]


def kinds_with(word: str) -> set[str]:
    """The kinds of objects that have a number or a channel of this name; all kinds where none has."""
    words = _words_of_kinds()
    return {kind for kind, names in words.items() if word in names} or set(words)


_last_words: list[tuple[list[Any], dict[str, set[str]]]] = []  # of which registered kinds, and their words


def _words_of_kinds() -> dict[str, set[str]]:
    """What numbers and channels of each kind of objects are called; made once, as every path is resolved by it."""
    registered: list[Any] = [*KINDS.values(), *FORCES.values(), *CONSTRAINTS.values()]
    if _last_words and _last_words[0][0] == registered:
        return _last_words[0][1]
    named = {
        "body": BODY,
        "frame": FRAME,
        "joint": (*JOINT, *(field for kind in KINDS.values() for field in kind.fields)),
        "restraint": RESTRAINT,
        "force module": tuple(field for kind in FORCES.values() if kind.listed for field in kind.numbers()),
        **{
            what: tuple(field for kind in CONSTRAINTS.values() if kind.listed == f"{what}s" for field in kind.numbers())
            for what in ("constraint", "driver")
        },
    }
    words = {kind: {f.name.split(".")[0] for f in fields if f.numeric} for kind, fields in named.items()}
    words["joint"] |= {name for kind in KINDS.values() for name in kind.names}
    words = {kind: names | RECORDED.get(kind, set()) for kind, names in words.items()}
    _last_words[:] = [(registered, words)]
    return words


LABELS: dict[type, str] = {
    Body: "a body",
    Frame: "a frame",
    Placement: "a placement",
    Joint: "a joint",
    Restraint: "a restraint",
}


def numeric_fields(item: Any) -> tuple[Field, ...]:
    """The fields of a record whose leaves are numbers of the model."""
    if isinstance(item, Joint):
        return _of_joint(item.type)
    if isinstance(item, Element):
        kind = kind_of(item)
        return kind.numbers() if kind is not None and kind.listed else ()
    return _numeric(LABELS[type(item)])


def kind_of(item: Element) -> ForceKind | ConstraintKind | None:
    """The kind of a force or constraint; None where it is not registered now."""
    return FORCES.get(item.type) or CONSTRAINTS.get(item.type)


@cache
def _numeric(label: str) -> tuple[Field, ...]:
    return tuple(field for field in element(label) if field.numeric)


def _of_joint(kind: str) -> tuple[Field, ...]:
    return (*_numeric("a joint"), *KINDS[kind].fields)


def value_of(item: Any, name: str) -> Any:
    """The value of a field: a number, or tuples of them, or a placement; None where it has none."""
    head, _, rest = name.partition(".")
    if name in getattr(item, "values", ()) or not hasattr(item, head):
        return getattr(item, "values", {}).get(name)  # before an attribute: a table has a field that is called values
    value = getattr(item, head)
    return value_of(value, rest) if rest else value


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, float]]:
    """Steps and value of every number inside a field's value."""
    if isinstance(value, float):
        yield steps, value
    elif isinstance(value, tuple):
        for k, item in enumerate(value):
            yield from leaves(item, (*steps, k))
    elif isinstance(value, FrozenJson):
        for name, item in value.items():
            yield from leaves(item, (*steps, name))
    elif isinstance(value, Placement):
        for name in ("T", "rotation"):
            yield from leaves(getattr(value, name), (*steps, name))
    elif isinstance(value, WantedValue):
        yield (*steps, "value"), value.value


def numbers_of(item: Any) -> Iterator[tuple[Field, Steps, float]]:
    """Field, steps from the record and value of every number of a record, in the order of the table."""
    if isinstance(item, NamedNumbers):
        yield from item.numbers()
        return
    for field in numeric_fields(item):
        head: Steps = tuple(field.name.split("."))
        for steps, number in leaves(value_of(item, field.name)):
            if not (field.shape == "displacement" and "T" in steps and int(steps[-1]) >= KINDS[item.type].shifts):
                yield field, (*head, *steps), number


def role_of(field: Field, steps: Steps, item: Any) -> Role:
    """The role of a number; the displacement of a fixed joint is geometry."""
    if field.shape == "displacement" and len(steps) > 1 and not KINDS[item.type].nv:
        return Role.LENGTH if steps[1] == "T" else Role.ANGLE
    assert field.role is not None
    return field.role


def unit_of(field: Field, steps: Steps, item: Any, x: str = "m") -> str:
    """The unit of a number as stores write it: "kg", "N m s/rad".

    Args:
        x: unit of the coordinate along which a force acts, "m" between frames.
    """
    if isinstance(item, Joint):
        return _unit_at_joint(field, steps, KINDS[item.type])
    unit = field.unit
    power = 0
    if isinstance(item, Restraint):
        rate = item.type != "spring"
        if field.name == "knot_points":
            return f"{x}/s" if rate else x
        piece, place = (int(k) for k in steps[-2:])
        power = len(item.coefficients[piece]) - 1 - place  # the highest power first
        unit = DAMPER if rate else SPRING
    elif field.shape in ("ascending", "polynomial"):
        power = int(steps[-1])
    return filled(unit, x, power)


def _unit_at_joint(field: Field, steps: Steps, kind: Any) -> str:
    if field.shape == "displacement" and kind.placed:
        return "m" if steps[1] == "T" else "rad"
    if field.shape == "velocity" and kind.placed:
        return f"{kind.units[int(steps[len(steps) - 1])]}/s"
    units = {coordinate.name: coordinate.unit for coordinate in kind.coordinates}
    x = units.get(str(steps[1]), kind.units[0]) if len(steps) > 1 and len(units) > 1 else (*kind.units, "rad")[0]
    return filled(field.unit, x, int(steps[len(steps) - 1]) if field.shape == "polynomial" else 0)
