"""References that examples share: to ground, and to two frames."""

from __future__ import annotations

ORIGIN = [["fixed"], "origin"]
FRAMES = [ORIGIN, [["rod"], "origin"]]  # of a constraint
