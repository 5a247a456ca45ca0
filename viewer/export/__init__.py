"""Scenes in motion as files that open anywhere: binary glTF, COLLADA and pages that play themselves. No GL here."""

from shiftjax.viewer.export.collada import write_dae
from shiftjax.viewer.export.gltf import write_glb
from shiftjax.viewer.export.web_page import write_html

__all__ = ["write_dae", "write_glb", "write_html"]
