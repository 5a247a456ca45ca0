"""Draws every model of the library into models/pictures, for the gallery of models/README.md, each from a side that
shows what it is; and a walking leg on a terrain under lamps.

PYTHONPATH=. python benchmarks/draw_gallery.py            (needs `pip install -e '.[viewer]'`)
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from shiftjax.mechanism.frozen_json import FrozenJson
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import Frame, FrameRef, Light, Terrain
from shiftjax.models import names
from shiftjax.record import record
from shiftjax.viewer import rendering
from shiftjax.viewer.scene.affine import as_tuple
from shiftjax.viewer.scene.building import scene_of
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import RenderSettings, Scene, Snapshot
from shiftjax.viewer.study import opening
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

FOLDER = Path(__file__).resolve().parents[1] / "models" / "pictures"
SIZE, COLOURS = (640, 360), 128
WALK = "klann_on_terrain"
MARKS = frozenset({"kind:frame", "kind:centre"})


@record
class Shot:
    """How a model is shown: angles of `Camera` [degrees], nearer by a factor, instant, length of a run [s]."""

    azimuth: float = -54.0
    elevation: float = 25.0
    zoom: float = 1.25
    time: float = 0.2
    span: float = 0.5


SHOTS = {
    "andrews": Shot(-75.0, 38.0, 1.5, 0.01, 0.02),
    "bennett": Shot(zoom=1.2),
    "bicycle_brake": Shot(-60.0, 12.0, 1.0),
    "bricard": Shot(zoom=1.05),
    "delta": Shot(-60.0, 18.0, 1.2),
    "double_wishbone": Shot(-215.0, 18.0, 1.35),
    "excavator": Shot(-62.0, 16.0, 1.55),
    "jansen": Shot(-75.0, 12.0, 1.1),
    "klann": Shot(-75.0, 12.0, 0.95),
    "meshed_pendulum": Shot(zoom=1.2),
    "n_four_bar_40": Shot(-75.0, 30.0, 1.9),
    "n_four_bar_5": Shot(-70.0, 20.0, 1.45),
    "peaucellier": Shot(-80.0, 10.0, 1.05),
    "sarrus": Shot(zoom=1.15),
    "scissor_lift": Shot(-70.0, 12.0, 1.0),
    "seven_axis_arm": Shot(zoom=1.1),
    "stewart": Shot(-50.0, 14.0, 1.1),
    "slider_crank": Shot(-65.0, 25.0, 1.6),
    "two_slider_cranks": Shot(zoom=1.35),
    "three_slider_cranks": Shot(zoom=1.35),
    "vehicle_chassis": Shot(-40.0, 22.0, 1.4, 0.0, 0.1),
    WALK: Shot(-70.0, 12.0, 1.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [*names(), WALK]
    parser.add_argument("--models", nargs="+", choices=every, default=every)
    FOLDER.mkdir(exist_ok=True)
    for name in parser.parse_args().models:
        shot = SHOTS.get(name, Shot())
        options = ("--span", str(shot.span), "--output-step", str(shot.span / 50))
        with opening.opened(name.partition("_on_")[0], options) as study:
            image = picture(study, shot, on_terrain=name == WALK)
        save(image, FOLDER / f"{name}.png")
        print(f"written: {FOLDER / name}.png")


def save(image: np.ndarray, path: Path) -> None:
    """Writes (h, w, 3) uint8 in few colours, which keeps those of small parts: median cut would lose them."""
    few = Image.fromarray(image).quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def picture(study: ViewedStudy, shot: Shot, *, on_terrain: bool) -> np.ndarray:
    """(h, w, 3) uint8"""
    scene = MemberScenes(study).first
    camera = camera_of(scene, shot)
    if on_terrain:
        scene = walking_scene(study)
    with rendering.offscreen_renderer(scene, RenderSettings(grid=not on_terrain), SIZE) as renderer:
        renderer.draw(Snapshot(study.poses(0, min(shot.time, float(study.time[-1]))), hidden=MARKS), camera)
        return renderer.image()


def camera_of(scene: Scene, shot: Shot) -> Camera:
    """From the side of the shot, towards the scene's centre."""
    camera = Camera.of(scene.centre, scene.size, scene.up).zoom(shot.zoom)
    return dataclasses.replace(camera, azimuth=math.radians(shot.azimuth), elevation=math.radians(shot.elevation))


def walking_scene(study: ViewedStudy) -> Scene:
    """The mechanism on hills, under a low sun and a lamp, none of which is in its file."""
    first = MemberScenes(study).first
    up, size, centre = np.array(first.up), first.size, np.array(first.centre)
    side = np.array([0.0, 1.0, 0.0]) if abs(up[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
    ahead = np.cross(side, up)
    n, reach = 200, 12.0 * size

    def frame(name: str, T: np.ndarray, z: np.ndarray) -> Frame:
        z = z / np.linalg.norm(z)
        x = np.cross(side, z) / np.linalg.norm(np.cross(side, z))
        R = np.stack([x, np.cross(z, x), z], axis=1)
        return Frame(name, T=as_tuple(T), R=(as_tuple(R[0]), as_tuple(R[1]), as_tuple(R[2])))

    lamp = centre + size * (0.9 * up - 0.9 * ahead - 0.5 * side)
    frames = (
        frame("hills", centre - 0.95 * size * up, up),
        frame("lamp", lamp, centre - 0.3 * size * up - lamp),
        frame("sun", centre + size * (1.0 * up + 1.2 * ahead), -1.0 * up - 0.7 * ahead + 0.5 * side),
    )
    lights = (
        Light("lamp", "spot", FrameRef("fixed", "lamp"), Ka=(0.05, 0.05, 0.05), Kd=(0.8, 0.65, 0.4), Ks=(0.3, 0.3, 0.3),
              options=FrozenJson({"cone": 0.55})),
        Light("sun", "directional", FrameRef("fixed", "sun"), Ka=(0.32, 0.33, 0.36), Kd=(0.62, 0.62, 0.58),
              Ks=(0.1, 0.1, 0.1)),
    )  # fmt: skip
    x, y = np.meshgrid(np.linspace(-6, 6, n), np.linspace(-6, 6, n))
    away = np.maximum(np.hypot(x, y) - 1.6, 0.0)
    heights = size * (
        0.05 * np.sin(5 * x) * np.cos(4 * y) + 0.25 * away * (1 + np.sin(1.7 * x + 0.8) * np.cos(1.3 * y))
    )
    with tempfile.TemporaryDirectory() as folder:
        Image.fromarray(heights.astype(np.float32)).save(Path(folder) / "hills.tif")
        options = FrozenJson({"elevation_map": "hills.tif", "scale": reach / (n - 1)})
        model: Model = dataclasses.replace(
            study.model,
            frames=(*study.model.frames, *frames),
            lights=lights,
            terrain=(Terrain("hills", FrameRef("fixed", "hills"), options),),
        )
        poses = study.poses(0, study.time)
        start = dict(zip(study.nodes, poses[0], strict=True))
        return scene_of(model, start, folder=Path(folder), motion=poses)


if __name__ == "__main__":
    main()
