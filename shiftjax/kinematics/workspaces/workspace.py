"""`workspace`: what a frame, or any coordinates, of a mechanism can reach: boundaries, areas, masks. Host code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from shiftjax.constraints import CoordinateFunction
from shiftjax.errors import ModelError, need, need_count, shown
from shiftjax.formats.files import load
from shiftjax.gradients.traced import is_traced
from shiftjax.gradients.traced_design import traced_design
from shiftjax.gradients.transforms import differentiable
from shiftjax.kinematics.workspaces.areas import AreaFunction, area_slopes
from shiftjax.kinematics.workspaces.curves import CurveArc, CurveFamily
from shiftjax.kinematics.workspaces.dexterous import dexterous_part
from shiftjax.kinematics.workspaces.grid import Flood
from shiftjax.kinematics.workspaces.inscribed import BoundaryDistance, largest_circle, largest_square
from shiftjax.kinematics.workspaces.many import ReachableSpaces
from shiftjax.kinematics.workspaces.one_branch import BranchEnd
from shiftjax.kinematics.workspaces.plane import BESIDE, Arrangement, CountedArc, cubics
from shiftjax.kinematics.workspaces.reaching import Reaching
from shiftjax.kinematics.workspaces.table import BoundaryCurve, ReachableSpace
from shiftjax.kinematics.workspaces.weights import cell_weights
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.paths import listed
from shiftjax.mechanism.sublinkages import unread_sublinkages
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record
from shiftjax.run.derive import Formula
from shiftjax.run.options import Options, options_of

SEARCHED = 100  # poses from which curves are sought
MOVING = 1e-4  # of the largest speed: joints that move in a singular motion
TRIED, STEPS = 24, 12  # poses from which one beside a curve is sought, and iterations of Newton's method
SHORT = 8.0  # of a step aside: a shorter piece may have others within it
PUSHED, THINNED = 0.1, 4  # rad or parts of the length off a curve, of every fourth of its nodes
Slopes = Callable[[], np.ndarray]
POINT = 1e-9  # of the size of all curves: images of arcs that are a point, to the rounding of their nodes


@overload
def workspace(
    model: Model | str,
    coordinates: str | Sequence[str],
    *,
    box: Sequence[Sequence[float]] | None = None,
    points: int | Sequence[int] = 0,
    stops: bool = True,
    inscribed: bool = False,
    orientations: int = 0,
    searched: int = SEARCHED,
    vary: None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
) -> ReachableSpace: ...
@overload
def workspace(
    model: Model | str,
    coordinates: str | Sequence[str],
    *,
    box: Sequence[Sequence[float]] | None = None,
    points: int | Sequence[int] = 0,
    stops: bool = True,
    inscribed: bool = False,
    orientations: int = 0,
    searched: int = SEARCHED,
    vary: Mapping[str, Any],
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
) -> ReachableSpaces: ...
def workspace(
    model: Model | str,
    coordinates: str | Sequence[str],
    *,
    box: Sequence[Sequence[float]] | None = None,
    points: int | Sequence[int] = 0,
    stops: bool = True,
    inscribed: bool = False,
    orientations: int = 0,
    searched: int = SEARCHED,
    vary: Mapping[str, Any] | None = None,
    assign: Mapping[str, float | str] | None = None,
    derive: Mapping[str, Formula] | None = None,
    tie: Mapping[str, CoordinateFunction | str] | None = None,
    branch: str | int | Sequence[str | int] | None = None,
) -> ReachableSpace | ReachableSpaces:
    """What a frame, or any two or three coordinates, of a mechanism can reach.

    Of two freedoms and two coordinates the boundary is traced: curves on which poses meet and end, and on which a joint
    is at its limit, in all assemblies, with the number of poses on either side. With two driven joints as coordinates
    the curves are the singular ones over the plane of these inputs. Of more freedoms a grid is flooded with poses.

    Args:
        model: a Model, a library name or a path; it needs no masses.
        coordinates: a frame, "arm:tip", of which those places count that move; or two or three of "arm:tip.x",
            ".y", ".z" and coordinates of joints.
        box: (low, high) of each coordinate [m or rad], which the grid covers; with `points`, and needed for it.
        points: of the grid, in all directions alike or one number each; 0 for none. Without curves it must be there.
        stops: whether joints end at limits of the model and at its stops (forces of type `stop`).
        inscribed: whether the largest circle and the largest square along the coordinates are sought, anywhere within
            boundary curves: the circle to 2e-7 and the square to 1e-4 of their size, where no other place is better by
            more than 2e-3 of it.
        orientations: with how many angles of the frame, evenly over a turn, points of the grid must be reached that
            belong to its dexterous part; 0 for none, at least 12. Of frames in a plane, with at least 3 freedoms.
        searched: poses all over, at least 1, from which curves are sought, and the grid is flooded. A curve that none
            of them leads to is missed, with what it bounds; more find more.
        vary, assign, derive, tie: as those of `simulate`.
        branch: the name of an assembly branch, or one for each design, as `branches` of the model gives it where the
            model stands: poses of that alone count, and end where assemblies meet. All assemblies where left out.

    Returns:
        a ReachableSpace, with `vary` ReachableSpaces of all designs. Areas within curves, and distances from them, are
        good to some 1e-7 of themselves. Margins of a grid that is flooded are to planes through points of the boundary:
        off by 1 % of the spacing h and by the curvature times h^2 / 8, beyond edges by up to h. Its volume counts cells
        by margins. Where JAX traces numbers of `vary` the area is a JAX array with first derivatives, and there is
        nothing else.

    Raises:
        ModelError: anything the model or the arguments make impossible.
    """
    need_count("searched", searched, 1)
    need("inscribed", inscribed, bool, "True or False")
    need_count("orientations", orientations, 0)
    model = model if isinstance(model, Model) else load(model)
    options = options_of(vary=vary, assign=assign, derive=derive, tie=tie, branch=branch)
    asked = SpaceQuestion(model, coordinates, box, points, stops, inscribed, orientations, searched)
    if any(is_traced(values) for values in (vary or {}).values()):
        return _traced(asked, options)
    options = replace(options, design=options.design.worked_out(model))
    every = [one and one[0] for one in asked.of(options)]
    if options.design.vary is None:
        assert every[0] is not None
        return every[0]
    design = {path: np.asarray(values) for path, values in options.design.vary.items()}
    return ReachableSpaces(design, tuple(every), np.array([np.nan if one is None else one.area for one in every]))


@record
class SpaceQuestion:
    """What is asked of every design: arguments of `workspace`."""

    model: Model
    coordinates: str | Sequence[str]
    box: Any
    points: Any
    stops: bool
    inscribed: bool
    orientations: int
    searched: int

    def of(self, options: Options, like: Reaching | None = None) -> list[tuple[ReachableSpace, Slopes] | None]:
        """What designs reach, and what gives the slopes (P,) of their areas; None of one that cannot be assembled.

        Args:
            like: of the model's own numbers, for answers that do not depend on which designs are asked together.
        """
        every = Reaching.of_all(self.model, self.coordinates, options, stops=self.stops, like=like)
        known = like or next(one for one in every if one is not None)
        axes = self.refuse(known)
        if like is None and not any(one.spans for one in every if one is not None):
            fault, todo = _together(known), "Name others, or another frame."
            raise ModelError("coordinates", fault, "coordinates that move on their own", todo)
        return [None if one is None else self._noted(one, *self._one(one, axes)) for one in every]

    def _noted(self, reaching: Reaching, space: ReachableSpace, slopes: Slopes) -> tuple[ReachableSpace, Slopes]:
        """With its branch, and what is not made of that and of the model's sublinkages."""
        notes = (*space.notes, *filter(None, [reaching.note]), *unread_sublinkages(self.model.sublinkages))
        return replace(space, notes=notes, branch=reaching.branch), slopes

    def _one(self, reaching: Reaching, axes: tuple[np.ndarray, ...]) -> tuple[ReachableSpace, Slopes]:
        if not reaching.spans:
            space = ReachableSpace(
                reaching.names, reaching.units, reaching.freedoms, (), np.nan, False, (), None, None, None,
                (_together(reaching),),
            )  # fmt: skip
            return space, lambda: np.full(len(reaching.values), np.nan)
        poses = reaching.poses(self.searched)
        if not is_traced_out(reaching):
            space = _by_grid(reaching, poses, axes)
            if self.orientations:
                part = dexterous_part(reaching, axes, self.orientations, self.searched)
                space = replace(space, dexterous=part)
            return space, lambda: np.full(len(reaching.values), np.nan)
        return _by_curves(reaching, poses, axes, inscribed=self.inscribed)

    def refuse(self, reaching: Reaching) -> tuple[np.ndarray, ...]:
        """The axes of the grid; raises for what no design can be asked."""
        axes = _axes(reaching, self.box, self.points)
        if reaching.freedoms < len(reaching.names):
            fault = f"{len(reaching.names)} coordinates of a mechanism of {reaching.freedoms} freedoms"
            raise ModelError("coordinates", fault, "at most as many coordinates as freedoms", "Leave one out.")
        traced_out = is_traced_out(reaching)
        if self.orientations and traced_out:
            fault = f"a mechanism of {reaching.freedoms} freedoms"
            raise ModelError("orientations", fault, "at least 3: two places and an angle", "Leave orientations out.")
        if traced_out:
            return axes
        if not axes:
            fault = f"no grid, for {reaching.freedoms} freedoms"
            todo = "Give both, as box=[(-1, 1)] * 3, points=50."
            raise ModelError("points", fault, "a number of points, and a box", todo)
        if self.inscribed:
            fault = f"true, for {len(reaching.names)} coordinates of {reaching.freedoms} freedoms"
            todo = "Leave it out: the grid has the largest ball about one of its points."
            raise ModelError("inscribed", fault, "two coordinates of two freedoms, whose boundary is traced", todo)
        return axes


