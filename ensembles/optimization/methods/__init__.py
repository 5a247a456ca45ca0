"""How a start is led to a better design: one file a method."""
