"""The study pane: all members as a table and as plots."""
