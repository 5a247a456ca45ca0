"""The elements of a model: frozen records of names and numbers, as the user wrote them.

All lengths in m, masses in kg, angles in rad, times in s; sequences are tuples; references hold absolute paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.paths import child
from shiftjax.record import record

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]  # rows

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
FIXED = "fixed"
ORIGIN = "origin"
OFF = (None, False, "", "none", "off", "false")  # flags of files; 0 is False
STARTS = ("initial_displacement", "initial_velocity")  # fields of a joint that state something only where written


@record
class Frame:
    """A frame of a body: maps frame coordinates to body coordinates by T and R exp(rotation)."""

    name: str
    T: Vector = ZERO  # [m]
    R: Matrix = IDENTITY
    rotation: Vector = ZERO  # rotation vector applied after R, in frame axes [rad]
    comment: str = ""


@record
class FrameRef:
    """A frame of a body or of ground, by name."""

    body: str  # absolute path, or "fixed"
    frame: str = ORIGIN  # plain name

    @property
    def path(self) -> str:
        """The path of the frame, as numbers and channels write it."""
        return child(self.body, self.frame)


@record
class Inertia:
    """Matrix entries of the inertia about the centre of mass along body axes [kg m^2]."""

    Ixx: float = 0.0
    Iyy: float = 0.0
    Izz: float = 0.0
    Ixy: float = 0.0
    Iyz: float = 0.0
    Izx: float = 0.0

    @property
    def matrix(self) -> Matrix:
        return (
            (self.Ixx, self.Ixy, self.Izx),
            (self.Ixy, self.Iyy, self.Iyz),
            (self.Izx, self.Iyz, self.Izz),
        )


@record
class Geometry:
    """A shape of a body for the viewer, its lengths in m (listed in `formats.sections.geometry`)."""

    type: str
    filename: tuple[str, ...]  # of a mesh: its file and companions
    options: FrozenJson = FrozenJson()


@record
class Body:
    """A rigid body; all zeros is a massless one."""

    name: str
    mass: float = 0.0  # [kg]
    center_of_mass: Vector = ZERO  # from the body's origin along its axes [m]
    inertia: Inertia = Inertia()
    frames: tuple[Frame, ...] = ()
    geometry: tuple[Geometry, ...] = ()
    collision_geometry: str | None = None
    active: bool = True
    comment: str = ""
    gravity_scale: float = 1.0  # of the gravity that acts on it
    lock: bool = False  # whether posing leaves it where it stands
    virtual: bool = False  # whether it stands for no part: it has no mass, and is drawn translucent
    data: Any = None  # of the user's: a frozen JSON value


@record
class Placement:
    """Displacement of a float, rigid or spherical joint: child frame in parent frame, T and R exp(rotation)."""

    T: Vector = ZERO  # [m]
    R: Matrix = IDENTITY
    rotation: Vector = ZERO  # [rad]


@record
class WantedValue:
    """Where posing takes a coordinate, as far as what comes before lets it."""

    value: float  # [rad or m]
    weight: float = 1.0  # among goals of its level
    level: float | None = None  # that of its key where None


Limits = tuple[float | None, float | None]  # None where there is no end


@record
class Joint:
    """A joint from a frame of the parent to a frame of the child; its positive sense is parent to child."""

    name: str
    type: str  # a key of shiftjax.joints.KINDS
    parent: FrameRef
    child: FrameRef
    axis: Vector | None = None  # for the kinds that need one, as written
    # of a joint of several coordinates: name of each -> its own
    initial_displacement: float | Placement | FrozenJson = 0.0  # [rad or m]
    initial_velocity: float | tuple[float, ...] | FrozenJson = 0.0  # one number, or one a speed; () for rigid
    stiffness: tuple[float, ...] | FrozenJson = ()  # ascending: Q = -sum c_k q^k
    damping: tuple[float, ...] | FrozenJson = ()  # ascending: Q = -sum d_k q'^k
    values: FrozenJson = FrozenJson()  # numbers of the joint's kind: field -> number or numbers
    active: bool = True
    comment: str = ""
    stated: tuple[str, ...] = ()  # of STARTS, those that were written, zero or not; .NAME where only one coordinate's
    cut: bool = False  # whether its loop is cut here, so that it leads to no body
    # of posing alone, and of a joint of several coordinates by their names, those that have some
    limits: Limits | FrozenJson | None = None  # lower and upper end [rad or m]
    lock: bool | tuple[str, ...] = False  # whether it stays where it is, or which coordinates do
    target: WantedValue | FrozenJson | None = None
    posture: WantedValue | FrozenJson | None = None  # where it goes as far as targets leave it free
    virtual: bool = False  # whether it is drawn translucent
    data: Any = None  # of the user's: a frozen JSON value

    @property
    def on_ground(self) -> bool:
        """Whether one of its ends is on ground."""
        return FIXED in (self.parent.body, self.child.body)

    def states(self, start: str, coordinate: str) -> bool:
        """Whether it says where a coordinate starts, or how fast; `start` is one of STARTS."""
        return start in self.stated or f"{start}.{coordinate}" in self.stated

    def start(self, start: str) -> Any:
        """What it says of a field of STARTS, of several coordinates of those that it states; None where of none."""
        value = getattr(self, start)
        if start in self.stated:
            return value
        numbers = value if isinstance(value, FrozenJson) else {}
        return FrozenJson({name: numbers[name] for name in numbers if self.states(start, name)}) or None


@record
class Restraint:
    """A spring, damper or friction: Q = -f(x), f piecewise polynomial, highest power first."""

    name: str
    type: str  # "spring", "damper" or "friction"
    joint: str | None  # absolute path of a coordinate, as of `Element`, or None
    frames: tuple[FrameRef, FrameRef] | None
    distance_type: str | None  # None (Euclidean), "Tx", "Ty" or "Tz" along the first frame's axes
    knot_points: tuple[float, ...]  # piece k holds left of knot k
    coefficients: tuple[tuple[float, ...], ...]  # one more than knots, each descending
    active: bool = True
    comment: str = ""


@record
class Light:
    """A Phong light; directional and spot lights shine along +z of their frame."""

    name: str
    type: str  # "point", "spot" or "directional"
    parent: FrameRef
    Ka: Vector | None = None
    Kd: Vector | None = None
    Ks: Vector | None = None
    options: FrozenJson = FrozenJson()


UNDRAWN_MAPS = ("bump_map", "property_map")  # of a terrain
STRAIGHT = ("linear", "bilinear", "none")  # interpolations of a terrain that are drawn bilinear
CURVED = (None, "", "bicubic")  # those that are drawn bicubic, as contacts have it


@record
class Terrain:
    """A terrain raster for the viewer."""

    name: str
    parent: FrameRef
    options: FrozenJson = FrozenJson()

    @property
    def straight(self) -> bool:
        """Whether it is bilinear between samples, and not bicubic."""
        return self.options.get("interpolation_type") in STRAIGHT

    def undrawn(self) -> str:
        """What the file asks for and no picture has, a sentence; "" where there is nothing or it is switched off."""
        if self.options.get("active") is False:
            return ""
        lacking = [key for key in UNDRAWN_MAPS if self.options.get(key) not in (None, "")]
        between = self.options.get("interpolation_type")
        drawn = between in (*CURVED, *STRAIGHT)
        lacking += [] if drawn else [f"interpolation_type {between!r} (a bicubic surface stands between samples)"]
        return f"terrain:{self.name}: {', '.join(lacking)}: not drawn" if lacking else ""


@record
class Element:
    """A constraint or driver, or a force of another kind than restraints: what it refers to, numbers and words."""

    name: str
    type: str  # a key of CONSTRAINTS or FORCES
    joints: tuple[str, ...] = ()  # absolute paths of coordinates; of a joint that has one, the joint's
    frames: tuple[FrameRef, ...] = ()
    values: FrozenJson = FrozenJson()  # field -> numbers, or a word
    active: bool = True
    comment: str = ""

    @property
    def joint(self) -> str | None:
        """The first joint, or coordinate of one."""
        return self.joints[0] if self.joints else None

    @property
    def frame(self) -> FrameRef | None:
        """The first frame."""
        return self.frames[0] if self.frames else None


def is_on(flag: Any) -> bool:
    """Whether a flag of a file is set, which may be a boolean, a number or a word."""
    return flag not in OFF


def is_csv(logger: FrozenJson) -> bool:
    """Whether a logger is of CSV files; one without a type is."""
    return logger.get("type") in (None, "csv")


def csv_name(logger: FrozenJson) -> str | None:
    """What it calls its file."""
    return logger.get("csv_logfile") or logger.get("filename")


@record
class RunSettings:
    """The file's solver, integrator and logger blocks; every key kept, the first of each list counts."""

    solvers: tuple[FrozenJson, ...] = ()
    integrators: tuple[FrozenJson, ...] = ()
    loggers: tuple[FrozenJson, ...] = ()

    @property
    def span(self) -> float | None:
        """Time span [s]."""
        return self._first(self.integrators, "time_span")

    @property
    def output_step(self) -> float | None:
        """Time between outputs [s]."""
        return self._first(self.integrators, "time_step")

    @property
    def infinity_norm_multiplier(self) -> float:
        """m of the repartition rule."""
        multiplier = self._first(self.solvers, "infinity_norm_multiplier")
        return 2.0 if multiplier is None else float(multiplier)

    @property
    def integration_type(self) -> str | None:
        return self._first(self.integrators, "type")

    @property
    def tolerance(self) -> float | None:
        """The smaller of the integrator's errors above zero, by which it chooses its steps."""
        errors = [self._first(self.integrators, f"{kind}_error") for kind in ("relative", "absolute")]
        return min((float(error) for error in errors if error), default=None)

    @property
    def logs(self) -> tuple[tuple[str, bool], ...]:
        """The file of every CSV logger, and whether the time of its run is added to that name."""
        names = ((csv_name(block), block) for block in self.loggers)
        return tuple((name, is_on(block.get("timestamp_logfile"))) for name, block in names if name and is_csv(block))

    @property
    def contact_detection(self) -> bool:
        return is_on(self._first(self.solvers, "contact_detection"))

    @staticmethod
    def _first(blocks: tuple[FrozenJson, ...], key: str) -> Any:
        return next((block[key] for block in blocks if block.get(key) is not None), None)


