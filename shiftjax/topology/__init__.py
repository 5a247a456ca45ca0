"""From a model to its Plan: spanning tree, loops, substructures, and the choice of coordinates (GCP)."""
