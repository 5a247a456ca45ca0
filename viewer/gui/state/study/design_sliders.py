"""Sliders of the varied numbers of a stored study: where they stand, the nearest member, the design that was tried.

No GL, no GUI library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from shiftjax.viewer.gui.state.colours import BY_HAND
from shiftjax.viewer.members.nearest_design import nearest_design
from shiftjax.viewer.members.study_like import Design, StudyLike
from shiftjax.viewer.scene.scene import Ghosts
from shiftjax.viewer.study.ghosts import ghosts_of
from shiftjax.viewer.study.trajectories import GROUND_POSE

__all__ = ["TRIED", "DesignSliders", "with_tried"]

TRIED = -1  # the number of the design by hand among ghosts, which is no member
OPACITY = 0.75  # of it: it is one, over the member shown


class DesignSliders:
    """The sliders of a study.

    Attributes:
        like: the member at which they began, whose parts and other numbers a design has; -1 before.
        values: path of a varied number -> where its slider stands.
        simulates: whether a design is simulated exactly; else the nearest member is shown.
        nearest: the member nearest to them and its distance, in ranges of the numbers; None where there is none.
        wanted: whether the design where they stand is simulated, or has been.
        tried: the design that was simulated last, drawn over the members; tried_at: its numbers.
        problem: why the last one could not be simulated; note: of the study of more members that is made.
        made: path of such a study, "" while there is none. count: members it is to have.
    """

    def __init__(self) -> None:
        self.like, self.simulates, self.wanted = -1, True, False
        self.values: dict[str, float] = {}
        self.nearest: tuple[int, float] | None = None
        self.tried: Design | None = None
        self.tried_at: Mapping[str, float] = {}
        self.problem, self.note, self.made = "", "", ""
        self.count = 1000

    def begin(self, study: StudyLike, member: int) -> None:
        """The sliders at a member; a number that it has not, at the middle of its range."""
        assert study.trials is not None
        self.like = member
        self.values = {}
        for name, (low, high) in study.trials.ranges.items():
            value = float(study.design[name][member])
            self.values[name] = value if np.isfinite(value) else 0.5 * (low + high)
        self.nearest = (member, 0.0)

    def find_nearest(self, study: StudyLike) -> None:
        """Which member is nearest to where they stand."""
        assert study.trials is not None
        self.nearest = nearest_design(study.design, study.trials.ranges, self.values)

    @property
    def is_tried(self) -> bool:
        """Whether the design that was simulated is that of the sliders."""
        return self.tried is not None and self.tried_at == self.values


def with_tried(others: Ghosts | None, tried: Design | None, nodes: tuple[str, ...], time: float) -> Ghosts | None:
    """Ghosts, and the design by hand among them.

    Args:
        nodes: of the study whose ghosts these are; the design's may be some of them.
    """
    if tried is None:
        return others
    colour = np.array([BY_HAND[:3]])
    alone = ghosts_of(tried.scenes, np.zeros(1, np.int64), time, colours=lambda _: colour)
    assert alone is not None
    colours = np.array([[*BY_HAND[:3], OPACITY]])
    poses, parts = alone.poses, alone.parts
    if tried.study.nodes != nodes:
        places = [nodes.index(node) for node in tried.study.nodes]
        poses = np.tile(np.asarray(GROUND_POSE), (1, len(nodes), 1))
        poses[:, places] = alone.poses
        parts = tuple(tuple(dataclasses.replace(part, node=places[part.node]) for part in some) for some in parts)
    number = np.array([TRIED])
    if others is None or not others.parts or others.members is None:
        return Ghosts(poses, colours, parts, number)
    return Ghosts(
        np.concatenate([others.poses, poses]),
        np.concatenate([others.colours, colours]),
        (*others.parts, *parts),
        np.concatenate([others.members, number]),
    )
