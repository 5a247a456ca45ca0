"""The panes around the view, drawn from the state."""
