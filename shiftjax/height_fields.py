"""Heights z over the x-y plane of a frame: a table with a bicubic spline through it, a polynomial, or their sum.

Lane code, and the fields by which kinds of constraints and forces take them from a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftjax.algebra import Scalar, Vec, dot, larger, minus, ratio, select, sqrt
from shiftjax.field import Field, Role
from shiftjax.splines import SurfacePoint, bicubic

MOST = 2500  # heights of a table: a ball on 100 of them compiles in 2 s, on 900 in 6 s, on 2 500 in 13 s
NEWTON = 3  # steps to the nearest point: of one 0.4 radii of a hollow away the normal is off by 1e-5 rad
LEAST = 0.05  # of a determinant that is 1 on a plane, and 0 where the point is at the middle of a hollow
SURFACE = (
    Field("xs", "of the columns of the table, rising", "numbers", Role.LENGTH, "m", (), rising=True),
    Field("ys", "of its rows, rising", "numbers", Role.LENGTH, "m", (), rising=True),
    Field("heights", "a row for each y, in it one for each x", "rows", Role.LENGTH, "m", ()),
    Field("polynomial", "c_ij of sum c_ij (x / size)^i (y / size)^j, a list for each i", "rows", Role.LENGTH, "m", ()),
    Field("size", "by which the polynomial divides x and y; 1 m where left out", "number", Role.LENGTH, "m", above=0.0),
)


def height(n: Mapping[str, Any], x: Scalar, y: Scalar) -> SurfacePoint:
    """The height [m] at x and y [m], with its first and second derivatives.

    Args:
        n: numbers of the fields of `SURFACE`.
    """
    point = SurfacePoint(*[0.0] * 6)
    if n["heights"]:
        point = point.plus(bicubic(n["xs"], n["ys"], n["heights"], x, y))
    if n["polynomial"]:
        point = point.plus(_polynomial(n["polynomial"], 1.0 if n.get("size") is None else n["size"], x, y))
    return point


def nearest(n: Mapping[str, Any], p: Sequence[Scalar], within: Scalar) -> tuple[Vec, Scalar]:
    """The normal of the surface at its point next to another one, and the distance [m] along it, below 0 underneath.

    By Newton's method from the point straight below; where that is farther than `within`, or hollows are narrower, it
    is the point straight below, and the distance that from the plane which touches there.

    Args:
        p: (3,) the point [m].
    """
    x, y, z = p
    below = height(n, x, y)
    far = abs(z - below.z) > within * sqrt(1.0 + below.x * below.x + below.y * below.y)
    aim = select(far, below.z, z)
    u, v, foot = x, y, below
    for _ in range(NEWTON):
        gap = foot.z - aim
        gradient = (u - x + foot.x * gap, v - y + foot.y * gap)
        xx, yy = 1.0 + foot.x * foot.x + foot.xx * gap, 1.0 + foot.y * foot.y + foot.yy * gap
        xy = foot.x * foot.y + foot.xy * gap
        per = ratio(1.0, larger(xx * yy - xy * xy, LEAST))
        u = u - per * (yy * gradient[0] - xy * gradient[1])
        v = v - per * (xx * gradient[1] - xy * gradient[0])
        foot = height(n, u, v)
    size = sqrt(1.0 + foot.x * foot.x + foot.y * foot.y)
    normal = [ratio(-foot.x, size), ratio(-foot.y, size), ratio(1.0, size)]
    return normal, dot(minus([x, y, z], [u, v, foot.z]), normal)


def is_flat(n: Mapping[str, Any]) -> bool:
    """Whether there are no heights, so that the surface is the plane."""
    return not n["heights"] and not n["polynomial"]


def faults(n: Mapping[str, Any], *, flat: bool = False) -> dict[str, Any]:
    """What the numbers together must not be, as of `ForceKind.faults`.

    Args:
        flat: whether neither a table nor a polynomial may be given, for a plane.
    """
    xs, ys, heights = n["xs"], n["ys"], n["heights"]
    widths = {len(row) for row in heights}
    return {
        "neither heights nor a polynomial": not flat and is_flat(n),
        f"heights at {len(xs)} xs and {len(ys)} ys, of which a table has two or more":
            bool(heights) and (len(xs) < 2 or len(ys) < 2),
        "xs or ys without heights": not heights and bool(xs or ys),
        f"{len(heights)} rows of heights of {', '.join(map(str, sorted(widths)))} numbers for {len(ys)} ys and "
        f"{len(xs)} xs": bool(heights) and (len(heights) != len(ys) or widths != {len(xs)}),
        f"more than {MOST} heights": sum(map(len, heights)) > MOST,
        "a row of the polynomial without coefficients": any(not row for row in n["polynomial"]),
        "a size without a polynomial": n.get("size") is not None and not n["polynomial"],
    }  # fmt: skip


def _polynomial(rows: Any, size: Scalar, x: Scalar, y: Scalar) -> SurfacePoint:
    """Horner, with derivatives, along y in each row and along x over them."""
    (u, v), per = (ratio(x, size), ratio(y, size)), ratio(1.0, size)
    along = [_horner(row, v) for row in rows]
    z, slope, bend = (_horner([derivatives[k] for derivatives in along], u) for k in range(3))
    twice = per * per
    return SurfacePoint(z[0], z[1] * per, slope[0] * per, z[2] * twice, slope[1] * twice, bend[0] * twice)


def _horner(c: Any, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value, first and second derivative (Knuth, The Art of Computer Programming 2, section 4.6.4)."""
    value: Scalar = 0.0
    rate: Scalar = 0.0
    half: Scalar = 0.0
    for coefficient in reversed(c):
        half, rate, value = half * x + rate, rate * x + value, value * x + coefficient
    return value, rate, 2.0 * half
