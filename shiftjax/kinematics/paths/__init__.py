"""Paths of poses along drivers: lanes that are led, their ends, their metrics and slopes."""
