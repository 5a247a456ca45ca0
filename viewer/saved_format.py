"""What marks the file of a view that the window saved."""

SAVED_VIEW = "shiftjax view"  # its format
VERSION = 1
