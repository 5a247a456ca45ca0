"""Coordinates of bodies in place of those of joints: rows of joints and constraints, and their Jacobian."""
