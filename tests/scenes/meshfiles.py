"""Sample mesh files, written here: one wedge in every format, with a colour and, where the format has them, a picture.

The wedge is a tetrahedron of extents 1, 2, 3 m with its right-angled corner at the origin: no turning or mirroring of
the axes maps it to itself, and its volume is 1 m^3, positive only when its triangles face outwards.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
COLOUR = (0.8, 0.4, 0.2)
OPACITY = 0.5
# of the picture, first row on top; the corners of the wedge lie on the centres of its pixels
PIXELS = np.array([[[250, 0, 0, 255], [0, 250, 0, 255]], [[0, 0, 250, 255], [250, 250, 0, 255]]], np.uint8)
UV = np.array([[0.25, 0.75], [0.75, 0.75], [0.25, 0.25], [0.75, 0.25]])  # (0, 0) at the lower left
CORNER_COLOURS = PIXELS.reshape(4, 4)  # of POINTS
PICTURE = "checks.png"


def png() -> bytes:
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, "png")
    return stream.getvalue()


def row(values: object) -> str:
    return " ".join(f"{x:g}" for x in np.ravel(np.asarray(values, float)))


def obj(folder: Path, textured: bool) -> Path:
    picture = f"map_Kd {PICTURE}\n" if textured else ""
    (folder / "wedge.mtl").write_text(f"newmtl clay\nKd {row(COLOUR)}\nd {OPACITY}\n{picture}")
    lines = ["mtllib wedge.mtl", *(f"v {row(p)}" for p in POINTS), *(f"vt {row(t)}" for t in UV), "usemtl clay"]
    lines += ["f " + " ".join(f"{k + 1}/{k + 1}" for k in face) for face in FACES]
    path = folder / "wedge.obj"
    path.write_text("\n".join(lines) + "\n")
    return path


def stl(folder: Path, _: bool) -> Path:
    text = ["solid wedge"]
    for face in FACES:
        a, b, c = POINTS[face]
        text += [f"facet normal {row(np.cross(b - a, c - a))}", "outer loop"]
        text += [*(f"vertex {row(p)}" for p in (a, b, c)), "endloop", "endfacet"]
    path = folder / "wedge.stl"
    path.write_text("\n".join([*text, "endsolid wedge"]) + "\n")
    return path


def stl_binary(folder: Path, _: bool) -> Path:
    data = b"wedge".ljust(80) + struct.pack("<I", len(FACES))
    for face in FACES:
        a, b, c = POINTS[face]
        data += np.array([np.cross(b - a, c - a), a, b, c], "<f4").tobytes() + b"\0\0"
    path = folder / "binary.stl"
    path.write_bytes(data)
    return path


def ply(folder: Path, _: bool) -> Path:
    colour = " ".join(str(round(255 * x)) for x in (*COLOUR, OPACITY))
    names = [f"property float {x}" for x in "xyz"] + [f"property uchar {c}" for c in ("red", "green", "blue", "alpha")]
    text = ["ply", "format ascii 1.0", "element vertex 4", *names, "element face 4"]
    text += ["property list uchar int vertex_indices", "end_header"]
    text += [f"{row(p)} {colour}" for p in POINTS] + [f"3 {row(f)}" for f in FACES]
    path = folder / "wedge.ply"
    path.write_text("\n".join(text) + "\n")
    return path


def off(folder: Path, _: bool) -> Path:
    path = folder / "wedge.off"
    path.write_text("\n".join(["OFF", "4 4 6", *map(row, POINTS), *(f"3 {row(f)}" for f in FACES)]) + "\n")
    return path


def dae(folder: Path, textured: bool) -> Path:
    """In centimetres, with z up."""
    look, images, parameters = f"<color>{row(COLOUR)} 1</color>", "", ""
    if textured:
        look = '<texture texture="s" texcoord="UV"/>'
        images = f'<library_images><image id="i"><init_from>{PICTURE}</init_from></image></library_images>'
        parameters = (
            '<newparam sid="f"><surface type="2D"><init_from>i</init_from></surface></newparam>'
            '<newparam sid="s"><sampler2D><source>f</source></sampler2D></newparam>'
        )

    def source(name: str, values: np.ndarray, letters: str) -> str:
        named = "".join(f'<param name="{x}" type="float"/>' for x in letters)
        return (
            f'<source id="{name}"><float_array id="{name}a" count="{values.size}">{row(values)}</float_array>'
            f'<technique_common><accessor source="#{name}a" count="{len(values)}" stride="{len(letters)}">{named}'
            "</accessor></technique_common></source>"
        )

    path = folder / "wedge.dae"
    path.write_text(
        '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        '<asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>' + images
        + f'<library_effects><effect id="e"><profile_COMMON>{parameters}<technique sid="t"><phong><diffuse>{look}'
        '</diffuse><transparent opaque="A_ONE"><color>1 1 1 1</color></transparent><transparency>'
        f"<float>{OPACITY}</float></transparency></phong></technique></profile_COMMON></effect></library_effects>"
        '<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>'
        '<library_geometries><geometry id="g"><mesh>' + source("p", 100 * POINTS, "XYZ") + source("u", UV, "ST")
        + '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles material="clay" count="4"><input semantic="VERTEX" source="#v" offset="0"/>'
        f'<input semantic="TEXCOORD" source="#u" offset="0" set="0"/><p>{row(FACES)}</p></triangles></mesh></geometry>'
        '</library_geometries><library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g">'
        '<bind_material><technique_common><instance_material symbol="clay" target="#m"><bind_vertex_input '
        'semantic="UV" input_semantic="TEXCOORD" input_set="0"/></instance_material></technique_common>'
        "</bind_material></instance_geometry></node></visual_scene></library_visual_scenes>"
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )  # fmt: skip
    return path


def linear(colour: tuple[float, ...]) -> list[float]:
    """sRGB to linear light."""
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour]


def gltf_parts(textured: bool, mode: int = 4) -> tuple[dict, bytes]:
    """The JSON of a glTF file and its buffer: positions, texture coordinates, indices, picture."""
    indices = {4: FACES, 1: FACES[:, :2], 0: np.arange(4)}[mode]
    blocks = [POINTS.astype("<f4").tobytes(), np.column_stack([UV[:, 0], 1 - UV[:, 1]]).astype("<f4").tobytes()]
    blocks += [indices.astype("<u2").tobytes(), png()]
    blocks = [block + b"\0" * (-len(block) % 4) for block in blocks]
    starts = np.cumsum([0, *map(len, blocks)])
    base = {"baseColorFactor": [*linear(COLOUR), OPACITY]}
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        # the wedge lies 10 m from its place, half as large; two nodes bring it back
        "nodes": [{"translation": [-20, 0, 0], "children": [1]}, {"mesh": 0, "scale": [2, 2, 2]}],
        "meshes": [{"primitives": [{
            "attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0, "mode": mode}]}],
        "materials": [{"pbrMetallicRoughness": base, "alphaMode": "BLEND"}],
        "buffers": [{"byteLength": int(starts[-1])}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": int(start), "byteLength": len(block)}
            for start, block in zip(starts[:-1], blocks, strict=True)],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3",
             "min": [10.0, 0.0, 0.0], "max": [10.5, 1.0, 1.5]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": int(indices.size), "type": "SCALAR"}],
    }  # fmt: skip
    blocks[0] = np.add(POINTS / 2, [10, 0, 0]).astype("<f4").tobytes()
    if textured:
        base["baseColorTexture"] = {"index": 0}  # type: ignore[assignment]
        document |= {"textures": [{"source": 0}], "images": [{"bufferView": 3, "mimeType": "image/png"}]}
    return document, b"".join(blocks)


def gltf(folder: Path, textured: bool, mode: int = 4) -> Path:
    document, data = gltf_parts(textured, mode)
    document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    if textured:
        document["images"] = [{"uri": PICTURE}]
    path = folder / "wedge.gltf"
    path.write_text(json.dumps(document))
    return path


def glb(folder: Path, textured: bool) -> Path:
    document, data = gltf_parts(textured)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    path = folder / "wedge.glb"
    path.write_bytes(
        struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
        + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    )  # fmt: skip
    return path


def three_ds(folder: Path, textured: bool) -> Path:
    def chunk(number: int, *content: bytes) -> bytes:
        data = b"".join(content)
        return struct.pack("<HI", number, 6 + len(data)) + data

    rgb = bytes(round(255 * x) for x in COLOUR)
    material = [chunk(0xA000, b"clay\0"), chunk(0xA020, chunk(0x0011, rgb))]
    material += [chunk(0xA050, chunk(0x0030, struct.pack("<H", round(100 * (1 - OPACITY)))))]
    if textured:
        material += [chunk(0xA200, chunk(0x0030, struct.pack("<H", 100)), chunk(0xA300, PICTURE.encode() + b"\0"))]
    faces = np.column_stack([FACES, np.zeros(4)]).astype("<u2").tobytes()
    group = chunk(0x4130, b"clay\0", struct.pack("<H4H", 4, 0, 1, 2, 3))
    mesh = chunk(
        0x4100,
        chunk(0x4110, struct.pack("<H", 4), POINTS.astype("<f4").tobytes()),
        chunk(0x4140, struct.pack("<H", 4), UV.astype("<f4").tobytes()),
        chunk(0x4120, struct.pack("<H", 4), faces, group),
    )
    path = folder / "wedge.3ds"
    path.write_bytes(chunk(0x4D4D, chunk(0x3D3D, chunk(0xAFFF, *material), chunk(0x4000, b"wedge\0", mesh))))
    return path


def fbx(folder: Path, textured: bool) -> Path:
    """In centimetres, declared y up and not turned for it."""

    def numbers(values: np.ndarray) -> str:
        return f"*{values.size} {{ a: {','.join(f'{x:g}' for x in values.ravel())} }}"

    polygons = FACES.copy()
    polygons[:, 2] = -polygons[:, 2] - 1
    texture = (
        f'Texture: 4, "Texture::t", "" {{ Type: "TextureVideoClip"\n FileName: "{PICTURE}"\n'
        f' RelativeFilename: "{PICTURE}" }}\n'
    )
    path = folder / "wedge.fbx"
    path.write_text(
        "; FBX 7.3.0 project file\nFBXHeaderExtension: {\n FBXHeaderVersion: 1003\n FBXVersion: 7300\n}\n"
        'GlobalSettings: {\n Version: 1000\n Properties70: {\n P: "UpAxis", "int", "Integer", "",1\n'
        ' P: "UpAxisSign", "int", "Integer", "",1\n P: "FrontAxis", "int", "Integer", "",2\n'
        ' P: "FrontAxisSign", "int", "Integer", "",1\n P: "CoordAxis", "int", "Integer", "",0\n'
        ' P: "CoordAxisSign", "int", "Integer", "",1\n P: "UnitScaleFactor", "double", "Number", "",1\n }\n}\n'
        'Objects: {\n Geometry: 1, "Geometry::wedge", "Mesh" {\n'
        f" Vertices: {numbers(100 * POINTS)}\n PolygonVertexIndex: {numbers(polygons)}\n"
        ' LayerElementUV: 0 {\n Version: 101\n Name: "uv"\n MappingInformationType: "ByPolygonVertex"\n'
        f' ReferenceInformationType: "IndexToDirect"\n UV: {numbers(UV)}\n UVIndex: {numbers(FACES)}\n }}\n'
        ' LayerElementMaterial: 0 {\n Version: 101\n Name: ""\n MappingInformationType: "AllSame"\n'
        ' ReferenceInformationType: "IndexToDirect"\n Materials: *1 { a: 0 }\n }\n'
        ' Layer: 0 {\n Version: 100\n LayerElement: {\n Type: "LayerElementMaterial"\n TypedIndex: 0\n }\n'
        ' LayerElement: {\n Type: "LayerElementUV"\n TypedIndex: 0\n }\n }\n }\n'
        ' Model: 2, "Model::wedge", "Mesh" {\n Version: 232\n Properties70: {\n'
        ' P: "Lcl Translation", "Lcl Translation", "", "A",0,0,0\n }\n }\n'
        ' Material: 3, "Material::clay", "" {\n Version: 102\n ShadingModel: "phong"\n Properties70: {\n'
        f' P: "DiffuseColor", "Color", "", "A",{",".join(map(str, COLOUR))}\n'
        f' P: "Opacity", "double", "Number", "",{OPACITY}\n }}\n }}\n' + (texture if textured else "")
        + '}\nConnections: {\n C: "OO",2,0\n C: "OO",1,2\n C: "OO",3,2\n'
        + (' C: "OP",4,3, "DiffuseColor"\n' if textured else "") + "}\n"
    )  # fmt: skip
    return path


def x3d(folder: Path, textured: bool) -> Path:
    picture = f"""<ImageTexture url='"{PICTURE}"'/>""" if textured else ""
    index, points = row(np.column_stack([FACES, np.full(4, -1)])), row(np.add(POINTS, [0, 1, 0]))
    path = folder / "wedge.x3d"
    path.write_text(
        '<?xml version="1.0"?><X3D version="3.3"><Scene><Transform translation="0 -1 0"><Shape><Appearance>'
        f'<Material diffuseColor="{row(COLOUR)}" transparency="{1 - OPACITY}"/>{picture}</Appearance>'
        f'<IndexedFaceSet coordIndex="{index}" texCoordIndex="{index}"><Coordinate point="{points}"/>'
        f'<TextureCoordinate point="{row(UV)}"/></IndexedFaceSet></Shape></Transform></Scene></X3D>'
    )
    return path


def three_mf(folder: Path, _: bool) -> Path:
    """In millimetres."""
    colour = "#" + "".join(f"{round(255 * x):02X}" for x in (*COLOUR, OPACITY))
    vertices = "".join('<vertex x="{:g}" y="{:g}" z="{:g}"/>'.format(*p) for p in 1000 * POINTS)
    triangles = "".join('<triangle v1="{}" v2="{}" v3="{}"/>'.format(*f) for f in FACES)
    model = (
        '<?xml version="1.0"?><model unit="millimeter" xmlns="http://schemas.microsoft.com/3dmanufacturing/core/'
        '2015/02"><resources><basematerials id="2"><base name="clay" displaycolor="' + colour + '"/></basematerials>'
        f'<object id="1" type="model" pid="2" pindex="0"><mesh><vertices>{vertices}</vertices><triangles>{triangles}'
        '</triangles></mesh></object></resources><build><item objectid="1"/></build></model>'
    )
    relation = (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Target="/3D/3dmodel.model" Id="rel0" '
        'Type="http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel"/></Relationships>'
    )
    types = (
        '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="model" ContentType="application/vnd.ms-package.3dmanufacturing-3dmodel+xml"/></Types>'
    )
    path = folder / "wedge.3mf"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("[Content_Types].xml", types), ("_rels/.rels", relation), ("3D/3dmodel.model", model)):
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


WRITERS: dict[str, Callable[[Path, bool], Path]] = {
    "obj": obj, "stl": stl, "stl binary": stl_binary, "ply": ply, "off": off, "dae": dae, "gltf": gltf, "glb": glb,
    "3ds": three_ds, "fbx": fbx, "x3d": x3d, "3mf": three_mf,
}  # fmt: skip
TEXTURED = ("obj", "dae", "gltf", "glb", "3ds", "fbx", "x3d")
COLOURLESS = ("stl", "stl binary", "off")


def written(folder: Path, name: str, textured: bool = False) -> Path:
    """A sample of that format in `folder`, with what it needs beside it."""
    if textured:
        (folder / PICTURE).write_bytes(png())
    return WRITERS[name](folder, textured)


def damaged(data: bytes, kind: int, random: np.random.Generator) -> bytes:
    """A file spoiled in one of five ways."""
    if kind == 0:
        return data[: random.integers(1, len(data))]
    if kind == 1:
        flipped = bytearray(data)
        for place in random.integers(0, len(data), random.integers(1, 12)):
            flipped[place] ^= 1 << int(random.integers(0, 8))
        return bytes(flipped)
    if kind == 2:
        return b"" if random.random() < 0.2 else random.bytes(20)
    if kind == 3:
        start = random.integers(0, len(data))
        return data[:start] + random.bytes(int(random.integers(1, 200))) + data[start + 100 :]
    huge = (b"999999999", b"-1", b"1e999", b"nan", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff")
    digits = [k for k in range(1, len(data)) if 48 <= data[k] < 58 and data[k - 1] in b' \n,:="[>'] or [0]
    for _ in range(int(random.integers(1, 4))):
        place = digits[int(random.integers(0, len(digits)))]
        word = huge[int(random.integers(0, len(huge)))]
        data = data[:place] + word + data[place + 1 :] if word[0] < 128 else data[:place] + word + data[place + 4 :]
    return data
