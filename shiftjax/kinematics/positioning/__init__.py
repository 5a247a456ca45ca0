"""Inverse kinematics with priorities."""
