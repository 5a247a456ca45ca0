"""Scene, Snapshot and Camera to pixels, on OpenGL 3.3 core in any context: a window's or one without a display."""
