"""Inverse kinematics of many designs: results, and metrics of the poses that are reached."""
