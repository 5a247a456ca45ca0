"""`shiftjax render`: a picture or a movie of a study, on a machine with or without a display."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from shiftjax.cli import common, showing
from shiftjax.errors import ModelError
from shiftjax.viewer import film, opening
from shiftjax.viewer.camera import Camera
from shiftjax.viewer.ghosts import ghosts_of
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.scene import Moment
from shiftjax.viewer.stage import Stage
from shiftjax.viewer.study import Study

RATE = {".mp4": 30.0, ".gif": 15.0, ".webp": 20.0}  # pictures a second
MARKS = frozenset({"kind:frame", "kind:centre"})  # shown in a window on demand


def define(parser: argparse.ArgumentParser) -> None:
    showing.add_study(parser)
    add = parser.add_argument
    add("--time", type=float, metavar="T", help="instant of a still [s]; left out, the start")
    add("--out", required=True, metavar="FILE", help=".png for a still; .mp4, .gif or .webp for a movie")
    add("--fps", type=common.positive, metavar="N", help="pictures a second of a movie")
    add("--speed", type=common.positive, default=1.0, metavar="X", help="seconds of motion a second; default 1")
    add("--force", action="store_true", help="replace FILE where it exists")
    showing.add_look(parser)


def call(options: argparse.Namespace) -> int:
    target = showing.new_file(options.out, (*film.STILLS, *film.MOVIES), options.force)
    with opening.opened(options.study, showing.run_options(options)) as study:
        stage = Stage(study)
        showing.say_warnings(stage.first)
        member, others = showing.members_of(study, options)
        scene = stage.scene(member)
        camera = Camera.of(scene.centre, scene.size, scene.up, options.view)
        with film.studio(scene, showing.look_of(options), options.size) as renderer:

            def picture(t: float) -> np.ndarray:
                return drawn(renderer, camera, stage, member, others, t)

            if target.suffix.lower() in film.STILLS:
                film.write_still(target, picture(instant(study, options.time)))
            else:
                rate = options.fps or RATE[target.suffix.lower()]
                times = film.instants(float(study.time[0]), float(study.time[-1]), rate, options.speed)
                film.write_movie(target, (picture(float(t)) for t in times), rate)
    print(f"written: {target}", file=sys.stderr)
    return 0


def instant(study: Study, wanted: float | None) -> float:
    """The time of a still [s], inside the run."""
    first, last = float(study.time[0]), float(study.time[-1])
    if wanted is None:
        return first
    if not first <= wanted <= last:
        raise ModelError("--time", f"{wanted:g} s", f"{first:g} to {last:g} s", "Choose an instant of the run.")
    return wanted


def drawn(renderer: Renderer, camera: Camera, stage: Stage, member: int, others: np.ndarray, t: float) -> np.ndarray:
    """(h, w, 3) one picture."""
    moment = Moment(stage.study.poses(member, t), hidden=MARKS, ghosts=ghosts_of(stage, others, t))
    renderer.draw(moment, camera)
    return renderer.image()
