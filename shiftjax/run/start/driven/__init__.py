"""Starts that drivers decide, and drives as drivers of the model."""
