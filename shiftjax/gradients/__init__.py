"""Derivatives of runs."""
