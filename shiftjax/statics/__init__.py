"""Mechanisms at rest: where they stand in equilibrium, whether that is stable, and how they swing about it."""
