"""The page of a study over a local server: numbers of all members, and the motion of whichever is clicked."""
