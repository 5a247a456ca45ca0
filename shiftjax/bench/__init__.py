"""Measurements of speed and accuracy, on this machine: what the command `bench` and the scripts of `benchmarks/` share."""
