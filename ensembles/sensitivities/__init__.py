"""Slopes of a study: derivatives of its metrics by its numbers, and what they tell."""
