"""Gradients of runs with respect to the numbers of their models."""
