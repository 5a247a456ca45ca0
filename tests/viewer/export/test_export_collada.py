"""COLLADA of a scene in motion, read back number by number, and by Assimp; the model that comes back out of it. M62."""

from __future__ import annotations

import dataclasses
import io
import re
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.mechanism.model import Model
from shiftjax.poses import to_world
from shiftjax.viewer.assimp.loading import load as load_mesh
from shiftjax.viewer.export import write_dae, write_glb
from shiftjax.viewer.export.collada import model_text
from shiftjax.viewer.scene.camera import upright
from shiftjax.viewer.scene.scene import Scene, ScenePart, SceneSpring
from tests.scenes.moving_boxes import TIMES, UPS, a_scene, a_track

SINGLE = 2e-6  # positions of about 1 m in single precision, a few roundings
COLOUR = 1e-5  # written with six digits
NAMES = {"c": "http://www.collada.org/2005/11/COLLADASchema"}
WIDTH = {"triangles": 3, "lines": 2}
HARSH = 'a <b> & "c" ]]> \u00e9 \u2028 \x01\x7f\r\n\t end'  # what neither XML nor a parser's line ends may change
STATED = {  # of a joint: what only our format has
    "limits": [-1.0, None], "lock": True, "target": 0.25, "virtual": True,
    "posture": {"value": -0.5, "weight": 2.0, "level": 4.0},
}  # fmt: skip


def a_model(**of_joint: object) -> Model:
    """A bar on a pin, with what is stated of its joint, an event, a parameter that a number follows, and a comment."""
    pin = {"name": "pin", "type": "Ry", "parent": [["fixed"], "origin"], "child": [["bar"], "origin"], **of_joint}
    inertia = {"mass": "reach * 5", "Ixx": 1.0, "Iyy": 1.0, "Izz": 1.0}
    shape = {"type": "mesh", "filename": "plate.stl"}
    bar = {"name": "bar", "inertia": inertia, "lock": True, "data": {"class": "crank"}, "geometry": [shape]}
    return shiftjax.load(
        {
            "comment": HARSH,
            "model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81], "units": {"length": "millimeters"}},
            "parameters": {"reach": 0.4},
            "events": {"flat": {"of": "pin.q - 0.1", "direction": "up", "action": "stop"}},
            "sublinkages": {"the pin": {"joints": ["a:pin"], "disposition": "driving"}},
            "assemblies": [{"name": "a", "bodies": [bar], "joints": [pin]}],
        }
    )


MODEL = a_model(**STATED)


