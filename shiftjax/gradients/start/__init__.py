"""Derivatives of assembled starts."""
