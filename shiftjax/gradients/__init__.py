"""Derivatives of runs: what makes `simulate` a function that JAX differentiates."""
