"""Numpy in, pixels out: draws stored results. Nothing is here yet."""
