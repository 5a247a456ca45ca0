"""Binary glTF of a scene in motion, read back number by number; which instants a file keeps."""

import dataclasses
import io
import json
import math
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shiftjax.errors import ModelError
from shiftjax.poses import quaternions, rotate, to_world
from shiftjax.viewer.export import write_glb
from shiftjax.viewer.export.pack import linear
from shiftjax.viewer.export.pose_tracks import MOST, motion_of
from shiftjax.viewer.scene.camera import upright
from shiftjax.viewer.scene.scene import Mesh, Scene, ScenePart, SceneSpring
from tests.scenes.moving_boxes import BLUE, RED, TIMES, UPS, a_scene, a_track, box, checks, placed

SINGLE = 2e-6  # positions of about 1 m and unit quaternions in single precision, a few roundings
DOUBLE = 1e-12  # algebra in double precision
NODE = shutil.which("node")
VALIDATOR = os.environ.get("SHIFTJAX_GLTF_VALIDATOR")  # a folder with node_modules/gltf-validator


class Glb:
    """A reader of binary glTF that shares nothing with the writer."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        chunks, at = {}, 12
        while at < len(data):
            size, kind = struct.unpack_from("<I4s", data, at)
            assert size % 4 == 0 and at % 4 == 0 and at + 8 + size <= len(data)
            chunks[kind] = data[at + 8 : at + 8 + size]
            at += 8 + size
        assert list(chunks) == [b"JSON", b"BIN\0"]
        self.json: dict[str, Any] = json.loads(chunks[b"JSON"])
        self.binary = chunks[b"BIN\0"]
        self.nodes = self.json["nodes"]
        self.by_name = {node["name"]: k for k, node in enumerate(self.nodes)}

    def view(self, number: int) -> bytes:
        view = self.json["bufferViews"][number]
        return self.binary[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]

    def array(self, number: int) -> np.ndarray:
        accessor = self.json["accessors"][number]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        dtype = {5126: "<f4", 5123: "<u2", 5125: "<u4"}[accessor["componentType"]]
        return np.frombuffer(self.view(accessor["bufferView"]), dtype).reshape(accessor["count"], width)

    def outputs(self) -> dict[tuple[int, str], tuple[np.ndarray, np.ndarray]]:
        """(node, path) -> times (k,), values (k, 3 or 4) of the one animation."""
        (animation,) = self.json["animations"]
        found = {}
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            assert sampler["interpolation"] == "LINEAR"
            times = self.array(sampler["input"])[:, 0]
            found[channel["target"]["node"], channel["target"]["path"]] = times, self.array(sampler["output"])
        return found

    def world(self, k: int) -> dict[int, np.ndarray]:
        """Node -> (4, 4) world transform at instant k."""
        outputs, found = self.outputs(), {}

        def visit(number: int, above: np.ndarray) -> None:
            node = {**self.nodes[number]}
            for path in ("translation", "rotation", "scale"):
                if (number, path) in outputs:
                    node[path] = outputs[number, path][1][k].astype(float)
            x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
            axes = rotate(np.array([0, 0, 0, w, x, y, z]), np.eye(3)).T
            dx, dy, dz = node.get("translation", (0.0, 0.0, 0.0))
            local = placed(dx, dy, dz, axes * np.array(node.get("scale", (1.0, 1.0, 1.0))))
            found[number] = above @ local
            for child in node.get("children", ()):
                visit(child, found[number])

        for root in self.json["scenes"][0]["nodes"]:
            visit(root, np.eye(4))
        return found

    def parts(self, body: str) -> list[int]:
        """The nodes with meshes below the first body of a name."""
        body_number = next(k for k, node in enumerate(self.nodes) if node["name"] == body and "children" in node)
        return [n for n in self.nodes[body_number]["children"] if "mesh" in self.nodes[n]]

    def primitive(self, node: int) -> dict[str, Any]:
        (primitive,) = self.json["meshes"][self.nodes[node]["mesh"]]["primitives"]
        return primitive


def written(tmp_path: Path, scene: Scene, tracks: dict[int, np.ndarray], times: np.ndarray = TIMES) -> Glb:
    write_glb(scene, times, tracks, tmp_path / "run.glb")
    return Glb(tmp_path / "run.glb")


# -- glTF --------------------------------------------------------------------------------------------------------------


def test_buffer_views_and_accessors_keep_the_rules(tmp_path: Path) -> None:
    glb = written(tmp_path, a_scene(), {17: a_track(), 3: a_track(phase=0.2)})
    end = 0
    for view in glb.json["bufferViews"]:
        assert view["byteOffset"] % 4 == 0 and view["byteOffset"] >= end
        end = view["byteOffset"] + view["byteLength"]
    assert end <= glb.json["buffers"][0]["byteLength"] == len(glb.binary)
    inputs = {s["input"] for s in glb.json["animations"][0]["samplers"]}
    positions = {p["attributes"]["POSITION"] for m in glb.json["meshes"] for p in m["primitives"]}
    assert len(inputs) == 1 and len(positions) > 4
    for number in inputs | positions:
        accessor, values = glb.json["accessors"][number], glb.array(number)
        assert accessor["min"] == values.min(0).tolist() and accessor["max"] == values.max(0).tolist()
    times = glb.array(*inputs)[:, 0]
    np.testing.assert_allclose(times, TIMES - 2.0, atol=SINGLE)
    assert (np.diff(times) > 0).all() and glb.nodes[0]["extras"]["start"] == 2.0


@pytest.mark.parametrize("up", UPS)
def test_bodies_stand_where_the_poses_say(tmp_path: Path, up: tuple[float, float, float]) -> None:
    """World vertices = up turned to +Y, times pose, times place, each tenth instant; mirrored and sheared ones too."""
    scene, track = a_scene(up), a_track()
    glb = written(tmp_path, scene, {17: track})
    right, forward, above = upright(up)
    turn = np.stack([right, above, -forward])
    np.testing.assert_allclose(turn @ up, [0.0, 1.0, 0.0], atol=DOUBLE)
    shown = [p for p in scene.parts if p.kind not in ("frame", "centre")]
    for k in range(0, len(TIMES), 10):
        world = glb.world(k)
        for node, name in enumerate(scene.nodes):
            own = [p for p in shown if p.node == node]
            numbers = glb.parts(name)
            assert len(numbers) == len(own) > 0
            for part, number in zip(own, numbers, strict=True):
                there = glb.array(glb.primitive(number)["attributes"]["POSITION"])
                there = there @ world[number][:3, :3].T + world[number][:3, 3]
                local = part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3]
                wanted = (to_world(track[k, node], local)) @ turn.T
                np.testing.assert_allclose(there, wanted, atol=SINGLE)


def test_triangles_face_outward_also_when_mirrored_or_sheared(tmp_path: Path) -> None:
    glb = written(tmp_path, a_scene(), {0: a_track()})
    world = glb.world(0)
    for number in glb.parts("b"):
        primitive = glb.primitive(number)
        m = world[number][:3, :3]
        corners = (glb.array(primitive["attributes"]["POSITION"]) @ m.T)[glb.array(primitive["indices"]).reshape(-1, 3)]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * np.sign(np.linalg.det(m))
        outward = corners.mean(1) - corners.mean((0, 1))
        assert ((normals * outward).sum(1) > 0).all()
        shading = glb.array(primitive["attributes"]["NORMAL"]) @ np.linalg.inv(m)
        shading = shading[glb.array(primitive["indices"]).reshape(-1, 3)[:, 0]]
        assert ((normals * shading).sum(1) > 0).all()


def test_quaternions_are_unit_and_never_jump(tmp_path: Path) -> None:
    """Interpolation between q and -q would turn a body the long way round."""
    glb = written(tmp_path, a_scene(), {0: a_track()})
    rotations = [values for (_, path), (_, values) in glb.outputs().items() if path == "rotation"]
    assert len(rotations) == 1  # only b turns
    for q in rotations:
        np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=SINGLE)
        assert (np.sum(q[1:] * q[:-1], 1) > 0).all()
    assert (np.sum(a_track()[1:, 2, 3:] * a_track()[:-1, 2, 3:], 1) < 0).any()  # the input did jump


def test_members_are_groups_and_the_others_see_through(tmp_path: Path) -> None:
    glb = written(tmp_path, a_scene(), {17: a_track(), 3: a_track(phase=0.2)})
    (root,) = glb.json["scenes"][0]["nodes"]
    assert [glb.nodes[n]["name"] for n in glb.nodes[root]["children"]] == ["fixed", "member 17", "member 3"]

    def materials(group: str) -> list[dict[str, Any]]:
        bodies = glb.nodes[glb.by_name[group]]["children"]
        numbers = [n for b in bodies for n in glb.nodes[b]["children"] if "mesh" in glb.nodes[n]]
        return [glb.json["materials"][glb.primitive(n)["material"]] for n in numbers]

    solid, ghosts = materials("member 17"), materials("member 3")
    assert len(solid) == len(ghosts) == 6
    opacity = [m["pbrMetallicRoughness"]["baseColorFactor"][3] for m in solid]
    assert sorted(opacity) == [0.5, 1, 1, 1, 1, 1]
    assert [m.get("alphaMode") == "BLEND" for m in solid] == [a < 1 for a in opacity]
    for ghost, alpha in zip(ghosts, opacity, strict=True):
        assert ghost["alphaMode"] == "BLEND"
        assert ghost["pbrMetallicRoughness"]["baseColorFactor"][3] == pytest.approx(0.3 * alpha)
    bodies = [glb.nodes[glb.by_name[group]]["children"][0] for group in ("member 17", "member 3")]
    outputs = glb.outputs()
    for body, phase in zip(bodies, (0.0, 0.2), strict=True):
        wanted = a_track(phase=phase)[:, 1, :3]
        np.testing.assert_allclose(outputs[body, "translation"][1], wanted, atol=SINGLE)


def test_springs_reach_from_point_to_point_of_each_member(tmp_path: Path) -> None:
    """The ends of a spring's figure, z = 0 and 1, stand on its points of two bodies at every instant."""
    spring = SceneSpring("coil", "spring", (1, 2), ((0.1, 0.0, 0.2), (0.0, -0.3, 0.1)), None, (1.0, 0.0, 0.0), 0.05)
    scene = dataclasses.replace(a_scene(), springs=(spring,))
    tracks = {17: a_track(), 3: a_track(phase=0.2)}
    glb = written(tmp_path, scene, tracks)
    nodes = [k for k, node in enumerate(glb.nodes) if node["name"] == "coil"]
    assert len(nodes) == len(tracks)
    axes = upright(scene.up)
    y_up = np.stack([axes[0], axes[2], -axes[1]])
    for k in range(0, len(TIMES), 10):
        world = glb.world(k)
        for node, track in zip(nodes, tracks.values(), strict=True):
            for z, body, point in zip((0, 1), spring.nodes, spring.points, strict=True):
                expected = y_up @ to_world(track[k, body], np.array(point))
                np.testing.assert_allclose((world[node] @ [0, 0, z, 1])[:3], expected, atol=2 * SINGLE)


