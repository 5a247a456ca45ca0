"""Sections of a Shift document: each element to one record."""
