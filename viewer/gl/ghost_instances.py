"""Ghosts, the translucent bodies of other members, as instances: one draw call for each mesh whatever their number."""

from __future__ import annotations

import operator

import numpy as np

from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.viewer.gl.buffers import Batch, MeshBuffers
from shiftjax.viewer.gl.part_instances import INSTANCE
from shiftjax.viewer.scene.palette import linear
from shiftjax.viewer.scene.scene import GROUND, Ghosts, Mesh, ScenePart

PartsOfGhosts = tuple[tuple[ScenePart, ...], ...]  # the parts of each ghost


@record
class GhostMesh:
    """The instances of one mesh, ghosts in their order."""

    mesh: Mesh
    ghosts: np.ndarray  # (n,) number of the ghost
    nodes: np.ndarray  # (n,)
    transforms: np.ndarray  # (n, 4, 4)


def ghost_meshes(parts_of_ghosts: PartsOfGhosts, hidden: frozenset[str]) -> list[GhostMesh]:
    """The bodies of ghosts by mesh, without those that are hidden; ghosts with identical parts are handled together."""
    identical: dict[int, list[int]] = {}
    for k, parts in enumerate(parts_of_ghosts):
        identical.setdefault(id(parts), []).append(k)
    meshes: dict[str, Mesh] = {}
    rows_of_mesh: dict[str, list[tuple[int, int, np.ndarray]]] = {}
    for ghosts in identical.values():
        for part in parts_of_ghosts[ghosts[0]]:
            if _shown_by_ghosts(part) and part.path not in hidden and f"kind:{part.kind}" not in hidden:
                meshes.setdefault(part.mesh.key, part.mesh)
                rows_of_mesh.setdefault(part.mesh.key, []).extend((k, part.node, part.transform) for k in ghosts)
    out = []
    for key, rows in rows_of_mesh.items():
        ghosts, nodes, transforms = zip(*sorted(rows, key=operator.itemgetter(0)), strict=True)
        out.append(GhostMesh(meshes[key], np.array(ghosts), np.array(nodes), np.array(transforms, float)))
    return out


def _shown_by_ghosts(part: ScenePart) -> bool:
    """Whether a part is drawn for ghosts."""
    return part.kind == "body" and part.node != GROUND and part.mesh.kind == "triangles"


class GhostInstances:
    """Ghosts on the graphics card. Their meshes are kept from frame to frame, their poses are not."""

    def __init__(self, meshes: dict[str, MeshBuffers]) -> None:
        """meshes: of the scene, by key; ghosts use them and have their own where their meshes differ."""
        self._shared = meshes
        self._parts: PartsOfGhosts = ()
        self._hidden: frozenset[str] = frozenset()
        self._meshes: list[GhostMesh] = []
        self._batches: dict[str, Batch] = {}

    @property
    def calls(self) -> int:
        """Draw calls of all ghosts."""
        return len(self._meshes)

    def draw(self, ghosts: Ghosts, otherwise: tuple[ScenePart, ...], hidden: frozenset[str],
             only: int | None = None) -> None:  # fmt: skip
        """Draws with the program in use; the id of an instance is the number of its ghost, from 1.

        Args:
            otherwise: parts of ghosts without specified parts.
            hidden: paths, and kinds as `kind:NAME`.
            only: number of the one ghost to draw, from 0.
        """
        parts = ghosts.parts or (otherwise,) * len(ghosts.poses)
        same = len(parts) == len(self._parts) and all(map(operator.is_, parts, self._parts))
        if not same or hidden != self._hidden:
            self._parts, self._hidden, self._meshes = parts, hidden, ghost_meshes(parts, hidden)
            self._release_except({group.mesh.key for group in self._meshes})
        frames = matrices(ghosts.poses)[..., :3, :]
        colours = linear(np.asarray(ghosts.colours, float).reshape(len(frames), 4))
        for group in self._meshes:
            rows = np.zeros(len(group.ghosts), INSTANCE)
            rows["rows"] = frames[group.ghosts, group.nodes] @ group.transforms
            rows["colour"], rows["id"] = colours[group.ghosts], group.ghosts + 1
            batch = self._batch(group.mesh)
            batch.upload(rows if only is None else rows[group.ghosts == only])
            if batch.count:
                batch.draw()

    def _batch(self, mesh: Mesh) -> Batch:
        if mesh.key not in self._batches:
            self._batches[mesh.key] = Batch(self._shared.get(mesh.key) or MeshBuffers(mesh))
        return self._batches[mesh.key]

    def _release_except(self, needed: set[str]) -> None:
        """Frees all meshes except these."""
        for key in set(self._batches) - needed:
            batch = self._batches.pop(key)
            batch.release()
            if key not in self._shared:
                batch.mesh.release()

    def release(self) -> None:
        self._release_except(set())
        self._parts, self._meshes = (), []
