"""Lane programs: what all of a run share, methods, and the code of each partition."""
