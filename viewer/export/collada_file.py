"""A COLLADA 1.4.1 document under construction: libraries without duplicate entries, and ids that are unique.

The specification is Khronos' "COLLADA - Digital Asset Schema Release 1.4.1", second edition. One liberty, which others
take, too: `name` may be any text, as in release 1.5, since a path has colons. Inputs of a primitive share one index: a
mesh here has a normal and a texture coordinate for each vertex.
"""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as xml
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shiftjax.poses import matrices
from shiftjax.viewer.export.pack import png, unit_normals
from shiftjax.viewer.scene.palette import linear
from shiftjax.viewer.scene.scene import Colour, Mesh, Texture

NAMESPACE = "http://www.collada.org/2005/11/COLLADASchema"
LIBRARIES = ("images", "effects", "materials", "geometries", "lights", "visual_scenes", "animations")
SYMBOL, SET = "surface", "UV"  # of the material of a geometry, of its texture coordinates
POSE, POSE_NAME = "pose", "TRANSFORM"  # sid of the transform of a node that moves
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)
_NO_ID = re.compile(r"[^A-Za-z0-9_-]")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Axes = Sequence[tuple[str, str]]  # names and types of what an accessor has


def plain(text: str) -> str:
    """A text without characters that XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)


def add(parent: xml.Element, tag: str, text: str | None = None, **attributes: str) -> xml.Element:
    """A new last child; returns it."""
    child = xml.SubElement(parent, tag, {key: plain(value) for key, value in attributes.items()})
    child.text = None if text is None else plain(text)
    return child


def numbers(values: Any) -> str:
    """Numbers as text that reads back exactly in their precision."""
    return " ".join(map(str, np.asarray(values).ravel()))


def colour_text(colour: Iterable[float]) -> str:
    return " ".join(f"{value:.6g}" for value in colour)


class ColladaFile:
    """Libraries, scene and extra of a file.

    Attributes:
        pictures: file name -> bytes of the pictures that stand beside the file.
        gloss: strength of the specular term of all materials. shininess: its exponent.
    """

    def __init__(self, stem: str, gloss: float, shininess: float) -> None:
        """stem: how the names of pictures begin."""
        self.pictures: dict[str, bytes] = {}
        self.gloss, self.shininess = gloss, shininess
        self._stem = stem
        self._libraries: dict[str, xml.Element] = {}
        self._ids: set[str] = set()
        self._known: dict[tuple[Any, ...], str] = {}

    def id(self, text: str) -> str:
        """An id like a text, that no other element has."""
        base = _NO_ID.sub("_", text)
        base = base if base[:1].isalpha() else f"_{base}"
        name, k = base, 1
        while name in self._ids:
            k += 1
            name = f"{base}-{k}"
        self._ids.add(name)
        return name

    def library(self, name: str) -> xml.Element:
        """The element `library_NAME`, which is made where it is first asked for."""
        if name not in self._libraries:
            self._libraries[name] = xml.Element(f"library_{name}")
        return self._libraries[name]

    def libraries(self) -> list[xml.Element]:
        """All that there are, each after those that it refers to."""
        return [self._libraries[name] for name in LIBRARIES if name in self._libraries]

    # -- geometry ----------------------------------------------------------------------------------------------------

    def geometry(self, mesh: Mesh, name: str) -> str:
        """The id of a mesh of triangles or lines, which all its colours share."""
        key = ("geometry", mesh.key)
        if key not in self._known:
            self._known[key] = self.id(f"geometry-{name}")
            self._geometry(mesh, self._known[key], name)
        return self._known[key]

    def _geometry(self, mesh: Mesh, number: str, name: str) -> None:
        body = add(add(self.library("geometries"), "geometry", id=number, name=name), "mesh")
        xyz = [(axis, "float") for axis in "XYZ"]
        positions = self.source(body, f"{number}-positions", mesh.vertices.astype(np.float32), xyz)
        inputs = []
        if mesh.kind == "triangles":
            inputs.append(("NORMAL", self.source(body, f"{number}-normals", unit_normals(mesh), xyz), {}))
        if mesh.uv is not None and mesh.texture is not None:
            axes = [("S", "float"), ("T", "float")]
            source = self.source(body, f"{number}-uv", mesh.uv.astype(np.float32), axes)
            inputs.append(("TEXCOORD", source, {"set": "0"}))
        vertices = add(body, "vertices", id=self.id(f"{number}-vertices"))
        add(vertices, "input", semantic="POSITION", source=f"#{positions}")
        faces = add(body, mesh.kind, count=str(len(mesh.indices)), material=SYMBOL)
        for semantic, source, more in [("VERTEX", vertices.attrib["id"], {}), *inputs]:
            add(faces, "input", semantic=semantic, source=f"#{source}", offset="0", **more)
        add(faces, "p", numbers(mesh.indices))

    def source(self, parent: xml.Element, name: str, values: np.ndarray, axes: Axes) -> str:
        """The id of values (n,) or (n, width), float or text; what each of a row is, `axes` says."""
        number = self.id(name)
        element = add(parent, "source", id=number)
        kind = "float_array" if values.dtype.kind == "f" else "Name_array"
        array = add(element, kind, numbers(values), id=self.id(f"{number}-array"), count=str(values.size))
        where = {"source": f"#{array.attrib['id']}", "count": str(len(values)), "stride": str(values[0].size)}
        accessor = add(add(element, "technique_common"), "accessor", **where)
        for axis, type_ in axes:
            add(accessor, "param", name=axis, type=type_)
        return number

    # -- materials ---------------------------------------------------------------------------------------------------

    def material(self, colour: Colour, mesh: Mesh, name: str) -> str:
        """The id of a Phong material of a colour, with the mesh's picture where it has one."""
        texture = mesh.texture if mesh.uv is not None else None
        lit = mesh.kind == "triangles"
        key = ("material", colour, lit, mesh.key if texture else None)
        if key not in self._known:
            number = self._known[key] = self.id(f"material-{name}")
            effect = self._effect(number, colour, texture, lit=lit)
            item = add(self.library("materials"), "material", id=number, name=name)
            add(item, "instance_effect", url=f"#{effect}")
        return self._known[key]

    def _effect(self, material: str, colour: Colour, texture: Texture | None, *, lit: bool) -> str:
        number = self.id(f"effect-{material.removeprefix('material-')}")
        profile = add(add(self.library("effects"), "effect", id=number), "profile_COMMON")
        sampler = "" if texture is None else self._sampler(profile, texture, colour)
        phong = add(add(profile, "technique", sid="common"), "phong")
        solid = (*colour[:3], 1.0)

        def coloured(tag: str, value: Iterable[float]) -> None:
            add(add(phong, tag), "color", colour_text(value))

        coloured("emission", (0.0, 0.0, 0.0, 1.0))
        for tag in ("ambient", "diffuse"):
            if sampler:
                add(add(phong, tag), "texture", texture=sampler, texcoord=SET)
            else:
                coloured(tag, solid)
        if lit:
            coloured("specular", (self.gloss, self.gloss, self.gloss, 1.0))
            add(add(phong, "shininess"), "float", f"{self.shininess:g}")
        clear = texture is not None and bool((texture.pixels[..., 3] < 255).any())
        if clear:
            add(add(phong, "transparent", opaque="A_ONE"), "texture", texture=sampler, texcoord=SET)
        elif colour[3] < 1:
            add(add(phong, "transparent", opaque="A_ONE"), "color", colour_text(WHITE))
        if clear or colour[3] < 1:
            add(add(phong, "transparency"), "float", f"{colour[3]:.6g}")
        return number

    def _sampler(self, profile: xml.Element, texture: Texture, colour: Colour) -> str:
        """The sid of the sampler of a picture, which has the colour in it: common materials have one or the other."""
        image = self._image(tinted(texture, colour))
        surface = add(add(profile, "newparam", sid="surface"), "surface", type="2D")
        add(surface, "init_from", image)
        add(add(add(profile, "newparam", sid="sampler"), "sampler2D"), "source", "surface")
        return "sampler"

    def _image(self, texture: Texture) -> str:
        """The id of a picture, which becomes a file named after its content."""
        data = png(texture)
        file = f"{_NO_ID.sub('_', self._stem)}-{hashlib.sha256(data).hexdigest()[:12]}.png"
        if file not in self.pictures:
            self.pictures[file] = data
            self._known["image", file] = number = self.id(f"image-{file.removesuffix('.png')}")
            add(add(self.library("images"), "image", id=number), "init_from", file)
        return self._known["image", file]

    # -- motion ------------------------------------------------------------------------------------------------------

    def animate(self, node: xml.Element, times: np.ndarray, track: np.ndarray) -> None:
        """Keys of a node with the transform `POSE`; none where it stands still.

        Args:
            times: (n,) [s]. track: (n, 7) poses, or (n, 10) with scales.
        """
        keys = transforms(track).astype(np.float32)
        if (keys == keys[0]).all():
            return
        number = self.id(f"motion-{node.attrib['id']}")
        name = node.attrib["name"]
        motion = add(self.library("animations"), "animation", id=number, name=name)
        outputs = keys.reshape(len(keys), 16)
        sources = {
            "INPUT": self.source(motion, f"{number}-input", times.astype(np.float32), [("TIME", "float")]),
            "OUTPUT": self.source(motion, f"{number}-output", outputs, [(POSE_NAME, "float4x4")]),
            "INTERPOLATION": self.source(
                motion, f"{number}-interpolation", np.full(len(keys), "LINEAR"), [("INTERPOLATION", "name")]
            ),
        }
        sampler = add(motion, "sampler", id=self.id(f"{number}-sampler"))
        for semantic, source in sources.items():
            add(sampler, "input", semantic=semantic, source=f"#{source}")
        target = f"{node.attrib['id']}/{POSE}"
        add(motion, "channel", source=f"#{sampler.attrib['id']}", target=target)


def transforms(track: np.ndarray) -> np.ndarray:
    """(n, 4, 4) of poses (n, 7), or of poses with scales (n, 10)."""
    out = matrices(track[:, :7])
    out[:, :3, :3] *= track[:, None, 7:] if track.shape[1] > 7 else 1.0
    return out


def tinted(texture: Texture, colour: Colour) -> Texture:
    """A picture times a colour, multiplied as light as the viewer does; opacities stay as they are."""
    if colour[:3] == WHITE[:3]:
        return texture
    light = linear(texture.pixels[..., :3] / 255.0) * linear(np.array(colour[:3]))
    screen = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    pixels = texture.pixels.copy()
    pixels[..., :3] = np.rint(255.0 * screen)
    return Texture(pixels)
