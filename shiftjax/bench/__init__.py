"""Measurements of speed and accuracy on this machine, for the command `bench` and the scripts of `benchmarks/`."""
