"""Kinds of joints, forces and constraints as a user writes them.

One file each, outside the package.
"""
