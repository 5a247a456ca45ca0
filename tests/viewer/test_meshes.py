"""S28: mesh files of every format with size, orientation, colour and pictures; bad files; the cache; the child."""

import base64
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shiftjax.errors import ModelError
from shiftjax.viewer.assimp import FORMATS, MeshError, MeshPiece, library, load, loading
from shiftjax.viewer.assimp.child import Child, Failed
from tests.scenes import meshfiles

PLACE = 2e-6  # [m] of 3 m: files and the importer hold numbers in single precision
SHADE = 1e-6  # of a colour in single precision
BYTE = 0.5 / 255 + SHADE  # of a colour held in bytes
NORMAL = 2e-6  # of a unit normal in single precision
DAMAGED = 50  # files of each format
PATIENCE = 1.5  # [s] for a damaged file of some hundred bytes; a good one takes 10 ms


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "cache"))


def in_file(piece: MeshPiece, vectors: np.ndarray, free: bool = False) -> np.ndarray:
    """Points, or free vectors, of a mesh in the coordinates of its file."""
    return vectors @ piece.transform[:3, :3].T + (0.0 if free else piece.transform[:3, 3])


def only(pieces: tuple[MeshPiece, ...]) -> MeshPiece:
    assert len(pieces) == 1
    return pieces[0]


def nearest_corners(piece: MeshPiece) -> np.ndarray:
    """For each vertex, the corner of the wedge that it is; fails where it is none."""
    distance = np.linalg.norm(in_file(piece, piece.mesh.vertices)[:, None] - meshfiles.POINTS, axis=2)
    assert (distance.min(axis=1) < PLACE).all()
    return distance.argmin(axis=1)


def same(a: tuple[MeshPiece, ...], b: tuple[MeshPiece, ...]) -> bool:
    def arrays(piece: MeshPiece) -> list[np.ndarray]:
        mesh = piece.mesh
        texture = [] if mesh.texture is None else [mesh.texture.pixels]
        uv = [] if mesh.uv is None else [mesh.uv]
        return [piece.transform, mesh.vertices, mesh.indices, mesh.normals, *uv, *texture]

    pairs = list(zip(a, b, strict=True))
    return all(p.mesh.key == q.mesh.key and p.colour == q.colour for p, q in pairs) and all(
        x.dtype == y.dtype and np.array_equal(x, y) for p, q in pairs for x, y in zip(arrays(p), arrays(q), strict=True)
    )


@pytest.mark.parametrize("name", meshfiles.WRITERS)
def test_size_orientation_and_colour(tmp_path: Path, name: str) -> None:
    piece = only(load(meshfiles.written(tmp_path, name)))
    mesh = piece.mesh
    assert (mesh.vertices.dtype, mesh.indices.dtype, mesh.normals.dtype) == (np.float32, np.uint32, np.float32)
    assert mesh.kind == "triangles" and mesh.uv is None and mesh.texture is None and piece.warnings == ()
    assert set(nearest_corners(piece)) == {0, 1, 2, 3}
    corners = in_file(piece, mesh.vertices.astype(float))[mesh.indices]
    assert np.linalg.det(corners).sum() / 6 == pytest.approx(1.0, abs=PLACE)  # [m^3]: outwards, not mirrored
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = in_file(piece, mesh.normals.astype(float), free=True)[mesh.indices]
    for rows in (across[:, None], normals):
        rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    assert np.allclose(normals, across[:, None], atol=NORMAL)  # sharp edges stay sharp
    if name in meshfiles.COLOURLESS:
        assert piece.colour == (0.6, 0.6, 0.6, 1.0)
    else:
        assert piece.colour == pytest.approx((*meshfiles.COLOUR, meshfiles.OPACITY), abs=BYTE)


@pytest.mark.parametrize("name", meshfiles.TEXTURED)
def test_pictures_lie_where_they_should(tmp_path: Path, name: str) -> None:
    piece = only(load(meshfiles.written(tmp_path, name, textured=True)))
    texture, uv = piece.mesh.texture, piece.mesh.uv
    assert texture is not None and uv is not None and uv.dtype == np.float32
    assert np.array_equal(texture.pixels, meshfiles.PIXELS) and texture.pixels.dtype == np.uint8
    height, width, _ = texture.pixels.shape
    seen = texture.pixels[((1 - uv[:, 1]) * height).astype(int), (uv[:, 0] * width).astype(int)]
    assert np.array_equal(seen, meshfiles.CORNER_COLOURS[nearest_corners(piece)])


