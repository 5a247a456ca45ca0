"""What `workspace` answers: curves with their types, areas, masks and margins of grids."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftjax.kinematics.workspaces.drawing import draw
from shiftjax.kinematics.workspaces.weights import cell_weights
from shiftjax.markup import html_lines
from shiftjax.record import record
from shiftjax.run.results.plain_values import plain

LISTED = 20  # curves that a summary shows
WORDS = {"singular": "singular", "assembly": "assemblies meet"}  # kinds of curves


@record
class BoundaryCurve:
    """A piece of a curve over which the number of poses changes.

    Attributes:
        kind: "singular": poses meet and end; "limit": a joint is at the end of its way; "assembly": the branch that was
            asked for ends, where assemblies meet.
        boundary: whether nothing is reached beyond it; else it lies within what is reached, on another branch.
        joints: that move although the coordinates stand still, to first order: those of what is singular; of a limit
            the coordinate that is at it; where a branch ends those that move although its inputs stand still.
            end: "lower" or "upper" of a limit, else "".
        poses: on its left and on its right, seen along it; where they cannot be counted from where nothing is reached,
            how many more than on the other side. sheets: how many curves lie on each other here.
        points: (n, 2) of it. q: coordinate of a joint -> (n,) its place [rad or m].
    """

    kind: str
    boundary: bool
    joints: tuple[str, ...]
    end: str
    poses: tuple[int, int]
    sheets: int
    points: np.ndarray
    q: Mapping[str, np.ndarray]


@record
class ReachableSpace:
    """What a mechanism reaches, in two or three coordinates.

    Attributes:
        coordinates, units: what is reached, as "arm:tip.x" [m]. freedoms: of the mechanism.
        curves: of two freedoms: boundaries, and singular curves within.
        area: of two coordinates, or volume of three; NaN where it has no bounds, or not all of them were met.
        consistent: whether curves were met, no number of poses beside them is negative, counted from where nothing is
            reached, and none is zero where a pose was met. Most curves that were missed show by it, but not all.
        axes: of the grid, values of each coordinate; () without one. mask: (n, ...) which of its points are reached.
            margin: (n, ...) distance to the boundary, negative outside. ball: centre and radius of the largest one
            inside: of all, where asked for, else of those whose centre is a point of the grid; None without a grid.
        square: centre and side of the largest one inside along the coordinates, where asked for.
        dexterous: (n, n) which points of the grid are reached with every orientation, where asked for.
        notes: what is to be known beside. bounded: whether no coordinate turns round, and none slides without a limit.
        branch: the name of the assembly branch of whose poses this is; "" of all.
    """

    coordinates: tuple[str, ...]
    units: tuple[str, ...]
    freedoms: int
    curves: tuple[BoundaryCurve, ...]
    area: float
    consistent: bool
    axes: tuple[np.ndarray, ...]
    mask: np.ndarray | None
    margin: np.ndarray | None
    ball: tuple[np.ndarray, float] | None
    notes: tuple[str, ...]
    square: tuple[np.ndarray, float] | None = None
    dexterous: np.ndarray | None = None
    bounded: bool = True
    branch: str = ""

    @property
    def dexterous_area(self) -> float:
        """Of the dexterous part, by the cells of the points that belong to it: off by half a cell along its boundary;
        NaN where it was not asked for."""
        if self.dexterous is None:
            return np.nan
        cell = float(np.prod([axis[1] - axis[0] for axis in self.axes]))
        return float((self.dexterous * cell_weights(self.axes)).sum()) * cell

    @property
    def boundary(self) -> tuple[BoundaryCurve, ...]:
        """The curves beyond which nothing is reached."""
        return tuple(one for one in self.curves if one.boundary)

    def table(self) -> list[dict[str, Any]]:
        """A row a curve: kind, boundary, joints, end, poses on either side, sheets, points."""
        return [
            {"kind": one.kind, "boundary": one.boundary, "joints": ", ".join(one.joints), "end": one.end,
             "left": one.poses[0], "right": one.poses[1], "sheets": one.sheets, "points": len(one.points)}
            for one in self.curves
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts; what is no number is None."""
        curves = [
            {**row, "joints": list(one.joints), "points": one.points.tolist(),
             "q": {path: x.tolist() for path, x in one.q.items()}}
            for row, one in zip(self.table(), self.curves, strict=True)
        ]  # fmt: skip
        ball = None if self.ball is None else {"centre": self.ball[0].tolist(), "radius": self.ball[1]}
        square = None if self.square is None else {"centre": self.square[0].tolist(), "side": self.square[1]}
        return {
            "coordinates": list(self.coordinates), "units": list(self.units), "freedoms": self.freedoms,
            "area": plain(self.area), "consistent": self.consistent, "bounded": self.bounded,
            "branch": self.branch or None, "curves": curves,
            "axes": [axis.tolist() for axis in self.axes],
            "mask": None if self.mask is None else self.mask.tolist(),
            "margin": None if self.margin is None else plain(self.margin),
            "ball": ball, "square": square, "notes": list(self.notes),
            "dexterous": None if self.dexterous is None else self.dexterous.tolist(),
            "dexterous_area": plain(self.dexterous_area),
        }  # fmt: skip

    def to_json(self) -> str:
        """The same as a text."""
        return json.dumps(self.to_dict())

    def plot(self, axes: Any = None) -> Any:
        """Draws what is reached: curves, boundaries thick, and the grid's mask; of a grid of three its middle layer.

        Args:
            axes: of matplotlib; new ones where left out.

        Returns:
            the axes.

        Raises:
            ModelError: no matplotlib.
        """
        return draw(self, axes)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return html_lines(self._lines())

    def _lines(self) -> list[str]:
        size = {2: "area", 3: "volume"}[len(self.coordinates)]
        branch = f", branch {self.branch}" if self.branch else ""
        lines = [f"{' and '.join(self.coordinates)}, {self.freedoms} freedoms{branch}: {size} {self.area:.9g}"]
        for one in self.curves[:LISTED]:
            where = "boundary" if one.boundary else "within"
            at = f"{one.end} end of {one.joints[0]}" if one.end else f"{WORDS[one.kind]}: {', '.join(one.joints)}"
            lines.append(f"  {where}: {at}; {one.poses[0]} and {one.poses[1]} poses beside it")
        if len(self.curves) > LISTED:
            lines.append(f"  ... {len(self.curves) - LISTED} more")
        if self.mask is not None:
            lines.append(f"  {int(self.mask.sum())} of {self.mask.size} points reached")
        if self.ball is not None:
            lines.append(
                f"  largest ball: radius {self.ball[1]:.6g} about {np.array2string(self.ball[0], precision=6)}"
            )
        if self.square is not None:
            at = np.array2string(self.square[0], precision=6)
            lines.append(f"  largest square: side {self.square[1]:.6g} about {at}")
        if self.dexterous is not None:
            lines.append(f"  {int(self.dexterous.sum())} points with every orientation: area {self.dexterous_area:.6g}")
        return [*lines, *(f"  {note}" for note in self.notes)]
