"""Arms from tables of Denavit-Hartenberg parameters, in both conventions.

Body k of the model, `link1` to `linkN`, has the axes of frame k of the table, so that its pose is the product of the
first k matrices. With Rz(theta) a turn about z, Tz(d) a way along it, and Rx(alpha), Tx(a) those about and along x:

    standard  A_k = Rz(theta_k) Tz(d_k) Tx(a_k) Rx(alpha_k)          (Denavit, Hartenberg, J. Appl. Mech. 22, 1955, 215)
    modified  A_k = Rx(alpha_k-1) Tx(a_k-1) Rz(theta_k) Tz(d_k)      (Craig, Introduction to Robotics, section 3.4)

In a row of the modified table `a` and `alpha` are those of its matrix, a_k-1 and alpha_k-1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, nearest, need, need_number, one_of, wrong
from shiftjax.formats.builder import ModelBuilder
from shiftjax.formats.robots.placing import turned
from shiftjax.formats.values.node import Node
from shiftjax.mechanism.model import Model
from shiftjax.mechanism.records import FIXED

CONVENTIONS = ("standard", "modified")
TYPES = {"revolute": "Rz", "prismatic": "Tz"}
NUMBERS = ("a", "alpha", "d", "theta")
OF_BODY = ("mass", "center_of_mass", "inertia", "geometry", "gravity_scale")
OF_JOINT = ("initial_displacement", "initial_velocity", "stiffness", "damping", "limits", "lock", "target", "posture")
KEYS = (*NUMBERS, "type", "name", *OF_BODY, *OF_JOINT)
Row = Sequence[Any] | Mapping[str, Any]


def denavit_hartenberg(
    rows: Sequence[Row],
    convention: str = "standard",
    *,
    name: str = "arm",
    base: Sequence[Sequence[float]] | np.ndarray | None = None,
    tool: Sequence[Sequence[float]] | np.ndarray | None = None,
    gravity: Sequence[float] | np.ndarray = (0.0, 0.0, -9.81),
) -> Model:
    """An arm from a Denavit-Hartenberg table.

    Args:
        rows: of each joint a [m], alpha [rad], d [m], theta [rad] and "revolute", also where left out, or "prismatic":
            a sequence, or a mapping with these and `type` as keys. A mapping may have `name`, of the joint, and what
            bodies and joints of a builder take: `mass`, `center_of_mass`, `inertia` along the axes of the link's frame,
            `geometry`, `gravity_scale`, `limits`, `damping`, `stiffness`, `initial_displacement` and more. A link of
            which no mass is given has none. The coordinate adds to theta, of a prismatic joint to d.
        convention: "standard", or "modified" where the axes of a link stand at its own joint.
        name: of the assembly.
        base: (4, 4) frame 0 in the world; there where left out.
        tool: (4, 4) a frame `tool` of the last link in its axes.
        gravity: (3,) acceleration [m/s^2].

    Returns:
        The model; joint k is `joint` and its number unless its row names it.

    Raises:
        ModelError: rows that are no such table, by their number.
    """
    one_of("denavit_hartenberg: convention", convention, CONVENTIONS)
    if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence | np.ndarray) or not len(rows):
        raise wrong("denavit_hartenberg: rows", rows, "a row for each joint: a, alpha, d, theta and perhaps a type")
    table = [_row(row, k) for k, row in enumerate(rows, 1)]
    _need_different([row["name"] for row in table], with_tool=tool is not None)
    before = [_about_x(row) if convention == "modified" else np.eye(4) for row in table]
    near = [first @ _about_z(row) for first, row in zip(before, table, strict=True)]  # of the joint in the link before
    far = [np.eye(4) if convention == "modified" else _about_x(row, back=True) for row in table]  # of it in its link
    near[0] = _transform("base", base) @ near[0]
    builder = ModelBuilder(gravity=gravity)
    builder.frame(table[0]["name"], **_frame(near[0]))
    arm = builder.assembly(name)
    for k, row in enumerate(table):
        frames = {row["name"]: _frame(far[k])}
        if k + 1 < len(table):
            frames |= {table[k + 1]["name"]: _frame(near[k + 1])}
        elif tool is not None:
            frames |= {"tool": _frame(_transform("tool", tool))}
        arm.body(f"link{k + 1}", frames=frames, **{"mass": 0.0, **_some(row, OF_BODY)})
    for k, row in enumerate(table):
        ends = {"parent": (f"link{k}" if k else FIXED, row["name"]), "child": (f"link{k + 1}", row["name"])}
        arm.joint(row["name"], TYPES[row["type"]], **ends, **_some(row, OF_JOINT))
    return builder.build()


def _row(row: Row, k: int) -> dict[str, Any]:
    """A row as a mapping, with its four numbers, type and name."""
    where = f"denavit_hartenberg: row {k}"
    if isinstance(row, str) or not isinstance(row, Sequence | Mapping | np.ndarray):
        raise wrong(where, row, "a sequence of a, alpha, d, theta and perhaps a type, or a mapping")
    if not isinstance(row, Mapping):
        if len(row) not in (4, 5):
            raise wrong(where, row, "a, alpha, d, theta and perhaps a type")
        row = dict(zip((*NUMBERS, "type"), row, strict=False))
    for key in row:
        if key not in KEYS:
            raise ModelError(where, f"key {key!r}", ", ".join(KEYS), nearest(str(key), KEYS) or "Leave it out.")
    for key in NUMBERS:
        if key not in row:
            raise ModelError(where, f"no {key}", "a, alpha, d and theta", "Add it.")
        need_number(f"{where}, {key}", row[key], "a finite number [m or rad]")
    stated = {"type": "revolute", "name": f"joint{k}", **row}
    one_of(f"{where}, type", stated["type"], TYPES)
    need(f"{where}, name", stated["name"], str, "a text")
    return stated


def _need_different(names: Sequence[str], *, with_tool: bool) -> None:
    """Raises for two joints of a name, by which frames of a link are told apart, or one of that of the tool."""
    taken = {"tool": "the tool"} if with_tool else {}
    for k, name in enumerate(names, 1):
        if name in taken:
            fault = f"{name!r}, of {taken[name]}, too"
            raise ModelError(f"denavit_hartenberg: row {k}, name", fault, "a name for one of them", "Rename the joint.")
        taken[name] = f"row {k}"


def _some(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: row[key] for key in keys if key in row}


def _about_x(row: Mapping[str, Any], *, back: bool = False) -> np.ndarray:
    """(4, 4) Rx(alpha) Tx(a), in either order, or its inverse."""
    sign = -1.0 if back else 1.0
    return _along(0, sign * row["alpha"], sign * row["a"])


def _about_z(row: Mapping[str, Any]) -> np.ndarray:
    """(4, 4) Rz(theta) Tz(d), in either order: where the coordinate is zero."""
    return _along(2, row["theta"], row["d"])


def _along(axis: int, angle: float, way: float) -> np.ndarray:
    """(4, 4) turned about an axis and moved along it."""
    out = np.eye(4)
    out[:3, :3], out[axis, 3] = turned(axis, float(angle)), float(way)
    return out


def _transform(what: str, stated: Any) -> np.ndarray:
    """(4, 4) of a frame that is stated; the identity where it is None. Its rotation is checked as that of a file."""
    if stated is None:
        return np.eye(4)
    try:
        matrix = np.asarray(stated, float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0]):
        raise wrong(f"denavit_hartenberg: {what}", stated, "(4, 4) [R p; 0 0 0 1], finite")
    matrix = matrix.copy()
    matrix[:3, :3] = Node(matrix[:3, :3].tolist(), f"denavit_hartenberg: {what}", []).rotation()
    return matrix


def _frame(matrix: np.ndarray) -> dict[str, Any]:
    return {"T": matrix[:3, 3].tolist(), "R": matrix[:3, :3].tolist()}
