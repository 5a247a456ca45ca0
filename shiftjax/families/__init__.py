"""Planar linkages of one freedom, each with a topology of its own, in one call and by code compiled once."""
