"""Panes of a mechanism that is posed by hand."""
