"""The parts of a scene as arrays, and the instance attributes of all parts at one instant. NumPy only."""

from __future__ import annotations

import numpy as np

from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.viewer.scene.affine import bounding_sphere
from shiftjax.viewer.scene.palette import linear
from shiftjax.viewer.scene.scene import Mesh, Scene, Snapshot
from shiftjax.viewer.scene.spring_meshes import drawn_parts, placed

INSTANCE = np.dtype([("rows", "<f4", (3, 4)), ("colour", "<f4", (4,)), ("id", "<u4")])  # 68 bytes
OPAQUE = 0.999  # opacity below which a colour is translucent


@record
class InstanceRows:
    """Instance attributes of all parts at one instant."""

    rows: np.ndarray  # (parts,) INSTANCE
    visible: np.ndarray  # (parts,) bool
    translucent: np.ndarray  # (parts,) bool


class PartInstances:
    """All parts of a scene and its springs, grouped by mesh.

    Attributes:
        parts: as `springs.drawn_parts`; their numbers here are used throughout.
    """

    def __init__(self, scene: Scene) -> None:
        self.parts = parts = drawn_parts(scene)
        self._springs = scene.springs
        self.meshes: list[Mesh] = list({part.mesh.key: part.mesh for part in parts}.values())
        number = {mesh.key: k for k, mesh in enumerate(self.meshes)}
        self.nodes = np.array([part.node for part in parts], int)
        self.transforms = np.array([part.transform for part in parts], float).reshape(-1, 4, 4)
        self.mesh_of = np.array([number[part.mesh.key] for part in parts], int)
        solid = np.array([part.mesh.kind == "triangles" for part in parts], bool)
        self.thin = ~solid  # (parts,) lines and points
        self.casts = solid & np.array([part.shadow for part in parts], bool)
        self._colours = linear(np.array([part.colour for part in parts], float).reshape(-1, 4))
        self._of_path: dict[str, list[int]] = {}
        for k, part in enumerate(parts):
            for word in (part.path, f"kind:{part.kind}"):
                self._of_path.setdefault(word, []).append(k)
        spheres = [_sphere(mesh) for mesh in self.meshes]
        self._centres = np.array([centre for centre, _ in spheres]).reshape(-1, 3)[self.mesh_of]
        self._radii = np.array([radius for _, radius in spheres], float)[self.mesh_of]
        halves = [_half_sides(mesh) for mesh in self.meshes]
        self._halves = np.array(halves, float).reshape(-1, 3)[self.mesh_of]
        # shadow casters first, so that the shadow pass draws the beginning of a group
        order = np.argsort(~self.casts, kind="stable")
        self.groups = [order[self.mesh_of[order] == k] for k in range(len(self.meshes))]

    def at(self, snapshot: Snapshot) -> InstanceRows:
        """The parts at the poses and in the colours of a snapshot."""
        rows = np.zeros(len(self.nodes), INSTANCE)
        transforms = matrices(snapshot.poses)
        rows["rows"] = transforms[self.nodes, :3] @ self.transforms
        if self._springs:
            rows["rows"][-len(self._springs) :] = placed(self._springs, transforms)[:, :3]
        colours = self._colours.copy()
        for path, colour in snapshot.colours.items():
            colours[self._of_path.get(path, [])] = linear(np.array(colour))
        factors = np.ones(len(rows))
        for word, factor in snapshot.opacity.items():
            factors[self._of_path.get(word, [])] = factor
        colours[:, 3] *= factors
        rows["colour"] = colours
        rows["id"] = np.arange(1, len(rows) + 1)
        visible = np.ones(len(rows), bool)
        for word in snapshot.hidden:
            visible[self._of_path.get(word, [])] = False
        return InstanceRows(rows, visible, colours[:, 3] < OPAQUE)

    def of(self, paths: frozenset[str], drawn: InstanceRows) -> np.ndarray:
        """Numbers of the visible parts of these paths, those of one mesh next to each other."""
        indices = np.array([k for path in paths for k in self._of_path.get(path, [])], int)
        indices = indices[drawn.visible[indices]]
        return indices[np.argsort(self.mesh_of[indices], kind="stable")]

    def bounds(self, drawn: InstanceRows, clip: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (2,) of a box about chosen parts in the picture, which is -1 to 1; all of it where one is too near.

        Args:
            clip: (4, 4) world to clip space.
            chosen: (n,) numbers of parts.
        """
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        corners = self._centres[chosen, None] + signs * self._halves[chosen, None]
        rows = drawn.rows["rows"][chosen].astype(float)
        world = np.einsum("kij,kcj->kci", rows[:, :, :3], corners) + rows[:, None, :, 3]
        flat = world @ clip[[0, 1, 3], :3].T + clip[[0, 1, 3], 3]
        if not len(flat) or flat[..., 2].min() <= 0:
            return -np.ones(2), np.ones(2)
        flat = (flat[..., :2] / flat[..., 2:]).reshape(-1, 2)
        return flat.min(0), flat.max(0)

    def near(self, drawn: InstanceRows, clip: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """(parts,) bool: those drawn whose boxes reach into a window of the picture, and perhaps a few more.

        Args:
            clip: (4, 4) world to clip space.
            low, high: (2,) corners of the window, the whole picture being -1 to 1.
        """
        inside = np.concatenate([clip[:2] - low[:, None] * clip[3], high[:, None] * clip[3] - clip[:2]])
        planes = inside[:, :3] @ drawn.rows["rows"].astype(float)  # in coordinates of the meshes (parts, 4, 4)
        planes[:, :, 3] += inside[:, 3]
        # above zero on the inner side: at the middle of a box, and how much more at its best corner
        middle = np.einsum("kpi,ki->kp", planes[:, :, :3], self._centres) + planes[:, :, 3]
        more = np.einsum("kpi,ki->kp", np.abs(planes[:, :, :3]), self._halves)
        return drawn.visible & (middle + more >= 0).all(1)

    def outside(self, drawn: InstanceRows, clip: np.ndarray) -> np.ndarray:
        """(meshes,) bool: those whose parts are all before the eye, whole, and not mirrored.

        Args:
            clip: (4, 4) world to clip space.
        """
        centres, radii = self._spheres(drawn.rows)
        near = clip[2] + clip[3]  # above zero before the near plane
        before = centres @ near[:3] + near[3] > radii * np.linalg.norm(near[:3])
        well = before & (np.linalg.det(drawn.rows["rows"][:, :, :3].astype(float)) > 0.0)
        return np.bincount(self.mesh_of, ~well, len(self.meshes)) == 0

    def depths(self, drawn: InstanceRows, clip: np.ndarray) -> np.ndarray:
        """(parts,) how far their middles are from the eye, in a measure that only orders them."""
        centres, _ = self._spheres(drawn.rows)
        return centres @ clip[2, :3]

    def _spheres(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres (n, 3) and radii (n,) [m] of bounding spheres of all parts."""
        transforms = rows["rows"].astype(float)
        centres = np.einsum("kij,kj->ki", transforms[:, :, :3], self._centres) + transforms[:, :, 3]
        return centres, self._radii * np.linalg.norm(transforms[:, :, :3], axis=1).max(-1)

    def bounding_sphere(self, rows: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, float]:
        """Centre and radius [m] of a bounding sphere of the chosen parts; of none, a unit sphere.

        Args:
            rows: (parts,) INSTANCE; chosen: (parts,) bool.
        """
        if not chosen.any():
            return np.zeros(3), 1.0
        centres, radii = (values[chosen] for values in self._spheres(rows))
        low, high = (centres - radii[:, None]).min(0), (centres + radii[:, None]).max(0)
        middle = (low + high) / 2
        return middle, max(float((np.linalg.norm(centres - middle, axis=1) + radii).max()), 1e-9)


def _half_sides(mesh: Mesh) -> np.ndarray:
    """(3,) half sides of the bounding box of a mesh, centred like its bounding sphere."""
    return 0.5 * np.ptp(np.asarray(mesh.vertices, float), axis=0) if len(mesh.vertices) else np.zeros(3)


def _sphere(mesh: Mesh) -> tuple[np.ndarray, float]:
    """Centre and radius of a bounding sphere of a mesh, in mesh coordinates."""
    if not len(mesh.vertices):
        return np.zeros(3), 0.0
    return bounding_sphere(np.asarray(mesh.vertices, float))
