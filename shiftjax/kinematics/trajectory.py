"""A sequence of poses as a table: coordinates, and places and axes of frames, one pose a line. Host code.

The heads of the columns are those of the tables that runs and paths are written as: `crank_pivot.q [rad]`,
`coupler:tip.position[0] [m]`, `coupler:tip.orientation[0] [1]`. So what `follow` and `run` write is read here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from shiftjax.errors import ModelError, need, need_path
from shiftjax.formats.files import load, write_text
from shiftjax.formats.number_table import csv_columns, named_columns
from shiftjax.joints import KINDS
from shiftjax.kinematics.positioning.goals import LETTERS, FrameGoal, Goal, JointGoal
from shiftjax.measures.channels import CHANNELS
from shiftjax.mechanism.coordinates import plain_coordinate, plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed, matching, split
from shiftjax.mechanism.posing import pair_of
from shiftjax.mechanism.records import FIXED, ORIGIN
from shiftjax.quantities import in_si
from shiftjax.record import record
from shiftjax.rotations import quaternion_of_rotation, rotation_of_quaternion, rotation_of_vector

HEAD = re.compile(r"(.*?)(?:\s+\[([^\[\]]*)\])?")  # a path, and its unit after a blank
OF_FRAME = re.compile(r"\.(position|orientation)\[(\d)\]")
OF_JOINT = re.compile(r"\.q\[(\d+)\]")
LAST_WORD = re.compile(r"(\w+)(?:\[\d+\])*$")
POSED = ("q", "position", "orientation")  # channels of poses
TIME, NUMBER = "time", "pose"  # heads of columns that tell the lines from each other
PURE = ("1", "mixed")  # units of numbers that are taken as they are
SAME = 1e-9  # rad, m or 1: two columns of one number, of which one was rounded
NORM = 1e-6  # by which the length of a quaternion may be off 1: more is no rounding
WHOLE = 1e-15  # off 1: a quaternion of all digits, which is taken to the bit


@record
class Trajectory:
    """Poses of a mechanism, one after the other, of which some coordinates or frames are known.

    Attributes:
        name: of the file, "" of none. count: of poses. time: (n,) [s], None where there is none.
        q: coordinate of one number -> (n,) [rad or m], units: its unit. joints: joint that turns any way -> (n, nq), as
            its channel q.
        positions: frame -> (n, 3) its place in the world [m], NaN for components that are free. orientations: frame ->
            (n, 3, 3) its axes in the world, as columns. pairs: of such joints the frames of child and parent, and how
            many numbers of a place they have.
        notes: which columns of a file were left out.
    """

    name: str
    count: int
    time: np.ndarray | None = None
    q: Mapping[str, np.ndarray] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    joints: Mapping[str, np.ndarray] = field(default_factory=dict)
    positions: Mapping[str, np.ndarray] = field(default_factory=dict)
    orientations: Mapping[str, np.ndarray] = field(default_factory=dict)
    pairs: Mapping[str, tuple[str, str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Those of all poses, as `inverse_kinematics` takes them: a member a pose."""
        goals: list[Goal] = [JointGoal(path, values) for path, values in self.q.items()]
        for joint, values in self.joints.items():
            child, parent, shifts = self.pairs[joint]
            T = np.concatenate([values[:, :shifts], np.zeros((self.count, 3 - shifts))], axis=1) if shifts else None
            goals.append(FrameGoal(child, T=T, R=rotations(values[:, shifts:]), relative_to=parent))
        for frame, places in self.positions.items():
            along = "".join(letter for letter, known in zip(LETTERS, ~np.isnan(places[0]), strict=True) if known)
            goals.append(FrameGoal(frame, T=np.nan_to_num(places), along=along))
        return (*goals, *(FrameGoal(frame, R=R) for frame, R in self.orientations.items()))

    def at(self, row: int) -> list[Goal]:
        """The goals of one pose."""
        parts = ("q", "joints", "positions", "orientations")
        rows = {name: {path: x[row, None] for path, x in getattr(self, name).items()} for name in parts}
        out: list[Goal] = []
        for goal in replace(self, count=1, **rows).goals:
            arrays = {name: getattr(goal, name, None) for name in ("T", "R", "value")}
            out.append(replace(goal, **{name: x[0] for name, x in arrays.items() if x is not None}))
        return out

    def drive(self, *coordinates: str) -> dict[str, np.ndarray]:
        """Coordinate -> its places (n,) [rad or m], as `follow` takes them; of all that are known where none is named.

        Raises:
            ModelError: a coordinate that is not among them.
        """
        out: dict[str, np.ndarray] = {}
        for name in coordinates or [*self.q]:
            need("trajectory: coordinate", name, str, "the path of a coordinate")
            matches = matching(self.q, name)
            if len(matches) != 1:
                allowed = f"one of {listed(self.q, 8)}" if self.q else "no coordinate of one number is in it"
                raise ModelError(f"trajectory {self.name}".strip(), repr(name), allowed, "Name one of its columns.")
            out[matches[0]] = self.q[matches[0]]
        return out

    def write(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the table as CSV, all digits; `read_trajectory` reads it.

        Args:
            force: replace what is there.

        Raises:
            ModelError: another suffix, something of that name, a place that cannot be written.
        """
        need_path("trajectory: path", path)
        need("trajectory: force", force, bool, "True or False")
        target = Path(path)
        if target.suffix.lower() != ".csv":
            raise ModelError(str(path), f"suffix {target.suffix!r}", ".csv", "Write NAME.csv.")
        if target.exists() and not force:
            raise ModelError(str(path), "something of that name", "a name that is free", "Choose another, or force it.")
        columns: dict[str, np.ndarray] = {f"{NUMBER} [1]": np.arange(self.count)}
        columns |= {} if self.time is None else {f"{TIME} [s]": self.time}
        for one, values in self.q.items():  # that of a joint of several has its name in place of the q
            columns[f"{one}{'' if split(one)[1] else '.q'} [{self.units[one]}]"] = values
        for joint, values in self.joints.items():
            units = units_of_joint(self.pairs[joint][2], values.shape[1])
            columns |= {f"{joint}.q[{k}] [{unit}]": values[:, k] for k, unit in enumerate(units)}
        for frame, places in self.positions.items():
            known = named_columns(f"{frame}.position", places, "m")
            columns |= {head: values for head, values in known.items() if not np.isnan(values).any()}
        for frame, R in self.orientations.items():
            turned = np.array([quaternion_of_rotation(one.tolist()) for one in R]).reshape(-1, 4)
            columns |= named_columns(f"{frame}.orientation", turned, "1")
        text = io.StringIO(newline="")
        out = csv.writer(text, lineterminator="\n")
        out.writerow(columns)
        out.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        write_text(target, text.getvalue())
        return target

    def __repr__(self) -> str:
        parts = (([*self.q, *self.joints], "coordinates"), ({*self.positions, *self.orientations}, "frames"))
        known = ", ".join(f"{len(paths)} {what}" for paths, what in parts if paths)
        return f"Trajectory({self.name or 'unnamed'}: {self.count} poses of {known or 'nothing'})"


def read_trajectory(path: str | Path, model: Model | str | Path) -> Trajectory:
    """The poses of a CSV table, a pose a line.

    Its heads name coordinates, `crank_pivot.q [deg]` or `crank_pivot`; all numbers of a joint that turns any way,
    `six.q[0]` to `six.q[6]`; components of the place of a frame in the world, `coupler:tip.position[0] [mm]`, of which
    those that are left out are free; and its axes, `coupler:tip.orientation[0]`, by a quaternion, w first, or a
    rotation vector. Without a unit numbers are in SI. `time [s]` and `pose` count the lines. Other channels, as those
    of a run, are left out, and `notes` names them.

    Args:
        model: whose coordinates and frames they are.

    Raises:
        ModelError: a file that cannot be read, a head that names nothing of the model, numbers that are not finite.
    """
    need_path("trajectory: path", path)
    model = model if isinstance(model, Model) else load(model)
    target = Path(path)
    where = f"trajectory {target.name}"
    try:
        columns = csv_columns(target, where, "coordinates and frames")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(where, f"{path}: {error}", "a CSV file that can be read", "Check the name.") from None
    if not columns or not len(next(iter(columns.values()))):
        raise ModelError(where, "no pose", "a heading, and a line of numbers for each pose", "Add some.")
    reader = _Columns(model, where)
    for head, values in columns.items():
        try:
            reader.take(head, values)
        except ModelError as error:
            place = error.where if error.where.startswith(where) else f"{where}, column {head!r}: {error.where}"
            raise ModelError(place, error.found, error.allowed, error.todo) from None
    return reader.trajectory(target.name, len(values))


@dataclass
class _Columns:
    """Columns of a table, as they come."""

    model: Model
    where: str
    time: np.ndarray | None = None
    q: dict[str, np.ndarray] = field(default_factory=dict)
    parts: dict[tuple[str, str], dict[int, np.ndarray]] = field(default_factory=dict)  # kind and path -> number -> it
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._plain, self._joints = [*plain_coordinates(self.model)], dict(self.model.joints())

    def take(self, head: str, values: np.ndarray) -> None:
        """One column."""
        match = HEAD.fullmatch(head)
        assert match is not None  # it fits any text
        text, unit = match[1], match[2]
        target, last = split(text)
        if text not in (TIME, NUMBER) and _is_other_channel(text) and not matching(self._plain, text):
            self.left_out.append(text)
            return
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            fault = f"{values[bad[0]]} in column {head!r}, pose {bad[0]}"
            raise ModelError(self.where, fault, "finite numbers", "Correct it, or leave that line out.")
        if text == TIME:
            if self.time is not None:
                raise ModelError(self.where, f"{head} twice", "one column of times", "Leave one column out.")
            self.time = values * self._size(head, unit, "s")
        elif text == NUMBER:
            pass  # lines stand in their order
        elif of_frame := OF_FRAME.fullmatch(last):
            kind, k = of_frame[1], int(of_frame[2])
            size = self._size(head, unit, "m" if kind == "position" else "rad")
            self._part(head, kind, self._frame(target), k, values * size)
        elif (of_joint := OF_JOINT.fullmatch(last)) and (joint := self._turning(target)):
            k, shifts = int(of_joint[1]), KINDS[self._joints[joint].type].shifts
            self._part(head, "q", joint, k, values * self._size(head, unit, "m" if k < shifts else "rad"))
        else:
            full = plain_coordinate(self.model, text, self.where)
            values = values * self._size(head, unit, self.model.coordinate_units()[full])
            if full in self.q and np.abs(values - self.q[full]).max() > SAME:  # a path has its parameter, too
                raise ModelError(self.where, f"{full} twice", "each coordinate once", "Leave one column out.")
            self.q[full] = values

    def _size(self, head: str, unit: str | None, wanted: str) -> float:
        """What a unit is in SI."""
        if unit is None or unit in PURE:
            return 1.0
        return in_si(f"1 {unit}", wanted, f"{self.where}: {head}")

    def _part(self, head: str, kind: str, path: str, k: int, values: np.ndarray) -> None:
        numbers = self.parts.setdefault((kind, path), {})
        if k in numbers and not np.abs(values - numbers[k]).max() <= SAME:  # a logger writes what was asked for, too
            raise ModelError(self.where, f"{head} twice", "each number once", "Leave one column out.")
        numbers[k] = values

    def _turning(self, target: str) -> str:
        """The path of a joint that turns any way; "" of anything else."""
        full = self.model.resolve(target)
        return full if full in self._joints and KINDS[self._joints[full].type].placed else ""

    def _frame(self, target: str) -> str:
        """The path of a frame, that of its body for an origin."""
        full = self.model.resolve(target)
        if self.model.kind_of(full) not in ("frame", "body"):
            fault = f"{full}, a {self.model.kind_of(full)}"
            raise ModelError(self.where, fault, "a body or a frame", "Name one of these.")
        if full.partition(":")[0] == FIXED:
            raise ModelError(self.where, f"{full}, of ground", "a frame of a body", "Leave it out: ground stands.")
        return full.removesuffix(f":{ORIGIN}")

    def trajectory(self, name: str, count: int) -> Trajectory:
        """All of them."""
        joints, pairs = dict[str, np.ndarray](), dict[str, tuple[str, str, int]]()
        positions, axes = dict[str, np.ndarray](), dict[str, np.ndarray]()
        for (kind, path), numbers in self.parts.items():
            shifts = KINDS[self._joints[path].type].shifts if kind == "q" else 0
            self._need_numbers(path, kind, {*numbers})
            some = np.full((count, max(3, len(numbers))), np.nan)
            some[:, [*numbers]] = np.array([*numbers.values()]).T
            if kind == "position":
                positions[path] = some
                continue
            unit = some[:, shifts : len(numbers)]
            if unit.shape[1] == 4:
                unit[:] = self._unit_quaternions(path, kind, unit)
            if kind == "q":
                joints[path], pairs[path] = some[:, : len(numbers)], (*_plain(pair_of(self._joints[path])), shifts)
            else:
                axes[path] = rotations(unit)
        notes = (f"columns left out: {listed(self.left_out, 8)}",) if self.left_out else ()
        if not (self.q or joints or positions or axes):
            allowed = "coordinates, or places and axes of frames"
            raise ModelError(self.where, "no column of a pose", allowed, "Name columns as `crank_pivot.q [rad]`.")
        units = {path: self.model.coordinate_units()[path] for path in self.q}
        return Trajectory(name, count, self.time, self.q, units, joints, positions, axes, pairs, notes)

    def _need_numbers(self, path: str, kind: str, numbers: set[int]) -> None:
        """Raises where numbers of a place are none of three, or others are not all there."""
        counts = (3,) if kind == "position" else (4, 3)
        if kind == "q":
            counts = (KINDS[self._joints[path].type].nq,)
        whole = [{*range(count)} for count in counts]
        if not numbers <= whole[0] or (kind != "position" and numbers not in whole):
            allowed = " or ".join(f"{path}.{kind}[0] to [{count - 1}]" for count in counts)
            raise ModelError(self.where, f"{kind} {sorted(numbers)} of {path}", allowed, "Give all, each once.")

    def _unit_quaternions(self, path: str, kind: str, numbers: np.ndarray) -> np.ndarray:
        """(n, 4) of length 1, of those whose digits were rounded."""
        lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
        off = np.abs(lengths[:, 0] - 1.0)
        if off.max() > NORM:
            fault = f"{path}.{kind}, a quaternion whose length is off 1 by {off.max():.3g}, pose {off.argmax()}"
            raise ModelError(self.where, fault, "unit quaternions, w first", "Divide each by its length.")
        return np.where(off[:, None] > WHOLE, numbers / lengths, numbers)


def _is_other_channel(text: str) -> bool:
    """Whether it is a channel that says nothing of a pose."""
    word = LAST_WORD.search(text)
    return text in CHANNELS or (word is not None and word[1] in CHANNELS and word[1] not in POSED)


def rotations(numbers: np.ndarray) -> np.ndarray:
    """(n, 3, 3) of quaternions (n, 4), w first, or rotation vectors (n, 3) [rad]."""
    if numbers.shape[1] == 4:
        unit = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
        return np.array([rotation_of_quaternion(one) for one in unit.tolist()], float).reshape(-1, 3, 3)
    return np.array([rotation_of_vector(one) for one in numbers.tolist()], float).reshape(-1, 3, 3)


def units_of_joint(shifts: int, count: int) -> list[str]:
    """Of the numbers of a joint that turns any way: those of its place, then a quaternion or a rotation vector."""
    return ["m"] * shifts + ["1" if count - shifts == 4 else "rad"] * (count - shifts)


def _plain(pair: Sequence[str]) -> tuple[str, str]:
    """Paths of frames, of bodies for their origins."""
    child, parent = (path.removesuffix(f":{ORIGIN}") for path in pair)
    return child, "world" if parent == FIXED else parent
