"""A robot of a URDF file (1.0 to 1.2) as a document of the Shift format.

URDF: https://wiki.ros.org/urdf/XML. A link is a body whose axes are those of the link, a joint stands at its `origin`
in the parent, and all coordinates begin at zero. What has no meaning here and moves nothing, as a transmission, is left
out with a note; anything else that is unknown is refused: a robot never moves otherwise than its file says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftjax.errors import nearest
from shiftjax.formats.robots.notes import SLIP_SPEED, ReaderNotes
from shiftjax.formats.robots.urdf.joints import DRY, StatedJoint, joint, note_start
from shiftjax.formats.robots.urdf.links import PACKAGE, body, colour
from shiftjax.formats.robots.xml_tree import XmlElement, parsed
from shiftjax.mechanism.paths import NAME_RULE, is_name, listed
from shiftjax.mechanism.records import FIXED, ORIGIN

VERSIONS = ("1", "1.0", "1.1", "1.2")
GRAVITY = [0.0, 0.0, -9.81]  # m/s^2: z points up in ROS
WORLD = "world"  # a root link of this name that holds nothing is ground
ABOVE = 4  # folders above a file in which packages of meshes are searched
LEFT_OUT = ("gazebo", "transmission", "ros2_control", "sensor", "mujoco", "group", "disable_collisions")
FLAGS = {True: ("true", "1"), False: ("false", "0")}
WEIGHTLESS = {(tag, word) for tag, on in (("turnGravityOff", True), ("gravity", False)) for word in FLAGS[on]}
NO_GRAVITY = "gravity does not act on {}, as Gazebo is told"
STANDING = "stands on ground by a joint {}, which Editor.change_type makes a float"


def read(text: str, name: str) -> tuple[Mapping[str, Any], list[str]]:
    """The document of a URDF, and what it does not say as the file does.

    Args:
        text: of the file. name: of the file, for messages.

    Raises:
        ModelError: no URDF, no tree, or something that would change the motion and is not read.
    """
    root = parsed(text, name)
    _of_the_right_kind(root)
    notes = ReaderNotes()
    colours = _colours(root, notes)
    links = _by_name(root, "link")
    bodies = {key: body(link, key, colours, notes) for key, link in links.items()}
    joints = {key: joint(element, key, notes) for key, element in _by_name(root, "joint").items()}
    base = _root(root, links, joints)
    for element in root.children:
        if element.tag == "gazebo":
            _without_gravity(element, bodies, notes)
        if element.tag in LEFT_OUT:
            notes.leave_out(element)
    return _document(root, base, bodies, joints, notes), notes.lines(name)


def _of_the_right_kind(root: XmlElement) -> None:
    if root.tag != "robot":
        root.refuse(f"the root element <{root.tag[:60]}>", "<robot>, the root of URDF", "Convert the file to URDF.")
    for element in root.children:
        if element.tag.startswith("xacro:"):
            element.refuse(f"the macro <{element.tag[:60]}>", "URDF", "Expand the macros first: `xacro FILE`.")
    root.only(("name", "version"), ("link", "joint", "material", *LEFT_OUT), once=False)
    if root.word("version", "1.0") not in VERSIONS:
        root.refuse(f"version={root.word('version')!r}", ", ".join(VERSIONS), "Convert the file.")
    if root.child("link") is None:
        root.refuse("no <link>", "one or more", "Add one.")
    _checked_name(root)


def _checked_name(element: XmlElement) -> str:
    name = element.word("name")
    if not is_name(name) or name == FIXED:
        allowed = f"a name of {NAME_RULE}, other than {FIXED!r}"
        element.refuse(f"name={name[:60]!r}", allowed, "Rename it.")
    return name


def _by_name(root: XmlElement, tag: str) -> dict[str, XmlElement]:
    named: dict[str, XmlElement] = {}
    for element in root.every(tag):
        if (name := _checked_name(element)) in named:
            fault = f"a second {tag} {name!r}; the first is in line {named[name].line}"
            element.refuse(fault, f"a name for one {tag}", "Rename one.")
        named[name] = element
    return named


def _colours(root: XmlElement, notes: ReaderNotes) -> dict[str, list[float] | None]:
    """Of every material by its name: those of the robot, then those that shapes name and state."""
    colours: dict[str, list[float] | None] = {}
    for material in root.every("material"):
        if (name := material.word("name")) in colours:
            material.refuse(f"a second material {name!r}", "a name for one material", "Rename one.")
        colours[name] = colour(material, notes)
    for shape in (shape for link in root.every("link") for shape in link.children):
        material = shape.child("material")
        if material is not None and material.child("color") is not None and "name" in material.attributes:
            colours.setdefault(material.word("name"), colour(material, ReaderNotes()))
    return colours


def _root(root: XmlElement, links: Mapping[str, XmlElement], joints: Mapping[str, StatedJoint]) -> str:
    """The one link that is no child; every other is the child of one joint, and hangs on it by a chain of joints."""
    above: dict[str, StatedJoint] = {}
    for one in joints.values():
        for end, link in (("parent", one.parent), ("child", one.child)):
            if link not in links:
                known = "a link of the file"
                one.element.needed(end).refuse(f"link={link[:60]!r}", known, nearest(link, links) or "Add the link.")
        if one.child in above:
            fault = f"a second parent of link {one.child!r}, which joint {above[one.child].name!r} moves"
            todo = "URDF has no loops: leave this joint out, load the file, and add it by Editor.add_joint."
            one.element.refuse(fault, "a tree: one joint for each link but the root", todo)
        above[one.child] = one
    bases = [link for link in links if link not in above]
    if len(bases) > 1:
        todo = "Join them by joints, of type floating where nothing holds them."
        root.refuse(f"{len(bases)} links without a parent: {listed(bases)}", "one root link", todo)
    reached = set(bases)
    below: dict[str, list[str]] = {}
    for one in joints.values():
        below.setdefault(one.parent, []).append(one.child)
    waiting = [*bases]
    while waiting:
        further = below.get(waiting.pop(), [])
        reached.update(further)
        waiting += further
    if circling := [link for link in links if link not in reached]:
        root.refuse(
            f"links that are their own ancestors: {listed(circling)}", "a tree of joints", "Turn a joint round."
        )
    return bases[0]


def _without_gravity(gazebo: XmlElement, bodies: Mapping[str, dict[str, Any]], notes: ReaderNotes) -> None:
    """Switches gravity off for a link where a block for Gazebo does."""
    link = gazebo.word("reference", "")
    for element in gazebo.children:
        if (element.tag, element.text.lower()) in WEIGHTLESS and link in bodies:
            bodies[link]["gravity_scale"] = 0.0
            notes.add(NO_GRAVITY, link)


def _document(
    root: XmlElement,
    base: str,
    bodies: dict[str, dict[str, Any]],
    joints: dict[str, StatedJoint],
    notes: ReaderNotes,
) -> dict[str, Any]:
    """All parts put together: frames where joints stand, what they follow, their dry friction, the root on ground."""
    ground: list[dict[str, Any]] = []
    empty = len(bodies[base]) == 2  # name and frames
    if base == WORLD and empty:
        del bodies[base]
    entries, forces, constraints = [], [], []
    starts = _starts(joints)
    for one in joints.values():
        ends = {}
        for end, link, frame in (("parent", one.parent, one.on_parent), ("child", one.child, one.on_child)):
            if frame is not None:
                (bodies[link]["frames"] if link in bodies else ground).append(frame)
            ends[end] = [[link if link in bodies else FIXED], frame["name"] if frame is not None else ORIGIN]
        note_start(one, starts[one.name], notes)
        moved = starts[one.name] or "initial_displacement" in one.entry
        start = {"initial_displacement": starts[one.name]} if moved else {}
        entries.append({**one.entry, **ends, **start})
        if one.friction:
            notes.add(DRY, one.name)
            law = {"type": "coulomb_friction", "joint": one.name, "level": one.friction, "slip_speed": SLIP_SPEED}
            forces.append({"name": f"{one.name}_friction", **law})
        if one.mimic is not None:
            numbers = {"multiplier": one.mimic.multiplier, "offset": one.mimic.offset}
            follows = {"type": "mimic", "joints": [one.name, one.mimic.leader], **numbers}
            constraints.append({"name": f"{one.name}_mimic", **follows})
    if base in bodies:
        entries.append(_on_ground(base, joints, notes))
    parameters = {"version": "2.0", "gravity": GRAVITY, "include_directories": _mesh_folders(root)}
    parts = {"bodies": [*bodies.values()], "joints": entries, "force_modules": forces, "constraints": constraints}
    return {
        "model_parameters": parameters,
        "frames": ground,
        "assemblies": [{"name": root.word("name"), **parts}],
    }


def _on_ground(base: str, joints: Mapping[str, StatedJoint], notes: ReaderNotes) -> dict[str, Any]:
    """The joint that holds the root link."""
    name = f"{base}_on_ground"
    while name in joints:
        name += "_"
    notes.add(f"the root link {base!r} {STANDING}", name)
    return {"name": name, "type": "rigid", "parent": [[FIXED], ORIGIN], "child": [[base], ORIGIN]}


def _starts(joints: Mapping[str, StatedJoint]) -> dict[str, float]:
    """Where each joint begins: at zero, or where those begin that it follows [rad or m].

    Raises:
        ModelError: a joint that follows none, or itself by way of others.
    """
    starts: dict[str, float] = {}
    for first in joints.values():
        chain, names = [first], {first.name}
        while chain[-1].name not in starts and (mimic := chain[-1].mimic) is not None:
            leader = joints.get(mimic.leader)
            if leader is None or "axis" not in leader.entry:
                movable = [name for name, one in joints.items() if "axis" in one.entry and one.mimic is None]
                todo = nearest(mimic.leader, movable) or "Name another one."
                mimic.element.refuse(f"joint={mimic.leader[:60]!r}", "a joint with one coordinate", todo)
            if leader.name in names:
                mimic.element.refuse(f"joint {leader.name!r} follows itself", "a joint that leads", "Name another one.")
            chain.append(leader)
            names.add(leader.name)
        last = chain.pop()
        value = starts.setdefault(last.name, float(last.entry.get("initial_displacement", 0.0)))
        for one in reversed(chain):
            assert one.mimic is not None
            value = starts[one.name] = one.mimic.multiplier * value + one.mimic.offset
    return starts


def _mesh_folders(root: XmlElement) -> list[str]:
    """Folders above the file in which its meshes lie, seen from there: packages hold `urdf/` beside `meshes/`."""
    shapes = [shape.child("geometry") for link in root.every("link") for shape in link.children]
    meshes = [mesh.word("filename") for solid in shapes if solid is not None for mesh in solid.every("mesh")]
    steps = [name.replace("\\", "/").split("/") for name in meshes]
    levels = [ABOVE if name.startswith(PACKAGE) else way.count("..") for name, way in zip(meshes, steps, strict=True)]
    return ["/".join([".."] * k) for k in range(1, min(max(levels, default=0), ABOVE) + 1)]
