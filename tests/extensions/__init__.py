"""Kinds of joints, forces and constraints as a user writes them: one file each, outside the package."""
