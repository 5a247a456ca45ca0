"""Complete pivoting of the Jacobians of lanes: which coordinates each may take as the independent ones."""
