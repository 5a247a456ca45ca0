"""Other members beside the one shown: their bodies as instances, one draw a mesh whatever their number."""

from __future__ import annotations

import operator

import numpy as np

from shiftjax.poses import matrices
from shiftjax.record import record
from shiftjax.viewer.colours import linear
from shiftjax.viewer.gl.buffers import Batch, Shape
from shiftjax.viewer.gl.crowd import INSTANCE
from shiftjax.viewer.scene import GROUND, Ghosts, Mesh, Part

Own = tuple[tuple[Part, ...], ...]  # what each member shows


@record
class Herd:
    """All that is drawn of one mesh, members in their order."""

    mesh: Mesh
    members: np.ndarray  # (n,) number of the ghost
    nodes: np.ndarray  # (n,)
    places: np.ndarray  # (n, 4, 4)


def herds(own: Own, hidden: frozenset[str]) -> list[Herd]:
    """The bodies of ghosts by mesh without those that are hidden. Members of the very same parts are taken at once."""
    alike: dict[int, list[int]] = {}
    for k, parts in enumerate(own):
        alike.setdefault(id(parts), []).append(k)
    meshes: dict[str, Mesh] = {}
    found: dict[str, list[tuple[int, int, np.ndarray]]] = {}
    for members in alike.values():
        for part in own[members[0]]:
            if _haunts(part) and part.path not in hidden and f"kind:{part.kind}" not in hidden:
                meshes.setdefault(part.mesh.key, part.mesh)
                found.setdefault(part.mesh.key, []).extend((k, part.node, part.place) for k in members)
    out = []
    for key, rows in found.items():
        members, nodes, places = zip(*sorted(rows, key=operator.itemgetter(0)), strict=True)
        out.append(Herd(meshes[key], np.array(members), np.array(nodes), np.array(places, float)))
    return out


def _haunts(part: Part) -> bool:
    """Whether a ghost shows it."""
    return part.kind == "body" and part.node != GROUND and part.mesh.kind == "triangles"


class Throng:
    """Ghosts on the graphics card. What they are made of is kept from frame to frame, their poses are not."""

    def __init__(self, shapes: dict[str, Shape]) -> None:
        """shapes: of the scene by key of the mesh; ghosts use them and have their own where their meshes differ."""
        self._shared = shapes
        self._own: Own = ()
        self._hidden: frozenset[str] = frozenset()
        self._herds: list[Herd] = []
        self._batches: dict[str, Batch] = {}

    def draw(self, ghosts: Ghosts, otherwise: tuple[Part, ...], hidden: frozenset[str]) -> int:
        """Draws with the program in use; returns the number of draws.

        Args:
            otherwise: what members show that have no parts of their own.
            hidden: paths, and kinds as `kind:NAME`.
        """
        own = ghosts.parts or (otherwise,) * len(ghosts.poses)
        same = len(own) == len(self._own) and all(map(operator.is_, own, self._own))
        if not same or hidden != self._hidden:
            self._own, self._hidden, self._herds = own, hidden, herds(own, hidden)
            self._forget({herd.mesh.key for herd in self._herds})
        frames = matrices(ghosts.poses)[..., :3, :]
        colours = linear(np.asarray(ghosts.colours, float).reshape(len(frames), 4))
        for herd in self._herds:
            rows = np.zeros(len(herd.members), INSTANCE)
            rows["rows"] = frames[herd.members, herd.nodes] @ herd.places
            rows["colour"] = colours[herd.members]
            batch = self._batch(herd.mesh)
            batch.upload(rows)
            batch.draw()
        return len(self._herds)

    def _batch(self, mesh: Mesh) -> Batch:
        if mesh.key not in self._batches:
            self._batches[mesh.key] = Batch(self._shared.get(mesh.key) or Shape(mesh))
        return self._batches[mesh.key]

    def _forget(self, needed: set[str]) -> None:
        """Frees what is of no other mesh."""
        for key in set(self._batches) - needed:
            batch = self._batches.pop(key)
            batch.release()
            if key not in self._shared:
                batch.shape.release()

    def release(self) -> None:
        self._forget(set())
        self._own, self._herds = (), []
