"""Writes an animated scene as one self-contained web page: data, player and controls in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from shiftjax.numerics.spacing import evenly_spaced
from shiftjax.poses import rotate
from shiftjax.record import record
from shiftjax.viewer.export.keyframes import refined
from shiftjax.viewer.export.pack import Pack, written_parts
from shiftjax.viewer.export.packed_numbers import StudyNumbers, packed
from shiftjax.viewer.export.pose_tracks import PoseTracks, motion_of
from shiftjax.viewer.export.scene_items import ShapeItems
from shiftjax.viewer.export.sheets import sheets_of
from shiftjax.viewer.members.study_like import StudyLike
from shiftjax.viewer.scene.camera import VIEWS, Camera, upright
from shiftjax.viewer.scene.palette import ghost_opacity
from shiftjax.viewer.scene.scene import RenderSettings, Scene, SceneLight, ScenePart

LIGHTS = 8  # maximum of the player, as of the window: 40 vectors of the 224 that every WebGL2 has
FLOOR_INSTANTS = 200  # used for the height of the grid
DIRECTIONS = 200  # in which the extreme vertices of a mesh stand for its hull
PLAYER = (  # scripts in this order
    "player/vectors.js",
    "player/shaders.js",
    "player/motion.js",
    "player/picture.js",
    "player/camera.js",
    "sheets.js",
    "player/player.js",
)
STUDY = (
    "study_page.css",
    "study_page.html",
    "columns.js",
    "brush.js",
    "drawing.js",
    "scatter.js",
    "parallel.js",
    "study_table.js",
    "study_page.js",
)
POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
NOTHING_ELSE = "script-src 'unsafe-inline'"  # what a page may load: of a file nothing but itself
COMPILED = " 'wasm-unsafe-eval'"  # and what is compiled of it
SIMULATION = ("simulation/lanes.js", "simulation/designs.js", "simulation/simulated.js", "simulation/sliders.js")
Item = dict[str, Any]


@record
class Served:
    """What a page has in addition that a server gives.

    Attributes:
        script: that asks the server, before those of the player.
        about: what the script is told.
    """

    script: str
    about: Item


def write_html(
    scene: Scene,
    time: np.ndarray,
    tracks: Mapping[int, np.ndarray],
    path: str | Path,
    title: str = "shiftjax",
    *,
    frames: int | None = None,
    scenes: Mapping[int, Scene] | None = None,
    study: StudyLike | None = None,
    alone: bool = False,
    notes: Sequence[str] = (),
    numbers: StudyNumbers | None = None,
    runs: Callable[[Pack], Item] | None = None,
) -> tuple[str, ...]:
    """Writes members of a study into one page; returns remarks for the user, which the page shows too.

    The fragment `#t=0.5` of the page's address stops the motion at that time [s], `#view=front` sets the view,
    `#member=17` the solid member. With a study its design values, metrics and curves stand beside the picture; with
    numbers of all its members a table of them, a scatter plot and parallel axes, whose state the fragment holds, too.

    Args:
        scene: what is drawn; parts of kinds "frame" and "centre" are left out.
        time: (n,) increasing [s].
        tracks: member -> (n, nodes, 7) poses; the chosen member is solid, at first the first one, the others
            that are switched on translucent.
        path: of the file.
        title: shown above the picture.
        frames: the most instants to keep, see `motion_of`.
        scenes: member -> its scene, with the same nodes; by default `scene`.
        study: of the members; where it is given, keys are added until no joint is seen to open between them.
        alone, notes, numbers, runs: as `page_of`.

    Raises:
        ModelError: as `motion_of`.
    """
    page, remarks = page_of(
        scene, time, tracks, title,
        frames=frames, scenes=scenes, study=study, alone=alone, notes=notes, numbers=numbers, runs=runs,
    )  # fmt: skip
    Path(path).write_text(page, encoding="utf-8")
    return remarks


def page_of(
    scene: Scene,
    time: np.ndarray,
    tracks: Mapping[int, np.ndarray],
    title: str = "shiftjax",
    *,
    frames: int | None = None,
    scenes: Mapping[int, Scene] | None = None,
    study: StudyLike | None = None,
    alone: bool = False,
    notes: Sequence[str] = (),
    numbers: StudyNumbers | None = None,
    served: Served | None = None,
    runs: Callable[[Pack], Item] | None = None,
) -> tuple[str, tuple[str, ...]]:
    """The text of the page that `write_html` writes, and the remarks.

    Args:
        alone: one member is shown at a time until others are switched on; else all are.
        notes: first of the remarks.
        numbers: of all members of the study, see `numbers_of`.
        served: where a server gives the page, which its script then asks for numbers and further members.
        runs: packs the members that the page simulates itself, see `simulation.page_runs`.
    """
    motion = motion_of(scene, time, tracks, frames)
    if study is not None:
        motion = refined(motion, study, scene)
    pack = Pack()
    data = _data(scene, scenes or {}, motion, pack)
    data["alone"], data["remarks"] = alone, [*notes, *data["remarks"]]
    if study is not None:
        data["sheets"] = sheets_of(study, list(motion.poses), pack)
        data["remarks"] += data["sheets"].pop("remarks")
    if numbers is not None:
        data["study"] = packed(numbers, pack)
        data["remarks"] += numbers.remarks
    if runs is not None:
        data["runs"] = runs(pack)
    return _put_together(title, data, pack, served), tuple(data["remarks"])


def motions_of(
    scene: Scene,
    time: np.ndarray,
    tracks: Mapping[int, np.ndarray],
    scenes: Mapping[int, Scene],
    study: StudyLike,
    notes: Sequence[str] = (),
) -> bytes:
    """Members of a study as a page adds them that is open already, see `Pack.block`; arguments as of `page_of`.

    Raises:
        ModelError: as `motion_of`.
    """
    motion, pack = motion_of(scene, time, tracks), Pack()
    remarks = [*notes, *motion.remarks]
    motion = refined(motion, study, scene)
    data = _members(scene, scenes, motion, pack)
    data["sheets"] = sheets_of(study, list(motion.poses), pack)
    return pack.block(data | {"remarks": remarks})


def _put_together(title: str, data: Item, pack: Pack, served: Served | None) -> str:
    """The text of a page; what shows a study is in it where there is one."""
    folder = files("shiftjax.viewer.export")
    names = ("page.html", *PLAYER, *STUDY, *SIMULATION)
    text_of = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    shown, asking, policy = STUDY if "study" in data or served else (), "", NOTHING_ELSE
    if "runs" in data:
        asking, policy = "".join(text_of[name] for name in SIMULATION), NOTHING_ELSE + COMPILED
    if served is not None:
        data, asking = data | {"served": served.about}, served.script
    scripts = asking + "".join(text_of[name] for name in (*shown, *PLAYER) if name.endswith(".js"))
    if served is not None:  # its script alone, and its own server
        policy = f"script-src 'sha256-{_digest(scripts)}'; connect-src 'self'"
    inserts = {
        "title": html.escape(title),
        # a `<` in JSON occurs in strings only, where it may be escaped, so that no tag begins
        "data": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "binary": base64.b64encode(pack.bytes()).decode(),
        "study_style": "".join(text_of[name] for name in shown if name.endswith(".css")),
        "study_places": "".join(text_of[name] for name in shown if name.endswith(".html")),
        "policy": policy,
        "scripts": scripts,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: inserts[match[1]], text_of["page.html"])


def policy_of(page: str) -> str:
    """The content security policy that a page states."""
    stated = POLICY.search(page)
    return stated[1] if stated else "default-src 'none'"


def _digest(scripts: str) -> str:
    """What a browser compares with the text between the tags of a script."""
    return base64.b64encode(hashlib.sha256(f"\n{scripts}".encode()).digest()).decode()


def _members(scene: Scene, scenes: Mapping[int, Scene], motion: PoseTracks, pack: Pack) -> Item:
    """What moves, and its shapes; arrays are in the pack, given by offset and length in bytes."""
    shapes, casts = ShapeItems(pack), dict[int, int]()
    for member_scene in (scene, *scenes.values()):
        if id(member_scene) not in casts:
            casts[id(member_scene)] = shapes.cast(member_scene)
    return {
        "time": pack.add(motion.elapsed),
        "members": [
            {"name": str(m), "poses": pack.add(p.astype("<f4")), "cast": casts[id(scenes.get(m, scene))]}
            for m, p in motion.poses.items()
        ],
        **shapes.items(),
    }


def _data(scene: Scene, scenes: Mapping[int, Scene], motion: PoseTracks, pack: Pack) -> Item:
    """The data of the player."""
    first, camera = next(iter(motion.poses.values())), Camera.of(scene.centre, scene.size, scene.up)
    return {
        **_members(scene, scenes, motion, pack),
        "start": float(motion.time[0]),
        "nodes": len(scene.nodes),
        "axes": upright(scene.up).tolist(),
        "centre": [float(x) for x in scene.centre],
        "size": float(scene.size),
        "floor": _floor(scene, written_parts(scene), first),
        "camera": {"distance": camera.distance, "angle": camera.view_angle},
        "views": {v: [(c := camera.seen_from(v)).azimuth, c.elevation] for v in VIEWS},
        "lights": [_light(light) for light in scene.lights[:LIGHTS]],
        "ghost": ghost_opacity(len(motion.poses) - 1),
        "background": list(RenderSettings().background),
        "shininess": RenderSettings().shininess,
        "remarks": [*motion.remarks, *_dimmed(scene.lights)],
    }


def _dimmed(lights: tuple[SceneLight, ...]) -> Iterator[str]:
    """Remarks on what the player does not draw: lights after the eighth, and shadows of all but one."""
    if len(lights) > LIGHTS:
        yield f"{LIGHTS} of {len(lights)} lights are shown"
    able = [light for light in lights[:LIGHTS] if light.shadow]
    casting = next((light.path for light in able if light.type != "point"), None)
    if able and casting is None:
        yield "point lights cast no shadows on this page"
    elif len(able) > 1:
        yield f"of the lights only {casting} casts shadows on this page"


def _light(light: SceneLight) -> Item:
    item: Item = {"type": light.type, "node": light.node, "cone": float(light.cone), "shadow": light.shadow}
    for name in ("position", "direction", "ambient", "diffuse", "specular"):
        item[name] = [float(x) for x in getattr(light, name)]
    return item


def _floor(scene: Scene, parts: tuple[ScenePart, ...], poses: np.ndarray) -> float:
    """The lowest height [m] of the parts along up, from extreme vertices at some instants."""
    spiral = np.pi * (3 - np.sqrt(5)) * np.arange(DIRECTIONS)  # a spiral of equal areas on the sphere
    height = np.linspace(-1, 1, DIRECTIONS)
    level = np.sqrt(1 - height**2)
    directions = np.stack([level * np.cos(spiral), level * np.sin(spiral), height])
    poses = poses[evenly_spaced(len(poses), FLOOR_INSTANTS)]
    lowest = []
    for part in parts:
        vertices = part.mesh.vertices @ part.transform[:3, :3].T + part.transform[:3, 3]
        vertices = vertices[np.unique(np.argmax(vertices @ directions, axis=0))]
        pose = poses[:, part.node]
        up = np.broadcast_to(np.array(scene.up, float), (len(pose), 3))
        in_body = rotate(pose, up, inverse=True)
        lowest.append(((in_body @ vertices.T).min(1) + (pose[:, :3] * up).sum(1)).min())
    return float(min(lowest, default=np.dot(scene.centre, scene.up) - scene.size))