def test_every_format_has_a_sample() -> None:
    assert {name.split()[0] for name in meshfiles.WRITERS} == set(FORMATS)


@pytest.mark.parametrize("name", meshfiles.WRITERS)
def test_damaged_files_give_pieces_or_an_error(tmp_path: Path, name: str) -> None:
    """However a file is spoiled, the caller lives on and knows."""
    path = meshfiles.written(tmp_path, name, name in meshfiles.TEXTURED)
    data, random = path.read_bytes(), np.random.default_rng(20)
    refused = 0
    for k in range(DAMAGED):
        path.write_bytes(meshfiles.damaged(data, k % 5, random))
        try:
            pieces = load(path, timeout=PATIENCE)
        except MeshError as error:
            assert str(path) in str(error) and error.found and error.todo
            refused += 1
            continue
        for piece in pieces:
            mesh = piece.mesh
            assert np.isfinite(mesh.vertices).all() and mesh.indices.max() < len(mesh.vertices)
            assert mesh.kind != "triangles" or np.allclose(np.linalg.norm(mesh.normals, axis=1), 1, atol=NORMAL)
    assert refused >= DAMAGED / 5  # the empty files and those of 20 random bytes, at least
    path.write_bytes(data)
    assert load(path)


# -- what a file may hold --------------------------------------------------------------------------------------------


def test_lines_and_points(tmp_path: Path) -> None:
    path = tmp_path / "net.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nl 1 2 3\np 4\nf 1 2 4\n")
    found = {piece.mesh.kind: piece.mesh for piece in load(path)}
    assert set(found) == {"triangles", "lines", "points"}
    ends = found["lines"].vertices[found["lines"].indices]
    assert np.allclose(ends, [[[0, 0, 0], [1, 0, 0]], [[1, 0, 0], [0, 2, 0]]], atol=PLACE)
    assert np.allclose(found["points"].vertices[found["points"].indices], [[[0, 0, 3]]], atol=PLACE)
    assert not found["lines"].normals.any() and not found["points"].normals.any()
    for mode, kind in ((1, "lines"), (0, "points")):
        piece = only(load(meshfiles.gltf(tmp_path, False, mode)))
        assert piece.mesh.kind == kind and set(nearest_corners(piece)) == {0, 1, 2, 3}
        assert piece.colour == pytest.approx((*meshfiles.COLOUR, meshfiles.OPACITY), abs=BYTE)


def test_numbers_without_a_leading_zero(tmp_path: Path) -> None:
    path = tmp_path / "bare.obj"
    path.write_text("o part.5\nv -.5 .25 0\nv .5 +.25 0\nv 0 1. -.75\nf 1 2 3\n")
    mesh = only(load(path)).mesh
    expected = {(-0.5, 0.25, 0.0), (0.5, 0.25, 0.0), (0.0, 1.0, -0.75)}
    assert {tuple(map(float, p)) for p in mesh.vertices} == expected


@pytest.mark.parametrize("suffix", ["obj", "off"])
def test_curved_sides_are_smooth_and_edges_sharp(tmp_path: Path, suffix: str) -> None:
    """The normals of a prism of 24 sides, which stands for a cylinder, are radial on its side and axial on its caps."""
    turn = 2 * math.pi * np.arange(24) / 24
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    points = np.vstack([np.column_stack([ring, np.full(24, z)]) for z in (0.0, 1.0)])
    after = (np.arange(24) + 1) % 24
    sides = [[k, after[k], after[k] + 24, k + 24] for k in range(24)]
    faces = [*sides, list(range(23, -1, -1)), list(range(24, 48))]
    path = tmp_path / f"prism.{suffix}"
    if suffix == "obj":
        lines = [f"v {meshfiles.row(p)}" for p in points] + ["f " + " ".join(str(k + 1) for k in f) for f in faces]
    else:
        lines = ["OFF", "48 26 0", *map(meshfiles.row, points), *(f"{len(f)} {meshfiles.row(f)}" for f in faces)]
    path.write_text("\n".join(lines) + "\n")
    mesh = only(load(path)).mesh
    assert len(mesh.vertices) == 4 * 24  # each corner twice: for the side and for a cap
    level = np.abs(mesh.normals[:, 2]) < 0.5
    assert level.sum() == 48
    radial = np.column_stack([mesh.vertices[:, :2], np.zeros(96)])
    assert np.allclose(mesh.normals[level], radial[level], atol=1e-5)  # vertices were written with six digits
    caps = np.column_stack([np.zeros((96, 2)), 2 * mesh.vertices[:, 2] - 1])
    assert np.allclose(mesh.normals[~level], caps[~level], atol=NORMAL)


