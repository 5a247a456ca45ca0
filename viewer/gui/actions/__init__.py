"""What a user can do to the window, as functions of its state. No GUI library."""
