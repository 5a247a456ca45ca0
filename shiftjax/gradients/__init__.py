"""Derivatives of runs with respect to the numbers of a model."""
