"""Writes the roots of generic mechanisms that come with the package: `python benchmarks/start_roots.py`.

Of a loop of six turning joints, of a plate on three legs in the plane, and of a body on six distances. By monodromy,
half a minute; the counts are those that are proved.

`python benchmarks/start_roots.py counts` writes nothing: it compares every number of roots that `root_counts` states
with what closed ways come to that end where eight in a row bring nothing new, and exits with 1 where they differ. A
line of JSON each.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator

from shiftjax.run.assemblies.root_counts import root_count
from shiftjax.run.assemblies.skeleton import (
    BALL,
    DISTANCE,
    LOOP,
    PLANAR,
    SHIFT,
    SPATIAL,
    SPHERICAL,
    TURN,
    Closure,
    Skeleton,
)
from shiftjax.run.assemblies.start_roots import SHIPPED, by_monodromy, start_roots, written

SIX_TURNS = Skeleton((TURN,) * 6, (Closure(LOOP, ((0, 1, 2, 3, 4, 5), ())),), SPATIAL)
THREE_LEGS = Skeleton((TURN,) * 6, (Closure(LOOP, ((0, 1), (2, 3))), Closure(LOOP, ((4, 5), (2, 3)))), PLANAR)
SIX_DISTANCES = Skeleton((SHIFT,) * 3 + (BALL,), (Closure(DISTANCE, ((), (0, 1, 2, 3))),) * 6, SPATIAL)

TWO_SPHERES = Skeleton((TURN,) * 6, THREE_LEGS.closures, SPHERICAL)
TRIANGLE = Skeleton((TURN,) * 3, (Closure(LOOP, ((0, 1, 2), ())),), SPHERICAL)


def rings() -> Iterator[Skeleton]:
    """Loops of six joints, up to three of which slide: one of each order around the loop."""
    seen = set[tuple[str, ...]]()
    for motions in itertools.product((TURN, SHIFT), repeat=6):
        turned = [motions[k:] + motions[:k] for k in range(6)]
        around = min(turned + [way[::-1] for way in turned])
        if motions.count(SHIFT) <= 3 and around not in seen:
            seen.add(around)
            yield Skeleton(motions, SIX_TURNS.closures, SPATIAL)


def compare() -> bool:
    """Prints numbers of roots as stated and as closed ways come to; whether all agree."""
    agree = True
    for skeleton in (*rings(), TRIANGLE, THREE_LEGS, TWO_SPHERES, SIX_DISTANCES):
        begun, stated = time.process_time(), root_count(skeleton)
        count = len(by_monodromy(skeleton, 1, known=False)[1])
        line = {
            "space": skeleton.space, "motions": "".join(motion[0] for motion in skeleton.motions),
            "closures": [closure.kind for closure in skeleton.closures], "stated": stated.count, "by_monodromy": count,
            "source": stated.source, "cpu_seconds": round(time.process_time() - begun, 1),
        }  # fmt: skip
        print(json.dumps(line), flush=True)
        agree &= count == stated.count
    return agree


if __name__ == "__main__":
    if sys.argv[1:] == ["counts"]:
        sys.exit(0 if compare() else 1)
    skeletons = (SIX_TURNS, THREE_LEGS, SIX_DISTANCES)
    SHIPPED.write_text(written(skeletons), encoding="utf-8")
    for skeleton in skeletons:
        print(len(start_roots(skeleton)[1]), "of", root_count(skeleton).count, skeleton.space, *skeleton.motions)