def test_colours_at_vertices_become_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "painted.ply"
    head = "ply\nformat ascii 1.0\nelement vertex 6\n" + "".join(f"property float {x}\n" for x in "xyz")
    head += "".join(f"property uchar {c}\n" for c in ("red", "green", "blue"))
    head += "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
    corners = ["0 0 0", "1 0 0", "0 1 0"]
    path.write_text(
        head + "".join(f"{p} 250 0 0\n" for p in corners) + "".join(f"{p[:-1]}5 0 0 250\n" for p in corners)
        + "3 0 1 2\n3 3 4 5\n"
    )  # fmt: skip
    piece = only(load(path))
    assert piece.mesh.texture is not None and piece.mesh.uv is not None and piece.colour == (1.0, 1.0, 1.0, 1.0)
    pixels = piece.mesh.texture.pixels
    height, width, _ = pixels.shape
    uv = piece.mesh.uv
    seen = pixels[((1 - uv[:, 1]) * height).astype(int), (uv[:, 0] * width).astype(int)]
    blue = piece.mesh.vertices[:, 2] > 1
    assert np.array_equal(seen[blue], np.tile([0, 0, 250, 255], (3, 1)))
    assert np.array_equal(seen[~blue], np.tile([250, 0, 0, 255], (3, 1)))


def test_a_mesh_at_two_nodes_is_one_mesh(tmp_path: Path) -> None:
    path = meshfiles.gltf(tmp_path, textured=False)
    document = json.loads(path.read_text())
    document["nodes"].append({"mesh": 0, "translation": [0, 0, 5]})
    document["scenes"] = [{"nodes": [0, 2]}]
    path.write_text(json.dumps(document))
    first, second = load(path)
    assert first.mesh is second.mesh and first.mesh.key.endswith(":0")
    assert np.allclose(second.transform[:3, 3], [0, 0, 5]) and np.allclose(first.transform[:3, 3], [-20, 0, 0])


def test_a_skin_is_no_obstacle(tmp_path: Path) -> None:
    path = meshfiles.gltf(tmp_path, textured=False)
    document = json.loads(path.read_text())
    data = np.zeros((4, 4), np.uint8).tobytes() + np.tile(np.array([1, 0, 0, 0], np.float32), (4, 1)).tobytes()
    data += np.eye(4, dtype=np.float32).tobytes()
    start = document["buffers"][0]["byteLength"]
    whole = base64.b64decode(document["buffers"][0]["uri"].split(",")[1]) + data
    document["buffers"] = [
        {"byteLength": len(whole), "uri": "data:application/octet-stream;base64," + base64.b64encode(whole).decode()}
    ]
    document["bufferViews"] += [
        {"buffer": 0, "byteOffset": start, "byteLength": 16},
        {"buffer": 0, "byteOffset": start + 16, "byteLength": 64},
        {"buffer": 0, "byteOffset": start + 80, "byteLength": 64},
    ]
    document["accessors"] += [
        {"bufferView": 4, "componentType": 5121, "count": 4, "type": "VEC4"},
        {"bufferView": 5, "componentType": 5126, "count": 4, "type": "VEC4"},
        {"bufferView": 6, "componentType": 5126, "count": 1, "type": "MAT4"},
    ]
    document["meshes"][0]["primitives"][0]["attributes"] |= {"JOINTS_0": 3, "WEIGHTS_0": 4}
    document["skins"] = [{"joints": [0], "inverseBindMatrices": 5}]
    document["nodes"][1]["skin"] = 0
    path.write_text(json.dumps(document))
    assert set(nearest_corners(only(load(path)))) == {0, 1, 2, 3}


# -- companions and pictures -----------------------------------------------------------------------------------------


