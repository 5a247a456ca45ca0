"""Derivatives of runs: reverse mode along the steps that were taken, forward mode, through the assembled start."""