def test_meshes_and_colours_are_shared(tmp_path: Path) -> None:
    """Twenty boxes of two colours: two meshes, two materials, one set of vertices."""
    mesh = box(1, 1, 1)
    parts = tuple(ScenePart(mesh, 1, placed(x=float(k)), (RED, BLUE)[k % 2], "a") for k in range(20))
    scene = dataclasses.replace(a_scene(), parts=parts, lights=())
    glb = written(tmp_path, scene, {0: a_track()})
    assert len(glb.json["meshes"]) == len(glb.json["materials"]) == 2
    assert len({p["attributes"]["POSITION"] for m in glb.json["meshes"] for p in m["primitives"]}) == 1
    assert "extensionsUsed" not in glb.json


def test_colours_are_linear_and_modes_fit(tmp_path: Path) -> None:
    glb = written(tmp_path, a_scene(), {0: a_track()})
    by_mode = {glb.primitive(n)["mode"]: n for n in glb.parts("a")}
    assert set(by_mode) == {0, 1, 4}
    surface = glb.json["materials"][glb.primitive(by_mode[4])["material"]]["pbrMetallicRoughness"]
    np.testing.assert_allclose(
        surface["baseColorFactor"], [*(((c + 0.055) / 1.055) ** 2.4 for c in RED[:3]), 1.0], atol=DOUBLE
    )
    assert surface["metallicFactor"] == 0 and surface["roughnessFactor"] == 0.5
    assert linear((0.04, 1.0, 0.0, 0.3)) == [0.04 / 12.92, 1.0, 0.0, 0.3]
    assert not [n for n in glb.by_name if n in ("a/frame", "a/centre")]


