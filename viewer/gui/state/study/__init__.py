"""What the window keeps of a study: members, columns, brushes, sliders, plots."""
