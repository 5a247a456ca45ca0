"""Widgets of all panes, on the GUI library alone."""
