"""Meshes that are made finer or coarser for each picture, such as terrain: which, and when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftjax.viewer.gl.buffers import MeshBuffers
from shiftjax.viewer.gl.part_instances import InstanceRows, PartInstances
from shiftjax.viewer.scene.camera import NEAR, Camera


def refine(parts: PartInstances, buffers: Sequence[MeshBuffers], drawn: InstanceRows, clip: np.ndarray,
           size: tuple[int, int], camera: Camera) -> None:  # fmt: skip
    """Uploads what the picture needs of each mesh with levels of detail; nothing where that is what it has.

    Args:
        buffers: of the meshes of the parts. clip: (4, 4) world to clip space. size: of the picture [pixels].
    """
    nearest = 1.0 if camera.orthographic else NEAR * camera.distance
    for mesh, group, buffer in zip(parts.meshes, parts.groups, buffers, strict=True):
        shown = group[drawn.visible[group]]
        if mesh.detail is None or not len(shown):
            continue
        to_clip = clip[:, :3] @ drawn.rows["rows"][shown[0]].astype(float)
        to_clip[:, 3] += clip[:, 3]
        view = np.append(to_clip, (*size, nearest))
        if np.array_equal(view, buffer.made_for):
            continue
        buffer.made_for = view
        finer = mesh.detail.refined(mesh.key, to_clip, size, nearest, buffer.made_of)
        if finer is not None:
            buffer.made_of, now = finer
            buffer.upload(now)