def test_a_texture_lies_the_right_way_up(tmp_path: Path) -> None:
    glb = written(tmp_path, a_scene(), {0: a_track()})
    number = next(n for n in glb.parts("b") if "TEXCOORD_0" in glb.primitive(n)["attributes"])
    (image,) = glb.json["images"]
    pixels = np.asarray(Image.open(io.BytesIO(glb.view(image["bufferView"]))))
    np.testing.assert_array_equal(pixels, checks().pixels)
    uv = glb.array(glb.primitive(number)["attributes"]["TEXCOORD_0"])
    np.testing.assert_array_equal(uv[:4], [[0, 1], [1, 1], [1, 0], [0, 0]])  # (0, 0) is glTF's upper left


def test_lights_shine_along_their_direction_as_bright_as_phong(tmp_path: Path) -> None:
    scene, track = a_scene(), a_track()
    glb = written(tmp_path, scene, {17: track, 3: track})
    lights = glb.json["extensions"]["KHR_lights_punctual"]["lights"]
    assert sorted(light["name"] for light in lights) == ["bulb", "sun", "torch"]
    right, forward, above = upright(scene.up)
    upturn, world = np.stack([right, above, -forward]), glb.world(0)
    for light in scene.lights:
        node = glb.by_name[light.path]
        entry = lights[glb.nodes[node]["extensions"]["KHR_lights_punctual"]["light"]]
        eye = to_world(track[0, light.node], np.array(light.position))
        np.testing.assert_allclose(world[node][:3, 3], upturn @ eye, atol=SINGLE)
        if light.type != "point":
            shone = rotate(track[0, light.node], np.array(light.direction))
            np.testing.assert_allclose(-world[node][:3, 2], upturn @ shone, atol=SINGLE)
        fall = 1.0 if light.type == "directional" else float(eye @ eye)  # from the light to the centre, squared
        reflected = np.array(entry["color"]) * entry["intensity"] / math.pi / fall
        np.testing.assert_allclose(reflected, light.diffuse, rtol=1e-6)  # the pose is in single precision
    torch = next(light for light in lights if light["type"] == "spot")
    assert torch["spot"]["outerConeAngle"] == 0.4 > torch["spot"]["innerConeAngle"]


