"""Robots of URDF files as documents of the Shift format."""
