"""What users give of linkages, as arrays of equal shapes; what is wrong in it is refused here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftjax.errors import ModelError, shown, wrong
from shiftjax.numerics.real_arrays import real_array
from shiftjax.record import record

Array = Any  # of NumPy, or of JAX where it is traced


@record
class Given:
    """B linkages of at most N nodes.

    Attributes:
        adjacency: (B, N, N) bool, symmetric. points: (B, N, 2). fixed: (B, N) bool. present: (B, N) bool.
        motor: (B, 2) int.
    """

    adjacency: np.ndarray
    points: Array
    fixed: np.ndarray
    present: np.ndarray
    motor: np.ndarray


def given_linkages(adjacency: Any, x0: Any, node_types: Any, motor: Any, *, traced: bool) -> Given:
    """The arrays of what `simulate` is given.

    Raises:
        ModelError: whatever of it is no linkage.
    """
    sizes = _sizes(x0)
    if sizes is not None:
        adjacency, x0, node_types = _padded(adjacency, x0, node_types, sizes)
    points: Array = x0 if traced else real_array(x0)
    if points is None:
        raise wrong("x0", x0, "points of shape (B, N, 2)")
    if points.ndim != 3 or points.shape[2] != 2:
        raise ModelError("x0", f"shape {points.shape}", "points of shape (B, N, 2)", "Write x0[None] for one linkage.")
    if not traced and not np.isfinite(points).all():
        member, node = np.argwhere(~np.isfinite(points))[0, :2]
        raise ModelError(f"x0[{member}, {node}]", "a number that is not finite", "places", "Correct it.")
    members, nodes, _ = points.shape
    bars = _flags("adjacency", adjacency, (members, nodes, nodes), "bars between nodes")
    fixed = _flags("node_types", node_types, (members, nodes), "1 for fixed nodes, 0 for moving ones")
    present = np.ones(fixed.shape, bool) if sizes is None else np.arange(nodes) < np.array(sizes)[:, None]
    _check_bars(bars)
    return Given(bars, points, fixed, present, _motor(motor, members, nodes))


def _sizes(x0: object) -> list[int] | None:
    """How many nodes each linkage of a list has, where they have several sizes; else None: it is an array."""
    arrays = [real_array(points) for points in x0] if isinstance(x0, list | tuple) else []
    if not all(array is not None and array.ndim == 2 for array in arrays):
        return None
    sizes = [len(array) for array in arrays if array is not None]
    return sizes if len(set(sizes)) > 1 else None


def _padded(adjacency: Any, x0: Any, node_types: Any, sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists of linkages of several sizes as arrays of the largest one."""
    counts = {name: len(value) for name, value in (("adjacency", adjacency), ("node_types", node_types))}
    for name, count in counts.items():
        if count != len(sizes):
            raise ModelError(name, f"{count} linkages", f"{len(sizes)}, as many as x0 has", "Correct the lists.")
    most = max(sizes)
    bars, types = np.zeros((len(sizes), most, most)), np.zeros((len(sizes), most))
    points = np.zeros((len(sizes), most, 2))
    for b, size in enumerate(sizes):
        for name, value, into, shape in (
            (f"adjacency[{b}]", adjacency[b], bars[b, :size, :size], (size, size)),
            (f"x0[{b}]", x0[b], points[b, :size], (size, 2)),
            (f"node_types[{b}]", node_types[b], types[b, :size], (size,)),
        ):
            array = real_array(value)
            if array is None or array.size != np.prod(shape):
                raise ModelError(name, f"shape {np.shape(value)}", f"shape {shape}", "Correct it.")
            into[...] = array.reshape(shape)
    return bars, points, types


def _flags(where: str, given: Any, shape: tuple[int, ...], allowed: str) -> np.ndarray:
    """Zeros and ones as truth values, repeated for all members where they are given once."""
    array = np.asarray(given)
    if array.dtype != bool:
        numbers = real_array(given)
        if numbers is None or not ((numbers == 0) | (numbers == 1)).all():
            raise ModelError(where, shown(given), f"0 and 1: {allowed}", "Correct it.")
        array = numbers != 0
    if array.ndim == len(shape) + 1 and array.shape[-1] == 1:
        array = array[..., 0]  # LINKS has types as columns
    if array.shape != shape and array.shape != shape[1:]:
        raise ModelError(where, f"shape {array.shape}", f"shape {shape}, or {shape[1:]} for all", "Correct it.")
    return np.ascontiguousarray(np.broadcast_to(array, shape))


def _check_bars(bars: np.ndarray) -> None:
    """Refuses matrices that are no graphs."""
    if not np.array_equal(bars, bars.swapaxes(1, 2)):
        member, one, other = np.argwhere(bars & ~bars.swapaxes(1, 2))[0]
        raise ModelError(
            f"adjacency[{member}]", f"a bar from node {one} to {other}, and none back", "symmetric matrices",
            "Write adjacency | adjacency.T.",
        )  # fmt: skip
    if np.einsum("bii->bi", bars).any():
        member, node = np.argwhere(np.einsum("bii->bi", bars))[0]
        raise ModelError(f"adjacency[{member}]", f"a bar from node {node} to itself", "0 there", "Take it away.")


def _motor(given: Any, members: int, nodes: int) -> np.ndarray:
    """(B, 2) the nodes of the motors' bars."""
    motor = np.asarray(given)
    allowed = f"the fixed and the moving node of a bar, of 0 to {nodes - 1}, as (0, 1), or (B, 2) of them"
    if motor.dtype.kind not in "iu" or motor.shape not in ((2,), (members, 2)):
        raise ModelError("motor", shown(given), allowed, "Correct it.")
    motor = np.broadcast_to(motor, (members, 2)).astype(np.int64)
    if motor.size and (motor.min() < 0 or motor.max() >= nodes or (motor[:, 0] == motor[:, 1]).any()):
        raise ModelError("motor", shown(given), allowed, "Correct it.")
    return motor


def given_angles(angles: Any, poses: Any, members: int) -> np.ndarray:
    """(T,) or (B, T) angles of the motor's bar [rad]."""
    if angles is None:
        return np.linspace(0.0, 2.0 * np.pi, poses)
    array = real_array(angles)
    if array is None or not np.isfinite(array).all() or not array.size:
        raise wrong("angles", angles, "angles of the motor's bar [rad], shape (T,) or (B, T)")
    if array.ndim not in (1, 2) or (array.ndim == 2 and len(array) != members):
        raise ModelError("angles", f"shape {array.shape}", f"shape (T,) or ({members}, T)", "Correct it.")
    return array


def given_nodes(nodes: Sequence[int] | np.ndarray | None, members: int, count: int) -> np.ndarray | None:
    """(1 or B, K) nodes whose curves are wanted; None for all."""
    if nodes is None:
        return None
    chosen = np.atleast_2d(np.asarray(nodes))
    allowed = f"nodes of {-count} to {count - 1}, each once, shape (K,) or ({members}, K)"
    if chosen.dtype.kind not in "iu" or chosen.ndim != 2 or len(chosen) not in (1, members) or not chosen.size:
        raise ModelError("nodes", shown(nodes), allowed, "Correct it.")
    if chosen.min() < -count or chosen.max() >= count:
        raise ModelError("nodes", shown(nodes), allowed, "Correct it.")
    chosen = np.ascontiguousarray(chosen % count, np.int64)
    ordered = np.sort(chosen, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ModelError("nodes", shown(nodes), allowed, "Name each node once.")
    return chosen