class Dae:
    """A reader of COLLADA that shares nothing with the writer."""

    def __init__(self, path: Path) -> None:
        self.root = xml.parse(path).getroot()
        self.by_id = {e.attrib["id"]: e for e in self.root.iter() if "id" in e.attrib}
        (self.top,) = self.all("scene/c:instance_visual_scene")
        (self.first,) = self.target(self.top, "url").findall("c:node", NAMES)

    def all(self, path: str, element: xml.Element | None = None) -> list[xml.Element]:
        return (self.root if element is None else element).findall(f"c:{path}", NAMES)

    def target(self, element: xml.Element, key: str) -> xml.Element:
        assert element.attrib[key].startswith("#")
        return self.by_id[element.attrib[key][1:]]

    def array(self, source: xml.Element) -> np.ndarray:
        """(count, stride) of a source, as its accessor says."""
        (accessor,) = self.all("technique_common/c:accessor", source)
        values = (self.target(accessor, "source").text or "").split()
        count, stride = int(accessor.attrib["count"]), int(accessor.attrib["stride"])
        assert len(values) == count * stride
        kind = float if self.target(accessor, "source").tag.endswith("float_array") else str
        return np.array(list(map(kind, values))).reshape(count, stride)

    def input(self, element: xml.Element, semantic: str) -> xml.Element:
        (one,) = [e for e in self.all("input", element) if e.attrib["semantic"] == semantic]
        return self.target(one, "source")

    def keys(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """id of a node -> times (n,), matrices (n, 4, 4)."""
        keys = {}
        for motion in self.all("library_animations/c:animation"):
            (sampler,), (channel,) = self.all("sampler", motion), self.all("channel", motion)
            assert self.target(channel, "source") is sampler
            node, sid = channel.attrib["target"].split("/")
            assert self.by_id[node][0].attrib.get("sid") == sid
            assert set(self.array(self.input(sampler, "INTERPOLATION"))[:, 0]) == {"LINEAR"}
            times, values = (self.array(self.input(sampler, name)) for name in ("INPUT", "OUTPUT"))
            keys[node] = times[:, 0], values.reshape(-1, 4, 4)
        return keys

    def matrix(self, node: xml.Element) -> np.ndarray:
        text = node.findtext("c:matrix", None, NAMES)
        return np.eye(4) if text is None else np.array(text.split(), float).reshape(4, 4)

    def drawn(self, k: int | None = None) -> Iterator[tuple[str, np.ndarray, str]]:
        """Name of the body, corners in the world (m, 3 or 2, 3) and material of every part, at instant k or as the
        nodes stand."""
        keys = {} if k is None else self.keys()

        def visit(node: xml.Element, above: np.ndarray, body: str) -> Iterator[tuple[str, np.ndarray, str]]:
            place = above @ (keys[node.attrib["id"]][1][k] if node.attrib["id"] in keys else self.matrix(node))
            if node.find("c:matrix[@sid]", NAMES) is not None:
                body = node.attrib["name"]
            for item in self.all("instance_geometry", node):
                (use,) = self.all("bind_material/c:technique_common/c:instance_material", item)
                corners = self.corners(self.target(item, "url"), use.attrib["symbol"])
                yield body, corners @ place[:3, :3].T + place[:3, 3], use.attrib["target"][1:]
            for child in self.all("node", node):
                yield from visit(child, place, body)

        return visit(self.first, np.eye(4), "")

    def corners(self, geometry: xml.Element, symbol: str) -> np.ndarray:
        (faces,) = [e for name in WIDTH for e in self.all(f"mesh/c:{name}", geometry)]
        assert faces.attrib["material"] == symbol
        width = WIDTH[faces.tag.rpartition("}")[2]]
        positions = self.array(self.input(self.input(faces, "VERTEX"), "POSITION"))
        indices = np.array((faces.findtext("c:p", "", NAMES)).split(), int)
        assert len(indices) == width * int(faces.attrib["count"])
        for one in self.all("input", faces):
            assert one.attrib["offset"] == "0"
            if one.attrib["semantic"] != "VERTEX":
                assert len(self.array(self.target(one, "source"))) > indices.max()
        return positions[indices].reshape(-1, width, 3)


def written(folder: Path, scene: Scene, tracks: dict[int, np.ndarray], model: Model = MODEL) -> Dae:
    write_dae(scene, TIMES, tracks, folder / "run.dae", model)
    return Dae(folder / "run.dae")


def shown(scene: Scene) -> list[ScenePart]:
    """What a file of this format can hold, in the order of the nodes."""
    parts = [p for p in scene.parts if p.kind not in ("frame", "centre") and p.mesh.kind != "points"]
    return sorted(parts, key=lambda part: part.node)


def corners_of(part: ScenePart, pose: np.ndarray) -> np.ndarray:
    """(m, 3 or 2, 3) in the world; the corners of a mirrored face stand in the other order."""
    local = part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3]
    mirrored = np.linalg.det(part.transform[:3, :3]) < 0
    return to_world(pose, local)[part.mesh.indices[:, ::-1] if mirrored else part.mesh.indices]


# -- what other programs read ------------------------------------------------------------------------------------------


def test_ids_are_unique_and_every_reference_resolves(tmp_path: Path) -> None:
    """Arrays have as many values as they count, accessors as their arrays: `Dae` asserts that of what it reads. M62."""
    spring = SceneSpring("s", "spring", (0, 1), ((0.0, 0.0, 1.0), (0.1, 0.0, 0.0)), None, (1.0, 0.0, 0.0), 0.05)
    scene = dataclasses.replace(a_scene(), springs=(spring,), nodes=("fixed", "1 a:ä", "b"))
    dae = written(tmp_path, scene, {17: a_track(), 3: a_track(phase=0.2)})
    ids = [e.attrib["id"] for e in dae.root.iter() if "id" in e.attrib]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII) for name in ids)
    assert [e.attrib["name"] for e in dae.all("node", dae.first)] == ["fixed", "member 17", "ambient", "member 3"]
    used = set()
    for element in dae.root.iter():
        for key in ("url", "source", "target"):
            text = element.attrib.get(key, "")
            if text and element.tag.endswith("channel") and key == "target":
                text = f"#{text.partition('/')[0]}"
            assert not text or text[1:] in dae.by_id, (element.tag, key, text)
            used.add(text[1:])
    orphans = set(ids) - used - {e.attrib["id"] for e in dae.root.iter(f"{{{NAMES['c']}}}node")}
    assert not [name for name in orphans if not name.startswith(("motion-", "image-"))], "elements nothing refers to"
    for array in [e for e in dae.root.iter() if e.tag.endswith("_array")]:
        assert len((array.text or "").split()) == int(array.attrib["count"])
    for effect in dae.all("library_effects/c:effect"):
        sids = {e.attrib["sid"] for e in effect.iter() if "sid" in e.attrib}
        for use in effect.iter(f"{{{NAMES['c']}}}texture"):
            assert use.attrib["texture"] in sids
    names = [name for name, _, _ in dae.drawn()]
    assert names == ["fixed", *["1 a:ä"] * 2, *["b"] * 3, "s", *["1 a:ä"] * 2, *["b"] * 3, "s"]


