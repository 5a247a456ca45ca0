"""Terrains at the detail of a picture: the surface, its tiles, their triangles."""
