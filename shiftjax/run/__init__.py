"""From a model to results: assembly, lane programs, the driver of an ensemble, `simulate` and what stands beside it."""
