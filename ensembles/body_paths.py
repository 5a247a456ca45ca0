"""The paths of the bodies of members: their origins and frames in the world, to be drawn. Host only, no jax."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftjax.mechanism.model import Model
from shiftjax.poses import to_world


def points_of(model: Model, poses: Mapping[str, np.ndarray], design: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """(K, n, p, 3) of every body: paths of its origin and frames in the world [m].

    Args:
        poses: body -> (K, n, 7). design: varied path -> (K,) values of the same members.
    """
    placed = []
    for path, body in model.bodies():
        if path in poses:
            pose = poses[path]
            p_BoFo_B = _frames(design, path, [f.name for f in body.frames], [f.T for f in body.frames], len(pose))
            placed.append(to_world(pose[..., None, :], p_BoFo_B))
    return placed


def _frames(
    design: Mapping[str, np.ndarray], path: str, names: list[str], T: list[tuple[float, ...]], members: int
) -> np.ndarray:
    """(K, 1, p, 3) a body's origin and frames in its coordinates [m]: numbers of the file, or of each member."""
    p_BoFo_B = np.tile(np.array([(0.0, 0.0, 0.0), *T]), (members, 1, 1, 1))
    for k, name in enumerate(names, start=1):
        for axis in range(3):
            varied = design.get(f"{path}:{name}.T[{axis}]")
            if varied is not None:
                p_BoFo_B[:, 0, k, axis] = varied
    return p_BoFo_B
