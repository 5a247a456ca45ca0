"""A study that runs: shards, progress, other processes, members again."""
