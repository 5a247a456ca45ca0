"""How long a picture of 1280 x 720 takes, and finding what is under the cursor, for models of the library.

Each model runs for a fifth of a second, its loops are checked, and it is drawn without a display in the plain look
`FAST`, at one stored instant after the other. What picking finds is compared with rays against all triangles in NumPy;
points where two parts are as near as facets of curved shapes deviate are left out. Prints one JSON line a model:
    frame_ms   a picture, shadow map included, until the last pixel is there
    pick_ms    a picking, until its answer is there

    PYTHONPATH=. python benchmarks/bench_viewer_frame.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import shiftjax
from shiftjax.bench.timing import emit
from shiftjax.models import names
from shiftjax.outcome import Outcome
from shiftjax.poses import matrices
from shiftjax.viewer import rendering
from shiftjax.viewer.gl.renderer import GL, Renderer
from shiftjax.viewer.gui.picture.ray_picking import ray_distance
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import FAST, Scene, Snapshot
from shiftjax.viewer.study.member_scenes import MemberScenes
from shiftjax.viewer.study.study import ViewedStudy

SIZE = (1280, 720)
SPAN, STEP, OUTPUT = 0.2, 1e-3, 0.01  # s
CLOSED = 1e-6  # m: loops of the runs
MARKS = frozenset({"kind:frame", "kind:centre"})
SEEN = 0.002  # part of the pixels that a model covers at least
CLOSE = 1e-4  # of the model's size: two hits nearer than this may be told apart either way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(names()), default=list(names()))
    parser.add_argument("--picks", type=int, default=60)
    options = parser.parse_args()
    for name in options.models:
        emit("viewer_frame", {"model": name, **measured(name, options.picks)})


def measured(name: str, picks: int) -> dict[str, Any]:
    """Medians of one model, after its pictures and picks were found right."""
    result = shiftjax.simulate(name, span=SPAN, step=STEP, output_step=OUTPUT, keep="all")
    if not (result.status <= Outcome.ok).all() or not result.certificate["gap"].max() < CLOSED:
        raise SystemExit(f"{name}: wrong run, {result.messages}")
    scenes = MemberScenes(ViewedStudy.of(result))
    scene, study = scenes.first, scenes.study
    camera = Camera.of(scene.centre, scene.size, scene.up)
    moments = [Snapshot(study.poses(0, float(t)), MARKS) for t in study.time]
    with rendering.offscreen_renderer(scene, FAST, SIZE) as renderer:
        covered = check_pixels(name, renderer, moments[0], camera)
        compared = check_picks(name, renderer, scene, moments[0], camera, picks)

        def frame(snapshot: Snapshot) -> None:
            renderer.draw(snapshot, camera)
            GL.glFinish()

        frames = [timed(lambda snapshot=snapshot: frame(snapshot)) for snapshot in moments]
        places = pixels(picks)
        picked = [timed(lambda at=at: renderer.pick(*at)) for at in places]
    return {
        "parts": len(scene.parts),
        "triangles": sum(len(part.mesh.indices) for part in scene.parts if part.mesh.kind == "triangles"),
        "covered": covered,
        "compared_picks": compared,
        "frame_ms": 1e3 * statistics.median(frames),
        "pick_ms": 1e3 * statistics.median(picked),
    }


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def pixels(count: int) -> list[tuple[int, int]]:
    """Places in the middle half of the picture, where the model is."""
    rng = np.random.default_rng(0)
    low, high = np.array(SIZE) // 4, np.array(SIZE) * 3 // 4
    return [(int(x), int(y)) for x, y in rng.integers(low, high, (count, 2))]


def check_pixels(name: str, renderer: Renderer, snapshot: Snapshot, camera: Camera) -> float:
    """The part of the pixels that the model covers."""
    renderer.draw(Snapshot(snapshot.poses, frozenset(part.path for part in renderer.scene.parts)), camera)
    empty = renderer.image()
    renderer.draw(snapshot, camera)
    covered = float((renderer.image() != empty).any(-1).mean())
    if covered < SEEN:
        raise SystemExit(f"{name}: {covered:.2%} of the picture shows something")
    return covered


def check_picks(name: str, renderer: Renderer, scene: Scene, snapshot: Snapshot, camera: Camera, count: int) -> int:
    """How many picks were found to be what rays against all triangles meet first."""
    places, compared = matrices(snapshot.poses), 0
    for x, y in pixels(count):
        origin, direction = camera.ray(x, y, SIZE)
        hits = []
        for part in scene.parts:
            if f"kind:{part.kind}" not in MARKS:
                distance = ray_distance(part.mesh, places[part.node] @ part.transform, origin, direction)
                hits += [(distance, part.path)] if distance is not None else []
        hits.sort()
        near = {path for distance, path in hits if distance < hits[0][0] + CLOSE * scene.size}
        hit = renderer.pick(x, y).part
        if len(near) > 1:
            continue
        if (hit.path if hit else None) != (hits[0][1] if hits else None):
            raise SystemExit(f"{name}: pixel {x}, {y} shows {hits[:1]}, picked was {hit and hit.path}")
        compared += 1
    return compared


if __name__ == "__main__":
    main()
