"""Two designs to compare: captions with what differs between them, one camera that frames both."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftjax.viewer.camera import Camera
from shiftjax.viewer.member_scenes import Design
from shiftjax.viewer.scene import Scene
from shiftjax.viewer.study_like import StudyLike

NAMED = 5  # varied numbers in a caption; more would cover the picture


def captions(own: Design, other: Design, metric: str = "") -> list[str]:
    """Study and member, the varied numbers in which two designs differ, and a metric if one is named."""
    study, member = own.study, own.member
    file, model = Path(study.where).name, study.model.name
    lines = [f"{file if model in (file, '') else f'{file}: {model}'}, member {member}"]
    differing = [name for name in study.design if not _equal(own, other, name)]
    lines += [_line(study, name, float(study.design[name][member])) for name in differing[:NAMED]]
    if len(differing) > NAMED:
        lines.append(f"and {len(differing) - NAMED} more numbers differ")
    if metric and metric in study.metrics:
        lines.append(_line(study, metric, float(study.metrics[metric][member])))
    return lines


def with_state(lines: list[str], own: Design, time: float) -> list[str]:
    """The lines of a design's caption at a time [s]: with another one after its run has ended or before it begins."""
    still = rest_note(own, time)
    return [*lines, still] if still else lines


def rest_note(own: Design, time: float) -> str:
    """A note that a design does not move at a time [s] outside its run; "" within it."""
    first, last = float(own.study.time[0]), own.study.end(own.member)
    if time > last:
        return f"stands still, its run ended at {last:g} s"
    return f"stands still, its run begins at {first:g} s" if time < first else ""


def camera_of(left: Scene, right: Scene | None, view: str = "iso") -> Camera:
    """A camera that frames both scenes, so that they are drawn at one scale."""
    centre, size = (np.array(left.centre), left.size) if right is None else joint_bounds(left, right)
    return Camera.of(centre, size, left.up, view)


def joint_bounds(a: Scene, b: Scene) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius [m] of the smallest sphere about the bounding spheres of two scenes."""
    one, two = np.array(a.centre, float), np.array(b.centre, float)
    apart = float(np.linalg.norm(two - one))
    if apart + b.size <= a.size:
        return one, a.size
    if apart + a.size <= b.size:
        return two, b.size
    radius = (apart + a.size + b.size) / 2
    return one + (two - one) * (radius - a.size) / apart, radius


def _equal(own: Design, other: Design, name: str) -> bool:
    """Whether a varied number is the same in both designs."""
    if name not in other.study.design:
        return False
    mine, theirs = own.study.design[name][own.member], other.study.design[name][other.member]
    return bool(np.array_equal(mine, theirs, equal_nan=True))


def _line(study: StudyLike, name: str, value: float) -> str:
    unit = study.unit(name)
    return f"{name} = {value:.6g}" + ("" if unit == "1" else f" {unit}")
