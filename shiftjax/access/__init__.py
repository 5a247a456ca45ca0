"""Everything inside a model at one configuration: frames, Jacobians, matrices of motion, by one call."""
