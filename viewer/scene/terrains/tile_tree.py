"""Which tiles of a relief a picture needs: small ones where it is near and rough, large ones far away.

Problem: heights in a picture that are off by less than `PIXELS`, of at most `TRIANGLES` triangles. Properties: a tile
has 16 x 16 cells of two triangles, whose spacing is halved from level to level, down to a sixteenth of that of the
samples; its error is a bound, not an estimate. Where the triangles do not suffice, the error in pixels that is allowed
grows, everywhere the same. Outside of the picture tiles are not divided.
"""

from __future__ import annotations

import numpy as np

from shiftjax.record import record
from shiftjax.viewer.scene.terrains.relief import Relief

SIDE = 16  # cells along each side of a tile
FINER = 4  # levels below the spacing of the samples
PIXELS = 1.0  # by which a height may be off in a picture
TRIANGLES = 200_000  # of a picture, skirts and all
OF_TILE = 2 * SIDE * SIDE + 8 * SIDE  # with a skirt on each side
LARGER = 1.25  # by which the allowed error grows while there are too many tiles


@record
class Tiles:
    """Tiles that cover a relief once."""

    levels: np.ndarray  # (n,) 0 for the coarsest
    rows: np.ndarray  # (n,) among the tiles of the level
    columns: np.ndarray  # (n,)
    errors: np.ndarray  # (n,) [m] bounds of heights
    pixels: float  # the largest of the tiles in the picture, in pixels


