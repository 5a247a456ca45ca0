"""What a camera must show: boxes about the parts of bodies over a whole motion, and a camera that follows. NumPy only.

Properties: every box corner at every sampled instant is inside the picture; terrain and marks do not count; a motion of
any number of members costs only those that are shown.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shiftjax.errors import ModelError, nearest
from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.viewer.scene.affine import box_corners, transformed
from shiftjax.viewer.scene.camera import Camera
from shiftjax.viewer.scene.scene import Scene, ScenePart

FRAMED = ("body", "joint", "ground", "shape")  # kinds of parts; marks such as frames do not count
HULL = 256  # directions: between two of them a sphere is cut by 0.3 % of its radius
GROWTH = 0.3  # of its size: by how much an extent that was left grows beyond what left it
ALL = "all"  # instead of the path of a body


@record
class Extent:
    """Points that a picture must show."""

    points: np.ndarray  # (k, 3) in the world [m]

    @property
    def low(self) -> np.ndarray:
        """(3,) least coordinates [m]."""
        return self.points.min(axis=0)

    @property
    def high(self) -> np.ndarray:
        """(3,) largest coordinates [m]."""
        return self.points.max(axis=0)

    def holds(self, other: Extent) -> bool:
        """Whether the box about these points holds those of another extent."""
        return bool((other.low >= self.low).all() and (other.high <= self.high).all())

    def grown(self, other: Extent) -> Extent:
        """The box about both, larger by GROWTH on each side where the other left this one."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        more = GROWTH * float((high - low).max())
        low, high = np.where(other.low < self.low, low - more, low), np.where(other.high > self.high, high + more, high)
        return Extent(box_corners(np.stack([low, high])))


def joined(extents: Iterable[Extent]) -> Extent:
    """All points of several extents."""
    return Extent(np.concatenate([extent.points for extent in extents]))


def boxes_of(scene: Scene, left_out: frozenset[str] = frozenset()) -> np.ndarray:
    """(nodes, 8, 3) corners of a box about the parts of every node, in its coordinates; NaN for a node without parts.

    Args:
        left_out: paths, or `kind:NAME`, that are not drawn.
    """
    out = np.full((len(scene.nodes), 8, 3), np.nan)
    ends: dict[int, list[np.ndarray]] = {}
    for part in scene.parts:
        if _framed(part) and part.path not in left_out and f"kind:{part.kind}" not in left_out:
            ends.setdefault(part.node, []).append(transformed(part.transform, box_corners(part.mesh.vertices)))
    for node, corners in ends.items():
        out[node] = box_corners(np.concatenate(corners))
    return out


def _framed(part: ScenePart) -> bool:
    return part.kind in FRAMED and (part.kind != "ground" or part.shadow) and len(part.mesh.vertices) > 0


