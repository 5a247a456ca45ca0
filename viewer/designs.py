"""Two designs to compare: captions with what differs between them, one camera that sees both."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftjax.viewer.camera import Camera
from shiftjax.viewer.scene import Scene
from shiftjax.viewer.stage import Design
from shiftjax.viewer.watched import Watched

NAMED = 5  # varied numbers in a caption; more would cover the picture


def captions(own: Design, other: Design, metric: str = "") -> list[str]:
    """Watched and member, the varied numbers in which two designs differ, and a figure where one is asked for."""
    study, member = own.study, own.member
    file, model = Path(study.where).name, study.model.name
    lines = [f"{file if model in (file, '') else f'{file}: {model}'}, member {member}"]
    differing = [name for name in study.design if not _alike(own, other, name)]
    lines += [_line(study, name, float(study.design[name][member])) for name in differing[:NAMED]]
    if len(differing) > NAMED:
        lines.append(f"and {len(differing) - NAMED} more numbers differ")
    if metric and metric in study.metrics:
        lines.append(_line(study, metric, float(study.metrics[metric][member])))
    return lines


def told(lines: list[str], own: Design, time: float) -> list[str]:
    """The lines of a design's caption at a time [s]: with a last one where it stands still."""
    still = standing(own, time)
    return [*lines, still] if still else lines


def standing(own: Design, time: float) -> str:
    """Whether a design stands still at a time [s] because its run does not reach there; "" where it moves."""
    first, last = float(own.study.time[0]), own.study.end(own.member)
    if time > last:
        return f"stands still, its run ended at {last:g} s"
    return f"stands still, its run begins at {first:g} s" if time < first else ""


def camera_of(left: Scene, right: Scene | None, view: str = "iso") -> Camera:
    """Sees both scenes whole, so that they are drawn at one scale."""
    centre, size = (np.array(left.centre), left.size) if right is None else around(left, right)
    return Camera.of(centre, size, left.up, view)


def around(a: Scene, b: Scene) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius [m] of the smallest ball about the balls of two scenes."""
    one, two = np.array(a.centre, float), np.array(b.centre, float)
    apart = float(np.linalg.norm(two - one))
    if apart + b.size <= a.size:
        return one, a.size
    if apart + a.size <= b.size:
        return two, b.size
    radius = (apart + a.size + b.size) / 2
    return one + (two - one) * (radius - a.size) / apart, radius


def _alike(own: Design, other: Design, name: str) -> bool:
    """Whether both designs were given the same number."""
    if name not in other.study.design:
        return False
    mine, theirs = own.study.design[name][own.member], other.study.design[name][other.member]
    return bool(np.array_equal(mine, theirs, equal_nan=True))


def _line(study: Watched, name: str, value: float) -> str:
    unit = study.unit(name)
    return f"{name} = {value:.6g}" + ("" if unit == "1" else f" {unit}")
