"""What is measured of a run: channels, metrics, and the expressions that both are written in."""
