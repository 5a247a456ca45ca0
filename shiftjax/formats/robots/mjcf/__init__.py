"""Models of MuJoCo's MJCF files as documents of the Shift format."""
