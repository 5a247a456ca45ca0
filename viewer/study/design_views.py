"""Designs in pictures: captions with what differs between two, a camera that frames the motion of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.motion import framing, reach
from shiftjax.viewer.motion.framing import Follow
from shiftjax.viewer.scene.camera import Camera

NAMED = 5  # varied numbers in a caption; more would cover the picture


def captions(design: Design, other: Design, metric: str = "") -> list[str]:
    """Study and member, the varied numbers in which two designs differ, and a metric if one is named."""
    study, member = design.study, design.member
    file, model = Path(study.where).name, study.model.name
    lines = [f"{file if model in (file, '') else f'{file}: {model}'}, {study.title(member)}"]
    differing = [name for name in study.design if not _equal(design, other, name)]
    lines += [_line(study, name, float(study.design[name][member])) for name in differing[:NAMED]]
    if len(differing) > NAMED:
        lines.append(f"and {len(differing) - NAMED} more numbers differ")
    if metric and metric in study.metrics:
        lines.append(_line(study, metric, float(study.metrics[metric][member])))
    return lines


def with_state(lines: list[str], design: Design, time: float) -> list[str]:
    """The lines of a design's caption at a time [s]: with another one after its run has ended or before it begins."""
    still = rest_note(design, time)
    return [*lines, still] if still else lines


def rest_note(design: Design, time: float) -> str:
    """A note that a design does not move at a time [s] outside its run; "" within it."""
    first, last = float(design.study.time[0]), design.study.end(design.member)
    if time > last:
        return f"stands still, its run ended at {last:g} s"
    return f"stands still, its run begins at {first:g} s" if time < first else ""


@record
class Framed:
    """How a design is seen during a movie."""

    camera: Camera  # at the first instant
    ground: float | None  # height of the ground plane along up [m], see `Snapshot`
    followed: Follow | None
    start: np.ndarray  # (3,) the followed middle at the first instant [m]

    def camera_at(self, poses: np.ndarray) -> Camera:
        """The camera at poses (nodes, 7)."""
        return framing.moved(self.camera, self.followed, self.start, poses)


def framed(shown: Sequence[Design], others: Sequence[int], view: str, aspect: float, follow: str = "",
           ground: float | None = None) -> list[Framed]:  # fmt: skip
    """How designs are seen so that all of their motion stays in the picture, at one scale.

    Args:
        others: members of the first design's study that are drawn with it.
        view: a standard one; aspect: width over height of a picture.
        follow: a body or `framing.ALL`; "" for a camera that stands still. ground: a height along up [m].

    Raises:
        ModelError: nothing of that name to follow.
    """
    like = Camera.of(shown[0].scene.centre, shown[0].scene.size, shown[0].scene.up, view)
    extents = [reach.extent_of_motion(item.study, item.scene, [item.member, *(others if item is shown[0] else ())])
               for item in shown]  # fmt: skip
    poses = [reach.sampled(item.study, item.member) for item in shown]
    grounds = [ground if ground is not None else framing.ground_of(item.scene, track)
               for item, track in zip(shown, poses, strict=True)]  # fmt: skip
    if not follow:
        camera = like.fitted(framing.joined(extents).points, aspect)
        return [Framed(camera, height, None, np.zeros(3)) for height in grounds]
    followed = [framing.follow(item.scene, follow) for item in shown]
    starts = [one.centre(track[0]) for one, track in zip(followed, poses, strict=True)]
    beside = [framing.beside_followed(one, item.scene, track).points - start
              for one, item, track, start in zip(followed, shown, poses, starts, strict=True)]  # fmt: skip
    camera = like.fitted(np.concatenate(beside), aspect)
    cameras = [camera.looking_at(np.array(camera.target) + start) for start in starts]
    return [Framed(*each) for each in zip(cameras, grounds, followed, starts, strict=True)]


def _equal(design: Design, other: Design, name: str) -> bool:
    """Whether a varied number is the same in both designs."""
    if name not in other.study.design:
        return False
    value, other_value = design.study.design[name][design.member], other.study.design[name][other.member]
    return bool(np.array_equal(value, other_value, equal_nan=True))


def _line(study: StudyLike, name: str, value: float) -> str:
    unit = study.unit(name)
    return f"{name} = {value:.6g}" + ("" if unit == "1" else f" {unit}")
