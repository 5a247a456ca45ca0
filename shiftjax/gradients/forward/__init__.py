"""Forward mode: tangents of lanes along the schedule of a run."""
