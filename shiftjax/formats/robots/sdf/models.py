"""Models of SDFormat as scopes: their links, frames, joints, models in them, and those of included files."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from shiftjax.formats.robots.notes import ReaderNotes
from shiftjax.formats.robots.sdf.links import body
from shiftjax.formats.robots.sdf.scopes import APART, MODEL, WORLD, FrameScope, ScopeItem, SdfLink
from shiftjax.formats.robots.sdf.values import check, flag, flag_of, pose_of, readable, relative_to, text, word
from shiftjax.formats.robots.xml_tree import DEEPEST, LONGEST, XmlElement, parsed
from shiftjax.mechanism.paths import NAME_RULE, is_name
from shiftjax.mechanism.records import FIXED

VERSIONS = tuple((1, minor) for minor in range(4, 13))
MOST_ELEMENTS = 1_000_000  # of included files, each as often as it is included
MOST_MODELS = 10_000  # of a file and those it includes: files that include each other twice over grow without bound
IN_MODELS = ("static", "pose", "link", "joint", "frame", "model", "include")
MANY = ("link", "joint", "frame", "model", "include")
HARMLESS = ("self_collide", "allow_auto_disable", "enable_wind", "plugin", "gripper")
OF_MODELS = ("name", "namespace", "canonical_link", "placement_frame")
IN_INCLUDES = ("uri", "name", "pose", "static", "placement_frame")
SCHEME = "://"
NO_MODEL = "included files that hold no model: {}"

# path of a file from the folder of the first one, and its text; None where there is none
Opener = Callable[[str], tuple[str, str] | None]


class SdfReading:
    """A file and those that it includes, while they are read.

    Attributes:
        links: all of them, in their order.
        meshes: addresses of meshes.
    """

    def __init__(self, opener: Opener, notes: ReaderNotes) -> None:
        self.opener, self.notes = opener, notes
        self.scopes: list[FrameScope] = []
        self.links: list[SdfLink] = []
        self.roots: dict[str, XmlElement] = {}
        self._sizes: dict[str, int] = {}  # elements of a file
        self._elements = 0

    def world(self, element: XmlElement, version: tuple[int, int]) -> FrameScope:
        """The scope of a world, its models read."""
        scope = FrameScope(element, version, None)
        scope.assembly = new_assembly(element.word("name"))
        self.scopes.append(scope)
        self._contents(scope, ())
        return scope

    def model(
        self, element: XmlElement, version: tuple[int, int], above: FrameScope | None, chain: tuple[str, ...] = (),
        include: XmlElement | None = None,
    ) -> FrameScope:  # fmt: skip
        """The scope of a model, all in it read.

        Args:
            above: the model or world in which it is.
            chain: files that lead to it.
            include: what includes it, and may place, rename and fix it.
        """
        if len(self.scopes) >= MOST_MODELS:
            element.refuse("one more model", f"at most {MOST_MODELS}", "Divide the file.")
        check(element, OF_MODELS, IN_MODELS, self.notes, harmless=HARMLESS, many=MANY)
        name = checked_name(element)
        if include is not None and include.child("name") is not None:
            name = checked_name(include, word(include, "name"))
        scope = FrameScope(element, version, above)
        self.scopes.append(scope)
        scope.canonical = element.attributes.get("canonical_link", "")
        if scope.canonical == MODEL:
            element.refuse(f"canonical_link={MODEL!r}", "a link", "Name a link.")
        scope.static = scope.static or flag(element, "static", default=False)
        place = element.child("pose")
        scope.placement = element.attributes.get("placement_frame", "")
        if include is not None:
            place = include.child("pose") or place
            if include.child("static") is not None:
                scope.static = (above is not None and above.static) or flag(include, "static", default=False)
            if include.child("placement_frame") is not None:
                include.needed("pose")
                scope.placement = word(include, "placement_frame")
        if scope.placement == MODEL:
            scope.placement = ""
        merged = include is not None and flag_of(include, include.word("merge", "false"))
        self._enter(scope, name, place, merged)
        scope.folder = posixpath.dirname(chain[-1]) if chain else ""
        self._contents(scope, chain)
        return scope

    def _enter(self, scope: FrameScope, name: str, place: XmlElement | None, merged: bool) -> None:
        """Puts a model into the scope above it, and its bodies and joints into an assembly."""
        above, X, relative = scope.above, pose_of(place), relative_to(place)
        if merged and above is not None:
            scope.name, scope.is_merged = f"_merged__{name}{MODEL}", True
            scope.assembly, scope.path = above.assembly, above.path
        else:
            scope.name = name
            scope.assembly = new_assembly(name)
            scope.path = (*(above.path if above is not None else ()), name)
            if above is not None:
                above.assembly["assemblies"].append(scope.assembly)
        if above is None:
            if relative and place is not None:
                place.refuse(f"relative_to={relative[:LONGEST]!r}", "a pose in the world", "Remove relative_to.")
            scope.placed = X
            return
        relative = relative if relative != (WORLD if above.is_world else MODEL) else ""
        above.add(ScopeItem(scope.element, scope.name, X, relative, inner=scope, merged=merged))

    def _contents(self, scope: FrameScope, chain: tuple[str, ...]) -> None:
        """Reads what is in a model or a world, in its order; names that elements give each other come after it."""
        for element in scope.element.children:
            if element.tag == "link":
                self._link(element, scope)
            elif element.tag == "frame":
                self._frame(element, scope)
            elif element.tag == "joint":
                name, place = checked_name(element), element.child("pose")
                child = word(element, "child")
                if child == WORLD:
                    element.needed("child").refuse("the child 'world'", "a link that moves", "Exchange the ends.")
                scope.add(ScopeItem(element, name, pose_of(place), relative_to(place) or child, attached=child))
                scope.joints.append(element)
            elif element.tag == "model":
                self.model(element, scope.version, scope, chain)
            elif element.tag == "include":
                self._include(element, scope, chain)

    def _link(self, element: XmlElement, scope: FrameScope) -> None:
        name, place = checked_name(element), element.child("pose")
        if scope.is_world:
            element.refuse("a link of the world", "links of models", "Put it into a <model>.")
        document = body(element, name, self.notes)
        link = SdfLink(element, scope, (*scope.path, name), document)
        scope.add(ScopeItem(element, name, pose_of(place), _inside(relative_to(place)), link=link))
        scope.assembly["bodies"].append(document)
        self.links.append(link)

    def _frame(self, element: XmlElement, scope: FrameScope) -> None:
        check(element, ("name", "attached_to"), ("pose",), self.notes)
        name, place, attached = checked_name(element), element.child("pose"), element.word("attached_to", "")
        X, relative = pose_of(place), relative_to(place) or attached
        if attached == name or relative == name:
            element.refuse(f"frame {name!r}, which is attached to itself", "another frame", "Name another one.")
        outermost = WORLD if scope.is_world else MODEL
        scope.add(
            ScopeItem(
                element, name, X, "" if relative == outermost else relative, "" if attached == outermost else attached
            )
        )

    def _include(self, include: XmlElement, scope: FrameScope, chain: tuple[str, ...]) -> None:
        """Reads the model of another file into a scope."""
        check(include, ("merge",), IN_INCLUDES, self.notes, harmless=("plugin", "namespace"))
        uri = include.needed("uri")
        address = text(uri)
        path = self._path(uri, address, scope, chain)
        opened = self.opener(path)
        if opened is None:
            todo = "Put the file, or the folder with its model.sdf, there, or correct the address."
            uri.refuse(f"no file {address[:LONGEST]!r}", "a file in the folder of this one, or below", todo)
        path, contents = opened
        if path in chain:
            uri.refuse(f"{path}, which includes itself", "files that do not include each other", "Remove one include.")
        if len(chain) >= DEEPEST:
            uri.refuse(f"{path}, by a chain of {DEEPEST} files", "files that include others less deep", "Flatten them.")
        if path not in self.roots:
            self.roots[path] = parsed(readable(contents), path)
            self._sizes[path] = sum(1 for _ in self.roots[path].everything())
        self._elements += self._sizes[path]
        if self._elements > MOST_ELEMENTS:
            uri.refuse("too much that is included", f"at most {MOST_ELEMENTS} elements in all", "Divide the model.")
        root = self.roots[path]
        version = version_of(root)
        models = [*root.every("model")]
        if not models:
            if root.child(WORLD) is not None:
                uri.refuse(f"{path}, which holds a world", "a file that holds a model", "Include its models.")
            self.notes.add(NO_MODEL, address)
            return
        if len(models) > 1:
            models[1].refuse("a second model", "one model in an included file", "Remove one.")
        self.model(models[0], version, scope, (*chain, path), include)

    def _path(self, uri: XmlElement, address: str, scope: FrameScope, chain: tuple[str, ...]) -> str:
        """The path of an included file from the folder of the first one."""
        if SCHEME in address:
            name = address.partition(SCHEME)[2].strip("/")
            todo = f"Put its folder beside this file, and write <uri>{name.rpartition('/')[2][:LONGEST]}</uri>."
            if address.startswith(("http:", "https:")):
                todo = "Download it. " + todo
            uri.refuse(f"{address[:LONGEST]!r}", "a file in the folder of this one, or below", todo)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(chain[-1]) if chain else "", address))
        if not address or path.startswith(("..", "/")) or "\0" in path:
            todo = "Copy it there."
            uri.refuse(f"{address[:LONGEST]!r}", "a file in the folder of the first one, or below", todo)
        return path


def new_assembly(name: str) -> dict[str, Any]:
    """An empty one of a document."""
    lists = ("bodies", "joints", "force_modules", "constraints", "assemblies")
    return {"name": name, **{key: [] for key in lists}}


def _inside(name: str) -> str:
    """A name in a model, "" of the model itself."""
    return "" if name == MODEL else name


def checked_name(element: XmlElement, name: str | None = None) -> str:
    """The name of an element, or one that an include gives it.

    Raises:
        ModelError: one that our format, or SDFormat, cannot have.
    """
    name = element.word("name") if name is None else name
    reserved = name in (FIXED, WORLD) or (name.startswith("__") and name.endswith("__"))
    if APART in name:
        todo = "Nest the models, as `gz sdf -p FILE` does, or write _ for ::."
        element.refuse(f"name={name[:LONGEST]!r}", "a name without '::', which leads into models", todo)
    if not is_name(name) or reserved:
        allowed = f"{NAME_RULE}, other than {FIXED!r}, {WORLD!r} and __...__"
        element.refuse(f"name={name[:LONGEST]!r}", allowed, "Rename it.")
    return name


def version_of(root: XmlElement) -> tuple[int, int]:
    """The version of a file.

    Raises:
        ModelError: no SDFormat, or a version that is not read.
    """
    if root.tag != "sdf":
        root.refuse(f"the root element <{root.tag[:LONGEST]}>", "<sdf>, the root of SDFormat", "Convert the file.")
    version = root.word("version")
    known = {f"{major}.{minor}": (major, minor) for major, minor in VERSIONS}
    if version not in known:
        todo = "Convert it: `gz sdf -p FILE`." if version.startswith("1.") else "Correct it."
        root.refuse(f"version={version[:LONGEST]!r}", f"{next(iter(known))} to {[*known][-1]}", todo)
    return known[version]