def test_companions_are_found_wherever_they_lie(tmp_path: Path) -> None:
    path = meshfiles.written(tmp_path, "obj", textured=True)
    away = tmp_path / "away"
    away.mkdir()
    for name in ("wedge.mtl", meshfiles.PICTURE):
        (tmp_path / name).rename(away / name)
    bare = only(load(path))
    assert bare.colour == pytest.approx((0.6, 0.6, 0.6, 1.0), abs=SHADE)
    assert bare.warnings == ("materials wedge.mtl: no such file",)
    dressed = only(load(path, [away / "wedge.mtl", away / meshfiles.PICTURE]))
    assert dressed.mesh.texture is not None and dressed.colour[:3] == pytest.approx(meshfiles.COLOUR, abs=SHADE)
    path.write_text(path.read_text().replace("mtllib wedge.mtl\n", ""))
    again = only(load(path, ["away/wedge.mtl"]))  # relative to the file's folder; no line names it
    assert again.colour[:3] == pytest.approx(meshfiles.COLOUR, abs=SHADE)
    assert again.warnings == (f"texture {meshfiles.PICTURE}: no such file",)


@pytest.mark.parametrize("place", ["../{}", "absolute", "inner/../../{}", "link"])
@pytest.mark.parametrize("kind", ["materials", "texture"])
def test_a_mesh_file_opens_nothing_outside_of_its_folder(tmp_path: Path, place: str, kind: str) -> None:
    """By name, by an absolute path, by a link: it is left out with a warning, as shape files of a model are."""
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    path = meshfiles.written(folder, "obj", textured=True)
    material = folder / "wedge.mtl"
    file, last = (material, path) if kind == "materials" else (folder / meshfiles.PICTURE, material)
    away = file.rename(tmp_path / f"away{file.suffix}")
    (folder / f"link{file.suffix}").symlink_to(away)
    name = {"absolute": str(away), "link": f"link{file.suffix}"}.get(place, place.format(away.name))
    last.write_text(last.read_text().replace(file.name, name))
    piece = only(load(path))
    (warning,) = piece.warnings
    assert warning.startswith(f"{kind} {name}: not in the mesh file's folder") and "filename" in warning
    assert piece.mesh.texture is None
    named = only(load(path, [away] if kind == "texture" else [away, folder / meshfiles.PICTURE]))
    if place != "link":
        assert named.mesh.texture is not None and named.warnings == ()
    file.write_bytes(away.read_bytes())  # an absolute path of the machine that wrote the file
    last.write_text(last.read_text().replace(name, f"/home/somebody/{file.name}"))
    assert only(load(path)).mesh.texture is not None


def test_a_picture_that_is_none_is_told(tmp_path: Path) -> None:
    path = meshfiles.written(tmp_path, "obj", textured=True)
    (tmp_path / meshfiles.PICTURE).write_bytes(b"no picture")
    piece = only(load(path))
    assert piece.mesh.texture is None and "cannot identify image" in piece.warnings[0]


def test_maps_that_are_not_drawn_are_said(tmp_path: Path) -> None:
    path = meshfiles.written(tmp_path, "obj", textured=True)
    with (tmp_path / "wedge.mtl").open("a") as file:
        file.write(f"map_Ks {meshfiles.PICTURE}\nnorm {meshfiles.PICTURE}\nmap_Bump {meshfiles.PICTURE}\n")
    piece = only(load(path))
    assert piece.mesh.texture is not None and piece.warnings == ("specular and bump and normal maps are not drawn",)


# -- refusals --------------------------------------------------------------------------------------------------------


def test_unknown_formats_are_refused_by_name(tmp_path: Path) -> None:
    for name, text in (
        ("part.step", "'.step'.*Export a mesh"),
        ("part.wrl", "'.wrl'.*Convert it to X3D"),
        ("part.objj", "Did you mean 'obj'"),
        ("part", "a name without a format.*glb, .gltf, .obj"),
    ):
        with pytest.raises(MeshError, match=text):
            load(tmp_path / name)
    assert issubclass(MeshError, ModelError)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match=r"nothing\.obj: found no such file"):
        load(tmp_path / "nothing.obj")
    path = meshfiles.written(tmp_path, "obj")
    with pytest.raises(MeshError, match=r"other\.mtl: found no such file"):
        load(path, ["other.mtl"])
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(MeshError, match="no plain file"):
        load(tmp_path / "folder.stl")
    (tmp_path / "empty.stl").touch()
    with pytest.raises(MeshError, match="an empty file"):
        load(tmp_path / "empty.stl")


def test_the_importers_reason_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bad.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n")
    with pytest.raises(MeshError, match=r"bad\.obj.*vertex index out of range.*\.stl"):
        load(path)
    path.write_text("v 0 0 0\nv 1 0 0\n# no faces at all, nor lines\n")
    with pytest.raises(MeshError, match="without points, lines or triangles"):
        load(path)


