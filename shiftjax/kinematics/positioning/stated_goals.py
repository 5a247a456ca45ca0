"""What a model itself states of posing, as goals: its locks, targets and postures. Host code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from shiftjax.access import kinematic_terms as terms
from shiftjax.access.answers import Question, answers_of
from shiftjax.access.frame_kinds import FrameChain, FrameChains
from shiftjax.access.lane_state import LaneState
from shiftjax.access.stated_state import StatedState
from shiftjax.algebra import Mat
from shiftjax.errors import ModelError
from shiftjax.joints import KINDS
from shiftjax.kinematics.positioning.goals import LEVELS, FrameGoal, Goal, JointGoal, level_number
from shiftjax.kinematics.positioning.ground import ground_of, number_of
from shiftjax.mechanism.coordinates import plain_coordinate
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.posing import locked_coordinates, pair_of, path_of, wanted_in

Pair = tuple[str, str]  # a frame, and the one that sees it


def states_goals(model: Model) -> bool:
    """Whether a model has locks, targets or postures."""
    joints = any(joint.lock or joint.target or joint.posture for _, joint in model.joints())
    return joints or any(body.lock for _, body in model.bodies())


def stated_goals(stated: StatedState, given: Sequence[Goal] = ()) -> list[Goal]:
    """The goals of a model, of members that begin somewhere; those of a call count in their place where both say
    something of a coordinate, or of a frame in the same one, on one level."""
    model = stated.prepared.model
    coordinates, pairs = locks_of(model)
    every = [*locks_at(stated, coordinates, pairs), *wanted_goals(stated)]
    named = {_key(model, goal) for goal in given}
    return [goal for goal in every if _key(model, goal) not in named]


def wanted_goals(stated: StatedState) -> list[Goal]:
    """The targets and postures of a model."""
    places = {number.path: k for k, number in enumerate(stated.prepared.plan.numbers)}
    return [
        JointGoal(path, number_of(stated, places[number]), level=_level(key, wanted.level), weight=wanted.weight)
        for path, key, number, wanted in wanted_in(stated.prepared.model)
    ]


def _level(key: str, level: float | None) -> str | float:
    """A level by its name where it has one."""
    return key if level is None else next((name for name, x in LEVELS.items() if x == level), level)


def locks_of(model: Model) -> tuple[list[str], list[Pair]]:
    """What a model locks: coordinates of one number, and frames in others, of bodies and of balls."""
    coordinates, pairs = list[str](), list[Pair]()
    for path, joint in model.joints():
        if joint.lock and KINDS[joint.type].placed:
            pairs += [pair_of(joint)] if KINDS[joint.type].primitives else []
        else:
            coordinates += [path_of(path, joint, name) for name in locked_coordinates(joint)]
    return coordinates, pairs + [(path, "world") for path, body in model.bodies() if body.lock]


def locks_at(stated: StatedState, coordinates: Iterable[str], pairs: Sequence[Pair]) -> list[Goal]:
    """Goals of locks: coordinates and frames stay where members begin."""
    goals: list[Goal] = [JointGoal(path, level="lock") for path in coordinates]
    poses = _poses(stated, pairs) if pairs else []
    for (frame, relative), (R, T) in zip(pairs, poses, strict=True):
        goals.append(FrameGoal(frame, T=T, R=R, relative_to=relative, level="lock"))
    return goals


def _poses(stated: StatedState, pairs: Sequence[Pair]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rotations (B, 3, 3) and places (B, 3) [m] of frames as others see them; those of members that are none are 1."""
    model, plan = stated.prepared.model, stated.prepared.plan
    chains, (ground, x) = FrameChains(model, plan), ground_of(stated)
    made = [tuple(chains.of(name, "lock") for name in pair) for pair in pairs]
    out = []
    for frame, relative in made:
        question = Question(("stands", frame.key(), relative.key()), partial(_pose, frame=frame, relative=relative))
        there = answers_of(ground).in_numpy(question, x)
        there = np.where(np.isfinite(there).all((1, 2), keepdims=True), there, np.eye(4))
        out.append((there[:, :3, :3], there[:, :3, 3]))
    return out


def _pose(at: LaneState, *, frame: FrameChain, relative: FrameChain) -> Mat:
    return terms.pose(at, frame, relative, None)


def _key(model: Model, goal: Goal) -> Any:
    """Of what a goal is, and its level; None of what no model states."""
    level = level_number("goals", goal.level)
    try:
        if isinstance(goal, JointGoal):
            return plain_coordinate(model, goal.coordinate, "goals"), level
        if isinstance(goal, FrameGoal) and isinstance(goal.frame, str) and isinstance(goal.relative_to, str):
            seen = goal.relative_to if goal.relative_to == "world" else model.resolve(goal.relative_to)
            return model.resolve(goal.frame), seen, level
    except ModelError:  # which the search itself refuses, with its place among the goals
        pass
    return None
