"""Small numerical tools: exactly rounded arrays, orthogonal systems, even choices, union-find."""