class TileTree:
    """The levels of tiles of a relief, with the largest error and the ends of the heights of each tile.

    Attributes:
        spacings: of the cells of each level, in samples.
        errors: (tile rows, tile columns) of each level [m].
    """

    def __init__(self, relief: Relief) -> None:
        self.relief = relief
        rows, columns = relief.heights.shape
        self.cells = np.array([rows - 1, columns - 1])
        above = max(0, int(np.ceil(np.log2(max(self.cells) / SIDE))))
        below = FINER if relief.whole.all() else 0
        self.spacings = 2.0 ** np.arange(above, -below - 1, -1)
        straight, flat = relief.bulges()
        low, high = (-_most(-relief.heights), _most(relief.heights))
        low, high = low - flat, high + flat
        fine = [_blocks(flat, SIDE >> k) / 4**k for k in range(1, below + 1)]
        boxes = [(-_blocks(-low, SIDE >> k), _blocks(high, SIDE >> k)) for k in range(1, below + 1)]
        twist = np.abs(np.diff(np.diff(relief.heights, axis=0), axis=1))
        here, ends = (
            _blocks(np.minimum(flat, straight + 0.25 * twist), SIDE),
            (-_blocks(-low, SIDE), _blocks(high, SIDE)),
        )
        coarse, wide = [here], [ends]
        for k in range(1, above + 1):
            straight, cells = _coarser(relief, straight, 2**k)
            coarse.append(_blocks(cells, SIDE))
            wide.append((-_blocks(-wide[-1][0], 2), _blocks(wide[-1][1], 2)))
        self.errors = [*coarse[::-1], *fine]
        self._ends = [*wide[::-1], *boxes]

    def seen(self, clip: np.ndarray, size: tuple[int, int], nearest: float) -> Tiles:
        """The tiles for a picture.

        Args:
            clip: (4, 4) coordinates of the relief to clip space. size: width and height [pixels].
            nearest: least w of clip space in the picture.
        """
        allowed = PIXELS
        while (tiles := self._within(allowed, clip, size, nearest)) is None:
            allowed *= LARGER
        return tiles

    def _within(self, allowed: float, clip: np.ndarray, size: tuple[int, int], nearest: float) -> Tiles | None:
        """Tiles with at most an error [pixels], as far as there are finer ones; None where they are too many."""
        count, worst = 0, 0.0
        rows, columns = np.zeros(1, np.int64), np.zeros(1, np.int64)
        parts = []
        for level, errors in enumerate(self.errors):
            pixels = self._pixels(level, rows, columns, clip, size, nearest)
            divided = (pixels > allowed) & (level + 1 < len(self.errors))
            stay = ~divided
            parts.append((np.full(stay.sum(), level), rows[stay], columns[stay], errors[rows[stay], columns[stay]]))
            worst = max(worst, float(pixels[stay].max(initial=0.0)))
            count += int(stay.sum())
            rows, columns = self._children(level, rows[divided], columns[divided])
            if (count + len(rows)) * OF_TILE > TRIANGLES:
                return None
            if not len(rows):
                break
        levels, rows, columns, bounds = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Tiles(levels, rows, columns, bounds, worst)

    def _children(self, level: int, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tiles of the next level that cover these."""
        if not len(rows):
            return rows, columns
        there = self.errors[level + 1].shape
        below = (2 * rows[:, None] + np.array([0, 0, 1, 1])).ravel()
        right = (2 * columns[:, None] + np.array([0, 1, 0, 1])).ravel()
        good = (below < there[0]) & (right < there[1])
        return below[good], right[good]

    def _pixels(self, level: int, rows: np.ndarray, columns: np.ndarray, clip: np.ndarray, size: tuple[int, int],
                nearest: float) -> np.ndarray:  # fmt: skip
        """(n,) bounds of the errors of tiles in the picture [pixels]; 0 of tiles that it does not show.

        A height that is off by e moves x / w by at most e (|c_x| + |c_w|) / w where |x / w| <= 1, c the column of z.
        """
        across = SIDE * self.spacings[level]
        (low, high), ends = self._ends[level], np.array([0.0, 1.0])
        x, y = self.relief.places(
            np.minimum((columns[:, None] + ends) * across, self.cells[1]),
            np.minimum((rows[:, None] + ends) * across, self.cells[0]),
        )
        error = self.errors[level][rows, columns]
        z = np.stack([low[rows, columns] - error, high[rows, columns] + error], axis=1)
        corners = np.stack(
            [np.repeat(x, 4, axis=1), np.tile(np.repeat(y, 2, axis=1), 2), np.tile(z, 4), np.ones((len(x), 8))], axis=2
        )
        seen = corners @ clip.T  # (n, 8, 4)
        w = seen[..., 3:]
        outside = (seen[..., :3] >= w).all(axis=1) | (seen[..., :3] <= -w).all(axis=1)
        inside = ~np.any(outside, axis=-1)
        upright = np.abs(clip[:2, 2]) + abs(clip[3, 2])
        per_metre = float(np.hypot(*(0.5 * np.array(size) * upright)))
        return np.where(inside, per_metre * error / np.maximum(w[..., 0].min(1), nearest), 0.0)


def _coarser(relief: Relief, finer: np.ndarray, spacing: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds [m] for the cells of a spacing [samples]: how far the bilinear surface through their corners is from the
    relief, and how far two flat triangles are.

    Between two bilinear surfaces, one of them on cells of the other, the largest distance is at the finer corners. Two
    triangles are at most a quarter of the twist away from the bilinear surface.

    Args:
        finer: the first of these for half the spacing.
    """
    rows, columns = relief.heights.shape
    (i, upper, v), (k, left, u) = (_halved(n, at, spacing) for n, at in ((rows, relief.ys), (columns, relief.xs)))
    z, whole = relief.heights[np.ix_(i, k)], relief.whole[np.ix_(i, k)]
    along = z[2 * upper] * (1 - v[:, None]) + z[_next(upper, len(i))] * v[:, None]
    both = along[:, 2 * left] * (1 - u) + along[:, _next(left, len(k))] * u
    off = np.abs(both - z)
    error = _inside(_inside(off, 2).T, 2).T + _blocks(finer, 2)
    corners = z[np.ix_(_ends_of(len(i)), _ends_of(len(k)))]
    cells = error + 0.25 * np.abs(np.diff(np.diff(corners, axis=0), axis=1))
    if not whole.all() or not relief.whole.all():
        holes = _blocks((~relief.cells_whole()).astype(float), spacing) > 0
        full = _blocks(relief.cells_whole().astype(float), spacing) == 0
        wide = spacing * max(np.abs(np.diff(relief.xs)).max(), np.abs(np.diff(relief.ys)).max())
        cells = np.where(full, 0.0, np.where(holes, wide, cells))
        error = np.where(holes, 0.0, error)
    return error, cells


def _halved(count: int, places: np.ndarray, spacing: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples at half a spacing, the last one too; of each the cell of the spacing, and where in it, 0 to 1."""
    samples = np.unique(np.append(np.arange(0, count, spacing // 2), count - 1))
    cells = (len(samples) - 1 + 1) // 2
    cell = np.minimum(np.arange(len(samples)) // 2, cells - 1)
    x = places[samples]
    start, end = x[2 * cell], x[_next(cell, len(samples))]
    return samples, cell, (x - start) / (end - start)


def _next(cell: np.ndarray, count: int) -> np.ndarray:
    """Where a cell ends, among `count` samples at half its spacing."""
    return np.minimum(2 * cell + 2, count - 1)


def _ends_of(count: int) -> np.ndarray:
    """Every second of so many places, and the last."""
    return np.unique(np.append(np.arange(0, count, 2), count - 1))


def _inside(table: np.ndarray, cells: int) -> np.ndarray:
    """Along the first axis the largest of the places in and at the ends of each run of `cells`, the last perhaps
    shorter."""
    starts = np.arange(0, len(table) - 1, cells)
    inner = np.maximum.reduceat(table[:-1], starts, axis=0)
    return np.maximum(inner, table[np.minimum(starts + cells, len(table) - 1)])


def _blocks(table: np.ndarray, cells: int) -> np.ndarray:
    """The largest of each block of `cells` x `cells`, the last ones perhaps smaller."""
    for axis in (0, 1):
        table = np.maximum.reduceat(table, np.arange(0, table.shape[axis], cells), axis=axis)
    return table


def _most(table: np.ndarray) -> np.ndarray:
    """The largest corner of each cell."""
    rows = np.maximum(table[:-1], table[1:])
    return np.maximum(rows[:, :-1], rows[:, 1:])
