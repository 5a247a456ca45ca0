"""The members of a study as a table, and the language in which some are chosen. NumPy only."""
