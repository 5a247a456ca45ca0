"""The commands, a file each, loaded when they are called."""
