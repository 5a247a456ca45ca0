"""Backends that run lane programs, independent of mechanisms."""