def corners_at(boxes: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """(..., nodes, 8, 3) of boxes in the world, at poses (..., nodes, 7)."""
    X = matrices(poses)
    return np.einsum("...ij,...kj->...ki", X[..., :3, :3], boxes) + X[..., None, :3, 3]


def extent_at(scene: Scene, poses: np.ndarray, left_out: frozenset[str] = frozenset()) -> Extent:
    """The extent of a scene at poses (..., nodes, 7), but for what is not drawn."""
    return extent_of(boxes_of(scene, left_out), poses, scene)


def extent_of(boxes: np.ndarray, poses: np.ndarray, scene: Scene) -> Extent:
    """The extent of boxes (nodes, 8, 3) at poses (..., nodes, 7); poses that are not finite do not count. Without any
    box, a box about the scene's sphere.
    """
    corners = corners_at(boxes, poses).reshape(-1, 3)
    finite = corners[np.isfinite(corners).all(axis=1)]
    if not len(finite):
        finite = box_corners(np.array(scene.centre) + scene.size * np.array([[-1.0] * 3, [1.0] * 3]))
    return Extent(finite)


# -- following ---------------------------------------------------------------------------------------------------------


@record
class Follow:
    """What a camera follows: the middle of a body, or of all bodies."""

    path: str  # of the body, or ALL
    nodes: np.ndarray  # (k,)
    boxes: np.ndarray  # (k, 8, 3) in coordinates of their nodes [m]

    def centre(self, poses: np.ndarray) -> np.ndarray:
        """(..., 3) at poses (..., nodes, 7) [m]."""
        corners = corners_at(self.boxes, poses[..., self.nodes, :])
        return 0.5 * (corners.min(axis=(-3, -2)) + corners.max(axis=(-3, -2)))


def follow(scene: Scene, path: str) -> Follow:
    """Follows a body by its path or plain name, or ALL.

    Raises:
        ModelError: no such body.
    """
    boxes = boxes_of(scene)
    boxes[np.isnan(boxes).any(axis=(1, 2))] = 0.0  # a body without parts: its origin
    named = {node: k for k, node in enumerate(scene.nodes) if k > 0}
    if path == ALL:
        nodes = np.array(list(named.values()), int)
    else:
        ends = [k for name, k in named.items() if name == path or name.rpartition(":")[2] == path]
        if len(ends) != 1:
            problem = f"{len(ends)} bodies of that name" if ends else "no such body"
            some = ", ".join(list(named)[:8]) + (" ..." if len(named) > 8 else "")
            todo = nearest(path, named) or "Name one of them."
            raise ModelError(f"follow {path}", problem, f"{ALL}, or a body: {some}", todo)
        nodes, path = np.array(ends), scene.nodes[ends[0]]
    if not len(nodes):
        raise ModelError(f"follow {path}", "a model without bodies", "a model with bodies", "Leave it out.")
    return Follow(path, nodes, boxes[nodes])


def beside_followed(followed: Follow, scene: Scene, poses: np.ndarray) -> Extent:
    """What a camera that follows must show, moved to where the followed middle is at first: all bodies over the motion
    where all are followed; else the followed body over the motion and the others at its start.

    Args:
        poses: (m, nodes, 7), sampled.
    """
    middle = followed.centre(poses)
    moving = corners_at(followed.boxes, poses[:, followed.nodes]) - middle[:, None, None, :] + middle[0]
    start = corners_at(boxes_of(scene)[1:], poses[0, 1:])
    points = np.concatenate([moving.reshape(-1, 3), start.reshape(-1, 3)])
    return Extent(points[np.isfinite(points).all(axis=1)])


def moved(camera: Camera, followed: Follow | None, start: np.ndarray, poses: np.ndarray) -> Camera:
    """The camera of the start (3,) of the followed middle, moved to where that is at poses (nodes, 7)."""
    if followed is None:
        return camera
    return camera.looking_at(np.array(camera.target) + followed.centre(poses) - start)


# -- the ground --------------------------------------------------------------------------------------------------------


def ground_of(scene: Scene, poses: np.ndarray) -> float | None:
    """Height of the ground plane along up [m]: the lowest point of all parts at poses (m, nodes, 7); None where the
    model's terrain is the ground, or nothing is drawn.

    Boxes would do for a camera, but not here: the box about a turning wheel dips below the wheel.
    """
    up, X = np.array(scene.up) / np.linalg.norm(scene.up), matrices(poses)
    lowest = [((up @ X[:, node, :3, :3]) @ points.T).min(axis=1) + X[:, node, :3, 3] @ up
              for node, points in hulls_of(scene).items()]  # fmt: skip
    heights = np.concatenate([*lowest, np.zeros(0)])
    heights = heights[np.isfinite(heights)]
    return None if scene.terrain or not len(heights) else float(heights.min())


def hulls_of(scene: Scene) -> dict[int, np.ndarray]:
    """Node -> (k, 3) the vertices of its parts that are farthest in one of HULL directions, in its coordinates."""
    k = np.arange(HULL)
    z, around = 1 - (2 * k + 1) / HULL, np.pi * (3 - np.sqrt(5)) * k  # spread evenly, on a spiral
    directions = np.column_stack([np.sqrt(1 - z**2) * np.cos(around), np.sqrt(1 - z**2) * np.sin(around), z])
    extremes: dict[int, list[np.ndarray]] = {}
    for part in scene.parts:
        if _framed(part):
            points = transformed(part.transform, part.mesh.vertices)
            extremes.setdefault(part.node, []).append(points[np.unique((directions @ points.T).argmax(axis=1))])
    return {node: np.concatenate(points) for node, points in extremes.items()}
