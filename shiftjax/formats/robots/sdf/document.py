"""An SDFormat file (1.4 to 1.12) as a document of the Shift format.

SDFormat: http://sdformat.org/spec. A link is a body whose axes are those of the link, a joint stands at its pose, all
coordinates begin at zero: poses say where links are, and so every loop is closed. What moves nothing here, as a sensor,
is left out with a note; what would change the motion and is not read is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiftjax.errors import ModelError
from shiftjax.formats.jsonc import MAX_BYTES
from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.placing import placed
from shiftjax.formats.robots.sdf.connections import Connections, unique
from shiftjax.formats.robots.sdf.joints import joint
from shiftjax.formats.robots.sdf.links import mesh_folders, shapes
from shiftjax.formats.robots.sdf.models import Opener, SdfReading, checked_name, version_of
from shiftjax.formats.robots.sdf.scopes import WORLD
from shiftjax.formats.robots.sdf.values import check, inverse, readable, vector
from shiftjax.formats.robots.xml_tree import XmlElement, parsed
from shiftjax.mechanism.records import ORIGIN

SUFFIXES = (".sdf", ".world")
GRAVITY = (0.0, 0.0, -9.8)  # m/s^2: the default of a world
ABOVE = 4  # folders above a file in which folders of meshes are searched
IN_WORLDS = ("model", "include", "frame", "joint", "gravity", "physics", "wind", "population", "road", "state")
MANY = ("model", "include", "frame", "joint", "physics", "road", "state")
HARMLESS = (
    "audio",
    "magnetic_field",
    "atmosphere",
    "gui",
    "scene",
    "light",
    "actor",
    "plugin",
    "spherical_coordinates",
)
CONFIG = "model.config"
MODEL_FILE = "model.sdf"
DEFAULT_GRAVITY = "no gravity is stated of {}: SDFormat has 9.8 m/s^2 along -z"
DESCRIPTION = "a text of the file is left out, in line {}"
STATE = "a saved state is left out: bodies of world {} begin where their poses say"


def read(text: str, name: str, folder: Path | None = None) -> tuple[Mapping[str, Any], list[str]]:
    """The document of an SDFormat file, and what it does not say as the file does.

    Args:
        text: of the file. name: of the file, for messages.
        folder: in which, and below which, included files are; without it none are read.

    Raises:
        ModelError: no SDFormat, or something that would change the motion and is not read.
    """
    root, notes = parsed(readable(text), name), ReaderNotes()
    version = version_of(root)
    if root.text:
        notes.add(DESCRIPTION, str(root.line))
        root.text = ""
    check(root, ("version",), ("world", "model"), notes, harmless=("light", "actor"), many=("world", "model"))
    reading = SdfReading(_nowhere if folder is None else _opener(folder), notes)
    top = _top(root)
    if top.tag == WORLD:
        check(top, ("name",), IN_WORLDS, notes, harmless=HARMLESS, many=MANY)
        checked_name(top)
        outermost = reading.world(top, version)
        assemblies = [*outermost.assembly["assemblies"]]
        gravity = _gravity(top, notes)
    else:
        outermost = reading.model(top, version, None)
        assemblies, gravity = [outermost.assembly], GRAVITY
        notes.add(DEFAULT_GRAVITY, f"model {top.word('name')!r}")
    if not reading.links:
        top.refuse("no <link>", "a model with one or more", "Add one.")
    connections = Connections(reading.links, notes)
    _frames(reading, connections.ground)
    connections.connect([joint(element, scope, notes) for scope in reading.scopes for element in scope.joints])
    for link in reading.links:
        shapes(link.element, link.scope, link.path[-1], link.body, notes)
    if top.tag == WORLD and any(outermost.assembly[key] for key in ("joints", "constraints", "force_modules")):
        across = {**outermost.assembly, "assemblies": [], "name": unique(outermost.assembly["name"], assemblies)}
        assemblies.append(across)
    uris = (uri.text for tree in (root, *reading.roots.values()) for uri in _uris(tree))
    parameters = {
        "version": "2.0",
        "gravity": [*gravity],
        "include_directories": mesh_folders(uris, ABOVE),
    }
    document = {"model_parameters": parameters, "frames": connections.ground, "assemblies": assemblies}
    return document, notes.lines(name)


def _top(root: XmlElement) -> XmlElement:
    """The one world or model of a file."""
    tops = [element for element in root.children if element.tag in (WORLD, "model")]
    if not tops:
        root.refuse("neither a <world> nor a <model>", "one of them", "Add one.")
    if len(tops) > 1:
        tops[1].refuse(f"a second <{tops[1].tag}>", "one model or one world in a file", "Put models into a <world>.")
    return tops[0]


def _gravity(world: XmlElement, notes: ReaderNotes) -> tuple[float, ...]:
    """Of a world [m/s^2]; before 1.6 it stood in its physics."""
    for tag, todo in (("population", "Write its models out."), ("road", "")):
        element = world.child(tag)
        if element is not None and todo:
            element.refuse(f"a <{tag}>, which makes models", "models that are written out", todo)
        if element is not None:
            notes.leave_out(element)
    for element in world.children:
        if element.tag == "state":
            notes.add(STATE, world.word("name"))
        elif element.tag in ("physics", "wind"):
            notes.leave_out(element)
    for place in (world, *world.every("physics")):
        if place.child("gravity") is not None:
            return vector(place, "gravity", GRAVITY)
    notes.add(DEFAULT_GRAVITY, f"world {world.word('name')!r}")
    return GRAVITY


def _frames(reading: SdfReading, ground: list[dict[str, Any]]) -> None:
    """Frames of the file as frames of the bodies that they move with, or of ground."""
    for scope in reading.scopes:
        for item in scope.items.values():
            if item.element.tag == "frame":
                link = scope.body(item.name, item.element)
                X = scope.in_world() @ scope.pose(item.name, item.element)
                if link is not None:
                    X = inverse(link.scope.in_world() @ link.scope.pose(link.path[-1], link.element)) @ X
                frames = ground if link is None else link.body["frames"]
                name = unique(item.name if item.name != ORIGIN else f"{ORIGIN}_", frames)
                frames.append({"name": name, **placed(tuple(float(x) for x in X[:3, 3]), X[:3, :3])})


def _uris(tree: XmlElement) -> list[XmlElement]:
    """Addresses of meshes in a file."""
    waiting, uris = [tree], list[XmlElement]()
    while waiting:
        element = waiting.pop()
        if element.tag == "mesh":
            uris += [inner for inner in element.children if inner.tag in ("uri", "filename")]
        waiting += element.children
    return uris


def _nowhere(path: str) -> tuple[str, str] | None:
    return None


def _opener(folder: Path) -> Opener:
    """Opens files in a folder or below it; of a folder there its model file, as its model.config names it."""

    def opened(path: str) -> tuple[str, str] | None:
        file = folder / path
        try:
            if file.is_dir():
                name = _of_config(file / CONFIG)
                file, path = file / name, f"{path}/{name}"
            if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
                return None
            if file.stat().st_size > MAX_BYTES:
                raise ModelError(path, f"{file.stat().st_size} bytes", f"at most {MAX_BYTES}", "Is this a model file?")
            return path, file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModelError(path, f"a byte that is no UTF-8 at {error.start}", "UTF-8 text", "Save it so.") from error
        except OSError:
            return None

    return opened


def _of_config(config: Path) -> str:
    """The file of the newest version that is read, as a model.config names it; model.sdf where there is none."""
    if not config.is_file() or config.stat().st_size > MAX_BYTES:
        return MODEL_FILE
    root = parsed(config.read_bytes().decode("utf-8-sig"), config.name)
    known = {f"1.{minor}": minor for minor in range(4, 13)}
    named = [(known.get(one.word("version", ""), 0), one.text.strip()) for one in root.every("sdf")]
    name = max(named)[1] if named else MODEL_FILE
    return name if name and "/" not in name and "\\" not in name else MODEL_FILE
