"""All assemblies of a mechanism at given inputs: closed forms of dyads, and paths of complex roots of other groups."""