def test_an_independent_reader_sees_the_same_boxes(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    scene, track = a_scene((0.0, 0.0, -1.0)), a_track()
    write_glb(scene, TIMES, {17: track}, tmp_path / "run.glb")
    loaded = trimesh.load(tmp_path / "run.glb", force="scene")
    right, forward, above = upright(scene.up)
    turn = np.stack([right, above, -forward])
    corners = []
    for part in scene.parts:
        if part.kind not in ("frame", "centre") and part.mesh.kind != "points":
            local = part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3]
            corners.append((to_world(track[0, part.node], local)) @ turn.T)
    wanted = np.concatenate(corners)
    np.testing.assert_allclose(loaded.bounds, [wanted.min(0), wanted.max(0)], atol=SINGLE)


def test_one_instant_gives_a_still(tmp_path: Path) -> None:
    glb = written(tmp_path, a_scene(), {0: a_track()[:1]}, TIMES[:1])
    assert "animations" not in glb.json
    assert glb.nodes[glb.by_name["member 0"]]["children"]


def test_many_vertices_have_wide_indices(tmp_path: Path) -> None:
    n = 70_000
    vertices = np.random.default_rng(1).normal(size=(n, 3)).astype(np.float32)
    cloud = Mesh("cloud", vertices, np.arange(n, dtype=np.uint32)[:, None], np.zeros((n, 3), np.float32))
    scene = dataclasses.replace(a_scene(), parts=(ScenePart(cloud, 1, np.eye(4), RED, "a"),))
    glb = written(tmp_path, scene, {0: a_track()})
    indices = glb.array(glb.primitive(glb.parts("a")[0])["indices"])
    assert indices.dtype == np.uint32 and indices.max() == n - 1


VALIDATE = """
const { validateBytes } = require(process.argv[1] + "/node_modules/gltf-validator");
const bytes = new Uint8Array(require("fs").readFileSync(process.argv[2]));
validateBytes(bytes).then((report) => console.log(JSON.stringify(report.issues)));
"""


