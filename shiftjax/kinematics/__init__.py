"""Where a mechanism can go: poses along a path of its drivers, and how far each of them can be moved."""
