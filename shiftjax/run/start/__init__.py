"""Where the members of a run begin: stated numbers, closed loops, branches, partitions."""