def _together(reaching: Reaching) -> str:
    locus = "a curve" if len(reaching.names) == 2 else "a surface"
    return f"{listed(list(reaching.names))}, which move together on {locus}"


def is_traced_out(reaching: Reaching) -> bool:
    """Whether its boundary is made of curves."""
    return reaching.freedoms == 2 and len(reaching.names) == 2


def _traced(asked: SpaceQuestion, options: Options) -> ReachableSpaces:
    """The areas of designs of which JAX traces numbers."""
    columns, design = traced_design(asked.model, options.design)

    def answer(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        vary = dict(zip(columns, x.T, strict=True))
        areas, slopes = np.full(len(x), np.nan), np.full(x.shape, np.nan)
        for k, one in enumerate(asked.of(replace(options, design=replace(design, vary=vary)))):
            if one is not None:
                areas[k], slopes[k] = one[0].area, one[1]()
        return areas, slopes

    area = differentiable(AreaFunction(answer))(jnp.stack([*columns.values()], axis=1))
    return ReachableSpaces(columns, (), area[:, 0])


def _axes(reaching: Reaching, box: Any, count: Any) -> tuple[np.ndarray, ...]:
    D = len(reaching.names)
    counts = [count] * D if np.ndim(count) == 0 else list(count)
    if len(counts) != D or any(not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0 for n in counts):
        raise ModelError("points", shown(count), f"a whole number, or {D} of them", "Give how many the grid has.")
    if box is None:
        if any(counts):
            raise ModelError("box", "none, with points", "(low, high) of each coordinate", "Give it, too.")
        return ()
    ends = real_array(box)
    if ends is None or ends.shape != (D, 2) or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
        allowed = f"{D} pairs (low, high) of finite numbers, one a coordinate: {', '.join(reaching.names)}"
        raise ModelError("box", shown(box), allowed, "Write [(-1, 1), (0, 2)].")
    if min(counts) < 2:
        raise ModelError("points", shown(count), "at least 2, with a box", "Give how many the grid has.")
    return tuple(np.linspace(low, high, n) for (low, high), n in zip(ends, counts, strict=True))


def _by_curves(
    reaching: Reaching, poses: np.ndarray, axes: tuple[np.ndarray, ...], *, inscribed: bool
) -> tuple[ReachableSpace, Slopes]:
    """What is within curves, and what gives the slopes (P,) of its area."""
    arcs = [
        arc
        for limit in (None, *reaching.limits, *reaching.meetings)
        for arc in CurveFamily(reaching, limit).arcs(poses)
    ]
    arcs = _extended(arcs)
    plane = Arrangement([_side(k, arc) for k, arc in enumerate(arcs)])
    notes, consistent = list[str](), False
    endless = any(arc.open for arc in arcs) or not arcs
    limited = {one.coordinate for one in reaching.limits}
    turning = [name for name, unit in zip(reaching.names, reaching.units, strict=True)
               if unit == "rad" and name not in limited]  # fmt: skip
    bounded = not turning and not endless
    if turning:
        notes.append(f"{turning[0]} may turn round: curves are those of one turn, and have no area")
    elif endless:
        none = not arcs and not reaching.within(poses).any()
        endless_text = "what is reached has no bounds: a joint slides without a limit"
        notes.append("no pose that was come to is within limits" if none else endless_text)
    elif not (
        consistent := plane.consistent and _accounts(reaching, plane, poses) and _seen(reaching, arcs, plane, poses)
    ):
        notes.append("the curves do not account for each other: some were not met; raise `searched`")
    good = consistent and not endless and not turning
    curves = tuple(_curve(reaching, arcs, plane, k, turning, counted=good) for k in range(len(plane.groups)))
    mask = margin = ball = square = None
    if axes and good:
        at = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        mask = plane.numbers(at.reshape(-1, 2)).reshape(at.shape[:2]) > 0
        margin = np.where(mask, 1.0, -1.0) * BoundaryDistance(plane)(at.reshape(-1, 2)).reshape(mask.shape)
        ball = _ball(axes, mask, margin)
    elif axes:
        notes.append("so that no point of the grid is judged")
    if inscribed and good:
        centre, half = largest_square(plane)
        ball, square = largest_circle(plane), (centre, 2.0 * half)

    def slopes() -> np.ndarray:
        return area_slopes(reaching, arcs, plane) if good else np.full(len(reaching.values), np.nan)

    return ReachableSpace(
        reaching.names, reaching.units, reaching.freedoms, curves, plane.area if good else np.nan, good,
        axes if good else (), mask, margin, ball, tuple(notes), square, bounded=bounded,
    ), slopes  # fmt: skip


def _accounts(reaching: Reaching, plane: Arrangement, poses: np.ndarray) -> bool:
    """Whether a pose is counted where poses (nq, B) within limits are, but for those next to the boundary."""
    poses = poses[:, reaching.within(poses)]
    at = reaching.base.values(reaching.base.inputs(poses, reaching.numbers(poses)))[1]
    if not plane.boundary or not len(at):
        return not len(at)
    at = at[BoundaryDistance(plane)(at) > BESIDE * plane.size]
    return bool((plane.numbers(at) > 0).all())


def _seen(reaching: Reaching, arcs: Sequence[CurveArc], plane: Arrangement, poses: np.ndarray) -> bool:
    """Whether beside curves poses (nq, B) lead to ones of the branch where these are counted, and nowhere else.

    Curves of one branch do not stand in for each other, as those of all assemblies do that lie on each other.
    """
    if not reaching.branch:
        return True
    nodes = [node for arc in arcs for node in arc.nodes[::THINNED]]
    if not nodes:
        return True
    at, motion = (np.stack([getattr(node, name) for node in nodes], axis=-1) for name in ("q", "motion"))
    x = reaching.base.inputs(at, reaching.numbers(at))
    pushed = [reaching.base.moved(x, sign * PUSHED * motion.T)[: len(at)] for sign in (-1.0, 1.0)]
    starts = np.concatenate([poses, *pushed], axis=1)
    images = KDTree(reaching.base.values(reaching.base.inputs(starts, reaching.numbers(starts)))[1])
    middles, tangents = np.transpose([plane.sides[group[0]].middle for group in plane.groups], (1, 0, 2))
    aside = BESIDE * plane.size * np.stack([-tangents[:, 1], tangents[:, 0]], axis=1)
    goals = np.concatenate([middles - aside, middles + aside])
    near = images.query(goals, min(TRIED, starts.shape[1]))[1].reshape(len(goals), -1)
    come = reaching.comes_to(starts[:, near.ravel()], np.repeat(goals, near.shape[1], axis=0), STEPS)
    counted = plane.numbers(goals)
    long = np.array([np.ptp(plane.sides[group[0]].cubics, axis=(0, 1)).max() for group in plane.groups])
    alike = (counted == [*plane.right, *plane.left]) | np.tile(long < SHORT * BESIDE * plane.size, 2)
    return bool(alike.all() and (come.reshape(near.shape).any(1) == (counted > 0)).all())


def _extended(arcs: Sequence[CurveArc]) -> list[CurveArc]:
    """Arcs whose image is more than a point: a folded arm of equal links has a curve of poses there."""
    images = [np.array([node.image for node in arc.nodes]) for arc in arcs]
    size = float(np.ptp(np.concatenate(images), axis=0).max()) if images else 0.0
    return [arc for arc, image in zip(arcs, images, strict=True) if np.ptp(image, axis=0).max() >= POINT * size]


def _side(k: int, arc: CurveArc) -> CountedArc:
    """An arc with how many more poses there are on its left."""
    images, slopes = (np.array([getattr(node, name) for node in arc.nodes]) for name in ("image", "slope"))
    fastest = max(arc.nodes[1:-1] or arc.nodes, key=lambda node: float(np.linalg.norm(node.slope)))
    left = np.array([-fastest.slope[1], fastest.slope[0]])
    sign = np.sign(fastest.side * (fastest.normal @ left))
    return CountedArc(cubics(images, slopes, arc.strides), int(sign) * arc.jump, k)


def _curve(
    reaching: Reaching, arcs: Sequence[CurveArc], plane: Arrangement, k: int, turning: Sequence[str], *, counted: bool
) -> BoundaryCurve:
    """What is said of a group of parts that lie on each other; angles that may turn round are about half a turn."""
    side = plane.sides[plane.groups[k][0]]
    arc = arcs[side.source]
    middle = arc.nodes[len(arc.nodes) // 2]
    limit, kind, end = arc.limit, "singular", ""
    if isinstance(limit, BranchEnd):
        kind, joints = "assembly", _moving(reaching, limit.speeds, reaching.null_motion(limit, middle.q))
    elif limit is not None:
        kind, joints, end = "limit", (limit.coordinate,), "lower" if limit.end < 0 else "upper"
    else:
        joints = _moving(reaching, reaching.columns, middle.motion)
    fewest = 0 if counted else min(plane.left[k], plane.right[k])
    nodes = _within(arc, side)
    places = np.array([side.cubics[0, 0], *(cubic[3] for cubic in side.cubics)])
    for column, name in enumerate(reaching.names):
        if name in turning:
            places[:, column] -= 2.0 * np.pi * np.round(places[:, column].mean() / (2.0 * np.pi))
    return BoundaryCurve(
        kind=kind,
        boundary=counted and k in plane.boundary,
        joints=joints,
        end=end,
        poses=(plane.left[k] - fewest, plane.right[k] - fewest),
        sheets=len(plane.groups[k]),
        points=places,
        q={one.path: np.array([node.q[one.q] for node in nodes]) for one in reaching.plan.coordinates if one.nq == 1},
    )  # fmt: skip


def _moving(reaching: Reaching, speeds: Sequence[int], motion: np.ndarray) -> tuple[str, ...]:
    """Names of some speeds (n,) that a motion (n,) has."""
    names, sizes = reaching.plan.speed_names(), np.abs(motion)
    return tuple(names[k] for k, size in zip(speeds, sizes, strict=True) if size > MOVING * sizes.max(initial=0.0))


def _within(arc: CurveArc, side: CountedArc) -> list[Any]:
    """The nodes of an arc that are nearest to the points of a part of it."""
    tree = KDTree(np.array([node.image for node in arc.nodes]))
    at = np.array([side.cubics[0, 0], *(cubic[3] for cubic in side.cubics)])
    return [arc.nodes[int(k)] for k in np.atleast_1d(tree.query(at)[1])]


def _ball(axes: tuple[np.ndarray, ...], mask: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, float] | None:
    inside = np.where(mask & np.isfinite(margin), margin, -np.inf)
    k = tuple(int(i) for i in np.argwhere(inside == inside.max())[0])
    if not np.isfinite(inside[k]):
        return None
    return np.array([axis[i] for axis, i in zip(axes, k, strict=True)]), float(inside[k])


def _by_grid(reaching: Reaching, poses: np.ndarray, axes: tuple[np.ndarray, ...]) -> ReachableSpace:
    flood = Flood(reaching, axes)
    flood.begin(poses[:, reaching.within(poses)])
    mask, margin = flood.reached, flood.margins()
    cell = np.array([axis[1] - axis[0] for axis in axes])
    size = float(np.prod(cell))
    depth = margin / size ** (1.0 / len(axes))
    share = np.where(np.isnan(depth), mask, np.clip(0.5 + depth, 0.0, 1.0))  # of a cell that the boundary may cut
    volume = float((share * cell_weights(axes)).sum() * size)
    return ReachableSpace(
        reaching.names, reaching.units, reaching.freedoms, (), volume, True, axes, mask, margin,
        _ball(axes, mask, margin), (),
    )  # fmt: skip
