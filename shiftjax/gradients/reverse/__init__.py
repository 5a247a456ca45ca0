"""Reverse mode: cotangents carried back leg by leg."""