@pytest.mark.parametrize("up", UPS)
def test_bodies_stand_where_the_poses_say(tmp_path: Path, up: tuple[float, float, float]) -> None:
    """World vertices = up turned to +z, times pose, times place: as the nodes stand, and each twentieth key. M62."""
    scene, track = a_scene(up), a_track()
    dae = written(tmp_path, scene, {17: track})
    np.testing.assert_allclose(upright(up) @ up, [0.0, 0.0, 1.0], atol=SINGLE)
    assert dae.root.findtext("c:asset/c:up_axis", "", NAMES) == "Z_UP"
    for times, _ in dae.keys().values():
        np.testing.assert_allclose(times, TIMES - TIMES[0], atol=SINGLE)
    for k in (None, 0, 20, 40, 60):
        drawn = [*dae.drawn(k)]
        assert [name for name, _, _ in drawn] == [scene.nodes[part.node] for part in shown(scene)]
        for (_, corners, _), part in zip(drawn, shown(scene), strict=True):
            wanted = corners_of(part, track[k or 0, part.node]) @ upright(up).T
            np.testing.assert_allclose(corners, wanted, atol=SINGLE)


def test_springs_stretch_with_their_ends(tmp_path: Path) -> None:
    """Both ends of the mesh are on the points of the nodes, at the first and at another key."""
    spring = SceneSpring("s", "rod", (0, 1), ((0.0, 0.0, 1.0), (0.1, 0.0, 0.0)), None, (1.0, 0.0, 0.0), 0.05)
    track = a_track()
    dae = written(tmp_path, dataclasses.replace(a_scene(), parts=(), lights=(), springs=(spring,)), {0: track})
    for k in (0, 30):
        ((name, corners, _),) = dae.drawn(k)
        end = to_world(track[k, 1], np.array(spring.points[1]))
        axis = (end - [0.0, 0.0, 1.0]) / (length := np.linalg.norm(end - [0.0, 0.0, 1.0]))
        along = (corners.reshape(-1, 3) - [0.0, 0.0, 1.0]) @ axis
        assert name == "s"
        np.testing.assert_allclose([along.min(), along.max()], [0.0, float(length)], atol=SINGLE)


def test_assimp_reads_the_same_scene_from_it_as_from_the_gltf(tmp_path: Path) -> None:
    """Vertices in the world, colours and the picture, of a reader that is not ours; glTF is turned to +Y. M62."""
    scene, track = a_scene(), a_track()
    write_dae(scene, TIMES, {0: track}, tmp_path / "a b.dae", MODEL)
    write_glb(scene, TIMES, {0: track}, tmp_path / "a.glb")
    pieces, others = load_mesh(tmp_path / "a b.dae"), load_mesh(tmp_path / "a.glb")
    others = tuple(piece for piece in others if piece.mesh.kind != "points")
    y_up = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    assert len(pieces) == len(others) == len(shown(scene)) == 6
    for piece, other, part in zip(pieces, others, shown(scene), strict=True):
        there, same = (
            p.mesh.vertices[p.mesh.indices] @ p.transform[:3, :3].T + p.transform[:3, 3] for p in (piece, other)
        )
        np.testing.assert_allclose(there, corners_of(part, track[0, part.node]), atol=SINGLE)
        np.testing.assert_allclose(np.sort(there @ y_up.T, 1), np.sort(same, 1), atol=SINGLE)
        np.testing.assert_allclose(piece.colour, part.colour, atol=COLOUR)
        assert piece.mesh.kind == part.mesh.kind and not piece.warnings
        assert (piece.mesh.texture is None) == (part.mesh.texture is None)
        if piece.mesh.texture is not None and part.mesh.texture is not None:
            np.testing.assert_array_equal(piece.mesh.texture.pixels, part.mesh.texture.pixels)
            assert piece.mesh.uv is not None and part.mesh.uv is not None
            np.testing.assert_allclose(piece.mesh.uv[piece.mesh.indices], part.mesh.uv[part.mesh.indices], atol=SINGLE)


