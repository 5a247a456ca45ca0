"""Mesh files of many formats, read by Assimp in a child process."""

from shiftjax.viewer.assimp.loading import load as load
from shiftjax.viewer.assimp.pieces import FORMATS as FORMATS
from shiftjax.viewer.assimp.pieces import MeshError as MeshError
from shiftjax.viewer.assimp.pieces import MeshPiece as MeshPiece

__all__ = ["FORMATS", "MeshError", "MeshPiece", "load"]
