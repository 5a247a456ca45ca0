"""The surface through a raster of heights, and how far coarse pictures of it may be off.

Bicubic as `splines.bicubic`, on which contacts roll: natural splines along x and along y; else bilinear. Places are in
numbers of columns and rows, 0 at the first sample, and may be fractions. NumPy only.
"""

from __future__ import annotations

import functools

import numpy as np

from shiftjax.record import record


@record
class Relief:
    """Heights at the crossings of columns and rows."""

    xs: np.ndarray  # (columns,) [m], rising or falling
    ys: np.ndarray  # (rows,) [m]
    heights: np.ndarray  # (rows, columns) [m], 0 in holes
    whole: np.ndarray  # (rows, columns) bool, False in holes
    bends: tuple[np.ndarray, np.ndarray, np.ndarray] | None  # (rows, columns) of z_xx, z_yy, z_xxyy; None: bilinear

    @classmethod
    def through(cls, xs: np.ndarray, ys: np.ndarray, heights: np.ndarray, *, curved: bool) -> Relief:
        """Through heights (rows, columns); samples that are not finite are holes, about which nothing is curved."""
        whole = np.isfinite(heights)
        filled = np.where(whole, heights, 0.0)
        if not curved or not whole.all():
            return cls(xs, ys, filled, whole, None)
        across, along = curvatures(xs, filled.T).T, curvatures(ys, filled)
        return cls(xs, ys, filled, whole, (across, along, curvatures(ys, across)))

    def places(self, columns: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x and y [m] of places."""
        return (np.interp(columns, np.arange(len(self.xs)), self.xs),
                np.interp(rows, np.arange(len(self.ys)), self.ys))  # fmt: skip

    def at(self, columns: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z [m], and its slopes along x and y, at places of any one shape."""
        k, across, step_x = _cell(self.xs, columns)
        i, along, step_y = _cell(self.ys, rows)
        u, v = _weights(across, step_x), _weights(along, step_y)
        fields = [(self.heights, 0, 0)]
        if self.bends is not None:
            fields += [(self.bends[0], 2, 0), (self.bends[1], 0, 2), (self.bends[2], 2, 2)]
        z, slope_x, slope_y = (np.zeros(np.shape(across)) for _ in range(3))
        for field, a, b in fields:
            for right in (0, 1):
                for lower in (0, 1):
                    corner = field[i + lower, k + right]
                    z += u[0][a + right] * v[0][b + lower] * corner
                    slope_x += u[1][a + right] * v[0][b + lower] * corner
                    slope_y += u[0][a + right] * v[1][b + lower] * corner
        return z, slope_x, slope_y

    def bulges(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows - 1, columns - 1) [m] of each cell: bounds of how far its surface is from the bilinear one through its
        corners, and from two flat triangles.

        A function is at most h^2 / 8 max |f''| from the chord, so a surface (h_x^2 |z_xx| + h_y^2 |z_yy|) / 8 from the
        bilinear one; two triangles add h_x h_y |z_xy| / 4. Polynomials are between their least and largest Bernstein
        coefficients; z_xx is linear along x.
        """
        if self.bends is None:
            twist = np.abs(np.diff(np.diff(self.heights, axis=0), axis=1))
            return np.zeros_like(twist), np.where(self.cells_whole(), 0.25 * twist, 0.0)
        across, along, both = self.bends
        wide, deep = np.diff(self.xs) ** 2, np.diff(self.ys) ** 2
        a = wide * _pairs(_largest(_cubic(across, both, deep)), 1)
        c = deep[:, None] * _pairs(_largest(_cubic(along.T, both.T, wide)).T, 0)
        rates = zip(_rates(self.heights.T, across.T, wide), _rates(along.T, both.T, wide), strict=True)
        b = _largest([one for value, bend in rates for one in _rates(value.T, bend.T, deep)])
        return (a + c) / 8, (a + c + 2 * b) / 8

    def cells_whole(self) -> np.ndarray:
        """(rows - 1, columns - 1) bool, whether the four corners of a cell have heights."""
        return ~_corners(~self.whole)


def curvatures(knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n, m) second derivatives at the knots of natural splines through each column of values (n, m).

    h M + 2 (h + h') M' + h' M'' = 6 (slope' - slope), zero at the ends (de Boor, A Practical Guide to Splines, IV).
    """
    h = np.diff(knots)
    M = np.zeros_like(values)
    if len(knots) < 3:
        return M
    rises = 6.0 * np.diff(np.diff(values, axis=0) / h[:, None], axis=0)
    factors = np.zeros(len(h))
    for k in range(1, len(h)):
        pivot = 2.0 * (h[k - 1] + h[k]) - h[k - 1] * factors[k - 1]
        factors[k] = h[k] / pivot
        M[k] = (rises[k - 1] - h[k - 1] * M[k - 1]) / pivot
    for k in range(len(h) - 2, 0, -1):
        M[k] -= factors[k] * M[k + 1]
    return M


def _cell(knots: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cell of each place, where in it the place is (0 to 1), and the cell's length [m]."""
    cell = np.clip(np.floor(places).astype(np.int64), 0, len(knots) - 2)
    return cell, places - cell, np.diff(knots)[cell]


def _weights(t: np.ndarray, h: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Factors of both ends and of both second derivatives there, for the value and for the slope, in a cell."""
    s, sixth = 1.0 - t, h * h / 6.0
    value = [s, t, sixth * (s**3 - s), sixth * (t**3 - t)]
    return value, [-1.0 / h, 1.0 / h, h / 6.0 * (1.0 - 3.0 * s * s), h / 6.0 * (3.0 * t * t - 1.0)]


def _rates(values: np.ndarray, bends: np.ndarray, squares: np.ndarray) -> list[np.ndarray]:
    """(n - 1, m) Bernstein coefficients of the slope along the first axis in each cell, times its length.

    Args:
        values, bends: (n, m) a spline and its second derivative at the knots. squares: (n - 1,) of the cells' lengths.
    """
    rise, sixth, start, end = np.diff(values, axis=0), squares[:, None] / 6.0, bends[:-1], bends[1:]
    return [rise + sixth * bend for bend in (-2.0 * start - end, start - end, start + 2.0 * end)]


def _cubic(values: np.ndarray, bends: np.ndarray, squares: np.ndarray) -> list[np.ndarray]:
    """(n - 1, m) Bernstein coefficients of the value itself; arguments as of `_rates`."""
    first, _, last = _rates(values, bends, squares)
    return [values[:-1], values[:-1] + first / 3.0, values[1:] - last / 3.0, values[1:]]


def _largest(tables: list[np.ndarray]) -> np.ndarray:
    return functools.reduce(np.maximum, map(np.abs, tables))


def _pairs(table: np.ndarray, axis: int) -> np.ndarray:
    """The larger of each two neighbours along an axis."""
    n = table.shape[axis]
    return np.maximum(table.take(range(n - 1), axis), table.take(range(1, n), axis))


def _corners(table: np.ndarray) -> np.ndarray:
    """The largest of the four corners of each cell."""
    return _pairs(_pairs(table, 0), 1)
