"""The parts of a document of ours while an MJCF is read: bodies, frames, joints, what acts on them, names."""

from __future__ import annotations

from typing import Any

from shiftjax.formats.robots.mjcf.orientation import HERE, BodyPlace
from shiftjax.formats.robots.notes import SLIP_SPEED, ReaderNotes
from shiftjax.formats.robots.placing import placed
from shiftjax.formats.robots.xml_tree import LONGEST, XmlElement
from shiftjax.mechanism.paths import NAME_RULE, is_name
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.record import record

WORLD = "world"  # MuJoCo's name of ground
Reference = list[Any]  # [[body], frame]
ALONG_ONE = ("hinge", "slide")

DRY = f"dry friction fades below {SLIP_SPEED:g} rad/s or m/s: slip_speed of {{}}"
ROTORS = "armature of {} is that of rotors on ground, which turn as those joints do"


@record
class MjcfBody:
    """A body of the file, or the world.

    Attributes:
        at: in the world, as the file draws it. moves: whether a joint lies between it and the world.
    """

    name: str
    at: BodyPlace
    moves: bool


@record
class MjcfSite:
    """A site of the file: its body, its place there, and the frame that it is here."""

    body: str
    at: BodyPlace
    frame: Reference


@record
class MjcfJoint:
    """A joint of the file.

    Attributes:
        type: hinge, slide, ball or free. ref: coordinate where it is drawn [rad or m].
        springref: coordinate where its spring rests, and springs of tendons that state no length [rad or m].
        force_range: that its actuators share [N m or N]; None where there is none.
    """

    element: XmlElement
    name: str
    type: str
    ref: float
    springref: float
    entry: dict[str, Any]
    force_range: tuple[float, float] | None = None


def checked_name(element: XmlElement) -> str:
    """The name of an element; none where it is left out.

    Raises:
        ModelError: a name that none of ours may be.
    """
    name = element.word("name", "")
    if name and (not is_name(name) or name == FIXED):
        allowed = f"a name of {NAME_RULE}, other than {FIXED!r}"
        element.refuse(f"name={name[:LONGEST]!r}", allowed, "Rename it.")
    return name


class MjcfDocument:
    """What a file has become so far.

    Attributes:
        bodies, joints, sites: of the file by name, in its order.
    """

    def __init__(self, notes: ReaderNotes) -> None:
        self.notes = notes
        self.bodies: dict[str, MjcfBody] = {WORLD: MjcfBody(WORLD, HERE, False)}
        self.joints: dict[str, MjcfJoint] = {}
        self.sites: dict[str, MjcfSite] = {}
        self._taken: dict[str, set[str]] = {f"frames of {FIXED}": {ORIGIN}}
        self._last: dict[tuple[str, str], int] = {}  # kind and name -> number of the last one that was given
        self.ground: list[dict[str, Any]] = []
        self.body_entries: dict[str, dict[str, Any]] = {}
        self.joint_entries: dict[str, dict[str, Any]] = {}
        self.forces: list[dict[str, Any]] = []
        self.constraints: list[dict[str, Any]] = []
        self.restraints: list[dict[str, Any]] = []

    def free_name(self, kind: str, name: str) -> str:
        """The name, or name_2, name_3, ... where something of its kind has it."""
        taken = self._taken.setdefault(kind, set())
        out, k = name, self._last.get((kind, name), 1)
        while out in taken:
            k += 1
            out = f"{name}_{k}"
        taken.add(out)
        self._last[kind, name] = k
        return out

    def add_body(self, name: str, **entry: Any) -> None:
        self.body_entries[name] = {"name": name, **entry, "frames": []}
        self._taken.setdefault(f"frames of {name}", set()).add(ORIGIN)

    def frame(self, body: str, name: str, at: BodyPlace) -> Reference:
        """A reference to a place of a body, where a frame is added unless it is the origin."""
        place = placed(tuple(float(x) for x in at.p), at.R)
        on_ground = body not in self.body_entries
        if place:
            name = self.free_name(
                f"frames of {FIXED if on_ground else body}", name if name != ORIGIN else f"{name}_place"
            )
            (self.ground if on_ground else self.body_entries[body]["frames"]).append({"name": name, **place})
        return [[FIXED if on_ground else body], name if place else ORIGIN]

    def add_site(self, name: str, body: str, at: BodyPlace) -> None:
        """A frame that the file names, also where it stands at the origin of its body."""
        on_ground = body not in self.body_entries
        title = self.free_name(f"frames of {FIXED if on_ground else body}", name)
        frames = self.ground if on_ground else self.body_entries[body]["frames"]
        frames.append({"name": title, **placed(tuple(float(x) for x in at.p), at.R)})
        self.sites[name] = MjcfSite(body, at, [[FIXED if on_ground else body], title])

    def add_joint(self, name: str, type: str, parent: Reference, child: Reference, **entry: Any) -> dict[str, Any]:
        out = {"name": name, "type": type, "parent": parent, "child": child, **entry}
        self.joint_entries[name] = out
        return out

    def add_force(self, name: str, type: str, **numbers: Any) -> None:
        self.forces.append({"name": self.free_name("forces", name), "type": type, **numbers})

    def add_constraint(self, name: str, type: str, joints: list[str], **numbers: Any) -> None:
        self.constraints.append(
            {"name": self.free_name("constraints", name), "type": type, "joints": joints, **numbers}
        )

    def rub(self, name: str, level: float, **along: Any) -> None:
        """Dry friction: that of MuJoCo holds whatever the speed, ours begins with it."""
        self.notes.add(DRY, name)
        self.add_force(f"{name}_friction", "coulomb_friction", level=level, slip_speed=SLIP_SPEED, **along)

    def shaft(self, name: str, inertia: float, start: float) -> str:
        """A joint by which a body without mass turns on ground, tied to the others by a constraint that is added to it.

        Its coordinate may stand for any length: of a tendon, or of what an inertia beside that of bodies goes with.
        """
        body = self.free_name("bodies", name)
        turning = {"inertia": {"mass": 0.0, "Ixx": 0.0, "Iyy": 0.0, "Izz": inertia}} if inertia else {}
        self.add_body(body, **turning)
        joint = self.free_name("joints", name)
        begin = {"initial_displacement": start} if start else {}
        self.add_joint(joint, "Rz", [[FIXED], ORIGIN], [[body], ORIGIN], virtual=True, **begin)
        return joint

    def rotor(self, joint: MjcfJoint, inertia: float) -> None:
        """What `armature` adds to the kinetic energy, inertia q'^2 / 2: a rotor on ground that turns with the joint."""
        shaft = self.shaft(f"{joint.name}_rotor", inertia, joint.ref)
        self.notes.add(ROTORS, joint.name)
        self.add_constraint(shaft, "mimic", [shaft, joint.name])
