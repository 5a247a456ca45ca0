"""Triangles of tiles of a relief, with skirts where tiles of two levels meet, so that no crack shows between them.

Along an edge of two tiles of one level the vertices are the same, to the last bit. Where a finer tile meets a coarser
one, their edges are apart by at most both errors: each has a wall there that hangs down by as much.
"""

from __future__ import annotations

import numpy as np

from shiftjax.viewer.scene.scene import Mesh
from shiftjax.viewer.scene.terrains.relief import Relief
from shiftjax.viewer.scene.terrains.tile_tree import SIDE, Tiles, TileTree

EDGES = ((0, -1), (0, 1), (-1, 0), (1, 0))  # left, right, lower and upper row number: rows and columns to a neighbour
OPPOSITE = np.array([1, 0, 3, 2])
NUMBERS = np.arange((SIDE + 1) ** 2).reshape(SIDE + 1, SIDE + 1)
ALONG = np.stack([NUMBERS[:, 0], NUMBERS[::-1, -1], NUMBERS[0, ::-1], NUMBERS[-1]])  # vertices of the four edges
KNOWN = 2000  # tiles whose vertices are kept: 18 MB
SLACK = 1.01  # of the depth of skirts, for single precision


class TerrainDetail:
    """A terrain at the level of detail that a picture needs."""

    def __init__(self, relief: Relief, repeats: tuple[float, float], *, down: bool) -> None:
        """repeats: of the texture along x and y. down: whether z points down."""
        self.relief, self.repeats, self.down = relief, repeats, down
        self._known: dict[int, np.ndarray] = {}  # tile -> (17, 17, 8) its vertices
        self._tree: TileTree | None = None  # made for the first picture: what is exported needs none

    def seen(self, clip: np.ndarray, size: tuple[int, int], nearest: float) -> Tiles:
        """The tiles for a picture, as `TileTree.seen`."""
        return self.tree.seen(clip, size, nearest)

    def refined(
        self, key: str, clip: np.ndarray, size: tuple[int, int], nearest: float, before: object
    ) -> tuple[object, Mesh] | None:
        """Tiles and their mesh, as `scene.Detail`."""
        tiles = self.seen(clip, size, nearest)
        now = [tiles.levels, tiles.rows, tiles.columns]
        if isinstance(before, Tiles):
            old = [before.levels, before.rows, before.columns]
            if all(map(np.array_equal, now, old)):
                return None
        return tiles, self.mesh(key, tiles)

    @property
    def tree(self) -> TileTree:
        self._tree = self._tree or TileTree(self.relief)
        return self._tree

    def mesh(self, key: str, tiles: Tiles) -> Mesh:
        """Tiles as one mesh, without pictures."""
        columns, rows = self._places(tiles)
        table = self._vertices(tiles, columns, rows).reshape(-1, 8)
        triangles = self._triangles(columns, rows)
        edge, walls, depth = self._skirts(tiles, columns, rows)
        lowered = table[edge]
        lowered[:, 2] -= depth * (-1 if self.down else 1)
        table = np.concatenate([table, lowered])
        indices = np.concatenate([triangles, walls]).astype(np.uint32)
        return Mesh(key, table[:, :3], indices, table[:, 3:6], table[:, 6:])

    def _vertices(self, tiles: Tiles, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(n, 17, 17, 8) float32 places, normals and texture coordinates: of a moving camera most tiles are known."""
        keys = keys_of(tiles.levels, tiles.rows, tiles.columns).tolist()
        if len(self._known) > KNOWN:
            self._known.clear()
        new = [k for k, key in enumerate(keys) if key not in self._known]
        for k, table in zip(new, self._made(columns[new], rows[new]), strict=True):
            self._known[keys[k]] = table
        return np.stack([self._known[key] for key in keys])

    def _made(self, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The same of places, (n, 17, 17) each."""
        z, slope_x, slope_y = self.relief.at(columns, rows)
        x, y = self.relief.places(columns, rows)
        normals = np.stack([-slope_x, -slope_y, np.ones_like(z)], axis=-1) * (-1 if self.down else 1)
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        left, right, low, high = *self.relief.xs[[0, -1]], *np.sort(self.relief.ys[[0, -1]])
        u, v = (x - left) / (right - left), (y - low) / (high - low)
        uv = np.stack([u * self.repeats[0], (1 - v if self.down else v) * self.repeats[1]], axis=-1)
        return np.concatenate([np.stack([x, y, z], axis=-1), normals, uv], axis=-1, dtype=np.float32)

    def _places(self, tiles: Tiles) -> tuple[np.ndarray, np.ndarray]:
        """(n, 17, 17) columns and rows of vertices, in samples; beyond the raster they fall onto its edge."""
        rows, columns = self.relief.heights.shape
        spacing = self.tree.spacings[tiles.levels][:, None]
        k, i = ((SIDE * at[:, None] + np.arange(SIDE + 1)) * spacing for at in (tiles.columns, tiles.rows))
        k, i = np.minimum(k, columns - 1.0), np.minimum(i, rows - 1.0)
        shape = (len(k), SIDE + 1, SIDE + 1)
        return np.broadcast_to(k[:, None, :], shape), np.broadcast_to(i[:, :, None], shape)

    def _whole(self, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Whether vertices have heights; with holes they all stand at samples."""
        whole = self.relief.whole
        return np.ones(columns.shape, bool) if whole.all() else whole[rows.astype(int), columns.astype(int)]

    def _triangles(self, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(m, 3) of all tiles, those of no area and those at holes left out, counter-clockwise from above."""
        a, b, c, d = NUMBERS[:-1, :-1], NUMBERS[1:, :-1], NUMBERS[1:, 1:], NUMBERS[:-1, 1:]
        once = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
        every = (np.arange(len(columns))[:, None, None] * NUMBERS.size + once).reshape(-1, 3)
        k, i, whole = columns.reshape(-1), rows.reshape(-1), self._whole(columns, rows).reshape(-1)
        wide = (np.ptp(k[every], axis=1) > 0) & (np.ptp(i[every], axis=1) > 0)
        return every[wide & whole[every].all(1)]

    def _skirts(self, tiles: Tiles, columns: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """The vertices (e,) that walls hang from; the triangles (m, 3) of walls, whose lower vertices follow all
        others; how deep (e,) [m] each of those hangs."""
        depths = SLACK * gaps(tiles)
        tile, side = np.nonzero(depths)
        edge = tile[:, None] * NUMBERS.size + ALONG[side]
        below = columns.size + np.arange(edge.size).reshape(edge.shape)
        quads = np.stack([edge[:, :-1], below[:, :-1], below[:, 1:], edge[:, :-1], below[:, 1:], edge[:, 1:]], axis=-1)
        whole, k, i = (table.reshape(-1) for table in (self._whole(columns, rows), columns, rows))
        start, end = edge[:, :-1], edge[:, 1:]
        shown = whole[start] & whole[end] & ((k[start] != k[end]) | (i[start] != i[end]))
        walls = quads.reshape(*start.shape, 2, 3)[shown].reshape(-1, 3)
        return edge.ravel(), walls, np.repeat(depths[tile, side], SIDE + 1)


def gaps(tiles: Tiles) -> np.ndarray:
    """(n, 4) [m] of each tile and edge of it, how far the neighbours there may be from it: both errors. 0 where a
    neighbour has the same level, and at the edge of the terrain."""
    keys = keys_of(tiles.levels, tiles.rows, tiles.columns)
    order = np.argsort(keys)
    depths = np.zeros((len(keys), len(EDGES)))
    for side, (down, right) in enumerate(EDGES):
        rows, columns = tiles.rows + down, tiles.columns + right
        for up in range(1, int(tiles.levels.max(initial=0)) + 1):  # levels from a tile to a coarser neighbour
            can = (tiles.levels >= up) & (rows >= 0) & (columns >= 0)
            wanted = np.where(can, keys_of(tiles.levels - up, rows >> up, columns >> up), -1)
            place = order[np.searchsorted(keys, wanted, sorter=order).clip(0, len(keys) - 1)]
            (fine,) = np.nonzero(keys[place] == wanted)
            coarse = place[fine]
            both = tiles.errors[fine] + tiles.errors[coarse]
            depths[fine, side] = both
            np.maximum.at(depths, (coarse, OPPOSITE[side]), both)
    return depths


def keys_of(levels: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A number of each tile."""
    return (levels.astype(np.int64) << 48) + (rows.astype(np.int64) << 24) + columns
