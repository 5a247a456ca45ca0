"""Actions that write or read files: views, scenes, movies, curves, other studies."""
