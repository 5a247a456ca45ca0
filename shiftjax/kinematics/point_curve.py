"""`point_curve`: the curve that a point of a body goes along while a mechanism of one freedom goes through its motion.
Host code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.errors import ModelError, need_count, shown
from shiftjax.formats.files import load
from shiftjax.kinematics.paths.follow import follow
from shiftjax.kinematics.ranges.travel import JointTravel, travel
from shiftjax.mechanism.coordinates import plain_coordinates
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import split
from shiftjax.mechanism.records import FIXED
from shiftjax.numerics.real_arrays import three_numbers
from shiftjax.poses import to_world
from shiftjax.record import record

POSES = 181  # of a curve: every two degrees of a crank
MEETS = 1e-9  # of the size of a curve: its ends are one point
WITHIN = 1e-7  # of a travel, from its ends, where its joint does not lead the others any more


@record
class PointCurve:
    """The curve of a point, of a branch of a mechanism.

    Attributes:
        coordinate: that leads it, and places: (n,) of it [rad or m]. points: (n, 3) in the world [m]. closed: whether
            the curve closes when the coordinate has turned round. Else it is what lies between the ends of the travel
            of the coordinate, behind which the mechanism may go on by others, or one turn of several, as with gears.
    """

    coordinate: str
    places: np.ndarray
    points: np.ndarray
    closed: bool

    def distance(self, point: np.ndarray) -> float:
        """The least distance of a point (3,) from the chords of the curve [m]."""
        if len(self.points) < 2:
            return float(np.linalg.norm(self.points - point, axis=1).min(initial=np.inf))
        begin, way = self.points[:-1], np.diff(self.points, axis=0)
        length = np.maximum((way**2).sum(1), np.finfo(float).tiny)
        share = np.clip(((point - begin) * way).sum(1) / length, 0.0, 1.0)
        return float(np.sqrt((((begin + share[:, None] * way) - point) ** 2).sum(1)).min())


def point_curve(
    model: Model | str, body: str, point: Sequence[float] | np.ndarray, *, poses: int = POSES
) -> PointCurve:
    """The curve of a point of a body through the motion of a mechanism of one freedom.

    It is led by the first joint that turns round, those of ground before others, else by the one that goes farthest.

    Args:
        model: a Model, a library name or a path, of one freedom; it needs no masses. It is on the branch on which the
            model stands.
        body: path of a body. point: (3,) in its coordinates [m]. poses: of the curve.

    Raises:
        ModelError: no such body, no place, joints that leave other freedoms; what `travel` and `follow` raise.
    """
    model = model if isinstance(model, Model) else load(model)
    need_count("point_curve: poses", poses, 2)
    place = three_numbers("point_curve: point", point, "Give x, y, z in the body [m].")
    if body == FIXED:
        todo = "Name a body that moves."
        raise ModelError("point_curve: body", "ground, which stands still", "the path of an active body", todo)
    path = model.resolve(body)
    if path not in dict(model.bodies()):
        raise ModelError("point_curve: body", shown(body), "the path of an active body", "Correct the name.")
    leading = _leading(model)
    low, high = float(leading.low), float(leading.high)
    turns = bool(leading.unlimited) and leading.unit == "rad"
    if turns:
        places = float(leading.begin) + np.linspace(0.0, 2.0 * np.pi, poses)
    else:
        room = high - low
        if not np.isfinite(room):
            fault = f"{leading.coordinate}, which goes on for ever"
            raise ModelError("point_curve", fault, "a joint that turns round, or ends", "Follow it by `follow`.")
        if not room > 0.0:
            raise ModelError("point_curve", "a mechanism that cannot move", "one of one freedom", "Free a joint.")
        places = np.linspace(low + WITHIN * room, high - WITHIN * room, poses)
    names = [f"{path}.position", f"{path}.orientation"]
    result = follow(model, {leading.coordinate: places}, order=0, channels=names)
    frames = np.concatenate([np.asarray(result.channels[name]) for name in names], axis=1)
    points = to_world(frames, place)
    good = np.isfinite(points).all(1)
    size = float(np.ptp(points[good], axis=0).max(initial=0.0)) if good.any() else 0.0
    closed = turns and bool(good.all()) and float(np.abs(points[0] - points[-1]).max()) <= MEETS * size
    return PointCurve(leading.coordinate, places[good], points[good], closed)


def _leading(model: Model) -> JointTravel:
    """The travel of the joint that leads the curve."""
    widest: JointTravel | None = None
    joints = dict(model.joints())
    plain = sorted(plain_coordinates(model), key=lambda one: not joints[split(one)[0]].on_ground)
    fault: ModelError | None = None
    for coordinate in plain:
        try:
            one = travel(model, coordinate, together=True)
        except ModelError as error:
            fault = fault or error
            continue
        if one.unlimited and one.unit == "rad":
            return one
        if widest is None or one.high - one.low > widest.high - widest.low:
            widest = one
    if widest is None:
        raise fault or ModelError("point_curve", "no joint of one number", "one that leads the others", "Add a joint.")
    return widest