def test_lights_shine_where_they_do_in_the_scene(tmp_path: Path) -> None:
    """A COLLADA light shines along its node's -z, its cone is the whole angle of a spot."""
    scene, track = a_scene(), a_track()
    dae = written(tmp_path, scene, {0: track})
    nodes = {e.attrib["name"]: e for e in dae.first.iter(f"{{{NAMES['c']}}}node") if dae.all("instance_light", e)}
    assert list(nodes) == ["sun", "torch", "bulb", "ambient"]
    for light in scene.lights:
        matrix = dae.matrix(nodes[light.path])
        np.testing.assert_allclose(matrix[:3, 3], light.position, atol=SINGLE)
        if light.type != "point":
            np.testing.assert_allclose(-matrix[:3, 2], light.direction, atol=SINGLE)
        (use,) = dae.all("instance_light", nodes[light.path])
        (kind,) = dae.all("technique_common", dae.target(use, "url"))[0]
        assert kind.tag.endswith(light.type)
        assert [float(x) for x in kind.findtext("c:color", "", NAMES).split()] == list(light.diffuse)
        if light.type == "spot":
            assert float(kind.findtext("c:falloff_angle", "", NAMES)) == pytest.approx(np.degrees(0.8), abs=1e-3)


def test_other_members_see_through(tmp_path: Path) -> None:
    dae = written(tmp_path, a_scene(), {17: a_track(), 3: a_track(phase=0.2)})
    opacity = []
    for _, _, material in dae.drawn():
        (use,) = dae.all("instance_effect", dae.by_id[material])
        opacity.append(float(dae.target(use, "url").findtext(".//c:transparency/c:float", "1", NAMES)))
    assert sorted(opacity[:6]) == [0.5, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(sorted(opacity[6:]), [0.15, 0.3, 0.3, 0.3, 0.3], atol=COLOUR)  # ground is drawn once


def test_a_picture_has_the_colour_of_its_part(tmp_path: Path) -> None:
    """COLLADA's common materials have a colour or a picture: half the light of white is sRGB 188."""
    scene = a_scene()
    half = (188 / 255, 188 / 255, 188 / 255, 1.0)
    parts = tuple(dataclasses.replace(p, colour=half) if p.mesh.texture else p for p in scene.parts)
    remarks = write_dae(dataclasses.replace(scene, parts=parts), TIMES, {0: a_track()}, tmp_path / "a.dae", MODEL)
    (picture,) = tmp_path.glob("a-*.png")
    with Image.open(io.BytesIO(picture.read_bytes())) as image:
        assert np.abs(np.array(image)[0, 0].astype(int) - [188, 0, 0, 255]).max() <= 1
    assert f"pictures beside it: {picture.name}" in remarks


def test_what_is_not_in_the_file_is_said(tmp_path: Path) -> None:
    """Points, and meshes of the model that are not found from the new folder: names stay as they are."""
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / "plate.stl").write_bytes(b"solid")
    lost = "the model in it names files that are not found from a.dae: plate.stl"
    remarks = write_dae(a_scene(), TIMES, {0: a_track()}, tmp_path / "a.dae", MODEL)
    assert lost in remarks and "points are not in the file, which COLLADA has none of: a" in remarks
    assert lost not in write_dae(a_scene(), TIMES, {0: a_track()}, tmp_path / "with" / "a.dae", MODEL)
    with pytest.raises(ModelError, match="nowhere"):
        write_dae(a_scene(), TIMES, {0: a_track()}, tmp_path / "nowhere" / "a.dae", MODEL)


# -- the model in it ---------------------------------------------------------------------------------------------------


def carrying(model: Model) -> str:
    """The least file with a model in it."""
    text, digest = model_text(model)
    root = xml.Element("COLLADA", {"xmlns": NAMES["c"], "version": "1.4.1"})
    technique = xml.SubElement(xml.SubElement(root, "extra"), "technique", profile="shiftjax")
    xml.SubElement(technique, "model", sha256=digest).text = text
    return xml.tostring(root, encoding="unicode")