@record
class Assembly:
    """A group of bodies and what acts on them; nests to any depth, so nothing here recurses."""

    name: str
    active: bool = True
    bodies: tuple[Body, ...] = ()
    joints: tuple[Joint, ...] = ()
    restraints: tuple[Restraint, ...] = ()
    force_modules: tuple[Element, ...] = ()
    constraints: tuple[Element, ...] = ()
    drivers: tuple[Element, ...] = ()
    assemblies: tuple[Assembly, ...] = ()
    comment: str = ""

    def flat(self) -> Iterator[tuple[Any, ...]]:
        """Every assembly of the tree, depth first, as its own fields and the number of its children."""
        lists = [field.name for field in fields(Assembly) if field.name != "assemblies"]
        for _, assembly, _ in walk((self,)):
            yield (*(getattr(assembly, name) for name in lists), len(assembly.assemblies))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assembly):
            return NotImplemented
        return self is other or list(self.flat()) == list(other.flat())

    def __hash__(self) -> int:
        return hash(tuple(self.flat()))

    def __repr__(self) -> str:
        return f"Assembly({self.name!r}, {len(self.bodies)} bodies, {len(self.assemblies)} assemblies)"


def walk(assemblies: tuple[Assembly, ...]) -> Iterator[tuple[str, Assembly, bool]]:
    """Path, assembly and whether it is active, depth first in file order; without recursion."""
    stack = [(child("", a.name), a, a.active) for a in reversed(assemblies)]
    while stack:
        path, assembly, active = stack.pop()
        yield path, assembly, active
        stack.extend((child(path, a.name), a, active and a.active) for a in reversed(assembly.assemblies))
