"""`shiftjax render`: a picture or a movie of a study, on a machine with or without a display."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from shiftjax.cli import common, parsing, showing
from shiftjax.errors import ModelError
from shiftjax.viewer import rendering, side_by_side
from shiftjax.viewer.gl.renderer import Renderer
from shiftjax.viewer.members import study_like
from shiftjax.viewer.members.ghost_choice import drawn as ghosts_drawn
from shiftjax.viewer.members.study_like import Design
from shiftjax.viewer.scene.scene import Snapshot
from shiftjax.viewer.study import design_views
from shiftjax.viewer.study.ended import Ended, ended, greyed
from shiftjax.viewer.study.ghosts import ghosts_of
from shiftjax.viewer.study.member_scenes import MemberScenes

MARKS = frozenset({"kind:frame", "kind:centre"})  # shown in a window on demand


def define(parser: argparse.ArgumentParser) -> None:
    parsing.add_study(parser)
    showing.add_beside(parser)
    add = parser.add_argument
    add("--time", type=float, metavar="T", help="instant of a still [s]; left out, the start")
    add("--out", required=True, metavar="FILE", help=".png for a still; .mp4, .gif or .webp for a movie")
    add("--fps", type=parsing.positive, metavar="N", help="pictures a second of a movie")
    add("--speed", type=parsing.positive, default=1.0, metavar="X", help="seconds of motion a second; default 1")
    add("--force", action="store_true", help="replace FILE where it exists")
    showing.add_camera(parser)
    showing.add_look(parser)


def call(options: argparse.Namespace) -> int:
    target = common.new_file(options.out, (*rendering.STILLS, *rendering.MOVIES), force=options.force)
    with showing.opened(options.study, showing.run_options(options), options.start) as study:
        member, others = showing.members_of(study, options)
        scenes = MemberScenes(study)
        showing.report_warnings(scenes.first)
        showing.between_instants(study, member, options)
        left, snapped = Design(scenes, member), set[float]()
        with showing.beside(left, options) as right, pictures(left, right, others, options, snapped) as picture:
            span = study_like.span(study, right and right.study)
            if target.suffix.lower() in rendering.STILLS:
                rendering.write_still(target, picture(instant(span, options.time)))
            else:
                rate = options.fps or rendering.RATE[target.suffix.lower()]
                times = rendering.instants(*span, rate, options.speed)
                rendering.write_movie(target, (picture(float(t)) for t in times), rate)
    if snapped and not study.at_instants:
        first = f"at {len(snapped)} times, first {min(snapped):g} s"
        common.say(f"note: loops do not close between stored instants {first}: the nearest one is drawn")
    common.say(f"written: {target}")
    return 0


def instant(span: tuple[float, float], wanted: float | None) -> float:
    """The time of a still [s], inside the run."""
    first, last = span
    if wanted is None:
        return first
    if not first <= wanted <= last:
        raise ModelError("--time", f"{wanted:g} s", f"{first:g} to {last:g} s", "Choose an instant of the run.")
    return wanted


@contextmanager
def pictures(left: Design, right: Design | None, others: np.ndarray,
             options: argparse.Namespace, snapped: set[float]) -> Iterator[Callable[[float], np.ndarray]]:  # fmt: skip
    """A function from a time [s] to (h, w, 3) one picture, of one design or of two with captions.

    Args:
        others: (k,) members of the left study drawn as ghosts. snapped: takes the times [s] at which the nearest stored
            instant was drawn.
    """
    width, height = options.size
    look, shown = showing.look_of(options), [left] if right is None else [left, right]
    half = width if right is None else (width - side_by_side.BAR) // 2
    ends = [ended(design.study, design.member) for design in shown]
    ways = design_views.framed(
        shown, ghosts_drawn(others).tolist(), options.view, half / height, options.follow or "", options.ground
    )
    if right is None:
        with rendering.offscreen_renderer(left.scene, look, options.size) as renderer:
            yield lambda t: with_end(drawn(renderer, ways[0], left, others, t, snapped, ends[0]), ends[0], t)
        return
    rest = width - side_by_side.BAR - half
    with rendering.offscreen_renderer(left.scene, look, (half, height)) as first:
        second = Renderer(right.scene, look, (rest, height))

        def picture(t: float) -> np.ndarray:
            halves = zip((first, second), ways, (left, right), (right, left), ends, strict=True)
            images = [with_text(drawn(renderer, way, one, _ghosts(one, left, others), t, snapped, end), one, other, t)
                     for renderer, way, one, other, end in halves]  # fmt: skip
            return side_by_side.joined(*images)

        try:
            yield picture
        finally:
            second.release()


def _ghosts(design: Design, left: Design, others: np.ndarray) -> np.ndarray:
    """The ghosts of a half: the other members of its own study, that of the left half among them."""
    if design.study is not left.study or not len(others):
        return others[:0]
    return np.setdiff1d(np.append(others, left.member), [design.member])


def with_text(image: np.ndarray, design: Design, other: Design, t: float) -> np.ndarray:
    """(h, w, 3) a half with its caption."""
    return rendering.with_text(image, design_views.with_state(design_views.captions(design, other), design, t))


def with_end(image: np.ndarray, end: Ended | None, t: float) -> np.ndarray:
    """(h, w, 3) a picture in which it stands, after that, that the run has ended, and why."""
    if end is None or t <= end.time:
        return image
    return rendering.with_text(image, [end.title(), *filter(None, [end.message])])


def drawn(renderer: Renderer, way: design_views.Framed, design: Design, others: np.ndarray, t: float,
          snapped: set[float], end: Ended | None) -> np.ndarray:  # fmt: skip
    """(h, w, 3) one picture; bodies are grey after the end of a run that ended early."""
    placed, ghosts = design.study.placed([design.member], t), ghosts_of(design.scenes, others, t)
    if placed.snapped[0]:
        snapped.add(t)
    poses, colours = placed.poses[0], {} if end is None or t <= end.time else greyed(design.scene)
    snapshot = Snapshot(poses, hidden=MARKS, colours=colours, ghosts=ghosts, ground=way.ground)
    renderer.draw(snapshot, way.camera_at(poses))
    return renderer.image()
