"""Writes the roots of generic mechanisms that come with the package: `python benchmarks/start_roots.py`.

Of a loop of six turning joints, of a plate on three legs in the plane, and of a body on six distances. By monodromy,
half a minute; the counts are those that are proved.
"""

from __future__ import annotations

from shiftjax.run.assemblies.root_counts import root_count
from shiftjax.run.assemblies.skeleton import (
    BALL,
    DISTANCE,
    LOOP,
    PLANAR,
    SHIFT,
    SPATIAL,
    TURN,
    Closure,
    Skeleton,
)
from shiftjax.run.assemblies.start_roots import SHIPPED, start_roots, written

SIX_TURNS = Skeleton((TURN,) * 6, (Closure(LOOP, ((0, 1, 2, 3, 4, 5), ())),), SPATIAL)
THREE_LEGS = Skeleton((TURN,) * 6, (Closure(LOOP, ((0, 1), (2, 3))), Closure(LOOP, ((4, 5), (2, 3)))), PLANAR)
SIX_DISTANCES = Skeleton((SHIFT,) * 3 + (BALL,), (Closure(DISTANCE, ((), (0, 1, 2, 3))),) * 6, SPATIAL)

if __name__ == "__main__":
    skeletons = (SIX_TURNS, THREE_LEGS, SIX_DISTANCES)
    SHIPPED.write_text(written(skeletons), encoding="utf-8")
    for skeleton in skeletons:
        print(len(start_roots(skeleton)[1]), "of", root_count(skeleton).count, skeleton.space, *skeleton.motions)
