"""Tyres on a flat road: what they share, and a file for each model."""
