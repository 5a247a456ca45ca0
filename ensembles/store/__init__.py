"""Results and studies on disk, and what is read of them: columns, rankings, tables, recipes. Host only, no jax."""