@pytest.mark.skipif(
    VALIDATOR is None, reason="SHIFTJAX_GLTF_VALIDATOR names no folder with the npm package gltf-validator"
)
@pytest.mark.parametrize("up", UPS)
def test_the_public_validator_finds_nothing(tmp_path: Path, up: tuple[float, float, float]) -> None:
    assert NODE, "SHIFTJAX_GLTF_VALIDATOR is set, but there is no node"
    tracks = {17: a_track(), 3: a_track(phase=0.2), 5: a_track(phase=0.4)}
    write_glb(a_scene(up), TIMES, tracks, tmp_path / "run.glb")
    done = subprocess.run([NODE, "-e", VALIDATE, str(VALIDATOR), str(tmp_path / "run.glb")], capture_output=True,
                          text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    issues = json.loads(done.stdout)
    assert issues["numErrors"] == issues["numWarnings"] == issues["numInfos"] == 0, issues["messages"]


# -- what is kept ------------------------------------------------------------------------------------------------------


def long_track(times: np.ndarray) -> np.ndarray:
    track = np.zeros((len(times), 3, 7))
    track[:, :, 3] = 1.0
    track[:, 1, 0] = times
    return track


@pytest.mark.parametrize(
    ("seconds", "stored", "frames", "kept"),
    [(10, 10_001, None, 601), (1000, 100_001, None, MOST), (10, 101, None, 101), (0.01, 1001, None, 240),
     (10, 10_001, 7, 7), (10, 11, 1, 1)],
)  # fmt: skip
def test_instants_are_thinned(seconds: float, stored: int, frames: int | None, kept: int) -> None:
    """Each pose kept is the stored one of its time; first and last stay."""
    times = np.linspace(0, seconds, stored)
    motion = motion_of(a_scene(), times, {0: long_track(times)}, frames)
    assert len(motion.time) == kept
    np.testing.assert_array_equal(motion.poses[0][:, 1, 0], motion.time)
    assert motion.time[0] == 0 and (kept == 1 or motion.time[-1] == seconds)
    assert bool(motion.remarks) == (kept < stored)
    if kept < stored:
        assert motion.remarks[0] == f"{kept} of {stored} stored instants are shown"


def test_instants_that_are_one_in_single_precision_are_one() -> None:
    times = np.array([0.0, 1.0, 1.0 + 1e-9, 2.0])
    motion = motion_of(a_scene(), times, {0: long_track(times)})
    np.testing.assert_array_equal(motion.time, [0.0, 1.0, 2.0])


def test_a_member_that_stopped_is_held_and_said_so() -> None:
    track = a_track()
    track[40:, 2, 0] = np.nan
    motion = motion_of(a_scene(), TIMES, {5: track})
    np.testing.assert_array_equal(motion.poses[5][40:], np.broadcast_to(motion.poses[5][39], (21, 3, 7)))
    assert motion.remarks == (f"member 5 is held at its last finite pose from t = {TIMES[40]:.6g} s",)


def test_turns_too_wide_to_interpolate_are_said() -> None:
    motion = motion_of(a_scene(), TIMES, {5: a_track()}, 6)
    assert motion.remarks[1] == "a body turns by 144 degrees from one instant to the next"


@pytest.mark.parametrize(
    ("times", "tracks", "frames", "match"),
    [
        (TIMES, {}, None, "tracks: found no member"),
        (TIMES, {1: np.zeros((61, 2, 7))}, None, r"tracks\[1\]: found shape \(61, 2, 7\); allowed: \(61, 3, 7\)"),
        (TIMES, {1: np.full((61, 3, 7), np.nan)}, None, r"tracks\[1\]: found no instant with finite poses"),
        (TIMES[::-1], {1: a_track()}, None, "time: found instants that do not increase"),
        (TIMES[:, None], {1: a_track()}, None, r"time: found shape \(61, 1\)"),
        (TIMES, {1: a_track()}, 0, "frames: found 0; allowed: 1 or more"),
    ],
)
def test_what_cannot_be_written_is_refused(times: Any, tracks: Any, frames: int | None, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        motion_of(a_scene(), times, tracks, frames)


def test_quaternions_of_rotations() -> None:
    """Every angle, half turns among them."""
    for q in (*np.eye(4), *np.random.default_rng(3).normal(size=(20, 4))):
        q = q / np.linalg.norm(q)
        found = quaternions(rotate(np.concatenate([np.zeros(3), q]), np.eye(3)).T)
        assert abs(found @ q) == pytest.approx(1.0, abs=DOUBLE)