def same(folder: Path, model: Model, again: Model) -> None:
    """Equal, and files of both are the same bytes."""
    assert again == model
    for name, one in (("before.json", model), ("after.json", again)):
        shiftjax.save(one, folder / name)
    assert (folder / "before.json").read_bytes() == (folder / "after.json").read_bytes()


def test_the_model_comes_back_to_the_byte(tmp_path: Path) -> None:
    """Locks, limits, targets, postures, weights, virtual flags, sublinkages, classes, events, comments. M62."""
    written(tmp_path, a_scene(), {0: a_track()})
    again = shiftjax.load(tmp_path / "run.dae")
    same(tmp_path, MODEL, again)
    assert again.comment == HARSH and again.name == "run" and again.source == str(tmp_path / "run.dae")
    text = (tmp_path / "after.json").read_text(encoding="utf-8")
    assert all(f'"{key}"' in text for key in (*STATED, "class", "sublinkages", "events", "comment"))


@pytest.mark.parametrize("name", ["four_bar", "excavator", "n_four_bar_40", "vehicle_chassis", "stewart"])
def test_models_of_the_library_come_back_to_the_byte(tmp_path: Path, name: str) -> None:
    """M62."""
    model = shiftjax.load(name)
    (tmp_path / "a.dae").write_text(carrying(model), encoding="utf-8")
    same(tmp_path, model, shiftjax.load(tmp_path / "a.dae"))


def test_another_program_that_keeps_the_extra_keeps_the_model(tmp_path: Path) -> None:
    """Written again with prefixes and other spaces, without geometry: the model is what the extra says. M62."""
    written(tmp_path, a_scene(), {0: a_track()})
    xml.register_namespace("c", NAMES["c"])
    tree = xml.parse(tmp_path / "run.dae")
    for library in tree.getroot().findall("c:library_geometries", NAMES):
        tree.getroot().remove(library)
    (model,) = tree.getroot().iter(f"{{{NAMES['c']}}}model")
    model.text = f"\n\n    {model.text}\n   "
    tree.write(tmp_path / "again.dae", encoding="utf-16", xml_declaration=False)
    text = (tmp_path / "again.dae").read_bytes().decode("utf-16")
    assert "c:extra" in text
    (tmp_path / "again.dae").write_text(text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    same(tmp_path, MODEL, shiftjax.load(tmp_path / "again.dae"))


def test_it_is_included_as_any_model(tmp_path: Path) -> None:
    """M62."""
    (tmp_path / "part.dae").write_text(carrying(a_model()), encoding="utf-8")
    shiftjax.save(a_model(), tmp_path / "part.json")
    whole = [
        shiftjax.load({"model_parameters": {}, "assemblies": [{"include": f"part.{suffix}", "name": "p"}]}, tmp_path)
        for suffix in ("dae", "json")
    ]
    assert whole[0] == whole[1] and [path for path, _ in whole[0].bodies()] == ["p:a:bar"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: re.sub("<extra>.*</extra>", "", text, flags=re.S), "found a COLLADA file without a model"),
        (lambda text: text.replace('"shiftjax"', '"other"'), "found a COLLADA file without a model"),
        (lambda text: text.replace("0.25", "0.52"), "<model>: found a text that is not the one exported"),
        (lambda text: text.replace("sha256", "md5"), "found a text that is not the one exported"),
        (lambda text: text[: len(text) // 2], r"a\.dae: line \d+: found no XML"),
        (lambda text: re.sub("(<extra>.*</extra>)", r"\1\1", text, flags=re.S), "found 2 models"),
        (lambda text: f"<!DOCTYPE a>{text}", "<!DOCTYPE>: found a document type"),
        (lambda text: "<svg/>", "found XML that is no COLLADA"),
        (lambda text: "{}", "found no XML"),
        (lambda text: "", "found no XML"),
    ],
)
def test_a_file_without_the_whole_model_is_refused(tmp_path: Path, change: Callable[[str], str], message: str) -> None:
    """By one error, with what to do. M62."""
    (tmp_path / "a.dae").write_text(change(carrying(MODEL)), encoding="utf-8")
    with pytest.raises(ModelError, match=message) as caught:
        shiftjax.load(tmp_path / "a.dae")
    assert caught.value.todo and "a.dae" in str(caught.value)
