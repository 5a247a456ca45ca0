"""What a run gives back, and how it is told: results, tables, messages, plots."""
