"""The state of the window, put together of its concerns. No GL, no GUI library."""