def test_packages_that_are_missing_are_named(tmp_path: Path) -> None:
    prefix = tmp_path / "cmeel.prefix" / "lib"
    prefix.mkdir(parents=True)
    (prefix / "libassimp.so").touch()
    assert library.find([str(tmp_path)]) == str(prefix / "libassimp.so")
    code = "import sys; from shiftjax.viewer.assimp import library; sys.path[:] = sys.argv[1:]; library.layouts()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "pip install pyassimp" in done.stderr


# -- the cache -------------------------------------------------------------------------------------------------------


def test_the_cache_gives_the_same(tmp_path: Path) -> None:
    path = meshfiles.written(tmp_path, "obj", textured=True)
    first = load(path)
    assert len(list((tmp_path / "cache" / "meshes").rglob("*.npz"))) == 1
    assert same(first, load(path, timeout=0.0))  # no importer answers in no time
    copy = tmp_path / "copy"
    copy.mkdir()
    assert same(first, load(meshfiles.written(copy, "obj", textured=True), timeout=0.0))


def test_the_cache_notices_changes(tmp_path: Path) -> None:
    path = meshfiles.written(tmp_path, "obj", textured=True)
    first = only(load(path))
    material = tmp_path / "wedge.mtl"
    material.write_text(material.read_text().replace("Kd 0.8", "Kd 0.1"))
    second = only(load(path))
    assert second.colour[0] == pytest.approx(0.1, abs=SHADE) and second.mesh.key != first.mesh.key
    (tmp_path / meshfiles.PICTURE).unlink()
    third = only(load(path))
    assert third.mesh.texture is None and third.mesh.key != second.mesh.key
    meshfiles.written(tmp_path, "obj", textured=True)
    assert same((first,), load(path))
    for kept in (tmp_path / "cache").rglob("*.npz"):
        kept.write_bytes(kept.read_bytes()[:-40])
    assert same((first,), load(path))


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SHIFTJAX_CACHE_DIR", str(tmp_path / "file"))
    assert load(meshfiles.written(tmp_path, "stl"))


# -- the importing process -------------------------------------------------------------------------------------------


def slow_file(folder: Path) -> Path:
    """Takes the importer ~0.1 s: 20,000 triangles."""
    points = "".join(f"v {k} {k % 7} {k % 5}\n" for k in range(20_002))
    path = folder / "slow.obj"
    path.write_text(points + "".join(f"f {k} {k + 1} {k + 2}\n" for k in range(1, 20_001)))
    return path


def test_time_runs_out(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match=r"has not read after 0\.001 s"):
        load(slow_file(tmp_path), timeout=0.001)
    assert load(meshfiles.written(tmp_path, "stl"))


def test_a_process_that_died_is_replaced(tmp_path: Path) -> None:
    load(meshfiles.written(tmp_path, "stl"))
    process = loading._CHILD._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    assert load(meshfiles.written(tmp_path, "ply"))
    assert loading._CHILD._process is not process


def test_a_crash_names_its_signal(tmp_path: Path) -> None:
    """The child ends itself some time after its time is over: here at once, while it reads."""
    child = Child()
    request = {"path": str(slow_file(tmp_path)), "companions": [], "timeout": -4.999}
    with pytest.raises(Failed, match=r"the importer crashes \(SIGALRM\)"):
        child.ask(json.dumps(request).encode(), 20.0)
    with pytest.raises(Failed, match=r"the importer ends \(code 1: json.*Expecting value"):
        child.ask(b"no request", 20.0)
    assert child._process is None


def test_the_process_ends_with_its_owner_and_runs_no_script_twice(tmp_path: Path) -> None:
    path = meshfiles.written(tmp_path, "stl")
    script = tmp_path / "script.py"  # without a guard for __main__
    script.write_text(
        "import sys\nfrom shiftjax.viewer.assimp import load, loading\n"
        f"print(len(load({str(path)!r})), loading._CHILD._process.pid)\n"
        "print([name for name in ('jax', 'OpenGL', 'pyassimp', 'PIL') if name in sys.modules])\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": str(root)},
    )  # fmt: skip
    first, second = done.stdout.splitlines()
    assert (done.returncode, done.stderr, first.split()[0], second) == (0, "", "1", "[]")
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.split()[1]), 0)
