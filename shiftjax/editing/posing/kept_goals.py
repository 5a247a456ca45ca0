"""Goals of a mechanism that is posed by hand, as its steps say them: those of a drag, and those that stay. Host code.

They are the goals of `inverse_kinematics`: a point of a body at a place, its axes along others, a coordinate at a
value. A drag makes the same kind of goal as one that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from shiftjax.access.frame_kinds import ORTHONORMAL, WORLDS, FrameOn
from shiftjax.editing.path_moves import PathMoves
from shiftjax.editing.scripts import line_of
from shiftjax.editing.standing import Pose, Poses, after, local, within
from shiftjax.errors import ModelError, nearest, need, need_number, shown
from shiftjax.kinematics.positioning.goals import (
    LETTERS,
    LEVELS,
    FrameGoal,
    Goal,
    JointGoal,
    Level,
    bounds_of,
    level_number,
)
from shiftjax.mechanism.coordinates import plain_coordinate, plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import child, listed, matching
from shiftjax.mechanism.records import FIXED, ORIGIN, Frame
from shiftjax.numerics.real_arrays import real_array, three_numbers

HandGoal = FrameGoal | JointGoal
USUAL = {"relative_to": "world", "along": LETTERS, "about": LETTERS, "level": "target", "weight": 1.0}  # not in a line
STATED = ("value", "T", "R", "at", "relative_to")  # words of `keep` about what it is of, and where
COUNTING = ("along", "about", "box", "turn")  # words about which freedoms count, and how far they may be off
OF_FRAMES = ("T", "R", "at", "relative_to", "along", "about", "turn")  # words that a coordinate does not have
LEAST = 1e-50  # weight: the fourth powers of smaller ones, and of the inverse of larger ones, are nearly no numbers
NUMBERED = re.compile(r"( \d+)?")  # after the path in the name of a goal that goes by it
AXES = dict(zip(LETTERS, np.eye(3), strict=True))


class GoalWords:
    """What steps can say of goals of a model.

    Args:
        coordinates: paths of those that can be asked for.
    """

    def __init__(self, model: Model, coordinates: Collection[str]) -> None:
        self._model, self._coordinates = model, frozenset(coordinates)
        self._bodies = [path for path, _ in model.bodies()]

    @cached_property
    def _frames(self) -> dict[str, tuple[str, Frame]]:
        """Path -> its body, and the frame."""
        bodies = [(FIXED, self._model.frames), *((path, body.frames) for path, body in self._model.bodies())]
        return {child(path, frame.name): (path, frame) for path, frames in bodies for frame in frames}

    def body(self, body: str) -> str:
        """The path of a body that is dragged or turned.

        Raises:
            ModelError: none of the model, or several.
        """
        need("body to drag", body, str, "the path of a body")
        return self._one("body to drag", body, self._bodies)

    def coordinate(self, coordinate: str, where: str) -> str:
        """The path of a coordinate of one number.

        Raises:
            ModelError: no such coordinate, or one at which a loop is cut.
        """
        path = plain_coordinate(self._model, coordinate, where)
        if path not in self._coordinates:
            raise ModelError(where, shown(path), "a coordinate of one number", "Drag its body instead.")
        return path

    def point(self, body: str, point: Any, target: Any) -> FrameGoal:
        """A body with a point of it (3,) [m, in the body] at a place of the world (3,) [m]."""
        full = self.body(body)
        at, to = (
            three_numbers(f"drag {full}: {name}", given) for name, given in (("point", point), ("target", target))
        )
        return FrameGoal(FrameOn(full, T=at), T=to)

    def axes(self, body: str, R: Any, at: Any) -> FrameGoal:
        """A body with its axes along R (3, 3) of the world, about a point of it (3,) [m, in the body]."""
        full = self.body(body)
        return FrameGoal(FrameOn(full, T=three_numbers(f"orient {full}: at", at)), R=rotation(f"orient {full}: R", R))

    def kept(
        self, of: str, words: Mapping[str, Any], hand: Sequence[HandGoal], poses: Poses, values: Mapping[str, float]
    ) -> HandGoal:  # fmt: skip
        """A goal that stays, where the mechanism stands unless it is said.

        Args:
            of: a coordinate, a body or a frame; "" for the goal of the hand. words: the other arguments of `Poser.keep`
                but its name. hand: what the last step wanted.
        """
        need("keep", of, str, "the path of a coordinate, a body or a frame")
        where = f"keep {of}".rstrip()
        if not of:
            goal = _of_hand(hand, words)
        else:
            stands = any(_says(words, name) for name in ("T", "R", "relative_to"))
            path, is_frame = self._element(of, where, stands=stands)
            goal = self._frame(path, words, poses) if is_frame else self._joint(path, words, values, where)
        return ranked_goal(goal, words["level"], words["weight"], where)

    def _joint(self, path: str, words: Mapping[str, Any], values: Mapping[str, float], where: str) -> JointGoal:
        _refuse_words(where, words, OF_FRAMES, "of a coordinate", "a value and a box of a coordinate")
        value = words["value"]
        if value is not None:
            need_number(f"{where}: value", value, "a finite number [rad or m]")
        return JointGoal(
            path, values[path] if value is None else float(value), region(f"{where}: box", words["box"], 1)
        )

    def _frame(self, path: str, words: Mapping[str, Any], poses: Poses) -> FrameGoal:
        where, at, T, R = f"keep {path}", words["at"], words["T"], words["R"]
        if words["value"] is not None:
            raise ModelError(f"{where}: value", shown(words["value"]), "T and R of a body or frame", "Leave it out.")
        frame = FrameOn(path, T=np.zeros(3) if at is None else three_numbers(f"{where}: at", at))
        seen = self._seen(words["relative_to"], path, where)
        T = None if T is None else three_numbers(f"{where}: T", T)
        R = None if R is None else rotation(f"{where}: R", R)
        if T is None and R is None:
            R, T = within(self.seen_pose(seen, poses), self.pose_of(frame, poses))
        return _counting(FrameGoal(frame, T=T, R=R, relative_to=seen), words, where)

    def _seen(self, given: Any, path: str, where: str) -> str:
        """The path of the frame in which a goal of another one is; "world" for ground."""
        where = f"{where}: relative_to"
        need(where, given, str, "the path of a body or a frame")
        if given in WORLDS:
            return "world"
        origins = {child(body, ORIGIN): body for body in self._bodies}
        full = self._one(where, given, self._bodies if matching(self._bodies, given) else [*origins, *self._frames])
        full = origins.get(full, full)
        bodies = [self._frames.get(one, (one, None))[0] for one in (full, path)]
        if bodies[0] == bodies[1]:
            fault = f"{full}, of the same body as {path}"
            raise ModelError(where, fault, "a frame of another body", "Name what it should stand still to.")
        return full

    def _element(self, of: str, where: str, *, stands: bool) -> tuple[str, bool]:
        """A coordinate, else a body, else a frame by its path or the end of one, and whether it is one of both; a body
        beside a joint of the same path goes by its origin, or by what it `stands` at."""
        origins = {child(path, ORIGIN): path for path in self._bodies}
        plain = plain_coordinates(self._model)
        joints = [path for path, _ in self._model.joints()]
        every = (plain, self._bodies, [*origins], [*self._frames])
        for known in (*every[1:], plain) if stands else every:
            if matching(known, of) and (stands or not (known is self._bodies and matching(joints, of))):
                path = self._one(where, of, known)
                return (self.coordinate(path, where), False) if known is plain else (origins.get(path, path), True)
        if matching(joints, of):
            return self.coordinate(of, where), False  # which says what is there instead
        return self._one(where, of, [*plain, *self._bodies, *self._frames]), True

    def _one(self, where: str, given: str, known: Collection[str]) -> str:
        matches = matching(known, given)
        if len(matches) > 1:
            fault = f"{given}, of which there are {len(matches)}"
            raise ModelError(where, fault, listed(matches), "Write the path in full.")
        if not matches:
            todo = nearest(given, [*known, *(path.rpartition(":")[2] for path in known)]) or "Name one of them."
            raise ModelError(where, repr(given), f"one of {listed(known)}", todo)
        return matches[0]

    def pose_of(self, frame: FrameOn, poses: Poses) -> Pose:
        """(R (3, 3), p (3,) [m]) of a frame of a goal in the world."""
        body, placed = self._frames.get(frame.base, (frame.base, None))
        return after(after(poses[body], local(placed)), (np.asarray(frame.R, float), np.asarray(frame.T, float)))

    def seen_pose(self, path: str, poses: Poses) -> Pose:
        """(R (3, 3), p (3,) [m]) in the world of the frame in which a goal is."""
        return (np.eye(3), np.zeros(3)) if path == "world" else self.pose_of(FrameOn(path), poses)

    def body_of(self, goal: Goal) -> str:
        """The body that a goal of a frame is about."""
        assert isinstance(goal, FrameGoal)
        return self._frames.get(goal.frame.base, (goal.frame.base, None))[0]

    def has(self, goal: HandGoal) -> bool:
        """Whether the model has what a goal is about, and another body than that from which it is seen."""
        if isinstance(goal, JointGoal):
            return goal.coordinate in self._coordinates
        paths = goal.frame.base, goal.relative_to
        if not {*paths} <= {"world", *self._bodies, *self._frames}:
            return False
        of, seen_from = (self._frames.get(path, (path, None))[0] for path in paths)
        return of != seen_from


def _says(words: Mapping[str, Any], name: str) -> bool:
    """Whether a word is said: not what it is where it is left out."""
    given, usual = words[name], USUAL.get(name)
    return given is not None if usual is None else not (isinstance(given, str) and given == usual)


def _refuse_words(where: str, words: Mapping[str, Any], names: Collection[str], fault: str, allowed: str) -> None:
    for name in names:
        if _says(words, name):
            raise ModelError(f"{where}: {name}", fault, allowed, "Leave it out.")


def _of_hand(hand: Sequence[HandGoal], words: Mapping[str, Any]) -> HandGoal:
    """The goal of the last drag or turn, of which some freedoms may count, or a region."""
    if len(hand) != 1:
        fault = f"{len(hand)} coordinates that were turned at once" if hand else "no drag or turn before it"
        todo = "Drag a body or turn a joint first, or name a coordinate, a body or a frame."
        raise ModelError("keep", fault, "what the last step wanted", todo)
    _refuse_words("keep", words, STATED, "without what it is of", "a path before it, or the goal of the last step")
    (goal,) = hand
    if isinstance(goal, FrameGoal):
        return _counting(goal, words, "keep")
    _refuse_words("keep", words, OF_FRAMES, "of a coordinate", "a box of a coordinate")
    return replace(goal, box=region("keep: box", words["box"], 1))


def _counting(goal: FrameGoal, words: Mapping[str, Any], where: str) -> FrameGoal:
    """A goal of a frame with what is said of the freedoms that count."""
    for name, number, without in (("along", "T", goal.T is None), ("about", "R", goal.R is None)):
        letters = words[name]
        need(f"{where}: {name}", letters, str, 'letters of "xyz"')
        if not letters or len(set(letters)) < len(letters) or set(letters) - set(LETTERS):
            raise ModelError(f"{where}: {name}", repr(letters), 'different letters of "xyz"', 'As in "xy".')
        for one in (name, {"T": "box", "R": "turn"}[number]) if without else ():
            if _says(words, one):
                raise ModelError(f"{where}: {one}", f"without {number}", f"with {number} alone", "Leave it out.")
    regions = {name: region(f"{where}: {name}", words[name], 3) for name in ("box", "turn")}
    return replace(goal, along=words["along"], about=words["about"], **regions)


def region(where: str, given: Any, count: int) -> np.ndarray | None:
    """(count, 2) lower and upper ends, (2,) of one number; None where nothing is given.

    Args:
        given: half widths, or pairs of ends, as `FrameGoal.box`; None among them for no end.

    Raises:
        ModelError: something else.
    """
    if given is None:
        return None
    if isinstance(given, list | tuple):
        rows = [given] if count == 1 else given
        some = [_with_ends(one) if isinstance(one, list | tuple) else np.inf if one is None else one for one in rows]
        given = some[0] if count == 1 else some
    ends = bounds_of(where, given, count)
    return ends[0] if count == 1 else ends


def _with_ends(pair: Sequence[Any]) -> list[Any]:
    """Ends of one number, of which None is none."""
    return [(-np.inf, np.inf)[min(k, 1)] if end is None else end for k, end in enumerate(pair)]


def ends_in_words(ends: np.ndarray) -> Any:
    """Ends of a region as a script writes them: None where there is none."""
    if ends.ndim > 1:
        return [ends_in_words(pair) for pair in ends]
    return [float(end) if np.isfinite(end) else None for end in ends]


def path_of(goal: HandGoal) -> str:
    """Of the coordinate, the body or the frame that a goal is about."""
    return goal.coordinate if isinstance(goal, JointGoal) else goal.frame.base


def _moved(goal: HandGoal, moves: Sequence[PathMoves]) -> HandGoal:
    """The same goal where its objects went elsewhere; one of a body that became a part of another one is of the place
    in that where its own is."""
    for one in moves:
        if isinstance(goal, JointGoal):
            goal = replace(goal, coordinate=one.coordinate(goal.coordinate))
            continue
        base, pose = one.carried_to(goal.frame.base)
        R, T = after(pose, (np.asarray(goal.frame.R, float), np.asarray(goal.frame.T, float)))
        frame = goal.frame if base == goal.frame.base else FrameOn(base, T=T, R=R)
        goal = replace(goal, frame=frame, **_seen_from(goal, *one.carried_to(goal.relative_to)))
    return goal


def _seen_from(goal: FrameGoal, path: str, pose: Pose) -> dict[str, Any]:
    """The words of a goal that change where the frame that it is seen from is at a pose in another one."""
    if path == goal.relative_to or goal.relative_to == "world":
        return {}
    R, p = pose
    if np.array_equal(R, np.eye(3)) and not p.any():
        return {"relative_to": path}
    words: dict[str, Any] = {"relative_to": path}
    if goal.T is not None:
        words["T"] = R @ np.asarray(goal.T, float) + p
    if goal.R is not None:
        words["R"] = R @ np.asarray(goal.R, float)
    return words


def goals_after(goals: Mapping[str, HandGoal], moves: Sequence[PathMoves]) -> dict[str, HandGoal]:
    """Goals of a model where its objects went elsewhere: those that go by their path go by the one of now, with another
    number where a goal has that name."""
    endings = {name: name.removeprefix(path_of(goal)) for name, goal in goals.items()}
    by_path = {name for name, ending in endings.items() if name != ending and NUMBERED.fullmatch(ending)}
    taken, out = goals.keys() - by_path, dict[str, HandGoal]()
    for name, before_it in goals.items():
        goal = _moved(before_it, moves)
        path = path_of(goal)
        names = (f"{path}{ending}" for ending in (endings[name], "", *(f" {k}" for k in range(2, len(goals) + 3))))
        now = name if name not in by_path else next(free for free in names if free not in taken)
        taken.add(now)
        out[now] = goal
    return out


def same_unit(before: HandGoal, now: HandGoal, units_before: Mapping[str, str], units: Mapping[str, str]) -> bool:
    """Whether the value of a goal means what it did: its coordinate did not become one of another unit."""
    if isinstance(before, JointGoal) and isinstance(now, JointGoal):
        return units_before[before.coordinate] == units.get(now.coordinate)
    return True


def name_for(goal: HandGoal, goals: Mapping[str, HandGoal]) -> str:
    """The name of a goal among others: that of one about the same freedoms of the same point, which it replaces; else
    its path, with a number where others have it."""
    path = path_of(goal)
    names = [path, *(f"{path} {k}" for k in range(2, len(goals) + 3))]
    return next(name for name in names if name not in goals or _subject(goals[name]) == _subject(goal))


def _subject(goal: HandGoal) -> Any:
    if isinstance(goal, JointGoal):
        return goal.coordinate
    free = goal.T is None, goal.R is None, goal.along, goal.about
    return goal.frame.base, tuple(goal.frame.T), goal.relative_to, *free


def replacing_note(name: str, goal: HandGoal, goals: Mapping[str, HandGoal]) -> tuple[str, ...]:
    """A sentence on the goal whose name another one takes; none where there is none, or the same one."""
    before = goals.get(name)
    if before is None or keep_line(before, "") == keep_line(goal, ""):
        return ()
    return (f"the goal {name!r}, of {path_of(before)}, is replaced by another one",)


def keep_line(goal: HandGoal, name: str) -> str:
    """The step that keeps a goal, as Python writes it; name: "" where it follows from the goal."""
    words: dict[str, Any] = {}
    if isinstance(goal, FrameGoal):
        words = {key: x for key, x in (("T", goal.T), ("R", goal.R)) if x is not None}
        words |= {"at": goal.frame.T} if np.any(goal.frame.T) else {}
    words |= {key: ends_in_words(box) for key in ("box", "turn") if (box := getattr(goal, key, None)) is not None}
    words |= {key: given for key, usual in USUAL.items() if (given := getattr(goal, key, usual)) != usual}
    words |= {"name": name} if name else {}
    args = (path_of(goal), *((goal.value,) if isinstance(goal, JointGoal) else ()))
    return line_of("keep", args, words)


def without(goals: list[Goal], others: Collection[HandGoal]) -> Iterator[Goal]:
    """Goals of a model, but for those of a coordinate about which one of the same level is kept."""
    taken = {(one.coordinate, level_number("keep", one.level)) for one in others if isinstance(one, JointGoal)}
    for goal in goals:
        if not isinstance(goal, JointGoal) or (goal.coordinate, level_number("keep", goal.level)) not in taken:
            yield goal


def goal_named(goals: Mapping[str, HandGoal], name: str, where: str) -> str:
    """The name of a goal, by itself or the end of it.

    Raises:
        ModelError: none of that name, or several.
    """
    need(where, name, str, "the name of a goal")
    matches = matching(goals, name)
    if len(matches) != 1:
        todo = nearest(name, [*goals]) or "`goals` has the names."
        raise ModelError(where, shown(name), f"one of {listed(goals)}" if goals else "no goal", todo)
    return matches[0]


def ranked_goal(goal: HandGoal, level: Level, weight: float, where: str) -> HandGoal:
    """The same goal on a level, with a weight there.

    Raises:
        ModelError: neither a number nor a name of one; a weight that is not above 0.
    """
    if isinstance(level, bool):
        raise ModelError(f"{where}.level", shown(level), f"a number, or one of {[*LEVELS]}", "Smaller ones come first.")
    level_number(where, level)
    need_number(f"{where}: weight", weight, "a positive number")
    if not weight > 0.0:
        raise ModelError(f"{where}: weight", shown(weight), "a positive number", "Release it instead.")
    if not LEAST <= weight <= 1.0 / LEAST:
        raise ModelError(
            f"{where}: weight", shown(weight), f"{LEAST:g} to {1.0 / LEAST:g}", "Use another level instead."
        )
    return replace(goal, level=level, weight=float(weight))


def at_level(goal: HandGoal, level: str | float) -> HandGoal:
    """The same goal on another level."""
    return replace(goal, level=level)


def before(locked: Sequence[Goal], others: Sequence[Goal]) -> Sequence[Goal]:
    """Goals of locks on a level before all others, of which some may be on theirs or before."""
    first = min((level_number("goal", goal.level) for goal in others), default=np.inf)
    if first > LEVELS["lock"]:
        return locked
    return [replace(goal, level=float(np.nextafter(first, -np.inf))) for goal in locked]


def rotation(where: str, given: Any) -> np.ndarray:
    """(3, 3) a rotation matrix.

    Raises:
        ModelError: something else.
    """
    array = real_array(given)
    if array is None or array.shape != (3, 3) or not np.isfinite(array).all():
        raise ModelError(where, shown(given), "a rotation matrix of 3 x 3", "Give its rows.")
    if np.abs(array @ array.T - np.eye(3)).max() > ORTHONORMAL or np.linalg.det(array) < 0.0:
        raise ModelError(where, shown(given), "orthonormal columns, right-handed", "Correct it.")
    return array


def direction(where: str, given: Any) -> np.ndarray:
    """(3,) of length 1: "x", "y", "z", or three numbers that are not all 0.

    Raises:
        ModelError: something else.
    """
    if isinstance(given, str) and given in AXES:
        return AXES[given]
    array = three_numbers(where, given)
    if not array.any():
        raise ModelError(where, "a vector of length 0", 'a direction, or "x", "y", "z"', "Say about which axis.")
    unit = array / np.abs(array).max()  # squares of large numbers are none
    return unit / np.linalg.norm(unit)
